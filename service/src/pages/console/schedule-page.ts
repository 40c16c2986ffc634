/** Schedules of reports: the list and the form of a new one. */
import { html, type Html } from '../html.ts'
import { listPage, type Listed } from './list-page.ts'
import { asking, call, field, hiddenField, openDialog, time } from './components.ts'
import { freeText, optionsOf, select } from './lists.ts'
import {
  contentFields,
  type Draft,
  reportFields,
  type ReportFormat,
  type ReportKind,
  reportTabs,
  scopeFields,
} from './report-page.ts'
import { reportTexts } from './texts/reports.ts'
import { type ConsoleView, shell } from './view.ts'

type ScheduleRow = {
  readonly id: string
  readonly kind: ReportKind
  readonly format: ReportFormat
  readonly frequency: 'daily' | 'weekly' | 'monthly'
  readonly emails: readonly string[]
  readonly timeZone: string
  readonly nextAt: Date
}

type Schedules = Listed<ScheduleRow> & {
  readonly mayWrite: boolean
  readonly done?: 'scheduleCreated' | 'scheduleDeleted' | undefined
}

const scheduleCall = `POST /v1/reports/schedules
{ "kind": "statement", "format": "pdf", "currency": "EUR", "frequency": "monthly", "emails": ["ann@example.com"] }`

export function schedulesPage(view: ConsoleView, { rows, mayWrite, done, ...shown }: Schedules): string {
  const r = reportTexts[view.language]
  return listPage(view, shown, {
    title: r.schedules,
    heading: view.t.reports,
    path: 'reports/schedules',
    lead: r.schedulesLead,
    done: done && r[done],
    create: mayWrite && { text: r.newSchedule, href: `${view.root}reports/schedules/new` },
    tabs: reportTabs(view, 'schedules'),
    columns: [
      [r.kind, 'head'],
      r.format,
      r.frequency,
      r.emails,
      r.timeZone,
      r.next,
      ...(mayWrite ? [[view.t.actions, 'actions'] as const] : []),
    ],
    cells: rows.map((row) => [
      r.kinds[row.kind],
      r.formats[row.format],
      r.frequencies[row.frequency],
      freeText(row.emails.join(', ')),
      row.timeZone,
      time(view, row.nextAt),
      ...(mayWrite ? [deletion(view, row)] : []),
    ]),
    none: { title: r.schedulesEmpty, text: r.schedulesEmptyText, more: call(view, scheduleCall, r.schedulesCall) },
  })
}

function deletion(view: ConsoleView, { id, kind, frequency }: ScheduleRow): Html {
  const r = reportTexts[view.language]
  const own = `delete-${id}`
  const about = `${r.kinds[kind]}, ${r.frequencies[frequency]}`
  return html`${openDialog({ id: own, label: r.deleteSchedule, about, tone: 'danger' })}
  ${asking({
    ...{ id: own, title: r.deleteScheduleTitle, action: `${view.root}reports/schedules/${id}/delete` },
    about: html`<p><strong>${about}</strong></p>`,
    ...{ effects: [r.deleteScheduleEffect], submit: r.deleteSchedule, cancel: view.t.cancel },
  })}`
}

export const scheduleFields = [
  ...reportFields.filter((name) => name !== 'from' && name !== 'to'),
  'frequency',
  'emails',
  'timeZone',
] as const

export function newSchedulePage(view: ConsoleView, draft: Draft): string {
  const r = reportTexts[view.language]
  const { values, problems, idempotencyKey } = draft
  const input = (name: 'emails' | 'timeZone', label: string, help: string) =>
    field({
      ...{ id: name, name, label, help, value: values[name] ?? '', error: problems[name] },
      more: html`autocomplete="off"`,
    })
  return shell(view, {
    title: r.newSchedule,
    problems,
    card: true,
    main: html`<h1>${r.newSchedule}</h1>
      <p class="lead">${r.schedulesEmptyText}</p>
      <form method="post" action="${view.root}reports/schedules/new">
        ${hiddenField('idempotencyKey', idempotencyKey)} ${contentFields(view, draft)}
        ${select({
          ...{ id: 'frequency', name: 'frequency', label: r.frequency, value: values['frequency'] },
          ...{ options: optionsOf(r.frequencies), error: problems['frequency'] },
        })}
        ${input('emails', r.emails, r.emailsHelp)} ${input('timeZone', r.timeZone, r.timeZoneHelp)}
        ${scopeFields(view, draft)}
        <button type="submit" class="primary">${r.createSchedule}</button>
      </form>
      <p class="foot"><a href="${view.root}reports/schedules">${r.backToReports}</a></p>`,
  })
}
