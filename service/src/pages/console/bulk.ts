/** Bulk payouts: the list, the upload with its preview, and the page of one with its items. */
import { bulkPayouts, decimalText, rawNumber, type ResponseOf } from '@partner-payments/wire'
import type { PublicAnswer, PublicRequest } from '../../kernel/api/index.ts'
import { newId } from '../../kernel/index.ts'
import { html, type Html } from '../html.ts'
import { choices, hiddenField, optionsOf, type Problems, select, type Values } from '../kit/forms.ts'
import { type ConsoleView, shell } from '../kit/frame.ts'
import { filters, type Listed, listPage } from '../kit/lists.ts'
import { badge, call, facts, freeText, identifier, message, money, strip, table, time } from '../kit/parts.ts'
import { idOf, page, queryText, readQuery, seeOther, statusOf } from '../kit/request.ts'
import { fill } from '../language.ts'
import { type BulkFile, type BulkProblem, linesMax, readBulkFile, readParts, sumsOf, tooMany } from './bulk-csv.ts'
import { callOf, type Frame, ifFound, type Person, problemsOf, readList, type Routes, routesOf } from './request.ts'
import { texts } from './texts/index.ts'

type BulkRow = {
  readonly id: string
  readonly mode: 'AllOrNothing' | 'BestEffort'
  readonly status: 'Processing' | 'Completed' | 'Refused'
  readonly payouts: number
  readonly accepted: number
  readonly refused: number
  readonly createdAt: Date
}

const tones = { Processing: 'warning', Completed: 'good', Refused: 'bad' } as const

const statusBadge = ({ language }: ConsoleView, status: BulkRow['status']): Html =>
  badge(tones[status], texts[language].bulk.status[status])

const count = ({ language }: ConsoleView, n: number): string => n.toLocaleString(language)

export function bulksPage(
  view: ConsoleView,
  { rows, mayWrite, ...shown }: Listed<BulkRow> & { readonly mayWrite: boolean },
): string {
  const b = texts[view.language].bulk
  const p = texts[view.language].payments
  return listPage(view, shown, {
    title: view.t.bulkPayouts,
    path: 'bulk-payouts',
    lead: b.lead,
    create: mayWrite && { text: b.newBulk, href: `${view.root}bulk-payouts/new` },
    columns: [[p.created, 'head'], p.status, [b.payouts, 'number'], [b.accepted, 'number'], [b.refused, 'number']],
    cells: rows.map((row) => [
      html`<a href="${view.root}bulk-payouts/${row.id}">${time(view, row.createdAt)}</a>`,
      statusBadge(view, row.status),
      count(view, row.payouts),
      count(view, row.accepted),
      count(view, row.refused),
    ]),
    none: { title: b.empty, text: b.emptyText },
  })
}

const exampleFile = `beneficiaryId,amount,currency,reference
019aa8c4-6e4f-7a12-8d3e-2b1c5f7a9e10,1250.00,EUR,Invoice 77`

type Upload = {
  readonly mode: string | undefined
  readonly problems: Problems
  /** The first problems of the file, and how many it has. */
  readonly inFile?: { readonly shown: readonly BulkProblem[]; readonly count: number } | undefined
}

export function newBulkPage(view: ConsoleView, { mode, problems, inFile }: Upload): string {
  const b = texts[view.language].bulk
  const error = problems['file']
  const modes = ['BestEffort', 'AllOrNothing'] as const
  return shell(view, {
    title: b.newBulk,
    wide: inFile !== undefined,
    problems,
    main: html`<h1>${b.newBulk}</h1>
      <form class="card" method="post" action="${view.root}bulk-payouts/new/check" enctype="multipart/form-data">
        ${choices({
          ...{ id: 'mode', name: 'mode', legend: b.mode, chosen: mode ?? 'BestEffort', error: problems['mode'] },
          options: modes.map((value) => ({ value, label: b.modes[value], help: b.modeHelp[value] })),
        })}
        <div class="field${error !== undefined && ' wrong'}">
          <label for="file">${b.file}</label>
          <p class="help" id="file-help">${b.fileHelp}</p>
          ${error !== undefined && html`<p class="error" id="file-error">${error}</p>`}
          <input
            type="file"
            id="file"
            name="file"
            accept=".csv,text/csv"
            required
            aria-describedby="${error !== undefined && 'file-error '}file-help"
            ${error !== undefined && html` aria-invalid="true"`}
          />
        </div>
        <button type="submit" class="primary">${b.check}</button>
      </form>
      ${inFile === undefined ? call(view, exampleFile, b.example) : problemTable(view, inFile)}
      <p class="foot"><a href="${view.root}bulk-payouts">${b.back}</a></p>`,
  })
}

