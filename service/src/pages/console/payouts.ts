/** Payouts: the lists, the page of one, and the forms that cancel and recall it. */
import { decimalText, type Permission, type ResponseOf } from '@partner-payments/wire'
import type { PublicAnswer, PublicRequest } from '../../kernel/api/index.ts'
import { amountText, type Currency, isUuid, type Minor, newId } from '../../kernel/index.ts'
import type { WaitingApproval } from '../../payouts/index.ts'
import { explain, type Explained } from '../../transactions/index.ts'
import { html, type Html } from '../html.ts'
import { asking, optionsOf, type Problems } from '../kit/forms.ts'
import { type ConsoleView, shell } from '../kit/frame.ts'
import { type Listed, listPage, pager, type Pages, sumsNote, tabs } from '../kit/lists.ts'
import {
  account,
  call,
  facts,
  freeText,
  identifier,
  inFours,
  live,
  message,
  money,
  payoutBadge,
  rawJson,
  referenceText,
  section,
  serviceReference,
  type Step,
  steps,
  strip,
  table,
  time,
  wordOf,
} from '../kit/parts.ts'
import { linkOf, page, queryText, readForm, readQuery, seeOther, statusOf, timesOf } from '../kit/request.ts'
import { fill } from '../language.ts'
import { type Columns, csvOf, exported, exportPageRows } from './list-export.ts'
import { currencyOptions } from './payees.ts'
import { callOf, type Frame, ifFound, type Person, problemsOf, readList, type Routes, routesOf } from './request.ts'
import { type Recalls, recallPart, recallRowOf } from './payout-recalls.ts'
import { type ConsoleTexts, texts } from './texts/index.ts'
import { holdPart, stepsOf, type Sums, sumsOf, transactionHref } from './transactions.ts'

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

/** A payout that is approved alone, or a bulk, which is approved as a whole. */
type WaitingRow = {
  readonly id: string
  readonly expiresAt: Date
  readonly requestedBy: string
  readonly totals: readonly Money[]
} & (
  | { readonly kind: 'payout'; readonly payee: string; readonly payeeAccount: string; readonly reference: string }
  | { readonly kind: 'bulk'; readonly payouts: number; readonly createdAt: Date }
)

type WaitingTab = Exclude<PayoutTab, 'all'>

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

const namesOf = (p: ConsoleTexts['payments']) => ({
  all: p.tabAll,
  mine: p.tabMine,
  made: p.tabMade,
  waiting: p.tabWaiting,
})

function tabsOf({ root, language }: ConsoleView, tab: PayoutTab): Html {
  const p = texts[language].payments
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
  {
    rows,
    mayWrite,
    sums,
    ...shown
  }: Listed<PayoutRow> & {
    readonly mayWrite: boolean
    /** Absent: the list has no filter. */
    readonly sums?: Sums | undefined
  },
): string {
  const p = texts[view.language].payments
  return listPage(view, shown, {
    title: view.t.payouts,
    path: 'payouts',
    lead: p.payoutsText,
    create: mayWrite && { text: p.newPayout, href: `${view.root}payouts/new` },
    tabs: tabsOf(view, 'all'),
    filters: [
      { name: 'reference', label: p.reference },
      { name: 'status', label: p.status, options: optionsOf(view.t.payoutStatus) },
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
    isMoving: rows.some(({ status }) => isMoving(status)),
    columns: [[p.payee, 'head'], p.reference, p.status, p.created, [p.amount, 'number']],
    cells: rows.map((row) => [
      html`<a href="${view.root}payouts/${row.id}">${row.payee}</a>
        <code class="soft account">${inFours(row.payeeAccount)}</code>`,
      freeText(referenceText(row)),
      payoutBadge(view, row.status),
      time(view, row.createdAt),
      money(view, row.amount, row.currency),
    ]),
    none: { title: p.payoutsEmpty, text: p.payoutsEmptyText, more: call(view, payoutCall, p.payoutsCall) },
    after:
      rows.length > 0 &&
      html`<p class="more">
        <a class="button" href="${linkOf(`${view.root}exports/payouts.csv`, shown.values)}" download
          >${p.exportPayouts}</a
        >
      </p>`,
  })
}

/** Reports whether the status changes without the person. */
const isMoving = (status: string): boolean => ['Pending', 'PendingApproval', 'Processing', 'Sent'].includes(status)

/** A tab of approvals: what waits, newest first. */
export function waitingPage(view: ConsoleView, { rows, tab, pages, mayWrite }: WaitingShown): string {
  const p = texts[view.language].payments
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
      row.kind === 'bulk' ? time(view, row.createdAt) : freeText(row.reference),
      freeText(row.requestedBy),
      time(view, row.expiresAt),
      html`<span class="lines">${row.totals.map((sum) => money(view, sum.amount, sum.currency))}</span>`,
    ]),
  })
}

