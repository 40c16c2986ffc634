/**
 * Chooses the outcomes of the sandbox bank, as `docs/sandbox.md` documents them: an exact amount or a creditor name
 * selects an outcome; every other instruction settles. Pure.
 */
import type { DepositOutcome, ErrorKey } from '@partner-payments/wire'
import { amountText, dayMs, minuteMs, type Money } from '../../kernel/index.ts'
import type { PayerStep, IncomingDebtor, SimulatedPayer, InstructionSummary } from '../../rails/index.ts'

/** `reasonCode`: ISO 20022, ExternalStatusReason1Code and ExternalReturnReason1Code. */
type FailureReason = { readonly errorKey: ErrorKey; readonly details: string; readonly reasonCode: string }

export type Behaviour =
  /** `waitMs`: the delay before the first attempt of the payout. */
  | { readonly kind: 'settle'; readonly waitMs?: number }
  /** Accepted; no notification follows. */
  | { readonly kind: 'stay-sent' }
  /** Refused in the acknowledgement. */
  | ({ readonly kind: 'refuse' } & FailureReason)
  /** Accepted, then rejected instead of settled. */
  | ({ readonly kind: 'reject' } & FailureReason)
  /** Settled, then returned by the beneficiary's bank. */
  | ({ readonly kind: 'return' } & FailureReason)
  /** Settled for less than instructed, because the bank deducted a charge. */
  | { readonly kind: 'settle-short' }
  /** Settled, then reported as rejected: the bank contradicts itself. */
  | ({ readonly kind: 'contradict' } & FailureReason)
  /** Unreachable for the first attempts, then settles. */
  | { readonly kind: 'unreachable'; readonly attempts: number }
  /** Never reachable. The payout fails once its attempts are used up. */
  | { readonly kind: 'silent'; readonly errorKey: 'BankUnreachable' }

const behaviours = {
  settled: { kind: 'settle' },
  waiting: { kind: 'settle', waitMs: minuteMs },
  sent: { kind: 'stay-sent' },
  rejected: {
    kind: 'reject',
    errorKey: 'BankRejection',
    details: 'The bank rejected the payment.',
    reasonCode: 'MS03',
  },
  'invalid account': {
    kind: 'refuse',
    errorKey: 'InvalidAccountDetails',
    details: 'The account does not exist.',
    reasonCode: 'AC01',
  },
  blocked: {
    kind: 'refuse',
    errorKey: 'RecipientBlocked',
    details: 'The recipient cannot be paid.',
    reasonCode: 'AC06',
  },
  'currency refused': {
    kind: 'refuse',
    errorKey: 'CurrencyNotAccepted',
    details: 'The account takes another currency.',
    reasonCode: 'AM03',
  },
  returned: {
    kind: 'return',
    errorKey: 'BankRejection',
    details: "The beneficiary's bank sent the payment back.",
    reasonCode: 'AC04',
  },
  unreachable: { kind: 'unreachable', attempts: 2 },
  silent: { kind: 'silent', errorKey: 'BankUnreachable' },
  short: { kind: 'settle-short' },
  contradicted: {
    kind: 'contradict',
    errorKey: 'BankRejection',
    details: 'The bank rejected the payment.',
    reasonCode: 'MS03',
  },
} as const satisfies Record<string, Behaviour>

/** Amounts that select an outcome, in any currency. */
export const magicAmounts: Readonly<Record<string, keyof typeof behaviours>> = {
  '4001.01': 'rejected',
  '4001.02': 'invalid account',
  '4001.03': 'blocked',
  '4001.04': 'currency refused',
  '4001.05': 'returned',
  '4001.06': 'unreachable',
  '4001.07': 'sent',
  '4001.08': 'short',
  '4001.09': 'contradicted',
  '4001.10': 'silent',
  '4001.15': 'waiting',
}
/** Creditor names such as `Sandbox Rejected` select an outcome, case-insensitively. */
export const magicNamePrefix = 'sandbox '

const simulatedOutcomes: Readonly<Record<string, keyof typeof behaviours>> = {
  sent: 'sent',
  completed: 'settled',
  failed: 'rejected',
}

