/** Checkout sessions: the list, the page of a session, and the forms that create and end one. */
import { checkout as wire, decimalText, rawNumber, type ResponseOf } from '@partner-payments/wire'
import { type PublicAnswer, type PublicRequest, Refusal } from '../../kernel/api/index.ts'
import { newId } from '../../kernel/index.ts'
import { html, type Html } from '../html.ts'
import {
  confirmedForm,
  type Draft,
  formPage,
  toSelectOptions,
  type FieldProblems,
  type FieldValues,
} from '../kit/forms.ts'
import { type ConsoleView, shell } from '../kit/frame.ts'
import { type ListRows, listPage, sumsNote } from '../kit/lists.ts'
import {
  account,
  badge,
  copyBlock,
  facts,
  freeText,
  identifier,
  linkButton,
  message,
  money,
  moneyText,
  section,
  summaryStrip,
  table,
  time,
} from '../kit/parts.ts'
import {
  readCompletedForm,
  readId,
  pathWithQuery,
  page,
  queryText,
  readAmount,
  readForm,
  readQuery,
  seeOther,
  pageStatus,
  readValues,
} from '../kit/request.ts'
import { type ItemRow, itemFields, itemInputs, itemTable, readItems, readItemValues } from './items.ts'
import { decideLatePayment, latePaymentsSection, type LateRow, lateRows } from './late.ts'
import { linkRoutes } from './payment-links.ts'
import {
  checkRefund,
  refundedText,
  refundSection,
  type Refunds,
  readRefunds,
  sendRefund,
  type TypedRefund,
} from './refunds.ts'
import { type CreatorFact, readCreatorFact, creatorFacts } from './creator.ts'
import {
  amountProblem,
  callOf,
  type Frame,
  may,
  type Person,
  refusalProblems,
  type Routes,
  placeRoutes,
  textsWithRefusals,
} from './request.ts'
import { type ConsoleTexts, texts } from './texts/index.ts'
import { readListWithSums, type Sums, transactionHref } from './transactions.ts'

type SessionStatus = 'Open' | 'Processing' | 'Completed' | 'Failed' | 'Expired'

type SessionRow = {
  readonly id: string
  readonly amount: string
  readonly currency: string
  readonly status: SessionStatus
  readonly creditorReference: string
  readonly order: string
  readonly description: string
  readonly payer: string
  /** True if a late payment awaits the shop's decision. */
  readonly isLate: boolean
  readonly createdAt: Date
  readonly expiresAt: Date
}

const tones = {
  Open: 'warning',
  Processing: 'warning',
  Completed: 'good',
  Failed: 'bad',
  Expired: 'neutral',
} as const

/** Reports whether the session can still be paid. `expiresAt` is not enough, because a session can end early. */
const isOpen = (status: SessionStatus): boolean => status === 'Open' || status === 'Processing'

const statusBadge = ({ language }: ConsoleView, status: SessionStatus): Html =>
  badge(tones[status], texts[language].checkout.status[status])

export const sessionFilters = [
  'creditorReference',
  'status',
  'hasLatePayments',
  'createdFrom',
  'createdTo',
  'customerId',
  'linkId',
] as const

type SessionList = ListRows<SessionRow> & {
  readonly mayWrite: boolean
  /** Absent: no filter is set. */
  readonly sums?: Sums | undefined
}

