/** Payment links: the list, the form that creates one, and the page of a link with its sessions. */
import { checkout as wire, rawNumber, type ResponseOf } from '@partner-payments/wire'
import type { PublicAnswer, PublicRequest, PublicRoute } from '../../kernel/api/index.ts'
import { html, type Html } from '../html.ts'
import {
  confirmedForm,
  type Draft,
  formPage,
  toSelectOptions,
  postButton,
  type FieldProblems,
  type FieldValues,
} from '../kit/forms.ts'
import { type ConsoleView, shell } from '../kit/frame.ts'
import { type ListRows, listPage } from '../kit/lists.ts'
import {
  badge,
  copyBlock,
  facts,
  freeText,
  identifier,
  linkButton,
  message,
  money,
  section,
  summaryStrip,
  time,
} from '../kit/parts.ts'
import {
  dayStart,
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
import { newId } from '../../kernel/index.ts'
import { itemFields, itemInputs, itemTable, readItems, readItemValues } from './items.ts'
import {
  callOf,
  type Frame,
  may,
  type Person,
  refusalProblems,
  readList,
  type placeRoutes,
  textsWithRefusals,
} from './request.ts'
import { texts } from './texts/index.ts'

type PaymentLink = ResponseOf<'getPaymentLink'>

const linkFilters = ['active'] as const

const linkName = ({ language }: ConsoleView, { description, websiteReference, linkId }: PaymentLink): string =>
  description || websiteReference || `${texts[language].checkout.links.link} ${linkId.slice(-6)}`

const linkAmount = (view: ConsoleView, { amount, currency }: PaymentLink): Html | string =>
  amount === undefined
    ? `${texts[view.language].checkout.links.openAmount} (${currency})`
    : money(view, amount, currency)

const linkState = ({ language }: ConsoleView, { active }: PaymentLink): Html => {
  const c = texts[language].checkout.links
  return active ? badge('good', c.active) : badge('neutral', c.inactive)
}

const paymentCount = ({ paymentsMade, paymentsMax }: PaymentLink): string =>
  paymentsMax === undefined ? String(paymentsMade) : `${paymentsMade} / ${paymentsMax}`

type LinkList = ListRows<PaymentLink> & { readonly mayWrite: boolean }

export function paymentLinksPage(view: ConsoleView, { rows, mayWrite, ...shown }: LinkList): string {
  const c = texts[view.language].checkout
  const p = texts[view.language].payments
  return listPage(view, shown, {
    title: c.links.title,
    path: 'checkout/links',
    lead: c.links.lead,
    links: linkButton(`${view.root}checkout`, view.t.checkout),
    create: mayWrite && { text: c.links.create, href: `${view.root}checkout/links/new` },
    filters: [
      { name: 'active', label: p.status, options: toSelectOptions({ true: c.links.active, false: c.links.inactive }) },
    ],
    columns: [
      [c.description, 'head'],
      p.status,
      [c.links.payments, 'number'],
      [c.links.underWay, 'number'],
      p.created,
      [p.amount, 'number'],
    ],
    cells: rows.map((row) => [
      html`<a href="${view.root}checkout/links/${row.linkId}">${linkName(view, row)}</a>`,
      linkState(view, row),
      paymentCount(row),
      String(row.paymentsOpen),
      time(view, row.createdAt),
      linkAmount(view, row),
    ]),
    none: { title: c.links.empty, text: c.links.emptyText },
  })
}

export const newLinkFields = [
  ...['customerId', 'currency', 'amount', 'amountMin', 'amountMax', 'description', 'websiteReference'],
  ...['paymentsMax', 'endsOn', 'sessionExpiresInSeconds', 'returnUrl'],
] as const

export function newPaymentLinkPage(view: ConsoleView, draft: Draft): string {
  const c = texts[view.language].checkout
  const p = texts[view.language].payments
  const optional = true
  return formPage(view, {
    ...draft,
    title: c.links.create,
    lead: c.links.newLead,
    submit: c.links.submit,
    action: 'checkout/links/new',
    fields: [
      { name: 'customerId', label: p.customer, help: c.links.customerHelp },
      {
        name: 'description',
        label: c.description,
        help: c.descriptionHelp,
        optional,
        charsMax: wire.descriptionCharsMax,
      },
      { name: 'currency', label: p.currency, help: p.currencyHelp },
      { name: 'amount', label: p.amount, help: c.links.amountHelp, optional },
      { name: 'amountMin', label: c.links.amountMin, optional },
      { name: 'amountMax', label: c.links.amountMax, optional },
      itemInputs(view, draft),
      { name: 'websiteReference', label: c.websiteReference, optional },
      { name: 'paymentsMax', label: c.links.paymentsMax, optional },
      { name: 'endsOn', label: c.links.endsOn, type: 'date', optional },
      {
        name: 'sessionExpiresInSeconds',
        label: c.links.validity,
        options: toSelectOptions(c.validities),
        value: String(wire.linkSessionSecondsDefault),
      },
      { name: 'returnUrl', label: c.returnUrl, help: c.returnUrlHelp, optional },
    ],
    back: { path: 'checkout/links', text: p.back },
  })
}

type PaymentLinkView = {
  readonly link: PaymentLink
  readonly customerHref: string | undefined
  readonly mayWrite: boolean
  readonly done?: 'created' | 'deactivated' | 'activated' | undefined
  readonly problems: FieldProblems
}

export function paymentLinkPage(view: ConsoleView, shown: PaymentLinkView): string {
  const c = texts[view.language].checkout
  const p = texts[view.language].payments
  const { link, customerHref, done, problems } = shown
  const { linkId, url, active, currency, description = '', amountMin, amountMax, lineItems = [] } = link
  const sessions = pathWithQuery(`${view.root}checkout`, { linkId })
  return shell(view, {
    title: linkName(view, link),
    problems,
    main: html`${done !== undefined && message('good', c.links.done[done])}
      <div class="heading">
        <h1>${linkName(view, link)}</h1>
        <div class="buttons">
          <a class="button" href="${sessions}">${c.links.toSessions}</a>
          ${customerHref && html`<a class="button" href="${customerHref}">${c.toCustomer}</a>`}
        </div>
      </div>
      ${summaryStrip([
        [p.amount, linkAmount(view, link)],
        [p.status, linkState(view, link)],
        [c.links.payments, paymentCount(link)],
        [c.links.underWay, String(link.paymentsOpen)],
        ...(link.endsAt === undefined ? [] : [[c.links.endsOn, time(view, link.endsAt)] as const]),
      ])}
      ${active && address(view, url)}
      ${facts([
        [c.description, description === '' ? undefined : freeText(description)],
        [c.websiteReference, link.websiteReference],
        [c.links.amountMin, amountMin === undefined ? undefined : money(view, amountMin, currency)],
        [c.links.amountMax, amountMax === undefined ? undefined : money(view, amountMax, currency)],
        [p.created, time(view, link.createdAt)],
        [p.id, identifier(view, linkId, p.id)],
      ])}
      ${lineItems.length > 0 && section('items', c.items, itemTable(view, currency, lineItems))}
      ${shown.mayWrite && activationPart(view, link)}`,
  })
}

function address(view: ConsoleView, url: string): Html {
  const c = texts[view.language].checkout
  const shown = html`<p>${c.links.addressText}</p>
    ${copyBlock(view, url, c.links.link)}`
  return section('address', c.links.link, shown)
}

function activationPart(view: ConsoleView, link: PaymentLink): Html {
  const c = texts[view.language].checkout.links
  const action = `${view.root}checkout/links/${link.linkId}`
  if (!link.active) return html`<p class="buttons">${postButton(`${action}/activate`, c.activate)}</p>`
  return confirmedForm(view, {
    id: 'deactivate-link',
    title: c.deactivateTitle,
    action: `${action}/deactivate`,
    submit: c.deactivate,
    about: linkName(view, link),
    effects: [c.deactivateEffect, c.deactivateOpen],
  })
}

async function showList({ operate }: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  const { data, shown } = await readList(request, person, linkFilters, (query) =>
    operate('listPaymentLinks', { ...callOf(person, request), query: queryText(query) }),
  )
  const links = { ...shown, rows: data, mayWrite: may(person, 'checkout:write') }
  return page(request, pageStatus(shown.problems), paymentLinksPage(person.view, links))
}

async function showOne(
  { operate }: Frame,
  request: PublicRequest,
  person: Person,
  problems: FieldProblems = {},
): Promise<PublicAnswer> {
  const link = await operate('getPaymentLink', { ...callOf(person, request), params: { linkId: readId(request) } })
  const { view } = person
  const shown = {
    link,
    problems,
    mayWrite: may(person, 'checkout:write'),
    customerHref: may(person, 'customers:read') ? `${view.root}customers/${link.customerId}` : undefined,
    done: readCompletedForm(request, ['created', 'deactivated', 'activated']),
  }
  return page(request, pageStatus(problems), paymentLinkPage(view, shown))
}

const showForm = (
  request: PublicRequest,
  person: Person,
  values: FieldValues,
  idempotencyKey: string,
  problems: FieldProblems = {},
): PublicAnswer =>
  page(request, pageStatus(problems), newPaymentLinkPage(person.view, { values, idempotencyKey, problems }))

const amountFields = ['amount', 'amountMin', 'amountMax'] as const

async function create({ operate }: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  const p = textsWithRefusals(person, 'checkout')
  const given = readForm(request)
  const idempotencyKey = given('idempotencyKey') || newId()
  const values = { ...readValues(given, newLinkFields), ...readItemValues(given) }
  // The button that adds a row shows the form again.
  if (values['add'] !== undefined) return showForm(request, person, values, idempotencyKey)
  const { items, problems: wrong, sum } = readItems(person.view, values)
  const typed: FieldValues = { ...(sum === undefined ? {} : { amount: sum }), ...values }
  const amounts = amountFields.map((name) => [name, typed[name], readAmount(typed[name] ?? '')] as const)
  const wrongAmounts = amounts.flatMap(([name, text, read]) =>
    text !== undefined && read === undefined ? [[name, p.payoutAmountWrong] as const] : [],
  )
  const problems = { ...wrong, ...Object.fromEntries(wrongAmounts) }
  if (Object.keys(problems).length > 0) return showForm(request, person, values, idempotencyKey, problems)
  const {
    endsOn,
    paymentsMax,
    sessionExpiresInSeconds,
    amount: _amount,
    amountMin: _least,
    amountMax: _most,
    ...rest
  } = values
  const own = Object.fromEntries(Object.entries(rest).filter(([name]) => !itemFields.includes(name)))
  const body = {
    ...own,
    ...Object.fromEntries(amounts.flatMap(([name, , read]) => (read === undefined ? [] : [[name, rawNumber(read)]]))),
    ...(items.length === 0 ? {} : { lineItems: items }),
    ...(endsOn === undefined ? {} : { endsAt: dayStart(endsOn, 1) }),
    ...(paymentsMax === undefined ? {} : { paymentsMax: Number(paymentsMax) || paymentsMax }),
    ...(sessionExpiresInSeconds === undefined
      ? {}
      : { sessionExpiresInSeconds: Number(sessionExpiresInSeconds) || sessionExpiresInSeconds }),
  }
  try {
    const { linkId } = await operate('createPaymentLink', { ...callOf(person, request), body, idempotencyKey })
    return seeOther(`${linkId}?done=created`)
  } catch (error) {
    return showForm(request, person, values, newId(), refusalProblems(p, error, newLinkFields))
  }
}

const setActive =
  (active: boolean) =>
  async (frame: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> => {
    const linkId = readId(request)
    try {
      await frame.operate('updatePaymentLink', { ...callOf(person, request), params: { linkId }, body: { active } })
    } catch (error) {
      return showOne(frame, request, person, refusalProblems(textsWithRefusals(person, 'checkout'), error, []))
    }
    return seeOther(`../${linkId}?done=${active ? 'activated' : 'deactivated'}`)
  }

export const linkRoutes = (route: ReturnType<typeof placeRoutes<Person>>): readonly PublicRoute[] => [
  route('GET', '/links', 'checkout:read', showList),
  route('GET', '/links/new', 'checkout:write', (_frame, request, person) =>
    showForm(request, person, readQuery(request, newLinkFields), newId()),
  ),
  route('POST', '/links/new', 'checkout:write', create),
  route('GET', '/links/{id}', 'checkout:read', showOne),
  route('POST', '/links/{id}/activate', 'checkout:write', setActive(true)),
  route('POST', '/links/{id}/deactivate', 'checkout:write', setActive(false)),
]
