/** The requests of service accounts: the list, the page of a request, and the usage by day. */
import {
  type Operation,
  operationIds,
  operations,
  type Permission,
  type ProblemCode,
  problems as catalogue,
  type ResponseOf,
} from '@partner-payments/wire'
import type { PublicAnswer, PublicRequest } from '../../kernel/api/index.ts'
import { html, type Html } from '../html.ts'
import { type Options, toSelectOptions, type FieldValues } from '../kit/forms.ts'
import { type ConsoleView, shell } from '../kit/frame.ts'
import { type Filter, filterForm, isPartial, list, type ListRows, listPage, tabs } from '../kit/lists.ts'
import {
  badge,
  calendarDay,
  apiCall,
  facts,
  freeText,
  formatGrouped,
  identifier,
  type Link,
  links,
  message,
  rawJson,
  summaryStrip,
  table,
  time,
} from '../kit/parts.ts'
import { readId, pathWithQuery, page, queryText, pageStatus } from '../kit/request.ts'
import { fill } from '../language.ts'
import { callOf, type Frame, type Person, readList, type Routes, placeRoutes } from './request.ts'
import { texts } from './texts/index.ts'
import { listCreatedTransactions, transactionHref } from './transactions.ts'

/** The console page of an operation's subject, by the path of the operation. */
const subjectPages: readonly (readonly [path: string, parameter: string, page: string, permission: Permission])[] = [
  ['/v1/customers', 'id', 'customers', 'customers:read'],
  ['/v1/payouts/bulk/pain001', 'bulkId', 'bulk-payouts', 'payouts:read'],
  ['/v1/payouts/bulk', 'bulkId', 'bulk-payouts', 'payouts:read'],
  ['/v1/payouts/standing-orders', 'orderId', 'standing-orders', 'payouts:read'],
  ['/v1/payouts', 'id', 'payouts', 'payouts:read'],
  ['/v1/beneficiaries', 'id', 'payees', 'beneficiaries:read'],
  ['/v1/checkout/sessions', 'sessionId', 'checkout', 'checkout:read'],
  ['/v1/service-accounts', 'serviceAccountId', 'service-accounts', 'users:read'],
  ['/v1/webhooks', 'id', 'webhooks', 'webhooks:read'],
]

/** Finds an operation by its id. */
export const findOperation = (id: string): Operation | undefined =>
  Object.hasOwn(operations, id) ? operations[id as keyof typeof operations] : undefined

/** Links the path parameters of an operation, or the id that it created, to the pages that the person may open. */
export function subjectLinks(
  { view, caller }: Person,
  operation: string,
  values: Readonly<Record<string, string>>,
): readonly Link[] {
  const path = findOperation(operation)?.path ?? ''
  return Object.entries(values).map(([name, text]) => {
    if (name === 'reference' && caller.permissions.includes('transactions:read'))
      return { text, href: transactionHref(view, text) }
    const known = subjectPages.find(
      ([prefix, parameter]) =>
        (path === prefix && name === 'id') ||
        (name === parameter && (path + '/').startsWith(`${prefix}/{${parameter}}/`)),
    )
    if (known === undefined || !caller.permissions.includes(known[3])) return { text }
    return { text, href: `${view.root}${known[2]}/${encodeURIComponent(text)}` }
  })
}

/** Filters of the pages that show counts. */
export const periodFilters: readonly string[] = ['createdFrom', 'createdTo']

export const requestFilters = ['statusClass', 'code', 'operation', 'serviceAccountId', 'requestId', ...periodFilters]

/** Logged as the operation of a request that matches none. */
const unknownOperation = 'unknown'

type RequestRow = {
  readonly id: string
  readonly at: Date
  readonly method: string
  /** The id of an operation. Absent: no operation matches the method and the path. */
  readonly operation?: string | undefined
  readonly status: number
  readonly code?: string | undefined
  readonly serviceAccountName: string
  readonly durationMs: number
  readonly verified: boolean
  readonly replayed: boolean
}

type RequestList = ListRows<RequestRow> & {
  readonly choices: { readonly operations: Options; readonly codes: Options; readonly accounts: Options }
}

const statusTone = (status: number) => (status >= 500 ? 'bad' : status >= 400 ? 'warning' : 'good')

