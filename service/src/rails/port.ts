/** The port of bank and chain connectors, in terms of ISO 20022: instruction (pain.001), acknowledgement (pain.002), notification (camt.054). */
import type { AccountType, DepositOutcome, ErrorKey, PayeeAddress, PaymentMethod } from '@partner-payments/wire'
import type { Clock, Currency, Minor, Money, RowKey } from '../kernel/index.ts'
import type { Sql, Tx } from '../postgres/index.ts'
import { Unreachable } from '../kernel/api/index.ts'

export type Instruction = {
  readonly partnerId: string
  /** Globally unique; the same at every attempt. */
  readonly id: string
  /** Max35Text. The beneficiary's bank receives it. */
  readonly endToEndId: string
  readonly amount: Minor
  readonly currency: Currency
  readonly creditorName: string
  readonly creditorAccount: string
  readonly creditorBic: string | null
  /** The type of an American account. Absent or null: unknown. */
  readonly creditorAccountType?: AccountType | null
  /** The payee's address. Null: unknown. Absent: the payment does not have a beneficiary, and does not require an address. */
  readonly creditorAddress?: PayeeAddress | null
  readonly remittance: string | null
  /** The outcome that a simulation requests. Only the sandbox bank reads it. */
  readonly simulatedOutcome: string | null
  /** The customer of the payment. Null: the partner itself. */
  readonly customerId?: string | null
  readonly beneficiaryId?: string | null
  /** The reference of the payment's transaction. Absent for the return of a case's money. */
  readonly reference?: string
}

/**
 * The bank's answer. `transactionHash`: on a blockchain. `notBefore`: the bank does not have the instruction yet, and the
 * worker calls `find` at that time. `details`: a sentence for the partner. `reasonCode`: ISO 20022
 * ExternalStatusReason1Code.
 */
export type Acknowledgement =
  | { readonly accepted: true; readonly transactionHash?: string; readonly notBefore?: Date }
  | ({
      readonly accepted: false
      readonly errorKey: ErrorKey
      readonly details: string
      readonly reasonCode: string | null
    } & BankText)

/** `unknown`: the bank may have the instruction. The worker calls `find` before it submits the instruction again. */
export type InstructionOutcome = Acknowledgement | 'unknown'

export type InstructionSummary = Pick<Instruction, 'amount' | 'currency' | 'creditorName' | 'simulatedOutcome'>

export type ForecastPayment = Pick<
  Instruction,
  'amount' | 'currency' | 'creditorAccount' | 'creditorBic' | 'creditorAddress'
>

/**
 * A forecast of a payment. `cutOffAt`: the last time for execution on `valueDate`; null if there is no cut-off.
 * `submitsAt`: when the bank can get it. `valueDate`: the execution day. `arrivesOn`: the latest day of arrival; null if
 * unknown. Days are YYYY-MM-DD.
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

export type InstructionKey = RowKey

export type IncomingDebtor = {
  readonly account: string
  readonly bic: string
  readonly name: string
  readonly countryCode: string
  readonly address: string | null
  /** Birth data or ids of the payer, as one text. Absent if the bank reports none. */
  readonly identification?: string
  /** The party on whose behalf the debtor pays (UltmtDbtr). Absent: the debtor itself. */
  readonly onBehalfOf?: string
}

/** The origin of a payment: the payer's address, and the country of the chosen bank. */
type PayerOrigin = { readonly ipAddress: string; readonly countryCode: string | null }

/** The result of a bank's verification of payee. `unchecked`: the payee's bank did not return a result. */
export type PayeeResult = 'match' | 'close_match' | 'no_match' | 'unchecked'

/** The bank's text about a reason, in its language, cleaned by `joinBankTexts`. Absent or null if there is none. */
type BankText = { readonly bankText?: string | null }

/** The money that the bank booked. Absent: the instructed money is assumed. */
type ReportedMoney = { readonly money?: Money }

/**
 * Money that has arrived on one of our accounts. The `subjectId` of its notification is the connector's id of the credit,
 * which stays the same when the notification is repeated.
 */
