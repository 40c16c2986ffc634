/** Port by which file-based banks show their files to staff: what came, what went, and what was read. No names of people. */
import type { Minor } from '../kernel/index.ts'
import type { Tx } from '../postgres/index.ts'

/** `Aside`: nothing of it was taken. The last three are those of a file that goes to the bank. */
export type BankFileState = 'Taking' | 'Taken' | 'Repeated' | 'Aside' | 'Made' | 'Staged' | 'Delivered'

export type BankFile = {
  readonly direction: 'received' | 'sent'
  readonly id: string
  readonly connector: string
  readonly name: string
  /** Name of the message. Null: it was not recognised. */
  readonly kind: string | null
  readonly messageId: string | null
  readonly state: BankFileState
  readonly problem: string | null
  /** When it was received, or made. */
  readonly at: Date
}

/** A file with everything that was read from it. */
export type BankFileFacts = BankFile & {
  readonly sha256: string
  readonly bytes: bigint
  /** When all of it was taken, or delivered. */
  readonly endedAt: Date | null
  /** When people decided to take a file that was quarantined. */
  readonly releasedAt: Date | null
  /** A file to the bank: its payments, their sum as a decimal number, attempts to deliver it, and the bank's answer to the whole. */
  readonly sent: {
    readonly payments: bigint
    readonly controlSum: string
    readonly attempts: number
    readonly bankStatus: string | null
  } | null
}

export const bankFileFilters = ['all', 'received', 'aside', 'sent', 'unsent'] as const
export type BankFilesWanted = {
  /** Undefined: all banks. */
  readonly connector: string | undefined
  readonly show: (typeof bankFileFilters)[number]
  /** The last row of the page before. */
  readonly after: { readonly at: Date; readonly id: string } | undefined
  readonly rowsMax: number
}

/** A statement, report or notification of one account within a file. */
export type FileStatement = {
  readonly id: string
  readonly kind: string
  readonly account: string
  readonly currency: string
  readonly statementId: string
  readonly sequence: bigint | null
  readonly opening: Minor | null
  readonly closing: Minor | null
  readonly openingOn: string | null
  readonly closingOn: string | null
  readonly entries: bigint
  readonly credits: Minor
  readonly debits: Minor
}

export type FileEntry = {
  readonly id: string
  readonly amount: Minor
  readonly bookedOn: string
  readonly valueOn: string | null
  readonly position: bigint
  readonly payments: bigint
  readonly isReversal: boolean
  /** Meaning of the entry, as it was matched. */
  readonly kind: string
  readonly status: 'New' | 'Applied'
  /** The payment of an entry `payout` or `return`. */
  readonly subjectId: string | null
  readonly subjectPartnerId: string | null
  readonly createdAt: Date
}

/** A payment in a file to the bank. */
export type FilePayment = {
  readonly partnerId: string
  readonly id: string
  readonly endToEndId: string
  readonly currency: string
  readonly amount: Minor
  readonly status: string
  readonly reasonCode: string | null
}

/** A request in a file to the bank to take a payment back. */
export type FileRecall = {
  readonly partnerId: string
  readonly id: string
  readonly instructionId: string
  readonly status: string
  readonly reason: string
  readonly answerCode: string | null
}

export type BankFiles = {
  /** The configured banks. */
  readonly connectorIds: readonly string[]
  /** Newest first. */
  readonly page: (tx: Tx, wanted: BankFilesWanted) => Promise<readonly BankFile[]>
  /** The files with this name, or this id of the message, newest first. */
  readonly named: (tx: Tx, text: string, rowsMax: number) => Promise<readonly BankFile[]>
  readonly byId: (tx: Tx, id: string) => Promise<BankFileFacts | undefined>
  /** The time since which the oldest file waits to be delivered to a bank. Null: none does. */
  readonly oldestUnsent: (tx: Tx, connector: string) => Promise<Date | null>
  readonly statements: (tx: Tx, fileId: string, rowsMax: number) => Promise<readonly FileStatement[]>
  /** The entries of a statement (camt.053), or those of another message that no statement has yet, in their order. */
  readonly entries: (
    tx: Tx,
    of: { readonly file: BankFileFacts; readonly statement: FileStatement },
    page: { readonly after: { readonly position: bigint; readonly id: string } | undefined; readonly rowsMax: number },
  ) => Promise<readonly FileEntry[]>
  readonly payments: (
    tx: Tx,
    fileId: string,
    afterId: string | undefined,
    rowsMax: number,
  ) => Promise<readonly FilePayment[]>
  readonly recalls: (
    tx: Tx,
    fileId: string,
    afterId: string | undefined,
    rowsMax: number,
  ) => Promise<readonly FileRecall[]>
}