function problemTable(view: ConsoleView, inFile: NonNullable<Upload['inFile']>): Html {
  const b = texts[view.language].bulk
  const shown = { shown: count(view, inFile.shown.length), count: count(view, inFile.count) }
  return html`<section aria-labelledby="problems-title">
    <h2 id="problems-title">${b.problems}</h2>
    ${inFile.count > inFile.shown.length && html`<p>${fill(b.problemsShown, shown)}</p>`}
    ${table({
      caption: b.problems,
      columns: [[b.line, 'head'], b.column, b.problem],
      rows: inFile.shown.map(({ line, column, code }) => [
        count(view, line),
        column === undefined ? '' : html`<code>${column}</code>`,
        b.problemCode[code],
      ]),
    })}
  </section>`
}

type Preview = {
  readonly mode: 'AllOrNothing' | 'BestEffort'
  readonly csv: string
  readonly idempotencyKey: string
  readonly payouts: number
  readonly sums: readonly { readonly currency: string; readonly amount: string }[]
  /** `payee`: undefined if the partner has no such payee. */
  readonly first: readonly {
    readonly payee: string | undefined
    readonly amount: string
    readonly currency: string
    readonly reference: string
  }[]
}

export function bulkPreviewPage(view: ConsoleView, preview: Preview): string {
  const b = texts[view.language].bulk
  const p = texts[view.language].payments
  const { mode, csv, idempotencyKey, payouts, sums, first } = preview
  return shell(view, {
    title: b.preview,
    wide: true,
    main: html`<h1>${b.preview}</h1>
      <p class="lead">${b.previewText}</p>
      ${strip([
        [b.payouts, count(view, payouts)],
        [b.sums, html`<span class="lines">${sums.map((sum) => money(view, sum.amount, sum.currency, 'main'))}</span>`],
        [b.mode, b.modes[mode]],
      ])}
      <h2>${fill(b.firstLines, { count: count(view, first.length) })}</h2>
      ${table({
        caption: b.payouts,
        columns: [[p.payee, 'head'], p.reference, [p.amount, 'number']],
        rows: first.map(({ payee, amount, currency, reference }) => [
          payee ?? badge('bad', b.unknownPayee),
          freeText(reference),
          money(view, amount, currency),
        ]),
      })}
      <form method="post" action="${view.root}bulk-payouts/new/send" class="buttons" enctype="multipart/form-data">
        ${hiddenField('mode', mode)} ${hiddenField('idempotencyKey', idempotencyKey)} ${hiddenField('file', csv)}
        <button type="submit" class="primary">${fill(b.send, { count: count(view, payouts) })}</button>
        <a class="button" href="${view.root}bulk-payouts/new">${b.otherFile}</a>
      </form>`,
  })
}

const itemFilters: readonly string[] = ['status']

type Item = {
  readonly position: number
  readonly amount: string
  readonly currency: string
  readonly status: 'Processing' | 'Accepted' | 'Refused' | 'NotMade'
  readonly reference?: string | undefined
  readonly payoutHref?: string | undefined
  readonly problem?: string | undefined
}

type Bulk = BulkRow & {
  readonly endedAt?: Date | undefined
  readonly items: readonly Item[]
  readonly values: Values
  readonly problems: Problems
  readonly done?: 'created' | undefined
  /** Payouts that wait for an approval. Absent: none does. */
  readonly waiting?: Waiting | undefined
}

/** `may`: whether the person may decide about payouts. */
type Waiting = {
  readonly payouts: number
  readonly totals: readonly { readonly amount: string; readonly currency: string }[]
  readonly expiresAt: Date
  readonly may: boolean
}

export function bulkPage(view: ConsoleView, bulk: Bulk): string {
  const b = texts[view.language].bulk
  const p = texts[view.language].payments
  const { id, status, payouts, accepted, refused, items, values, problems, done } = bulk
  const path = `${view.root}bulk-payouts/${id}`
  return shell(view, {
    title: b.bulk,
    wide: true,
    problems,
    main: html`${done !== undefined && status === 'Processing' && message('neutral', b[done])}
      <h1>${b.bulk}</h1>
      ${bulk.waiting !== undefined && waitingPart(view, id, bulk.waiting)}
      ${strip([
        [p.status, statusBadge(view, status)],
        [b.payouts, count(view, payouts)],
        [b.accepted, count(view, accepted)],
        [b.refused, count(view, refused)],
      ])}
      ${facts([
        [b.mode, b.modes[bulk.mode]],
        [p.created, time(view, bulk.createdAt)],
        [b.ended, bulk.endedAt && time(view, bulk.endedAt)],
        [p.id, identifier(view, id, p.id)],
      ])}
      <h2>${b.results}</h2>
      ${filters(view, {
        path,
        main: [
          select({
            ...{ id: 'status', name: 'status', label: p.status, value: values['status'], error: problems['status'] },
            ...{ options: optionsOf(b.itemStatus), any: view.t.any },
          }),
        ],
        active: Object.keys(values).length > 0,
      })}
      ${items.length === 0 ? html`<p>${b.noItems}</p>` : itemTable(view, items)}
      <p class="foot"><a href="${view.root}bulk-payouts">${b.back}</a></p>`,
  })
}