/** How the recipient's bank answers a recall. */
type RecallBehaviour =
  /** The bank agrees and returns the money, less `keptMinor`. */
  | { readonly kind: 'return'; readonly keptMinor: bigint; readonly afterMs: number }
  | { readonly kind: 'refuse'; readonly reasonCode: string }
  | { readonly kind: 'silent' }

/** Amounts of payments that select the answer to a recall. The bank agrees to all others and returns the whole amount. */
const recallAmounts: Readonly<Record<string, RecallBehaviour>> = {
  '4001.11': { kind: 'refuse', reasonCode: 'NOAS' },
  '4001.12': { kind: 'silent' },
  '4001.13': { kind: 'return', keptMinor: 1000n, afterMs: 0 },
  // After the 15 business days in which an answer is due.
  '4001.14': { kind: 'return', keptMinor: 0n, afterMs: 30 * dayMs },
}

const recallBehaviour = ({ amount, currency }: Money): RecallBehaviour =>
  recallAmounts[amountText(amount, currency)] ?? { kind: 'return', keptMinor: 0n, afterMs: 0 }

export function chooseBehaviour(instruction: InstructionSummary): Behaviour {
  const requested = instruction.simulatedOutcome === null ? undefined : simulatedOutcomes[instruction.simulatedOutcome]
  if (requested) return behaviours[requested]
  const byAmount = magicAmounts[amountText(instruction.amount, instruction.currency)]
  if (byAmount) return behaviours[byAmount]
  const name = instruction.creditorName.trim().toLowerCase()
  const key = name.startsWith(magicNamePrefix) ? name.slice(magicNamePrefix.length) : ''
  return Object.hasOwn(behaviours, key) ? behaviours[key as keyof typeof behaviours] : { kind: 'settle' }
}

export type PlannedNotification = {
  readonly kind: string
  readonly afterSteps: number
  readonly payload: Readonly<Record<string, unknown>>
  /** A delay in addition to the steps. */
  readonly afterMs?: number
}

/** The charge of a payment that settles short, in minor units. */
const chargeMinor = 100n

/** Formats money for JSON, with minor units as text. */
const moneyJson = ({ currency, amount }: Money) => ({ money: { currency, amount: String(amount) } })

/** Plans the notifications of an accepted instruction. `afterSteps` counts delays of the bank. */
export function planInstruction(behaviour: Behaviour, money: Money): readonly PlannedNotification[] {
  const settled = { kind: 'payout.settled', afterSteps: 1, payload: moneyJson(money) }
  switch (behaviour.kind) {
    case 'settle':
    case 'unreachable':
      return [settled]
    case 'settle-short':
      return [
        {
          ...settled,
          payload: moneyJson({ ...money, amount: money.amount > chargeMinor ? money.amount - chargeMinor : 1n }),
        },
      ]
    case 'reject':
      return [{ kind: 'payout.rejected', afterSteps: 1, payload: failure(behaviour) }]
    case 'contradict':
      return [
        settled,
        { kind: 'payout.rejected', afterSteps: 2, payload: { ...failure(behaviour), ...moneyJson(money) } },
      ]
    case 'return': {
      const payload = { ...failure(behaviour), ...moneyJson(money) }
      return [settled, { kind: 'payout.returned', afterSteps: 2, payload }]
    }
    case 'stay-sent':
    case 'silent':
    case 'refuse':
      return []
  }
}

/** `of`: the subject of the notification. */
type PlannedRecallNotification = PlannedNotification & { readonly of: 'recall' | 'payment' }

/** Plans the answer to a recall and the return of the money; empty if the bank does not answer. */
export function planRecall(instructionId: string, money: Money): readonly PlannedRecallNotification[] {
  const behaviour = recallBehaviour(money)
  if (behaviour.kind === 'silent') return []
  const answer = { kind: 'recall.answered', afterSteps: 1, of: 'recall' } as const
  if (behaviour.kind === 'refuse') {
    const { reasonCode } = behaviour
    return [{ ...answer, payload: { instructionId, accepted: false, reasonCode } }]
  }
  const { keptMinor, afterMs } = behaviour
  const returned = {
    errorKey: 'BankRejection',
    details: 'The payment came back because it was recalled.',
    reasonCode: 'FOCR',
    ...moneyJson({ ...money, amount: money.amount - keptMinor }),
  }
  return [
    { ...answer, afterMs, payload: { instructionId, accepted: true, reasonCode: null } },
    { kind: 'payout.returned', afterSteps: 2, afterMs, of: 'payment', payload: returned },
  ]
}

