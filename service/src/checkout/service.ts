/** The operations of checkout that the API calls. */
import type { BodyOf, CheckoutOutcome, CheckoutStatus, QueryOf } from '@partner-payments/wire'
import { newLinkToken } from '../access/index.ts'
import {
  type Caller,
  notFound,
  type Page,
  parseAmount,
  parseCurrency,
  parseTime,
  Refusal,
  refuseField,
  type Sums,
  sumRowsRead,
  capSums,
} from '../kernel/api/index.ts'
import { formatCreditorReference } from '../iso20022/index.ts'
import {
  type Currency,
  isFiat,
  newId,
  partnerKey,
  present,
  randomText,
  toJsonAmount,
  tokenHash,
} from '../kernel/index.ts'
import { inTransaction, oncePerKey, type Tx } from '../postgres/index.ts'
import type { Customer } from '../parties/customers/index.ts'
import { type DepositRow, hashFingerprint, type DepositWithParts, type Part } from '../deposits/index.ts'
import {
  type SessionExtras,
  type CheckoutDeps,
  createSessionMapper,
  sessionTokenContext,
  type Session,
  type SessionMapper,
} from './session.ts'
import { createPaymentPages, type PaymentPages } from './hosted.ts'
import {
  depositStatusesOf,
  sessionFingerprint,
  formatLineItems,
  sessionDurationMs,
  parseSessionRequest,
  type SessionRequest,
} from './rules.ts'
import { createLatePayments, type LatePayments, readLatePayments } from './late.ts'
import { createPaymentLinks, type LinkSessions, type PaymentLinks } from './links.ts'
import { createRefunds, sumRefundsOfSessions, type Refunds } from './refunds.ts'
import * as store from './store.ts'
import type { PayerStep } from '../rails/index.ts'
import { latePaymentsOfSessions } from './store-late.ts'
import { contrastProblem, logoDigest, convertLogo, drawnPixelsMax, readColour, readLogo } from '../branding/index.ts'
import type { DocumentBrand } from '../typesetting/index.ts'

export type Checkout = PaymentPages &
  Appearance &
  Refunds &
  LatePayments &
  PaymentLinks & {
    /**
     * Opens the deposit and its page in one transaction. Refuses: validation_failed, not_found (customerId),
     * line_items_mismatch, account_blocked, customer_not_verified, balance_limit_exceeded, currency_not_supported,
     * iban_issuer_not_configured, iban_pool_exhausted, idempotency_key_reused, request_in_progress.
     */
    readonly create: (
      caller: Caller,
      body: BodyOf<'createCheckoutSession'>,
    ) => Promise<{ readonly session: Session; readonly replayed: boolean }>
    /** Reads a session. Refuses: not_found. */
    readonly get: (partnerId: string, id: string, tx?: Tx) => Promise<Session>
    /** Lists sessions, newest first. An unknown customer has no sessions. Refuses: validation_failed (cursor). */
    readonly list: (partnerId: string, query: QueryOf<'listCheckoutSessions'>) => Promise<Page<Session>>
    /** Sums at most `sumRowsMax` sessions. */
    readonly sums: (partnerId: string, query: QueryOf<'sumCheckoutSessions'>) => Promise<Sums>
    /** Deletes the email of an erased customer from the payer index. */
    readonly forgetEmail: typeof store.deletePayerEmail
    /** Erases the customer's data from its sessions. */
    readonly eraseSessions: typeof store.eraseSessions
    /** Expires an open session. Refuses: not_found, checkout_session_not_open. */
    readonly expire: (partnerId: string, id: string, tx?: Tx) => Promise<Session>
    /**
     * Schedules the steps of a payer and a bank. Returns the session as it was before, or expired. Refuses: not_found,
     * validation_failed, checkout_session_not_open, currency_not_supported.
     */
    readonly simulate: Simulate
  }

/**
 * 80 random bits: five groups of four with `RF` and the check digits. In the United Kingdom the reference of a payment
 * has at most 18 characters (Faster Payments, Bacs): 70 bits.
 */
