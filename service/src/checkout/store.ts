/** All SQL of checkout. */
import {
  erasePersonal,
  noSql,
  ofPartners,
  type PersonalColumns,
  type Sql,
  sql,
  type Tx,
  unprepared,
} from '../postgres/index.ts'
import type { CurrencySum, PageRequest } from '../kernel/api/index.ts'
import { type DepositStatus, sessionReads } from '../deposits/index.ts'
import type { Logo } from '../branding/index.ts'
import { present, type RowKey } from '../kernel/index.ts'

export type SessionRow = {
  readonly partnerId: string
  readonly id: string
  readonly depositId: string
  readonly customerId: string
  readonly tokenHash: Uint8Array
  readonly tokenSealed: Uint8Array
  readonly creditorReference: string
  readonly payee: string
  readonly iban: string
  readonly bic: string | null
  readonly paymentCountry: string | null
  readonly residenceCountry: string | null
  readonly returnUrl: string | null
  readonly description: string | null
  /** JSON array. */
  readonly lineItems: string | null
  /** The payment link that opened the session, and the payer's input. Null: none. */
  readonly linkId: string | null
  readonly payerName: string | null
  readonly payerEmail: string | null
  readonly createdAt: Date
}

/** Counts a session among the open sessions of its link and of an IP address. */
export type OpenLinkSession = { readonly linkOpen: boolean | null; readonly openedBy: Uint8Array | null }

const columns = sql`partner_id, id, deposit_id, customer_id, token_hash, token_sealed, creditor_reference, payee, iban, bic,
  payment_country, residence_country, return_url, description, line_items, link_id, payer_name, payer_email, created_at`

export async function insertSession(tx: Tx, row: SessionRow & OpenLinkSession): Promise<void> {
  await tx.run(sql`/* checkout.insertSession */
    insert into checkout.sessions (${columns}, link_open, opened_by)
    values (${row.partnerId}, ${row.id}, ${row.depositId}, ${row.customerId}, ${row.tokenHash}, ${row.tokenSealed},
      ${row.creditorReference}, ${row.payee}, ${row.iban}, ${row.bic}, ${row.paymentCountry}, ${row.residenceCountry},
      ${row.returnUrl}, ${row.description}, ${row.lineItems}::jsonb, ${row.linkId}, ${row.payerName}, ${row.payerEmail},
      ${row.createdAt}, ${row.linkOpen}, ${row.openedBy})`)
}

export function sessionById(tx: Tx, partnerId: string, id: string): Promise<SessionRow | undefined> {
  return tx.row<SessionRow>(sql`/* checkout.sessionById */
    select ${columns} from checkout.sessions where partner_id = ${partnerId} and id = ${id}`)
}

export type SessionTokenKey = { readonly partnerId: string; readonly hash: Uint8Array }

/** Reads the sessions of page tokens, for a batch of page views. */
export function sessionsByTokens(tx: Tx, keys: readonly SessionTokenKey[]): Promise<readonly SessionRow[]> {
  return tx.rows<SessionRow>(sql`/* checkout.sessionsByTokens */
    select ${columns} from checkout.sessions
    where ${ofPartners(keys.map((key) => key.partnerId))} and token_hash = any(${keys.map((key) => key.hash)}::bytea[])`)
}

export type SessionFilter = {
  readonly customerId: string | null
  readonly creditorReference: string | null
  readonly linkId: string | null
  /** Statuses of the deposit. */
  readonly statuses: readonly DepositStatus[] | null
  readonly hasLate: boolean | null
  readonly createdFrom: Date | null
  readonly createdTo: Date | null
}

/** Lists a page of sessions. Unprepared: which index is best depends on the values of the filters. */
export function listSessions(
  tx: Tx,
  partnerId: string,
  filter: SessionFilter,
  { limit, afterId }: PageRequest,
): Promise<readonly SessionRow[]> {
  return tx.rows<SessionRow>(
    unprepared(sql`/* checkout.listSessions */ ${pageOf(partnerId, filter, afterId, limit + 1)}`),
  )
}

