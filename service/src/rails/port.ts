/** What a connector must do, in the terms of ISO 20022: instruction (pain.001), acknowledgement (pain.002), notices (camt.054). */
import type { ErrorKey } from '@partner-payments/wire'
import type { Currency, Minor } from '../kernel/index.ts'

export type Instruction = {
  readonly partnerId: string
  /** Unique for ever; the same at every try. */
  readonly id: string
  /** At most 35 characters; travels with the payment to the beneficiary's bank. */
  readonly endToEndId: string
  readonly amount: Minor
  readonly currency: Currency
  readonly creditorName: string
  readonly creditorAccount: string
  readonly creditorBic: string | null
  readonly remittance: string | null
  /** A simulation's wish; only the sandbox bank reads it. */
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

/** What the bank tells on its own time. `subjectId` is the instruction's id, or the deposit's. */
export type Notice = { readonly partnerId: string; readonly id: string; readonly subjectId: string } & (
  | { readonly kind: 'payout.settled' }
  | { readonly kind: 'payout.rejected' | 'payout.returned'; readonly errorKey: ErrorKey; readonly details: string }
  | { readonly kind: 'deposit.initiated' | 'deposit.submitted' | 'deposit.settled' }
  | { readonly kind: 'deposit.accepted'; readonly debtor: IncomingDebtor }
  | { readonly kind: 'deposit.failed'; readonly details: string }
)

export type Rail = {
  /** `sandbox`, later a bank's name; names the settlement account `settlement.<id>` in the ledger. */
  readonly id: string
  /** Hands an instruction over. Idempotent by `instruction.id`. Throws Unreachable; the outcome is then unknown. */
  readonly instruct: (instruction: Instruction) => Promise<Acknowledgement>
  /** What became of an instruction that may have been handed over; undefined: it never arrived. Throws Unreachable. */
  readonly find: (partnerId: string, instructionId: string) => Promise<Acknowledgement | undefined>
  /** Notices that are due and unacknowledged, oldest first; the same ones until acknowledged. Throws Unreachable. */
  readonly notices: (noticesMax: number) => Promise<readonly Notice[]>
  readonly acknowledge: (notices: readonly Notice[]) => Promise<void>
}