export type Credit = {
  /** The credited account: an IBAN without spaces, or a wallet address. */
  readonly account: string
  readonly money: Money
  readonly debtor: IncomingDebtor
  readonly remittance: string | null
  readonly endToEndId: string | null
  /**
   * Candidates for the creditor reference (ISO 11649), in lists, the most reliable first; the first list with a known
   * reference counts. Absent: they are read from the texts above. Empty: texts must not choose the owner of the money.
   */
  readonly creditorReferences?: readonly (readonly string[])[]
  /** Set on a blockchain. */
  readonly transactionHash?: string
  /** The payment method. Absent: the usual method of the currency. */
  readonly method?: PaymentMethod
  /** The reference of the payer's transaction, for an internal transfer. */
  readonly originatingReference?: string
}

/**
 * An asynchronous message of the bank. `id` stays the same when the message is repeated. `subjectId`: the id of the
 * instruction, deposit or credit; an unknown id opens a case in the ledger of `partnerId`, which is `operatorPartnerId` if
 * the owner of the money is unknown.
 */
export type BankNotification = { readonly partnerId: string; readonly id: string; readonly subjectId: string } & (
  | ({ readonly kind: 'payout.settled'; readonly transactionHash?: string } & ReportedMoney)
  | ({
      readonly kind: 'payout.rejected' | 'payout.returned'
      readonly errorKey: ErrorKey
      readonly details: string
      readonly reasonCode: string | null
    } & ReportedMoney &
      BankText)
  /** The bank has compared the payee's name with the account. The payment continues unless another report ends it. */
  | ({ readonly kind: 'payout.payee_checked'; readonly payee: PayeeResult } & BankText)
  | { readonly kind: 'deposit.initiated'; readonly payer?: PayerOrigin }
  | { readonly kind: 'deposit.submitted' }
  | ({ readonly kind: 'deposit.settled' } & ReportedMoney)
  | { readonly kind: 'deposit.accepted'; readonly debtor: IncomingDebtor }
  | ({ readonly kind: 'deposit.failed'; readonly details: string; readonly reasonCode: string | null } & BankText)
  | ({ readonly kind: 'credit.booked' } & Credit)
  /** The bank cancelled the booking of a credit, or the blockchain dropped its block. `subjectId`: the credit. */
  | { readonly kind: 'credit.reversed'; readonly money: Money; readonly details: string }
  | ({ readonly kind: 'debit.booked' } & Debit)
  /** The answer to a recall, which is the subject. Returned money is reported as `payout.returned`. */
  | ({
      readonly kind: 'recall.answered'
      readonly instructionId: string
      readonly accepted: boolean
      readonly reasonCode: string | null
    } & BankText)
  /** An inconsistency in the bank's messages, which did not move money. `details`: a sentence for the operator. */
  | { readonly kind: 'oddity'; readonly what: BankAnomaly; readonly details: string }
)

/** A recall: a request to return a settled payment (camt.055). */
export type RecallRequest = InstructionKey & {
  /** The id of the payment. `id` is that of the recall, the same at every attempt. */
  readonly instructionId: string
  /** ISO 20022, ExternalCancellationReason1Code. */
  readonly reason: string
  readonly details: string | null
  /** The party that requested the recall. */
  readonly requestedBy: string
}

/**
 * `taken`: the bank answers the recall in a notification. `notBefore`: the bank does not have the recall yet, and the
 * worker sends the request again at that time. `unknown`: the worker repeats the same request.
 */
export type RecallOutcome =
  | { readonly taken: true; readonly notBefore?: Date }
  | { readonly taken: false; readonly details: string; readonly reasonCode: string | null }
  | 'unknown'

/** Money that left our account without an instruction. A person decides what it was. */
export type Debit = {
  readonly why: DebitReason
  readonly account: string
  readonly money: Money
  readonly details: string
}
/** `bank_fee`: charges of the bank. `doubled`: the bank executed an instruction twice. `unknown_debit`: unexplained. */
export type DebitReason = 'bank_fee' | 'doubled' | 'unknown_debit'

