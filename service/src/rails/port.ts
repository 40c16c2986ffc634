/** The port of a bank or chain connector, in ISO 20022 terms: instruction (pain.001), acknowledgement (pain.002), notification (camt.054). */
import type { AccountType, DepositOutcome, ErrorKey, PayeeAddress, PaymentMethod } from '@partner-payments/wire'
import type { Clock, Currency, Minor } from '../kernel/index.ts'
import type { Sql, Tx } from '../postgres/index.ts'
import { Unreachable } from '../kernel/api/index.ts'

export type Instruction = {
  readonly partnerId: string
  /** Globally unique; the same at every attempt. */
  readonly id: string
  /** Max35Text; travels with the payment to the beneficiary's bank. */
  readonly endToEndId: string
  readonly amount: Minor
  readonly currency: Currency
  readonly creditorName: string
  readonly creditorAccount: string
  readonly creditorBic: string | null
  /** The type of an American account. Absent or null: it is not known. */
  readonly creditorAccountType?: AccountType | null
  /** The address of the payee. Null: the payee has none. Absent: there is no beneficiary that could have one, and none is required. */
  readonly creditorAddress?: PayeeAddress | null
  readonly remittance: string | null
  /** The outcome that a simulation requests. Only the sandbox bank reads it. */
  readonly simulatedOutcome: string | null
  /** The customer of the payment, for connectors that need its data. Null: the partner itself. */
  readonly customerId?: string | null
  readonly beneficiaryId?: string | null
  /** The reference of the payment's transaction. Absent: the money of a case is returned. */
  readonly reference?: string
}

/**
 * Accepted: on a blockchain with the hash of the transaction. `notBefore`: the connector keeps the instruction and has not handed it to the
 * bank; it is asked again (`find`) at that time. Refused: `details` is a sentence for the partner, `reasonCode` the bank's own code
 * (ISO 20022 ExternalStatusReason1Code), and `bankText` its own words.
 */
export type Acknowledgement =
  | { readonly accepted: true; readonly transactionHash?: string; readonly notBefore?: Date }
  | ({
      readonly accepted: false
      readonly errorKey: ErrorKey
      readonly details: string
      readonly reasonCode: string | null
    } & BankText)

/** `unknown`: the bank may have the instruction or not. It is asked (`find`) before the instruction is sent again. */
export type InstructionOutcome = Acknowledgement | 'unknown'

export type WaitingPayment = Pick<Instruction, 'amount' | 'currency' | 'creditorName' | 'simulatedOutcome'>

export type ForecastPayment = Pick<
  Instruction,
  'amount' | 'currency' | 'creditorAccount' | 'creditorBic' | 'creditorAddress'
>

/**
 * A forecast of a payment. `cutOffAt`: until then it is executed on `valueDate`; null: there is none. `submitsAt`: when
 * the bank may have it. `valueDate`, `arrivesOn`: YYYY-MM-DD, the day on which the bank executes it, and the last one
 * on which the money arrives; null: not known.
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
  /** Birth data or ids of the payer, as one text. Absent: the bank gives none. */
  readonly identification?: string
  /** The name of who really pays, on whose behalf the named debtor pays (UltmtDbtr). Absent: the debtor itself. */
  readonly onBehalfOf?: string
}

/** The origin of a payment: the payer's address, and the country of the chosen bank. */
export type PayerOrigin = { readonly ipAddress: string; readonly countryCode: string | null }

/** The result of a bank's verification of the payee. `unchecked`: the bank of the payee gave no result. */
export type PayeeResult = 'match' | 'close_match' | 'no_match' | 'unchecked'

/** The bank's own words about a reason (`bankTextOf`), in its language. Absent or null: it gave none. */
type BankText = { readonly bankText?: string | null }

