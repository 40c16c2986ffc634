/** Bulk payouts: the list, the upload with the problems of a file, the preview, and the page of one with its results. */
import { html, type Html } from '../html.ts'
import { fill } from '../language.ts'
import { listPage, type Listed } from './list-page.ts'
import { badge, call, choices, hiddenField, message, table, time } from './components.ts'
import { type BulkProblem } from './bulk-csv.ts'
import { facts, filters, freeText, identifier, money, optionsOf, select, strip } from './lists.ts'
import { type Problems, type Values } from './payments-request.ts'
import { bulkTexts } from './texts/bulk.ts'
import { paymentTexts } from './texts/payments.ts'
import { type ConsoleView, shell } from './view.ts'

export type BulkRow = {
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
  badge(tones[status], bulkTexts[language].status[status])

const count = ({ language }: ConsoleView, n: number): string => n.toLocaleString(language)

const bulkCall = `POST /v1/payouts/bulk
{ "mode": "BestEffort", "idempotencyKey": "…", "payouts": [ … ] }`

export function bulksPage(
  view: ConsoleView,
  { rows, mayWrite, ...shown }: Listed<BulkRow> & { readonly mayWrite: boolean },
): string {
  const b = bulkTexts[view.language]
  const p = paymentTexts[view.language]
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
    none: { title: b.empty, text: b.emptyText, more: call(view, bulkCall, b.call) },
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
  const b = bulkTexts[view.language]
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
  const b = bulkTexts[view.language]
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
  const b = bulkTexts[view.language]
  const p = paymentTexts[view.language]
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

export const itemFilters: readonly string[] = ['status']

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
export type Waiting = {
  readonly payouts: number
  readonly totals: readonly { readonly amount: string; readonly currency: string }[]
  readonly expiresAt: Date
  readonly may: boolean
}

export function bulkPage(view: ConsoleView, bulk: Bulk): string {
  const b = bulkTexts[view.language]
  const p = paymentTexts[view.language]
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
            ...{ options: optionsOf(b.itemStatus), any: p.any },
          }),
        ],
        active: Object.keys(values).length > 0,
      })}
      ${items.length === 0 ? html`<p>${b.noItems}</p>` : itemTable(view, items)}
      <p class="foot"><a href="${view.root}bulk-payouts">${b.back}</a></p>`,
  })
}

function waitingPart(view: ConsoleView, id: string, { payouts, totals, expiresAt, may }: Waiting): Html {
  const b = bulkTexts[view.language]
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
  const b = bulkTexts[view.language]
  const p = paymentTexts[view.language]
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