function waitingPart(view: ConsoleView, id: string, { payouts, totals, expiresAt, may }: Waiting): Html {
  const b = texts[view.language].bulk
  return html`<section class="card" aria-labelledby="waiting-title">
    <h2 id="waiting-title">${b.waiting}</h2>
    ${strip([
      [b.payouts, count(view, payouts)],
      [b.sums, html`<span class="lines">${totals.map((sum) => money(view, sum.amount, sum.currency, 'main'))}</span>`],
      [b.waitingUntil, time(view, expiresAt)],
    ])}
    ${may && html`<p><a class="button primary" href="${view.root}bulk-payouts/${id}/approve">${b.review}</a></p>`}
  </section>`
}

function itemTable(view: ConsoleView, items: readonly Item[]): Html {
  const b = texts[view.language].bulk
  const p = texts[view.language].payments
  const itemTones = { Processing: 'warning', Accepted: 'good', Refused: 'bad', NotMade: 'neutral' } as const
  return table({
    caption: b.results,
    columns: [['#', 'head'], p.status, p.reference, p.payout, [p.amount, 'number']],
    rows: items.map(({ position, status, reference, payoutHref, problem, amount, currency }) => [
      count(view, position + 1),
      html`${badge(itemTones[status], b.itemStatus[status])}
      ${problem !== undefined && html`<span class="soft">${problem}</span>`}`,
      freeText(reference),
      payoutHref === undefined ? '' : html`<a href="${payoutHref}">${b.toPayout}</a>`,
      money(view, amount, currency),
    ]),
  })
}

/** A file of 10,000 lines with long references, so that its problems are listed. */
const fileBytesMax = 4 * 1024 * 1024

/** Payouts that the preview shows with the names of their payees. */
const previewedMax = 20

const rowOf = ({ createdAt, ...bulk }: ResponseOf<'getBulkPayout'>): BulkRow => ({
  ...bulk,
  createdAt: new Date(createdAt),
})

async function showList({ operate }: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  const { data, shown } = await readList(request, person, [], (query) =>
    operate('listBulkPayouts', { ...callOf(person, request), query: queryText(query) }),
  )
  const mayWrite = person.caller.permissions.includes('payouts:write')
  const view = { ...person.view, current: 'bulk-payouts' }
  return page(request, 200, bulksPage(view, { ...shown, rows: data.map(rowOf), mayWrite }))
}

async function showOne({ operate }: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  const { view } = person
  const values = readQuery(request, itemFilters)
  const call = { ...callOf(person, request), params: { bulkId: idOf(request) } }
  const bulk = await operate('getBulkPayout', call)
  const items = await operate('listBulkPayoutItems', { ...call, query: queryText(values) }).catch((error: unknown) => ({
    data: [],
    problems: problemsOf(texts[view.language].payments, error, itemFilters),
  }))
  const problems = 'problems' in items ? items.problems : {}
  const waiting = await operate('getBulkPayoutApproval', call)
  const shown = {
    ...rowOf(bulk),
    endedAt: bulk.endedAt === undefined ? undefined : new Date(bulk.endedAt),
    items: items.data.map(({ position, amount, currency, status, userReference, payoutId, problem }) => ({
      ...{ position, currency, status, reference: userReference, problem: problem?.detail },
      amount: decimalText(amount),
      payoutHref: payoutId && `${view.root}payouts/${payoutId}`,
    })),
    ...{ values, problems },
    waiting: waitingOf(waiting, person),
    done: readQuery(request, ['done'])['done'] === 'created' ? ('created' as const) : undefined,
  }
  return page(request, statusOf(problems), bulkPage({ ...view, current: 'bulk-payouts' }, shown))
}

