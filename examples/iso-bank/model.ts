/** The data of the test bank: accounts, payments, bookings, orders. Amounts are minor units (cents); every currency has two digits. */

export type BankAccount = {
  readonly iban: string
  readonly currency: string
  readonly owner: string
  readonly opening: bigint
}

/** A payment as pain.001 has it. */
export type Payment = {
  readonly messageId: string
  readonly batchId: string
  readonly batchBooking: boolean
  readonly instructionId: string
  readonly endToEndId: string
  readonly account: string
  readonly currency: string
  readonly amount: bigint
  /** The party on whose behalf the company pays (UltmtDbtr). Absent: the company itself. `id`: its account, or its number there. */
  readonly payer?: { readonly name: string; readonly id: string | null; readonly country: string | null }
  readonly creditorName: string
  readonly creditorAccount: string
  readonly creditorBic: string | null
  readonly remittance: string | null
  readonly isInstant: boolean
}

/** A message of the company, read. `ctrlSum` in cents; null: the message has none. */
export type Initiation = {
  readonly messageId: string
  readonly count: number
  readonly controlSum: bigint | null
  readonly batches: readonly {
    readonly id: string
    readonly account: string
    readonly count: number | null
    readonly controlSum: bigint | null
    readonly payments: readonly Payment[]
  }[]
}

/** The treatment of a payment by the bank. Reason codes are those of ISO 20022. */
export type Treatment =
  | { readonly do: 'settle' }
  /** Refused in the first answer. */
  | { readonly do: 'reject'; readonly code: string; readonly onlyInstant?: boolean }
  /** Accepted, then rejected instead of executed. */
  | { readonly do: 'reject later'; readonly code: string }
  /** Executed, then sent back by the creditor's bank, which may keep a charge. */
  | { readonly do: 'return'; readonly code: string; readonly short?: bigint }
  /** Executed so much later. */
  | { readonly do: 'delay'; readonly ms: number }
  /** Accepted and never heard of again; `silent`: not even accepted. */
  | { readonly do: 'lose'; readonly silent?: boolean }
  /** Executed; only the next statement says so. */
  | { readonly do: 'execute silently' }
  | { readonly do: 'double' }
  /** Booked with another amount, end-to-end id (then without any other reference) or creditor's account. */
  | {
      readonly do: 'falsify'
      readonly amount?: bigint
      readonly endToEndId?: string
      readonly creditorAccount?: string
    }
  /** Executed, then reported as rejected. */
  | { readonly do: 'contradict'; readonly code: string }
  /** Kept until an order `release`. */
  | { readonly do: 'hold' }

/** Selects the payments of an order; every given part has to match. */
export type Match = {
  readonly endToEndId?: string
  readonly instructionId?: string
  readonly amount?: bigint
  readonly creditorAccount?: string
  readonly remittance?: string
  readonly scheme?: 'Instant' | 'CreditTransfer'
}

export const fileKinds = ['pain.002', 'camt.052', 'camt.053', 'camt.054', 'camt.029'] as const
export type FileKind = (typeof fileKinds)[number]

/**
 * Fault of the next file of a kind. `twice`: the same bytes under two names. `same id`: a second message with its id and
 * other contents. `half`: its first half appears, then, with the next step, the whole. `cut`: its first half only. `garbage`: bytes that are
 * no message, before it. `wrong sum`, `wrong balance`: numbers that do not fit its entries. `omit`: kept back. Where the contents do not
 * arrive, an order `send again` sends them in a new message.
 */
export const fileFaults = ['twice', 'same id', 'half', 'cut', 'garbage', 'wrong sum', 'wrong balance', 'omit'] as const
export type FileFault = (typeof fileFaults)[number]

/** `onBehalfOf`: the ultimate debtor or creditor. */
export type Other = {
  readonly name: string
  readonly iban?: string
  readonly bic?: string
  readonly onBehalfOf?: string
}

export type Order =
  /** Applies to the next `times` matching payments; without `times` to all. */
  | { readonly order: 'payment'; readonly match?: Match; readonly times?: number; readonly treatment: Treatment }
  | { readonly order: 'file'; readonly kind: FileKind; readonly fault: FileFault }
  /** Executes what is held and sends what was kept back. */
  | { readonly order: 'release' }
  /** Sends the contents of files that did not arrive whole, in new messages. */
  | { readonly order: 'send again' }
  /** Tells of payments that were lost that they are rejected. */
  | { readonly order: 'resolve lost'; readonly code: string }
  /** Sends the last statement of each account again, as a new message. */
  | { readonly order: 'repeat statement' }
  | {
      readonly order: 'credit'
      /** Our account, or a virtual one that belongs to the account of its currency. */
      readonly iban: string
      readonly amount: bigint
      readonly currency: string
      readonly debtor: Other
      readonly remittance?: string
      /** ISO 11649, as structured remittance. */
      readonly reference?: string
      readonly endToEndId?: string
      /** Kept by the bank: the account gets so much less. */
      readonly charge?: bigint
    }
  /** Several credits in one booking; `details`: whether its payments are named at once, with the statement, or never. */
  | {
      readonly order: 'batch credit'
      readonly currency: string
      readonly details: 'at once' | 'with the statement' | 'never'
      readonly credits: readonly { readonly iban: string; readonly amount: bigint; readonly debtor: Other }[]
    }
  /** Takes a credit back. `credit`: what the order for it answered. */
  | { readonly order: 'reverse'; readonly credit: string }
  | { readonly order: 'fee'; readonly currency: string; readonly amount: bigint; readonly text?: string }
  | { readonly order: 'debit'; readonly currency: string; readonly amount: bigint; readonly text?: string }
  /** A notification of money in a currency that the account does not have. It is no part of the account's balance. */
  | {
      readonly order: 'foreign'
      readonly iban: string
      readonly currency: string
      readonly amount: bigint
      readonly debtor: Other
    }
  | { readonly order: 'statement' }
  | { readonly order: 'settings'; readonly settings: Partial<Settings> }