export function checkoutSessionsPage(view: ConsoleView, { rows, mayWrite, sums, ...shown }: SessionList): string {
  const c = texts[view.language].checkout
  const p = texts[view.language].payments
  return listPage(view, shown, {
    title: view.t.checkout,
    path: 'checkout',
    lead: c.lead,
    links: html`${linkButton(`${view.root}checkout/links`, c.links.open)}
    ${linkButton(`${view.root}checkout/appearance`, texts[view.language].appearance.open)}`,
    create: mayWrite && { text: c.newSession, href: `${view.root}checkout/new` },
    filters: [
      { name: 'creditorReference', label: c.creditorReference },
      { name: 'status', label: p.status, options: toSelectOptions(c.status) },
      { name: 'hasLatePayments', label: c.late.filter, options: toSelectOptions(c.late.has) },
      { name: 'createdFrom', label: p.createdFrom, type: 'date' },
      { name: 'createdTo', label: p.createdTo, type: 'date' },
    ],
    more: [
      { name: 'customerId', label: p.customerId },
      { name: 'linkId', label: c.links.id },
    ],
    note: sums !== undefined && sumsNote(view, sums),
    columns: [[c.order, 'head'], c.description, c.payer, p.status, p.created, c.expires, [p.amount, 'number']],
    cells: rows.map(({ id, amount, currency, status, creditorReference, createdAt, expiresAt, ...row }) => [
      html`<a href="${view.root}checkout/${id}" title="${creditorReference}">${row.order || creditorReference}</a>`,
      row.description,
      row.payer,
      html`${statusBadge(view, status)} ${row.isLate && badge('warning', c.late.waits)}`,
      time(view, createdAt),
      isOpen(status) ? time(view, expiresAt) : '',
      money(view, amount, currency),
    ]),
    none: { title: c.empty, text: c.emptyText },
  })
}

export const sessionFields = [
  'amount',
  'currency',
  'email',
  'fullName',
  'residenceCountryCode',
  'customerId',
  'paymentMethod',
  'returnUrl',
  'websiteReference',
  'description',
  'expiresInSeconds',
  'partialPayments',
] as const

export function newSessionPage(view: ConsoleView, draft: Draft): string {
  const c = texts[view.language].checkout
  const p = texts[view.language].payments
  const optional = true
  return formPage(view, {
    ...draft,
    title: c.newSession,
    submit: c.create,
    action: 'checkout/new',
    fields: [
      { name: 'amount', label: p.amount, help: c.amountHelp, optional: 'unmarked' },
      { name: 'currency', label: p.currency, help: p.currencyHelp },
      { name: 'websiteReference', label: c.order, optional },
      {
        name: 'description',
        label: c.description,
        help: c.descriptionHelp,
        optional,
        charsMax: wire.descriptionCharsMax,
      },
      itemInputs(view, draft),
      { name: 'email', label: c.email, help: c.emailHelp, optional },
      { name: 'fullName', label: c.fullName, optional },
      { name: 'residenceCountryCode', label: c.country, help: c.countryHelp, optional },
      { name: 'customerId', label: p.customer, help: c.customerHelp, optional },
      { name: 'paymentMethod', label: c.method, options: toSelectOptions(c.methods), any: c.methodDefault },
      { name: 'returnUrl', label: c.returnUrl, help: c.returnUrlHelp, optional },
      { name: 'expiresInSeconds', label: c.validity, options: toSelectOptions(c.validities), value: '3600' },
      { name: 'partialPayments', label: c.payments, options: toSelectOptions(c.inParts), any: c.onePayment },
    ],
    back: { path: 'checkout', text: p.back },
  })
}

type PartRow = {
  readonly amount: string
  readonly status: keyof ConsoleTexts['checkout']['partStatus']
  readonly payer: string
  readonly receivedAt: Date
}

type SessionView = SessionRow & {
  readonly creator?: CreatorFact | undefined
  readonly url: string
  readonly iban: string
  readonly bic?: string | undefined
  readonly transactionHref?: string | undefined
  readonly customerHref?: string | undefined
  readonly may: { readonly expire: boolean; readonly simulate: boolean; readonly choose: boolean }
  readonly payerEmail?: string | undefined
  readonly linkHref?: string | undefined
  readonly items: readonly ItemRow[]
  readonly late: readonly LateRow[]
  readonly done?: 'created' | 'expired' | 'refunded' | 'accepted' | 'returned' | undefined
  /** Null: nothing was refunded. */
  readonly refunded: string | null
  /** Absent: the session takes one payment. */
  readonly parts?:
    | {
        readonly paid: string
        /** Null: nothing is due. */
        readonly remaining: string | null
        readonly rows: readonly PartRow[]
      }
    | undefined
  /** Absent: the session has no refundable money. */
  readonly refunds?: Refunds | undefined
  readonly problems: FieldProblems
}

