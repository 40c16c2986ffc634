/** Standing orders: the list, a new one, the page of one, and the forms that pause, resume and cancel it. */
import { decimalText, rawNumber, type ResponseOf } from '@partner-payments/wire'
import type { PublicAnswer, PublicRequest, PublicRoute } from '../../kernel/api/index.ts'
import { newId } from '../../kernel/index.ts'
import { choose } from './new-payout-routes.ts'
import { newOrderPage, orderFields, orderFilters, orderPage, type OrderRow, ordersPage } from './order-page.ts'
import {
  callOf,
  ifFound,
  pagesOf,
  type Problems,
  problemsOf,
  queryText,
  readAmount,
  readList,
  readQuery,
  routesOf,
  statusOf,
  textsWith,
  type Values,
  valuesIn,
} from './payments-request.ts'
import { type Frame, idOf, page, type Person, readForm, type Routes, seeOther } from './request.ts'
import { orderTexts } from './texts/orders.ts'

type Order = ResponseOf<'getStandingOrder'>

/** Words of the refusals: those of all pages, and those of standing orders. */
const refusalTexts = (person: Person) => textsWith(person, orderTexts)

/** The names of payees, by id. A deleted payee has none. */
async function namesOf({ operate }: Frame, request: PublicRequest, person: Person, ids: readonly string[]) {
  if (!person.caller.permissions.includes('beneficiaries:read')) return new Map<string, string>()
  const found = await Promise.all(
    [...new Set(ids)].map((id) => ifFound(operate('getBeneficiary', { ...callOf(person, request), params: { id } }))),
  )
  return new Map(found.flatMap((payee) => (payee === undefined ? [] : [[payee.id, payee.name] as const])))
}

function rowOf({ view }: Person, order: Order, names: ReadonlyMap<string, string>): OrderRow {
  const { id, beneficiaryId, amount, currency, schedule, status, nextAttemptAt } = order
  return {
    ...{ id, currency, status, frequency: schedule.frequency },
    payee: names.get(beneficiaryId) ?? beneficiaryId,
    payeeHref: `${view.root}payees/${beneficiaryId}`,
    amount: decimalText(amount),
    nextAt: nextAttemptAt === undefined ? undefined : new Date(nextAttemptAt),
  }
}

async function showList(frame: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  const { view, caller } = person
  const { data, shown } = await readList(request, person, orderFilters, (query) =>
    frame.operate('listStandingOrders', { ...callOf(person, request), query: queryText(query) }),
  )
  const ids = data.map(({ beneficiaryId }) => beneficiaryId)
  const names = await namesOf(frame, request, person, ids)
  const rows = data.map((order) => rowOf(person, order, names))
  const mayWrite = caller.permissions.includes('payouts:write')
  const body = ordersPage({ ...view, current: 'standing-orders' }, { ...shown, rows, mayWrite })
  return page(request, statusOf(shown.problems), body)
}

async function executionsOf({ operate }: Frame, request: PublicRequest, { view, ...person }: Person) {
  const { cursor } = readQuery(request, ['cursor'])
  const call = { ...callOf(person, request), params: { orderId: idOf(request) } }
  const { data, nextCursor } = await operate('listStandingOrderExecutions', { ...call, query: queryText({ cursor }) })
  const path = `${view.root}standing-orders/${idOf(request)}`
  return {
    executions: data.map(({ date, status, attempts, problem, payoutId }) => ({
      ...{ date, status, attempts, problem: problem?.detail },
      payoutHref: payoutId && `${view.root}payouts/${payoutId}`,
    })),
    pages: pagesOf(path, {}, cursor, nextCursor),
  }
}

async function showOne(
  frame: Frame,
  request: PublicRequest,
  person: Person,
  problems: Problems = {},
): Promise<PublicAnswer> {
  const { view, caller } = person
  const call = { ...callOf(person, request), params: { orderId: idOf(request) } }
  const order = await frame.operate('getStandingOrder', call)
  const [names, executions] = await Promise.all([
    namesOf(frame, request, person, [order.beneficiaryId]),
    executionsOf(frame, request, person),
  ])
  const { schedule, endedAt, endReason, reference, payoutsMade, nextDates = [], createdAt } = order
  const { startsOn, endsOn, time, dayOfMonth, count, businessDays } = schedule
  const { done } = readQuery(request, ['done'])
  const shown = {
    ...rowOf(person, order, names),
    ...{
      endReason,
      reference,
      payoutsMade,
      startsOn,
      endsOn,
      time,
      dayOfMonth,
      count,
      businessDays,
      problems,
      ...executions,
    },
    endedAt: endedAt === undefined ? undefined : new Date(endedAt),
    createdAt: new Date(createdAt),
    datesAhead: nextDates.map(({ date, executesAt }) => ({ date, executesAt: new Date(executesAt) })),
    mayWrite: caller.permissions.includes('payouts:write'),
    done: (['created', 'paused', 'resumed', 'cancelled'] as const).find((each) => each === done),
  }
  return page(request, statusOf(problems), orderPage({ ...view, current: 'standing-orders' }, shown))
}

