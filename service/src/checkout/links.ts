/**
 * Payment links: created once and paid many times. Each payer who opens a link gets a session. The lock of the link
 * serialises openings: each counts the sessions that have ended and those that are open, so that a link never accepts
 * more payments than it allows.
 */
import { createHash } from 'node:crypto'
import { type BodyOf, checkout as wire, ownJson, type QueryOf } from '@partner-payments/wire'
import type { Logo } from '../branding/index.ts'
import { linkTokenPartnerId, newLinkToken } from '../access/index.ts'
import { notFound, type Page, parseAmount, parseTime, Refusal, refuseFields } from '../kernel/api/index.ts'
import { type Currency, type Minor, newId, partnerKey, present, secondMs, tokenHash } from '../kernel/index.ts'
import { inTransaction, type SealedColumn, type Tx } from '../postgres/index.ts'
import {
  parseLineItems,
  formatLineItems,
  type LineItem,
  parseFiatCurrency,
  validateLineItems,
  returnUrlErrors,
  type SessionRequest,
} from './rules.ts'
import { readLogo } from './hosted.ts'
import { type CheckoutDeps, createPageUrlBuilder } from './session.ts'
import { readPageBrandings, type OpenLinkSession, type PageBranding, type SessionRow } from './store.ts'
import * as store from './store-links.ts'

export type PaymentLink = Omit<store.LinkRow, 'lineItems' | 'tokenHash' | 'tokenSealed' | 'paidCount'> & {
  readonly url: string
  readonly lineItems: readonly LineItem[] | null
  readonly paymentsMade: number
  readonly paymentsOpen: number
}

/** A payment link as its page shows it. */
export type PayerPaymentLink = {
  readonly partnerId: string
  readonly amount: Minor | null
  readonly amountMin: Minor
  readonly amountMax: Minor
  readonly currency: Currency
  readonly payee: string
  readonly accountHolder: string
  readonly description: string | null
  readonly lineItems: readonly LineItem[] | null
  readonly branding: PageBranding | undefined
  /** Undefined: the link accepts payments. */
  readonly closed: LinkClosedReason | undefined
}

/**
 * Reason why a link opens no session. `busy`: too many sessions are open, in total or from this address. `stopped`: the
 * account cannot receive money.
 */
export type LinkClosedReason = 'inactive' | 'ended' | 'full' | 'busy' | 'stopped'

/** Input of the payer on the page of a link. */
export type LinkPayer = {
  readonly name: string
  readonly email: string | null
  /** Null: the link has an amount. */
  readonly amount: Minor | null
  /** UUID of the form. A form that is sent twice opens one session. */
  readonly formId: string
  readonly ip: string
}

export type PaymentLinks = {
  /**
   * Creates a link. Refuses: validation_failed, not_found (customerId), account_blocked, customer_not_verified,
   * currency_not_supported, iban_issuer_not_configured, iban_pool_exhausted, line_items_mismatch.
   */
  readonly createLink: (partnerId: string, body: BodyOf<'createPaymentLink'>, tx?: Tx) => Promise<PaymentLink>
  /** Lists links, newest first. Refuses: validation_failed (cursor). */
  readonly listLinks: (partnerId: string, query: QueryOf<'listPaymentLinks'>) => Promise<Page<PaymentLink>>
  /** Reads a payment link. Refuses: not_found. */
  readonly getLink: (partnerId: string, id: string) => Promise<PaymentLink>
  /** Changes a payment link. Refuses: not_found. */
  readonly updateLink: (partnerId: string, id: string, body: BodyOf<'updatePaymentLink'>) => Promise<PaymentLink>
  /** Reads a link for its page. Refuses: not_found. */
  readonly link: (token: string) => Promise<PayerPaymentLink>
  /** Reads the logo of the partner. Refuses: not_found. */
  readonly linkLogo: (token: string) => Promise<Logo>
  /** Opens a session for a payer, and returns the token of its page. Refuses: not_found. */
  readonly openByLink: (
    token: string,
    payer: LinkPayer,
  ) => Promise<{ readonly token: string } | { readonly closed: LinkClosedReason }>
}

/** Opens a session in the caller's transaction. Refuses if the account of the customer cannot receive the payment. */
export type SessionOpener = (
  tx: Tx,
  opening: {
    readonly partnerId: string
    readonly customerId: string
    readonly request: SessionRequest
    readonly idempotencyKey: string
    readonly fields: {
      readonly websiteReference: string | null
      readonly customFields: Record<string, unknown> | null
      readonly description: string | null
    }
    readonly link: Pick<SessionRow, 'linkId' | 'payerName' | 'payerEmail'> & OpenLinkSession
  },
) => Promise<{ readonly token: string }>

