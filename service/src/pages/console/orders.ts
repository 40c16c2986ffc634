/** Standing orders: the list, the page of an order with its dates, and the forms that create, pause, resume and cancel one. */
import { decimalText, payouts, rawNumber, referenceCharsMax, type ResponseOf } from '@partner-payments/wire'
import { ifFound, type PublicAnswer, type PublicRequest, type PublicRoute } from '../../kernel/api/index.ts'
import { newId } from '../../kernel/index.ts'
import { html, type Html } from '../html.ts'
import {
  confirmationDialog,
  type Draft,
  formPage,
  dialogButton,
  toSelectOptions,
  postButton,
  type FieldProblems,
  type FieldValues,
} from '../kit/forms.ts'
import { type ConsoleView, shell } from '../kit/frame.ts'
import { type ListRows, listPage, pager, type PageLinks, sumsNote } from '../kit/lists.ts'
import {
  badge,
  calendarDay,
  dayText,
  facts,
  heading,
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
  readId,
  pathWithQuery,
  page,
  pageLinks,
  queryText,
  readAmount,
  readForm,
  readQuery,
  seeOther,
  pageStatus,
  readValues,
  readCompletedForm,
} from '../kit/request.ts'
import { fill } from '../language.ts'
import { type CreatorFact, readCreatorFact, creatorFacts } from './creator.ts'
import { refusalText } from './bulk-check-page.ts'
import { choosePayee } from './payee-choice.ts'
import {
  payAgainBox,
  isDuplicateRefusal,
  type PossibleDuplicates,
  noDuplicates,
  duplicatesInPreview,
  duplicatesSection,
} from './repeats.ts'
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
import { texts } from './texts/index.ts'
import { readListWithSums, type Sums } from './transactions.ts'

type Order = ResponseOf<'getStandingOrder'>

/** A standing order with the name of its payee. */
type OrderRow = Order & { readonly payee: string; readonly payeeHref: string }

const statusBadge = ({ language }: ConsoleView, status: Order['status']): Html =>
  badge(
    ({ Active: 'good', Paused: 'warning', Ended: 'neutral' } as const)[status],
    texts[language].orders.status[status],
  )

const orderFilters: readonly string[] = ['status']

export function ordersPage(
  view: ConsoleView,
  {
    rows,
    mayWrite,
    sums,
    ...shown
  }: ListRows<OrderRow> & {
    readonly mayWrite: boolean
    /** Absent: no filter is set. */
    readonly sums?: Sums | undefined
  },
): string {
  const o = texts[view.language].orders
  const p = texts[view.language].payments
  return listPage(view, shown, {
    title: view.t.standingOrders,
    path: 'standing-orders',
    lead: o.lead,
    create: mayWrite && { text: o.newOrder, href: `${view.root}standing-orders/new` },
    filters: [{ name: 'status', label: p.status, options: toSelectOptions(o.status) }],
    note: sums !== undefined && sumsNote(view, sums),
    columns: [[p.payee, 'head'], o.frequency, p.status, o.next, [p.amount, 'number']],
    cells: rows.map(({ id, payee, schedule, status, nextAttemptAt, amount, currency }) => [
      html`<a href="${view.root}standing-orders/${id}">${payee}</a>`,
      o.frequencies[schedule.frequency],
      statusBadge(view, status),
      nextAttemptAt === undefined ? '' : time(view, nextAttemptAt),
      money(view, amount, currency),
    ]),
    none: { title: o.empty, text: o.emptyText },
  })
}

export const orderFields = [
  'amount',
  'reference',
  'frequency',
  'startsOn',
  'time',
  'dayOfMonth',
  'endsOn',
  'count',
  'businessDays',
  'note',
] as const

type NewOrder = Draft & {
  readonly beneficiaryId: string
  readonly payee: string
  readonly currency: string
  /** Payments that its first payout may duplicate. */
  readonly repeats: PossibleDuplicates
}

