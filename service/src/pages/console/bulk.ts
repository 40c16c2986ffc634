/** Bulk payouts: the list, and the page of a bulk with its results. */
import { decimalText, type ResponseOf } from '@partner-payments/wire'
import type { PublicAnswer, PublicRequest } from '../../kernel/api/index.ts'
import { html, type Html } from '../html.ts'
import { spreadsheetAmount, spreadsheetText } from '../kit/csv.ts'
import { toSelectOptions, postButton, type FormState } from '../kit/forms.ts'
import { type ConsoleView, shell } from '../kit/frame.ts'
import { filterForm, type ListRows, listPage } from '../kit/lists.ts'
import {
  badge,
  facts,
  freeText,
  identifier,
  formatAccount,
  linkButton,
  liveRegion,
  message,
  money,
  payoutBadge,
  section,
  summaryStrip,
  table,
  time,
  wordFor,
} from '../kit/parts.ts'
import { page, queryText, readCompletedForm, readId, readQuery, pageStatus } from '../kit/request.ts'
import { fill } from '../language.ts'
import { refusalText } from './bulk-check-page.ts'
import { bulkDraftRoutes, csvDownload } from './bulk-drafts.ts'
import { type CreatorFact, readCreatorFact, creatorFacts } from './creator.ts'
import { callOf, type Frame, type Person, refusalProblems, readList, type Routes, placeRoutes } from './request.ts'
import { texts } from './texts/index.ts'

type BulkRow = ResponseOf<'getBulkPayout'>

const tones = { Processing: 'warning', Completed: 'good', Refused: 'bad' } as const

const statusBadge = ({ language }: ConsoleView, status: BulkRow['status']): Html =>
  badge(tones[status], texts[language].bulk.status[status])

const formatCount = ({ language }: ConsoleView, n: number): string => n.toLocaleString(language)

type BulkList = ListRows<BulkRow> & {
  readonly mayWrite: boolean
  /** Drafts of the person that were not sent. */
  readonly unsent?: readonly { readonly id: string; readonly createdAt: Date }[]
}

export function bulksPage(view: ConsoleView, { rows, mayWrite, unsent = [], ...shown }: BulkList): string {
  const b = texts[view.language].bulk
  const p = texts[view.language].payments
  return listPage(view, shown, {
    title: view.t.bulkPayouts,
    path: 'bulk-payouts',
    lead: b.lead,
    create: mayWrite && { text: b.newBulk, href: `${view.root}bulk-payouts/new` },
    note: unsent.length > 0 && unsentPart(view, unsent),
    columns: [[p.created, 'head'], p.status, [b.payouts, 'number'], [b.accepted, 'number'], [b.refused, 'number']],
    cells: rows.map((row) => [
      html`<a href="${view.root}bulk-payouts/${row.id}">${time(view, row.createdAt)}</a>
        ${row.name !== undefined && html`<span class="soft free">${row.name}</span>`}`,
      statusBadge(view, row.status),
      formatCount(view, row.payouts),
      formatCount(view, row.accepted),
      formatCount(view, row.refused),
    ]),
    none: { title: b.empty, text: b.emptyText },
  })
}

function unsentPart(view: ConsoleView, unsent: NonNullable<BulkList['unsent']>): Html {
  const b = texts[view.language].bulk
  const [before = '', after = ''] = b.unsentFile.split('{time}')
  return section(
    'unsent',
    b.unsent,
    html`<ul class="effects">
      ${unsent.map(
        ({ id, createdAt }) =>
          html`<li><a href="${view.root}bulk-payouts/drafts/${id}">${before}${time(view, createdAt)}${after}</a></li> `,
      )}
    </ul>`,
  )
}

const itemFilters: readonly string[] = ['status']

type ItemRow = {
  readonly position: number
  readonly amount: string
  readonly currency: string
  readonly status: 'Processing' | 'Accepted' | 'Refused' | 'NotMade'
  /** Undefined: the payee was erased. */
  readonly payee?: string | undefined
  readonly account?: string | undefined
  /** Current status of the created payout. */
  readonly payoutStatus?: string | undefined
  readonly reference?: string | undefined
  readonly payoutHref?: string | undefined
  readonly problem?: string | undefined
}

const doneForms = ['created', 'approved', 'rejected'] as const

