/** The verbs of the checkout module that the API calls. */
import type { BodyOf, CheckoutOutcome, CheckoutStatus, QueryOf } from '@partner-payments/wire'
import { newLinkToken } from '../access/index.ts'
import {
  type Caller,
  notFound,
  type Page,
  readAmount,
  readCurrency,
  readTime,
  Refusal,
  refuseField,
} from '../kernel/api/index.ts'
import { creditorReferenceOf } from '../iso20022/index.ts'
import { type Currency, isFiat, type Minor, newId, present, randomText } from '../kernel/index.ts'
import { inTransaction, once, type Tx } from '../postgres/index.ts'
import type { Customer } from '../parties/customers/index.ts'
import { type DepositRow, hashFingerprint, type InParts, type Part } from '../deposits/index.ts'
import { type CheckoutDeps, createToSession, linkContext, type Session, type ToSession } from './session.ts'
import { createHosted, type Hosted } from './hosted.ts'
import { fingerprintOf, lineItemsText, readSession, type SessionRequest, tokenHash } from './rules.ts'
import { createRefunds, refundedOfSessions, type Refunds } from './refunds.ts'
import * as store from './store.ts'
import type { BankStep } from '../rails/index.ts'
import type { SessionRow } from './store.ts'
import { contrastProblem, digestOfLogo, drawnLogo, drawnPixelsMax, readColour, readLogo } from '../branding/index.ts'
import type { DocumentBrand } from '../typesetting/index.ts'

export type Checkout = Hosted &
  Appearance &
  Refunds & {
    /**
     * Opens the deposit and its page in one transaction. Refuses: validation_failed, not_found (customerId),
     * line_items_mismatch, account_blocked, customer_not_verified, balance_limit_exceeded, currency_not_supported, iban_issuer_not_configured, iban_pool_exhausted, idempotency_key_reused,
     * request_in_progress.
     */
    readonly create: (
      caller: Caller,
      body: BodyOf<'createCheckoutSession'>,
    ) => Promise<{ readonly session: Session; readonly replayed: boolean }>
    /** Refuses: not_found. */
    readonly get: (partnerId: string, id: string, tx?: Tx) => Promise<Session>
    /** Newest first. Refuses: validation_failed (cursor). An unknown customer has no sessions. */
    readonly list: (partnerId: string, query: QueryOf<'listCheckoutSessions'>) => Promise<Page<Session>>
    /** Deletes the email of an erased customer from the index by which payers are found. */
    readonly forgetEmail: typeof store.forgetEmail
    /** Erases the customer's data from its sessions. */
    readonly eraseSessions: typeof store.eraseSessions
    /** Refuses: not_found, checkout_session_not_open. */
    readonly expire: (partnerId: string, id: string, tx?: Tx) => Promise<Session>
    /**
     * Schedules the steps of a payer and a bank, and returns the session as it was before, or expired. Refuses:
     * not_found, validation_failed, checkout_session_not_open, currency_not_supported.
     */
    readonly simulate: Simulate
  }

/**
 * 80 random bits: five groups of four with `RF` and the check digits. The reference of a payment in the United Kingdom has at most
 * 18 characters (Faster Payments, Bacs), with 70 bits.
 */
const creditorReferenceChars = { other: 16, british: 14 } as const

export function createCheckout(deps: CheckoutDeps): Checkout {
  const { db, deposits } = deps
  const toSession = createToSession(deps)
  const read = async (tx: Tx, partnerId: string, id: string) => {
    const row = await store.sessionById(tx, partnerId, id)
    if (row === undefined) throw notFound('checkout session')
    const [deposit] = await deposits.withParts(tx, await deposits.byIds(tx, [{ partnerId, id: row.depositId }]))
    const refunded = await refundedOfSessions(deps, tx, partnerId, [id])
    return {
      row,
      deposit: present(deposit, `no deposit ${row.depositId} for session ${id}`),
      refunded: refunded.get(row.id) ?? 0n,
    }
  }
  const get: Checkout['get'] = async (partnerId, id, tx = db) => {
    const { row, deposit, refunded } = await read(tx, partnerId, id)
    return toSession(row, deposit, refunded)
  }
  const expire: Checkout['expire'] = (partnerId, id, outerTx) =>
    inTransaction(db, outerTx, async (tx) => {
      const { row } = await read(tx, partnerId, id)
      if (!(await deposits.end(tx, partnerId, row.depositId))) {
        const { status } = await get(partnerId, id, tx)
        throw new Refusal('checkout_session_not_open', `The session is ${status}, and can no longer expire.`)
      }
      // The statement of the transition is sent with the commit, so that the row shows the status before it.
      const { deposit } = await read(tx, partnerId, id)
      return toSession(row, { ...deposit, status: 'Expired', parts: deposit.parts.map(withoutRest) }, 0n)
    })
  return {
    ...createHosted(deps),
    ...createAppearance(deps),
    ...createRefunds(deps),
    create: createCreate(deps, toSession),
    get,
    list: createList(deps, toSession),
    forgetEmail: store.forgetEmail,
    eraseSessions: store.eraseSessions,
    expire,
    simulate: createSimulate(deps, { read, toSession, expire }),
  }
}