export function newOrderPage(view: ConsoleView, draft: NewOrder): string {
  const o = texts[view.language].orders
  const p = texts[view.language].payments
  const s = texts[view.language].sending
  const { beneficiaryId, payee, currency, problems, repeats, values } = draft
  const charsMax = referenceCharsMax
  return formPage(view, {
    ...draft,
    title: o.newOrder,
    submit: o.create,
    action: 'standing-orders/new',
    before: html`${facts([[p.payee, payee]])} ${duplicatesSection(view, repeats)}`,
    hidden: { beneficiaryId },
    fields: [
      { name: 'amount', label: fill(p.payoutAmount, { currency }), help: p.payoutAmountHelp, charsMax },
      { name: 'reference', label: p.payoutReference, help: p.payoutReferenceHelp, optional: true, charsMax },
      { name: 'frequency', label: o.frequency, options: toSelectOptions(o.frequencies), value: 'Monthly' },
      { name: 'startsOn', label: o.startsOn, help: o.startsOnHelp, type: 'date', charsMax },
      { name: 'time', label: o.time, help: o.timeHelp, optional: true, charsMax },
      { name: 'dayOfMonth', label: o.dayOfMonth, help: o.dayOfMonthHelp, optional: true, charsMax },
      { name: 'endsOn', label: o.endsOn, help: o.endHelp, type: 'date', optional: true, charsMax },
      { name: 'count', label: o.count, optional: true, charsMax },
      { name: 'businessDays', label: o.businessDays, options: toSelectOptions(o.businessDayRules), value: 'Following' },
      { name: 'note', label: s.note, help: s.noteHelp, optional: true, charsMax: payouts.noteCharsMax },
      ...(problems['again'] === undefined
        ? []
        : [payAgainBox(fill(s.again, { payee, amount: `${values['amount'] ?? ''} ${currency}` }), problems['again'])]),
    ],
    back: { path: 'standing-orders/new', text: p.otherPayee },
  })
}

type Execution = {
  readonly date: string
  readonly status: 'Made' | 'Retrying' | 'Failed' | 'Skipped'
  readonly attempts: number
  readonly problem?: string | undefined
  readonly payoutHref?: string | undefined
}

type OrderDetails = OrderRow & {
  readonly executions: readonly Execution[]
  /** Link to the payout form with the values of the order, for a date that was not paid. Absent: the person may not pay. */
  readonly payHref?: string | undefined
  readonly pages: PageLinks
  readonly creator?: CreatorFact | undefined
  readonly mayWrite: boolean
  readonly done?: (typeof doneForms)[number] | undefined
  readonly problems: FieldProblems
}

export function orderPage(view: ConsoleView, order: OrderDetails): string {
  const o = texts[view.language].orders
  const p = texts[view.language].payments
  const { payee, amount, currency, status, nextAttemptAt, done, problems } = order
  return shell(view, {
    title: `${o.order}: ${payee}`,
    wide: true,
    problems,
    main: html`${done !== undefined && message('good', doneText(view, order, done))}
    ${heading(payee, linkButton(order.payeeHref, p.toPayee))}
    ${summaryStrip([
      [p.amount, money(view, amount, currency, 'main')],
      [p.status, statusBadge(view, status)],
      [o.frequency, o.frequencies[order.schedule.frequency]],
      [o.next, nextAttemptAt === undefined ? view.t.none : time(view, nextAttemptAt)],
    ])}
    ${details(view, order)} ${order.mayWrite && status !== 'Ended' && actions(view, order)}
    ${section('dates', o.datesAhead, datesPart(view, order))}
    ${section('executions', o.executions, executionsPart(view, order))}`,
  })
}

const doneForms = ['created', 'scheduled', 'paused', 'resumed', 'cancelled'] as const