const statusBadge = (status: number): Html => badge(statusTone(status), String(status))

const requestTabs = (view: ConsoleView, current: 'all' | 'problems' | 'usage'): Html => {
  const r = texts[view.language].requestLog
  return tabs({
    label: r.views,
    items: [
      { text: r.all, href: `${view.root}requests`, current: current === 'all' },
      { text: r.problems, href: `${view.root}requests/problems`, current: current === 'problems' },
      { text: r.usage, href: `${view.root}requests/usage`, current: current === 'usage' },
    ],
  })
}

const duration = ({ language }: ConsoleView, ms: number): string =>
  fill(texts[language].requestLog.milliseconds, { count: formatGrouped(language, String(ms)) })

const operationPart = (view: ConsoleView, { operation }: Pick<RequestRow, 'operation'>): Html | string =>
  operation === undefined ? texts[view.language].requestLog.unknown : html`<code>${operation}</code>`

function dayFilters({ language }: ConsoleView): readonly Filter[] {
  const r = texts[language].requestLog
  return [
    { name: 'createdFrom', label: r.from, type: 'date' },
    { name: 'createdTo', label: r.until, type: 'date' },
  ]
}

export function requestsPage(view: ConsoleView, { rows, choices, ...shown }: RequestList): string {
  const r = texts[view.language].requestLog
  return listPage(view, shown, {
    title: view.t.requests,
    path: 'requests',
    lead: r.lead,
    tabs: requestTabs(view, 'all'),
    filters: [
      { name: 'statusClass', label: r.status, options: toSelectOptions(r.classes) },
      { name: 'code', label: r.problem, options: choices.codes },
      { name: 'operation', label: r.operation, options: choices.operations },
      { name: 'serviceAccountId', label: r.account, options: choices.accounts },
    ],
    more: [{ name: 'requestId', label: r.requestId, charsMax: 64 }, ...dayFilters(view)],
    note: isPartial(shown) && html`<p class="soft">${r.searched}</p>`,
    columns: [[r.at, 'head'], r.status, r.operation, r.problem, r.account, [r.duration, 'number']],
    cells: rows.map((row) => [
      html`<a href="${view.root}requests/${row.id}">${time(view, row.at, 'seconds')}</a>`,
      statusBadge(row.status),
      html`<span class="free"><span class="soft">${row.method}</span> ${operationPart(view, row)}</span>`,
      row.code === undefined ? '' : html`<code>${row.code}</code>`,
      accountPart(view, row),
      duration(view, row.durationMs),
    ]),
    none: { title: r.empty, text: r.emptyText, more: apiCall(view, 'GET /v1/requests', r.call) },
  })
}

const accountPart = (view: ConsoleView, { serviceAccountName, verified, replayed }: RequestRow): Html => {
  const r = texts[view.language].requestLog
  return html`<span class="lines">
    <span class="free">${serviceAccountName}</span>
    ${!verified && html`<span class="soft">${r.unverified}</span>`}
    ${replayed && html`<span class="soft">${r.replayed}</span>`}
  </span>`
}

type ProblemRow = {
  readonly code: string
  readonly status: number
  /** Title in English, as in the API. */
  readonly title: string
  readonly cure: string
  /** Link to the page about the problem. */
  readonly explained: string
  readonly count: number
  readonly operations: readonly string[]
  readonly lastDay: string
}

export function requestProblemsPage(view: ConsoleView, { rows, ...shown }: ListRows<ProblemRow>): string {
  const r = texts[view.language].requestLog
  return listPage(view, shown, {
    title: r.problemsTitle,
    heading: view.t.requests,
    path: 'requests/problems',
    lead: `${r.problemsLead} ${r.period}`,
    tabs: requestTabs(view, 'problems'),
    filters: dayFilters(view),
    columns: [[r.problem, 'head'], [r.count, 'number'], r.lastDay, r.cure, r.operations],
    cells: rows.map(({ code, status, title, cure, explained, count, operations, lastDay }) => [
      html`<a href="${pathWithQuery(`${view.root}requests`, { ...shown.values, code })}"
          ><code>${breakable(code)}</code></a
        >
        <span class="soft"><span lang="en">${title}</span> (${String(status)})</span>`,
      formatGrouped(view.language, String(count)),
      calendarDay(view, lastDay),
      curePart(view, cure, explained, code),
      links(
        operations.map((operation) => ({
          text: operation === unknownOperation ? r.unknown : operation,
          href: pathWithQuery(`${view.root}requests`, { ...shown.values, code, operation }),
        })),
      ) ?? '',
    ]),
    none: {
      title: r.noProblem,
      text: r.noProblemText,
      more: apiCall(view, 'GET /v1/requests/problems', r.problemsCall),
    },
  })
}

