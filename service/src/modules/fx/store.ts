/** All SQL of fx. */
import type { Currency, Minor } from '../../kernel/index.ts'
import {
  type Columns,
  givenBy,
  insertBy,
  namesOf,
  ofOnePartner,
  ofPartners,
  sql,
  type Tx,
} from '../../postgres/index.ts'
import type { QuoteKind } from './rules.ts'

export type QuoteRow = {
  readonly partnerId: string
  readonly id: string
  readonly kind: QuoteKind
  readonly sellCurrency: Currency
  readonly sellAmount: Minor
  readonly buyCurrency: Currency
  readonly buyAmount: Minor
  /** Decimal text. */
  readonly midRate: string
  /** Decimal text. */
  readonly rate: string
  readonly marginAmount: Minor
  readonly marginBasisPoints: number
  readonly feeAmount: Minor
  readonly sheetId: string
  readonly customerId: string | null
  readonly createdAt: Date
  readonly expiresAt: Date
  readonly acceptedAt: Date | null
  /** The reference of the transaction that has accepted it. */
  readonly acceptedBy: string | null
}

const quoteTypes: Columns<QuoteRow> = {
  partnerId: 'uuid',
  id: 'uuid',
  kind: 'text',
  sellCurrency: 'text',
  sellAmount: 'bigint',
  buyCurrency: 'text',
  buyAmount: 'bigint',
  midRate: 'text',
  rate: 'text',
  marginAmount: 'bigint',
  marginBasisPoints: 'integer',
  feeAmount: 'bigint',
  sheetId: 'uuid',
  customerId: 'uuid',
  createdAt: 'timestamptz',
  expiresAt: 'timestamptz',
  acceptedAt: 'timestamptz',
  acceptedBy: 'text',
}
const quoteColumns = namesOf(quoteTypes)
const newQuotes = insertBy(quoteTypes, [
  ['partnerId', 'sheetId', 'createdAt', 'acceptedAt', 'acceptedBy'],
  ['kind', 'sellCurrency', 'buyCurrency', 'midRate', 'rate', 'marginBasisPoints', 'customerId', 'expiresAt'],
])

export function insertQuotes(tx: Tx, rows: readonly QuoteRow[]): void {
  tx.later(sql`/* fx.insertQuotes */ insert into fx.quotes (${quoteColumns}) ${newQuotes(tx, rows)}`)
}

export function quoteById(tx: Tx, partnerId: string, id: string): Promise<QuoteRow | undefined> {
  return tx.row<QuoteRow>(sql`/* fx.quoteById */
    select ${quoteColumns} from fx.quotes where partner_id = ${partnerId} and id = ${id}`)
}

export type QuoteKey = { readonly partnerId: string; readonly id: string }

/** The quotes of these ids, and perhaps others of the same partners. All writers lock quotes in one order, before accounts. */
export function lockQuotes(tx: Tx, keys: readonly QuoteKey[]): Promise<readonly QuoteRow[]> {
  return tx.rows<QuoteRow>(sql`/* fx.lockQuotes */
    select ${quoteColumns} from fx.quotes
    where ${ofPartners(keys.map((key) => key.partnerId))} and id = any(${keys.map((key) => key.id)}::uuid[])
    order by id for no key update`)
}

export type Acceptance = QuoteKey & { readonly acceptedBy: string; readonly acceptedAt: Date }
const givenAcceptances = givenBy<Acceptance>(
  { partnerId: 'uuid', id: 'uuid', acceptedBy: 'text', acceptedAt: 'timestamptz' },
  [['partnerId', 'acceptedAt']],
)

/** Each quote once, under its lock. */
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