function doneText(view: ConsoleView, order: OrderDetails, done: (typeof doneForms)[number]): string {
  const o = texts[view.language].orders
  if (done !== 'scheduled') return o[done]
  const { payee, amount, currency, nextDates = [] } = order
  const [next] = nextDates
  // The payout was created meanwhile.
  if (next === undefined) return o.created
  const day = dayText(view, next.executesAt.slice(0, 'YYYY-MM-DD'.length))
  return fill(texts[view.language].sending.scheduled, { payee, amount: moneyText(view, amount, currency), day })
}

function details(view: ConsoleView, order: OrderDetails): Html {
  const o = texts[view.language].orders
  const p = texts[view.language].payments
  const { startsOn, time: timeOfDay, dayOfMonth, endsOn, count, businessDays } = order.schedule
  return facts([
    [p.payoutReference, order.reference],
    [texts[view.language].sending.note, order.note],
    [o.startsOn, calendarDay(view, startsOn)],
    [o.time, timeOfDay],
    [o.dayOfMonth, dayOfMonth === undefined ? undefined : String(dayOfMonth)],
    [o.endsOn, endsOn && calendarDay(view, endsOn)],
    [o.count, count === undefined ? undefined : String(count)],
    [o.businessDays, o.businessDayRules[businessDays]],
    [o.made, String(order.payoutsMade)],
    [o.ended, order.endedAt && time(view, order.endedAt)],
    [o.endedBecause, order.endReason && o.endReason[order.endReason]],
    [p.created, time(view, order.createdAt)],
    ...creatorFacts(order),
    [p.id, identifier(view, order.id, p.id)],
  ])
}

function datesPart(view: ConsoleView, { nextDates = [] }: OrderDetails): Html {
  const o = texts[view.language].orders
  if (nextDates.length === 0) return html`<p>${o.noDates}</p>`
  return table({
    caption: o.datesAhead,
    columns: [[o.date, 'head'], o.executesAt],
    rows: nextDates.map(({ date, executesAt }) => [calendarDay(view, date), time(view, executesAt)]),
  })
}

function executionsPart(view: ConsoleView, { executions, pages, payHref }: OrderDetails): Html {
  const o = texts[view.language].orders
  const p = texts[view.language].payments
  if (executions.length === 0)
    return html`<p>${o.executionsEmpty}</p>
      ${pager(view, pages)}`
  const tones = { Made: 'good', Retrying: 'warning', Failed: 'bad', Skipped: 'neutral' } as const
  return html`${table({
    caption: o.executions,
    columns: [[o.date, 'head'], o.outcome, o.attempts, p.payout],
    rows: executions.map(({ date, status, attempts, problem, payoutHref }) => [
      calendarDay(view, date),
      html`${badge(tones[status], o.executionStatus[status])}
      ${problem !== undefined && html`<span class="soft">${problem}</span>`}`,
      String(attempts),
      payoutHref !== undefined
        ? html`<a href="${payoutHref}">${o.toPayout}</a>`
        : (status === 'Failed' || status === 'Skipped') && payHref !== undefined
          ? html`<a href="${payHref}">${p.newPayout}</a>`
          : '',
    ]),
  })}
  ${pager(view, pages)}`
}

const cancelId = 'cancel-order'

function actions(view: ConsoleView, { id, payee, amount, currency, status }: OrderDetails): Html {
  const o = texts[view.language].orders
  const path = `${view.root}standing-orders/${id}`
  const [act, label] = status === 'Active' ? (['pause', o.pause] as const) : (['resume', o.resume] as const)
  const about = `${payee}, ${moneyText(view, amount, currency)}`
  return html`<div class="buttons">
      ${postButton(`${path}/${act}`, label, { look: 'small' })}
      ${dialogButton({ id: cancelId, label: o.cancel, about, tone: 'danger' })}
    </div>
    ${confirmationDialog({
      id: cancelId,
      title: o.cancelTitle,
      action: `${path}/cancel`,
      about: html`<p><strong>${about}</strong></p>`,
      effects: [o.cancelEffect, o.cancelMade, o.cancelFinal],
      submit: o.cancel,
      cancel: view.t.cancel,
    })}`
}

