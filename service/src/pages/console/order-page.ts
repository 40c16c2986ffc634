/** Standing orders: the list, the form of a new one, and the page of one with its dates. */
import { html, type Html } from '../html.ts'
import { fill } from '../language.ts'
import { listPage, type Listed } from './list-page.ts'
import { asking, badge, calendarDay, call, field, hiddenField, message, openDialog, table, time } from './components.ts'
import { facts, identifier, money, moneyText, optionsOf, type Pages, pager, select, strip } from './lists.ts'
import { type Problems, type Values } from './payments-request.ts'
import { orderTexts } from './texts/orders.ts'
import { paymentTexts } from './texts/payments.ts'
import { type ConsoleView, shell } from './view.ts'

type OrderStatus = 'Active' | 'Paused' | 'Ended'
type Frequency = 'Once' | 'Daily' | 'Weekly' | 'Monthly' | 'Yearly'

export type OrderRow = {
  readonly id: string
  readonly payee: string
  readonly payeeHref: string
  readonly amount: string
  readonly currency: string
  readonly frequency: Frequency
  readonly status: OrderStatus
  readonly nextAt?: Date | undefined
}

const statusBadge = ({ language }: ConsoleView, status: OrderStatus): Html =>
  badge(({ Active: 'good', Paused: 'warning', Ended: 'neutral' } as const)[status], orderTexts[language].status[status])

const orderCall = `POST /v1/payouts/standing-orders
{ "beneficiaryId": "…", "amount": 950.00, "currency": "EUR", "schedule": { "frequency": "Monthly", "startsOn": "2027-01-01" } }`

export const orderFilters: readonly string[] = ['status']

