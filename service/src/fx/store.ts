/** All SQL of fx. */
import type { Currency, RowKey } from '../kernel/index.ts'
import {
  unnestSource,
  insertBy,
  columnList,
  ofOnePartner,
  ofPartners,
  type RowOf,
  sql,
  type Tx,
} from '../postgres/index.ts'
import type { QuoteKind } from './rules.ts'

const quoteTypes = {
  partnerId: 'uuid',
  id: 'uuid',
  kind: 'text',
  sellCurrency: 'text',
  sellAmount: 'bigint',
  buyCurrency: 'text',
  buyAmount: 'bigint',
  /** Decimal text. */
  midRate: 'text',
  /** Decimal text. */
  rate: 'text',
  marginAmount: 'bigint',
  marginBasisPoints: 'integer',
  feeAmount: 'bigint',
  sheetId: 'uuid',
  idempotencyKey: 'text?',
  requestFingerprint: 'text?',
  customerId: 'uuid?',
  createdAt: 'timestamptz',
  expiresAt: 'timestamptz',
  acceptedAt: 'timestamptz?',
  /** Reference of the transaction that accepted the quote. */
  acceptedBy: 'text?',
} as const
export type QuoteRow = RowOf<typeof quoteTypes, { kind: QuoteKind; sellCurrency: Currency; buyCurrency: Currency }>
const quoteColumns = columnList(quoteTypes)
const newQuotes = insertBy<QuoteRow>(quoteTypes, [
  ['partnerId', 'sheetId', 'createdAt', 'acceptedAt', 'acceptedBy'],
  ['kind', 'sellCurrency', 'buyCurrency', 'midRate', 'rate', 'marginBasisPoints', 'expiresAt'],
  ['idempotencyKey', 'requestFingerprint', 'customerId'],
])

export function insertQuotes(tx: Tx, rows: readonly QuoteRow[]): void {
  tx.later(sql`/* fx.insertQuotes */ insert into fx.quotes (${quoteColumns}) ${newQuotes(tx, rows)}`)
}

export function quoteById(tx: Tx, partnerId: string, id: string): Promise<QuoteRow | undefined> {
  return tx.row<QuoteRow>(sql`/* fx.quoteById */
    select ${quoteColumns} from fx.quotes where partner_id = ${partnerId} and id = ${id}`)
}

/** Lists a page of a customer's quotes, oldest first. */
export function quotesOfCustomer(
  tx: Tx,
  partnerId: string,
  customerId: string,
  afterId: string,
  rowsMax: number,
): Promise<readonly QuoteRow[]> {
  return tx.rows<QuoteRow>(sql`/* fx.quotesOfCustomer */
    select ${quoteColumns} from fx.quotes
    where partner_id = ${partnerId} and customer_id = ${customerId} and id > ${afterId} order by id limit ${rowsMax}`)
}

/** Deletes quotes that no conversion has accepted. Waits for a conversion that is accepting one. */
export async function deleteOpenQuotesOfCustomer(tx: Tx, partnerId: string, customerId: string): Promise<void> {
  await tx.run(sql`/* fx.deleteOpenQuotesOfCustomer */
    delete from fx.quotes where partner_id = ${partnerId} and customer_id = ${customerId} and accepted_at is null`)
}

export type IdempotencyKey = { readonly partnerId: string; readonly idempotencyKey: string }

/** Reads the quotes of these keys. May return others of the same partners. */
export function quotesByIdempotencyKeys(tx: Tx, keys: readonly IdempotencyKey[]): Promise<readonly QuoteRow[]> {
  return tx.rows<QuoteRow>(sql`/* fx.quotesByIdempotencyKeys */
    select ${quoteColumns} from fx.quotes
    where ${ofPartners(keys.map((key) => key.partnerId))}
      and idempotency_key = any(${keys.map((key) => key.idempotencyKey)}::text[])`)
}

/** Customer of a quote and the currency that it buys. Neither changes. */
export type QuoteCustomerRow = { readonly partnerId: string; readonly id: string; readonly currency: Currency }

