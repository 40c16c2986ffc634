/** Checkout sessions: the list, a new one, the page of one, and the form that ends it. */
import { decimalText, rawNumber, type ResponseOf } from '@partner-payments/wire'
import { type PublicAnswer, type PublicRequest, Refusal } from '../../kernel/api/index.ts'
import { newId } from '../../kernel/index.ts'
import {
  newSessionPage,
  sessionFields,
  sessionFilters,
  sessionOfCheckoutPage,
  type SessionRow,
  sessionsOfCheckoutPage,
} from './checkout-page.ts'
import {
  callOf,
  dayStart,
  linkOf,
  listed,
  permitted,
  type Problems,
  problemsOf,
  queryText,
  readAmount,
  readQuery,
  type Values,
} from './payments-request.ts'
import { amountsOf, checkRefund, refundsOf, sendRefund, type Typed } from './refund-routes.ts'
import { type Frame, idOf, page, type Person, readForm, type Routes, seeOther } from './request.ts'
import { checkoutTexts } from './texts/checkout.ts'
import { paymentTexts } from './texts/payments.ts'
import { transactionHref } from './transaction-routes.ts'

/** Words of the refusals: those of all pages, and those of checkout. */
const refusalTexts = ({ view: { language } }: Person) => {
  const p = paymentTexts[language]
  return { ...p, refusal: { ...p.refusal, ...checkoutTexts[language].refusal } }
}

const rowOf = (session: ResponseOf<'getCheckoutSession'>): SessionRow => {
  const { sessionId, amount, currency, status, creditorReference, createdAt, expiresAt } = session
  return {
    ...{ id: sessionId, amount: decimalText(amount), currency, status, creditorReference },
    createdAt: new Date(createdAt),
    expiresAt: new Date(expiresAt),
  }
}

function partsOf({ partialPayments, parts = [], paidAmount, remainingAmount }: ResponseOf<'getCheckoutSession'>) {
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
  const { view, caller } = person
  const values = readQuery(request, sessionFilters)
  const { cursor } = readQuery(request, ['cursor'])
  const { createdFrom, createdTo } = values
  const query = queryText({
    ...values,
    createdFrom: createdFrom && dayStart(createdFrom),
    createdTo: createdTo && dayStart(createdTo, 1),
    cursor,
  })
  const { data, nextCursor, problems } = await listed(paymentTexts[view.language], sessionFilters, () =>
    operate('listCheckoutSessions', { ...callOf(person, request), query }),
  )
  const shown = {
    rows: data.map(rowOf),
    ...{ values, problems },
    pages: {
      next: nextCursor === null ? undefined : linkOf('checkout', { ...values, cursor: nextCursor }),
      first: cursor && linkOf('checkout', values),
    },
    mayWrite: caller.permissions.includes('checkout:write'),
  }
  const status = Object.keys(problems).length > 0 ? 400 : 200
  return page(request, status, sessionsOfCheckoutPage({ ...view, current: 'checkout' }, shown))
}

async function showOne(
  frame: Frame,
  request: PublicRequest,
  person: Person,
  problems: Problems = {},
  refund?: Typed,
): Promise<PublicAnswer> {
  const { operate } = frame
  const { view, caller } = person
  const call = { ...callOf(person, request), params: { sessionId: idOf(request) } }
  const session = await operate('getCheckoutSession', call)
  const may = (permission: 'checkout:write' | 'transactions:read' | 'customers:read' | 'simulations:write') =>
    caller.permissions.includes(permission)
  const isOpen = session.status === 'Open' || session.status === 'Processing'
  const { done } = readQuery(request, ['done'])
  const { url, iban, bic, reference, customerId } = session
  const shown = {
    ...rowOf(session),
    ...{ url, iban, bic, problems },
    transactionHref: may('transactions:read') ? transactionHref(view, reference) : undefined,
    customerHref: may('customers:read') ? `${view.root}customers/${customerId}` : undefined,
    may: { expire: isOpen && may('checkout:write'), simulate: isOpen && view.sandbox && may('simulations:write') },
    done: (['created', 'expired', 'refunded'] as const).find((each) => each === done),
    refunded: amountsOf(session).refunded,
    parts: partsOf(session),
    refunds: await refundsOf(frame, request, person, session, refund),
  }
  const status = Object.keys(problems).length > 0 ? 400 : 200
  return page(request, status, sessionOfCheckoutPage({ ...view, current: 'checkout' }, shown))
}