type Typed = { readonly beneficiaryId: string; readonly values: Values; readonly idempotencyKey: string }

async function showForm(
  { operate }: Frame,
  request: PublicRequest,
  person: Person,
  typed: Typed,
  problems: Problems = {},
): Promise<PublicAnswer> {
  const payee = await operate('getBeneficiary', { ...callOf(person, request), params: { id: typed.beneficiaryId } })
  const draft = { ...typed, payee: payee.name, currency: payee.currency, problems }
  return page(request, statusOf(problems), newOrderPage({ ...person.view, current: 'standing-orders' }, draft))
}

async function begin(frame: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  const { beneficiaryId, ...values } = readQuery(request, ['beneficiaryId', ...orderFields])
  if (beneficiaryId !== undefined)
    return showForm(frame, request, person, { beneficiaryId, values, idempotencyKey: newId() })
  return choose(frame, request, person, 'standing-orders')
}

const wholeForm = /^\d{1,5}$/
/** A number, or the text for the operation to refuse. */
const wholeOf = (text: string): number | string => (wholeForm.test(text) ? Number(text) : text)

async function create(frame: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  const p = refusalTexts(person)
  const given = readForm(request)
  const typed = {
    beneficiaryId: given('beneficiaryId'),
    values: valuesIn(given, orderFields),
    idempotencyKey: given('idempotencyKey') || newId(),
  }
  const { amount: amountText = '', reference, dayOfMonth, count, ...schedule } = typed.values
  const amount = readAmount(amountText)
  if (amount === undefined) return showForm(frame, request, person, typed, { amount: p.payoutAmountWrong })
  const call = callOf(person, request)
  const { beneficiaryId, idempotencyKey } = typed
  const { currency } = await frame.operate('getBeneficiary', { ...call, params: { id: beneficiaryId } })
  const body = {
    ...{ beneficiaryId, currency, amount: rawNumber(amount) },
    ...(reference === undefined ? {} : { reference }),
    schedule: {
      ...schedule,
      ...(dayOfMonth === undefined ? {} : { dayOfMonth: wholeOf(dayOfMonth) }),
      ...(count === undefined ? {} : { count: wholeOf(count) }),
    },
  }
  try {
    const { id } = await frame.operate('createStandingOrder', { ...call, body, idempotencyKey })
    return seeOther(`${id}?done=created`)
  } catch (error) {
    const problems = problemsOf(p, error, orderFields, { amount: p.payoutAmountWrong })
    return showForm(frame, request, person, { ...typed, idempotencyKey: newId() }, problems)
  }
}

export const orderRoutes: Routes = (frame, _withPerson, withMoney) => {
  const route = routesOf(frame, withMoney, 'standing-orders')
  /** A form of one order. A refusal shows its page again. */
  const form = (
    name: string,
    operation: 'pauseStandingOrder' | 'resumeStandingOrder' | 'cancelStandingOrder',
    done: string,
  ): PublicRoute =>
    route('POST', `/{id}/${name}`, 'payouts:write', async (_frame, request, person) => {
      const id = idOf(request)
      try {
        await frame.operate(operation, { ...callOf(person, request), params: { orderId: id } })
      } catch (error) {
        return showOne(frame, request, person, problemsOf(refusalTexts(person), error, []))
      }
      return seeOther(`../${id}?done=${done}`)
    })
  return [
    route('GET', '', 'payouts:read', showList),
    route('GET', '/new', 'payouts:write', begin),
    route('POST', '/new', 'payouts:write', create),
    route('GET', '/{id}', 'payouts:read', showOne),
    form('pause', 'pauseStandingOrder', 'paused'),
    form('resume', 'resumeStandingOrder', 'resumed'),
    form('cancel', 'cancelStandingOrder', 'cancelled'),
  ]
}
