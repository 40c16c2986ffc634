/** Reports as files: the list, the form of a new one, and the page of one with its download. */
import { html, type Html } from '../html.ts'
import { fill } from '../language.ts'
import { listPage, type Listed } from './list-page.ts'
import { asking, badge, call, field, hiddenField, message, openDialog, time } from './components.ts'
import { facts, identifier, optionsOf, select, strip, tabs } from './lists.ts'
import { type Problems, type Values } from './payments-request.ts'
import { paymentTexts } from './texts/payments.ts'
import { reportTexts } from './texts/reports.ts'
import { type ConsoleView, shell } from './view.ts'

export type ReportKind = 'statement' | 'transactions' | 'fees' | 'reconciliation'
export type ReportFormat = 'csv' | 'jsonl' | 'pdf' | 'camt.053' | 'camt.053.001.02'

export type ReportRow = {
  readonly id: string
  readonly kind: ReportKind
  readonly format: ReportFormat
  readonly from: Date
  readonly to: Date
  readonly currency?: string | undefined
  readonly status: 'Queued' | 'Running' | 'Ready' | 'Failed'
  readonly progress: number
  readonly createdAt: Date
}

const tones = { Queued: 'neutral', Running: 'warning', Ready: 'good', Failed: 'bad' } as const

function statusPart({ language }: ConsoleView, { status, progress }: ReportRow): Html {
  const r = reportTexts[language]
  const percent = fill(r.progress, { percent: String(progress) })
  return html`${badge(tones[status], r.status[status])}
  ${status === 'Running' && html`<span class="soft">${percent}</span>`}`
}

const periodPart = (view: ConsoleView, { from, to }: ReportRow): Html => html`${time(view, from)} – ${time(view, to)}`

export const reportTabs = (view: ConsoleView, current: 'files' | 'schedules'): Html => {
  const r = reportTexts[view.language]
  return tabs({
    label: r.views,
    items: [
      { text: r.files, href: `${view.root}reports`, current: current === 'files' },
      { text: r.schedules, href: `${view.root}reports/schedules`, current: current === 'schedules' },
    ],
  })
}

const downloadLink = (view: ConsoleView, id: string, about: string): Html =>
  html`<a class="button small" href="${view.root}reports/${id}/content"
    >${reportTexts[view.language].download}<span class="away"> ${about}</span></a
  >`

const reportCall = `POST /v1/reports
{ "kind": "statement", "format": "pdf", "currency": "EUR", "from": "2026-01-01T00:00:00Z", "to": "2026-02-01T00:00:00Z" }`

export const reportFilters: readonly string[] = ['status']

type Reports = Listed<ReportRow> & { readonly mayWrite: boolean; readonly done?: 'removed' | undefined }

export function reportsPage(view: ConsoleView, { rows, mayWrite, done, ...shown }: Reports): string {
  const r = reportTexts[view.language]
  const p = paymentTexts[view.language]
  return listPage(view, shown, {
    title: view.t.reports,
    path: 'reports',
    lead: r.lead,
    done: done && r[done],
    create: mayWrite && { text: r.newReport, href: `${view.root}reports/new` },
    tabs: reportTabs(view, 'files'),
    filters: [{ name: 'status', label: p.status, options: optionsOf(r.status) }],
    columns: [[r.kind, 'head'], r.format, p.currency, r.period, p.status, [view.t.actions, 'actions']],
    cells: rows.map((row) => [
      html`<a href="${view.root}reports/${row.id}">${r.kinds[row.kind]}</a>`,
      r.formats[row.format],
      row.currency ?? '',
      periodPart(view, row),
      statusPart(view, row),
      row.status === 'Ready' ? downloadLink(view, row.id, `${r.kinds[row.kind]}, ${r.formats[row.format]}`) : '',
    ]),
    none: { title: r.empty, text: r.emptyText, more: call(view, reportCall, r.call) },
  })
}

export const reportFields = ['kind', 'format', 'from', 'to', 'currency', 'customerId'] as const
type ReportField = (typeof reportFields)[number]

export type Draft = {
  /** Values as typed. */
  readonly values: Values
  readonly problems: Problems
  readonly idempotencyKey: string
}

