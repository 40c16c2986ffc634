/**
 * Pure: how the sandbox bank decides. Documented for partners in `docs/sandbox.md`: an exact amount or a name of the
 * creditor chooses the outcome; everything else settles.
 */
import type { DepositOutcome, ErrorKey } from '@partner-payments/wire'
import { amountText, type Currency, type Minor } from '../../kernel/index.ts'

export type Behaviour =
  | { readonly kind: 'settle' }
  /** Accepted, and then never heard of again. */
  | { readonly kind: 'stay-sent' }
  /** Refused at once, in the acknowledgement. */
  | { readonly kind: 'refuse'; readonly errorKey: ErrorKey; readonly details: string }
  /** Accepted, then rejected instead of settled. */
  | { readonly kind: 'reject'; readonly errorKey: ErrorKey; readonly details: string }
  /** Settled, then sent back by the beneficiary's bank. */
  | { readonly kind: 'return'; readonly errorKey: ErrorKey; readonly details: string }
  /** Cannot be reached for the first tries, then settles. */
  | { readonly kind: 'unreachable'; readonly tries: number }

const behaviours = {
  settled: { kind: 'settle' },
  sent: { kind: 'stay-sent' },
  rejected: { kind: 'reject', errorKey: 'BankRejection', details: 'The bank rejected the payment.' },
  'invalid account': { kind: 'refuse', errorKey: 'InvalidAccountDetails', details: 'The account does not exist.' },
  blocked: { kind: 'refuse', errorKey: 'RecipientBlocked', details: 'The recipient cannot be paid.' },
  'currency refused': {
    kind: 'refuse',
    errorKey: 'CurrencyNotAccepted',
    details: 'The account takes another currency.',
  },
  returned: { kind: 'return', errorKey: 'BankRejection', details: "The beneficiary's bank sent the payment back." },
  unreachable: { kind: 'unreachable', tries: 2 },
} as const satisfies Record<string, Behaviour>

/** In any currency, to the last digit. */
export const magicAmounts: Readonly<Record<string, keyof typeof behaviours>> = {
  '4001.01': 'rejected',
  '4001.02': 'invalid account',
  '4001.03': 'blocked',
  '4001.04': 'currency refused',
  '4001.05': 'returned',
  '4001.06': 'unreachable',
  '4001.07': 'sent',
}
/** `Sandbox Rejected`, `Sandbox Invalid Account`, ...: in any case. */
export const magicNamePrefix = 'sandbox '

const simulated: Readonly<Record<string, keyof typeof behaviours>> = {
  sent: 'sent',
  completed: 'settled',
  failed: 'rejected',
}

export function behaviourOf(instruction: {
  readonly amount: Minor
  readonly currency: Currency
  readonly creditorName: string
  readonly simulatedOutcome: string | null
}): Behaviour {
  const wish = instruction.simulatedOutcome === null ? undefined : simulated[instruction.simulatedOutcome]
  if (wish) return behaviours[wish]
  const byAmount = magicAmounts[amountText(instruction.amount, instruction.currency)]
  if (byAmount) return behaviours[byAmount]
  const name = instruction.creditorName.trim().toLowerCase()
  const key = name.startsWith(magicNamePrefix) ? name.slice(magicNamePrefix.length) : ''
  return Object.hasOwn(behaviours, key) ? behaviours[key as keyof typeof behaviours] : { kind: 'settle' }
}

export type PlannedNotice = {
  readonly kind: string
  readonly afterSteps: number
  readonly payload: Readonly<Record<string, unknown>>
}

/** What the bank will tell of an instruction that it took, in steps of its own delay. */
export function noticesOfInstruction(behaviour: Behaviour): readonly PlannedNotice[] {
  switch (behaviour.kind) {
    case 'settle':
    case 'unreachable':
      return [{ kind: 'payout.settled', afterSteps: 1, payload: {} }]
    case 'reject':
      return [{ kind: 'payout.rejected', afterSteps: 1, payload: failure(behaviour) }]
    case 'return':
      return [
        { kind: 'payout.settled', afterSteps: 1, payload: {} },
        { kind: 'payout.returned', afterSteps: 2, payload: failure(behaviour) },
      ]
    case 'stay-sent':
    case 'refuse':
      return []
  }
}

const failure = ({ errorKey, details }: { readonly errorKey: ErrorKey; readonly details: string }) => ({
  errorKey,
  details,
})

/** The payer of every simulated deposit: a well-formed account of a bank that exists, and no person. */
export const sandboxDebtor = {
  account: 'DE89370400440532013000',
  bic: 'COBADEFFXXX',
  name: 'Sandbox Payer',
  countryCode: 'DE',
  address: 'Sandbox Street 1, 10115 Berlin',
}

export function noticesOfDeposit(outcome: DepositOutcome): readonly PlannedNotice[] {
  if (outcome === 'expired') return [] // nobody pays; the deposit runs out of time by itself
  const started = [
    { kind: 'deposit.initiated', afterSteps: 1, payload: {} },
    { kind: 'deposit.submitted', afterSteps: 2, payload: {} },
  ]
  return outcome === 'failed'
    ? [...started, { kind: 'deposit.failed', afterSteps: 3, payload: { details: 'The payer has not enough money.' } }]
    : [
        ...started,
        { kind: 'deposit.accepted', afterSteps: 3, payload: { debtor: sandboxDebtor } },
        { kind: 'deposit.settled', afterSteps: 4, payload: {} },
      ]
}