/** Sums the first rows of a list, by its index. */
export function sumSessions(
  tx: Tx,
  partnerId: string,
  filter: SessionFilter,
  rowsMax: number,
): Promise<readonly CurrencySum[]> {
  return tx.rows<CurrencySum>(
    unprepared(sql`/* checkout.sumSessions */
      select currency, count(*) as count, sum(amount)::bigint as amount
      from (${pageOf(partnerId, filter, null, rowsMax)}) as counted
      join (${sessionReads.money(partnerId)}) as deposit on deposit.id = counted.deposit_id
      group by currency order by currency`),
  )
}

/**
 * Selects a page of sessions. Each single filter has an index in the order of the list, so a page costs the same at any
 * number of rows. A filter by status joins the table of deposits, with one query for each status of a deposit.
 */
function pageOf(partnerId: string, filter: SessionFilter, afterId: string | null, rowsMax: number): Sql {
  const { customerId, creditorReference, linkId, statuses, hasLate, createdFrom, createdTo } = filter
  // Ids follow the time, but PostgreSQL cannot infer it: a filter by time uses its index only if the order is by time.
  const isByTime = createdFrom !== null || createdTo !== null
  const order = isByTime ? sql`created_at desc, id desc` : sql`id desc`
  const before = isByTime ? null : afterId
  const behind = isByTime
    ? sql`and (created_at, id) < (select created_at, id from checkout.sessions where partner_id = ${partnerId} and id = ${afterId})`
    : sql`and id < ${afterId}`
  const isLateAlone = [customerId, creditorReference, linkId, statuses, createdFrom, createdTo].every(
    (each) => each === null,
  )
  const late = sql`checkout.late_payments as late where late.partner_id = ${partnerId}`
  const [first = noSql, ...others] = (statuses ?? [null]).map(
    (status) => sql`select ${columns} from checkout.sessions
      ${status === null ? noSql : sql`join (${sessionReads.inStatus(partnerId, status, before)}) as deposit on deposit.session_id = sessions.id`}
      ${
        hasLate === true
          ? sql`join (select distinct late.session_id as late_session_id from ${late}
              ${before === null ? noSql : sql`and late.session_id < ${before}`} order by 1 desc ${isLateAlone ? sql`limit ${rowsMax}` : noSql}) as named
              on late_session_id = sessions.id`
          : noSql
      }
      where partner_id = ${partnerId} ${afterId === null ? noSql : behind}
        ${hasLate === false ? sql`and not exists (select from ${late} and late.session_id = sessions.id)` : noSql}
        ${customerId === null ? noSql : sql`and customer_id = ${customerId}`}
        ${creditorReference === null ? noSql : sql`and creditor_reference = ${creditorReference}`}
        ${linkId === null ? noSql : sql`and link_id = ${linkId}`}
        ${createdFrom === null ? noSql : sql`and created_at >= ${createdFrom}`}
        ${createdTo === null ? noSql : sql`and created_at < ${createdTo}`}
      order by ${order} limit ${rowsMax}`,
  )
  return sql`select ${columns} from ((${first}) ${others.reduce((all, part) => sql`${all} union all (${part})`, noSql)}) as found
    order by ${order} limit ${rowsMax}`
}

/** Inserts the row of an email address if it is missing, and locks it: this serialises sessions that may create its customer. */
export async function lockPayerEmail(tx: Tx, partnerId: string, email: string, now: Date): Promise<void> {
  for (;;) {
    await tx.run(sql`/* checkout.lockPayerEmail */
      insert into checkout.payer_emails (partner_id, email, created_at)
      values (${partnerId}, lower(${email}::text), ${now}) on conflict (partner_id, email) do nothing`)
    const locked = await tx.run(sql`/* checkout.lockPayerEmail */
      select 1 from checkout.payer_emails where partner_id = ${partnerId} and email = lower(${email}::text) for update`)
    // An erasure has deleted the row while this call waited for it.
    if (locked === 1) return
  }
}