const refusalTexts = (person: Person) => textsWithRefusals(person, 'orders')

/** Reads the names of payees by id. Deleted payees are absent. */
async function readPayeeNames({ operate }: Frame, request: PublicRequest, person: Person, ids: readonly string[]) {
  if (!person.caller.permissions.includes('beneficiaries:read')) return new Map<string, string>()
  const found = await Promise.all(
    [...new Set(ids)].map((id) => ifFound(operate('getBeneficiary', { ...callOf(person, request), params: { id } }))),
  )
  return new Map(found.flatMap((payee) => (payee === undefined ? [] : [[payee.id, payee.name] as const])))
}

const orderRow = ({ view }: Person, order: Order, names: ReadonlyMap<string, string>): OrderRow => ({
  ...order,
  payee: names.get(order.beneficiaryId) ?? order.beneficiaryId,
  payeeHref: `${view.root}payees/${order.beneficiaryId}`,
})

async function showList(frame: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  const { view } = person
  const call = callOf(person, request)
  const { data, shown, sums } = await readListWithSums(
    request,
    person,
    orderFilters,
    (query) => frame.operate('listStandingOrders', { ...call, query: queryText(query) }),
    (query) => frame.operate('sumStandingOrders', { ...call, query: queryText(query) }),
  )
  const ids = data.map(({ beneficiaryId }) => beneficiaryId)
  const names = await readPayeeNames(frame, request, person, ids)
  const rows = data.map((order) => orderRow(person, order, names))
  const mayWrite = may(person, 'payouts:write')
  const body = ordersPage(view, { ...shown, rows, sums, mayWrite })
  return page(request, pageStatus(shown.problems), body)
}

async function readExecutions({ operate }: Frame, request: PublicRequest, { view, ...person }: Person) {
  const { cursor } = readQuery(request, ['cursor'])
  const call = { ...callOf(person, request), params: { orderId: readId(request) } }
  const { data, nextCursor } = await operate('listStandingOrderExecutions', { ...call, query: queryText({ cursor }) })
  const path = `${view.root}standing-orders/${readId(request)}`
  return {
    executions: data.map(({ date, status, attempts, problem, payoutId }) => ({
      date,
      status,
      attempts,
      problem: problem && refusalText(view, { ...problem, errors: [] }),
      payoutHref: payoutId && `${view.root}payouts/${payoutId}`,
    })),
    pages: pageLinks(path, {}, cursor, nextCursor),
  }
}

async function showOne(
  frame: Frame,
  request: PublicRequest,
  person: Person,
  problems: FieldProblems = {},
): Promise<PublicAnswer> {
  const { view } = person
  const call = { ...callOf(person, request), params: { orderId: readId(request) } }
  const order = await frame.operate('getStandingOrder', call)
  const [names, executions] = await Promise.all([
    readPayeeNames(frame, request, person, [order.beneficiaryId]),
    readExecutions(frame, request, person),
  ])
  const { beneficiaryId, amount, reference, note } = order
  const mayWrite = may(person, 'payouts:write')
  const shown = {
    ...orderRow(person, order, names),
    ...executions,
    problems,
    creator: await readCreatorFact(frame, person, order.id),
    payHref: mayWrite
      ? pathWithQuery(`${view.root}payouts/new`, { beneficiaryId, amount: decimalText(amount), reference, note })
      : undefined,
    mayWrite,
    done: readCompletedForm(request, doneForms),
  }
  return page(request, pageStatus(problems), orderPage(view, shown))
}

type TypedOrder = { readonly beneficiaryId: string; readonly values: FieldValues; readonly idempotencyKey: string }

