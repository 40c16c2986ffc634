/**
 * The ISO 20022 messages between a company and its bank, as values. They cover the guidelines of the European Payments
 * Council. The readers and writers in this folder handle the XML.
 *
 * Amounts are minor units of their currency. Texts are those of the message, neither cut nor transliterated.
 */
import type { Currency, Minor } from '../kernel/index.ts'

/** `minor` is null for a currency that this service does not support; `currency` is then its ISO 4217 code. */
export type Amount =
  | { readonly currency: Currency; readonly minor: Minor }
  | { readonly currency: string; readonly minor: null; readonly text: string }

/** An amount in a supported currency. */
export type Money = { readonly currency: Currency; readonly minor: Minor }

/** PostalAddress24. Structured, or hybrid: town and country with at most two free lines. Older messages have lines only. */
export type PostalAddress = {
  readonly department?: string
  readonly subDepartment?: string
  readonly street?: string
  readonly buildingNumber?: string
  readonly buildingName?: string
  readonly floor?: string
  readonly postBox?: string
  readonly roomNumber?: string
  readonly postCode?: string
  readonly town?: string
  readonly townLocation?: string
  readonly district?: string
  readonly countrySubdivision?: string
  readonly country?: string
  readonly lines?: readonly string[]
}

/** A code of an external code list, or a proprietary code of the bank. */
export type Code = { readonly code: string } | { readonly proprietary: string }

/** GenericOrganisationIdentification1 and others: an identification without a dedicated element. */
export type OtherId = { readonly id: string; readonly scheme?: Code; readonly issuer?: string }

/** PartyIdentification135. */
export type Party = {
  readonly name?: string
  readonly address?: PostalAddress
  readonly id?: {
    readonly kind: 'organisation' | 'private'
    readonly bic?: string
    readonly lei?: string
    readonly birth?: {
      readonly date: string
      readonly province?: string
      readonly city: string
      readonly country: string
    }
    readonly others?: readonly OtherId[]
  }
  readonly residence?: string
}

/** A bank: BranchAndFinancialInstitutionIdentification6. */
export type Agent = {
  readonly bic?: string
  readonly lei?: string
  readonly name?: string
  readonly address?: PostalAddress
  readonly clearingSystem?: Code
  readonly clearingId?: string
  readonly otherId?: OtherId
  readonly branchId?: string
}

/** An account: its IBAN without spaces, or another identification. */
export type AccountId =
  | { readonly iban: string }
  | { readonly other: string; readonly scheme?: Code; readonly issuer?: string }

export type Remittance = {
  readonly unstructured?: readonly string[]
  readonly structured?: readonly StructuredRemittance[]
}

/** One block of a structured remittance. SEPA Credit Transfer allows one, with a creditor reference. */
export type StructuredRemittance = {
  /** ISO 11649 (`RF...`), or a creditor's reference in another form. */
  readonly creditorReference?: string
  /** `SCOR`, or a proprietary type. If absent, written as `SCOR` with the issuer `ISO`. */
  readonly referenceType?: Code
  readonly referenceIssuer?: string
  /** Documents that are paid: an invoice (CINV), a credit note (CREN). */
  readonly documents?: readonly { readonly type?: Code; readonly number?: string; readonly date?: string }[]
  /** DuePyblAmt and RmtdAmt. */
  readonly due?: Amount
  readonly remitted?: Amount
  readonly additional?: readonly string[]
}

/** One payment of a pain.001: CreditTransferTransaction34. */
export type CreditTransfer = {
  readonly instructionId?: string
  readonly endToEndId: string
  /** RFC 9562. */
  readonly uetr?: string
  readonly money: Money
  readonly ultimateDebtor?: Party
  readonly creditorAgent?: Agent
  readonly creditor: Party
  readonly creditorAccount: AccountId
  /** ExternalCashAccountType1Code: `CACC`, `SVGS` and others. */
  readonly creditorAccountType?: string
  readonly ultimateCreditor?: Party
  /** ExternalPurpose1Code. */
  readonly purpose?: string
  readonly remittance?: Remittance
  /** The names of other elements in a message that was read. They are not written. */
  readonly others?: readonly string[]
}