const showForm = (
  request: PublicRequest,
  { view }: Person,
  values: Values,
  idempotencyKey: string,
  problems: Problems = {},
): PublicAnswer => {
  const status = Object.keys(problems).length > 0 ? 400 : 200
  return page(request, status, newSessionPage({ ...view, current: 'checkout' }, { values, idempotencyKey, problems }))
}

async function create({ operate }: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  const p = refusalTexts(person)
  const given = readForm(request)
  const idempotencyKey = given('idempotencyKey') || newId()
  const values: Values = Object.fromEntries(
    sessionFields.flatMap((name) => (given(name).trim() === '' ? [] : [[name, given(name).trim()] as const])),
  )
  const {
    amount: amountText = '',
    email,
    fullName,
    residenceCountryCode,
    expiresInSeconds,
    partialPayments,
    ...rest
  } = values
  const amount = readAmount(amountText)
  if (amount === undefined) return showForm(request, person, values, idempotencyKey, { amount: p.payoutAmountWrong })
  if (email === undefined && rest['customerId'] === undefined)
    return showForm(request, person, values, idempotencyKey, {
      email: checkoutTexts[person.view.language].customerMissing,
    })
  const customer = {
    email,
    ...(fullName === undefined ? {} : { fullName }),
    ...(residenceCountryCode === undefined ? {} : { residenceCountryCode }),
  }
  const body = {
    ...{ ...rest, amount: rawNumber(amount), idempotencyKey },
    ...(email === undefined ? {} : { customer }),
    ...(partialPayments === undefined ? {} : { partialPayments: partialPayments === 'true' }),
    ...(expiresInSeconds === undefined ? {} : { expiresInSeconds: Number(expiresInSeconds) || expiresInSeconds }),
  }
  try {
    const { sessionId } = await operate('createCheckoutSession', { ...callOf(person, request), body })
    return seeOther(`${sessionId}?done=created`)
  } catch (error) {
    const isAbove = error instanceof Refusal && error.code === 'balance_limit_exceeded'
    const amountProblem = isAbove ? p.refusal.balance_limit_exceeded : p.payoutAmountWrong
    const problems = problemsOf(p, error, sessionFields, { amount: amountProblem })
    return showForm(request, person, values, newId(), problems)
  }
}

async function expire(frame: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  const sessionId = idOf(request)
  try {
    await frame.operate('expireCheckoutSession', { ...callOf(person, request), params: { sessionId } })
  } catch (error) {
    return showOne(frame, request, person, problemsOf(refusalTexts(person), error, []))
  }
  return seeOther(`../${sessionId}?done=expired`)
}

export const checkoutRoutes: Routes = (frame, _withPerson, withMoney) => {
  type Act = (frame: Frame, request: PublicRequest, person: Person) => Promise<PublicAnswer> | PublicAnswer
  type Needed = 'checkout:read' | 'checkout:write' | 'payouts:write'
  const route = (method: 'GET' | 'POST', path: string, permission: Needed, act: Act) => ({
    method,
    path: `/console/checkout${path}`,
    handle: permitted(withMoney, permission, async (request, person) => act(frame, request, person)),
  })
  const refunding =
    (act: typeof checkRefund): Act =>
    (_frame, request, person) =>
      act(frame, request, person, (typed) => showOne(frame, request, person, typed.problems, typed))
  return [
    route('GET', '', 'checkout:read', showList),
    route('GET', '/new', 'checkout:write', (_frame, request, person) =>
      showForm(request, person, readQuery(request, sessionFields), newId()),
    ),
    route('POST', '/new', 'checkout:write', create),
    route('GET', '/{id}', 'checkout:read', showOne),
    route('POST', '/{id}/expire', 'checkout:write', expire),
    route('POST', '/{id}/refund', 'payouts:write', refunding(checkRefund)),
    route('POST', '/{id}/refund/send', 'payouts:write', refunding(sendRefund)),
  ]
}