/** Moves the money of a session that ends before it is paid in full to suspense. */
const withoutRest = (part: Part): Part => (part.status === 'Held' ? { ...part, status: 'Suspended' } : part)

function createCreate(deps: CheckoutDeps, toSession: ToSession): Checkout['create'] {
  const { db, deposits, sandbox } = deps
  return async (caller, body) => {
    const { partnerId } = caller
    const request = readSession(body, sandbox)
    const requestFingerprint = hashFingerprint(fingerprintOf(body, request))
    const { row: deposit, replayed } = await once({
      requestFingerprint,
      find: () => deposits.byKey(partnerId, 'createCheckoutSession', body.idempotencyKey),
      make: () => db.transaction((tx) => open(deps, tx, { caller, body, request, requestFingerprint })),
    })
    const row = present(
      await store.sessionById(db, partnerId, deposit.sessionId),
      `no session ${deposit.sessionId} for deposit ${deposit.id}`,
    )
    // A replay repeats the first answer: nothing was paid or refunded then.
    return { session: toSession(row, { ...deposit, status: 'Created', parts: [] }, 0n), replayed }
  }
}

type Opening = {
  readonly caller: Caller
  readonly body: BodyOf<'createCheckoutSession'>
  readonly request: SessionRequest
  readonly requestFingerprint: string
}

/** One transaction: the customer, its IBAN, the deposit with its transaction and event, and the session. */
async function open(deps: CheckoutDeps, tx: Tx, opening: Opening): Promise<DepositRow> {
  const { access, accounts, audit, clock, customers, deposits, sealer } = deps
  const { caller, body, request, requestFingerprint } = opening
  const { partnerId } = caller
  const { amount, currency, paymentMethod, expiresAfterMs, returnUrl, lineItems } = request
  const customer = await customerOf(deps, tx, caller, body)
  const pointer = body.customerId === undefined ? '/customer' : '/customerId'
  const payer = await customers.requireCapability(tx, partnerId, customer.id, 'Receive', { pointer, currency })
  const [isStopped] = await deposits.cannotReceive(tx, [{ partnerId, customerId: customer.id, currency }])
  // The same text for a block and for a hit: a listed person must not be warned.
  if (isStopped)
    throw new Refusal('account_blocked', 'The account of the customer is closed or blocked for incoming money.')
  // Judged again when the money arrives: what the customer holds changes until then.
  const above = await customers.refusalAbove(tx, partnerId, payer, { currency, amount, pointer: '/amount' })
  if (above !== undefined) throw above
  const { ibans } = await accounts.create(partnerId, customer.id, tx)
  const { iban, bic } = payeeAccount(ibans, currency)
  const payee = await access.partnerName(tx, partnerId)
  const chars = creditorReferenceChars[currency === 'GBP' ? 'british' : 'other']
  const creditorReference = creditorReferenceOf(randomText(chars).toUpperCase())
  const deposit = await deposits.await(
    tx,
    {
      partnerId,
      operation: 'createCheckoutSession',
      type: 'CustomerDeposit',
      creditorReference,
      amount,
      currency,
      idempotencyKey: body.idempotencyKey,
      websiteReference: body.websiteReference ?? null,
      customFields: body.customFields ?? null,
      ip: '',
      paymentCountry: body.paymentCountryCode ?? '',
      expiresAfterMs,
      paymentMethod,
      creditor: { accountHolderName: payee, iban, ...(bic === null ? {} : { bic }) },
      inParts: body.partialPayments ?? false,
      texts: [body.description ?? null, ...(lineItems ?? []).map(({ name }) => name)],
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
    tokenSealed: sealer.seal(token, linkContext(partnerId, deposit.sessionId)),
    creditorReference,
    payee,
    iban,
    bic,
    paymentCountry: body.paymentCountryCode ?? null,
    residenceCountry: body.customer?.residenceCountryCode ?? null,
    returnUrl,
    description: body.description ?? null,
    lineItems: lineItemsText(lineItems),
    createdAt: clock.now(),
  })
  audit.made(tx, { caller, operation: 'createCheckoutSession', ids: [deposit.sessionId] })
  return deposit
}

