/** The parts of a case's report that decisions read. It is kept as JSON, as the connector sent it. */
import { ownJson } from '@partner-payments/wire'
import { present } from '../kernel/index.ts'
import { type Booked, returnRemittance } from './rules.ts'
import type { CaseRow, ReturnRow } from './store.ts'

/** Report of a bank about a payment. A credit also names its sender, account and purpose, if the bank gives them. */
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
  /** The creditor references that the message may name, the surest first. */
  readonly creditorReferences?: readonly (readonly string[])[]
  readonly transactionHash?: string
  readonly details?: string
  /** The refunds of a payment that its bank has taken back, as they were then. */
  readonly refunds?: readonly { readonly payoutId: string }[]
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

export function reportOf({ report }: Pick<CaseRow, 'report'>): CaseReport {
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

/** Makes the return of a credit to the account that sent it. */
export function toReturn(row: CaseRow, { currency, amount }: Booked, id: string, now: Date): ReturnRow {
  const { debtor, endToEndId = null, remittance = null } = reportOf(row)
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