type BulkView = BulkRow &
  FormState & {
    readonly creator?: CreatorFact | undefined
    readonly items: readonly ItemRow[]
    readonly done?: (typeof doneForms)[number] | undefined
    /** True if some payouts were not created, and the person may send them again. */
    readonly mayRepeat?: boolean
    /** Payouts that await approval. Absent: none. */
    readonly waiting?: WaitingPayouts | undefined
  }

/** `may`: true if the person may approve payouts. */
type WaitingPayouts = {
  readonly payouts: number
  readonly totals: readonly { readonly amount: string; readonly currency: string }[]
  readonly expiresAt: Date
  readonly may: boolean
}

export function bulkPage(view: ConsoleView, bulk: BulkView): string {
  const b = texts[view.language].bulk
  const p = texts[view.language].payments
  const { id, status, payouts, accepted, refused, items, values, problems, done } = bulk
  const path = `${view.root}bulk-payouts/${id}`
  return shell(view, {
    title: b.bulk,
    wide: true,
    problems,
    main: html`${done !== undefined && message('good', b[done])}
      <h1>${b.bulk}</h1>
      ${bulk.waiting !== undefined && waitingPart(view, id, bulk.waiting)}
      ${liveRegion(
        status === 'Processing',
        summaryStrip([
          [p.status, statusBadge(view, status)],
          [b.payouts, formatCount(view, payouts)],
          [b.accepted, formatCount(view, accepted)],
          [b.refused, formatCount(view, refused)],
        ]),
      )}
      ${facts([
        [b.file, bulk.name && freeText(bulk.name)],
        [b.mode, b.modes[bulk.mode]],
        [p.created, time(view, bulk.createdAt)],
        ...creatorFacts(bulk),
        [b.ended, bulk.endedAt && time(view, bulk.endedAt)],
        [p.id, identifier(view, id, p.id)],
      ])}
      <h2>${b.results}</h2>
      <p class="buttons">${linkButton(`${path}/results.csv`, b.download)}</p>
      ${filterForm(
        view,
        { values, problems },
        {
          path: `bulk-payouts/${id}`,
          filters: [{ name: 'status', label: p.status, options: toSelectOptions(b.itemStatus) }],
        },
      )}
      ${
        bulk.mayRepeat === true &&
        postButton(`${path}/again`, fill(b.againNotMade, { count: formatCount(view, payouts - accepted) }))
      }
      ${liveRegion(status === 'Processing', items.length === 0 ? html`<p>${b.noItems}</p>` : itemTable(view, items))}
      <p class="foot"><a href="${view.root}bulk-payouts">${b.back}</a></p>`,
  })
}

function waitingPart(view: ConsoleView, id: string, { payouts, totals, expiresAt, may }: WaitingPayouts): Html {
  const b = texts[view.language].bulk
  return html`<section class="card" aria-labelledby="waiting-title">
    <h2 id="waiting-title">${b.waiting}</h2>
    ${summaryStrip([
      [b.payouts, formatCount(view, payouts)],
      [b.sums, html`<span class="lines">${totals.map((sum) => money(view, sum.amount, sum.currency, 'main'))}</span>`],
      [b.waitingUntil, time(view, expiresAt)],
    ])}
    ${may && html`<p><a class="button primary" href="${view.root}bulk-payouts/${id}/approve">${b.review}</a></p>`}
  </section>`
}

function itemTable(view: ConsoleView, items: readonly ItemRow[]): Html {
  const b = texts[view.language].bulk
  const p = texts[view.language].payments
  const itemTones = { Processing: 'warning', Accepted: 'good', Refused: 'bad', NotMade: 'neutral' } as const
  return table({
    caption: b.results,
    columns: [[b.resultColumns.line, 'head'], p.payee, p.reference, p.status, p.payout, [p.amount, 'number']],
    rows: items.map(
      ({ position, status, payoutStatus, payee, account, reference, payoutHref, problem, amount, currency }) => [
        formatCount(view, position + 1),
        html`${payee} ${account !== undefined && html`<span class="soft">${formatAccount(account)}</span>`}`,
        freeText(reference),
        html`${payoutStatus === undefined ? badge(itemTones[status], b.itemStatus[status]) : payoutBadge(view, payoutStatus)}
        ${problem !== undefined && html`<span class="soft">${problem}</span>`}`,
        payoutHref === undefined ? '' : html`<a href="${payoutHref}">${b.toPayout}</a>`,
        money(view, amount, currency),
      ],
    ),
  })
}

