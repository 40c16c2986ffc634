/** The list of payouts, with tabs for those that wait for an approval. */
import { html, type Html } from '../html.ts'
import { call, errorSummary, field, table, time } from './components.ts'
import { account, filters, freeText, list, money, optionsOf, pager, type Pages, select, tabs } from './lists.ts'
import { payoutBadge } from './payment-words.ts'
import { type Problems, summaryOf, type Values } from './payments-request.ts'
import type { Waiting } from './bulk-page.ts'
import { bulkTexts } from './texts/bulk.ts'
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

type Payouts = {
  readonly rows: readonly PayoutRow[]
  readonly tab: PayoutTab
  /** The tabs that the person may open. */
  readonly shownTabs: readonly PayoutTab[]
  readonly values: Values
  readonly problems: Problems
  readonly pages: Pages
  readonly mayWrite: boolean
  /** Bulks with payouts that wait, in the tabs of approvals. */
  readonly bulks: readonly (Waiting & { readonly id: string })[]
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

export function payoutsPage(view: ConsoleView, payouts: Payouts): string {
  const { language, root } = view
  const p = paymentTexts[language]
  const { tab, shownTabs, values, problems, mayWrite } = payouts
  const names = { all: p.tabAll, mine: p.tabMine, made: p.tabMade, waiting: p.tabWaiting }
  return shell(view, {
    title: tab === 'all' ? view.t.payouts : names[tab],
    wide: true,
    hasErrors: Object.keys(problems).length > 0,
    main: html`${errorSummary(view, summaryOf(problems))}
      <div class="heading">
        <h1>${view.t.payouts}</h1>
        ${mayWrite && html`<a class="button primary" href="${root}payouts/new">${p.newPayout}</a>`}
      </div>
      <p class="lead">${tab === 'all' ? p.payoutsText : p.tabNote}</p>
      ${tabs({
        label: p.tabs,
        items: shownTabs.map((each) => ({
          text: names[each],
          href: `${root}payouts${each === 'all' ? '' : `?tab=${each}`}`,
          current: each === tab,
        })),
      })}
      ${payouts.bulks.length > 0 && bulkTable(view, payouts.bulks)}
      ${tab === 'all' && filterForm(view, values, problems)} ${rowsOf(view, payouts)}`,
  })
}

function bulkTable(view: ConsoleView, bulks: Payouts['bulks']): Html {
  const p = paymentTexts[view.language]
  const b = bulkTexts[view.language]
  return html`<section aria-labelledby="bulks-title">
    <h2 id="bulks-title">${b.waitingBulks}</h2>
    ${table({
      caption: b.waitingBulks,
      columns: [
        { label: b.bulk, kind: 'head' },
        { label: b.payouts, kind: 'number' },
        { label: p.approvalUntil },
        { label: p.amount, kind: 'number' },
      ],
      rows: bulks.map(({ id, payouts, totals, expiresAt }) => [
        html`<a href="${view.root}bulk-payouts/${id}">${b.review}</a>`,
        payouts.toLocaleString(view.language),
        time(view, expiresAt),
        html`<span class="lines">${totals.map((sum) => money(view, sum.amount, sum.currency))}</span>`,
      ]),
    })}
  </section>`
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

function rowsOf(view: ConsoleView, { rows, tab, values, pages }: Payouts): Html {
  const p = paymentTexts[view.language]
  if (tab !== 'all' && rows.length === 0)
    return html`<p class="calm">${{ mine: p.mineEmpty, made: p.madeEmpty, waiting: p.waitingEmpty }[tab]}</p>
      ${pager(view, pages)}`
  return list(view, {
    table: payoutTable(view, rows, tab),
    isEmpty: rows.length === 0,
    isFiltered: Object.keys(values).length > 0 || pages.first !== undefined,
    none: { title: p.payoutsEmpty, text: p.payoutsEmptyText, more: call(view, payoutCall, p.payoutsCall) },
    pages,
  })
}

function payoutTable(view: ConsoleView, rows: readonly PayoutRow[], tab: PayoutTab): Html {
  const p = paymentTexts[view.language]
  const isWaiting = tab !== 'all'
  return table({
    caption: view.t.payouts,
    columns: [
      { label: p.payee, kind: 'head' },
      { label: p.reference },
      { label: p.status },
      { label: isWaiting ? p.approvalUntil : p.created },
      { label: p.amount, kind: 'number' },
    ],
    rows: rows.map((row) => [
      html`<a href="${view.root}payouts/${row.id}">${row.payee}</a>
        <span class="soft">${account(view, row.payeeAccount)}</span>`,
      freeText(row.reference),
      payoutBadge(view, row.status),
      time(view, isWaiting ? (row.approvalExpiresAt ?? row.createdAt) : row.createdAt),
      money(view, row.amount, row.currency),
    ]),
  })
}