const creditorReferenceChars = { other: 16, british: 14 } as const

export function createCheckout(deps: CheckoutDeps): Checkout {
  const { db, deposits } = deps
  const toSession = createSessionMapper(deps)
  const besideOf = createReadExtras(deps)
  const read = async (tx: Tx, partnerId: string, id: string) => {
    const row = await store.sessionById(tx, partnerId, id)
    if (row === undefined) throw notFound('checkout session')
    const [deposit] = await deposits.withParts(tx, await deposits.byIds(tx, [{ partnerId, id: row.depositId }]))
    const beside = await besideOf(tx, partnerId, [row])
    return { row, deposit: present(deposit, `no deposit ${row.depositId} for session ${id}`), beside: beside(row) }
  }
  const get: Checkout['get'] = async (partnerId, id, tx = db) => {
    const { row, deposit, beside } = await read(tx, partnerId, id)
    return toSession(row, deposit, beside)
  }
  const expire: Checkout['expire'] = (partnerId, id, outerTx) =>
    inTransaction(db, outerTx, async (tx) => {
      const { row } = await read(tx, partnerId, id)
      if (!(await deposits.end(tx, partnerId, row.depositId))) {
        const { status } = await get(partnerId, id, tx)
        throw new Refusal('checkout_session_not_open', `The session is ${status}, and can no longer expire.`)
      }
      // The statement of the transition is sent with the commit: the row still has the previous status.
      const { deposit, beside } = await read(tx, partnerId, id)
      return toSession(row, { ...deposit, status: 'Expired', parts: deposit.parts.map(suspendHeld) }, beside)
    })
  return {
    ...createPaymentPages(deps),
    ...createAppearance(deps),
    ...createRefunds(deps),
    ...createLatePayments(deps),
    ...createPaymentLinks(deps, createLinkSessions(deps)),
    create: createCreate(deps, toSession, besideOf),
    get,
    list: createList(deps, toSession, besideOf),
    sums: async (partnerId, query) => {
      const filter = await readFilter(deps, partnerId, query)
      return capSums(filter === undefined ? [] : await store.sumSessions(db, partnerId, filter, sumRowsRead))
    },
    forgetEmail: store.deletePayerEmail,
    eraseSessions: store.eraseSessions,
    expire,
    simulate: createSimulate(deps, { read, toSession, expire }),
  }
}

type ReadExtras = (
  tx: Tx,
  partnerId: string,
  rows: readonly store.SessionRow[],
) => Promise<(row: store.SessionRow) => SessionExtras>

/** Creates the function that reads the refunds, late payments and customer names of sessions. */
const createReadExtras =
  (deps: CheckoutDeps): ReadExtras =>
  async (tx, partnerId, rows) => {
    const ids = rows.map(({ id }) => id)
    const refunded = await sumRefundsOfSessions(deps, tx, partnerId, ids)
    const late = await readLatePayments(deps, tx, partnerId, ids, refunded)
    const keys = rows.map(({ customerId }) => ({ partnerId, id: customerId }))
    const names = keys.length === 0 ? undefined : await deps.customers.accountNamesOf(tx, keys)
    return ({ id, customerId, linkId }) => ({
      refundedAmount: refunded.get(id) ?? 0n,
      latePayments: late.get(id) ?? [],
      // The customer of a link is the payee, not the payer.
      customerName: linkId === null ? names?.get(partnerKey(partnerId, customerId))?.[0] : undefined,
    })
  }

/** Marks a part as suspended: its session ends before it is paid in full. */
const suspendHeld = (part: Part): Part => (part.status === 'Held' ? { ...part, status: 'Suspended' } : part)

