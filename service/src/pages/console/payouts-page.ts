/** The list of payouts, and the tabs of what waits for an approval, where a bulk is one row. */
import { html, type Html } from '../html.ts'
import { fill } from '../language.ts'
import { call, field, table, time } from './components.ts'
import { account, filters, freeText, list, money, optionsOf, pager, type Pages, select, tabs } from './lists.ts'
import { payoutBadge } from './payment-words.ts'
import { type Problems, type Values } from './payments-request.ts'
import { bulkTexts } from './texts/bulk.ts'
import type { PaymentTexts } from './texts/payments-en.ts'
import { paymentTexts } from './texts/payments.ts'
import { type ConsoleView, shell } from './view.ts'

export const payoutTabs = ['all', 'mine', 'made', 'waiting'] as const
export type PayoutTab = (typeof payoutTabs)[number]

export type PayoutRow = {
  readonly id: string
  readonly reference: string
  readonly payee: string
  readonly payeeAccount: string
  readonly status: string
  readonly createdAt: Date
  readonly approvalExpiresAt?: Date | undefined
  readonly amount: string
  readonly currency: string
}

type Money = { readonly amount: string; readonly currency: string }

/** A payout that is approved alone, or a bulk, which is approved as a whole. */
export type WaitingRow = {
  readonly id: string
  readonly expiresAt: Date
  readonly requestedBy: string
  readonly totals: readonly Money[]
} & (
  | { readonly kind: 'payout'; readonly payee: string; readonly payeeAccount: string; readonly reference: string }
  | { readonly kind: 'bulk'; readonly payouts: number; readonly createdAt: Date }
)
export type WaitingTab = Exclude<PayoutTab, 'all'>

type Payouts = {
  readonly rows: readonly PayoutRow[]
  readonly values: Values
  readonly problems: Problems
  readonly pages: Pages
  readonly mayWrite: boolean
}

type WaitingShown = Pick<Payouts, 'pages' | 'mayWrite'> & {
  readonly rows: readonly WaitingRow[]
  readonly tab: WaitingTab
}

export const payoutFilters: readonly string[] = [
  'status',
  'currency',
  'reference',
  'createdFrom',
  'createdTo',
  'beneficiaryId',
  'customerId',
  'idempotencyKey',
]

const namesOf = (p: PaymentTexts) => ({ all: p.tabAll, mine: p.tabMine, made: p.tabMade, waiting: p.tabWaiting })

function tabsOf({ root, language }: ConsoleView, tab: PayoutTab): Html {
  const p = paymentTexts[language]
  return tabs({
    label: p.tabs,
    items: payoutTabs.map((each) => ({
      text: namesOf(p)[each],
      href: `${root}payouts${each === 'all' ? '' : `?tab=${each}`}`,
      current: each === tab,
    })),
  })
}

function heading({ root, language, t }: ConsoleView, mayWrite: boolean): Html {
  return html`<div class="heading">
    <h1>${t.payouts}</h1>
    ${mayWrite && html`<a class="button primary" href="${root}payouts/new">${paymentTexts[language].newPayout}</a>`}
  </div>`
}

export function payoutsPage(view: ConsoleView, payouts: Payouts): string {
  const { values, problems, mayWrite } = payouts
  return shell(view, {
    title: view.t.payouts,
    wide: true,
    problems,
    main: html`${heading(view, mayWrite)}
      <p class="lead">${paymentTexts[view.language].payoutsText}</p>
      ${tabsOf(view, 'all')} ${filterForm(view, values, problems)} ${rowsOf(view, payouts)}`,
  })
}

/** A tab of approvals: what waits, newest first. */
export function waitingPage(view: ConsoleView, { rows, tab, pages, mayWrite }: WaitingShown): string {
  const p = paymentTexts[view.language]
  return shell(view, {
    title: namesOf(p)[tab],
    wide: true,
    main: html`${heading(view, mayWrite)}
      <p class="lead">${p.tabNote}</p>
      ${tabsOf(view, tab)}
      ${
        rows.length === 0
          ? html`<p class="calm">${{ mine: p.mineEmpty, made: p.madeEmpty, waiting: p.waitingEmpty }[tab]}</p>`
          : waitingTable(view, rows)
      }
      ${pager(view, pages)}`,
  })
}