/** PaymentInstruction30: payments from one account, on one day, by one scheme. */
export type PaymentBatch = {
  readonly id: string
  /** True: the bank books the batch as one sum. */
  readonly batchBooking?: boolean
  /** `SEPA`, `URGP` and others of ExternalServiceLevel1Code. */
  readonly serviceLevel?: string
  /** `INST`: SEPA Instant. */
  readonly localInstrument?: string
  /** ExternalCategoryPurpose1Code. */
  readonly categoryPurpose?: string
  /** `YYYY-MM-DD`; with a time for a SEPA Instant payment at that time. */
  readonly executionDate: string
  readonly debtor: Party
  readonly debtorAccount: AccountId
  readonly debtorCurrency?: string
  readonly debtorAgent: Agent
  /** InstrForDbtrAgt: an instruction agreed between the bank and its customer. Only in version 09. */
  readonly debtorAgentInstruction?: string
  readonly ultimateDebtor?: Party
  /** `SLEV` in SEPA. */
  readonly chargeBearer?: string
  readonly transfers: readonly CreditTransfer[]
}

/** pain.001.001.03 or .09, Customer Credit Transfer Initiation. Its numbers and control sums are computed when it is written. */
export type CreditTransferInitiation = {
  /** Max35Text. */
  readonly messageId: string
  readonly createdAt: Date
  readonly initiator: Party
  readonly batches: readonly PaymentBatch[]
}

/** ExternalStatusReason1Code, ExternalReturnReason1Code and others, or a proprietary code of the bank. */
export type Reason = {
  readonly code?: string
  readonly proprietary?: string
  readonly texts: readonly string[]
  /** The originator of the reason, if the message names it. */
  readonly originator?: Party
}

/** ExternalPaymentTransactionStatus1Code: RCVD, ACTC, ACCP, ACSP, ACSC, ACCC, ACWC, PDNG, PART, RJCT, CANC and others. */
export type TransferStatus = {
  readonly statusId?: string
  readonly instructionId?: string
  readonly endToEndId?: string
  readonly uetr?: string
  readonly status?: string
  readonly reasons: readonly Reason[]
  /** When the creditor's bank accepted an instant payment, if the message states it. */
  readonly acceptedAt?: string
  readonly bankReference?: string
  readonly clearingReference?: string
  /** The amount of the original payment. */
  readonly money?: Amount
}

export type BatchStatus = {
  readonly batchId: string
  /** The bank's count of the original batch: OrgnlNbOfTxs, OrgnlCtrlSum (decimal text). */
  readonly originalCount?: number
  readonly originalSum?: string
  readonly status?: string
  readonly reasons: readonly Reason[]
  readonly transfers: readonly TransferStatus[]
}

/** pain.002.001.10 (and .03), Customer Payment Status Report. */
export type StatusReport = {
  readonly messageId: string
  readonly createdAt: string
  readonly originalMessageId: string
  readonly originalMessageName: string
  readonly originalCount?: number
  readonly originalSum?: string
  readonly groupStatus?: string
  readonly reasons: readonly Reason[]
  readonly batches: readonly BatchStatus[]
}

/** A recall: a request to return payments. camt.055 goes from customer to bank, camt.056 from bank to bank. */
export type Recall = {
  /** `camt.055.001.08` or `camt.056.001.08`. */
  readonly kind: 'camt.055' | 'camt.056'
  /** The assignment's id, at most 35 characters. */
  readonly messageId: string
  readonly createdAt: Date
  readonly assigner: Party
  readonly assignee: Agent
  readonly caseId: string
  /** The party that requests the recall (`CxlRsnInf/Orgtr`). The guidelines of the EPC require a name or a BIC. */
  readonly originator?: Party
  readonly originalMessageId: string
  readonly originalMessageName: string
  readonly originalBatchId?: string
  readonly transfers: readonly {
    /** The id of this cancellation. */
    readonly cancellationId: string
    readonly instructionId?: string
    readonly endToEndId: string
    /** The id of the payment between banks. Only in a camt.056. */
    readonly transactionId?: string
    readonly uetr?: string
    readonly money: Money
    readonly executionDate?: string
    /** DUPL, TECH, FRAD, CUST, AC03, AM09. */
    readonly reason: string
    readonly text?: string
  }[]
}