export type LinkSessions = {
  readonly open: SessionOpener
  /** Finds the session that a form has opened. Undefined: none. */
  readonly openedBefore: (
    tx: Tx,
    partnerId: string,
    idempotencyKey: string,
  ) => Promise<{ readonly token: string } | undefined>
  /** Finds the account to which payers of a customer pay. Refuses as `createLink` does. */
  readonly requirePayee: (
    tx: Tx,
    partnerId: string,
    customerRef: string,
    currency: Currency,
  ) => Promise<{ readonly id: string }>
}

/** Largest and smallest payment (`PaymentAmount`). */
export const [amountLeast, amountMost] = [1n, 1_000_000_000n]

export function createPaymentLinks(deps: CheckoutDeps, parts: LinkSessions): PaymentLinks {
  const { db, clock, cursors, sealer } = deps
  const toLink = createToLink(deps)
  const byToken = async (token: string): Promise<store.LinkRow> => {
    const partnerId = linkTokenPartnerId(token)
    const row = partnerId === undefined ? undefined : await store.linkByToken(db, partnerId, tokenHash(token))
    if (row === undefined) throw notFound('payment link')
    return row
  }
  return {
    createLink: (partnerId, body, outerTx) =>
      inTransaction(db, outerTx, async (tx) => {
        const read = readLink(body, deps.sandbox)
        const customer = await parts.requirePayee(tx, partnerId, body.customerId, read.currency)
        const token = newLinkToken(partnerId)
        const [id, now] = [newId(), clock.now()]
        const row: store.LinkRow = {
          ...{ partnerId, id, customerId: customer.id, ...read, isActive: true, paidCount: 0 },
          tokenHash: tokenHash(token),
          tokenSealed: sealer.seal(token, linkTokenContext(partnerId, id)),
          ...{ createdAt: now, updatedAt: now },
        }
        await store.insertLink(tx, row)
        return toLink(row, noSessions)
      }),
    listLinks: async (partnerId, query) => {
      const list = `checkout-links:${partnerId}`
      const request = cursors.read(list, query)
      const isActive = query.active === undefined ? null : query.active === 'true'
      const page = cursors.page(list, request, await store.listLinks(db, partnerId, isActive, request))
      const counts = await countSessions(deps, db, partnerId, page.data)
      return { ...page, data: page.data.map((row) => toLink(row, counts.get(row.id) ?? noSessions)) }
    },
    getLink: async (partnerId, id) => {
      const row = await store.linkById(db, partnerId, id)
      if (row === undefined) throw notFound('payment link')
      return toLink(row, (await countSessions(deps, db, partnerId, [row])).get(row.id) ?? noSessions)
    },
    updateLink: (partnerId, id, body) =>
      db.transaction(async (tx) => {
        const row = await store.lockLink(tx, partnerId, id)
        if (row === undefined) throw notFound('payment link')
        const { active, description, endsAt, paymentsMax } = body
        const changed = {
          ...row,
          ...(active === undefined ? {} : { isActive: active }),
          ...(description === undefined ? {} : { description }),
          ...(endsAt === undefined ? {} : { endsAt: endsAt === null ? null : parseTime(endsAt) }),
          ...(paymentsMax === undefined ? {} : { paymentsMax }),
          updatedAt: clock.now(),
        }
        await store.updateLink(tx, changed)
        return toLink(changed, (await countSessions(deps, tx, partnerId, [row])).get(row.id) ?? noSessions)
      }),
    link: async (token) => toLinkView(deps, await byToken(token)),
    linkLogo: async (token) => readLogo(db, (await byToken(token)).partnerId),
    openByLink: async (token, payer) => openByLink(deps, parts, await byToken(token), token, payer),
  }
}

type LinkCounts = { readonly paid: number; readonly open: number }
const noSessions: LinkCounts = { paid: 0, open: 0 }

const createToLink = (deps: CheckoutDeps) => {
  const addressOf = createPageUrlBuilder(deps)
  return (
    { tokenHash: _hash, tokenSealed, paidCount, lineItems, ...row }: store.LinkRow,
    counts: LinkCounts,
  ): PaymentLink => ({
    ...row,
    url: addressOf(row.partnerId, `links/${deps.sealer.open(tokenSealed, linkTokenContext(row.partnerId, row.id))}`),
    lineItems: parseLineItems(lineItems),
    paymentsMade: paidCount + counts.paid,
    paymentsOpen: counts.open,
  })
}