export type Settings = {
  /** Delays from a file to its answer, from the answer to the booking, from the booking to a return or late word. */
  readonly answerMs: number
  readonly bookMs: number
  readonly laterMs: number
  /** The versions of camt and pain.002: `.08` and `.10`, or `.02` and `.03`. */
  readonly version: 'current' | 'older'
  /** Selects the payments that a first answer names. */
  readonly answers: 'all' | 'rejected' | 'none'
  /** An executed payment is told by pain.002 too: ACSC. */
  readonly confirms: boolean
  /** The report of the day's bookings, before the statement. */
  readonly reports: 'camt.054' | 'camt.052' | 'none'
  /** Whether the booking of a batch names its payments. */
  readonly batchDetails: boolean
  /** Every file is sent under two names. */
  readonly twice: boolean
  /** Files of one step come in the opposite order. */
  readonly shuffles: boolean
  /** The bank's answer to a recall of an executed payment. */
  readonly recalls: 'accepted' | 'refused' | 'unanswered'
  /** Null: only on order. */
  readonly statementEveryMs: number | null
}

export const settingsDefault: Settings = {
  answerMs: 0,
  bookMs: 0,
  laterMs: 0,
  version: 'current',
  answers: 'all',
  confirms: false,
  reports: 'camt.054',
  batchDetails: true,
  twice: false,
  shuffles: false,
  recalls: 'accepted',
  statementEveryMs: null,
}

/** One payment within a booking. */
export type EntryDetail = {
  readonly endToEndId: string | null
  readonly instructionId: string | null
  readonly messageId: string | null
  readonly batchId: string | null
  readonly transactionId: string
  readonly amount: bigint
  readonly charge: bigint | null
  readonly isCredit: boolean
  readonly debtor: Other | null
  readonly creditor: Other | null
  readonly remittance: string | null
  readonly reference: string | null
  readonly returnCode: string | null
}

/** A booking. `amount`: below zero if money leaves. */
export type Entry = {
  readonly ref: string
  readonly account: string
  readonly currency: string
  readonly amount: bigint
  readonly at: string
  readonly isReversal: boolean
  /** Domain, family, sub-family. */
  readonly codes: readonly [string, string, string]
  readonly text: string | null
  readonly batch: { readonly messageId: string | null; readonly batchId: string | null; readonly count: number } | null
  readonly details: readonly EntryDetail[]
  /** Place where its payments are named: everywhere, in the statement only, nowhere. */
  readonly shows: 'at once' | 'with the statement' | 'never'
  /** Hidden before the statement. */
  readonly isSilent: boolean
}

/** A payment and what the bank did with it. `timesExecuted` counts what left for the creditor, not what came back. */
export type PaymentRecord = Payment & {
  readonly timesReceived: number
  readonly timesExecuted: number
  readonly status: 'refused' | 'accepted' | 'held' | 'executed' | 'rejected' | 'returned' | 'lost'
}

/** Something that the bank did wrong on order. `subject`: an end-to-end id, an entry's reference or a file's name. */
export type OddityRecord = {
  readonly kind: string
  readonly subject: string
  readonly amount: bigint | null
  readonly currency: string | null
}

export type StatementRecord = {
  readonly account: string
  readonly currency: string
  readonly sequence: number
  readonly opening: bigint
  readonly closing: bigint
  readonly entries: number
}

/** The bank's records, for comparison with those of the company. */
export type Book = {
  readonly accounts: readonly (BankAccount & { readonly balance: bigint })[]
  readonly payments: readonly PaymentRecord[]
  readonly entries: readonly Entry[]
  readonly statements: readonly StatementRecord[]
  readonly oddities: readonly OddityRecord[]
  /** Messages and instructions that came a second time: the company must never cause one. */
  readonly duplicates: readonly string[]
  /** Names of files that were received, and of those that are out. */
  readonly received: readonly string[]
  readonly sent: readonly string[]
  readonly recalls: readonly { readonly endToEndId: string; readonly reason: string; readonly answer: string }[]
}