async function showForm(
  { operate }: Frame,
  request: PublicRequest,
  person: Person,
  typed: TypedOrder,
  problems: FieldProblems = {},
  repeats: PossibleDuplicates = noDuplicates,
): Promise<PublicAnswer> {
  const payee = await operate('getBeneficiary', { ...callOf(person, request), params: { id: typed.beneficiaryId } })
  const draft = { ...typed, payee: payee.name, currency: payee.currency, problems, repeats }
  return page(request, pageStatus(problems), newOrderPage(person.view, draft))
}

async function begin(frame: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  const { beneficiaryId, ...values } = readQuery(request, ['beneficiaryId', ...orderFields])
  if (beneficiaryId !== undefined)
    return showForm(frame, request, person, { beneficiaryId, values, idempotencyKey: newId() })
  return choosePayee(frame, request, person, 'standing-orders')
}

const wholePattern = /^\d{1,5}$/

/** Parses a whole number. Any other text is returned unchanged, so that the operation refuses it. */
const wholeNumber = (text: string): number | string => (wholePattern.test(text) ? Number(text) : text)

async function create(frame: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  const p = refusalTexts(person)
  const given = readForm(request)
  const typed = {
    beneficiaryId: given('beneficiaryId'),
    values: readValues(given, orderFields),
    idempotencyKey: given('idempotencyKey') || newId(),
  }
  const { amount: amountText = '', reference, note, dayOfMonth, count, ...schedule } = typed.values
  const amount = readAmount(amountText)
  if (amount === undefined)
    return showForm(frame, request, person, typed, { amount: amountProblem(person.view, amountText) })
  const call = callOf(person, request)
  const { beneficiaryId, idempotencyKey } = typed
  const { currency } = await frame.operate('getBeneficiary', { ...call, params: { id: beneficiaryId } })
  const paid = {
    beneficiaryId,
    currency,
    amount: rawNumber(amount),
    ...(reference === undefined ? {} : { reference }),
  }
  const body = {
    ...paid,
    onDuplicate: given('again') === 'yes' ? 'Allow' : 'RefuseFirst',
    ...(note === undefined ? {} : { note }),
    schedule: {
      ...schedule,
      ...(dayOfMonth === undefined ? {} : { dayOfMonth: wholeNumber(dayOfMonth) }),
      ...(count === undefined ? {} : { count: wholeNumber(count) }),
    },
  }
  try {
    const { id } = await frame.operate('createStandingOrder', { ...call, body, idempotencyKey })
    return seeOther(`${id}?done=created`)
  } catch (error) {
    if (isDuplicateRefusal(error)) {
      const { startsOn } = typed.values
      const first = { ...paid, ...(startsOn === undefined ? {} : { payOn: startsOn }) }
      const repeats = duplicatesInPreview((await frame.operate('previewFiatPayout', { ...call, body: first })).rules)
      const problems = { again: texts[person.view.language].sending.againNeeded }
      return showForm(frame, request, person, typed, problems, repeats)
    }
    const problems = refusalProblems(p, error, orderFields, { amount: amountProblem(person.view, amountText) })
    return showForm(frame, request, person, { ...typed, idempotencyKey: newId() }, problems)
  }
}

export const orderRoutes: Routes = (frame) => {
  const route = placeRoutes(frame, frame.withMoney, 'standing-orders')
  /** Creates the route of a form on the page of an order. A refusal shows the page again. */
  const form = (
    name: string,
    operation: 'pauseStandingOrder' | 'resumeStandingOrder' | 'cancelStandingOrder',
    done: string,
  ): PublicRoute =>
    route('POST', `/{id}/${name}`, 'payouts:write', async (_frame, request, person) => {
      const id = readId(request)
      try {
        await frame.operate(operation, { ...callOf(person, request), params: { orderId: id } })
      } catch (error) {
        return showOne(frame, request, person, refusalProblems(refusalTexts(person), error, []))
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
