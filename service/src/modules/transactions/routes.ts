/** Operation id -> service call and shape. */
import type { ResponseOf } from '@partner-payments/wire'
import { type Handlers } from '../../api/index.ts'
import { writeAmount } from '../../kernel/index.ts'
import type { Transactions, TransactionView } from './service.ts'

export function transactionsRoutes(transactions: Transactions): Handlers<'transactions'> {
  return {
    getTransaction: async ({ caller, params }) => ({
      body: toTransaction(await transactions.get(caller.partnerId, params.reference)),
    }),
    listTransactions: async ({ caller, query }) => {
      const page = await transactions.list(caller.partnerId, query)
      return { body: { ...page, data: page.data.map(toTransaction) } }
    },
  }
}

/** Earlier versions did not move the stored time with every entry of the timeline. Texts of one form sort like their times. */
const newest = (times: readonly [string, ...string[]]): string =>
  times.reduce((latest, time) => (time > latest ? time : latest))

/** A null field is absent. Without an exchange `userAmount` equals `amount`, and there is no quote. */
export function toTransaction({ row, timeline }: TransactionView): ResponseOf<'getTransaction'> {
  const amount = writeAmount(row.amount, row.currency)
  const { userAmount, userCurrency } = row
  const hasFx = userAmount !== null && userCurrency !== null
  return {
    reference: row.reference,
    amount,
    currency: row.currency,
    userAmount: hasFx ? writeAmount(userAmount, userCurrency) : amount,
    userCurrency: hasFx ? userCurrency : row.currency,
    category: row.category,
    direction: row.direction,
    method: row.method,
    partyType: row.partyType,
    status: row.status,
    type: row.type,
    hasFx,
    createdAt: row.createdAt.toISOString(),
    updatedAt: newest([row.updatedAt.toISOString(), ...timeline.map(({ createdAt }) => createdAt)]),
    ...given({
      errorKey: row.errorKey,
      rail: row.rail,
      fxQuoteExpiryTime: row.fxQuoteExpiresAt?.toISOString() ?? null,
      endToEndId: row.endToEndId,
      sessionId: row.sessionId,
      websiteReference: row.websiteReference,
      userReference: row.userReference,
      idempotencyKey: row.idempotencyKey,
      description: row.description,
      beneficiaryId: row.beneficiaryId,
      beneficiaryAlias: row.beneficiaryAlias,
      transactionHash: row.transactionHash,
      creditorDetails: read(row.creditor),
      debtorDetails: read(row.debtor),
      partnerUser: read(row.partnerUser),
    }),
    timeline: timeline.map(({ createdAt, status, step }) => ({ createdAt, status, step })),
  }
}

const read = (json: string | null) => (json === null ? null : (JSON.parse(json) as Record<string, string>))

/** Without the fields that are null. */
function given<T extends object>(fields: T): { [K in keyof T]?: NonNullable<T[K]> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null)) as {
    [K in keyof T]?: NonNullable<T[K]>
  }
}