function createCreate(deps: CheckoutDeps, toSession: SessionMapper, besideOf: ReadExtras): Checkout['create'] {
  const { db, deposits, sandbox } = deps
  return async (caller, body) => {
    const { partnerId } = caller
    const request = parseSessionRequest(body, sandbox)
    const requestFingerprint = hashFingerprint(sessionFingerprint(body, request))
    const { row: deposit, replayed } = await oncePerKey({
      requestFingerprint,
      find: () => deposits.byKey(partnerId, 'createCheckoutSession', body.idempotencyKey),
      make: () =>
        db.transaction(async (tx) => {
          const customer = await findOrCreateCustomer(deps, tx, caller, body)
          const { idempotencyKey, paymentCountryCode = null, partialPayments: inParts = false } = body
          const opened = await open(deps, tx, {
            ...{ partnerId, request, requestFingerprint, idempotencyKey, customer, inParts },
            pointer: body.customerId === undefined ? '/customer' : '/customerId',
            paymentCountry: paymentCountryCode,
            residenceCountry: body.customer?.residenceCountryCode ?? null,
            description: body.description ?? null,
            websiteReference: body.websiteReference ?? null,
            customFields: body.customFields ?? null,
            link: noLink,
          })
          deps.audit.made(tx, { caller, operation: 'createCheckoutSession', ids: [opened.sessionId] })
          return opened
        }),
    })
    const row = present(
      await store.sessionById(db, partnerId, deposit.sessionId),
      `no session ${deposit.sessionId} for deposit ${deposit.id}`,
    )
    // A replay repeats the first answer, when nothing was paid or refunded.
    const beside = { ...(await besideOf(db, partnerId, [row]))(row), refundedAmount: 0n, latePayments: [] }
    return { session: toSession(row, { ...deposit, status: 'Created', parts: [] }, beside), replayed }
  }
}

type SessionOpening = {
  readonly partnerId: string
  readonly request: SessionRequest
  readonly requestFingerprint: string
  readonly idempotencyKey: string
  readonly customer: Customer
  /** Pointer to the field of the request that a refusal about the customer names. */
  readonly pointer: string
  readonly inParts: boolean
  readonly paymentCountry: string | null
  readonly residenceCountry: string | null
  readonly description: string | null
  readonly websiteReference: string | null
  readonly customFields: Record<string, unknown> | null
  readonly link: Pick<store.SessionRow, 'linkId' | 'payerName' | 'payerEmail'> & store.OpenLinkSession
}
const noLink = { linkId: null, payerName: null, payerEmail: null, linkOpen: null, openedBy: null } as const

/** Opens a session in one transaction: the IBAN of the customer, the deposit with its transaction and event, and the session. */
async function open(deps: CheckoutDeps, tx: Tx, opening: SessionOpening): Promise<DepositRow> {
  return (await openWithToken(deps, tx, opening)).deposit
}

async function openWithToken(
  deps: CheckoutDeps,
  tx: Tx,
  opening: SessionOpening,
): Promise<{ readonly deposit: DepositRow; readonly token: string; readonly creditorReference: string }> {
  const { access, clock, customers, deposits, sealer } = deps
  const { partnerId, request, requestFingerprint, customer, paymentCountry, link } = opening
  const { amount, currency, paymentMethod, expires, returnUrl, lineItems } = request
  const { payer, iban, bic } = await requirePayeeAccount(deps, tx, partnerId, customer, {
    currency,
    pointer: opening.pointer,
  })
  // Judged again when the money arrives, because the customer's balance changes until then.
  const above = await customers.refusalAbove(tx, partnerId, payer, { currency, amount, pointer: '/amount' })
  if (above !== undefined) throw above
  const payee = await access.partnerName(tx, partnerId)
  const chars = creditorReferenceChars[currency === 'GBP' ? 'british' : 'other']
  const creditorReference = formatCreditorReference(randomText(chars).toUpperCase())
  const deposit = await deposits.await(
    tx,
    {
      partnerId,
      operation: 'createCheckoutSession',
      type: 'CustomerDeposit',
      creditorReference,
      amount,
      currency,
      idempotencyKey: opening.idempotencyKey,
      websiteReference: opening.websiteReference,
      customFields: opening.customFields,
      ip: '',
      paymentCountry: paymentCountry ?? '',
      expiresAfterMs: sessionDurationMs(expires, clock.now()),
      paymentMethod,
      creditor: { accountHolderName: payee, iban, ...(bic === null ? {} : { bic }) },
      inParts: opening.inParts,
      texts: [opening.description, link.payerName, ...(lineItems ?? []).map(({ name }) => name)],
    },
    customer,
    requestFingerprint,
  )
  const token = newLinkToken(partnerId)
  await store.insertSession(tx, {
    partnerId,
    id: deposit.sessionId,
    depositId: deposit.id,
    customerId: customer.id,
    tokenHash: tokenHash(token),
    tokenSealed: sealer.seal(token, sessionTokenContext(partnerId, deposit.sessionId)),
    creditorReference,
    payee,
    iban,
    bic,
    ...{ paymentCountry, residenceCountry: opening.residenceCountry, returnUrl, description: opening.description },
    lineItems: formatLineItems(lineItems),
    ...link,
    createdAt: clock.now(),
  })
  return { deposit, token, creditorReference }
}