type PayoutDetails = {
  readonly id: string
  readonly reference: string
  readonly userReference?: string | undefined
  readonly amount: string
  readonly currency: string
  readonly fee?: string | undefined
  readonly feeCurrency: string
  readonly sold?: { readonly amount: string; readonly currency: string } | undefined
  readonly status: string
  readonly payee: string
  readonly payeeAccount: string
  readonly payeeHref?: string | undefined
  readonly transactionHref?: string | undefined
  readonly requestedBy?: string | undefined
  readonly rail?: string | undefined
  readonly errorKey?: string | undefined
  readonly endToEndId: string
  readonly idempotencyKey?: string | undefined
  readonly createdAt: Date
  readonly updatedAt: Date
  readonly approval?:
    | {
        readonly until?: Date | undefined
        readonly decision?: string | undefined
        readonly decidedBy?: string | undefined
        readonly decidedAt?: Date | undefined
        readonly reason?: string | undefined
      }
    | undefined
  readonly may: {
    readonly cancel: boolean
    /** `own`: the person made the payout, so that another one approves it. */
    readonly approve: 'yes' | 'own' | 'no'
  }
  /** Outcome of the last form. */
  readonly done?: 'created' | 'cancelled' | 'recallRequested' | undefined
  /** Absent: the payout has not settled. */
  readonly recalls?: Recalls | undefined
  /** Absent: it does not wait. */
  readonly hold?: Explained | undefined
  readonly steps: readonly Step[]
  readonly problems: Problems
  readonly raw: unknown
}

const cancelId = 'cancel-payout'

export function payoutPage(view: ConsoleView, payout: PayoutDetails): string {
  const p = texts[view.language].payments
  const { amount, currency, payee, status, createdAt, problems, transactionHref } = payout
  return shell(view, {
    title: `${p.payout} ${referenceText(payout)}`,
    problems,
    main: html`${outcome(view, payout)}
      <div class="heading">
        <h1>${payee}</h1>
        <div class="buttons">
          ${payout.may.approve === 'yes' && html`<a class="button primary" href="${view.root}payouts/${payout.id}/approve">${p.review}</a>`}
          ${payout.may.cancel && html`<button type="button" class="danger" popovertarget="${cancelId}" aria-haspopup="dialog">${p.cancelPayout}</button>`}
        </div>
      </div>
      ${live(
        isMoving(status),
        strip([
          [p.amount, money(view, amount, currency, 'main')],
          [p.status, payoutBadge(view, status)],
          [p.account, account(view, payout.payeeAccount)],
          [p.created, time(view, createdAt)],
        ]),
      )}
      ${payout.may.approve === 'own' && message('warning', p.approvalOwn)}
      ${payout.hold !== undefined && holdPart(view, payout.hold)} ${details(view, payout)}
      ${payout.approval !== undefined && approvalPart(view, payout.approval)}
      ${payout.steps.length > 0 && html`${section('timeline', p.timeline, steps(view, payout.steps))}`}
      ${payout.recalls !== undefined && recallPart(view, payout.id, payout.recalls, problems)}
      <p class="buttons">
        ${transactionHref !== undefined && html`<a class="button" href="${transactionHref}">${p.toTransaction}</a>`}
        ${payout.payeeHref !== undefined && html`<a class="button" href="${payout.payeeHref}">${p.toPayee}</a>`}
      </p>
      ${rawJson(view, payout.raw)} ${payout.may.cancel && cancelDialog(view, payout)}`,
  })
}