export function ordersPage(
  view: ConsoleView,
  { rows, mayWrite, ...shown }: Listed<OrderRow> & { readonly mayWrite: boolean },
): string {
  const o = orderTexts[view.language]
  const p = paymentTexts[view.language]
  return listPage(view, shown, {
    title: view.t.standingOrders,
    path: 'standing-orders',
    lead: o.lead,
    create: mayWrite && { text: o.newOrder, href: `${view.root}standing-orders/new` },
    filters: [{ name: 'status', label: p.status, options: optionsOf(o.status) }],
    columns: [[p.payee, 'head'], o.frequency, p.status, o.next, [p.amount, 'number']],
    cells: rows.map(({ id, payee, frequency, status, nextAt, amount, currency }) => [
      html`<a href="${view.root}standing-orders/${id}">${payee}</a>`,
      o.frequencies[frequency],
      statusBadge(view, status),
      nextAt === undefined ? '' : time(view, nextAt),
      money(view, amount, currency),
    ]),
    none: { title: o.empty, text: o.emptyText, more: call(view, orderCall, o.call) },
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
] as const
type OrderField = (typeof orderFields)[number]

type NewOrder = {
  readonly beneficiaryId: string
  readonly payee: string
  readonly currency: string
  /** Values as typed. */
  readonly values: Values
  readonly idempotencyKey: string
  readonly problems: Problems
}

export function newOrderPage(view: ConsoleView, draft: NewOrder): string {
  const o = orderTexts[view.language]
  const p = paymentTexts[view.language]
  const { beneficiaryId, payee, currency, values, problems, idempotencyKey } = draft
  const input = (name: OrderField, label: string, help?: string, type: 'text' | 'date' = 'text', required = false) =>
    field({
      ...{ id: name, name, type, value: values[name] ?? '', error: problems[name], optional: !required },
      label: required ? label : fill(p.optional, { label }),
      ...(help === undefined ? {} : { help }),
      more: html`autocomplete="off" maxlength="140"`,
    })
  const choice = (name: OrderField, label: string, words: Readonly<Record<string, string>>, value: string) =>
    select({
      ...{ id: name, name, label, value: values[name] ?? value, error: problems[name] },
      options: optionsOf(words),
    })
  return shell(view, {
    title: o.newOrder,
    problems,
    card: true,
    main: html`<h1>${o.newOrder}</h1>
      ${facts([[p.payee, payee]])}
      <form method="post" action="${view.root}standing-orders/new">
        ${hiddenField('beneficiaryId', beneficiaryId)} ${hiddenField('idempotencyKey', idempotencyKey)}
        ${input('amount', fill(p.payoutAmount, { currency }), p.payoutAmountHelp, 'text', true)}
        ${input('reference', p.payoutReference, p.payoutReferenceHelp)}
        ${choice('frequency', o.frequency, o.frequencies, 'Monthly')}
        ${input('startsOn', o.startsOn, o.startsOnHelp, 'date', true)} ${input('time', o.time, o.timeHelp)}
        ${input('dayOfMonth', o.dayOfMonth, o.dayOfMonthHelp)} ${input('endsOn', o.endsOn, o.endHelp, 'date')}
        ${input('count', o.count)} ${choice('businessDays', o.businessDays, o.businessDayRules, 'Following')}
        <button type="submit" class="primary">${o.create}</button>
      </form>
      <p class="foot"><a href="${view.root}standing-orders/new">${p.otherPayee}</a></p>`,
  })
}

type Execution = {
  readonly date: string
  readonly status: 'Made' | 'Retrying' | 'Failed' | 'Skipped'
  readonly attempts: number
  readonly problem?: string | undefined
  readonly payoutHref?: string | undefined
}

type Order = OrderRow & {
  readonly endReason?: 'Completed' | 'Cancelled' | 'BeneficiaryDeleted' | undefined
  readonly endedAt?: Date | undefined
  readonly reference?: string | undefined
  readonly startsOn: string
  readonly time: string
  readonly dayOfMonth?: number | undefined
  readonly endsOn?: string | undefined
  readonly count?: number | undefined
  readonly businessDays: 'Following' | 'Preceding' | 'None'
  readonly payoutsMade: number
  readonly datesAhead: readonly { readonly date: string; readonly executesAt: Date }[]
  readonly executions: readonly Execution[]
  readonly pages: Pages
  readonly createdAt: Date
  readonly mayWrite: boolean
  readonly done?: 'created' | 'paused' | 'resumed' | 'cancelled' | undefined
  readonly problems: Problems
}

export function orderPage(view: ConsoleView, order: Order): string {
  const o = orderTexts[view.language]
  const p = paymentTexts[view.language]
  const { payee, amount, currency, status, nextAt, done, problems } = order
  return shell(view, {
    title: `${o.order}: ${payee}`,
    wide: true,
    problems,
    main: html`${done !== undefined && message('good', o[done])}
      <div class="heading">
        <h1>${payee}</h1>
        <a class="button" href="${order.payeeHref}">${p.toPayee}</a>
      </div>
      ${strip([
        [p.amount, money(view, amount, currency, 'main')],
        [p.status, statusBadge(view, status)],
        [o.frequency, o.frequencies[order.frequency]],
        [o.next, nextAt === undefined ? view.t.none : time(view, nextAt)],
      ])}
      ${details(view, order)} ${order.mayWrite && status !== 'Ended' && actions(view, order)}
      <section aria-labelledby="dates-title">
        <h2 id="dates-title">${o.datesAhead}</h2>
        ${datesPart(view, order)}
      </section>
      <section aria-labelledby="executions-title">
        <h2 id="executions-title">${o.executions}</h2>
        ${executionsPart(view, order)}
      </section>`,
  })
}

function details(view: ConsoleView, order: Order): Html {
  const o = orderTexts[view.language]
  const p = paymentTexts[view.language]
  return facts([
    [p.payoutReference, order.reference],
    [o.startsOn, calendarDay(view, order.startsOn)],
    [o.time, order.time],
    [o.dayOfMonth, order.dayOfMonth === undefined ? undefined : String(order.dayOfMonth)],
    [o.endsOn, order.endsOn && calendarDay(view, order.endsOn)],
    [o.count, order.count === undefined ? undefined : String(order.count)],
    [o.businessDays, o.businessDayRules[order.businessDays]],
    [o.made, String(order.payoutsMade)],
    [o.ended, order.endedAt && time(view, order.endedAt)],
    [o.endedBecause, order.endReason && o.endReason[order.endReason]],
    [p.created, time(view, order.createdAt)],
    [p.id, identifier(view, order.id, p.id)],
  ])
}

function datesPart(view: ConsoleView, { datesAhead }: Order): Html {
  const o = orderTexts[view.language]
  if (datesAhead.length === 0) return html`<p>${o.noDates}</p>`
  return table({
    caption: o.datesAhead,
    columns: [[o.date, 'head'], o.executesAt],
    rows: datesAhead.map(({ date, executesAt }) => [calendarDay(view, date), time(view, executesAt)]),
  })
}

function executionsPart(view: ConsoleView, { executions, pages }: Order): Html {
  const o = orderTexts[view.language]
  const p = paymentTexts[view.language]
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
      payoutHref === undefined ? '' : html`<a href="${payoutHref}">${o.toPayout}</a>`,
    ]),
  })}
  ${pager(view, pages)}`
}

const cancelId = 'cancel-order'

function actions(view: ConsoleView, { id, payee, amount, currency, status }: Order): Html {
  const o = orderTexts[view.language]
  const path = `${view.root}standing-orders/${id}`
  const [act, label] = status === 'Active' ? (['pause', o.pause] as const) : (['resume', o.resume] as const)
  const about = `${payee}, ${moneyText(view, amount, currency)}`
  return html`<div class="buttons">
      <form method="post" action="${path}/${act}"><button type="submit" class="small">${label}</button></form>
      ${openDialog({ id: cancelId, label: o.cancel, about, tone: 'danger' })}
    </div>
    ${asking({
      ...{ id: cancelId, title: o.cancelTitle, action: `${path}/cancel` },
      about: html`<p><strong>${about}</strong></p>`,
      effects: [o.cancelEffect, o.cancelMade, o.cancelFinal],
      ...{ submit: o.cancel, cancel: view.t.cancel },
    })}`
}