export function checkoutSessionPage(view: ConsoleView, session: SessionView): string {
  const c = texts[view.language].checkout
  const p = texts[view.language].payments
  const r = texts[view.language].refunds
  const { id, amount, currency, status, creditorReference, createdAt, expiresAt, done, problems, may } = session
  const { refunded, refunds, parts } = session
  const simulation = pathWithQuery(`${view.root}simulations/checkout`, { sessionId: id })
  return shell(view, {
    title: `${c.session} ${session.order || creditorReference}`,
    problems,
    main: html`${done !== undefined && message('good', done === 'refunded' ? r.created : doneTexts(view)[done])}
      <div class="heading">
        <h1>${session.order || creditorReference}</h1>
        <div class="buttons">
          ${may.simulate && html`<a class="button" href="${simulation}">${c.simulate}</a>`}
          ${session.transactionHref && html`<a class="button" href="${session.transactionHref}">${c.toTransaction}</a>`}
          ${session.customerHref && html`<a class="button" href="${session.customerHref}">${c.toCustomer}</a>`}
          ${session.linkHref && html`<a class="button" href="${session.linkHref}">${c.links.toLink}</a>`}
        </div>
      </div>
      ${summaryStrip([
        [p.amount, money(view, amount, currency, 'main')],
        [p.status, statusBadge(view, status)],
        ...(parts === undefined ? [] : [[c.paid, money(view, parts.paid, currency)] as const]),
        ...(parts?.remaining ? [[c.remaining, money(view, parts.remaining, currency)] as const] : []),
        ...(refunded === null ? [] : [[r.refunded, money(view, refunded, currency)] as const]),
        ...(isOpen(status) ? [[c.expires, time(view, expiresAt)] as const] : []),
      ])}
      ${session.late.length > 0 && latePaymentsSection(view, { id, currency, rows: session.late, mayChoose: may.choose })}
      ${isOpen(status) && linkPart(view, session.url)}
      ${facts([
        [c.order, session.order || undefined],
        [c.description, session.description === '' ? undefined : freeText(session.description)],
        [c.payer, session.payer === '' ? undefined : freeText(session.payer)],
        [c.payerEmail, session.payerEmail],
        [c.creditorReference, identifier(view, creditorReference, c.creditorReference)],
        [c.iban, account(view, session.iban)],
        [p.bic, session.bic],
        [p.created, time(view, createdAt)],
        ...creatorFacts(session),
        [p.id, identifier(view, id, p.id)],
      ])}
      ${session.items.length > 0 && section('items', c.items, itemTable(view, currency, session.items))}
      ${parts !== undefined && partTable(view, currency, parts.rows)}
      ${refunds !== undefined && refundSection(view, id, refunds, problems)} ${may.expire && expiry(view, session)}`,
  })
}

const doneTexts = ({ language }: ConsoleView) => {
  const { created, expired, late } = texts[language].checkout
  return { created, expired, accepted: late.accepted, returned: late.returned }
}

function partTable(view: ConsoleView, currency: string, rows: readonly PartRow[]): Html {
  const c = texts[view.language].checkout
  const p = texts[view.language].payments
  if (rows.length === 0) return section('parts', c.parts, html`<p>${c.noParts}</p>`)
  const shown = table({
    caption: c.parts,
    columns: [[c.payer, 'head'], p.status, p.created, [p.amount, 'number']],
    rows: rows.map(({ amount, status, payer, receivedAt }) => [
      html`<span class="free">${payer}</span>`,
      c.partStatus[status],
      time(view, receivedAt),
      money(view, amount, currency),
    ]),
  })
  return section('parts', c.parts, shown)
}

function linkPart(view: ConsoleView, url: string): Html {
  const c = texts[view.language].checkout
  return html`<section aria-labelledby="link-title">
    <h2 id="link-title">${c.link}</h2>
    <p>${c.linkText}</p>
    ${copyBlock(view, url, c.link)}
  </section>`
}