/** The fields that reports and schedules share. */
export function contentFields(view: ConsoleView, { values, problems }: Draft): Html {
  const r = reportTexts[view.language]
  const choice = (name: ReportField, label: string, words: Readonly<Record<string, string>>) =>
    select({
      ...{ id: name, name, label, value: values[name], error: problems[name] },
      options: optionsOf(words),
    })
  return html`${choice('kind', r.kind, r.kinds)}
    <p class="help">${r.formatHelp}</p>
    ${choice('format', r.format, r.formats)}`
}

export function scopeFields(view: ConsoleView, { values, problems }: Draft): Html {
  const r = reportTexts[view.language]
  const p = paymentTexts[view.language]
  const input = (name: ReportField, label: string, help: string) =>
    field({
      ...{ id: name, name, help, value: values[name] ?? '', error: problems[name], optional: true },
      ...{ label: fill(p.optional, { label }), more: html`autocomplete="off"` },
    })
  return html`${input('currency', p.currency, r.currencyHelp)} ${input('customerId', p.customerId, r.customerHelp)}`
}

export function newReportPage(view: ConsoleView, draft: Draft): string {
  const r = reportTexts[view.language]
  const { values, problems, idempotencyKey } = draft
  const day = (name: 'from' | 'to', label: string, help?: string) =>
    field({
      ...{ id: name, name, label, type: 'date', value: values[name] ?? '', error: problems[name] },
      ...(help === undefined ? {} : { help }),
    })
  return shell(view, {
    title: r.newReport,
    problems,
    card: true,
    main: html`<h1>${r.newReport}</h1>
      <form method="post" action="${view.root}reports/new">
        ${hiddenField('idempotencyKey', idempotencyKey)} ${contentFields(view, draft)} ${day('from', r.from)}
        ${day('to', r.to, r.toHelp)} ${scopeFields(view, draft)}
        <button type="submit" class="primary">${r.create}</button>
      </form>
      <p class="foot"><a href="${view.root}reports">${r.backToReports}</a></p>`,
  })
}

type Report = ReportRow & {
  readonly customer?: { readonly id: string; readonly href?: string | undefined } | undefined
  readonly rows?: number | undefined
  readonly bytes?: number | undefined
  readonly sha256?: string | undefined
  readonly failure?: string | undefined
  readonly expiresAt: Date
  readonly mayWrite: boolean
  readonly done?: 'created' | undefined
}

export function reportPage(view: ConsoleView, report: Report): string {
  const r = reportTexts[view.language]
  const p = paymentTexts[view.language]
  const { id, kind, format, status, done, rows, bytes, sha256, customer } = report
  const count = (n: number) => n.toLocaleString(view.language)
  return shell(view, {
    title: `${r.report}: ${r.kinds[kind]}`,
    main: html`${done !== undefined && status !== 'Ready' && message('neutral', r[done])}
      <div class="heading">
        <h1>${r.kinds[kind]}</h1>
        ${status === 'Ready' && html`<a class="button primary" href="${view.root}reports/${id}/content">${r.download}</a>`}
      </div>
      ${strip([
        [r.format, r.formats[format]],
        [r.period, periodPart(view, report)],
        [p.status, statusPart(view, report)],
      ])}
      ${facts([
        [r.failure, report.failure],
        [p.currency, report.currency],
        [
          p.customer,
          customer && (customer.href === undefined ? customer.id : html`<a href="${customer.href}">${customer.id}</a>`),
        ],
        [r.rows, rows === undefined ? undefined : count(rows)],
        [r.size, bytes === undefined ? undefined : fill(r.bytes, { count: count(bytes) })],
        [r.hash, sha256 && identifier(view, sha256, r.hash)],
        [p.created, time(view, report.createdAt)],
        [r.expires, time(view, report.expiresAt)],
        [p.id, identifier(view, id, p.id)],
      ])}
      ${report.mayWrite && removal(view, report)}
      <p class="foot"><a href="${view.root}reports">${r.backToReports}</a></p>`,
  })
}

const removeId = 'delete-report'

function removal(view: ConsoleView, { id, kind }: Report): Html {
  const r = reportTexts[view.language]
  return html`<p class="buttons">
      ${openDialog({ id: removeId, label: r.remove, about: r.kinds[kind], tone: 'danger' })}
    </p>
    ${asking({
      ...{ id: removeId, title: r.removeTitle, action: `${view.root}reports/${id}/delete` },
      ...{ effects: [r.removeEffect], submit: r.remove, cancel: view.t.cancel },
    })}`
}
