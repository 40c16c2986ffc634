/** The list of payouts, and the tabs of what waits for an approval, where a bulk is one row. */
import { html, type Html } from '../html.ts'
import { fill } from '../language.ts'
import { listPage, type Listed } from './list-page.ts'
import { call, table, time } from './components.ts'
import { account, freeText, money, optionsOf, pager, type Pages, referenceText, tabs } from './lists.ts'
import { payoutBadge } from './payment-words.ts'
import { bulkTexts } from './texts/bulk.ts'
import type { PaymentTexts } from './texts/payments-en.ts'
import { paymentTexts } from './texts/payments.ts'
import { type ConsoleView, shell } from './view.ts'

export const payoutTabs = ['all', 'mine', 'made', 'waiting'] as const
export type PayoutTab = (typeof payoutTabs)[number]

export type PayoutRow = {
  readonly id: string
  readonly reference: string
  readonly userReference?: string | undefined
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

type WaitingShown = {
  readonly rows: readonly WaitingRow[]
  readonly pages: Pages
  readonly mayWrite: boolean
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

const payoutCall = `POST /v1/payouts/fiat
{ "amount": 12.50, "currency": "EUR", "beneficiaryId": "…", "idempotencyKey": "…" }`

export function payoutsPage(
  view: ConsoleView,
  { rows, mayWrite, ...shown }: Listed<PayoutRow> & { readonly mayWrite: boolean },
): string {
  const p = paymentTexts[view.language]
  return listPage(view, shown, {
    title: view.t.payouts,
    path: 'payouts',
    lead: p.payoutsText,
    create: mayWrite && { text: p.newPayout, href: `${view.root}payouts/new` },
    tabs: tabsOf(view, 'all'),
    filters: [
      { name: 'status', label: p.status, options: optionsOf(p.payoutStatus) },
      { name: 'currency', label: p.currency },
      { name: 'reference', label: p.reference },
      { name: 'createdFrom', label: p.createdFrom, type: 'date' },
      { name: 'createdTo', label: p.createdTo, type: 'date' },
    ],
    more: [
      { name: 'beneficiaryId', label: p.payeeId },
      { name: 'customerId', label: p.customerId },
      { name: 'idempotencyKey', label: p.idempotencyKey },
    ],
    columns: [[p.payee, 'head'], p.reference, p.status, p.created, [p.amount, 'number']],
    cells: rows.map((row) => [
      html`<a href="${view.root}payouts/${row.id}">${row.payee}</a>
        <span class="soft">${account(view, row.payeeAccount)}</span>`,
      freeText(referenceText(row)),
      payoutBadge(view, row.status),
      time(view, row.createdAt),
      money(view, row.amount, row.currency),
    ]),
    none: { title: p.payoutsEmpty, text: p.payoutsEmptyText, more: call(view, payoutCall, p.payoutsCall) },
  })
}

/** A tab of approvals: what waits, newest first. */
export function waitingPage(view: ConsoleView, { rows, tab, pages, mayWrite }: WaitingShown): string {
  const p = paymentTexts[view.language]
  return shell(view, {
    title: namesOf(p)[tab],
    wide: true,
    main: html`<div class="heading">
        <h1>${view.t.payouts}</h1>
        ${mayWrite && html`<a class="button primary" href="${view.root}payouts/new">${p.newPayout}</a>`}
      </div>
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
    columns: [[p.payee, 'head'], p.reference, p.madeBy, p.approvalUntil, [p.amount, 'number']],
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
