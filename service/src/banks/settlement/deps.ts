/** The dependencies of the settlement worker, its calls to a bank, and the reasons that partners read. */
import type { Cases, Returns } from '../../cases/index.ts'
import { assert, type Log } from '../../kernel/index.ts'
import type { Deposits } from '../../deposits/index.ts'
import type { PayoutAges, PayoutLife } from '../../payouts/index.ts'
import type { Recalls } from '../../payouts/recalls/index.ts'
import { bankTextOf, type CallOptions, callTimeoutMsMax, type Connector, withBankText } from '../../rails/index.ts'
import { Unreachable } from '../../kernel/api/index.ts'

export type SettlementDeps = {
  readonly log: Log
  /** Each has workers of its own. */
  readonly connectors: readonly Connector[]
  readonly payouts: PayoutLife
  readonly payoutAges: Pick<PayoutAges, 'oldestUnfinished'>
  readonly recalls: Pick<Recalls, 'answered' | 'claim' | 'declined' | 'oldestUnsent' | 'postponed' | 'taken'>
  readonly deposits: Deposits
  readonly cases: Pick<Cases, 'open' | 'idsWithCase'>
  readonly returns: Pick<Returns, 'claim' | 'accepted' | 'refused' | 'postponed' | 'reported'>
  readonly isPartner: (partnerId: string) => Promise<boolean>
  readonly partnerIds: () => Promise<readonly string[]>
  readonly observe?: SettlementObserver | undefined
}

export type SettlementObserver = {
  /** The answers to one call with instructions. */
  readonly instructions: (connector: string, outcomes: InstructionOutcomes, durationMs: number) => void
  readonly bankNotification: (connector: string, outcome: NotificationOutcome) => void
  /** The age of the oldest payment in a status that is not final, and its limit. */
  readonly age: (subject: string, status: string, age: { readonly ageMs: number; readonly limitMs: number }) => void
  /** Payouts between their claim and the answer of the bank, and whether the breaker holds further ones back. */
  readonly connector: (connector: string, state: { readonly inFlight: number; readonly isOpen: boolean }) => void
  /** A call that the bank answered. Of calls for notifications, only those that brought some. */
  readonly answered: (connector: string) => void
  /** A call that the bank did not answer, or answered wrongly. */
  readonly failed: (connector: string, error: unknown) => void
}

/** `early`: left for the bank to repeat. `case`: it matches nothing known, and an operator decides. */
export type NotificationOutcome = 'applied' | 'duplicate' | 'early' | 'case' | 'failed'

export type InstructionOutcomes = Readonly<Record<'accepted' | 'refused' | 'unknown', number>>

/** The notifications of one connector. */
export type Source = { readonly deps: SettlementDeps; readonly connector: Connector }

// Calls to a bank: each has a time limit.

/** The `performance.now()` at which a call that begins now is abandoned. */
export function endOfCall({ limits: { callTimeoutMs } }: Connector): number {
  assert(callTimeoutMs <= callTimeoutMsMax, 'a call ends before the lease of its payouts')
  return performance.now() + callTimeoutMs
}

export const late = () => new Unreachable('downstream_timeout', 'the bank does not answer in time')

/** Makes a call with a signal that ends it. Throws Unreachable when the time is over: the outcome is then unknown. */
export async function inTime<T>(endsAt: number, call: (options: CallOptions) => Promise<T>): Promise<T> {
  const controller = new AbortController()
  const { promise: end, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(
    () => {
      controller.abort()
      reject(late())
    },
    Math.max(0, endsAt - performance.now()),
  )
  try {
    // A connector may ignore the signal: the race ends the wait in that case too.
    return await Promise.race([call({ signal: controller.signal }), end])
  } finally {
    clearTimeout(timer)
  }
}

// The reason why a bank refused, rejected or returned a payment, as partners read it.

type Reason = {
  readonly details: string
  readonly reasonCode: string | null
  readonly bankText?: string | null | undefined
}

/** The words of a bank come from outside, whichever connector carries them. */
export const plainText = (bankText: string | null | undefined): string | null =>
  typeof bankText === 'string' ? bankTextOf([bankText]) : null

/**
 * The details with the bank's code, by which a partner's support can ask the bank, and its own words: `The account does not exist. (AC01)
 * The bank says: “Account unknown”`.
 */
export function asReported<T extends Reason>(reason: T): T & { readonly bankText: string | null } {
  const { details, reasonCode } = reason
  const bankText = plainText(reason.bankText)
  const coded = reasonCode === null ? details : `${details} (${reasonCode})`
  return { ...reason, details: withBankText(coded, bankText), bankText }
}