/**
 * Finds the customer's account that receives payments in this currency, or issues one. Refuses: account_blocked,
 * customer_not_verified, currency_not_supported, iban_issuer_not_configured, iban_pool_exhausted.
 */
async function requirePayeeAccount(
  { accounts, customers, deposits }: CheckoutDeps,
  tx: Tx,
  partnerId: string,
  { id: customerId }: Pick<Customer, 'id'>,
  { currency, pointer }: { readonly currency: Currency; readonly pointer: string },
) {
  const payer = await customers.requireCapability(tx, partnerId, customerId, 'Receive', { pointer, currency })
  const [isStopped] = await deposits.cannotReceive(tx, [{ partnerId, customerId, currency }])
  // The same text for a block and a sanctions match: a listed person must not be warned.
  if (isStopped)
    throw new Refusal('account_blocked', 'The account of the customer is closed or blocked for incoming money.')
  const { ibans } = await accounts.create(partnerId, customerId, tx)
  return { payer, ...payeeAccount(ibans, currency) }
}

/** Creates the operations of sessions that payment links need. */
function createLinkSessions(deps: CheckoutDeps): LinkSessions {
  const { clock, customers, deposits, eventOutbox, sealer } = deps
  return {
    requirePayee: async (tx, partnerId, customerRef, currency) => {
      const customer = await customers.hold(tx, partnerId, customerRef, '/customerId')
      await requirePayeeAccount(deps, tx, partnerId, customer, { currency, pointer: '/customerId' })
      return customer
    },
    openedBefore: async (tx, partnerId, idempotencyKey) => {
      const deposit = await deposits.byKey(partnerId, 'createCheckoutSession', idempotencyKey, tx)
      if (deposit === undefined) return undefined
      const { id, tokenSealed } = present(
        await store.sessionById(tx, partnerId, deposit.sessionId),
        `no session ${deposit.sessionId} for deposit ${deposit.id}`,
      )
      return { token: sealer.open(tokenSealed, sessionTokenContext(partnerId, id)) }
    },
    open: async (tx, { partnerId, customerId, request, idempotencyKey, fields, link }) => {
      const customer = await customers.hold(tx, partnerId, customerId, '/customerId')
      const opened = await openWithToken(deps, tx, {
        ...{ partnerId, request, idempotencyKey, customer, ...fields, link },
        // The key has 128 random bits in its own form: a partner cannot repeat it.
        ...{ requestFingerprint: hashFingerprint(idempotencyKey), pointer: '/customerId', inParts: false },
        ...{ paymentCountry: null, residenceCountry: null },
      })
      const { deposit, creditorReference } = opened
      eventOutbox.append(tx, partnerId, 'checkout.session.opened', clock.now(), {
        ...{ amount: toJsonAmount(deposit.amount, deposit.currency), currency: deposit.currency },
        ...{ customFields: fields.customFields, idempotencyKey, reference: deposit.reference },
        ...{ websiteReference: fields.websiteReference, customerId: customer.serviceId, customerGuid: customer.id },
        partnerCustomerId: customer.partnerCustomerIdentifier,
        ...{ creditorReference, linkId: present(link.linkId, 'no link id in a session of a payment link') },
        ...{ payerEmail: link.payerEmail, payerName: link.payerName ?? '', sessionId: deposit.sessionId },
      })
      return opened
    },
  }
}

