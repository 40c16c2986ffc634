/** All SQL of transactions. */
import type {
  ErrorKey,
  PartyType,
  Rail,
  TimelineStep,
  TransactionCategory,
  TransactionDirection,
  TransactionMethod,
  TransactionStatus,
  TransactionType,
} from '@partner-payments/wire'
import type { CurrencySum } from '../kernel/api/index.ts'
import { type Currency, type Minor, nilId, type RowKey, type Money } from '../kernel/index.ts'
import type { Actor } from '../lifecycle/index.ts'
import {
  unnestSource,
  insertBy,
  columnList,
  noSql,
  ofPartners,
  type RowOf,
  sql,
  type Sql,
  type Tx,
  unprepared,
} from '../postgres/index.ts'

const types = {
  partnerId: 'uuid',
  id: 'uuid',
  reference: 'text',
  amount: 'bigint',
  currency: 'text',
  category: 'text',
  direction: 'text',
  method: 'text',
  partyType: 'text',
  type: 'text',
  status: 'text',
  errorKey: 'text?',
  rail: 'text?',
  customerId: 'uuid?',
  beneficiaryId: 'uuid?',
  beneficiaryAlias: 'text?',
  endToEndId: 'text?',
  sessionId: 'text?',
  websiteReference: 'text?',
  userReference: 'text?',
  idempotencyKey: 'text?',
  description: 'text?',
  originatingReference: 'text?',
  creditor: 'json?',
  debtor: 'json?',
  /** `ipAddress` of the customer. Earlier versions stored the caller of the request, with its address. */
  partnerUser: 'json?',
  /** Amount on the customer's side of an exchange. Null: no exchange; it equals `amount`. */
  userAmount: 'bigint?',
  userCurrency: 'text?',
  fxQuoteExpiresAt: 'timestamptz?',
  /** The quote that the transaction accepted. */
  quoteId: 'uuid?',
  transactionHash: 'text?',
  /** JSON of `TimelineEntry[]`, oldest first. Inserted with `rowMark` for the id. */
  timeline: 'jsonb',
  createdAt: 'timestamptz',
  updatedAt: 'timestamptz',
} as const
export type TransactionRow = RowOf<
  typeof types,
  {
    currency: Currency
    category: TransactionCategory
    direction: TransactionDirection
    method: TransactionMethod
    partyType: PartyType
    type: TransactionType
    status: TransactionStatus
    errorKey: ErrorKey
    rail: Rail
    userCurrency: Currency
  }
>
export type TimelineEntry = {
  readonly step: TimelineStep
  readonly status: TransactionStatus
  /** RFC 3339, UTC, with milliseconds. */
  readonly createdAt: string
  /** Absent in entries of earlier versions. */
  readonly actor?: Actor
  /** ISO 20022 code of the bank's reason, as the bank sent it. */
  readonly reason?: string
  /** The bank's own text. Erased with the customer. */
  readonly bankText?: string
  /** The recall of the step, or of the returned money. */
  readonly recallId?: string
  /** Audit record of the step, and of the earlier steps of the same move. */
  readonly record?: string
}
export const columns = columnList(types)
const newTransactions = insertBy<TransactionRow>(
  types,
  [
    ['partnerId', 'partnerUser'],
    ['currency', 'category', 'direction', 'method', 'partyType', 'type', 'status', 'rail', 'timeline'],
    ['createdAt', 'updatedAt'],
    ['errorKey', 'sessionId', 'websiteReference', 'userReference', 'description', 'originatingReference', 'debtor'],
    ['userAmount', 'userCurrency', 'fxQuoteExpiresAt', 'quoteId', 'transactionHash'],
  ],
  ['partnerId', 'reference'],
  { timeline: 'id' },
)

export type CreatedPosition = { readonly createdAt: Date; readonly id: string }
export type CreatedFilter = {
  readonly partnerId: string
  readonly from: Date
  readonly to: Date
  readonly customerId: string | null
  readonly currency: string | null
}