function outcome({ language }: ConsoleView, { done, status }: PayoutDetails): Html | undefined {
  const p = texts[language].payments
  if (done === 'cancelled' || done === 'recallRequested') return message('good', p[done])
  if (done !== 'created') return undefined
  if (status === 'Pending') return message('good', p.created_Pending)
  return message('good', status === 'PendingApproval' ? p.created_PendingApproval : p.created_other)
}

function details(view: ConsoleView, payout: PayoutDetails): Html {
  const p = texts[view.language].payments
  const { fee, feeCurrency, sold, errorKey, idempotencyKey, endToEndId, requestedBy, rail, id } = payout
  const ours = serviceReference(payout)
  return facts([
    [p.failure, errorKey && wordOf(p.errorKey, errorKey)],
    [p.reference, html`<span class="free">${referenceText(payout)}</span>`],
    [p.serviceReference, ours && identifier(view, ours, p.serviceReference)],
    [p.fee, fee === undefined ? undefined : money(view, fee, feeCurrency)],
    [p.exchanged, sold && money(view, sold.amount, sold.currency)],
    [p.requestedBy, requestedBy],
    [p.rail, rail && wordOf(p.rails, rail)],
    [p.endToEndId, identifier(view, endToEndId, p.endToEndId)],
    [p.idempotencyKey, idempotencyKey && identifier(view, idempotencyKey, p.idempotencyKey)],
    [p.id, identifier(view, id, p.id)],
    [p.updated, time(view, payout.updatedAt)],
  ])
}

function approvalPart(view: ConsoleView, approval: NonNullable<PayoutDetails['approval']>): Html {
  const p = texts[view.language].payments
  const { until, decision, decidedBy, decidedAt, reason } = approval
  return html`${section(
    'approval',
    p.approval,
    facts([
      [p.approval, decision && wordOf(p.approvalDecision, decision)],
      [p.decidedBy, decidedBy],
      [p.decidedAt, decidedAt && time(view, decidedAt)],
      [p.rejectReason, reason],
      [p.approvalUntil, decision === undefined && until !== undefined ? time(view, until) : undefined],
    ]),
  )}`
}

function cancelDialog(view: ConsoleView, { id, payee, amount, currency }: PayoutDetails): Html {
  const p = texts[view.language].payments
  return asking({
    ...{ id: cancelId, title: p.cancelTitle, action: `${view.root}payouts/${id}/cancel` },
    about: html`<p>${money(view, amount, currency, 'main')}</p>
      <p>${payee}</p>`,
    effects: [p.cancelEffect, p.cancelMoney, p.cancelFinal],
    ...{ submit: p.cancelPayout, cancel: p.keep },
  })
}

type Payout = ResponseOf<'listPayouts'>['data'][number]

async function showList(frame: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  const { view, caller } = person
  const given = readQuery(request, ['tab'])
  const tab = payoutTabs.find((each) => each === given['tab']) ?? 'all'
  if (tab !== 'all') return showWaiting(frame, request, person, tab)
  const call = callOf(person, request)
  const { data, shown } = await readList(request, person, payoutFilters, (query) =>
    frame.operate('listPayouts', { ...call, query: queryText(query) }),
  )
  const isSummed = Object.keys(shown.values).length > 0 && data.length > 0
  const sums = isSummed
    ? sumsOf(await frame.operate('sumPayouts', { ...call, query: queryText(timesOf(shown.values)) }))
    : undefined
  const payouts = { ...shown, sums, rows: data.map(rowOf), mayWrite: caller.permissions.includes('payouts:write') }
  return page(request, statusOf(shown.problems), payoutsPage({ ...view, current: 'payouts' }, payouts))
}

function exportColumns({ language, t }: ConsoleView): Columns<Payout> {
  const p = texts[language].payments
  const amountOf = (amount: Payout['fee']) => (amount === undefined ? undefined : { amount: decimalText(amount) })
  return [
    [p.userReference, (row) => row.userReference],
    [p.serviceReference, (row) => row.reference],
    [p.endToEndId, (row) => row.endToEndId],
    [p.payee, (row) => row.beneficiaryName],
    [p.account, (row) => inFours(row.beneficiaryAccount).replaceAll(' ', '')],
    [p.status, (row) => wordOf(t.payoutStatus, row.status)],
    [p.amount, (row) => amountOf(row.amount)],
    [p.currency, (row) => row.currency],
    [p.fee, (row) => amountOf(row.fee)],
    [p.feeCurrency, (row) => (row.fee === undefined ? undefined : (row.sellCurrency ?? row.currency))],
    [p.rail, (row) => row.rail && wordOf(p.rails, row.rail)],
    [p.failure, (row) => row.errorKey && wordOf(p.errorKey, row.errorKey)],
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
    const query = `${queryText({ ...timesOf(values), cursor })}&limit=${exportPageRows}`
    return operate('listPayouts', { ...callOf(person, request), query })
  }
  const make = () => csvOf(view.language, exportColumns(view), read)
  return exported(request, view, { list: 'payouts', values, filters: payoutFilters, make })
}