export function readQuoteCustomers(tx: Tx, keys: readonly RowKey[]): Promise<readonly QuoteCustomerRow[]> {
  return tx.rows<QuoteCustomerRow>(sql`/* fx.readQuoteCustomers */
    select partner_id, customer_id as id, buy_currency as currency from fx.quotes
    where ${ofPartners(keys.map((key) => key.partnerId))} and id = any(${keys.map((key) => key.id)}::uuid[])
      and customer_id is not null`)
}

/** Locks quotes by id. May lock others of the same partners. All writers lock quotes in the same order, before accounts. */
export function lockQuotes(tx: Tx, keys: readonly RowKey[]): Promise<readonly QuoteRow[]> {
  return tx.rows<QuoteRow>(sql`/* fx.lockQuotes */
    select ${quoteColumns} from fx.quotes
    where ${ofPartners(keys.map((key) => key.partnerId))} and id = any(${keys.map((key) => key.id)}::uuid[])
    order by id for no key update`)
}

export type Acceptance = RowKey & { readonly acceptedBy: string; readonly acceptedAt: Date }
const givenAcceptances = unnestSource<Acceptance>(
  { partnerId: 'uuid', id: 'uuid', acceptedBy: 'text', acceptedAt: 'timestamptz' },
  [['partnerId', 'acceptedAt']],
)

/** Marks each quote once, under its lock. */
export function acceptQuotes(tx: Tx, acceptances: readonly Acceptance[]): void {
  const partnerIds = acceptances.map(({ partnerId }) => partnerId)
  tx.later(
    sql`/* fx.acceptQuotes */
      update fx.quotes as quote set accepted_by = input.accepted_by, accepted_at = input.accepted_at
      from (${givenAcceptances(acceptances)}) as input
      where ${ofOnePartner(partnerIds, sql`quote.partner_id`)} and quote.partner_id = input.partner_id
        and quote.id = input.id and quote.accepted_at is null`,
    acceptances.length,
  )
}

const conversionTypes = {
  partnerId: 'uuid',
  quoteId: 'uuid',
  idempotencyKey: 'text',
  requestFingerprint: 'text',
  transactionId: 'uuid',
  reference: 'text',
  /** The first transfer of the entry. */
  entryId: 'uuid',
  createdAt: 'timestamptz',
} as const
export type ConversionRow = RowOf<typeof conversionTypes>
const conversionColumns = columnList(conversionTypes)
const newConversions = insertBy<ConversionRow>(
  conversionTypes,
  [['partnerId', 'createdAt']],
  ['partnerId', 'idempotencyKey'],
)

/** Inserts conversions. All inserts take keys in the same order, so that two batches cannot deadlock. */
export function insertConversions(tx: Tx, rows: readonly ConversionRow[]): void {
  tx.later(
    sql`/* fx.insertConversions */ insert into fx.conversions (${conversionColumns}) ${newConversions(tx, rows)}`,
  )
}

/** Exchanged amounts and terms of a conversion. */
export type Conversion = Pick<
  ConversionRow,
  'partnerId' | 'quoteId' | 'idempotencyKey' | 'requestFingerprint' | 'reference' | 'createdAt'
> &
  Pick<QuoteRow, 'sellCurrency' | 'sellAmount' | 'buyCurrency' | 'buyAmount' | 'rate' | 'feeAmount'>

/** Reads the conversions of these keys with their quotes. May return others of the same partners. */
export function conversionsByKeys(tx: Tx, keys: readonly IdempotencyKey[]): Promise<readonly Conversion[]> {
  return tx.rows<Conversion>(sql`/* fx.conversionsByKeys */
    select conversion.partner_id, conversion.quote_id, conversion.idempotency_key, conversion.request_fingerprint,
      conversion.reference, conversion.created_at, quote.sell_currency, quote.sell_amount, quote.buy_currency,
      quote.buy_amount, quote.rate, quote.fee_amount
    from fx.conversions as conversion
      join fx.quotes as quote on quote.partner_id = conversion.partner_id and quote.id = conversion.quote_id
    where ${ofPartners(
      keys.map((key) => key.partnerId),
      sql`conversion.partner_id`,
    )}
      and conversion.idempotency_key = any(${keys.map((key) => key.idempotencyKey)}::text[])`)
}
