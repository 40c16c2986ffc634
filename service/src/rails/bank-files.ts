/** The port through which staff read the files of file-based banks: received and sent files and their contents, without names. */
import type { Minor } from '../kernel/index.ts'
import type { Tx } from '../postgres/index.ts'

/** `Aside`: quarantined. The last three are states of outgoing files. */
export type BankFileState = 'Taking' | 'Taken' | 'Repeated' | 'Aside' | 'Made' | 'Staged' | 'Delivered'

export type BankFile = {
  readonly direction: 'received' | 'sent'
  readonly id: string
  readonly connector: string
  readonly name: string
  /** The name of the message. Null if it was not recognised. */
  readonly kind: string | null
  readonly messageId: string | null
  readonly state: BankFileState
  readonly problem: string | null
  /** When the file was received or written. */
  readonly at: Date
}

/** A file with its details. */
export type BankFileDetails = BankFile & {
  readonly sha256: string
  readonly bytes: bigint
  /** When the file was completely processed, or delivered. */
  readonly endedAt: Date | null
  /** When people released the quarantined file. */
  readonly releasedAt: Date | null
  /** Details of an outgoing file: its payments, their sum as decimal text, the delivery attempts, and the bank's status of the file. */
  readonly sent: {
    readonly payments: bigint
    readonly controlSum: string
    readonly attempts: number
    readonly bankStatus: string | null
  } | null
}

export const bankFileFilters = ['all', 'received', 'aside', 'sent', 'unsent'] as const
export type BankFilesQuery = {
  /** Undefined: all banks. */
  readonly connector: string | undefined
  readonly show: (typeof bankFileFilters)[number]
  /** The cursor: the last row of the previous page. */
  readonly after: { readonly at: Date; readonly id: string } | undefined
  readonly rowsMax: number
}

/** A statement, report or notification of one account in a file. */
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
  /** The meaning of the entry after matching. */
  readonly kind: string
  readonly status: 'New' | 'Applied'
  /** The payment of an entry `payout` or `return`. */
  readonly subjectId: string | null
  readonly subjectPartnerId: string | null
  readonly createdAt: Date
}

/** A payment in an outgoing file. */
export type FilePayment = {
  readonly partnerId: string
  readonly id: string
  readonly endToEndId: string
  readonly currency: string
  readonly amount: Minor
  readonly status: string
  readonly reasonCode: string | null
}

/** A recall in an outgoing file. */
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
  /** Lists files, newest first. */
  readonly page: (tx: Tx, wanted: BankFilesQuery) => Promise<readonly BankFile[]>
  /** Lists the files with this name or message id, newest first. */
  readonly named: (tx: Tx, text: string, rowsMax: number) => Promise<readonly BankFile[]>
  readonly byId: (tx: Tx, id: string) => Promise<BankFileDetails | undefined>
  /** Returns the time of the oldest undelivered file. Null: all files are delivered. */
  readonly oldestUnsent: (tx: Tx, connector: string) => Promise<Date | null>
  readonly statements: (tx: Tx, fileId: string, rowsMax: number) => Promise<readonly FileStatement[]>
  /** Lists the entries of a statement (camt.053), or those of another message that are not on a statement yet, in order. */
  readonly entries: (
    tx: Tx,
    of: { readonly file: BankFileDetails; readonly statement: FileStatement },
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