/** Lists the transactions created in a period, oldest first. `after` is the cursor. */
export function transactionsCreated(
  tx: Tx,
  { partnerId, from, to, customerId, currency }: CreatedFilter,
  after: CreatedPosition | undefined,
  rowsMax: number,
): Promise<readonly TransactionRow[]> {
  const { createdAt, id } = after ?? { createdAt: from, id: nilId }
  return tx.rows<TransactionRow>(
    unprepared(sql`/* transactions.transactionsCreated */
      select ${columns} from transactions.transactions
      where partner_id = ${partnerId} and created_at >= ${from} and created_at < ${to}
        and (created_at, id) > (${createdAt}::timestamptz, ${id}::uuid)
        ${customerId === null ? noSql : sql`and customer_id = ${customerId}`}
        ${currency === null ? noSql : sql`and currency = ${currency}`}
      order by created_at, id limit ${rowsMax}`),
  )
}

/** Finds which of these references are taken. May return others of the same partners. */
export function referencesTaken(
  tx: Tx,
  keys: readonly { readonly partnerId: string; readonly reference: string }[],
): Promise<readonly { readonly partnerId: string; readonly reference: string }[]> {
  return tx.rows(sql`/* transactions.referencesTaken */
    select partner_id, reference from transactions.transactions
    where ${ofPartners(keys.map((key) => key.partnerId))}
      and reference = any(${keys.map((key) => key.reference)}::text[])`)
}

/**
 * Waits for a concurrent insert of the same reference. All inserts take references in the same order, so that two
 * batches cannot deadlock.
 */
export function insertTransactions(tx: Tx, rows: readonly TransactionRow[]): void {
  tx.later(
    sql`/* transactions.insertTransactions */ insert into transactions.transactions (${columns}) ${newTransactions(tx, rows)}`,
  )
}

/** Reads transactions by reference. May return others of the same partners. */
export function transactionsByReference(
  tx: Tx,
  keys: readonly { readonly partnerId: string; readonly reference: string }[],
): Promise<readonly TransactionRow[]> {
  return tx.rows<TransactionRow>(sql`/* transactions.transactionsByReference */
    select ${columns} from transactions.transactions
    where ${ofPartners(keys.map((key) => key.partnerId))}
      and reference = any(${keys.map((key) => key.reference)}::text[])`)
}

export function lockTransaction(tx: Tx, partnerId: string, id: string): Promise<TransactionRow | undefined> {
  return tx.row<TransactionRow>(sql`/* transactions.lockTransaction */
    select ${columns} from transactions.transactions where partner_id = ${partnerId} and id = ${id} for update`)
}

const moveTypes = {
  partnerId: 'uuid',
  id: 'uuid',
  status: 'text',
  errorKey: 'text?',
  /** Null: the stored debtor stays. */
  debtor: 'json?',
  /** Null: the stored hash stays. */
  transactionHash: 'text?',
  /** Null: the stored address stays. */
  partnerUser: 'json?',
  /** JSON of `TimelineEntry[]`, with `rowMark` for `record`. */
  entries: 'jsonb',
  /** Audit record of the steps. */
  record: 'uuid',
  updatedAt: 'timestamptz',
} as const
export type TransactionMove = RowOf<typeof moveTypes, { status: TransactionStatus; errorKey: ErrorKey }>

/** Columns for the event of a move. */
export type MovedTransaction = Pick<
  TransactionRow,
  | 'partnerId'
  | 'id'
  | 'reference'
  | 'amount'
  | 'currency'
  | 'type'
  | 'customerId'
  | 'idempotencyKey'
  | 'websiteReference'
  | 'originatingReference'
  | 'transactionHash'
>

/** Most moves of a batch are alike. */
const givenMoves = unnestSource<TransactionMove>(
  moveTypes,
  [['partnerId'], ['status', 'errorKey', 'entries', 'updatedAt'], ['debtor'], ['transactionHash', 'partnerUser']],
  { entries: 'record' },
)

/**
 * Moves Pending transactions, each at most once, and returns them. A lock before the update would write each row twice:
 * the callers hold the locks of their payments instead, so that two batches never update the same row. Unprepared: a
 * generic plan sorts the list again for each row.
 */