const waitingPerPage = 25

/** A tab of approvals. Its cursor is the id of the last payout or bulk: what is decided meanwhile moves no row to another page. */
async function showWaiting(
  { approvals }: Frame,
  request: PublicRequest,
  { view, caller }: Person,
  tab: WaitingTab,
): Promise<PublicAnswer> {
  const { cursor } = readQuery(request, ['cursor'])
  const afterId = cursor !== undefined && isUuid(cursor) ? cursor.toLowerCase() : null
  const { partnerId, serviceAccountId } = caller
  const made = { waiting: 'any', made: { by: serviceAccountId }, mine: { notBy: serviceAccountId } } as const
  const found = await approvals.waitingApprovals(partnerId, { made: made[tab], afterId, rowsMax: waitingPerPage + 1 })
  const rows = found.slice(0, waitingPerPage)
  const last = found.length > waitingPerPage ? rows.at(-1) : undefined
  const shown = {
    rows: rows.map(waitingRowOf),
    pages: {
      next: last && linkOf('payouts', { tab, cursor: last.id }),
      first: afterId === null ? undefined : linkOf('payouts', { tab }),
    },
    ...{ tab, mayWrite: caller.permissions.includes('payouts:write') },
  }
  return page(request, 200, waitingPage({ ...view, current: 'payouts' }, shown))
}

function waitingRowOf(row: WaitingApproval): WaitingRow {
  const { id, expiresAt, requestedNames } = row
  const common = { id, expiresAt, requestedBy: requestedNames.join(', ') }
  const moneyOf = ({ amount, currency }: { readonly amount: Minor; readonly currency: Currency }) => ({
    ...{ amount: amountText(amount, currency), currency },
  })
  if (row.kind === 'bulk') {
    const { payouts, createdAt, totals } = row
    return { ...common, kind: 'bulk', payouts, createdAt, totals: totals.map(moneyOf) }
  }
  const { creditorName: payee, creditorAccount: payeeAccount, remittance } = row.payout
  const reference = remittance ?? row.payout.reference
  return { ...common, kind: 'payout', payee, payeeAccount, reference, totals: [moneyOf(row.payout)] }
}

/** A form of the page that was refused: its problems, and what was typed. */
type Refused = { readonly problems: Problems; readonly recall?: { readonly reason: string; readonly text: string } }

async function showOne(
  frame: Frame,
  request: PublicRequest,
  person: Person,
  { problems, recall }: Refused = { problems: {} },
): Promise<PublicAnswer> {
  const { view, caller, user } = person
  const { operate } = frame
  const may = (permission: Permission) => caller.permissions.includes(permission)
  const call = callOf(person, request)
  const id = request.params['id'] ?? ''
  const raw = await operate('getPayout', { ...call, params: { id } })
  const ofTransaction = { ...call, params: { reference: raw.reference } }
  const hasSettled = raw.rail === 'Sepa' && (raw.status === 'Completed' || raw.status === 'Returned')
  const [transaction, timeline, recalls] = await Promise.all([
    may('transactions:read') ? ifFound(operate('getTransaction', ofTransaction)) : undefined,
    may('transactions:read') ? ifFound(operate('getTransactionTimeline', ofTransaction)) : undefined,
    hasSettled ? operate('listPayoutRecalls', { ...call, params: { id } }) : undefined,
  ])
  const isOwn = timeline?.requestedBy?.id === user.id
  const isWaiting = raw.status === 'PendingApproval'
  const { beneficiaryId } = raw
  const shown = {
    ...detailsOf(raw),
    payeeHref:
      beneficiaryId !== undefined && may('beneficiaries:read') ? `${view.root}payees/${beneficiaryId}` : undefined,
    transactionHref: transaction && transactionHref(view, raw.reference),
    requestedBy: timeline?.requestedBy?.name,
    may: {
      cancel: may('payouts:write') && (isWaiting || raw.status === 'Pending'),
      approve: !isWaiting || !may('payouts:write') ? ('no' as const) : isOwn ? ('own' as const) : ('yes' as const),
    },
    done: outcomes.find((each) => each === readQuery(request, ['done'])['done']),
    hold:
      timeline?.hold ??
      (isWaiting ? explain({ kind: 'approval', by: detailsOf(raw).approval?.until ?? null }) : undefined),
    steps: timeline === undefined ? [] : stepsOf(view, timeline),
    recalls: recalls && {
      rows: recalls.data.map((each) => recallRowOf(view, each)),
      form: may('payouts:write') && raw.status === 'Completed' ? { idempotencyKey: newId(), typed: recall } : undefined,
    },
    ...{ problems, raw },
  }
  return page(request, statusOf(problems), payoutPage({ ...view, current: 'payouts' }, shown))
}