/** Undefined: nothing waits. */
const waitingOf = (
  { payouts, totals, expiresAt }: ResponseOf<'getBulkPayoutApproval'>,
  { caller }: Person,
): Waiting | undefined =>
  expiresAt === undefined
    ? undefined
    : {
        payouts,
        totals: totals.map(({ amount, currency }) => ({ amount: decimalText(amount), currency })),
        expiresAt: new Date(expiresAt),
        may: caller.permissions.includes('payouts:write'),
      }

type Sent = { readonly mode: (typeof bulkPayouts.bulkModes)[number]; readonly csv: string; readonly file: BulkFile }

const showForm = (
  request: PublicRequest,
  { view }: Person,
  mode?: string,
  problems: Problems = {},
  inFile?: { readonly shown: BulkFile['problems']; readonly count: number },
): PublicAnswer => {
  return page(
    request,
    statusOf(problems),
    newBulkPage({ ...view, current: 'bulk-payouts' }, { mode, problems, inFile }),
  )
}

/** Reads the form with the file. A file with problems shows the form again, with the first of them. */
async function withFile(
  request: PublicRequest,
  person: Person,
  act: (sent: Sent, parts: ReadonlyMap<string, string>) => Promise<PublicAnswer>,
): Promise<PublicAnswer> {
  const b = texts[person.view.language].bulk
  const parts = await readParts(request.body)
  const [csv, given] = [parts.get('file') ?? '', parts.get('mode')]
  const mode = bulkPayouts.bulkModes.find((each) => each === given)
  const refuse = (problem: string) => showForm(request, person, given, { file: problem })
  if (mode === undefined)
    return showForm(request, person, given, { mode: texts[person.view.language].payments.fieldRequired })
  if (csv === '') return refuse(b.fileMissing)
  if (csv.includes('\uFFFD') || csv.includes('\0')) return refuse(b.fileNoText)
  const file = await readBulkFile(csv)
  const count = (n: number) => n.toLocaleString(person.view.language)
  if (file.isCut) return refuse(fill(b.fileMany, { count: `> ${count(linesMax)}` }))
  if (file.problemCount > 0) {
    const problems = { file: fill(b.fileWrong, { count: count(file.problemCount) }) }
    return showForm(request, person, mode, problems, { shown: file.problems, count: file.problemCount })
  }
  if (file.lines.length === 0) return refuse(b.fileEmpty)
  if (tooMany(file)) return refuse(fill(b.fileMany, { count: count(file.lines.length) }))
  return act({ mode, csv, file }, parts)
}

const preview = ({ operate }: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> =>
  withFile(request, person, async ({ mode, csv, file }) => {
    const shown = file.lines.slice(0, previewedMax)
    const payees = await Promise.all(
      shown.map(({ beneficiaryId }) =>
        ifFound(operate('getBeneficiary', { ...callOf(person, request), params: { id: beneficiaryId } })),
      ),
    )
    const first = shown.map(({ amount, currency, reference }, at) => ({
      ...{ payee: payees[at]?.name, amount, currency, reference },
    }))
    const one = { mode, csv, idempotencyKey: newId(), payouts: file.lines.length, sums: sumsOf(file.lines), first }
    return page(request, 200, bulkPreviewPage({ ...person.view, current: 'bulk-payouts' }, one))
  })

const send = ({ operate }: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> =>
  withFile(request, person, async ({ mode, file }, parts) => {
    const idempotencyKey = parts.get('idempotencyKey') || newId()
    const payouts = file.lines.map(({ amount, reference, ...line }, at) => ({
      ...line,
      amount: rawNumber(amount),
      ...(reference === '' ? {} : { reference }),
      // The place in the file: the same form that is sent twice pays once.
      idempotencyKey: `${idempotencyKey}-${at + 1}`,
    }))
    try {
      const body = { mode, idempotencyKey, payouts }
      const { id } = await operate('createBulkPayout', { ...callOf(person, request), body })
      return seeOther(`../${id}?done=created`)
    } catch (error) {
      return showForm(request, person, mode, problemsOf(texts[person.view.language].payments, error, []))
    }
  })

export const bulkRoutes: Routes = (frame, _withPerson, withMoney) => {
  const route = routesOf(frame, withMoney, 'bulk-payouts')
  return [
    route('GET', '', 'payouts:read', showList),
    route('GET', '/new', 'payouts:write', (_frame, request, person) => showForm(request, person)),
    { ...route('POST', '/new/check', 'payouts:write', preview), bodyBytesMax: fileBytesMax },
    { ...route('POST', '/new/send', 'payouts:write', send), bodyBytesMax: fileBytesMax },
    route('GET', '/{id}', 'payouts:read', showOne),
  ]
}
