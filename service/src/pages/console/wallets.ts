/** Wallets: the list, the form that creates one, and the page of a wallet with the address for payers. */
import type { ResponseOf } from '@partner-payments/wire'
import { type PublicAnswer, type PublicRequest, Refusal } from '../../kernel/api/index.ts'
import { currencies, newId } from '../../kernel/index.ts'
import { html, type Html } from '../html.ts'
import { type Draft, formPage, type Options, type FieldProblems, type FieldValues } from '../kit/forms.ts'
import { type ConsoleView, shell } from '../kit/frame.ts'
import { type ListRows, listPage } from '../kit/lists.ts'
import { facts, identifier, message, money, summaryStrip, time, copyableText } from '../kit/parts.ts'
import {
  readCompletedForm,
  readId,
  pathWithQuery,
  page,
  queryText,
  readForm,
  readQuery,
  seeOther,
  pageStatus,
  uuidChars,
  readValues,
} from '../kit/request.ts'
import { fill } from '../language.ts'
import { type CustomerLink, readCustomerLinks } from './customer-link.ts'
import { callOf, type Frame, may, type Person, refusalProblems, readList, type Routes, placeRoutes } from './request.ts'
import { texts } from './texts/index.ts'

export const walletFields = ['currency', 'customerId'] as const

/** `customer`: absent for a wallet of the partner itself. */
type WalletRow = Omit<ResponseOf<'getWallet'>, 'customerId'> & { readonly customer?: CustomerLink | undefined }

type WalletList = ListRows<WalletRow> & { readonly tokens: readonly string[]; readonly mayWrite: boolean }

const tokenOptions = (tokens: readonly string[]): Options => tokens.map((token) => [token, token] as const)

export function walletsPage(view: ConsoleView, { rows, tokens, mayWrite, ...shown }: WalletList): string {
  const w = texts[view.language].wallets
  const p = texts[view.language].payments
  return listPage(view, shown, {
    title: view.t.wallets,
    path: 'wallets',
    lead: w.lead,
    create: mayWrite && { text: w.newWallet, href: pathWithQuery(`${view.root}wallets/new`, shown.values) },
    filters: [
      { name: 'currency', label: w.token, options: tokenOptions(tokens) },
      { name: 'customerId', label: p.customerId },
    ],
    columns: [[w.address, 'head'], w.owner, w.token, w.chain, p.created, [w.received, 'number']],
    cells: rows.map(({ id, address, currency, network, customer, received, createdAt }) => [
      html`<a href="${view.root}wallets/${id}"><code class="account">${address}</code></a>`,
      ownerCell(view, customer),
      currency,
      network,
      time(view, createdAt, 'date'),
      money(view, received, currency),
    ]),
    none: { title: w.empty, text: w.emptyText },
  })
}

function ownerCell(view: ConsoleView, customer: CustomerLink | undefined): Html | string {
  if (customer === undefined) return texts[view.language].wallets.own
  const { name, href } = customer
  return href === undefined ? html`<span class="free">${name}</span>` : html`<a class="free" href="${href}">${name}</a>`
}

export function newWalletPage(view: ConsoleView, draft: Draft & { readonly tokens: readonly string[] }): string {
  const w = texts[view.language].wallets
  const p = texts[view.language].payments
  return formPage(view, {
    ...draft,
    title: w.newWallet,
    lead: w.newText,
    submit: w.open,
    action: 'wallets/new',
    fields: [
      { name: 'currency', label: w.token, options: tokenOptions(draft.tokens) },
      { name: 'customerId', label: p.customer, help: w.customerHelp, charsMax: uuidChars, optional: true },
    ],
    back: { path: 'wallets', text: p.back },
  })
}

type WalletView = WalletRow & {
  /** Absent: the person may not read transactions. */
  readonly depositsHref?: string | undefined
  /** Absent: not a sandbox, or the person may not simulate. */
  readonly simulateHref?: string | undefined
  /** True if the person has just sent the form. */
  readonly isNew: boolean
}

export function walletPage(view: ConsoleView, wallet: WalletView): string {
  const w = texts[view.language].wallets
  const p = texts[view.language].payments
  const { id, currency, network, chainId, customer, received, createdAt, isNew, depositsHref, simulateHref } = wallet
  const title = fill(w.wallet, { currency })
  return shell(view, {
    title,
    main: html`${isNew && message('good', w.created)}
      <div class="heading">
        <h1>${title}</h1>
        <div class="buttons">
          ${simulateHref !== undefined && html`<a class="button" href="${simulateHref}">${w.simulate}</a>`}
          ${depositsHref !== undefined && html`<a class="button" href="${depositsHref}">${fill(w.deposits, { currency })}</a>`}
        </div>
      </div>
      ${summaryStrip([
        [w.received, money(view, received, currency, 'main')],
        [w.token, currency],
        [w.chain, html`${network} <span class="soft">${fill(w.chainId, { id: String(chainId) })}</span>`],
      ])}
      ${addressPart(view, wallet)}
      ${facts([
        [w.owner, ownerCell(view, customer)],
        [p.created, time(view, createdAt)],
        [p.id, identifier(view, id, p.id)],
      ])}
      <p class="foot"><a href="${view.root}wallets">${p.back}</a></p>`,
  })
}