/**
 * Parses a request. Refuses (400) with all invalid fields in one response; an unsupported currency and items with a
 * wrong sum are 422.
 */
function readLink(body: BodyOf<'createPaymentLink'>, sandbox: boolean) {
  const currency = parseFiatCurrency(body.currency)
  const amountAt = (field: 'amount' | 'amountMin' | 'amountMax') => {
    const given = body[field]
    return given === undefined || given === null ? null : parseAmount(given, currency, `/${field}`)
  }
  const [amount, amountMin, amountMax] = [amountAt('amount'), amountAt('amountMin'), amountAt('amountMax')]
  const wrong = (pointer: string, code: 'invalid_value' | 'required', message: string) => ({ pointer, code, message })
  const bounds = [...(amountMin === null ? [] : ['/amountMin']), ...(amountMax === null ? [] : ['/amountMax'])]
  const needsAmount = amount === null && body.lineItems !== undefined && body.lineItems !== null
  refuseFields([
    ...returnUrlErrors(body.returnUrl, sandbox),
    ...(amount === null
      ? []
      : bounds.map((at) => wrong(at, 'invalid_value', 'must be omitted: the link has an amount'))),
    ...(amount === null && (amountMin ?? amountLeast) > (amountMax ?? amountMost)
      ? [wrong('/amountMax', 'invalid_value', 'must be at least `amountMin`')]
      : []),
    ...(needsAmount ? [wrong('/amount', 'required', 'is required: `lineItems` add up to it')] : []),
  ])
  return {
    ...{ currency, amount },
    amountMin: amount === null ? (amountMin ?? amountLeast) : null,
    amountMax: amount === null ? (amountMax ?? amountMost) : null,
    description: body.description ?? null,
    lineItems: amount === null ? null : formatLineItems(validateLineItems(body.lineItems, amount, currency)),
    websiteReference: body.websiteReference ?? null,
    customFields: body.customFields ? JSON.stringify(body.customFields) : null,
    returnUrl: body.returnUrl ?? null,
    sessionSeconds: body.sessionExpiresInSeconds ?? wire.linkSessionSecondsDefault,
    endsAt: body.endsAt ? parseTime(body.endsAt) : null,
    paymentsMax: body.paymentsMax ?? null,
  }
}

type EndedSession = { readonly sessionId: string; readonly isPaid: boolean }

/** Separates the sessions that links count as open: those still open, and those that have ended since. */
async function sortOpenSessions({ deposits }: CheckoutDeps, tx: Tx, partnerId: string, linkIds: readonly string[]) {
  const counted = linkIds.length === 0 ? [] : await store.listOpenSessions(tx, partnerId, linkIds)
  const found = await deposits.byIds(
    tx,
    counted.map(({ depositId: id }) => ({ partnerId, id })),
  )
  const statusOf = new Map(found.map(({ id, status }) => [id, status]))
  const ended: (EndedSession & { readonly linkId: string })[] = []
  const open: store.LinkSession[] = []
  for (const session of counted) {
    const status = statusOf.get(session.depositId)
    if (status === 'Completed' || status === 'Failed' || status === 'Expired')
      ended.push({ sessionId: session.id, linkId: session.linkId, isPaid: status === 'Completed' })
    else open.push(session)
  }
  return { ended, open }
}

async function countSessions(
  deps: CheckoutDeps,
  tx: Tx,
  partnerId: string,
  rows: readonly store.LinkRow[],
): Promise<ReadonlyMap<string, LinkCounts>> {
  const { ended, open } = await sortOpenSessions(
    deps,
    tx,
    partnerId,
    rows.map(({ id }) => id),
  )
  return new Map(
    rows.map(({ id }) => [
      id,
      {
        paid: ended.filter(({ linkId, isPaid }) => linkId === id && isPaid).length,
        open: open.filter(({ linkId }) => linkId === id).length,
      },
    ]),
  )
}

function closedReason(
  { isActive, endsAt, paymentsMax }: store.LinkRow,
  paid: number,
  open: number,
  now: Date,
): LinkClosedReason | undefined {
  if (!isActive) return 'inactive'
  if (endsAt !== null && endsAt <= now) return 'ended'
  if (paymentsMax !== null && paid + open >= paymentsMax) return 'full'
  return open >= wire.linkSessionsOpenMax ? 'busy' : undefined
}