async function showList({ operate, uploads }: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  const { data, shown } = await readList(request, person, [], (query) =>
    operate('listBulkPayouts', { ...callOf(person, request), query: queryText(query) }),
  )
  const mayWrite = person.caller.permissions.includes('payouts:write')
  const view = person.view
  const unsent = mayWrite ? await uploads.unsent(person, 'Bulk') : []
  return page(request, 200, bulksPage(view, { ...shown, rows: data, mayWrite, unsent }))
}

async function showOne(frame: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  const { view } = person
  const { operate } = frame
  const values = readQuery(request, itemFilters)
  const call = { ...callOf(person, request), params: { bulkId: readId(request) } }
  const bulk = await operate('getBulkPayout', call)
  const items = await operate('listBulkPayoutItems', { ...call, query: queryText(values) }).catch((error: unknown) => ({
    data: [],
    problems: refusalProblems(texts[view.language].payments, error, itemFilters),
  }))
  const problems = 'problems' in items ? items.problems : {}
  const waiting = await operate('getBulkPayoutApproval', call)
  const shown = {
    ...bulk,
    creator: await readCreatorFact(frame, person, bulk.id),
    items: items.data.map((item) => itemRow(view, item)),
    values,
    problems,
    waiting: waitingPayouts(waiting, person),
    mayRepeat:
      bulk.status !== 'Processing' &&
      bulk.accepted < bulk.payouts &&
      person.caller.permissions.includes('payouts:write'),
    done: readCompletedForm(request, doneForms),
  }
  return page(request, pageStatus(problems), bulkPage(view, shown))
}

type WireItem = ResponseOf<'listBulkPayoutItems'>['data'][number]

const itemRow = (view: ConsoleView, { amount, userReference, payoutId, problem, ...item }: WireItem): ItemRow => ({
  position: item.position,
  currency: item.currency,
  status: item.status,
  reference: userReference,
  payee: item.beneficiaryName,
  payoutStatus: item.payoutStatus,
  account: item.beneficiaryAccount,
  problem: problem && refusalText(view, { ...problem, errors: [] }),
  amount: decimalText(amount),
  payoutHref: payoutId && `${view.root}payouts/${payoutId}`,
})

/** Sends the results as a CSV file. */
async function showResults(
  { operate }: Frame,
  request: PublicRequest,
  { view, ...person }: Person,
): Promise<PublicAnswer> {
  const { language, t } = view
  const b = texts[language].bulk
  const call = { ...callOf(person, request), params: { bulkId: readId(request) } }
  const { data } = await operate('listBulkPayoutItems', call)
  const head = (
    ['line', 'name', 'account', 'amount', 'currency', 'reference', 'status', 'problem', 'transaction'] as const
  ).map((column) => b.resultColumns[column])
  const rows = data.map((item) => {
    const {
      position,
      payee = '',
      account = '',
      amount,
      currency,
      reference = '',
      problem = '',
      ...shown
    } = itemRow(view, item)
    const status =
      shown.payoutStatus === undefined ? b.itemStatus[shown.status] : wordFor(t.payoutStatus, shown.payoutStatus)
    const money = [spreadsheetAmount(language, amount), currency]
    return [
      String(position + 1),
      payee,
      formatAccount(account),
      ...money,
      reference,
      status,
      problem,
      item.reference ?? '',
    ]
  })
  return csvDownload(
    `${b.bulk}-${readId(request).slice(0, shortIdChars)}.csv`,
    spreadsheetText(language, [head, ...rows]),
  )
}

/** Number of characters of an id in a file name. */
const shortIdChars = 13

/** Returns the payouts that await approval. Undefined: there are none. */
const waitingPayouts = (
  { payouts, totals, expiresAt }: ResponseOf<'getBulkPayoutApproval'>,
  { caller }: Person,
): WaitingPayouts | undefined =>
  expiresAt === undefined
    ? undefined
    : {
        payouts,
        totals: totals.map(({ amount, currency }) => ({ amount: decimalText(amount), currency })),
        expiresAt: new Date(expiresAt),
        may: caller.permissions.includes('payouts:write'),
      }

export const bulkRoutes: Routes = (frame) => {
  const route = placeRoutes(frame, frame.withMoney, 'bulk-payouts')
  return [
    route('GET', '', 'payouts:read', showList),
    ...bulkDraftRoutes(frame),
    route('GET', '/{id}', 'payouts:read', showOne),
    route('GET', '/{id}/results.csv', 'payouts:read', showResults),
  ]
}