export function moveTransactions(tx: Tx, moves: readonly TransactionMove[]): Promise<readonly MovedTransaction[]> {
  const partnerIds = moves.map((move) => move.partnerId)
  return tx.rows<MovedTransaction>(
    unprepared(sql`/* transactions.moveTransactions */
    update transactions.transactions as stored set status = input.status, error_key = input.error_key,
      debtor = coalesce(input.debtor, stored.debtor),
      transaction_hash = coalesce(input.transaction_hash, stored.transaction_hash),
      partner_user = coalesce(input.partner_user, stored.partner_user), timeline = stored.timeline || input.entries,
      updated_at = greatest(stored.updated_at, input.updated_at)
    from (${givenMoves(moves)}) as input
    where ${ofPartners(partnerIds, sql`stored.partner_id`)} and stored.partner_id = input.partner_id
      and stored.id = input.id and stored.status = 'Pending'
    returning stored.partner_id, stored.id, stored.reference, stored.amount, stored.currency, stored.type,
      stored.customer_id, stored.idempotency_key, stored.website_reference, stored.originating_reference,
      stored.transaction_hash`),
  )
}

export async function appendToTimeline(tx: Tx, { partnerId, id }: RowKey, entries: string, now: Date): Promise<void> {
  await tx.run(sql`/* transactions.appendToTimeline */
    update transactions.transactions set timeline = timeline || ${entries}::jsonb,
      updated_at = greatest(updated_at, ${now}::timestamptz)
    where partner_id = ${partnerId} and id = ${id}`)
}

// Lists of transactions. Each order has an index, so that a page costs the same at any number of rows.

/** Range of references in the order of their code points. `before` is not included. */
export type ReferenceRange = { readonly from: string; readonly before: string | null }

/** All given filters must match. Null: the filter is not given. */
export type TransactionFilter = {
  readonly status: string | null
  readonly category: string | null
  readonly type: string | null
  readonly rail: string | null
  readonly customerId: string | null
  readonly beneficiaryId: string | null
  readonly idempotencyKey: string | null
  readonly endToEndId: string | null
  readonly userReference: string | null
  readonly currency: Currency | null
  /** The amount is one of these. Each is read by the index of amounts. */
  readonly amounts: readonly Money[] | null
  /** Account of the other side. */
  readonly account: string | null
  readonly websiteReference: string | null
  readonly amountMin: Minor | null
  readonly amountMax: Minor | null
  readonly references: ReferenceRange | null
  /** Prefix of the full name or of the last word of the name of an incoming payment's payer. Ignores case. */
  readonly payerName: string | null
  readonly createdFrom: Date | null
  readonly createdTo: Date | null
}

export const noFilter: TransactionFilter = {
  status: null,
  category: null,
  type: null,
  rail: null,
  customerId: null,
  beneficiaryId: null,
  idempotencyKey: null,
  endToEndId: null,
  userReference: null,
  currency: null,
  amounts: null,
  account: null,
  websiteReference: null,
  amountMin: null,
  amountMax: null,
  references: null,
  payerName: null,
  createdFrom: null,
  createdTo: null,
}

const conditionsOf = (filter: TransactionFilter): Sql => sql`
    ${filter.status === null ? noSql : sql`and status = ${filter.status}`}
    ${filter.category === null ? noSql : sql`and category = ${filter.category}`}
    ${filter.type === null ? noSql : sql`and type = ${filter.type}`}
    ${filter.rail === null ? noSql : sql`and rail = ${filter.rail}`}
    ${filter.customerId === null ? noSql : sql`and customer_id = ${filter.customerId}`}
    ${filter.beneficiaryId === null ? noSql : sql`and beneficiary_id = ${filter.beneficiaryId}`}
    ${filter.idempotencyKey === null ? noSql : sql`and idempotency_key = ${filter.idempotencyKey}`}
    ${filter.endToEndId === null ? noSql : sql`and end_to_end_id = ${filter.endToEndId}`}
    ${filter.userReference === null ? noSql : sql`and (reference = ${filter.userReference} or user_reference = ${filter.userReference})`}
    ${filter.currency === null ? noSql : sql`and currency = ${filter.currency}`}
    ${filter.amounts === null ? noSql : sql`and (${anyOf(filter.amounts)})`}
    ${filter.account === null ? noSql : sql`and ${otherParty} is not null and ${otherAccount} = ${filter.account}`}
    ${filter.websiteReference === null ? noSql : sql`and website_reference = ${filter.websiteReference}`}
    ${filter.amountMin === null ? noSql : sql`and amount >= ${filter.amountMin}`}
    ${filter.amountMax === null ? noSql : sql`and amount <= ${filter.amountMax}`}
    ${filter.references === null ? noSql : sql`and (${inRange(ofService, filter.references)} or ${inRange(ofPartner, filter.references)})`}
    ${filter.payerName === null ? noSql : sql`and ${isIncoming} and (${beginsWith(payer, filter.payerName)} or ${beginsWith(lastWordOfPayer, filter.payerName)})`}
    ${filter.createdFrom === null ? noSql : sql`and created_at >= ${filter.createdFrom}`}
    ${filter.createdTo === null ? noSql : sql`and created_at < ${filter.createdTo}`}`

