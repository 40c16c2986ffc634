/** The port of a bank or chain connector, in ISO 20022 terms: instruction (pain.001), acknowledgement (pain.002), notification (camt.054). */
import type { ErrorKey, PaymentMethod } from '@partner-payments/wire'
import type { Currency, Minor } from '../kernel/index.ts'
import type { Sql } from '../postgres/index.ts'

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
  /** Whose payment it is and who is paid, for connectors that have to know more of them. Null: the partner itself. */
  readonly customerId?: string | null
  readonly beneficiaryId?: string | null
}

/**
 * Accepted: on a blockchain with the hash of the transaction. `notBefore`: the connector keeps the instruction and has not handed it to the
 * bank; it is asked again (`find`) at that time. Refused: `details` is a sentence for the partner, `reasonCode` the bank's own code
 * (ISO 20022 ExternalStatusReason1Code).
 */
export type Acknowledgement =
  | { readonly accepted: true; readonly transactionHash?: string; readonly notBefore?: Date }
  | {
      readonly accepted: false
      readonly errorKey: ErrorKey
      readonly details: string
      readonly reasonCode: string | null
    }

/** `unknown`: the bank may have the instruction or not. It is asked (`find`) before the instruction is sent again. */
export type InstructionOutcome = Acknowledgement | 'unknown'

export type WaitingPayment = Pick<Instruction, 'amount' | 'currency' | 'creditorName' | 'simulatedOutcome'>

export type ForecastPayment = Pick<Instruction, 'amount' | 'currency' | 'creditorAccount' | 'creditorBic'>

/**
 * How a payment would go. `cutOffAt`: until then it is executed on `valueDate`; null: there is none. `submitsAt`: when the bank may have it.
 * `valueDate`, `arrivesOn`: YYYY-MM-DD, the day on which the bank executes it, and the last one on which the money arrives; null: not known.
 */
export type Forecast =
  | {
      readonly possible: true
      readonly method: PaymentMethod
      readonly cutOffAt: Date | null
      readonly submitsAt: Date
      readonly valueDate: string
      readonly arrivesOn: string | null
    }
  | { readonly possible: false; readonly errorKey: ErrorKey; readonly details: string }

export type InstructionKey = { readonly partnerId: string; readonly id: string }

export type IncomingDebtor = {
  readonly account: string
  readonly bic: string
  readonly name: string
  readonly countryCode: string
  readonly address: string | null
}

/** From where the payer began the payment, and the country of the bank that was chosen. */
export type PayerOrigin = { readonly ipAddress: string; readonly countryCode: string | null }

/** As the bank booked it. Absent: the bank does not say, and it is taken to be what was instructed. */
type Reported = { readonly money?: Money }
export type Money = { readonly currency: Currency; readonly amount: Minor }

/**
 * Money that has arrived on one of our accounts. Its `subjectId` is the connector's id of this credit, the same at each
 * repetition: from the bank's entry reference, or from block, transaction and log on a blockchain.
 */
export type Credit = {
  /** The account that was credited: an IBAN without spaces, or the address of a wallet. */
  readonly account: string
  readonly money: Money
  readonly debtor: IncomingDebtor
  /** What the payer wrote. It may contain a creditor reference (ISO 11649). */
  readonly remittance: string | null
  readonly endToEndId: string | null
  /** On a blockchain. */
  readonly transactionHash?: string
}

/**
 * A message that the bank sends asynchronously. `id` is the bank's, and the same at each repetition. `subjectId` is the id of
 * the instruction, of the deposit or of the credit; one that we do not know opens a case, in the ledger of `partnerId` (`operatorPartnerId`
 * if the connector cannot tell whose money it is).
 */
export type BankNotification = { readonly partnerId: string; readonly id: string; readonly subjectId: string } & (
  | ({ readonly kind: 'payout.settled'; readonly transactionHash?: string } & Reported)
  | ({
      readonly kind: 'payout.rejected' | 'payout.returned'
      readonly errorKey: ErrorKey
      readonly details: string
      readonly reasonCode: string | null
    } & Reported)
  | { readonly kind: 'deposit.initiated'; readonly payer?: PayerOrigin }
  | { readonly kind: 'deposit.submitted' }
  | ({ readonly kind: 'deposit.settled' } & Reported)
  | { readonly kind: 'deposit.accepted'; readonly debtor: IncomingDebtor }
  | { readonly kind: 'deposit.failed'; readonly details: string; readonly reasonCode: string | null }
  | ({ readonly kind: 'credit.booked' } & Credit)
  /** The money of a credit is gone: the bank cancelled its booking, or the blockchain dropped the block. `subjectId`: the credit. */
  | { readonly kind: 'credit.reversed'; readonly money: Money; readonly details: string }
  | ({ readonly kind: 'debit.booked' } & Debit)
  /** The answer to a recall, which is the subject. Money that comes back by it is reported as `payout.returned`. */
  | {
      readonly kind: 'recall.answered'
      readonly instructionId: string
      readonly accepted: boolean
      readonly reasonCode: string | null
    }
  /** What the bank sent does not fit, and no money moved by it. `details`: a sentence for the operator. */
  | { readonly kind: 'oddity'; readonly what: Oddity; readonly details: string }
)