function addressPart(view: ConsoleView, { address, currency, network, chainId }: WalletView): Html {
  const w = texts[view.language].wallets
  return html`<section class="card" aria-labelledby="address-title">
    <h2 id="address-title">${w.addressTitle}</h2>
    <p class="to">${copyableText(view, address, w.address)}</p>
    <p class="message warning">${fill(w.warning, { currency, network, id: String(chainId) })}</p>
    <p>${w.compare}</p>
  </section>`
}

const tokens = Object.entries(currencies).flatMap(([code, { method }]) => (method === 'Token' ? [code] : []))

const walletRow = (
  { customerId, ...wallet }: ResponseOf<'getWallet'>,
  customers: ReadonlyMap<string, CustomerLink>,
): WalletRow => ({
  ...wallet,
  customer: customerId === undefined ? undefined : (customers.get(customerId) ?? { name: customerId }),
})

async function showList(frame: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  const { view } = person
  const { data, shown } = await readList(request, person, walletFields, (query) =>
    frame.operate('listWallets', { ...callOf(person, request), query: queryText(query) }),
  )
  const ids = data.map(({ customerId }) => customerId)
  const customers = await readCustomerLinks(frame, request, person, ids)
  const rows = data.map((wallet) => walletRow(wallet, customers))
  const wallets = { ...shown, rows, tokens, mayWrite: may(person, 'wallets:write') }
  return page(request, pageStatus(shown.problems), walletsPage(view, wallets))
}

async function showOne(frame: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  const { view } = person
  const call = { ...callOf(person, request), params: { walletId: readId(request) } }
  const wallet = await frame.operate('getWallet', call)
  const { id, currency, customerId } = wallet
  const customers = await readCustomerLinks(frame, request, person, [customerId])
  const deposits = { category: 'Deposit', currency, customerId }
  const simulates = view.sandbox && may(person, 'simulations:write')
  const shown = {
    ...walletRow(wallet, customers),
    depositsHref: may(person, 'transactions:read') ? pathWithQuery(`${view.root}transactions`, deposits) : undefined,
    simulateHref: simulates ? pathWithQuery(`${view.root}simulations/tokens`, { walletId: id }) : undefined,
    isNew: readCompletedForm(request, ['created']) !== undefined,
  }
  return page(request, 200, walletPage(view, shown))
}

const showForm = (
  request: PublicRequest,
  { view }: Person,
  values: FieldValues,
  idempotencyKey: string,
  problems: FieldProblems = {},
): PublicAnswer => {
  const status = pageStatus(problems)
  const draft = { tokens, values, idempotencyKey, problems }
  return page(request, status, newWalletPage(view, draft))
}

/** Returns the text of a refusal by field: the customer, or a token that no chain supports. */
function walletProblems({ view: { language } }: Person, error: unknown): FieldProblems {
  const p = texts[language].payments
  const { customerUnknown, refusal } = texts[language].wallets
  if (error instanceof Refusal && error.code === 'currency_not_supported')
    return { currency: refusal.currency_not_supported }
  const isUnverified = error instanceof Refusal && error.code === 'customer_not_verified'
  return refusalProblems(p, error, walletFields, {
    currency: refusal.currency_not_supported,
    customerId: isUnverified ? p.refusal.customer_not_verified : customerUnknown,
  })
}

async function create({ operate }: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  const given = readForm(request)
  const idempotencyKey = given('idempotencyKey') || newId()
  const body = readValues(given, walletFields)
  try {
    const { id } = await operate('createWallet', { ...callOf(person, request), body, idempotencyKey })
    return seeOther(`${id}?done=created`)
  } catch (error) {
    return showForm(request, person, body, newId(), walletProblems(person, error))
  }
}

export const walletRoutes: Routes = (frame) => {
  const route = placeRoutes(frame, frame.withMoney, 'wallets')
  return [
    route('GET', '', 'wallets:read', showList),
    route('GET', '/new', 'wallets:write', (_frame, request, person) =>
      showForm(request, person, readQuery(request, walletFields), newId()),
    ),
    route('POST', '/new', 'wallets:write', create),
    route('GET', '/{id}', 'wallets:read', showOne),
  ]
}
