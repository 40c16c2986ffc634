/** The port of a bank connector, in ISO 20022 terms: instruction (pain.001), acknowledgement (pain.002), notification (camt.054). */
import type { ErrorKey } from '@partner-payments/wire'
import type { Currency, Minor } from '../kernel/index.ts'

export type Instruction = {
  readonly partnerId: string
  /** Globally unique; the same at every attempt. */
  readonly id: string
  /** At most 35 characters; travels with the payment to the beneficiary's bank. */
  readonly endToEndId: string
  readonly amount: Minor
  readonly currency: Currency
  readonly creditorName: string
  readonly creditorAccount: string
  readonly creditorBic: string | null
  readonly remittance: string | null
  /** The outcome that a simulation requests. Only the sandbox bank reads it. */
  readonly simulatedOutcome: string | null
}

export type Acknowledgement =
  | { readonly accepted: true }
  | { readonly accepted: false; readonly errorKey: ErrorKey; readonly details: string }

export type IncomingDebtor = {
  readonly account: string
  readonly bic: string
  readonly name: string
  readonly countryCode: string
  readonly address: string | null
}

/** A message that the bank sends asynchronously. `subjectId` is the id of the instruction or of the deposit. */
export type BankNotification = { readonly partnerId: string; readonly id: string; readonly subjectId: string } & (
  | { readonly kind: 'payout.settled' }
  | { readonly kind: 'payout.rejected' | 'payout.returned'; readonly errorKey: ErrorKey; readonly details: string }
  | { readonly kind: 'deposit.initiated' | 'deposit.submitted' | 'deposit.settled' }
  | { readonly kind: 'deposit.accepted'; readonly debtor: IncomingDebtor }
  | { readonly kind: 'deposit.failed'; readonly details: string }
)

export type Rail = {
  /** `sandbox`, later a bank's name. The settlement account in the ledger is `settlement.<id>`. */
  readonly id: string
  /** Submits an instruction. Idempotent by `instruction.id`. Throws Unreachable; the outcome is then unknown. */
  readonly instruct: (instruction: Instruction) => Promise<Acknowledgement>
  /** The acknowledgement of an instruction that an earlier attempt may have submitted. Undefined if it never arrived. Throws Unreachable. */
  readonly enquire: (partnerId: string, instructionId: string) => Promise<Acknowledgement | undefined>
  /** Reads unacknowledged notifications, oldest first. Returns the same ones until they are acknowledged. Throws Unreachable. */
  readonly notifications: (notificationsMax: number) => Promise<readonly BankNotification[]>
  /** Idempotent. Throws Unreachable; the bank then repeats the notifications. */
  readonly acknowledge: (notifications: readonly BankNotification[]) => Promise<void>
}