/** A request to take a settled payment back (camt.055). */
export type RecallRequest = InstructionKey & {
  /** Of the payment. `id` is that of the recall, the same at every attempt. */
  readonly instructionId: string
  /** ISO 20022, ExternalCancellationReason1Code. */
  readonly reason: string
  readonly details: string | null
  /** Who asked. */
  readonly requestedBy: string
}

/**
 * Taken: the bank has the request, and answers by a notification. `notBefore`: the connector keeps the request and has not handed it to
 * the bank; it is asked again at that time. `unknown`: the same request is made again.
 */
export type RecallOutcome =
  | { readonly taken: true; readonly notBefore?: Date }
  | { readonly taken: false; readonly details: string; readonly reasonCode: string | null }
  | 'unknown'

/** Money that left an account of ours, and that no instruction explains. A person decides what it was. */
export type Debit = {
  readonly why: DebitReason
  readonly account: string
  readonly money: Money
  readonly details: string
}
/** `bank_fee`: the bank's charges. `doubled`: it executed an instruction again. `unknown_debit`: nothing we know. */
export type DebitReason = 'bank_fee' | 'doubled' | 'unknown_debit'

/**
 * `file_unreadable`: not a message, or not whole. `file_refused`: the bank refused a whole file of ours. `message_differs`: a known
 * message id with other contents. `statement_gap`, `statement_overlap`: the numbers or balances of statements do not join.
 * `sum_differs`: control sums, counts or balances of a message do not fit its entries. `payment_missing`: the bank says nothing
 * about an instruction for too long. `foreign_currency`: an entry in a currency that is not carried. `entry_unclear`: an entry that
 * cannot be taken apart. `announced_missing`: an entry was announced, and the statement of its day does not have it.
 */
export type Oddity =
  | 'file_unreadable'
  | 'file_refused'
  | 'message_differs'
  | 'statement_gap'
  | 'statement_overlap'
  | 'sum_differs'
  | 'payment_missing'
  | 'foreign_currency'
  | 'entry_unclear'
  | 'announced_missing'

/** What a connector's bank takes. The settlement worker keeps to it. */
export type ConnectorLimits = {
  /** Instructions of one call, which a bank receives as one message. */
  readonly instructionsPerCallMax: number
  /** Calls with instructions at the same time. */
  readonly callsMax: number
  /** After this time a call is given up: its outcome is unknown. At most `callTimeoutMsMax`. */
  readonly callTimeoutMs: number
}

/** The end of a call's time. A connector closes its connection then, so that a call that hangs holds nothing. */
export type CallOptions = { readonly signal: AbortSignal }

/**
 * Every connector passes the conformance kit (`conformance/`), which states the guarantees as tests. A method that throws
 * leaves the outcome of the whole call unknown; Unreachable is the error for a bank that does not answer.
 */
export type Connector = {
  /** `sandbox`, or a bank's name: lower-case letters, digits, hyphens. Its settlement account in the ledger is `settlement.<id>`. */
  readonly id: string
  readonly limits: ConnectorLimits
  /** How a payment would go that is submitted at this time. A computation: it asks no bank, and promises nothing. */
  readonly forecast: (payment: ForecastPayment, at: Date) => Forecast
  /** How long a new payout waits before its first attempt, so that it can be cancelled. Only the sandbox bank makes payouts wait. */
  readonly waitMsOf?: (payment: WaitingPayment) => number
  /** Submits instructions and answers one outcome for each, in order. An instruction whose id the bank has is not executed again. */
  readonly instruct: (
    instructions: readonly Instruction[],
    options?: CallOptions,
  ) => Promise<readonly InstructionOutcome[]>
  /**
   * The acknowledgements of instructions that an earlier call may have submitted, in order. Undefined: the bank does not have
   * the instruction.
   */
  readonly find: (
    keys: readonly InstructionKey[],
    options?: CallOptions,
  ) => Promise<readonly (Acknowledgement | undefined)[]>
  /** Asks for a settled payment. A request whose id the bank has is not made again. Absent: the bank takes no recalls. */
  readonly recall?: (request: RecallRequest, options?: CallOptions) => Promise<RecallOutcome>
  /** Reads unacknowledged notifications, oldest first. Returns the same ones until they are acknowledged. */
  readonly notifications: (notificationsMax: number, options?: CallOptions) => Promise<readonly BankNotification[]>
  /** Idempotent. If it throws, the bank repeats the notifications. */
  readonly acknowledge: (notifications: readonly BankNotification[], options?: CallOptions) => Promise<void>
  /**
   * Reads when the next notification is due (`Job.due`), for a connector whose notifications are rows of this database. Absent: the worker
   * asks `notifications` ten times a second.
   */
  readonly notificationsDue?: (after: Date) => Sql
  /** Since when the oldest notification is unacknowledged; null: none is due. Only for metrics. */
  readonly oldestNotification: (now: Date) => Promise<Date | null>
}

/** Shorter than the lease of a claim, so that a call is known to have failed before another worker asks the bank. */
export const callTimeoutMsMax = 10_000