const failure = ({ errorKey, details, reasonCode }: FailureReason) => ({ errorKey, details, reasonCode })

/** The payer of simulated deposits: valid IBAN and BIC, fictitious person. */
const sandboxDebtor = {
  account: 'DE89370400440532013000',
  bic: 'COBADEFFXXX',
  name: 'Sandbox Payer',
  countryCode: 'DE',
  address: 'Sandbox Street 1, 10115 Berlin',
}

/** A sandbox account in each country whose banks a payer can choose: the example of the IBAN registry. */
const sandboxAccounts: Readonly<Record<string, { readonly account: string; readonly bic: string }>> = {
  DE: { account: 'DE89370400440532013000', bic: 'COBADEFFXXX' },
  ES: { account: 'ES9121000418450200051332', bic: 'CAIXESBBXXX' },
  FR: { account: 'FR1420041010050500013M02606', bic: 'PSSTFRPPXXX' },
  IE: { account: 'IE29AIBK93115212345678', bic: 'AIBKIE2DXXX' },
  LT: { account: 'LT121000011101001000', bic: 'HABALT22XXX' },
  NL: { account: 'NL91ABNA0417164300', bic: 'ABNANL2AXXX' },
}
/** The countries whose banks a payer can choose in the sandbox. */
export const sandboxBankCountries: readonly string[] = Object.keys(sandboxAccounts)

/** Plans the bank's reports on the steps of a payer, in order. The first is due at once. */
export function planPayerSteps(steps: readonly PayerStep[], payer: SimulatedPayer): readonly PlannedNotification[] {
  return steps.map((step, afterSteps) => ({ ...planStep(step, payer), afterSteps }))
}

/** Returns an account in the payer's name at a bank of the country. */
export function simulatedDebtor({ name, countryCode }: Pick<SimulatedPayer, 'name' | 'countryCode'>): IncomingDebtor {
  const { account, bic } = sandboxAccounts[countryCode] ?? sandboxDebtor
  return { account, bic, name, countryCode: account.slice(0, 2), address: null }
}

function planStep(
  step: PayerStep,
  { name, ipAddress, countryCode, money }: SimulatedPayer,
): Pick<PlannedNotification, 'kind' | 'payload'> {
  switch (step) {
    case 'initiate':
      return { kind: 'deposit.initiated', payload: { payer: { ipAddress, countryCode } } }
    case 'submit':
      return { kind: 'deposit.submitted', payload: {} }
    case 'accept':
      return { kind: 'deposit.accepted', payload: { debtor: simulatedDebtor({ name, countryCode }) } }
    case 'settle':
      return { kind: 'deposit.settled', payload: moneyJson(money) }
    case 'fail':
      return {
        kind: 'deposit.failed',
        payload: { details: 'The payer has rejected the payment.', reasonCode: 'NARR' },
      }
  }
}

export function planDeposit(outcome: DepositOutcome, money: Money): readonly PlannedNotification[] {
  // Without a payment the deposit expires.
  if (outcome === 'expired') return []
  const started = [
    { kind: 'deposit.initiated', afterSteps: 1, payload: {} },
    { kind: 'deposit.submitted', afterSteps: 2, payload: {} },
  ]
  return outcome === 'failed'
    ? [
        ...started,
        {
          kind: 'deposit.failed',
          afterSteps: 3,
          payload: { details: 'The payer has not enough money.', reasonCode: 'AM04' },
        },
      ]
    : [
        ...started,
        { kind: 'deposit.accepted', afterSteps: 3, payload: { debtor: sandboxDebtor } },
        { kind: 'deposit.settled', afterSteps: 4, payload: moneyJson(money) },
      ]
}

export const planCredit = (
  kind: 'credit.booked' | 'credit.reversed',
  { money, ...facts }: { readonly money: Money },
): PlannedNotification => ({ kind, afterSteps: 1, payload: { ...facts, ...moneyJson(money) } })
