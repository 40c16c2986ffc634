/** The request log, made of the operations that read it: requests, their problems, and the page of one request. */
import {
  type Operation,
  operationIds,
  operations,
  type ProblemCode,
  problems as catalogue,
  type ResponseOf,
} from '@partner-payments/wire'
import type { PublicAnswer, PublicRequest } from '../../kernel/api/index.ts'
import { createdBy } from './creating-request.ts'
import type { Options } from './lists.ts'
import { callOf, queryText, readList, routesOf, statusOf } from './payments-request.ts'
import {
  periodFilters,
  requestFilters,
  requestPage,
  requestProblemsPage,
  type RequestRow,
  requestsPage,
  unknownOperation,
} from './request-log-page.ts'
import { requestUsagePage } from './request-usage-page.ts'
import { type Frame, idOf, page, type Person, type Routes } from './request.ts'
import { operationOf, subjectsOf } from './subjects.ts'
import { requestLogTexts } from './texts/request-log.ts'
import { transactionHref } from './transaction-routes.ts'
import type { ConsoleView } from './view.ts'

type LoggedRequest = ResponseOf<'getRequest'>

const rowOf = ({ at, operation, ...row }: LoggedRequest): RequestRow => ({
  ...row,
  at: new Date(at),
  operation: operation === unknownOperation ? undefined : operation,
})

const codes: Options = Object.keys(catalogue)
  .sort()
  .map((code) => [code, code])

/** Production lists no simulations. */
const operationsOf = (view: ConsoleView, sandbox: boolean): Options => [
  ...operationIds
    .filter((id) => sandbox || (operations[id] as Operation).sandboxOnly !== true)
    .toSorted()
    .map((id) => [id, id] as const),
  [unknownOperation, requestLogTexts[view.language].unknown],
]

/** A value that is not among the options stays selected, so that the form does not drop it. */
const including = (options: Options, value: string | undefined): Options =>
  value === undefined || options.some(([each]) => each === value) ? options : [[value, value], ...options]

async function showList({ operate, sandbox }: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  const { view } = person
  const call = callOf(person, request)
  const [accounts, { data, shown }] = await Promise.all([
    operate('listServiceAccounts', { ...call, query: queryText({ limit: '100' }) }),
    readList(request, person, requestFilters, (query) => operate('listRequests', { ...call, query: queryText(query) })),
  ])
  const { values, problems } = shown
  const named: Options = accounts.data.map(({ serviceAccountId, name }) => [serviceAccountId, name])
  const choices = {
    operations: including(operationsOf(view, sandbox), values['operation']),
    codes: including(codes, values['code']),
    accounts: including(named, values['serviceAccountId']),
  }
  const requests = { ...shown, rows: data.map(rowOf), choices }
  return page(request, statusOf(problems), requestsPage({ ...view, current: 'requests' }, requests))
}

/** The pages about problems are beside the console. */
const explainedAt = ({ root }: ConsoleView, type: string): string => `${root}..${type}`

async function showProblems({ operate }: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  const { view } = person
  const { data, shown } = await readList(request, person, periodFilters, async (query) => {
    const call = { ...callOf(person, request), query: queryText(query) }
    return { ...(await operate('listRequestProblems', call)), nextCursor: null }
  })
  const rows = data.map(({ type, ...row }) => ({ ...row, explained: explainedAt(view, type) }))
  const body = requestProblemsPage({ ...view, current: 'requests' }, { ...shown, rows })
  return page(request, statusOf(shown.problems), body)
}

async function showUsage({ operate }: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  const { view } = person
  const { data, shown } = await readList(request, person, periodFilters, async (query) => {
    const call = { ...callOf(person, request), query: queryText(query) }
    return { ...(await operate('listRequestSums', call)), nextCursor: null }
  })
  const body = requestUsagePage({ ...view, current: 'requests' }, { sums: data, ...shown })
  return page(request, statusOf(shown.problems), body)
}

/** A problem of another version of the service has no page. */
function problemOf(view: ConsoleView, code: string | undefined) {
  if (code === undefined || !Object.hasOwn(catalogue, code)) return undefined
  const { title, detail } = catalogue[code as ProblemCode]
  return { title, cure: detail, explained: explainedAt(view, `/problems/${code}`) }
}

const pathOf = (path: string | undefined, params: Readonly<Record<string, string>>): string | undefined =>
  path?.replaceAll(/\{(\w+)\}/g, (name, key: string) => params[key] ?? name)

async function showOne(frame: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  const { view } = person
  const call = { ...callOf(person, request), params: { entryId: idOf(request) } }
  const found = await frame.operate('getRequest', call)
  const operation = operationOf(found.operation)
  const created = await createdBy(frame, request, person, found)
  const mayRead = person.caller.permissions.includes('transactions:read')
  const shown = {
    ...found,
    ...rowOf(found),
    path: pathOf(operation?.path, found.params),
    summary: operation?.summary,
    problem: problemOf(view, found.code),
    subjects: subjectsOf(person, found.operation, found.params),
    created: created.map((text) => ({ text, href: mayRead ? transactionHref(view, text) : undefined })),
    accountHref: `${view.root}service-accounts/${found.serviceAccountId}`,
    staff: found.impersonatedBy,
    doctor:
      frame.sandbox && found.code === 'signature_invalid'
        ? `${view.root}../docs#/simulations/diagnoseSignature`
        : undefined,
    raw: found,
  }
  return page(request, 200, requestPage({ ...view, current: 'requests' }, shown))
}

export const requestLogRoutes: Routes = (frame, _withPerson, withMoney) => {
  const route = routesOf(frame, withMoney, 'requests')
  return [
    route('GET', '', 'users:read', showList),
    route('GET', '/problems', 'users:read', showProblems),
    route('GET', '/usage', 'users:read', showUsage),
    route('GET', '/{id}', 'users:read', showOne),
  ]
}
