/** The shared dependencies of a bank's file connector: the configuration of the bank, and the transport of files. */
import type { Pain001Profile, PostalAddress } from '../../iso20022/index.ts'
import type { Clock, Currency, Log, Minor, Sealer } from '../../kernel/index.ts'
import type { Database } from '../../postgres/index.ts'
import type { Calendar, Numbering, PayerData } from '../../rails/index.ts'
import type { RecallKind } from './ids.ts'

export const schemes = ['Instant', 'CreditTransfer'] as const
export type Scheme = (typeof schemes)[number]

export const payers = ['customer', 'partner', 'none'] as const
export const payerDataModes = ['send', 'require'] as const

export const chargeBearers = ['SHAR', 'DEBT', 'CRED'] as const

/** BICs of eight characters. */
export type Reach = 'all' | 'none' | ReadonlySet<string>

/** An account of ours at the bank, from which payments go and on which money arrives. */
export type BankAccount = {
  /** IBAN without spaces. */
  readonly iban: string
  readonly bic: string
  readonly currency: Currency
  readonly ownerName: string
  readonly ownerAddress: PostalAddress
}

/** The rules of a bank. Credit transfers are executed on days when their currency settles and the bank is open (`Calendar`). */
export type BankRules = Calendar & {
  /** The id of the connector: `iso20022`, or `iso20022-` and a name. */
  readonly id: string
  /** Accounts, one for each currency that is paid. */
  readonly accounts: readonly BankAccount[]
  /** Our name and id at the bank: InitgPty. */
  readonly initiator: { readonly name: string; readonly id?: string }
  /** The scheme of a payment, if its bank and its amount allow it. */
  readonly preferred: Scheme
  /** The bank's limit for an instant payment, in cents. Null: it has none. */
  readonly instantMax: Minor | null
  readonly reach: Readonly<Record<Scheme, Reach>>
  /** True if a bank without a known BIC counts as reachable, if `reach` is a list. */
  readonly unknownBankReachable: boolean
  /** A file is made when this many payments wait, or the oldest has waited this long. */
  readonly paymentsPerFileMax: number
  readonly fileWindowMs: number
  /** The same for instant payments, which have files of their own. */
  readonly instantWindowMs: number
  readonly batchBooking: boolean
  /** The form of the files of payments. */
  readonly profile: Pain001Profile
  /** ExternalCategoryPurpose1Code of every batch, and ExternalPurpose1Code of every payment. */
  readonly categoryPurpose?: string
  readonly purpose?: string
  /** The bearer of the charges of a payment outside SEPA. */
  readonly chargeBearer: (typeof chargeBearers)[number]
  /** Whom the files name as the payer (UltmtDbtr): the customer, and the partner for its own payouts; the partner always; or only the owner of the account. Default: `customer`. */
  readonly payer?: (typeof payers)[number]
  /** `require`: a payout whose payer lacks what Regulation (EU) 2023/1113 asks for is refused. Default: `send` what there is. */
  readonly payerData?: (typeof payerDataModes)[number]
  /** Says whether the files ask for a check of the payees, or against one; absent: they do not say. */
  readonly payeeCheck?: 'in' | 'out'
  /** How the bank takes recalls: as files, by default of camt.055, or by a letter that people send. */
  readonly recalls?: RecallKind | 'letter'
  /** A larger message is not read. */
  readonly messageBytesMax: number
  /** An incomplete file that has not grown for this long is quarantined. */
  readonly unfinishedAfterMs: number
  /** A payment without any report of the bank for this long is missing. */
  readonly missingAfterMs: number
  /** How long a batch without its payments waits for the message that names them, and a reversal for its credit. */
  readonly detailsWithinMs: number
  /** The folder of this process for files on their way and for the archive. Not shared with the bank. */
  readonly archive: string
  readonly pollMs: number
  /** Says what the numbers of its statements prove: by default, what no balance does. */
  readonly statementNumbers?: Numbering
}

export type RemoteFile = { readonly name: string; readonly bytes: number; readonly modifiedAt: Date }

/**
 * Exchanges files with the bank in one folder for each direction. Every call ends: it throws Unreachable if the other
 * side does not answer, or when `signal` aborts. Names have no path.
 */
export type Transport = {
  /** Files of the bank, without those that a writer has not finished (`.tmp`, `.part`, `.filepart`, a leading dot). */
  readonly list: (signal: AbortSignal) => Promise<readonly RemoteFile[]>
  /** The bytes from `offset` on, so that an interrupted reading continues. */
  readonly read: (name: string, offset: number, signal: AbortSignal) => AsyncIterable<Uint8Array>
  /**
   * Removes a received file from the folder, as the bank requires (deleted, or moved to another folder). Idempotent.
   */
  readonly finish: (name: string, signal: AbortSignal) => Promise<void>
  /**
   * Writes all bytes under a temporary name in the folder for the bank, flushed to its disk. The file may exist, also
   * in part.
   */
  readonly stage: (temporary: string, bytes: Uint8Array, signal: AbortSignal) => Promise<void>
  /**
   * Renames a staged file, atomically. `absent`: there is no such temporary file, and this call has changed nothing.
   * Never replaces a file: if `name` exists, throws.
   */
  readonly publish: (temporary: string, name: string, signal: AbortSignal) => Promise<'published' | 'absent'>
  /** Removes a temporary file if it is there. */
  readonly discard: (temporary: string, signal: AbortSignal) => Promise<void>
  readonly close: () => Promise<void>
}

/** `customerId`: null is the partner itself. */
export type PayerKey = { readonly partnerId: string; readonly customerId: string | null }

export type Payers = {
  readonly sealer: Pick<Sealer, 'seal' | 'open'>
  /** The payers, in their order. Undefined: it is not known. */
  readonly read: (keys: readonly PayerKey[]) => Promise<readonly (PayerData | undefined)[]>
}

export type BankDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly log: Log
  readonly rules: BankRules
  readonly transport: Transport
  /** Reads and seals payers. Absent: the files name none. */
  readonly payers?: Payers
  /** The partner whose ledger holds money without a known owner; entries of the bank belong to it. */
  readonly operatorId: string
}

/** Groups rows for statements: a sharded database runs one for each partner. */
export function byShard<T extends { readonly partnerId: string }>(
  { sharded }: Pick<Database, 'sharded'>,
  rows: readonly T[],
): readonly (readonly T[])[] {
  if (rows.length === 0) return []
  return sharded ? [...Map.groupBy(rows, ({ partnerId }) => partnerId).values()] : [rows]
}