/**
 * Deletes the email of an erased customer from the payer index. Another customer with the address gets a row with its
 * next payment.
 */
export async function deletePayerEmail(tx: Tx, partnerId: string, email: string): Promise<void> {
  await tx.run(sql`/* checkout.deletePayerEmail */
    delete from checkout.payer_emails where partner_id = ${partnerId} and email = lower(${email}::text)`)
}

const personalSessions: PersonalColumns = {
  table: 'checkout.sessions',
  by: 'id',
  erased: {
    residence_country: null,
    payment_country: null,
    return_url: null,
    description: null,
    line_items: null,
    payer_name: null,
    payer_email: null,
  },
}

/**
 * Erases personal data of sessions: countries, return URLs, descriptions, line items, typed payers, reasons of refunds,
 * and visits to the sandbox's bank page.
 */
export async function eraseSessions(tx: Tx, partnerId: string, sessionIds: readonly string[]): Promise<void> {
  if (sessionIds.length === 0) return
  await erasePersonal(tx, personalSessions, partnerId, sessionIds)
  await tx.run(sql`/* checkout.eraseSessions */
    update checkout.refunds set reason = null
    where partner_id = ${partnerId} and session_id = any(${sessionIds}::uuid[]) and reason is not null`)
  await tx.run(sql`/* checkout.eraseSessions */
    delete from checkout.sandbox_visits where partner_id = ${partnerId} and session_id = any(${sessionIds}::uuid[])`)
}

export type VisitRow = {
  readonly partnerId: string
  readonly sessionId: string
  readonly ipAddress: string
  readonly bankCountry: string
  readonly startedAt: Date
  readonly payerName: string | null
  readonly decision: VisitDecision | null
}
export type VisitDecision = 'approved' | 'rejected'

/** Inserts a visit. Returns false if the payer had already begun. */
export async function insertVisit(
  tx: Tx,
  { partnerId, sessionId, ipAddress, bankCountry, startedAt }: Omit<VisitRow, 'payerName' | 'decision'>,
): Promise<boolean> {
  const inserted = await tx.run(sql`/* checkout.insertVisit */
    insert into checkout.sandbox_visits (partner_id, session_id, ip_address, bank_country, started_at)
    values (${partnerId}, ${sessionId}, ${ipAddress}, ${bankCountry}, ${startedAt})
    on conflict (partner_id, session_id) do nothing`)
  return inserted === 1
}

export function visitsBySessions(tx: Tx, keys: readonly RowKey[]): Promise<readonly VisitRow[]> {
  return tx.rows<VisitRow>(sql`/* checkout.visitsBySessions */
    select partner_id, session_id, ip_address, bank_country, started_at, payer_name, decision
    from checkout.sandbox_visits
    where ${ofPartners(keys.map((key) => key.partnerId))} and session_id = any(${keys.map((key) => key.id)}::uuid[])`)
}

/** Stores the name of the visitor. It stays after the decision. */
export async function storeVisitorName(tx: Tx, { partnerId, id }: RowKey, name: string): Promise<void> {
  await tx.run(sql`/* checkout.storeVisitorName */
    update checkout.sandbox_visits set payer_name = ${name}
    where partner_id = ${partnerId} and session_id = ${id} and decision is null`)
}

/** Stores the decision, if it is the first, and returns the visit. */
export function decideVisit(
  tx: Tx,
  { partnerId, id }: RowKey,
  decision: VisitDecision,
  now: Date,
): Promise<VisitRow | undefined> {
  return tx.row<VisitRow>(sql`/* checkout.decideVisit */
    update checkout.sandbox_visits set decision = ${decision}, decided_at = ${now}
    where partner_id = ${partnerId} and session_id = ${id} and decision is null and payer_name is not null
    returning partner_id, session_id, ip_address, bank_country, started_at, payer_name, decision`)
}

