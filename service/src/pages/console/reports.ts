/** Reports: the files, the schedules, and the forms that create and delete them. */
import type { ResponseOf } from '@partner-payments/wire'
import type { PublicAnswer, PublicRequest } from '../../kernel/api/index.ts'
import { newId } from '../../kernel/index.ts'
import { html, type Html } from '../html.ts'
import {
  confirmationDialog,
  confirmedForm,
  type Draft,
  formPage,
  type Input,
  dialogButton,
  toSelectOptions,
  type FieldProblems,
  type FieldValues,
} from '../kit/forms.ts'
import { type ConsoleView, shell } from '../kit/frame.ts'
import { type ListRows, listPage, tabs } from '../kit/lists.ts'
import {
  badge,
  facts,
  freeText,
  heading,
  identifier,
  linkButton,
  links,
  message,
  summaryStrip,
  time,
} from '../kit/parts.ts'
import {
  dayStart,
  readCompletedForm,
  consoleHeaders,
  readId,
  page,
  queryText,
  readForm,
  readQuery,
  seeOther,
  pageStatus,
  readValues,
} from '../kit/request.ts'
import { fill } from '../language.ts'
import { type CustomerLink, readCustomerLinks } from './customer-link.ts'
import { currencyOptions } from './payees.ts'
import {
  callOf,
  type Frame,
  may,
  type Person,
  refusalProblems,
  readList,
  type Routes,
  placeRoutes,
  textsWithRefusals,
} from './request.ts'
import { texts } from './texts/index.ts'

type Report = ResponseOf<'getReport'>

const tones = { Queued: 'neutral', Running: 'warning', Ready: 'good', Failed: 'bad' } as const

function statusPart({ language }: ConsoleView, { status, progress }: Report): Html {
  const r = texts[language].reports
  const percent = fill(r.progress, { percent: String(progress) })
  return html`${badge(tones[status], r.status[status])}
  ${status === 'Running' && html`<span class="soft">${percent}</span>`}`
}

const periodPart = (view: ConsoleView, { from, to }: Report): Html =>
  html`<span>${time(view, from)} – ${time(view, to)}</span>`

