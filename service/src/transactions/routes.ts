/** Maps API operations to module operations and response shapes. */
import { ownJson, type ResponseOf } from '@partner-payments/wire'
import { type Handlers, parseTime, writeSums } from '../kernel/api/index.ts'
import { toJsonAmount } from '../kernel/index.ts'
import { explainReason } from '../iso20022/index.ts'
import type {
  TransactionChanges,
  TransactionReads,
  RelatedTransactions,
  TransactionWithUser,
  TransactionView,
} from './reads.ts'
import { explainHold, type Hold } from './holds.ts'
import { actorNames } from './rules.ts'
import type { Transactions } from './service.ts'

/** Finds why a transaction waits. Undefined: it does not wait. */
export type FindHold = (transaction: TransactionView) => Promise<Hold | undefined>

export function transactionsRoutes(transactions: Transactions, holdOf: FindHold): Handlers<'transactions'> {
  return {
    exportTransactions: async ({ caller, query: { after, updatedSince } }) => {
      const { pages, closed } = await transactions.changes(caller.partnerId, {
        ...(after === undefined ? {} : { cursor: after }),
        ...(updatedSince === undefined ? {} : { since: parseTime(updatedSince) }),
      })
      const file = { mediaType: 'application/jsonl', fileName: 'transactions.jsonl' }
      return { body: undefined, stream: { ...file, read: () => linesOf(transactions, pages()), closed } }
    },
    getTransaction: async ({ caller, params }) => ({
      body: toTransaction(await transactions.getWithUser(caller.partnerId, params.reference)),
    }),
    listRelatedTransactions: async ({ caller, params }) => ({
      body: toRelated(await transactions.related(caller.partnerId, params.reference)),
    }),
    getTransactionProof: async ({ caller, params }) => ({
      body: toProof(await transactions.proof(caller.partnerId, params.reference)),
    }),
    getTransactionTimeline: async ({ caller, params }) => {
      const found = await transactions.timeline(caller.partnerId, params.reference)
      return { body: toTimeline(found, await holdOf(found.transaction)) }
    },
    sumTransactions: async ({ caller, query }) => ({
      body: writeSums(await transactions.sums(caller.partnerId, query)),
    }),
    listTransactions: async ({ caller, query }) => {
      const page = await transactions.list(caller.partnerId, query)
      return { body: { ...page, data: (await transactions.withUsers(page.data)).map(toTransaction) } }
    },
  }
}

/** Formats a page at once: a chunk of the stream is the result of one statement. */
async function* linesOf(
  { withUsers }: Pick<TransactionReads, 'withUsers'>,
  pages: ReturnType<TransactionChanges['pages']>,
): AsyncGenerator<Uint8Array> {
  for await (const page of pages) {
    const transactions = await withUsers(page.map(({ transaction }) => transaction))
    const lines = transactions.map((transaction, index) =>
      JSON.stringify({ cursor: page[index]?.cursor, transaction: toTransaction(transaction) }),
    )
    yield Buffer.from(`${lines.join('\n')}\n`)
  }
}

function toRelated({ transaction, related }: RelatedTransactions): ResponseOf<'listRelatedTransactions'> {
  const { reference, quoteId, userAmount, userCurrency } = transaction.row
  const isExchange = quoteId !== null && userAmount !== null && userCurrency !== null
  return {
    reference,
    data: related.map(({ relation, transaction: { row: other, timeline } }) => ({
      relation,
      reference: other.reference,
      ...(other.userReference === null ? {} : { userReference: other.userReference }),
      type: other.type,
      direction: other.direction,
      amount: toJsonAmount(other.amount, other.currency),
      currency: other.currency,
      status: other.status,
      ...findRecall(relation === 'Original' ? transaction.timeline : relation === 'Return' ? timeline : []),
      createdAt: other.createdAt.toISOString(),
    })),
    ...(isExchange ? { fx: { quoteId, userAmount: toJsonAmount(userAmount, userCurrency), userCurrency } } : {}),
  }
}

/** Finds the recall that returned the money in the timeline of a return. */
function findRecall(timelineOfReturn: TransactionView['timeline']): { readonly recallId?: string } {
  const recallId = timelineOfReturn.find((entry) => entry.recallId !== undefined)?.recallId
  return recallId === undefined ? {} : { recallId }
}

const toProof = ({
  records,
  heads,
  ...proof
}: Awaited<ReturnType<Transactions['proof']>>): ResponseOf<'getTransactionProof'> => ({
  ...proof,
  records: records.map(({ path, ...record }) => ({ ...record, path: [...path] })),
  heads: [...heads],
})

/** Builds a timeline. The position of a step never changes, because steps are only added. */
function toTimeline(
  {
    transaction: { row, timeline },
    maker: { requestId, actor: requester } = { actor: { kind: 'worker' } },
  }: Awaited<ReturnType<TransactionReads['timeline']>>,
  hold: Hold | undefined,
): ResponseOf<'getTransactionTimeline'> {
  return {
    reference: row.reference,
    status: row.status,
    ...(requestId === undefined ? {} : { requestId }),
    ...(requester.kind === 'partner' && requester.id !== undefined
      ? { requestedBy: { id: requester.id, name: requester.name ?? '' } }
      : {}),
    ...(hold === undefined ? {} : { hold: explainHold(hold) }),
    data: timeline.map(({ step, status, createdAt, actor, reason, bankText, recallId }, index) => ({
      sequence: index + 1,
      step,
      status,
      createdAt,
      ...(actor === undefined ? {} : { actor: actorNames[actor] }),
      ...(reason === undefined ? {} : { reason: { code: reason, text: explainReason(reason).details } }),
      ...(bankText === undefined ? {} : { bankText }),
      ...(recallId === undefined ? {} : { recallId }),
    })),
  }
}

/** Returns the newest time, because earlier versions did not update the stored time with every timeline entry. The times sort as text. */
const newestTime = (times: readonly [string, ...string[]]): string =>
  times.reduce((latest, time) => (time > latest ? time : latest))

/** Omits null fields. Without an exchange `userAmount` equals `amount`, and there is no quote. */
export function toTransaction({ row, timeline, user }: TransactionWithUser): ResponseOf<'getTransaction'> {
  const amount = toJsonAmount(row.amount, row.currency)
  const { userAmount, userCurrency } = row
  const hasFx = userAmount !== null && userCurrency !== null
  return {
    reference: row.reference,
    amount,
    currency: row.currency,
    userAmount: hasFx ? toJsonAmount(userAmount, userCurrency) : amount,
    userCurrency: hasFx ? userCurrency : row.currency,
    category: row.category,
    direction: row.direction,
    method: row.method,
    partyType: row.partyType,
    status: row.status,
    type: row.type,
    hasFx,
    createdAt: row.createdAt.toISOString(),
    updatedAt: newestTime([row.updatedAt.toISOString(), ...timeline.map(({ createdAt }) => createdAt)]),
    ...removeNulls({
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
      partnerUser: user,
    }),
    timeline: timeline.map(({ createdAt, status, step }) => ({ createdAt, status, step })),
  }
}

const read = (json: string | null) => (json === null ? null : ownJson<Record<string, string>>(json))

/** Removes null fields. */
function removeNulls<T extends object>(fields: T): { [K in keyof T]?: NonNullable<T[K]> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null)) as {
    [K in keyof T]?: NonNullable<T[K]>
  }
}