const isAmount = ({ currency, amount }: Money): Sql => sql`currency = ${currency} and amount = ${amount}`
const anyOf = (amounts: readonly Money[]): Sql =>
  amounts.map(isAmount).reduce((all, each) => sql`${all} or ${each}`, sql`false`)

const otherParty = sql`(case direction when 'Outward' then creditor else debtor end)`
const otherSide = sql`${otherParty}::json`
/** Expression of the index `transactions_by_account`. */
const otherAccount = sql`upper(coalesce(${otherSide} ->> 'iban', ${otherSide} ->> 'walletAddress', ${otherSide} ->> 'accountNumber'))`

// Expressions and condition of the indexes of payers.
const isIncoming = sql`direction = 'Inward' and debtor is not null`
const payer = sql`lower(debtor::json ->> 'accountHolderName')`
const lastWordOfPayer = sql`lower(substring(debtor::json ->> 'accountHolderName' from '\\S+$'))`
/** Condition: the text begins with the name. The upper bound is the last code point, which no character follows. */
const beginsWith = (text: Sql, name: string): Sql =>
  sql`(${text} ~>=~ lower(${name}) and ${text} ~<~ (lower(${name}) || chr(1114111)))`

const ofService = sql`reference`
const ofPartner = sql`user_reference`
/** Condition: the text is in the range. The operators of `text_pattern_ops` compare code points, as the indexes of references do. */
const inRange = (text: Sql, { from, before }: ReferenceRange): Sql =>
  sql`(${text} ~>=~ ${from} ${before === null ? noSql : sql`and ${text} ~<~ ${before}`})`

/** Column by which a filter finds a reference, and the condition under which its index has the order of the list. */
type ReferenceColumn = { readonly text: Sql; readonly condition: Sql }

/**
 * Returns the columns to search: the payment's reference, and the partner's reference if it differs. Each has its own
 * index in the order of the list: a text that a partner uses for every payment costs no more than others.
 */
function referenceColumns({
  userReference,
  references,
  payerName,
}: Pick<TransactionFilter, 'userReference' | 'references' | 'payerName'>): readonly ReferenceColumn[] {
  if (payerName !== null)
    return [
      { text: payer, condition: sql`and ${beginsWith(payer, payerName)}` },
      {
        text: lastWordOfPayer,
        condition: sql`and ${beginsWith(lastWordOfPayer, payerName)} and not ${beginsWith(payer, payerName)}`,
      },
    ]
  const differs = sql`and user_reference <> reference`
  if (userReference !== null)
    return [
      { text: ofService, condition: sql`and reference = ${userReference}` },
      { text: ofPartner, condition: sql`${differs} and user_reference = ${userReference}` },
    ]
  if (references === null) return [{ text: ofService, condition: noSql }]
  return [
    { text: ofService, condition: sql`and ${inRange(ofService, references)}` },
    {
      text: ofPartner,
      condition: sql`${differs} and ${inRange(ofPartner, references)} and not ${inRange(ofService, references)}`,
    },
  ]
}

/**
 * Returns the order of a list: that of the index for the range filter; an equality has an index by id. The ordered
 * columns never change, so that the id of the last row is the cursor.
 */