// SQL of branding: one row for each partner that has set it.

export type Branding = {
  readonly name: string | null
  readonly colour: string | null
  readonly colourDark: string | null
  readonly logo: Uint8Array | null
  readonly logoType: Logo['type'] | null
}
export const noBranding: Branding = { name: null, colour: null, colourDark: null, logo: null, logoType: null }

/**
 * Rendered logo for documents (null if it cannot be rendered), and the digest of the logo from which it was rendered.
 */
export type RenderedLogo = { readonly drawn: Uint8Array | null; readonly from: Uint8Array }

/** An absent field stays unchanged. */
type BrandingChange = {
  readonly name: string | null | undefined
  readonly colour: string | null | undefined
  readonly colourDark: string | null | undefined
  readonly logo: (Logo & RenderedLogo) | null | undefined
}

export function readBranding(tx: Tx, partnerId: string): Promise<Branding | undefined> {
  return tx.row<Branding>(sql`/* checkout.readBranding */
    select name, colour, colour_dark, logo, logo_type from checkout.branding where partner_id = ${partnerId}`)
}

/** Reads the brand for documents. `logo`: the stored logo, if it is not rendered yet. */
export function readDocumentBrand(
  tx: Tx,
  partnerId: string,
): Promise<(Pick<Branding, 'name' | 'colour' | 'logo'> & { readonly drawn: Uint8Array | null }) | undefined> {
  return tx.row(sql`/* checkout.readDocumentBrand */
    select name, colour, case when drawn_from = sha256(logo) then drawn_logo end as drawn,
      case when drawn_from is distinct from sha256(logo) then logo end as logo
    from checkout.branding where partner_id = ${partnerId}`)
}

/** Stores the rendered logo, unless another logo was set in the meantime. */
export async function storeRenderedLogo(tx: Tx, partnerId: string, { drawn, from }: RenderedLogo): Promise<void> {
  await tx.run(sql`/* checkout.storeRenderedLogo */
    update checkout.branding set drawn_logo = ${drawn}, drawn_from = ${from}
    where partner_id = ${partnerId} and sha256(logo) = ${from}`)
}

/** Branding of a page, without the bytes of the logo. */
export type PageBranding = Pick<Branding, 'name' | 'colour' | 'colourDark'> & {
  readonly partnerId: string
  /** Time of the last change of the branding. */
  readonly updatedAt: Date
  readonly hasLogo: boolean
}

/** Reads the branding of several partners. */
export function readPageBrandings(tx: Tx, partnerIds: readonly string[]): Promise<readonly PageBranding[]> {
  return tx.rows<PageBranding>(sql`/* checkout.readPageBrandings */
    select partner_id, name, colour, colour_dark, updated_at, logo is not null as has_logo from checkout.branding
    where ${ofPartners(partnerIds)}`)
}

/** Merges in one statement, so that concurrent changes of different fields both remain. */
export async function mergeBranding(
  tx: Tx,
  partnerId: string,
  { name, colour, colourDark, logo }: BrandingChange,
  now: Date,
): Promise<Branding> {
  const merged = await tx.row<Branding>(sql`/* checkout.mergeBranding */
    insert into checkout.branding as kept (partner_id, name, colour, colour_dark, logo, logo_type,
      drawn_logo, drawn_from, updated_at)
    values (${partnerId}, ${name ?? null}, ${colour ?? null}, ${colourDark ?? null}, ${logo?.bytes ?? null}, ${logo?.type ?? null},
      ${logo?.drawn ?? null}, ${logo?.from ?? null}, ${now})
    on conflict (partner_id) do update set
      name = case when ${name === undefined} then kept.name else excluded.name end,
      colour = case when ${colour === undefined} then kept.colour else excluded.colour end,
      colour_dark = case when ${colourDark === undefined} then kept.colour_dark else excluded.colour_dark end,
      logo = case when ${logo === undefined} then kept.logo else excluded.logo end,
      logo_type = case when ${logo === undefined} then kept.logo_type else excluded.logo_type end,
      drawn_logo = case when ${logo === undefined} then kept.drawn_logo else excluded.drawn_logo end,
      drawn_from = case when ${logo === undefined} then kept.drawn_from else excluded.drawn_from end,
      updated_at = excluded.updated_at
    returning name, colour, colour_dark, logo, logo_type`)
  return present(merged, `no branding written for partner ${partnerId}`)
}