function expiry(view: ConsoleView, { id, amount, currency, creditorReference, parts }: SessionView): Html {
  const c = texts[view.language].checkout
  return confirmedForm(view, {
    id: 'expire-session',
    title: c.expireTitle,
    action: `${view.root}checkout/${id}/expire`,
    submit: c.expire,
    about: creditorReference,
    shown: html`<p><strong>${moneyText(view, amount, currency)}</strong></p>`,
    effects: [c.expireEffect, ...(parts !== undefined && parts.rows.length > 0 ? [c.expireParts] : []), c.expireLate],
  })
}

const refusalTexts = (person: Person) => textsWithRefusals(person, 'checkout')

const sessionRow = (session: ResponseOf<'getCheckoutSession'>): SessionRow => {
  const { sessionId, amount, currency, status, creditorReference, createdAt, expiresAt } = session
  return {
    id: sessionId,
    amount: decimalText(amount),
    currency,
    status,
    creditorReference,
    order: session.websiteReference ?? '',
    description: session.description ?? '',
    payer: session.payerName ?? '',
    isLate: (session.latePayments ?? []).some((late) => late.status === 'Waiting'),
    createdAt: new Date(createdAt),
    expiresAt: new Date(expiresAt),
  }
}

function sessionParts({ partialPayments, parts = [], paidAmount, remainingAmount }: ResponseOf<'getCheckoutSession'>) {
  if (!partialPayments) return undefined
  const remaining = decimalText(remainingAmount)
  return {
    paid: decimalText(paidAmount),
    remaining: Number(remaining) === 0 ? null : remaining,
    rows: parts.map(({ amount, status, debtorName: payer = '', receivedAt }) => {
      return { amount: decimalText(amount), status, payer, receivedAt: new Date(receivedAt) }
    }),
  }
}

async function showList({ operate }: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  const call = callOf(person, request)
  const { data, shown, sums } = await readListWithSums(
    request,
    person,
    sessionFilters,
    (query) => operate('listCheckoutSessions', { ...call, query: queryText(query) }),
    (query) => operate('sumCheckoutSessions', { ...call, query: queryText(query) }),
  )
  const sessions = { ...shown, sums, rows: data.map(sessionRow), mayWrite: may(person, 'checkout:write') }
  return page(request, pageStatus(shown.problems), checkoutSessionsPage(person.view, sessions))
}

async function showOne(
  frame: Frame,
  request: PublicRequest,
  person: Person,
  problems: FieldProblems = {},
  refund?: TypedRefund,
): Promise<PublicAnswer> {
  const { operate } = frame
  const { view } = person
  const call = { ...callOf(person, request), params: { sessionId: readId(request) } }
  const session = await operate('getCheckoutSession', call)
  const isOpen = session.status === 'Open' || session.status === 'Processing'
  const { url, iban, bic, reference, customerId } = session
  const shown = {
    ...sessionRow(session),
    creator: await readCreatorFact(frame, person, session.sessionId),
    url,
    iban,
    bic,
    problems,
    transactionHref: may(person, 'transactions:read') ? transactionHref(view, reference) : undefined,
    customerHref: may(person, 'customers:read') ? `${view.root}customers/${customerId}` : undefined,
    may: {
      expire: isOpen && may(person, 'checkout:write'),
      simulate: isOpen && view.sandbox && may(person, 'simulations:write'),
      choose: may(person, 'checkout:write'),
    },
    payerEmail: session.payerEmail,
    linkHref: session.linkId === undefined ? undefined : `${view.root}checkout/links/${session.linkId}`,
    items: session.lineItems ?? [],
    late: lateRows(view, session, may(person, 'transactions:read')),
    done: readCompletedForm(request, ['created', 'expired', 'refunded', 'accepted', 'returned']),
    refunded: refundedText(session),
    parts: sessionParts(session),
    refunds: await readRefunds(frame, request, person, session, refund),
  }
  return page(request, pageStatus(problems), checkoutSessionPage(view, shown))
}