/** The money that the bank booked. Absent: the bank does not say, and the instructed money is assumed. */
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
  readonly remittance: string | null
  readonly endToEndId: string | null
  /**
   * The creditor references (ISO 11649) that the message may name, the surest first: each list counts alone if one of it is known.
   * Absent: they are read from the texts above. Empty: no text of the message may choose the owner of the money.
   */
  readonly creditorReferences?: readonly (readonly string[])[]
  /** Set on a blockchain. */
  readonly transactionHash?: string
  /** How the money came. Absent: by the usual method of the currency. */
  readonly method?: PaymentMethod
  /** The reference of the payer's transaction, of the partner whom the notification names. Set on a transfer inside. */
  readonly originatingReference?: string
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
    } & Reported &
      BankText)
  /** The bank has compared the payee's name with its account. The payment goes on, or another report ends it. */
  | ({ readonly kind: 'payout.payee_checked'; readonly payee: PayeeResult } & BankText)
  | { readonly kind: 'deposit.initiated'; readonly payer?: PayerOrigin }
  | { readonly kind: 'deposit.submitted' }
  | ({ readonly kind: 'deposit.settled' } & Reported)
  | { readonly kind: 'deposit.accepted'; readonly debtor: IncomingDebtor }
  | ({ readonly kind: 'deposit.failed'; readonly details: string; readonly reasonCode: string | null } & BankText)
  | ({ readonly kind: 'credit.booked' } & Credit)
  /** The money of a credit is gone: the bank cancelled its booking, or the blockchain dropped the block. `subjectId`: the credit. */
  | { readonly kind: 'credit.reversed'; readonly money: Money; readonly details: string }
  | ({ readonly kind: 'debit.booked' } & Debit)
  /** The answer to a recall, which is the subject. Money that comes back by it is reported as `payout.returned`. */
  | ({
      readonly kind: 'recall.answered'
      readonly instructionId: string
      readonly accepted: boolean
      readonly reasonCode: string | null
    } & BankText)
  /** A message of the bank is inconsistent, and moved no money. `details`: a sentence for the operator. */
  | { readonly kind: 'oddity'; readonly what: Oddity; readonly details: string }
)