/**
 * Chooses the account that a payer of this currency can reach: sort code and account number for pounds; otherwise,
 * except for euros, an account with a BIC for an international transfer.
 */
function payeeAccount(ibans: Awaited<ReturnType<CheckoutDeps['accounts']['create']>>['ibans'], currency: Currency) {
  const british = currency === 'GBP' ? ibans.find(({ country }) => country === 'GB') : undefined
  const found = british ?? (currency === 'EUR' ? ibans[0] : ibans.find(({ bic }) => bic !== null))
  if (found !== undefined) return found
  const message = 'cannot be paid here: no account of the customer has a BIC, which an international transfer needs'
  throw refuseField({ pointer: '/currency', code: 'invalid_value', message }, 'currency_not_supported')
}

async function findOrCreateCustomer(
  { clock, customers }: CheckoutDeps,
  tx: Tx,
  caller: Caller,
  { customerId, customer }: BodyOf<'createCheckoutSession'>,
): Promise<Customer> {
  const { partnerId } = caller
  if (customer === undefined) return customers.hold(tx, partnerId, customerId ?? '', '/customerId')
  const { email, fullName } = customer
  await store.lockPayerEmail(tx, partnerId, email, clock.now())
  const known = await customers.byEmail(tx, partnerId, email)
  const named = { email, ...(fullName === undefined ? {} : { kyc: { fullName } }) }
  return known ?? customers.create(partnerId, named, tx, caller)
}

/** Parses the filters. Undefined: the customer is unknown, and has no sessions. */
async function readFilter(
  { db, customers }: CheckoutDeps,
  partnerId: string,
  query: QueryOf<'sumCheckoutSessions'>,
): Promise<store.SessionFilter | undefined> {
  const { creditorReference = null, linkId = null, status, hasLatePayments, createdFrom, createdTo } = query
  const customerId = query.customerId === undefined ? null : await customers.resolveId(db, partnerId, query.customerId)
  if (customerId === undefined) return undefined
  return {
    ...{ customerId, creditorReference, linkId },
    statuses: status === undefined ? null : depositStatusesOf(status),
    hasLate: hasLatePayments === undefined ? null : hasLatePayments === 'true',
    createdFrom: createdFrom === undefined ? null : parseTime(createdFrom),
    createdTo: createdTo === undefined ? null : parseTime(createdTo),
  }
}

function createList(deps: CheckoutDeps, toSession: SessionMapper, besideOf: ReadExtras): Checkout['list'] {
  const { db, cursors, deposits } = deps
  return async (partnerId, query) => {
    const list = `checkout:${partnerId}`
    const request = cursors.read(list, query)
    const filter = await readFilter(deps, partnerId, query)
    if (filter === undefined) return cursors.page(list, request, [])
    const page = cursors.page(list, request, await store.listSessions(db, partnerId, filter, request))
    const keys = page.data.map(({ depositId }) => ({ partnerId, id: depositId }))
    const rows = await deposits.withParts(db, await deposits.byIds(db, keys))
    const byId = new Map(rows.map((row) => [row.id, row]))
    const beside = await besideOf(db, partnerId, page.data)
    return {
      ...page,
      data: page.data.map((row) =>
        toSession(
          row,
          present(byId.get(row.depositId), `no deposit ${row.depositId} for session ${row.id}`),
          beside(row),
        ),
      ),
    }
  }
}

// Simulations of a session: steps of a payer and a bank, through the sandbox bank.

type Simulate = (
  partnerId: string,
  id: string,
  body: BodyOf<'simulateCheckoutSession'>,
  ip: string,
  tx?: Tx,
) => Promise<Session>