function listOrder({
  account,
  createdFrom,
  createdTo,
  references,
  payerName,
  amountMin,
  amountMax,
}: TransactionFilter) {
  // Ids follow the time, but PostgreSQL cannot infer it: a filter by time uses its index only if the order is by time.
  if (account !== null || createdFrom !== null || createdTo !== null)
    return { by: sql`created_at desc, id desc`, key: sql`created_at, id` }
  if (references !== null || payerName !== null) return undefined
  if (amountMin !== null || amountMax !== null) return { by: sql`amount desc, id desc`, key: sql`amount, id` }
  return { by: sql`id desc`, key: sql`id` }
}

/** Lists a page. Unprepared: which index is best depends on the values of the filters. */
export async function listTransactions(
  tx: Tx,
  partnerId: string,
  filter: TransactionFilter,
  afterId: string | null,
  rowsMax: number,
): Promise<readonly TransactionRow[]> {
  return tx.rows<TransactionRow>(
    unprepared(sql`/* transactions.listTransactions */ ${pageOf(partnerId, filter, afterId, rowsMax)}`),
  )
}

export type TransactionSum = CurrencySum & { readonly direction: TransactionRow['direction'] }

/** Sums the first rows of a list, by its index. */
export function sumTransactions(
  tx: Tx,
  partnerId: string,
  filter: TransactionFilter,
  rowsMax: number,
): Promise<readonly TransactionSum[]> {
  return tx.rows<TransactionSum>(
    unprepared(sql`/* transactions.sumTransactions */
      select direction, currency, count(*) as count, sum(amount)::bigint as amount
      from (${pageOf(partnerId, filter, null, rowsMax)}) as counted
      group by direction, currency order by direction, currency`),
  )
}

function pageOf(partnerId: string, filter: TransactionFilter, afterId: string | null, rowsMax: number): Sql {
  const order = listOrder(filter)
  const found = prefixColumn(filter)
  // The payments of one payer are newest first.
  const [byId, isBehind] = filter.payerName === null ? [sql`id`, sql`id >`] : [sql`id desc`, sql`id <`]
  const last = sql`from transactions.transactions where partner_id = ${partnerId} and id = ${afterId}`
  const amounts = filter.amounts?.map((money) => sql`and ${isAmount(money)}`) ?? [noSql]
  // Many rows may have the same text as the cursor: the next page has those that follow it, and then the texts that
  // follow.
  const behindIn = (text: Sql): readonly Sql[] =>
    order
      ? [sql`and (${order.key}) < (select ${order.key} ${last})`]
      : [
          sql`and ${text} = (select ${found} ${last}) and ${isBehind} ${afterId}`,
          sql`and ${text} ~>~ (select ${found} ${last})`,
        ]
  const parts = referenceColumns(filter).flatMap((naming) =>
    amounts.flatMap((amount) =>
      (afterId === null ? [noSql] : behindIn(naming.text)).map((behind) => ({ ...naming, amount, behind })),
    ),
  )
  const [first, ...others] = parts.map(({ text, condition, amount, behind }) => {
    return sql`${text} as found_by from transactions.transactions where partner_id = ${partnerId}
      ${behind} ${conditionsOf({ ...filter, amounts: null })} ${amount} ${condition}
      order by ${order?.by ?? sql`${text} using ~<~, ${byId}`} limit ${rowsMax}`
  })
  return sql`select ${columns} from ((select ${columns}, ${first ?? noSql}) ${andPages(others, sql`${columns}, `)}) as named
      order by ${order?.by ?? sql`found_by using ~<~, ${byId}`} limit ${rowsMax}`
}

const andPages = (pages: readonly Sql[], selected: Sql): Sql =>
  pages.reduce((all, page) => sql`${all} union all (select ${selected} ${page})`, noSql)

/** Returns the text of a row that the prefix matched. */
function prefixColumn({ references, payerName }: TransactionFilter): Sql {
  if (payerName !== null)
    return sql`case when ${beginsWith(payer, payerName)} then ${payer} else ${lastWordOfPayer} end`
  if (references === null) return ofService
  return sql`case when ${inRange(ofService, references)} then reference else user_reference end`
}

