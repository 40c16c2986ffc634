/** Payouts: the lists. */
import { decimalText, type ResponseOf } from '@partner-payments/wire'
import type { PublicAnswer, PublicRequest } from '../../kernel/api/index.ts'
import { amountText, type Currency, isUuid, type Minor } from '../../kernel/index.ts'
import type { WaitingApproval } from '../../payouts/index.ts'
import { html, type Html } from '../html.ts'
import { toSelectOptions } from '../kit/forms.ts'
import { type ConsoleView, shell } from '../kit/frame.ts'
import { type ListRows, listPage, pager, type PageLinks, sumsNote, tabs } from '../kit/lists.ts'
import {
  account,
  freeText,
  formatAccount,
  money,
  payoutBadge,
  referenceCell,
  table,
  time,
  wordFor,
} from '../kit/parts.ts'
import { pathWithQuery, page, queryText, readQuery, pageStatus, withTimes } from '../kit/request.ts'
import { fill } from '../language.ts'
import { type Columns, writeCsv, sendCsv, exportPageRows } from './list-export.ts'
import { currencyOptions } from './payees.ts'
import { callOf, type Frame, type Person, type Routes, placeRoutes } from './request.ts'
import { type ConsoleTexts, texts } from './texts/index.ts'
import { readListWithSums, type Sums } from './transactions.ts'

const payoutTabs = ['all', 'mine', 'made', 'waiting'] as const

type PayoutTab = (typeof payoutTabs)[number]