function waitingTable(view: ConsoleView, rows: readonly WaitingRow[]): Html {
  const p = paymentTexts[view.language]
  const b = bulkTexts[view.language]
  return table({
    caption: view.t.payouts,
    columns: [
      { label: p.payee, kind: 'head' },
      { label: p.reference },
      { label: p.madeBy },
      { label: p.approvalUntil },
      { label: p.amount, kind: 'number' },
    ],
    rows: rows.map((row) => [
      row.kind === 'bulk'
        ? html`<a href="${view.root}bulk-payouts/${row.id}">${b.bulk}</a>
            <span class="soft">${fill(b.countOf, { count: row.payouts.toLocaleString(view.language) })}</span>`
        : html`<a href="${view.root}payouts/${row.id}">${row.payee}</a>
            <span class="soft">${account(view, row.payeeAccount)}</span>`,
      row.kind === 'bulk' ? time(view, row.createdAt) : freeText(row.reference),
      freeText(row.requestedBy),
      time(view, row.expiresAt),
      html`<span class="lines">${row.totals.map((sum) => money(view, sum.amount, sum.currency))}</span>`,
    ]),
  })
}

function filterForm(view: ConsoleView, values: Values, problems: Problems): Html {
  const p = paymentTexts[view.language]
  const input = (name: string, label: string, type: 'text' | 'date' = 'text') =>
    field({
      ...{ id: name, name, label, type, value: values[name] ?? '', error: problems[name] },
      optional: true,
      more: html`autocomplete="off"`,
    })
  const choice = { id: 'status', name: 'status', label: p.status, any: p.any, error: problems['status'] }
  return filters(view, {
    path: `${view.root}payouts`,
    main: [
      select({ ...choice, value: values['status'], options: optionsOf(p.payoutStatus) }),
      input('currency', p.currency),
      input('reference', p.reference),
      input('createdFrom', p.createdFrom, 'date'),
      input('createdTo', p.createdTo, 'date'),
    ],
    more: {
      fields: [
        input('beneficiaryId', p.payeeId),
        input('customerId', p.customerId),
        input('idempotencyKey', p.idempotencyKey),
      ],
      open: ['beneficiaryId', 'customerId', 'idempotencyKey'].some((name) => name in values),
    },
    active: Object.keys(values).length > 0,
  })
}

const payoutCall = `POST /v1/payouts/fiat
{ "amount": 12.50, "currency": "EUR", "beneficiaryId": "…", "idempotencyKey": "…" }`

function rowsOf(view: ConsoleView, { rows, values, pages }: Payouts): Html {
  const p = paymentTexts[view.language]
  return list(view, {
    table: payoutTable(view, rows),
    isEmpty: rows.length === 0,
    isFiltered: Object.keys(values).length > 0 || pages.first !== undefined,
    none: { title: p.payoutsEmpty, text: p.payoutsEmptyText, more: call(view, payoutCall, p.payoutsCall) },
    pages,
  })
}

function payoutTable(view: ConsoleView, rows: readonly PayoutRow[]): Html {
  const p = paymentTexts[view.language]
  return table({
    caption: view.t.payouts,
    columns: [
      { label: p.payee, kind: 'head' },
      { label: p.reference },
      { label: p.status },
      { label: p.created },
      { label: p.amount, kind: 'number' },
    ],
    rows: rows.map((row) => [
      html`<a href="${view.root}payouts/${row.id}">${row.payee}</a>
        <span class="soft">${account(view, row.payeeAccount)}</span>`,
      freeText(row.reference),
      payoutBadge(view, row.status),
      time(view, row.createdAt),
      money(view, row.amount, row.currency),
    ]),
  })
}
