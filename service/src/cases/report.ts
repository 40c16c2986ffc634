/** The parts of a case's report that decisions read. The report is stored as JSON, as the connector sent it. */
import { ownJson } from '@partner-payments/wire'
import { present, type Money } from '../kernel/index.ts'
import { returnRemittance } from './rules.ts'
import type { CaseRow, ReturnRow } from './store.ts'

/** An amount of a report, as a decimal number. */
export type ReportedMoney = { readonly amount: string; readonly currency: string }

/** The report of a case. A credit has its sender, account and purpose, if the bank provides them. */
export type CaseReport = {
  readonly kind?: string
  readonly subjectId?: string
  readonly account?: string
  readonly debtor?: {
    readonly account: string
    readonly bic: string
    readonly name: string
    readonly countryCode: string
    readonly address: string | null
    readonly identification?: string
    readonly onBehalfOf?: string
  }
  readonly remittance?: string | null
  readonly endToEndId?: string | null
  /** The creditor references that the message may contain, most likely first. */
  readonly creditorReferences?: readonly (readonly string[])[]
  readonly transactionHash?: string
  readonly details?: string
  readonly money?: ReportedMoney
  /** The expected amount of a deposit, or the instructed amount of a payout, if the bank booked a different amount. */
  readonly expected?: ReportedMoney
  readonly instructed?: ReportedMoney
  readonly rule?: { readonly id: string; readonly version: number; readonly name: string; readonly kind: string }
  readonly customerId?: string
  readonly reference?: string
  readonly count?: number
  readonly sum?: string
  readonly currency?: string
  readonly references?: readonly string[]
  readonly day?: string
  readonly bank?: string
  readonly ledger?: string
  readonly difference?: string | null
  readonly unexplained?: string
  readonly requirement?: string
  readonly resource?: string | null
  readonly missingStatements?: readonly string[]
  readonly payer?: { readonly lacks: readonly string[]; readonly answerBy: string | null }
  /** The refunds of a payment that the payer's bank has reversed, as of the report. */
  readonly refunds?: readonly { readonly payoutId: string }[]
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

export function readCaseReport({ report }: Pick<CaseRow, 'report'>): CaseReport {
  const read = ownJson<Omit<CaseReport, 'debtor'> & { readonly debtor?: Record<string, unknown> | null }>(report)
  const { debtor, ...rest } = read
  const account = textOf(debtor?.['account'])
  if (!debtor || account === '') return rest
  const [address, identification, onBehalfOf] = ['address', 'identification', 'onBehalfOf'].map((key) =>
    textOf(debtor[key]),
  )
  return {
    ...rest,
    debtor: {
      account,
      bic: textOf(debtor['bic']),
      name: textOf(debtor['name']),
      countryCode: textOf(debtor['countryCode']),
      address: address || null,
      ...(identification ? { identification } : {}),
      ...(onBehalfOf ? { onBehalfOf } : {}),
    },
  }
}

/** Builds the return of a credit to its sender's account. */
export function toReturn(row: CaseRow, { currency, amount }: Money, id: string, now: Date): ReturnRow {
  const { debtor, endToEndId = null, remittance = null } = readCaseReport(row)
  const { account, bic, name } = present(debtor, `case ${row.id} has no debtor to return money to`)
  return {
    partnerId: row.partnerId,
    id,
    caseId: row.id,
    connector: row.connector,
    currency,
    amount,
    creditorName: name === '' ? 'NOTPROVIDED' : name,
    creditorAccount: account,
    creditorBic: bic === '' ? null : bic,
    remittance: returnRemittance(endToEndId, remittance),
    status: 'Due',
    attempts: 0,
    dueAt: now,
    leaseId: null,
    settledBy: null,
    endedBy: null,
    createdAt: now,
    updatedAt: now,
  }
}