/** camt.029.001.09 (and .03): the answer to a recall. */
export type RecallAnswer = {
  readonly messageId: string
  readonly createdAt: string
  readonly caseId?: string
  /** CNCL, RJCR, PDCR and others of ExternalInvestigationExecutionConfirmation1Code. */
  readonly confirmation?: string
  /** The id of the original pain.001. */
  readonly originalMessageId?: string
  readonly originalMessageName?: string
  /** GrpCxlSts: ACCR, RJCR, PACR, PDCR, with its reasons. */
  readonly groupStatus?: string
  readonly reasons: readonly Reason[]
  /** The answer to a whole batch is one item with the batch id and without payment ids. */
  readonly transfers: readonly {
    readonly originalBatchId?: string
    /** The id of the answering bank (CxlStsId). */
    readonly statusId?: string
    readonly cancellationId?: string
    readonly instructionId?: string
    readonly endToEndId?: string
    readonly uetr?: string
    /** ACCR, RJCR, PDCR. */
    readonly status?: string
    readonly reasons: readonly Reason[]
  }[]
}

// The messages in which a bank reports bookings (camt.052, camt.053, camt.054).

/** BankTransactionCodeStructure4: `PMNT`, `RCDT`, `ESCT`, and a proprietary code of the bank. */
export type TransactionCodes = {
  readonly domain?: string
  readonly family?: string
  readonly subFamily?: string
  readonly proprietary?: string
  readonly proprietaryIssuer?: string
}

/** A charge. `isCredit` and `isIncluded` are absent if the message omits them; without `isCredit` it is a debit. */
export type Charge = {
  readonly amount: Amount
  readonly isCredit?: boolean
  /** True if the stated amount includes the charge. Older messages do not have this field. */
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

/** AmtDtls: the instructed amount, the sent amount, and its counter value in another currency. */
export type AmountDetails = {
  readonly instructed?: ExchangedAmount
  readonly transaction?: ExchangedAmount
  readonly counterValue?: ExchangedAmount
}

/** One payment of an entry: EntryTransaction10. */
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
   * `Amt`, or in older messages `TxAmt` or `CntrValAmt`, whichever is in the currency of the entry. Absent if the
   * message has none: a single payment then has the amount of the entry.
   */
  readonly amount?: Amount
  readonly amounts?: AmountDetails
  /** Absent: the same as in the entry. */
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
  /** The reason of the return. */
  readonly returned?: Reason
  /** AccptncDtTm and IntrBkSttlmDt. */
  readonly acceptedAt?: string
  readonly settlementDate?: string
  readonly information?: string
}

/** ReportEntry10: one booking. Amounts are not negative; `isCredit` is the direction. */
export type BankEntry = {
  /**
   * The reason why the entry is unreadable. It then has no payments, and only the fields that can be read; the `text` of an unknown
   * amount is empty.
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
  /** The batches whose sum the entry is, if the bank states them. */
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

/** OPBD, CLBD, PRCD, ITBD, CLAV, FWAV, OPAV, ITAV and others. `isCredit` is false for a debit balance. */
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

/** The parts that a streaming reader yields, in the order of the document. */
export type ReportPart =
  | { readonly kind: 'head'; readonly head: ReportHead }
  | { readonly kind: 'statement'; readonly statement: StatementHead }
  | { readonly kind: 'entry'; readonly entry: BankEntry }
  | { readonly kind: 'statement end'; readonly entries: number; readonly information?: string }