/** Renders a code that may wrap after an underscore. */
const breakable = (code: string): readonly Html[] =>
  code.split('_').map((part, at) => (at === 0 ? html`${part}` : html`_<wbr />${part}`))

/** Renders the names between backticks as code. */
const withCode = (text: string): readonly Html[] =>
  text.split('`').map((part, at) => (at % 2 === 1 ? html`<code>${part}</code>` : html`${part}`))

const curePart = ({ language }: ConsoleView, cure: string, explained: string, code: string): Html =>
  html`<span class="lines">
    <span lang="en">${withCode(cure)}</span>
    <a href="${explained}">${texts[language].requestLog.explain}<span class="away"> ${code}</span></a>
  </span>`

type RequestView = RequestRow & {
  /** The path with its values. Absent: no operation matches. */
  readonly path?: string | undefined
  /** Summary of the operation in English. */
  readonly summary?: string | undefined
  readonly problem?: Pick<ProblemRow, 'title' | 'cure' | 'explained'> | undefined
  readonly pointer?: string | undefined
  readonly subjects: readonly Link[]
  /** Transactions that the request created. */
  readonly created: readonly Link[]
  readonly accountHref: string
  readonly staff?: string | undefined
  readonly ip: string
  readonly userAgent?: string | undefined
  readonly requestId: string
  /** Link to the signature debugger of the sandbox. */
  readonly doctor?: string | undefined
  readonly raw: unknown
}

export function requestPage(view: ConsoleView, request: RequestView): string {
  const r = texts[view.language].requestLog
  const { id, at, status, method, path, operation, verified, replayed, summary, pointer, staff } = request
  return shell(view, {
    title: `${r.request}: ${method} ${operation ?? r.unknown}`,
    main: html`<h1>${r.request}</h1>
      ${!verified && message('warning', r.unverifiedText)} ${replayed && message('neutral', r.replayedText)}
      ${summaryStrip([
        [r.at, time(view, at, 'seconds')],
        [r.status, statusBadge(status)],
        [r.duration, duration(view, request.durationMs)],
        [
          r.operation,
          html`<span class="lines">
            <span>${operationPart(view, request)}</span>
            ${summary !== undefined && html`<span class="soft" lang="en">${summary}</span>`}
          </span>`,
        ],
      ])}
      ${problemPart(view, request)}
      ${facts([
        [r.method, html`<code class="account">${method}${path !== undefined && html` ${path}`}</code>`],
        [r.pointer, pointer && html`<code class="account">${pointer}</code>`],
        [r.subject, links(request.subjects)],
        [r.transactions, links(request.created)],
        [r.account, html`<a class="free" href="${request.accountHref}">${request.serviceAccountName}</a>`],
        [r.staff, staff && fill(r.staffText, { staff })],
        [r.ip, request.ip],
        [r.userAgent, freeText(request.userAgent) || undefined],
        [r.requestId, identifier(view, request.requestId, r.requestId)],
        [r.entryId, identifier(view, id, r.entryId)],
      ])}
      ${rawJson(view, request.raw)}
      <p class="foot"><a href="${view.root}requests">${r.toLog}</a></p>`,
  })
}

function problemPart(view: ConsoleView, { code, problem, doctor }: RequestView): Html | undefined {
  const r = texts[view.language].requestLog
  if (code === undefined || problem === undefined) return undefined
  return html`<section aria-labelledby="problem">
    <h2 id="problem">${r.problem}: <code>${code}</code></h2>
    <p lang="en"><strong>${problem.title}.</strong> ${withCode(problem.cure)}</p>
    ${doctor !== undefined && html`<p>${r.doctorText}</p>`}
    <p class="buttons">
      <a class="button" href="${problem.explained}">${r.explain}</a>
      ${doctor !== undefined && html`<a class="button" href="${doctor}">${r.doctor}</a>`}
      <a class="button" href="${pathWithQuery(`${view.root}requests`, { code })}">${r.sameProblem}</a>
    </p>
  </section>`
}