/**
 * `file_unreadable`: not a message, or incomplete. `file_refused`: the bank refused a whole file of ours.
 * `message_differs`: a known message id with other contents. `statement_gap`, `statement_overlap`: statement numbers or
 * balances are not consecutive. `sum_differs`: sums, counts or balances of a message do not match its entries.
 * `payment_missing`: the bank has not reported a payment in time. `foreign_currency`: an entry in an unsupported currency.
 * `entry_unclear`: an entry that cannot be split or matched. `announced_missing`: the statement omits an announced entry.
 * `payee_mismatch`: names of payees do not match. `recall_letter`: a recall to be sent by letter.
 */
export type BankAnomaly =
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
  | 'payee_mismatch'
  | 'recall_letter'

/** The limits of a connector, which the settlement worker observes. */
type ConnectorLimits = {
  /** Instructions per call, which a bank receives as one message. */
  readonly instructionsPerCallMax: number
  /** Concurrent calls with instructions. */
  readonly callsMax: number
  /** The time after which a call is abandoned with an unknown outcome. At most `callTimeoutMsMax`. */
  readonly callTimeoutMs: number
}

/** The signal that ends a call. The connector then closes its connection, so that a hanging call leaves nothing open. */
export type CallOptions = { readonly signal: AbortSignal }

/**
 * Every connector passes the conformance kit (`banks/conformance`), which checks the guarantees. If a method throws, the
 * outcome of the whole call is unknown. Unreachable is the error for a bank that does not answer.
 */
export type Connector = {
  /** `sandbox`, or a bank's name: lower-case letters, digits, hyphens. Its settlement account in the ledger is `settlement.<id>`. */
  readonly id: string
  readonly limits: ConnectorLimits
  /** Forecasts a payment submitted at this time, without calling the bank. The forecast is not binding. */
  readonly forecast: (payment: ForecastPayment, at: Date) => Forecast
  /** Returns how long a new payout waits before its first attempt, so that it can be cancelled. Only for the sandbox bank. */
  readonly initialWaitMs?: (payment: InstructionSummary) => number
  /**
   * Set if the files name the customer as the payer. `require`: payouts without the payer data that the law requires are
   * refused. `send`: the bank gets the available data.
   */
  readonly payerData?: 'send' | 'require' | undefined
  /** Submits instructions and returns one outcome for each, in order. The bank does not execute an id twice. */
  readonly instruct: (
    instructions: readonly Instruction[],
    options?: CallOptions,
  ) => Promise<readonly InstructionOutcome[]>
  /** Finds the acknowledgements of earlier instructions, in order. Undefined: the bank does not have the instruction. */
  readonly find: (
    keys: readonly InstructionKey[],
    options?: CallOptions,
  ) => Promise<readonly (Acknowledgement | undefined)[]>
  /** Recalls a settled payment, idempotently by id. Absent: the bank does not support recalls. */
  readonly recall?: (request: RecallRequest, options?: CallOptions) => Promise<RecallOutcome>
  /** Reads notifications, oldest first. Returns the same notifications until they are acknowledged. */
  readonly notifications: (notificationsMax: number, options?: CallOptions) => Promise<readonly BankNotification[]>
  /** Acknowledges notifications. Idempotent. If it throws, the bank repeats them. */
  readonly acknowledge: (notifications: readonly BankNotification[], options?: CallOptions) => Promise<void>
  /**
   * Reads when the next notification is due (`Job.due`), if notifications are rows of this database. Absent: the worker
   * calls `notifications` ten times a second.
   */
  readonly notificationsDue?: (after: Date) => Sql
  /** Returns the time of the oldest unacknowledged notification, for metrics. Null: none is due. */
  readonly oldestNotification: (now: Date) => Promise<Date | null>
}

/** Shorter than the lease of a claim, so that a call has ended before another worker calls the bank. */
export const callTimeoutMsMax = 10_000

/**
 * Stops waiting when the signal aborts. For connectors whose records are in this database, because a statement may run
 * longer.
 */