type SimulateDeps = {
  readonly expire: (partnerId: string, id: string, tx?: Tx) => Promise<Session>
  readonly toSession: SessionMapper
  readonly read: (
    tx: Tx,
    partnerId: string,
    id: string,
  ) => Promise<{ row: store.SessionRow; deposit: DepositWithParts; beside: SessionExtras }>
}

/** The steps of each outcome. Steps that the session has already passed have no further effect. */
const stepsByOutcome: Readonly<Record<Exclude<CheckoutOutcome, 'expired'>, readonly PayerStep[]>> = {
  completed: ['initiate', 'submit', 'accept', 'settle'],
  failed: ['initiate', 'submit', 'fail'],
  abandoned: ['initiate'],
}

function createSimulate(deps: CheckoutDeps, { read, toSession, expire }: SimulateDeps): Simulate {
  const { db, bank } = deps
  return async (partnerId, id, body, ip, outerTx) => {
    if (bank === undefined) throw notFound('simulation')
    requireOutcomeOrStep(body)
    const { outcome, step } = body
    if (outcome === 'expired') return expire(partnerId, id, outerTx)
    return inTransaction(db, outerTx, async (tx) => {
      const { row, deposit, beside } = await read(tx, partnerId, id)
      const session = toSession(row, deposit, beside)
      if (outcome !== undefined && finalStatuses.has(session.status))
        throw new Refusal('checkout_session_not_open', `The session is ${session.status}; only a \`step\` can follow.`)
      const payer = {
        name: body.debtorName ?? 'Sandbox Payer',
        ipAddress: ip,
        countryCode: row.paymentCountry ?? body.countryCode ?? 'DE',
        money: readSimulatedMoney(body, session),
      }
      // The payer of a part makes a transfer: the bank of the payee reports no steps of it.
      if (step === 'credit' || (outcome === 'completed' && deposit.inParts)) {
        const { iban: account, creditorReference: remittance } = row
        const credit = { account, money: payer.money, debtor: bank.debtorOf(payer), remittance, endToEndId: null }
        bank.sendCredit(tx, partnerId, newId(), credit)
      } else if (step === 'reverse') {
        const part = deposit.parts.findLast(({ reversedAt }) => reversedAt === null)
        const credited = part ?? (deposit.creditId === null ? await lastAccepted(deps, tx, row) : undefined) ?? deposit
        const money = { currency: deposit.currency, amount: credited.amount }
        const reversed = { money, details: 'The bank of the payer has recalled the payment.' }
        bank.reverseCredit(tx, partnerId, requireCreditId(credited), reversed)
      } else {
        const steps =
          outcome === undefined
            ? [present(step, `neither step nor outcome for session ${row.id}`)]
            : stepsByOutcome[outcome]
        bank.scheduleSteps(tx, { partnerId, id: row.depositId }, steps, payer)
      }
      return session
    })
  }
}

/** Finds the deposit of the late payment that was accepted last. */
async function lastAccepted({ deposits }: CheckoutDeps, tx: Tx, session: store.SessionRow) {
  const rows = await latePaymentsOfSessions(tx, [session])
  const id = rows.findLast(({ depositId }) => depositId !== null)?.depositId ?? null
  const [found] = id === null ? [] : await deposits.byIds(tx, [{ partnerId: session.partnerId, id }])
  return found
}

const finalStatuses: ReadonlySet<CheckoutStatus> = new Set(['Completed', 'Failed', 'Expired'])

/** Checks that a credit paid the session, and returns the id of the credit. Refuses: validation_failed. */
function requireCreditId({ creditId }: Pick<DepositWithParts | Part, 'creditId'>): string {
  if (creditId !== null) return creditId
  throw refuseField({
    pointer: '/step',
    code: 'invalid_value',
    message: 'reverses a credit, but no credit paid the session',
  })
}

