/** The dependencies of a file-based bank's connector: the rules of the bank and the file transport. */
import type { Pain001Profile, PostalAddress } from '../../iso20022/index.ts'
import type { Clock, Currency, Log, Minor, Sealer } from '../../kernel/index.ts'
import type { Database } from '../../postgres/index.ts'
import type { Calendar, StatementNumbering, PayerData } from '../../rails/index.ts'
import type { RecallKind } from './ids.ts'

export const schemes = ['Instant', 'CreditTransfer'] as const
export type Scheme = (typeof schemes)[number]

export const payerModes = ['customer', 'partner', 'none'] as const
export const payerDataModes = ['send', 'require'] as const

export const chargeBearers = ['SHAR', 'DEBT', 'CRED'] as const

/** The banks that a scheme reaches. The set has BICs of eight characters. */
export type BankReach = 'all' | 'none' | ReadonlySet<string>

/** Our account at the bank, for outgoing and incoming payments. */
export type BankAccount = {
  /** IBAN without spaces. */
  readonly iban: string
  readonly bic: string
  readonly currency: Currency
  readonly ownerName: string
  readonly ownerAddress: PostalAddress
}

/** The rules of a bank. It executes credit transfers on days when the currency settles and the bank is open (`Calendar`). */
export type BankRules = Calendar & {
  /** The id of the connector: `iso20022`, or `iso20022-` and a name. */
  readonly id: string
  /** One account for each currency. */
  readonly accounts: readonly BankAccount[]
  /** Our name and id at the bank: InitgPty. */
  readonly initiator: { readonly name: string; readonly id?: string }
  /** The preferred scheme, used if the payee's bank and the amount allow it. */
  readonly preferred: Scheme
  /** The bank's limit for an instant payment, in cents. Null: unlimited. */
  readonly instantMax: Minor | null
  readonly reach: Readonly<Record<Scheme, BankReach>>
  /** Whether a payee's bank without a known BIC counts as reachable if `reach` is a list. */
  readonly unknownBankReachable: boolean
  /** A file is created when this number of payments is waiting, or when the oldest has waited for `fileWindowMs`. */
  readonly paymentsPerFileMax: number
  readonly fileWindowMs: number
  /** The longest wait of an instant payment. Instant payments have separate files. */
  readonly instantWindowMs: number
  readonly batchBooking: boolean
  /** The format of payment files. */
  readonly profile: Pain001Profile
  /** ExternalCategoryPurpose1Code of every batch, and ExternalPurpose1Code of every payment. */
  readonly categoryPurpose?: string
  readonly purpose?: string
  /** The party that pays the charges of a payment outside SEPA. */
  readonly chargeBearer: (typeof chargeBearers)[number]
  /**
   * The payer in the files (UltmtDbtr). `customer`: the customer, or the partner for its own payouts. `none`: only the
   * account owner. Default: `customer`.
   */
  readonly payer?: (typeof payerModes)[number]
  /** `require` refuses a payout without the payer data of Regulation (EU) 2023/1113. Default: `send` the available data. */
  readonly payerData?: (typeof payerDataModes)[number]
  /** Whether files opt in to or out of verification of payee. Absent: they do not state it. */
  readonly payeeCheck?: 'in' | 'out'
  /** How the bank accepts recalls: in files, by default camt.055, or in letters that people send. */
  readonly recalls?: RecallKind | 'letter'
  /** A larger message is refused. */
  readonly messageBytesMax: number
  /** An incomplete file that has not grown for this time is quarantined. */
  readonly unfinishedAfterMs: number
  /** A payment is missing if the bank does not report it within this time. */
  readonly missingAfterMs: number
  /** How long a batch waits for the message that lists its payments, and a reversal for its credit. */
  readonly detailsWithinMs: number
  /** The private folder of this process for temporary files and the archive. */
  readonly archive: string
  readonly pollMs: number
  /** The meaning of statement numbers. */
  readonly statementNumbers?: StatementNumbering
}

export type RemoteFile = { readonly name: string; readonly bytes: number; readonly modifiedAt: Date }

/**
 * Exchanges files with the bank in one folder for each direction. Every call ends: it throws Unreachable if the other
 * side does not answer, or when `signal` aborts. Names have no path.
 */
export type Transport = {
  /** Lists finished files of the bank: not `.tmp`, `.part`, `.filepart` or names with a leading dot. */
  readonly list: (signal: AbortSignal) => Promise<readonly RemoteFile[]>
  /** Reads the bytes from `offset`, so that an interrupted read can continue. */
  readonly read: (name: string, offset: number, signal: AbortSignal) => AsyncIterable<Uint8Array>
  /** Deletes a received file or moves it to another folder, as the bank requires. Idempotent. */
  readonly finish: (name: string, signal: AbortSignal) => Promise<void>
  /** Writes and flushes all bytes under a temporary name in the folder for the bank. Replaces an existing file. */
  readonly stage: (temporary: string, bytes: Uint8Array, signal: AbortSignal) => Promise<void>
  /**
   * Renames a staged file atomically. Throws if `name` exists. `absent`: the temporary file does not exist, and nothing
   * changed.
   */
  readonly publish: (temporary: string, name: string, signal: AbortSignal) => Promise<'published' | 'absent'>
  /** Removes a temporary file if it exists. */
  readonly discard: (temporary: string, signal: AbortSignal) => Promise<void>
  readonly close: () => Promise<void>
}

/** `customerId` is null for the partner itself. */
export type PayerKey = { readonly partnerId: string; readonly customerId: string | null }

export type Payers = {
  readonly sealer: Pick<Sealer, 'seal' | 'open'>
  /** Reads the payers in the order of the keys; undefined for an unknown payer. */
  readonly read: (keys: readonly PayerKey[]) => Promise<readonly (PayerData | undefined)[]>
}

export type BankDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly log: Log
  readonly rules: BankRules
  readonly transport: Transport
  /** Reads and seals payers. Absent: the files do not name payers. */
  readonly payers?: Payers
  /** The partner whose ledger holds money of unknown owners, and which owns the bank's entries. */
  readonly operatorId: string
}
