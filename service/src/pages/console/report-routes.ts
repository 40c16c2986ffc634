/** Reports: the files, the schedules, and the forms that create and delete them. A file is streamed as the operation answers it. */
import type { ResponseOf } from '@partner-payments/wire'
import type { PublicAnswer, PublicRequest } from '../../kernel/api/index.ts'
import { newId } from '../../kernel/index.ts'
import {
  callOf,
  dayStart,
  type Problems,
  problemsOf,
  queryText,
  readList,
  readQuery,
  routesOf,
  statusOf,
  textsWith,
  type Values,
  valuesIn,
} from './payments-request.ts'
import { newReportPage, reportFields, reportFilters, reportPage, type ReportRow, reportsPage } from './report-page.ts'
import { type Frame, headersOf, idOf, page, type Person, readForm, type Routes, seeOther } from './request.ts'
import { newSchedulePage, scheduleFields, schedulesPage } from './schedule-page.ts'
import { reportTexts } from './texts/reports.ts'

/** Words of the refusals: those of all pages, and those of reports. */
const refusalTexts = (person: Person) => textsWith(person, reportTexts)

const mayWriteOf = ({ caller }: Person) => caller.permissions.includes('reports:write')

const rowOf = ({ from, to, createdAt, ...report }: ResponseOf<'getReport'>): ReportRow => ({
  ...report,
  from: new Date(from),
  to: new Date(to),
  createdAt: new Date(createdAt),
})

async function showList({ operate }: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  const { done } = readQuery(request, ['done'])
  const { data, shown } = await readList(request, person, reportFilters, (query) =>
    operate('listReports', { ...callOf(person, request), query: queryText(query) }),
  )
  const body = reportsPage(
    { ...person.view, current: 'reports' },
    {
      ...{ ...shown, rows: data.map(rowOf), mayWrite: mayWriteOf(person) },
      done: done === 'removed' ? done : undefined,
    },
  )
  return page(request, statusOf(shown.problems), body)
}

async function showOne({ operate }: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  const { view, caller } = person
  const report = await operate('getReport', { ...callOf(person, request), params: { id: idOf(request) } })
  const { customerId, rows, bytes, sha256, failure, expiresAt } = report
  const mayRead = caller.permissions.includes('customers:read')
  const href = mayRead && customerId !== undefined ? `${view.root}customers/${customerId}` : undefined
  const shown = {
    ...rowOf(report),
    ...{ rows, bytes, sha256, failure, expiresAt: new Date(expiresAt), mayWrite: mayWriteOf(person) },
    customer: customerId === undefined ? undefined : { id: customerId, href },
    done: readQuery(request, ['done'])['done'] === 'created' ? ('created' as const) : undefined,
  }
  return page(request, 200, reportPage({ ...view, current: 'reports' }, shown))
}

/** The file, as it is stored. */
async function download({ download: read }: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  const call = { ...callOf(person, request), params: { id: idOf(request) } }
  const { status, headers, body } = await read('getReportContent', call)
  return { status, headers: { ...headersOf, ...headers }, body }
}

type Drafts = { readonly values: Values; readonly idempotencyKey?: string; readonly problems?: Problems }

const showNew = (
  request: PublicRequest,
  { view }: Person,
  form: typeof newReportPage,
  { values, idempotencyKey = newId(), problems = {} }: Drafts,
): PublicAnswer => {
  return page(request, statusOf(problems), form({ ...view, current: 'reports' }, { values, idempotencyKey, problems }))
}

async function create({ operate, clock }: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  const given = readForm(request)
  const values = valuesIn(given, reportFields)
  const { from = '', to = '' } = values
  const end = dayStart(to, 1)
  const now = clock.now().toISOString()
  // The day that has not ended yet ends now. A later one is refused by the operation.
  const until = dayStart(to) <= now && end > now ? now : end
  const body = { ...values, from: dayStart(from), to: until }
  const idempotencyKey = given('idempotencyKey') || newId()
  try {
    const { id } = await operate('createReport', { ...callOf(person, request), body, idempotencyKey })
    return seeOther(`${id}?done=created`)
  } catch (error) {
    const problems = problemsOf(refusalTexts(person), error, reportFields)
    return showNew(request, person, newReportPage, { values, problems })
  }
}

async function showSchedules({ operate }: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  const { done } = readQuery(request, ['done'])
  const { data, shown } = await readList(request, person, [], (query) =>
    operate('listReportSchedules', { ...callOf(person, request), query: queryText(query) }),
  )
  const schedules = {
    ...{ ...shown, mayWrite: mayWriteOf(person) },
    rows: data.map((schedule) => ({ ...schedule, nextAt: new Date(schedule.nextRunAt) })),
    done: (['scheduleCreated', 'scheduleDeleted'] as const).find((each) => each === done),
  }
  return page(request, 200, schedulesPage({ ...person.view, current: 'reports' }, schedules))
}

async function createSchedule({ operate }: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  const given = readForm(request)
  const values = valuesIn(given, scheduleFields)
  const emails = (values['emails'] ?? '').split(/[\s,;]+/).filter((each) => each !== '')
  const call = { ...callOf(person, request), body: { ...values, emails } }
  try {
    await operate('createReportSchedule', { ...call, idempotencyKey: given('idempotencyKey') || newId() })
    return seeOther('../schedules?done=scheduleCreated')
  } catch (error) {
    const own = /^\d+$/
    const p = refusalTexts(person)
    // The pointer of an address is its place in the list.
    const problems = Object.entries(problemsOf(p, error, [...scheduleFields, ...emails.map((_each, at) => String(at))]))
    const named = problems.map(([name, text]) => [own.test(name) ? 'emails' : name, text] as const)
    return showNew(request, person, newSchedulePage, { values, problems: Object.fromEntries(named) })
  }
}

export const reportRoutes: Routes = (frame, _withPerson, withMoney) => {
  const route = routesOf(frame, withMoney, 'reports')
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
      await operate('deleteReportSchedule', { ...callOf(person, request), params: { id: idOf(request) } })
      return seeOther('../../schedules?done=scheduleDeleted')
    }),
    route('GET', '/{id}', 'reports:read', showOne),
    route('GET', '/{id}/content', 'reports:read', download),
    route('POST', '/{id}/delete', 'reports:write', async ({ operate }, request, person) => {
      await operate('deleteReport', { ...callOf(person, request), params: { id: idOf(request) } })
      return seeOther('../../reports?done=removed')
    }),
  ]
}