const showForm = (
  request: PublicRequest,
  { view }: Person,
  values: FieldValues,
  idempotencyKey: string,
  problems: FieldProblems = {},
): PublicAnswer => {
  const draft = { values, idempotencyKey, problems }
  return page(request, pageStatus(problems), newSessionPage(view, draft))
}

async function create({ operate }: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  const p = refusalTexts(person)
  const given = readForm(request)
  const idempotencyKey = given('idempotencyKey') || newId()
  const values = { ...readValues(given, sessionFields), ...readItemValues(given) }
  // The button that adds a row shows the form again.
  if (values['add'] !== undefined) return showForm(request, person, values, idempotencyKey)
  const { items, problems: wrongItems, sum } = readItems(person.view, values)
  if (Object.keys(wrongItems).length > 0) return showForm(request, person, values, idempotencyKey, wrongItems)
  const {
    amount: amountText = sum ?? '',
    email,
    fullName,
    residenceCountryCode,
    expiresInSeconds,
    partialPayments,
    ...others
  } = values
  const rest = Object.fromEntries(Object.entries(others).filter(([name]) => !itemFields.includes(name)))
  const amount = readAmount(amountText)
  if (amount === undefined)
    return showForm(request, person, values, idempotencyKey, { amount: amountProblem(person.view, amountText) })
  if (email === undefined && rest['customerId'] === undefined)
    return showForm(request, person, values, idempotencyKey, {
      email: texts[person.view.language].checkout.customerMissing,
    })
  const customer = {
    email,
    ...(fullName === undefined ? {} : { fullName }),
    ...(residenceCountryCode === undefined ? {} : { residenceCountryCode }),
  }
  const body = {
    ...rest,
    amount: rawNumber(amount),
    idempotencyKey,
    ...(items.length === 0 ? {} : { lineItems: items }),
    ...(email === undefined ? {} : { customer }),
    ...(partialPayments === undefined ? {} : { partialPayments: partialPayments === 'true' }),
    ...(expiresInSeconds === undefined ? {} : { expiresInSeconds: Number(expiresInSeconds) || expiresInSeconds }),
  }
  try {
    const { sessionId } = await operate('createCheckoutSession', { ...callOf(person, request), body })
    return seeOther(`${sessionId}?done=created`)
  } catch (error) {
    const isAbove = error instanceof Refusal && error.code === 'balance_limit_exceeded'
    const amount = isAbove
      ? texts[person.view.language].checkout.refusal.balance_limit_exceeded
      : amountProblem(person.view, amountText)
    const problems = refusalProblems(p, error, sessionFields, { amount })
    return showForm(request, person, values, newId(), problems)
  }
}

async function expire(frame: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  const sessionId = readId(request)
  try {
    await frame.operate('expireCheckoutSession', { ...callOf(person, request), params: { sessionId } })
  } catch (error) {
    return showOne(frame, request, person, refusalProblems(refusalTexts(person), error, []))
  }
  return seeOther(`../${sessionId}?done=expired`)
}

export const checkoutRoutes: Routes = (frame) => {
  const route = placeRoutes(frame, frame.withMoney, 'checkout')
  const refunding =
    (act: typeof checkRefund) =>
    (_frame: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> =>
      act(frame, request, person, (typed) => showOne(frame, request, person, typed.problems, typed))
  return [
    ...linkRoutes(route),
    route('GET', '', 'checkout:read', showList),
    route('GET', '/new', 'checkout:write', (_frame, request, person) =>
      showForm(request, person, readQuery(request, sessionFields), newId()),
    ),
    route('POST', '/new', 'checkout:write', create),
    route('GET', '/{id}', 'checkout:read', showOne),
    route('POST', '/{id}/expire', 'checkout:write', expire),
    route('POST', '/{id}/late/{late}/accept', 'checkout:write', decideLatePayment('acceptLatePayment', showOne)),
    route('POST', '/{id}/late/{late}/return', 'checkout:write', decideLatePayment('returnLatePayment', showOne)),
    route('POST', '/{id}/refund', 'payouts:write', refunding(checkRefund)),
    route('POST', '/{id}/refund/send', 'payouts:write', refunding(sendRefund)),
  ]
}
