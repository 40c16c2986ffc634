/** The messages by which a bank reports what it booked (camt.052, camt.053, camt.054), as values. */
import type { AccountId, Agent, Amount, Code, Party, Reason, Remittance } from './model.ts'

/** BankTransactionCodeStructure4: `PMNT`, `RCDT`, `ESCT`; and the bank's own code. */
export type TransactionCodes = {
  readonly domain?: string
  readonly family?: string
  readonly subFamily?: string
  readonly proprietary?: string
  readonly proprietaryIssuer?: string
}

/** A charge. `isCredit` and `isIncluded` are absent if the message omits them: then it is a debit. */
export type Charge = {
  readonly amount: Amount
  readonly isCredit?: boolean
  /** True if the stated amount already includes the charge. Older messages cannot say it. */
  readonly isIncluded?: boolean
  readonly type?: Code
  /** DEBT, CRED, SHAR, SLEV. */
  readonly bearer?: string
}

export type Exchange = {
  readonly sourceCurrency: string
  readonly targetCurrency?: string
  readonly unitCurrency?: string
  /** Decimal text. */
  readonly rate: string
}
export type ExchangedAmount = { readonly amount: Amount; readonly exchange?: Exchange }

/** AmtDtls: the ordered amount, the sent amount, and its counter value in another currency. */
export type AmountDetails = {
  readonly instructed?: ExchangedAmount
  readonly transaction?: ExchangedAmount
  readonly counterValue?: ExchangedAmount
}

/** One payment within an entry: EntryTransaction10. */
export type EntryDetail = {
  readonly references: {
    readonly messageId?: string
    readonly bankReference?: string
    readonly batchId?: string
    readonly instructionId?: string
    readonly endToEndId?: string
    readonly uetr?: string
    readonly transactionId?: string
    readonly mandateId?: string
    readonly chequeNumber?: string
    readonly clearingReference?: string
    readonly accountOwnerId?: string
    readonly servicerTransactionId?: string
    readonly marketId?: string
    readonly processingId?: string
    readonly others?: readonly { readonly type: string; readonly reference: string }[]
  }
  /**
   * `Amt`; if an older message has none, `TxAmt` or `CntrValAmt`, whichever is in the currency of the entry. Absent:
   * the message states none, and if the entry has one payment it is that of the entry.
   */
  readonly amount?: Amount
  readonly amounts?: AmountDetails
  /** Absent: as in the entry. */
  readonly isCredit?: boolean
  readonly codes?: TransactionCodes
  readonly charges: readonly Charge[]
  readonly chargesTotal?: Amount
  readonly initiator?: Party
  readonly debtor?: Party
  readonly debtorAccount?: AccountId
  readonly debtorAgent?: Agent
  readonly ultimateDebtor?: Party
  readonly creditor?: Party
  readonly creditorAccount?: AccountId
  readonly creditorAgent?: Agent
  readonly ultimateCreditor?: Party
  readonly remittance?: Remittance
  readonly purpose?: Code
  /** The reason why the payment came back. */
  readonly returned?: Reason
  /** AccptncDtTm and IntrBkSttlmDt. */
  readonly acceptedAt?: string
  readonly settlementDate?: string
  readonly information?: string
}

/** ReportEntry10: one booking. Amounts are never below zero; `isCredit` gives the direction. */
export type BankEntry = {
  /**
   * The reason why the entry cannot be read. It has no payments then, and of its other facts those that can be read; the
   * `text` of an amount without minor units is empty if nothing is known of it.
   */
  readonly problem?: string
  readonly reference?: string
  readonly amount: Amount
  readonly isCredit: boolean
  readonly isReversal: boolean
  /** BOOK, PDNG, INFO, FUTR. */
  readonly status: string
  /** `YYYY-MM-DD`, or with a time. */
  readonly bookingDate?: string
  readonly valueDate?: string
  readonly bankReference?: string
  readonly codes: TransactionCodes
  readonly charges: readonly Charge[]
  readonly chargesTotal?: Amount
  readonly amounts?: AmountDetails
  /** The batches that the entry sums up, if the bank states them. */
  readonly batches: readonly EntryBatch[]
  readonly details: readonly EntryDetail[]
  /** AddtlInfInd: the message that has the details of this entry. */
  readonly detailsIn?: { readonly messageName?: string; readonly messageId?: string }
  readonly information?: string
}

/** Btch: our message and batch (PmtInf), the number of payments and their sum. */
export type EntryBatch = {
  readonly messageId?: string
  readonly batchId?: string
  readonly count?: number
  readonly sum?: Amount
  readonly isCredit?: boolean
}

/** OPBD, CLBD, PRCD, ITBD, CLAV, FWAV, OPAV, ITAV and others. `isCredit` false: a debit balance. */
export type Balance = {
  readonly type: Code
  /** `INTM`: a balance between two pages. */
  readonly subType?: Code
  /** Credit lines, and whether the amount includes them. */
  readonly creditLines: readonly { readonly isIncluded: boolean; readonly amount?: Amount }[]
  readonly amount: Amount
  readonly isCredit: boolean
  readonly date?: string
}

export type EntryTotals = {
  readonly count?: number
  readonly sum?: string
  readonly net?: string
  readonly netIsCredit?: boolean
  readonly creditCount?: number
  readonly creditSum?: string
  readonly debitCount?: number
  readonly debitSum?: string
}

/** The head of a statement, report or notification of one account. */
export type StatementHead = {
  readonly id: string
  readonly electronicSequence?: string
  readonly legalSequence?: string
  readonly page?: { readonly number: string; readonly isLast: boolean }
  readonly createdAt?: string
  readonly from?: string
  readonly to?: string
  /** Set if the bank repeats the statement: CODU, COPY, DUPL. */
  readonly copy?: string
  readonly account: {
    readonly id: AccountId
    readonly currency?: string
    readonly name?: string
    readonly owner?: Party
    readonly servicer?: Agent
  }
  readonly balances: readonly Balance[]
  readonly totals?: EntryTotals
}

export type ReportKind = 'camt.052' | 'camt.053' | 'camt.054'
export type ReportHead = {
  readonly kind: ReportKind
  /** `02`, `08` and others: the last part of the namespace. */
  readonly version: string
  readonly messageId: string
  readonly createdAt: string
  readonly recipient?: Party
  readonly page?: { readonly number: string; readonly isLast: boolean }
  readonly information?: string
}

/** The parts that a streaming reader returns, in the order of the document. */
export type ReportPart =
  | { readonly kind: 'head'; readonly head: ReportHead }
  | { readonly kind: 'statement'; readonly statement: StatementHead }
  | { readonly kind: 'entry'; readonly entry: BankEntry }
  | { readonly kind: 'statement end'; readonly entries: number; readonly information?: string }