type RequestSum = ResponseOf<'listRequestSums'>['data'][number]

type RequestTotals = Omit<RequestSum, 'day' | 'operation'>

/** Adds up sums by name, in the order of first occurrence. The mean is weighted by the number of requests. */
export function sumBy(
  sums: readonly RequestSum[],
  nameOf: (sum: RequestSum) => string,
): readonly (readonly [string, RequestTotals])[] {
  return [...Map.groupBy(sums, nameOf)].map(([name, parts]) => {
    const total = (of: (sum: RequestSum) => number) => parts.reduce((all, part) => all + of(part), 0)
    const count = total((part) => part.count)
    const sum = {
      count,
      errors4xx: total(({ errors4xx }) => errors4xx),
      errors5xx: total(({ errors5xx }) => errors5xx),
      durationMsMean: Math.round(total((part) => part.durationMsMean * part.count) / Math.max(count, 1)),
      durationMsMax: Math.max(...parts.map(({ durationMsMax }) => durationMsMax)),
    }
    return [name, sum] as const
  })
}

type UsagePage = Omit<ListRows<never>, 'rows'> & { readonly sums: readonly RequestSum[] }

function requestUsagePage(view: ConsoleView, { sums, ...shown }: UsagePage): string {
  const r = texts[view.language].requestLog
  const { values, problems } = shown
  return shell(view, {
    title: r.usageTitle,
    wide: true,
    problems,
    main: html`<h1>${view.t.requests}</h1>
      <p class="lead">${r.usageLead} ${r.period}</p>
      ${requestTabs(view, 'usage')} ${filterForm(view, shown, { path: 'requests/usage', filters: dayFilters(view) })}
      ${list(view, {
        table: html`${operationTable(view, sums, values)} ${dayTable(view, sums)}`,
        isEmpty: sums.length === 0,
        isFiltered: Object.keys(values).length > 0,
        none: { title: r.noUsage, text: r.emptyText, more: apiCall(view, 'GET /v1/requests/sums', r.usageCall) },
        pages: {},
      })}`,
  })
}

function operationTable(view: ConsoleView, sums: readonly RequestSum[], values: FieldValues): Html {
  const r = texts[view.language].requestLog
  const rows = sumBy(sums, ({ operation }) => operation).toSorted(([, a], [, b]) => b.count - a.count)
  return sumTable(view, r.byOperation, r.operation, rows, (operation) => {
    const named = operationPart(view, operation === unknownOperation ? {} : { operation })
    return html`<a href="${pathWithQuery(`${view.root}requests`, { ...values, operation })}">${named}</a>`
  })
}

function dayTable(view: ConsoleView, sums: readonly RequestSum[]): Html {
  const r = texts[view.language].requestLog
  return sumTable(
    view,
    r.byDay,
    r.day,
    sumBy(sums, ({ day }) => day),
    (day) => calendarDay(view, day),
  )
}

function sumTable(
  view: ConsoleView,
  caption: string,
  head: string,
  rows: readonly (readonly [string, RequestTotals])[],
  nameOf: (name: string) => Html,
): Html {
  const r = texts[view.language].requestLog
  const number = (count: number) => formatGrouped(view.language, String(count))
  return html`<h2>${caption}</h2>
    ${table({
      caption,
      columns: [
        [head, 'head'],
        [r.count, 'number'],
        [r.refusedCount, 'number'],
        [r.failedCount, 'number'],
        [r.mean, 'number'],
        [r.longest, 'number'],
      ],
      rows: rows.map(([name, { count, errors4xx, errors5xx, durationMsMean, durationMsMax }]) => [
        nameOf(name),
        ...[count, errors4xx, errors5xx].map(number),
        ...[durationMsMean, durationMsMax].map((ms) => duration(view, ms)),
      ]),
    })}`
}