function requireOutcomeOrStep({ outcome, step }: BodyOf<'simulateCheckoutSession'>): void {
  if (outcome === undefined && step === undefined)
    throw refuseField({ pointer: '/outcome', code: 'required', message: 'is required unless `step` is given' })
  if (outcome !== undefined && step !== undefined)
    throw refuseField({
      pointer: '/step',
      code: 'invalid_value',
      message: 'must be omitted: `outcome` implies all steps',
    })
}

/** Parses the amount and the currency of a simulation. Refuses: validation_failed, currency_not_supported. */
function readSimulatedMoney({ amount, currency: code }: BodyOf<'simulateCheckoutSession'>, session: Session) {
  const currency = code === undefined ? session.currency : parseCurrency(code)
  if (!isFiat(currency)) throw new Refusal('currency_not_supported', `The sandbox bank holds no ${currency}.`)
  return {
    currency,
    amount: amount === undefined ? session.remainingAmount || session.amount : parseAmount(amount, currency),
  }
}

type Appearance = {
  /** Reads the branding. All fields are null if the partner has set none. */
  readonly branding: (partnerId: string) => Promise<store.Branding>
  /** Reads the brand for documents. Undefined: the partner has set none. */
  readonly documentBrand: (partnerId: string) => Promise<DocumentBrand | undefined>
  /** Merges the given fields. Refuses: validation_failed (/logo), contrast_too_low. */
  readonly setBranding: (partnerId: string, given: BodyOf<'setCheckoutBranding'>) => Promise<store.Branding>
}

function createAppearance({ db, clock }: Pick<CheckoutDeps, 'db' | 'clock'>): Appearance {
  const drawing = new Map<string, Promise<Uint8Array | null>>()
  /** Renders a logo that an earlier version stored. Concurrent documents share the work. */
  const drawOnce = (partnerId: string, logo: Uint8Array): Promise<Uint8Array | null> => {
    const draw = async () => {
      const made = await drawLogo(logo)
      await store.storeRenderedLogo(db, partnerId, made)
      return made.drawn
    }
    const work = drawing.get(partnerId) ?? draw().finally(() => drawing.delete(partnerId))
    drawing.set(partnerId, work)
    return work
  }
  return {
    branding: async (partnerId) => (await store.readBranding(db, partnerId)) ?? store.noBranding,
    documentBrand: async (partnerId) => {
      const branding = await store.readDocumentBrand(db, partnerId)
      if (branding === undefined) return undefined
      const { name, colour, drawn, logo } = branding
      const shown = logo === null ? drawn : await drawOnce(partnerId, logo)
      return { name: name ?? undefined, accent: colour ?? undefined, logo: shown ?? undefined }
    },
    setBranding: async (partnerId, { name, accentColour, accentColourDark, logo }) => {
      const change = {
        name,
        colour: readAccent('accentColour', accentColour),
        colourDark: readAccent('accentColourDark', accentColourDark),
        logo: typeof logo === 'string' ? await readLogoText(logo) : logo,
      }
      return store.mergeBranding(db, partnerId, change, clock.now())
    },
  }
}

const themes = { accentColour: 'light', accentColourDark: 'dark' } as const

function readAccent(field: keyof typeof themes, given: string | null | undefined): string | null | undefined {
  if (given === null || given === undefined) return given
  const colour = present(readColour(given), `${field} is not a colour`)
  const message = contrastProblem(colour, themes[field])
  if (message === undefined) return colour
  throw refuseField({ pointer: `/${field}`, code: 'invalid_value', message }, 'contrast_too_low')
}

async function readLogoText(text: string) {
  const refused = (message: string) => refuseField({ pointer: '/logo', code: 'invalid_format', message })
  const bytes = Buffer.from(text, 'base64')
  if (bytes.toString('base64') !== text) throw refused('must be Base64 (RFC 4648, section 4)')
  const logo = readLogo(bytes, drawnPixelsMax)
  if (typeof logo === 'string') throw refused(logo)
  return { ...logo, ...(await drawLogo(bytes)) }
}

const drawLogo = async (logo: Uint8Array): Promise<store.RenderedLogo> => ({
  drawn: (await convertLogo(logo)) ?? null,
  from: logoDigest(logo),
})