/** A recall: a request to take back a settled payment (camt.055). */
export type RecallRequest = InstructionKey & {
  /** The id of the payment. `id` is that of the recall, the same at every attempt. */
  readonly instructionId: string
  /** ISO 20022, ExternalCancellationReason1Code. */
  readonly reason: string
  readonly details: string | null
  /** The party that asked. */
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
/** `bank_fee`: the bank's charges. `doubled`: it executed an instruction again. `unknown_debit`: unexplained. */
export type DebitReason = 'bank_fee' | 'doubled' | 'unknown_debit'

/**
 * `file_unreadable`: not a message, or incomplete. `file_refused`: the bank refused a whole file of ours.
 * `message_differs`: a known message id with other contents. `statement_gap`, `statement_overlap`: the numbers or
 * balances of statements do not join. `sum_differs`: control sums, counts or balances of a message do not fit its
 * entries. `payment_missing`: the bank reports nothing about an instruction for too long. `foreign_currency`: an entry
 * in a currency that is not carried. `entry_unclear`: an entry that cannot be split. `announced_missing`: the statement
 * of the day lacks an announced entry. `payee_mismatch`: the bank has checked payees, and names do not match.
 * `recall_letter`: a recall that people send by a letter.
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
  | 'payee_mismatch'
  | 'recall_letter'

/** The limits of a connector's bank. The settlement worker observes them. */
export type ConnectorLimits = {
  /** Instructions per call, which a bank receives as one message. */
  readonly instructionsPerCallMax: number
  /** Concurrent calls with instructions. */
  readonly callsMax: number
  /** The time after which a call is abandoned: its outcome is unknown. At most `callTimeoutMsMax`. */
  readonly callTimeoutMs: number
}

/** The time limit of a call. A connector closes its connection then, so that a hanging call holds nothing. */
export type CallOptions = { readonly signal: AbortSignal }

/**
 * Every connector passes the conformance kit (`conformance/`), which states the guarantees as tests. A method that throws
 * leaves the outcome of the whole call unknown; Unreachable is the error for a bank that does not answer.
 */
export type Connector = {
  /** `sandbox`, or a bank's name: lower-case letters, digits, hyphens. Its settlement account in the ledger is `settlement.<id>`. */
  readonly id: string
  readonly limits: ConnectorLimits
  /** Forecasts a payment that is submitted at this time. A computation: it asks no bank, and promises nothing. */
  readonly forecast: (payment: ForecastPayment, at: Date) => Forecast
  /** How long a new payout waits before its first attempt, so that it can be cancelled. Only the sandbox bank makes payouts wait. */
  readonly waitMsOf?: (payment: WaitingPayment) => number
  /**
   * Says that the files name the customer as the payer. `require`: a payout whose customer lacks what the law asks for is refused before it is
   * accepted; `send`: the bank gets what there is.
   */
  readonly payerData?: 'send' | 'require' | undefined
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
  /** The time since which the oldest notification is unacknowledged; null: none is due. Only for metrics. */
  readonly oldestNotification: (now: Date) => Promise<Date | null>
}

/** Shorter than the lease of a claim, so that a call is known to have failed before another worker asks the bank. */
export const callTimeoutMsMax = 10_000

// Ends a wait at its signal, for connectors whose records are in this database. The database has its own time limit,
// which is longer than their caller waits.

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

// The interface of the simulated bank, as simulations and the checkout page of a sandbox drive it.

/** A step of a payment that a payer makes at the bank, which the bank reports. */
export type BankStep = 'initiate' | 'submit' | 'accept' | 'settle' | 'fail'

export type PayerFacts = {
  readonly name: string
  readonly ipAddress: string
  /** Country of the bank. */
  readonly countryCode: string
  readonly money: Money
}

export type BankSimulator = {
  /** The bank's delay between two steps. */
  readonly stepMs: number
  /** The countries whose banks a payer can choose. */
  readonly countries: readonly string[]
  /** An account under the payer's name, at the bank of the country. */
  readonly debtorOf: (payer: Pick<PayerFacts, 'name' | 'countryCode'>) => IncomingDebtor
  /** Schedules the notifications of a simulated deposit, in the transaction that opens it. */
  readonly scheduleDeposit: (
    tx: Tx,
    deposit: InstructionKey & { readonly money: Money; readonly outcome: DepositOutcome },
  ) => Promise<void>
  /**
   * Schedules the notifications of a payer's steps, the first one due at once, in the transaction that records the
   * payer's action.
   */
  readonly scheduleSteps: (tx: Tx, deposit: InstructionKey, steps: readonly BankStep[], payer: PayerFacts) => void
  /** Money arrives on an account at this bank. `creditId`: the bank's id of it, a UUID. It reports the credit one step later. */
  readonly sendCredit: (tx: Tx, partnerId: string, creditId: string, credit: Credit) => void
  /** The bank takes a credit back. */
  readonly reverseCredit: (
    tx: Tx,
    partnerId: string,
    creditId: string,
    reversed: { readonly money: Money; readonly details: string },
  ) => void
}

// The health of connectors in this process, in memory: the workers report the results of their calls to it.

export type ConnectorState = {
  /** The time since which this process has watched. */
  readonly since: Date
  /** The last exchange that the bank answered, or whose file it took or gave. Null: none yet. */
  readonly answeredAt: Date | null
  readonly failedAt: Date | null
  /** Exchanges that failed one after the other since the last that did not. */
  readonly failures: number
  /** The reason of the last failure, in the words of the error. Null: it did not. */
  readonly problem: string | null
  /** The breaker holds payouts back. */
  readonly heldBack: boolean
  /** Payouts between their claim and the answer of the bank. */
  readonly inFlight: number
}

export type ConnectorHealth = {
  readonly answered: (connector: string) => void
  readonly failed: (connector: string, error: unknown) => void
  readonly breaker: (connector: string, state: { readonly inFlight: number; readonly isOpen: boolean }) => void
  readonly stateOf: (connector: string) => ConnectorState
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
    stateOf,
  }
}
