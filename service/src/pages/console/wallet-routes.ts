/** Wallets: the list, a new one, and the page of one. */
import { decimalText, type Permission, type ResponseOf } from '@partner-payments/wire'
import { type PublicAnswer, type PublicRequest, Refusal } from '../../kernel/api/index.ts'
import { currencies, newId } from '../../kernel/index.ts'
import { type CustomerLink, customerLinksOf } from './customer-link.ts'
import {
  callOf,
  linkOf,
  type Problems,
  problemsOf,
  queryText,
  readList,
  readQuery,
  routesOf,
  statusOf,
  type Values,
  valuesIn,
} from './payments-request.ts'
import { type Frame, idOf, page, type Person, readForm, type Routes, seeOther } from './request.ts'
import { paymentTexts } from './texts/payments.ts'
import { walletTexts } from './texts/wallets.ts'
import { newWalletPage, walletFields, walletPage, type WalletRow, walletsPage } from './wallets-page.ts'

const tokens = Object.entries(currencies).flatMap(([code, { method }]) => (method === 'Token' ? [code] : []))

const may = ({ caller }: Person, permission: Permission) => caller.permissions.includes(permission)

function rowOf(wallet: ResponseOf<'getWallet'>, customers: ReadonlyMap<string, CustomerLink>): WalletRow {
  const { id, address, currency, network, chainId, customerId, received, createdAt } = wallet
  return {
    ...{ id, address, currency, network, chainId },
    customer: customerId === undefined ? undefined : (customers.get(customerId) ?? { name: customerId }),
    received: decimalText(received),
    createdAt: new Date(createdAt),
  }
}

async function showList(frame: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  const { view } = person
  const { data, shown } = await readList(request, person, walletFields, (query) =>
    frame.operate('listWallets', { ...callOf(person, request), query: queryText(query) }),
  )
  const ids = data.map(({ customerId }) => customerId)
  const customers = await customerLinksOf(frame, request, person, ids)
  const rows = data.map((wallet) => rowOf(wallet, customers))
  const wallets = { ...shown, rows, tokens, mayWrite: may(person, 'wallets:write') }
  return page(request, statusOf(shown.problems), walletsPage({ ...view, current: 'wallets' }, wallets))
}

async function showOne(frame: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  const { view } = person
  const call = { ...callOf(person, request), params: { walletId: idOf(request) } }
  const wallet = await frame.operate('getWallet', call)
  const { id, currency, customerId } = wallet
  const customers = await customerLinksOf(frame, request, person, [customerId])
  const deposits = { category: 'Deposit', currency, customerId }
  const simulates = view.sandbox && may(person, 'simulations:write')
  const { done } = readQuery(request, ['done'])
  const shown = {
    ...rowOf(wallet, customers),
    depositsHref: may(person, 'transactions:read') ? linkOf(`${view.root}transactions`, deposits) : undefined,
    simulateHref: simulates ? linkOf(`${view.root}simulations/tokens`, { walletId: id }) : undefined,
    isNew: done === 'created',
  }
  return page(request, 200, walletPage({ ...view, current: 'wallets' }, shown))
}

const showForm = (
  request: PublicRequest,
  { view }: Person,
  values: Values,
  idempotencyKey: string,
  problems: Problems = {},
): PublicAnswer => {
  const status = statusOf(problems)
  const draft = { tokens, values, idempotencyKey, problems }
  return page(request, status, newWalletPage({ ...view, current: 'wallets' }, draft))
}

/** Words a refusal. One of the customer is at the customer; a token that no chain carries is at the token. */
function walletProblems({ view: { language } }: Person, error: unknown): Problems {
  const p = paymentTexts[language]
  const { customerUnknown, refusal } = walletTexts[language]
  if (error instanceof Refusal && error.code === 'currency_not_supported')
    return { currency: refusal.currency_not_supported }
  const isUnverified = error instanceof Refusal && error.code === 'customer_not_verified'
  return problemsOf(p, error, walletFields, {
    currency: refusal.currency_not_supported,
    customerId: isUnverified ? p.refusal.customer_not_verified : customerUnknown,
  })
}

async function create({ operate }: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  const given = readForm(request)
  const idempotencyKey = given('idempotencyKey') || newId()
  const body = valuesIn(given, walletFields)
  try {
    const { id } = await operate('createWallet', { ...callOf(person, request), body, idempotencyKey })
    return seeOther(`${id}?done=created`)
  } catch (error) {
    return showForm(request, person, body, newId(), walletProblems(person, error))
  }
}

export const walletRoutes: Routes = (frame, _withPerson, withMoney) => {
  const route = routesOf(frame, withMoney, 'wallets')
  return [
    route('GET', '', 'wallets:read', showList),
    route('GET', '/new', 'wallets:write', (_frame, request, person) =>
      showForm(request, person, readQuery(request, walletFields), newId()),
    ),
    route('POST', '/new', 'wallets:write', create),
    route('GET', '/{id}', 'wallets:read', showOne),
  ]
}