const outcomes = ['created', 'cancelled', 'recallRequested'] as const

export const payoutRoutes: Routes = (frame, _withPerson, withMoney) => {
  const { operate } = frame
  const cancel = async (_frame: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> => {
    const id = request.params['id'] ?? ''
    try {
      await operate('cancelPayout', { ...callOf(person, request), params: { id } })
    } catch (error) {
      return showOne(frame, request, person, { problems: problemsOf(texts[person.view.language].payments, error, []) })
    }
    return seeOther(`../${id}?done=cancelled`)
  }
  const recall = async (_frame: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> => {
    const id = request.params['id'] ?? ''
    const given = readForm(request)
    const typed = { reason: given('reason'), text: given('text').trim() }
    const { reason, text } = typed
    const call = { ...callOf(person, request), params: { id }, idempotencyKey: given('idempotencyKey') || newId() }
    try {
      await operate('createPayoutRecall', { ...call, body: { reason, ...(text && { text }) } })
    } catch (error) {
      const problems = problemsOf(texts[person.view.language].payments, error, ['reason', 'text'])
      return showOne(frame, request, person, { problems, recall: typed })
    }
    return seeOther(`../${id}?done=recallRequested`)
  }
  const route = routesOf(frame, withMoney, 'payouts')
  return [
    route('GET', '', 'payouts:read', showList),
    routesOf(frame, withMoney, 'exports')('GET', '/payouts.csv', 'payouts:read', exportList),
    route('GET', '/{id}', 'payouts:read', showOne),
    route('POST', '/{id}/cancel', 'payouts:write', cancel),
    route('POST', '/{id}/recall', 'payouts:write', recall),
  ]
}

const rowOf = ({ id, reference, userReference, status, currency, ...payout }: Payout) => ({
  ...{ id, reference, userReference, status, currency },
  payee: payout.beneficiaryName,
  payeeAccount: payout.beneficiaryAccount,
  amount: decimalText(payout.amount),
  createdAt: new Date(payout.createdAt),
  approvalExpiresAt: payout.approvalExpiresAt === undefined ? undefined : new Date(payout.approvalExpiresAt),
})

function detailsOf(raw: Payout) {
  const { fee, sellAmount, sellCurrency, approval, approvalExpiresAt } = raw
  const { rail, errorKey, endToEndId, idempotencyKey } = raw
  const at = (text: string | undefined) => (text === undefined ? undefined : new Date(text))
  return {
    ...rowOf(raw),
    ...{ rail, errorKey, endToEndId, idempotencyKey },
    fee: fee === undefined ? undefined : decimalText(fee),
    feeCurrency: sellCurrency ?? raw.currency,
    sold:
      sellAmount === undefined || sellCurrency === undefined
        ? undefined
        : { amount: decimalText(sellAmount), currency: sellCurrency },
    updatedAt: new Date(raw.updatedAt),
    approval: approval && {
      until: at(approvalExpiresAt),
      decision: approval.decision,
      decidedBy: approval.decidedBy?.name,
      decidedAt: at(approval.decidedAt),
      reason: approval.reason,
    },
  }
}