type LoggedRequest = ResponseOf<'getRequest'>

const requestRow = ({ at, operation, ...row }: LoggedRequest): RequestRow => ({
  ...row,
  at: new Date(at),
  operation: operation === unknownOperation ? undefined : operation,
})

const codes: Options = Object.keys(catalogue)
  .sort()
  .map((code) => [code, code])

/** Lists the operations. Production has no simulations. */
const operationOptions = (view: ConsoleView, sandbox: boolean): Options => [
  ...operationIds
    .filter((id) => sandbox || (operations[id] as Operation).sandboxOnly !== true)
    .toSorted()
    .map((id) => [id, id] as const),
  [unknownOperation, texts[view.language].requestLog.unknown],
]

/** Adds a selected value that is not among the options, so that the form keeps it. */
export const withOption = (options: Options, value: string | undefined): Options =>
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
    operations: withOption(operationOptions(view, sandbox), values['operation']),
    codes: withOption(codes, values['code']),
    accounts: withOption(named, values['serviceAccountId']),
  }
  const requests = { ...shown, rows: data.map(requestRow), choices }
  return page(request, pageStatus(problems), requestsPage(view, requests))
}

/** Links to the page about a problem, which is outside the console. */
const problemHref = ({ root }: ConsoleView, type: string): string => `${root}..${type}`

async function showProblems({ operate }: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  const { view } = person
  const { data, shown } = await readList(request, person, periodFilters, async (query) => {
    const call = { ...callOf(person, request), query: queryText(query) }
    return { ...(await operate('listRequestProblems', call)), nextCursor: null }
  })
  const rows = data.map(({ type, ...row }) => ({ ...row, explained: problemHref(view, type) }))
  const body = requestProblemsPage(view, { ...shown, rows })
  return page(request, pageStatus(shown.problems), body)
}

async function showUsage({ operate }: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  const { view } = person
  const { data, shown } = await readList(request, person, periodFilters, async (query) => {
    const call = { ...callOf(person, request), query: queryText(query) }
    return { ...(await operate('listRequestSums', call)), nextCursor: null }
  })
  const body = requestUsagePage(view, { sums: data, ...shown })
  return page(request, pageStatus(shown.problems), body)
}

/** Describes a problem of the catalogue. Undefined: the code is of another version of the service. */
function problemDetails(view: ConsoleView, code: string | undefined) {
  if (code === undefined || !Object.hasOwn(catalogue, code)) return undefined
  const { title, detail } = catalogue[code as ProblemCode]
  return { title, cure: detail, explained: problemHref(view, `/problems/${code}`) }
}

const fillPath = (path: string | undefined, params: Readonly<Record<string, string>>): string | undefined =>
  path?.replaceAll(/\{(\w+)\}/g, (name, key: string) => params[key] ?? name)

async function showOne(frame: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  const { view } = person
  const call = { ...callOf(person, request), params: { entryId: readId(request) } }
  const found = await frame.operate('getRequest', call)
  const operation = findOperation(found.operation)
  const created = await listCreatedTransactions(frame, request, person, found)
  const mayRead = person.caller.permissions.includes('transactions:read')
  const shown = {
    ...found,
    ...requestRow(found),
    path: fillPath(operation?.path, found.params),
    summary: operation?.summary,
    problem: problemDetails(view, found.code),
    subjects: subjectLinks(person, found.operation, found.params),
    created: created.map((text) => ({ text, href: mayRead ? transactionHref(view, text) : undefined })),
    accountHref: `${view.root}service-accounts/${found.serviceAccountId}`,
    staff: found.impersonatedBy,
    doctor:
      frame.sandbox && found.code === 'signature_invalid'
        ? `${view.root}../docs#/simulations/diagnoseSignature`
        : undefined,
    raw: found,
  }
  return page(request, 200, requestPage(view, shown))
}

export const requestLogRoutes: Routes = (frame) => {
  const route = placeRoutes(frame, frame.withMoney, 'requests')
  return [
    route('GET', '', 'users:read', showList),
    route('GET', '/problems', 'users:read', showProblems),
    route('GET', '/usage', 'users:read', showUsage),
    route('GET', '/{id}', 'users:read', showOne),
  ]
}
