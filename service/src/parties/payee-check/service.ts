/** Asks whether a name and an IBAN belong together, and answers itself for the IBANs that this service has issued. */
import { beneficiaries, type NotPossibleReason, selectForeign, Type } from '@partner-payments/wire'
import { type Breaker, createBreaker, inTime, Late, type Log } from '../../kernel/index.ts'
import { compareNames } from './names.ts'
import type { PayeeQuestion, PayeeResult, PayeeScheme } from './port.ts'

/** `own`: this service has issued the IBAN. Otherwise the id of the scheme. */
export type PayeeAnswer = PayeeResult & { readonly source: string; readonly schemeReference: string | null }

/** The names of an account of ours: none if its customer has no name. Undefined: the IBAN is not ours. */
export type OwnNames = (iban: string) => Promise<readonly string[] | undefined>

export type Verification = {
  /**
   * Never runs inside a database transaction: a scheme may need its whole time limit. The failure of a scheme is an
   * answer, too: `NotPossible`. `iban` has no spaces and is valid.
   */
  readonly ask: (question: PayeeQuestion) => Promise<PayeeAnswer>
}

const own = 'own'

const schemeReference = Type.String({ minLength: 1, maxLength: 255 })
/** The answer of a scheme is another system's text, whatever its connector has checked. */
const Answer = Type.Union([
  Type.Object({ schemeReference, result: Type.Enum(['Match', 'NoMatch']) }),
  Type.Object({
    ...{ schemeReference, result: Type.Enum(['CloseMatch']) },
    matchedName: Type.String({ minLength: 1, maxLength: 1000 }),
  }),
  Type.Object({
    ...{ schemeReference, result: Type.Enum(['NotPossible']) },
    reason: Type.Enum(beneficiaries.notPossibleReasons),
  }),
])

export function createVerification(deps: {
  readonly log: Log
  /** Null: none is configured. */
  readonly scheme: PayeeScheme | null
  readonly ownNames: OwnNames
  /** Tests pass one with a clock of their own. */
  readonly breaker?: Breaker
}): Verification {
  const { log, scheme, ownNames, breaker = createBreaker() } = deps
  return {
    ask: async (question) => {
      const names = await ownNames(question.iban)
      if (names !== undefined) return { ...compareWithOwn(question.name, names), source: own, schemeReference: null }
      if (scheme === null) return failed('none', 'SchemeNotConfigured')
      if (breaker.state() === 'open') return failed(scheme.id, 'SchemeUnavailable')
      try {
        const answer = selectForeign(await inTime(scheme.timeoutMs, (signal) => scheme.ask(question, signal)), Answer)
        if (answer === undefined) throw new Error('the scheme answered with something else')
        breaker.answered()
        return { ...answer, source: scheme.id }
      } catch (error) {
        breaker.failed()
        log.warn({ err: error, scheme: scheme.id }, 'verification of payee failed')
        return failed(scheme.id, error instanceof Late ? 'SchemeTimeout' : 'SchemeUnavailable')
      }
    },
  }
}

const failed = (source: string, reason: NotPossibleReason): PayeeAnswer => ({
  result: 'NotPossible',
  reason,
  source,
  schemeReference: null,
})

/** The best result of all names of the account: a company has a registered and a trading name. */
function compareWithOwn(given: string, names: readonly string[]): PayeeResult {
  if (names.length === 0) return { result: 'NotPossible', reason: 'AccountUnknown' }
  const compared = names.map((name) => ({ name, result: compareNames(given, name) }))
  if (compared.some(({ result }) => result === 'Match')) return { result: 'Match' }
  const close = compared.find(({ result }) => result === 'CloseMatch')
  if (close !== undefined) return { result: 'CloseMatch', matchedName: close.name }
  if (compared.some(({ result }) => result === 'NoMatch')) return { result: 'NoMatch' }
  return { result: 'NotPossible', reason: 'NameNotComparable' }
}