/**
 * The account that a payer of this currency can reach: pounds by sort code and account number; other currencies than the euro by an
 * international transfer, which needs a BIC.
 */
function payeeAccount(ibans: Awaited<ReturnType<CheckoutDeps['accounts']['create']>>['ibans'], currency: Currency) {
  const british = currency === 'GBP' ? ibans.find(({ country }) => country === 'GB') : undefined
  const found = british ?? (currency === 'EUR' ? ibans[0] : ibans.find(({ bic }) => bic !== null))
  if (found !== undefined) return found
  const message = 'cannot be paid here: no account of the customer has a BIC, which an international transfer needs'
  throw refuseField({ pointer: '/currency', code: 'invalid_value', message }, 'currency_not_supported')
}

async function customerOf(
  { clock, customers }: CheckoutDeps,
  tx: Tx,
  caller: Caller,
  { customerId, customer }: BodyOf<'createCheckoutSession'>,
): Promise<Customer> {
  const { partnerId } = caller
  if (customer === undefined) return customers.hold(tx, partnerId, customerId ?? '', '/customerId')
  const { email, fullName } = customer
  await store.lockEmail(tx, partnerId, email, clock.now())
  const known = await customers.byEmail(tx, partnerId, email)
  const named = { email, ...(fullName === undefined ? {} : { kyc: { fullName } }) }
  return known ?? customers.create(partnerId, named, tx, caller)
}

function createList(deps: CheckoutDeps, toSession: ToSession): Checkout['list'] {
  const { db, cursors, customers, deposits } = deps
  return async (partnerId, query) => {
    const list = `checkout:${partnerId}`
    const request = cursors.read(list, query)
    const customerId = query.customerId === undefined ? null : await customers.idOf(db, partnerId, query.customerId)
    if (customerId === undefined) return cursors.page(list, request, [])
    const filter = {
      customerId,
      creditorReference: query.creditorReference ?? null,
      createdFrom: query.createdFrom === undefined ? null : readTime(query.createdFrom),
      createdTo: query.createdTo === undefined ? null : readTime(query.createdTo),
    }
    const page = cursors.page(list, request, await store.listSessions(db, partnerId, filter, request))
    const keys = page.data.map(({ depositId }) => ({ partnerId, id: depositId }))
    const rows = await deposits.withParts(db, await deposits.byIds(db, keys))
    const byId = new Map(rows.map((row) => [row.id, row]))
    const ids = page.data.map(({ id }) => id)
    const refunded = await refundedOfSessions(deps, db, partnerId, ids)
    return {
      ...page,
      data: page.data.map((row) =>
        toSession(
          row,
          present(byId.get(row.depositId), `no deposit ${row.depositId} for session ${row.id}`),
          refunded.get(row.id) ?? 0n,
        ),
      ),
    }
  }
}

// Simulations of a session: a payer's and a bank's steps on request, through the sandbox bank.

type Simulate = (
  partnerId: string,
  id: string,
  body: BodyOf<'simulateCheckoutSession'>,
  ip: string,
  tx?: Tx,
) => Promise<Session>

type Parts = {
  readonly expire: (partnerId: string, id: string, tx?: Tx) => Promise<Session>
  readonly toSession: ToSession
  readonly read: (
    tx: Tx,
    partnerId: string,
    id: string,
  ) => Promise<{ row: SessionRow; deposit: InParts; refunded: Minor }>
}

/** The remaining steps follow from the status, so that an outcome continues what has begun. */
const stepsOf: Readonly<Record<Exclude<CheckoutOutcome, 'expired'>, readonly BankStep[]>> = {
  completed: ['initiate', 'submit', 'accept', 'settle'],
  failed: ['initiate', 'submit', 'fail'],
  abandoned: ['initiate'],
}