// SQL of refunds. Amount and status of a refund are those of its payout.

/** `id`: the id of the payout. */
export type RefundRow = {
  readonly partnerId: string
  readonly id: string
  readonly sessionId: string
  /** The refunded part. Null: the session is paid by one payment, or an accepted late payment is refunded. */
  readonly partId: string | null
  /** The refunded late payment. Null: the payment of the session is refunded. */
  readonly latePaymentId: string | null
  readonly reason: string | null
  readonly createdAt: Date
}

const refundColumns = sql`partner_id, id, session_id, part_id, late_payment_id, reason, created_at`

export async function insertRefund(tx: Tx, row: RefundRow): Promise<void> {
  await tx.run(sql`/* checkout.insertRefund */
    insert into checkout.refunds (${refundColumns})
    values (${row.partnerId}, ${row.id}, ${row.sessionId}, ${row.partId}, ${row.latePaymentId}, ${row.reason}, ${row.createdAt})`)
}

/** Reads refunds by id, in no particular order. */
export function refundsByIds(tx: Tx, partnerId: string, ids: readonly string[]): Promise<readonly RefundRow[]> {
  return tx.rows<RefundRow>(sql`/* checkout.refundsByIds */
    select ${refundColumns} from checkout.refunds where partner_id = ${partnerId} and id = any(${ids}::uuid[])`)
}

/** Reads all refunds of these sessions, in no particular order. */
export function refundsOfSessions(
  tx: Tx,
  partnerId: string,
  sessionIds: readonly string[],
): Promise<readonly RefundRow[]> {
  return tx.rows<RefundRow>(sql`/* checkout.refundsOfSessions */
    select ${refundColumns} from checkout.refunds
    where partner_id = ${partnerId} and session_id = any(${sessionIds}::uuid[])`)
}

/** Lists the ids of the refunds of a payment, of a part, or of an accepted late payment, newest first. */
export async function refundsOfDeposit(
  tx: Tx,
  partnerId: string,
  depositId: string,
  partId: string | undefined,
): Promise<readonly string[]> {
  const rows = await tx.rows<{ id: string }>(sql`/* checkout.refundsOfDeposit */
    select refund.id from checkout.sessions as session
      join checkout.refunds as refund on refund.partner_id = session.partner_id and refund.session_id = session.id
    where session.partner_id = ${partnerId} and session.deposit_id = ${depositId} and refund.late_payment_id is null
      ${partId === undefined ? noSql : sql`and refund.part_id = ${partId}`}
    union all
    select refund.id from checkout.late_payments as late
      join checkout.refunds as refund on refund.partner_id = late.partner_id and refund.session_id = late.session_id
        and refund.late_payment_id = late.id
    where late.partner_id = ${partnerId} and late.deposit_id = ${depositId}
    order by id desc`)
  return rows.map(({ id }) => id)
}

export function listRefunds(
  tx: Tx,
  partnerId: string,
  sessionId: string,
  { limit, afterId }: PageRequest,
): Promise<readonly RefundRow[]> {
  return tx.rows<RefundRow>(sql`/* checkout.listRefunds */
    select ${refundColumns} from checkout.refunds
    where partner_id = ${partnerId} and session_id = ${sessionId} ${afterId === null ? noSql : sql`and id < ${afterId}`}
    order by id desc limit ${limit + 1}`)
}