export async function untilAborted<T>(work: Promise<T>, options?: CallOptions): Promise<T> {
  if (options === undefined) return work
  const { signal } = options
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const abort = () => reject(new Unreachable('downstream_timeout', 'the connector does not answer in time'))
  signal.addEventListener('abort', abort)
  if (signal.aborted) abort()
  try {
    return await Promise.race([work, aborted])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

// The interface of the simulated bank, as simulations and the checkout page of a sandbox control it.

/** A step of a payer at the bank, which the bank reports. */
export type PayerStep = 'initiate' | 'submit' | 'accept' | 'settle' | 'fail'

export type SimulatedPayer = {
  readonly name: string
  readonly ipAddress: string
  /** The country of the bank. */
  readonly countryCode: string
  readonly money: Money
}

export type BankSimulator = {
  /** The bank's delay between two steps. */
  readonly stepMs: number
  /** The countries whose banks a payer can choose. */
  readonly countries: readonly string[]
  /** Returns an account in the payer's name at a bank of the country. */
  readonly debtorOf: (payer: Pick<SimulatedPayer, 'name' | 'countryCode'>) => IncomingDebtor
  /** Schedules the notifications of a simulated deposit, in the transaction that opens it. */
  readonly scheduleDeposit: (
    tx: Tx,
    deposit: InstructionKey & { readonly money: Money; readonly outcome: DepositOutcome },
  ) => Promise<void>
  /** Schedules the notifications of a payer's steps in the transaction that records the action. The first is due at once. */
  readonly scheduleSteps: (tx: Tx, deposit: InstructionKey, steps: readonly PayerStep[], payer: SimulatedPayer) => void
  /** Credits an account at this bank, which reports the credit one step later. `creditId`: the bank's id, a UUID. */
  readonly sendCredit: (tx: Tx, partnerId: string, creditId: string, credit: Credit) => void
  /** Reverses a credit. */
  readonly reverseCredit: (
    tx: Tx,
    partnerId: string,
    creditId: string,
    reversed: { readonly money: Money; readonly details: string },
  ) => void
}

// The health of connectors in this process, in memory. The workers report the results of their calls.

export type ConnectorState = {
  /** When this process started to observe the connector. */
  readonly since: Date
  /** The last successful exchange with the bank. Null: none yet. */
  readonly answeredAt: Date | null
  readonly failedAt: Date | null
  /** The number of failures since the last success. */
  readonly failures: number
  /** The error text of the last failure. Null after a success. */
  readonly problem: string | null
  /** True while the breaker keeps payouts from being submitted. */
  readonly heldBack: boolean
  /** The number of payouts between their claim and the bank's answer. */
  readonly inFlight: number
}

export type ConnectorHealth = {
  readonly answered: (connector: string) => void
  readonly failed: (connector: string, error: unknown) => void
  readonly breaker: (connector: string, state: { readonly inFlight: number; readonly isOpen: boolean }) => void
  readonly connectorState: (connector: string) => ConnectorState
}

const problemCharsMax = 300

export function createConnectorHealth({ clock }: { readonly clock: Clock }): ConnectorHealth {
  const since = clock.now()
  const fresh = { since, answeredAt: null, failedAt: null, failures: 0, problem: null, heldBack: false, inFlight: 0 }
  const states = new Map<string, ConnectorState>()
  const stateOf = (connector: string): ConnectorState => states.get(connector) ?? fresh
  const change = (connector: string, changed: Partial<ConnectorState>) =>
    void states.set(connector, { ...stateOf(connector), ...changed })
  return {
    answered: (connector) => change(connector, { answeredAt: clock.now(), failures: 0, problem: null }),
    failed: (connector, error) =>
      change(connector, {
        failedAt: clock.now(),
        failures: stateOf(connector).failures + 1,
        problem: (error instanceof Error ? error.message : String(error)).slice(0, problemCharsMax),
      }),
    breaker: (connector, { inFlight, isOpen }) => change(connector, { inFlight, heldBack: isOpen }),
    connectorState: stateOf,
  }
}