function createSimulate(deps: CheckoutDeps, { read, toSession, expire }: Parts): Simulate {
  const { db, bank } = deps
  return async (partnerId, id, body, ip, outerTx) => {
    if (bank === undefined) throw notFound('simulation')
    requireOne(body)
    const { outcome, step } = body
    if (outcome === 'expired') return expire(partnerId, id, outerTx)
    return inTransaction(db, outerTx, async (tx) => {
      const { row, deposit, refunded } = await read(tx, partnerId, id)
      const session = toSession(row, deposit, refunded)
      if (outcome !== undefined && finalStatuses.has(session.status))
        throw new Refusal('checkout_session_not_open', `The session is ${session.status}; only a \`step\` can follow.`)
      const payer = {
        name: body.debtorName ?? 'Sandbox Payer',
        ipAddress: ip,
        countryCode: row.paymentCountry ?? body.countryCode ?? 'DE',
        money: moneyOf(body, session),
      }
      // The bank of the payer of a part sends a transfer: the bank of the payee knows no steps of it.
      if (step === 'credit' || (outcome === 'completed' && deposit.inParts)) {
        const { iban: account, creditorReference: remittance } = row
        const credit = { account, money: payer.money, debtor: bank.debtorOf(payer), remittance, endToEndId: null }
        bank.sendCredit(tx, partnerId, newId(), credit)
      } else if (step === 'reverse') {
        const part = deposit.parts.findLast(({ reversedAt }) => reversedAt === null)
        const money = { currency: deposit.currency, amount: (part ?? deposit).amount }
        const reversed = { money, details: 'The bank of the payer has recalled the payment.' }
        bank.reverseCredit(tx, partnerId, creditOf(part ?? deposit), reversed)
      } else {
        const steps =
          outcome === undefined ? [present(step, `neither step nor outcome for session ${row.id}`)] : stepsOf[outcome]
        bank.scheduleSteps(tx, { partnerId, id: row.depositId }, steps, payer)
      }
      return session
    })
  }
}

const finalStatuses: ReadonlySet<CheckoutStatus> = new Set(['Completed', 'Failed', 'Expired'])

/** Refuses: validation_failed. */
function creditOf({ creditId }: Pick<InParts | Part, 'creditId'>): string {
  if (creditId !== null) return creditId
  throw refuseField({
    pointer: '/step',
    code: 'invalid_value',
    message: 'reverses a credit, but no credit paid the session',
  })
}

function requireOne({ outcome, step }: BodyOf<'simulateCheckoutSession'>): void {
  if (outcome === undefined && step === undefined)
    throw refuseField({ pointer: '/outcome', code: 'required', message: 'is required unless `step` is given' })
  if (outcome !== undefined && step !== undefined)
    throw refuseField({
      pointer: '/step',
      code: 'invalid_value',
      message: 'must be omitted: `outcome` implies all steps',
    })
}

/** Refuses: validation_failed, currency_not_supported. */
function moneyOf({ amount, currency: code }: BodyOf<'simulateCheckoutSession'>, session: Session) {
  const currency = code === undefined ? session.currency : readCurrency(code)
  if (!isFiat(currency)) throw new Refusal('currency_not_supported', `The sandbox bank holds no ${currency}.`)
  return {
    currency,
    amount: amount === undefined ? session.remainingAmount || session.amount : readAmount(amount, currency),
  }
}

// The verbs of a partner's branding: the name, the colours and the logo that its payment pages show.

type Appearance = {
  /** Everything is null if the partner has set nothing. */
  readonly branding: (partnerId: string) => Promise<store.Branding>
  /** The brand for documents. Undefined if the partner has set nothing. */
  readonly documentBrand: (partnerId: string) => Promise<DocumentBrand | undefined>
  /** Merges the given fields. Refuses: validation_failed (/logo), contrast_too_low. */
  readonly setBranding: (partnerId: string, given: BodyOf<'setCheckoutBranding'>) => Promise<store.Branding>
}

function createAppearance({ db, clock }: Pick<CheckoutDeps, 'db' | 'clock'>): Appearance {
  const drawing = new Map<string, Promise<Uint8Array | null>>()
  /** Draws a logo that a version before has stored. The documents that wait meanwhile share the work. */
  const drawOnce = (partnerId: string, logo: Uint8Array): Promise<Uint8Array | null> => {
    const draw = async () => {
      const made = await drawnOf(logo)
      await store.keepDrawnLogo(db, partnerId, made)
      return made.drawn
    }
    const work = drawing.get(partnerId) ?? draw().finally(() => drawing.delete(partnerId))
    drawing.set(partnerId, work)
    return work
  }
  return {
    branding: async (partnerId) => (await store.brandingOf(db, partnerId)) ?? store.noBranding,
    documentBrand: async (partnerId) => {
      const branding = await store.documentBrandOf(db, partnerId)
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
  return { ...logo, ...(await drawnOf(bytes)) }
}

const drawnOf = async (logo: Uint8Array): Promise<store.DrawnLogo> => ({
  drawn: (await drawnLogo(logo)) ?? null,
  from: digestOfLogo(logo),
})