type PayoutRow = {
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

/** A single payout, or a bulk, which is approved as a whole. */
type WaitingRow = {
  readonly id: string
  readonly expiresAt: Date
  readonly requestedBy: string
  readonly totals: readonly Money[]
} & (
  | {
      readonly kind: 'payout'
      readonly payee: string
      readonly payeeAccount: string
      readonly reference: string
      readonly userReference?: string | undefined
    }
  | {
      readonly kind: 'bulk'
      readonly name?: string | undefined
      readonly payouts: number
      readonly createdAt: Date
    }
)

type WaitingTab = Exclude<PayoutTab, 'all'>

type WaitingList = {
  readonly rows: readonly WaitingRow[]
  readonly pages: PageLinks
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

const tabNames = (p: ConsoleTexts['payments']) => ({
  all: p.tabAll,
  mine: p.tabMine,
  made: p.tabMade,
  waiting: p.tabWaiting,
})

function tabLinks({ root, language }: ConsoleView, tab: PayoutTab): Html {
  const p = texts[language].payments
  return tabs({
    label: p.tabs,
    items: payoutTabs.map((each) => ({
      text: tabNames(p)[each],
      href: `${root}payouts${each === 'all' ? '' : `?tab=${each}`}`,
      current: each === tab,
    })),
  })
}

export function payoutsPage(
  view: ConsoleView,
  {
    rows,
    mayWrite,
    sums,
    ...shown
  }: ListRows<PayoutRow> & {
    readonly mayWrite: boolean
    /** Absent: no filter is set. */
    readonly sums?: Sums | undefined
  },
): string {
  const p = texts[view.language].payments
  return listPage(view, shown, {
    title: view.t.payouts,
    path: 'payouts',
    lead: p.payoutsText,
    create: mayWrite && { text: p.newPayout, href: `${view.root}payouts/new` },
    tabs: tabLinks(view, 'all'),
    filters: [
      { name: 'reference', label: p.reference },
      { name: 'status', label: p.status, options: toSelectOptions(view.t.payoutStatus) },
      { name: 'currency', label: p.currency, options: currencyOptions },
      { name: 'createdFrom', label: p.createdFrom, type: 'date' },
      { name: 'createdTo', label: p.createdTo, type: 'date' },
    ],
    more: [
      { name: 'beneficiaryId', label: p.payeeId },
      { name: 'customerId', label: p.customerId },
      { name: 'idempotencyKey', label: p.idempotencyKey },
    ],
    note: sums !== undefined && sumsNote(view, sums),
    isLive: rows.some(({ status }) => isInProgress(status)),
    columns: [[p.payee, 'head'], p.reference, p.status, p.created, [p.amount, 'number']],
    cells: rows.map((row) => [
      html`<a href="${view.root}payouts/${row.id}">${row.payee}</a>
        <code class="soft account">${formatAccount(row.payeeAccount)}</code>`,
      referenceCell(row),
      payoutBadge(view, row.status),
      time(view, row.createdAt),
      money(view, row.amount, row.currency),
    ]),
    none: { title: p.payoutsEmpty, text: p.payoutsEmptyText },
    after:
      rows.length > 0 &&
      html`<p class="more">
        <a class="button" href="${pathWithQuery(`${view.root}exports/payouts.csv`, shown.values)}" download
          >${p.exportPayouts}</a
        >
      </p>`,
  })
}

/** Reports whether the status can still change without an action of the person. */
export const isInProgress = (status: string): boolean =>
  ['Pending', 'PendingApproval', 'Processing', 'Sent'].includes(status)

/** Renders a tab of pending approvals, newest first. */
export function pendingApprovalsPage(view: ConsoleView, { rows, tab, pages, mayWrite }: WaitingList): string {
  const p = texts[view.language].payments
  return shell(view, {
    title: tabNames(p)[tab],
    wide: true,
    main: html`<div class="heading">
        <h1>${view.t.payouts}</h1>
        ${mayWrite && html`<a class="button primary" href="${view.root}payouts/new">${p.newPayout}</a>`}
      </div>
      <p class="lead">${p.tabNote}</p>
      ${tabLinks(view, tab)}
      ${
        rows.length === 0
          ? html`<p class="calm">${{ mine: p.mineEmpty, made: p.madeEmpty, waiting: p.waitingEmpty }[tab]}</p>`
          : waitingTable(view, rows)
      }
      ${pager(view, pages)}`,
  })
}

function waitingTable(view: ConsoleView, rows: readonly WaitingRow[]): Html {
  const p = texts[view.language].payments
  const b = texts[view.language].bulk
  return table({
    caption: view.t.payouts,
    columns: [[p.payee, 'head'], p.reference, p.madeBy, p.approvalUntil, [p.amount, 'number']],
    rows: rows.map((row) => [
      row.kind === 'bulk'
        ? html`<a href="${view.root}bulk-payouts/${row.id}">${b.bulk}</a>
            <span class="soft">${fill(b.countOf, { count: row.payouts.toLocaleString(view.language) })}</span>`
        : html`<a href="${view.root}payouts/${row.id}">${row.payee}</a>
            <span class="soft">${account(view, row.payeeAccount)}</span>`,
      row.kind === 'payout'
        ? referenceCell(row)
        : row.name === undefined
          ? time(view, row.createdAt)
          : freeText(row.name),
      freeText(row.requestedBy),
      time(view, row.expiresAt),
      html`<span class="lines">${row.totals.map((sum) => money(view, sum.amount, sum.currency))}</span>`,
    ]),
  })
}

type Payout = ResponseOf<'listPayouts'>['data'][number]

async function showList(frame: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  const { view, caller } = person
  const given = readQuery(request, ['tab'])
  const tab = payoutTabs.find((each) => each === given['tab']) ?? 'all'
  if (tab !== 'all') return showWaiting(frame, request, person, tab)
  const call = callOf(person, request)
  const { data, shown, sums } = await readListWithSums(
    request,
    person,
    payoutFilters,
    (query) => frame.operate('listPayouts', { ...call, query: queryText(query) }),
    (query) => frame.operate('sumPayouts', { ...call, query: queryText(query) }),
  )
  const payouts = { ...shown, sums, rows: data.map(payoutRow), mayWrite: caller.permissions.includes('payouts:write') }
  return page(request, pageStatus(shown.problems), payoutsPage(view, payouts))
}

export const waitingPerPage = 25

function exportColumns({ language, t }: ConsoleView): Columns<Payout> {
  const p = texts[language].payments
  const amountOf = (amount: Payout['fee']) => (amount === undefined ? undefined : { amount: decimalText(amount) })
  return [
    [p.userReference, (row) => row.userReference],
    [p.serviceReference, (row) => row.reference],
    [p.endToEndId, (row) => row.endToEndId],
    [p.payee, (row) => row.beneficiaryName],
    [p.account, (row) => formatAccount(row.beneficiaryAccount).replaceAll(' ', '')],
    [p.status, (row) => wordFor(t.payoutStatus, row.status)],
    [p.amount, (row) => amountOf(row.amount)],
    [p.currency, (row) => row.currency],
    [p.fee, (row) => amountOf(row.fee)],
    [p.feeCurrency, (row) => (row.fee === undefined ? undefined : (row.sellCurrency ?? row.currency))],
    [p.rail, (row) => row.rail && wordFor(p.rails, row.rail)],
    [p.failure, (row) => row.errorKey && wordFor(p.errorKey, row.errorKey)],
    [p.customerId, (row) => row.customerId],
    [p.payeeId, (row) => row.beneficiaryId],
    [p.decidedBy, (row) => row.approval?.decidedBy?.name],
    [p.createdUtc, (row) => ({ at: row.createdAt })],
    [p.updatedUtc, (row) => ({ at: row.updatedAt })],
  ]
}

function exportList({ operate }: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  const { view } = person
  const values = readQuery(request, payoutFilters)
  const read = (cursor: string | undefined) => {
    const query = `${queryText({ ...withTimes(values), cursor })}&limit=${exportPageRows}`
    return operate('listPayouts', { ...callOf(person, request), query })
  }
  const make = () => writeCsv(view.language, exportColumns(view), read)
  return sendCsv(request, view, { list: 'payouts', values, filters: payoutFilters, make })
}

/**
 * Shows a tab of pending approvals. The cursor is the id of the last row, so that decisions do not shift rows between
 * pages.
 */
async function showWaiting(
  { access, payouts, bulkPayouts }: Frame,
  request: PublicRequest,
  { view, caller }: Person,
  tab: WaitingTab,
): Promise<PublicAnswer> {
  const { cursor } = readQuery(request, ['cursor'])
  const afterId = cursor !== undefined && isUuid(cursor) ? cursor.toLowerCase() : null
  const { partnerId, serviceAccountId } = caller
  const notBy = tab === 'mine' ? await access.madeBy(caller) : []
  const made = { waiting: 'any', made: { by: serviceAccountId }, mine: { notBy } } as const
  const found = await payouts.waitingApprovals(partnerId, { made: made[tab], afterId, rowsMax: waitingPerPage + 1 })
  const rows = found.slice(0, waitingPerPage)
  const bulkIds = rows.filter(({ kind }) => kind === 'bulk').map(({ id }) => id)
  const names = await bulkPayouts.names(partnerId, bulkIds)
  const last = found.length > waitingPerPage ? rows.at(-1) : undefined
  const shown = {
    rows: rows.map((row) => waitingRow(row, names)),
    pages: {
      next: last && pathWithQuery('payouts', { tab, cursor: last.id }),
      first: afterId === null ? undefined : pathWithQuery('payouts', { tab }),
    },
    tab,
    mayWrite: caller.permissions.includes('payouts:write'),
  }
  return page(request, 200, pendingApprovalsPage(view, shown))
}

function waitingRow(row: WaitingApproval, names: ReadonlyMap<string, string>): WaitingRow {
  const { id, expiresAt, requestedNames } = row
  const common = { id, expiresAt, requestedBy: requestedNames.join(', ') }
  const moneyOf = ({ amount, currency }: { readonly amount: Minor; readonly currency: Currency }) => ({
    amount: amountText(amount, currency),
    currency,
  })
  if (row.kind === 'bulk') {
    const { payouts, createdAt, totals } = row
    return { ...common, kind: 'bulk', name: names.get(id), payouts, createdAt, totals: totals.map(moneyOf) }
  }
  const { creditorName: payee, creditorAccount: payeeAccount, reference, remittance } = row.payout
  const named = { reference, userReference: remittance ?? undefined }
  return { ...common, kind: 'payout', payee, payeeAccount, ...named, totals: [moneyOf(row.payout)] }
}

export const payoutListRoutes: Routes = (frame) => [
  placeRoutes(frame, frame.withMoney, 'payouts')('GET', '', 'payouts:read', showList),
  placeRoutes(frame, frame.withMoney, 'exports')('GET', '/payouts.csv', 'payouts:read', exportList),
]

export const payoutRow = ({ id, reference, userReference, status, currency, ...payout }: Payout) => ({
  id,
  reference,
  userReference,
  status,
  currency,
  payee: payout.beneficiaryName,
  payeeAccount: payout.beneficiaryAccount,
  amount: decimalText(payout.amount),
  createdAt: new Date(payout.createdAt),
  approvalExpiresAt: payout.approvalExpiresAt === undefined ? undefined : new Date(payout.approvalExpiresAt),
})