async function toLinkView(deps: CheckoutDeps, row: store.LinkRow): Promise<PayerPaymentLink> {
  const { access, clock, customers, db, deposits } = deps
  const { partnerId, customerId, currency } = row
  const counts = (await countSessions(deps, db, partnerId, [row])).get(row.id) ?? noSessions
  const [branding] = await readPageBrandings(db, [partnerId])
  const payee = branding?.name ?? (await access.partnerName(db, partnerId))
  const names = await customers.accountNamesOf(db, [{ partnerId, id: customerId }])
  const [isStopped] = await deposits.cannotReceive(db, [{ partnerId, customerId, currency }])
  const closed = closedReason(row, row.paidCount + counts.paid, counts.open, clock.now())
  return {
    ...{ partnerId, currency, payee, branding },
    amount: row.amount,
    amountMin: row.amountMin ?? amountLeast,
    amountMax: row.amountMax ?? amountMost,
    accountHolder: names.get(partnerKey(partnerId, customerId))?.[0] ?? payee,
    description: row.description,
    lineItems: parseLineItems(row.lineItems),
    closed: closed ?? (isStopped ? 'stopped' : undefined),
  }
}

async function openByLink(
  deps: CheckoutDeps,
  parts: LinkSessions,
  { partnerId, id }: store.LinkRow,
  token: string,
  payer: LinkPayer,
): ReturnType<PaymentLinks['openByLink']> {
  const { clock, db } = deps
  const idempotencyKey = `payment-link:${id}:${payer.formId}`
  const openedBy = createHash('sha256').update(`${token} ${payer.ip}`).digest()
  try {
    return await db.transaction(async (tx) => {
      const row = present(await store.lockLink(tx, partnerId, id), `no payment link ${id}`)
      const before = await parts.openedBefore(tx, partnerId, idempotencyKey)
      if (before !== undefined) return before
      const { ended, open } = await sortOpenSessions(deps, tx, partnerId, [id])
      const paid = ended.filter(({ isPaid }) => isPaid).length
      if (ended.length > 0)
        await store.countEndedSessions(
          tx,
          row,
          ended.map(({ sessionId }) => sessionId),
          paid,
        )
      const closed = closedReason(row, row.paidCount + paid, open.length, clock.now())
      if (closed !== undefined) return { closed }
      const ofAddress = open.filter((session) => session.openedBy !== null && openedBy.equals(session.openedBy))
      if (ofAddress.length >= wire.linkSessionsOfAddressMax) return { closed: 'busy' as const }
      const opened = await parts.open(tx, toSessionRequest(row, payer, idempotencyKey, openedBy))
      return { token: opened.token }
    })
  } catch (error) {
    // The customer's account takes no money now. The payer does not learn why.
    if (error instanceof Refusal && stopping.has(error.code)) return { closed: 'stopped' }
    throw error
  }
}
const stopping: ReadonlySet<string> = new Set([
  ...['not_found', 'account_blocked', 'customer_not_verified', 'balance_limit_exceeded', 'currency_not_supported'],
  ...['iban_issuer_not_configured', 'iban_pool_exhausted'],
])

function toSessionRequest(
  row: store.LinkRow,
  payer: LinkPayer,
  idempotencyKey: string,
  openedBy: Uint8Array,
): Parameters<SessionOpener>[1] {
  const { partnerId, id, customerId, currency, websiteReference, description, returnUrl } = row
  const customFields = row.customFields === null ? {} : ownJson<Record<string, unknown>>(row.customFields)
  return {
    ...{ partnerId, customerId, idempotencyKey },
    request: {
      amount: row.amount ?? present(payer.amount, `no amount for payment link ${id}`),
      ...{ currency, returnUrl },
      paymentMethod: currency === 'EUR' ? 'SepaCreditTransfer' : 'Swift',
      expires: { afterMs: row.sessionSeconds * secondMs },
      lineItems: parseLineItems(row.lineItems),
    },
    fields: { websiteReference, description, customFields: { ...customFields, linkId: id } },
    link: { linkId: id, payerName: payer.name, payerEmail: payer.email, linkOpen: true, openedBy },
  }
}

const linkTokenContext = (partnerId: string, id: string) => ['checkout.links', partnerId, id, 'token']

export const sealedPaymentLinkTokens: SealedColumn = {
  table: 'checkout.links',
  column: 'token_sealed',
  key: { id: 'uuid' },
  contextOf: (partnerId, cell) => linkTokenContext(partnerId, cell('id')),
}