const reportTabs = (view: ConsoleView, current: 'files' | 'schedules'): Html => {
  const r = texts[view.language].reports
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
    >${texts[view.language].reports.download}<span class="away"> ${about}</span></a
  >`

const reportFilters: readonly string[] = ['status']

type ReportList = ListRows<Report> & { readonly mayWrite: boolean; readonly done?: 'removed' | undefined }

export function reportsPage(view: ConsoleView, { rows, mayWrite, done, ...shown }: ReportList): string {
  const r = texts[view.language].reports
  const p = texts[view.language].payments
  return listPage(view, shown, {
    title: view.t.reports,
    path: 'reports',
    lead: r.lead,
    done: done && r[done],
    create: mayWrite && { text: r.newReport, href: `${view.root}reports/new` },
    tabs: reportTabs(view, 'files'),
    filters: [{ name: 'status', label: p.status, options: toSelectOptions(r.status) }],
    columns: [[r.kind, 'head'], r.format, p.currency, r.period, p.status, [view.t.actions, 'actions']],
    cells: rows.map((row) => [
      html`<a href="${view.root}reports/${row.id}">${r.kinds[row.kind]}</a>`,
      r.formats[row.format],
      row.currency ?? '',
      periodPart(view, row),
      statusPart(view, row),
      row.status === 'Ready' ? downloadLink(view, row.id, `${r.kinds[row.kind]}, ${r.formats[row.format]}`) : '',
    ]),
    none: { title: r.empty, text: r.emptyText },
  })
}

export const reportFields = ['kind', 'format', 'from', 'to', 'currency', 'customerId'] as const

/** Returns the fields that reports and schedules share. */
function contentFields({ language }: ConsoleView): readonly (Input | Html)[] {
  const r = texts[language].reports
  return [
    { name: 'kind', label: r.kind, options: toSelectOptions(r.kinds) },
    html`<p class="help">${r.formatHelp}</p>`,
    { name: 'format', label: r.format, options: toSelectOptions(r.formats) },
  ]
}

function scopeFields({ language }: ConsoleView): readonly (Input | Html)[] {
  const r = texts[language].reports
  const p = texts[language].payments
  return [
    { name: 'currency', label: p.currency, options: currencyOptions, any: r.currencyAny, optional: true },
    html`<p class="help">${r.currencyHelp}</p>`,
    { name: 'customerId', label: p.customerId, help: r.customerHelp, optional: true },
  ]
}

export function newReportPage(view: ConsoleView, draft: Draft): string {
  const r = texts[view.language].reports
  return formPage(view, {
    ...draft,
    title: r.newReport,
    submit: r.create,
    action: 'reports/new',
    fields: [
      ...contentFields(view),
      { name: 'from', label: r.from, type: 'date' },
      { name: 'to', label: r.to, help: r.toHelp, type: 'date' },
      ...scopeFields(view),
    ],
    back: { path: 'reports', text: r.backToReports },
  })
}

type ReportPage = {
  readonly report: Report
  readonly customer?: CustomerLink | undefined
  readonly mayWrite: boolean
  readonly done?: 'created' | undefined
}

export function reportPage(view: ConsoleView, { report, customer, mayWrite, done }: ReportPage): string {
  const r = texts[view.language].reports
  const p = texts[view.language].payments
  const { id, kind, format, status, rows, bytes, sha256 } = report
  const count = (n: number) => n.toLocaleString(view.language)
  return shell(view, {
    title: `${r.report}: ${r.kinds[kind]}`,
    main: html`${done !== undefined && status !== 'Ready' && message('neutral', r[done])}
      ${heading(r.kinds[kind], status === 'Ready' && linkButton(`${view.root}reports/${id}/content`, r.download, 'primary'))}
      ${summaryStrip([
        [r.format, r.formats[format]],
        [r.period, periodPart(view, report)],
        [p.status, statusPart(view, report)],
      ])}
      ${facts([
        [r.failure, report.failure],
        [p.currency, report.currency],
        [p.customer, customer && links([{ text: customer.name, href: customer.href }])],
        [r.rows, rows === undefined ? undefined : count(rows)],
        [r.size, bytes === undefined ? undefined : fill(r.bytes, { count: count(bytes) })],
        [r.hash, sha256 && identifier(view, sha256, r.hash)],
        [p.created, time(view, report.createdAt)],
        [r.expires, time(view, report.expiresAt)],
        [p.id, identifier(view, id, p.id)],
      ])}
      ${mayWrite && removal(view, report)}
      <p class="foot"><a href="${view.root}reports">${r.backToReports}</a></p>`,
  })
}

function removal(view: ConsoleView, { id, kind }: Report): Html {
  const r = texts[view.language].reports
  return confirmedForm(view, {
    id: 'delete-report',
    title: r.removeTitle,
    action: `${view.root}reports/${id}/delete`,
    submit: r.remove,
    about: r.kinds[kind],
    effects: [r.removeEffect],
  })
}

type Schedule = ResponseOf<'listReportSchedules'>['data'][number]

type ScheduleList = ListRows<Schedule> & {
  readonly mayWrite: boolean
  readonly done?: 'scheduleCreated' | 'scheduleDeleted' | undefined
}

export function schedulesPage(view: ConsoleView, { rows, mayWrite, done, ...shown }: ScheduleList): string {
  const r = texts[view.language].reports
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
      time(view, row.nextRunAt),
      ...(mayWrite ? [deletion(view, row)] : []),
    ]),
    none: { title: r.schedulesEmpty, text: r.schedulesEmptyText },
  })
}

function deletion(view: ConsoleView, { id, kind, frequency }: Schedule): Html {
  const r = texts[view.language].reports
  const own = `delete-${id}`
  const about = `${r.kinds[kind]}, ${r.frequencies[frequency]}`
  return html`${dialogButton({ id: own, label: r.deleteSchedule, about, tone: 'danger' })}
  ${confirmationDialog({
    id: own,
    title: r.deleteScheduleTitle,
    action: `${view.root}reports/schedules/${id}/delete`,
    about: html`<p><strong>${about}</strong></p>`,
    effects: [r.deleteScheduleEffect],
    submit: r.deleteSchedule,
    cancel: view.t.cancel,
  })}`
}

export const scheduleFields = [
  ...reportFields.filter((name) => name !== 'from' && name !== 'to'),
  'frequency',
  'emails',
  'timeZone',
] as const

export function newSchedulePage(view: ConsoleView, draft: Draft): string {
  const r = texts[view.language].reports
  return formPage(view, {
    ...draft,
    title: r.newSchedule,
    lead: r.schedulesEmptyText,
    submit: r.createSchedule,
    action: 'reports/schedules/new',
    fields: [
      ...contentFields(view),
      { name: 'frequency', label: r.frequency, options: toSelectOptions(r.frequencies) },
      { name: 'emails', label: r.emails, help: r.emailsHelp },
      { name: 'timeZone', label: r.timeZone, help: r.timeZoneHelp },
      ...scopeFields(view),
    ],
    back: { path: 'reports/schedules', text: r.backToReports },
  })
}

const refusalTexts = (person: Person) => textsWithRefusals(person, 'reports')

async function showList({ operate }: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  const { data: rows, shown } = await readList(request, person, reportFilters, (query) =>
    operate('listReports', { ...callOf(person, request), query: queryText(query) }),
  )
  const reports = {
    ...shown,
    rows,
    mayWrite: may(person, 'reports:write'),
    done: readCompletedForm(request, ['removed']),
  }
  return page(request, pageStatus(shown.problems), reportsPage(person.view, reports))
}

async function showOne(frame: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  const report = await frame.operate('getReport', { ...callOf(person, request), params: { id: readId(request) } })
  const { customerId = '' } = report
  const shown = {
    report,
    mayWrite: may(person, 'reports:write'),
    customer: (await readCustomerLinks(frame, request, person, [report.customerId])).get(customerId),
    done: readCompletedForm(request, ['created']),
  }
  return page(request, 200, reportPage(person.view, shown))
}

/** Sends the stored file. */
async function download({ download: read }: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  const call = { ...callOf(person, request), params: { id: readId(request) } }
  const { status, headers, body } = await read('getReportContent', call)
  return { status, headers: { ...consoleHeaders, ...headers }, body }
}

type ReportDraft = { readonly values: FieldValues; readonly idempotencyKey?: string; readonly problems?: FieldProblems }

const showNew = (
  request: PublicRequest,
  { view }: Person,
  form: typeof newReportPage,
  { values, idempotencyKey = newId(), problems = {} }: ReportDraft,
): PublicAnswer => {
  return page(request, pageStatus(problems), form(view, { values, idempotencyKey, problems }))
}

async function create({ operate, clock }: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  const given = readForm(request)
  const values = readValues(given, reportFields)
  const { from = '', to = '' } = values
  const end = dayStart(to, 1)
  const now = clock.now().toISOString()
  // A report until today ends now. The operation refuses a later day.
  const until = dayStart(to) <= now && end > now ? now : end
  const body = { ...values, from: dayStart(from), to: until }
  const idempotencyKey = given('idempotencyKey') || newId()
  try {
    const { id } = await operate('createReport', { ...callOf(person, request), body, idempotencyKey })
    return seeOther(`${id}?done=created`)
  } catch (error) {
    const problems = refusalProblems(refusalTexts(person), error, reportFields)
    return showNew(request, person, newReportPage, { values, problems })
  }
}

async function showSchedules({ operate }: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  const { data: rows, shown } = await readList(request, person, [], (query) =>
    operate('listReportSchedules', { ...callOf(person, request), query: queryText(query) }),
  )
  const schedules = {
    ...shown,
    rows,
    mayWrite: may(person, 'reports:write'),
    done: readCompletedForm(request, ['scheduleCreated', 'scheduleDeleted']),
  }
  return page(request, 200, schedulesPage(person.view, schedules))
}

async function createSchedule({ operate }: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  const given = readForm(request)
  const values = readValues(given, scheduleFields)
  const emails = (values['emails'] ?? '').split(/[\s,;]+/).filter((each) => each !== '')
  const call = { ...callOf(person, request), body: { ...values, emails } }
  try {
    await operate('createReportSchedule', { ...call, idempotencyKey: given('idempotencyKey') || newId() })
    return seeOther('../schedules?done=scheduleCreated')
  } catch (error) {
    const own = /^\d+$/
    const p = refusalTexts(person)
    // The pointer of an email address ends with its index.
    const problems = Object.entries(
      refusalProblems(p, error, [...scheduleFields, ...emails.map((_each, at) => String(at))]),
    )
    const named = problems.map(([name, text]) => [own.test(name) ? 'emails' : name, text] as const)
    return showNew(request, person, newSchedulePage, { values, problems: Object.fromEntries(named) })
  }
}

export const reportRoutes: Routes = (frame) => {
  const route = placeRoutes(frame, frame.withMoney, 'reports')
  return [
    route('GET', '', 'reports:read', showList),
    route('GET', '/new', 'reports:write', (_frame, request, person) =>
      showNew(request, person, newReportPage, { values: readQuery(request, reportFields) }),
    ),
    route('POST', '/new', 'reports:write', create),
    route('GET', '/schedules', 'reports:read', showSchedules),
    route('GET', '/schedules/new', 'reports:write', (_frame, request, person) =>
      showNew(request, person, newSchedulePage, { values: { timeZone: 'UTC', emails: person.user.email } }),
    ),
    route('POST', '/schedules/new', 'reports:write', createSchedule),
    route('POST', '/schedules/{id}/delete', 'reports:write', async ({ operate }, request, person) => {
      await operate('deleteReportSchedule', { ...callOf(person, request), params: { id: readId(request) } })
      return seeOther('../../schedules?done=scheduleDeleted')
    }),
    route('GET', '/{id}', 'reports:read', showOne),
    route('GET', '/{id}/content', 'reports:read', download),
    route('POST', '/{id}/delete', 'reports:write', async ({ operate }, request, person) => {
      await operate('deleteReport', { ...callOf(person, request), params: { id: readId(request) } })
      return seeOther('../../reports?done=removed')
    }),
  ]
}