/** Names and references of a payment in an account statement. */
export type PaymentNames = Pick<TransactionRow, 'reference' | 'endToEndId' | 'userReference'> & {
  /** Name of the other side. Null: unknown or erased. */
  readonly name: string | null
  /** IBAN, address of a wallet, or the bank's text. */
  readonly account: string | null
}

/** Reads the parties of these transactions. A statement calls it once for each part of its lines. */
export function paymentNames(
  tx: Tx,
  partnerId: string,
  references: readonly string[],
): Promise<readonly PaymentNames[]> {
  return tx.rows<PaymentNames>(
    unprepared(sql`/* transactions.paymentNames */
      select reference, end_to_end_id, user_reference, other_side ->> 'accountHolderName' as name,
        coalesce(other_side ->> 'iban', other_side ->> 'walletAddress') as account
      from (
        select reference, end_to_end_id, user_reference, case direction when 'Outward' then creditor else debtor end::json as other_side
        from transactions.transactions
        where partner_id = ${partnerId} and reference = any(${references}::text[])) as named`),
  )
}

/** Search of an operator for a payment. Null: not given. The period is from `from` to before `before`. */
export type WithdrawalSearch = {
  /** Reference of the transaction, or the partner's reference. */
  readonly reference: string | null
  /** The partner's end-to-end id; without one, ours. Absent: any. */
  readonly endToEndId?: string
  /** The payee. Absent: any. */
  readonly beneficiaryId?: string
  /** Amount that left the balance. */
  readonly money: Money | null
  readonly from: Date | null
  readonly before: Date | null
}

/** Finds withdrawals, newest first. */
export async function findWithdrawals(
  tx: Tx,
  partnerId: string,
  { reference, endToEndId, beneficiaryId, money, from, before }: WithdrawalSearch,
  rowsMax: number,
): Promise<readonly TransactionRow[]> {
  const namings = referenceColumns({ userReference: reference, references: null, payerName: null })
  const [first, ...others] = namings.map(
    ({ condition }) => sql`from transactions.transactions
      where partner_id = ${partnerId} and category = 'Withdrawal' ${condition}
      ${endToEndId === undefined ? noSql : sql`and end_to_end_id = ${endToEndId}`}
      ${beneficiaryId === undefined ? noSql : sql`and beneficiary_id = ${beneficiaryId}`}
      ${money === null ? noSql : sql`and currency = ${money.currency} and amount = ${money.amount}`}
      ${from === null ? noSql : sql`and created_at >= ${from}`}
      ${before === null ? noSql : sql`and created_at < ${before}`}
      order by id desc limit ${rowsMax}`,
  )
  return tx.rows<TransactionRow>(
    unprepared(sql`/* transactions.findWithdrawals */
      select ${columns} from ((select ${columns} ${first ?? noSql}) ${andPages(others, columns)}) as named
      order by id desc limit ${rowsMax}`),
  )
}

/** Reads a transaction and all transactions that return some of its money, in the order of their ids. */
export function transactionsOfPayment(
  tx: Tx,
  partnerId: string,
  original: string,
  rowsMax: number,
): Promise<readonly TransactionRow[]> {
  return tx.rows<TransactionRow>(
    unprepared(sql`/* transactions.transactionsOfPayment */
      select ${columns} from transactions.transactions
      where partner_id = ${partnerId} and (reference = ${original} or originating_reference = ${original})
      order by id limit ${rowsMax}`),
  )
}

/** Position in the order of changes. */
export type ChangePosition = { readonly updatedAt: Date; readonly id: string }

/** Lists transactions whose last change is after a position and before a time, the oldest change first. */
export function transactionsChanged(
  tx: Tx,
  partnerId: string,
  filter: TransactionFilter,
  { after, before }: { readonly after: ChangePosition; readonly before: Date },
  rowsMax: number,
): Promise<readonly TransactionRow[]> {
  return tx.rows<TransactionRow>(
    unprepared(sql`/* transactions.transactionsChanged */
      select ${columns} from transactions.transactions
      where partner_id = ${partnerId} and updated_at >= ${after.updatedAt} and updated_at < ${before}
        and (updated_at, id) > (${after.updatedAt}::timestamptz, ${after.id}::uuid) ${conditionsOf(filter)}
      order by updated_at, id limit ${rowsMax}`),
  )
}
