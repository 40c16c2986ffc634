/** The dependencies of the settlement worker, its calls to a bank, and the failure reasons that partners read. */
import type { Cases, Returns } from '../../cases/index.ts'
import { assert, type Log } from '../../kernel/index.ts'
import type { Deposits } from '../../deposits/index.ts'
import type { PayoutAges, PayoutLife } from '../../payouts/index.ts'
import type { Recalls } from '../../payouts/recalls/index.ts'
import { joinBankTexts, type CallOptions, callTimeoutMsMax, type Connector, withBankText } from '../../rails/index.ts'
import { Unreachable } from '../../kernel/api/index.ts'

export type SettlementDeps = {
  readonly log: Log
  /** Each connector has separate workers. */
  readonly connectors: readonly Connector[]
  readonly payouts: PayoutLife
  readonly payoutAges: Pick<PayoutAges, 'oldestUnfinished'>
  readonly recalls: Pick<Recalls, 'answered' | 'claim' | 'declined' | 'due' | 'oldestUnsent' | 'postponed' | 'taken'>
  readonly deposits: Deposits
  readonly cases: Pick<Cases, 'open' | 'idsWithCase'>
  readonly returns: Pick<Returns, 'due' | 'claim' | 'accepted' | 'refused' | 'postponed' | 'reported'>
  readonly isPartner: (partnerId: string) => Promise<boolean>
  readonly partnerIds: () => Promise<readonly string[]>
  readonly observe?: SettlementObserver | undefined
}

export type SettlementObserver = {
  /** Counts the outcomes of one call with instructions. */
  readonly instructions: (connector: string, outcomes: InstructionOutcomes, durationMs: number) => void
  readonly bankNotification: (connector: string, outcome: NotificationOutcome) => void
  /** Reports the age of the oldest payment in a status that is not final, and its limit. */
  readonly age: (subject: string, status: string, age: { readonly ageMs: number; readonly limitMs: number }) => void
  /** Counts payouts between their claim and the bank's answer, and reports whether the breaker is open. */
  readonly connector: (connector: string, state: { readonly inFlight: number; readonly isOpen: boolean }) => void
  /** Counts answered calls. Calls for notifications count only if the bank returned some. */
  readonly answered: (connector: string) => void
  /** Counts calls that the bank did not answer, or answered incorrectly. */
  readonly failed: (connector: string, error: unknown) => void
}

/** `early`: not processed yet; the bank repeats it. `case`: it does not match anything known, and an operator decides. */
export type NotificationOutcome = 'applied' | 'duplicate' | 'early' | 'case' | 'failed'

export type InstructionOutcomes = Readonly<Record<'accepted' | 'refused' | 'unknown', number>>

/** The connector whose notifications are processed. */
export type NotificationSource = { readonly deps: SettlementDeps; readonly connector: Connector }

// Calls to a bank. Each has a time limit.

/** Returns the `performance.now()` at which a call that begins now is abandoned. */
export function callDeadline({ limits: { callTimeoutMs } }: Connector): number {
  assert(callTimeoutMs <= callTimeoutMsMax, 'a call ends before the lease of its payouts')
  return performance.now() + callTimeoutMs
}

export const callTimeoutError = () => new Unreachable('downstream_timeout', 'the bank does not answer in time')

/** Makes a call with a signal that ends it. Throws Unreachable at the deadline: the outcome is then unknown. */
export async function callWithDeadline<T>(endsAt: number, call: (options: CallOptions) => Promise<T>): Promise<T> {
  const controller = new AbortController()
  const { promise: end, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(
    () => {
      controller.abort()
      reject(callTimeoutError())
    },
    Math.max(0, endsAt - performance.now()),
  )
  try {
    // The race also ends the wait for a connector that ignores the signal.
    return await Promise.race([call({ signal: controller.signal }), end])
  } finally {
    clearTimeout(timer)
  }
}

// The reasons of refusals, rejections and returns, as partners read them.

type BankReason = {
  readonly details: string
  readonly reasonCode: string | null
  readonly bankText?: string | null | undefined
}

/** Cleans the text of a bank, which is untrusted in every connector. */
export const plainBankText = (bankText: string | null | undefined): string | null =>
  typeof bankText === 'string' ? joinBankTexts([bankText]) : null

/**
 * Adds the bank's code, which a partner's support can quote to the bank, and its text to the details: `The account does
 * not exist. (AC01) The bank says: “Account unknown”`.
 */
export function withReportedDetails<T extends BankReason>(reason: T): T & { readonly bankText: string | null } {
  const { details, reasonCode } = reason
  const bankText = plainBankText(reason.bankText)
  const coded = reasonCode === null ? details : `${details} (${reasonCode})`
  return { ...reason, details: withBankText(coded, bankText), bankText }
}
