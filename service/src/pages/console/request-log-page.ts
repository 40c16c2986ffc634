/** The request log of a partner: its requests, their problems with the cures, and the page of one request. */
import { html, type Html } from '../html.ts'
import { fill } from '../language.ts'
import { listPage, type Listed, type Filter, isPart } from './list-page.ts'
import { badge, calendarDay, call, message, time } from './components.ts'
import { grouped } from './money.ts'
import {
  facts,
  freeText,
  identifier,
  type Link,
  links,
  type Options,
  optionsOf,
  rawJson,
  strip,
  tabs,
} from './lists.ts'
import { linkOf } from './payments-request.ts'
import { requestLogTexts } from './texts/request-log.ts'
import { type ConsoleView, shell } from './view.ts'

/** Filters of the pages that count. */
export const periodFilters: readonly string[] = ['createdFrom', 'createdTo']
export const requestFilters = ['statusClass', 'code', 'operation', 'serviceAccountId', 'requestId', ...periodFilters]
/** The operation of a request whose method and path are those of none. */
export const unknownOperation = 'unknown'

export type RequestRow = {
  readonly id: string
  readonly at: Date
  readonly method: string
  /** The id of an operation. Absent: no operation has the method and the path. */
  readonly operation?: string | undefined
  readonly status: number
  readonly code?: string | undefined
  readonly serviceAccountName: string
  readonly durationMs: number
  readonly verified: boolean
  readonly replayed: boolean
}

type Requests = Listed<RequestRow> & {
  readonly choices: { readonly operations: Options; readonly codes: Options; readonly accounts: Options }
}

const toneOf = (status: number) => (status >= 500 ? 'bad' : status >= 400 ? 'warning' : 'good')
const statusBadge = (status: number): Html => badge(toneOf(status), String(status))

export const requestTabs = (view: ConsoleView, current: 'all' | 'problems' | 'usage'): Html => {
  const r = requestLogTexts[view.language]
  return tabs({
    label: r.views,
    items: [
      { text: r.all, href: `${view.root}requests`, current: current === 'all' },
      { text: r.problems, href: `${view.root}requests/problems`, current: current === 'problems' },
      { text: r.usage, href: `${view.root}requests/usage`, current: current === 'usage' },
    ],
  })
}

export const duration = ({ language }: ConsoleView, ms: number): string =>
  fill(requestLogTexts[language].milliseconds, { count: grouped(language, String(ms)) })

export const operationPart = (view: ConsoleView, { operation }: Pick<RequestRow, 'operation'>): Html | string =>
  operation === undefined ? requestLogTexts[view.language].unknown : html`<code>${operation}</code>`

export function dayFilters({ language }: ConsoleView): readonly Filter[] {
  const r = requestLogTexts[language]
  return [
    { name: 'createdFrom', label: r.from, type: 'date' },
    { name: 'createdTo', label: r.until, type: 'date' },
  ]
}

export function requestsPage(view: ConsoleView, { rows, choices, ...shown }: Requests): string {
  const r = requestLogTexts[view.language]
  return listPage(view, shown, {
    title: view.t.requests,
    path: 'requests',
    lead: r.lead,
    tabs: requestTabs(view, 'all'),
    filters: [
      { name: 'statusClass', label: r.status, options: optionsOf(r.classes) },
      { name: 'code', label: r.problem, options: choices.codes },
      { name: 'operation', label: r.operation, options: choices.operations },
      { name: 'serviceAccountId', label: r.account, options: choices.accounts },
    ],
    more: [{ name: 'requestId', label: r.requestId, charsMax: 64 }, ...dayFilters(view)],
    note: isPart(shown) && html`<p class="soft">${r.searched}</p>`,
    columns: [[r.at, 'head'], r.status, r.operation, r.problem, r.account, [r.duration, 'number']],
    cells: rows.map((row) => [
      html`<a href="${view.root}requests/${row.id}">${time(view, row.at, 'seconds')}</a>`,
      statusBadge(row.status),
      html`<span class="free"><span class="soft">${row.method}</span> ${operationPart(view, row)}</span>`,
      row.code === undefined ? '' : html`<code>${row.code}</code>`,
      accountPart(view, row),
      duration(view, row.durationMs),
    ]),
    none: { title: r.empty, text: r.emptyText, more: call(view, 'GET /v1/requests', r.call) },
  })
}

const accountPart = (view: ConsoleView, { serviceAccountName, verified, replayed }: RequestRow): Html => {
  const r = requestLogTexts[view.language]
  return html`<span class="lines">
    <span class="free">${serviceAccountName}</span>
    ${!verified && html`<span class="soft">${r.unverified}</span>`}
    ${replayed && html`<span class="soft">${r.replayed}</span>`}
  </span>`
}

export type ProblemRow = {
  readonly code: string
  readonly status: number
  /** English. */
  readonly title: string
  readonly cure: string
  /** Page about the problem. */
  readonly explained: string
  readonly count: number
  readonly operations: readonly string[]
  readonly lastDay: string
}

export function requestProblemsPage(view: ConsoleView, { rows, ...shown }: Listed<ProblemRow>): string {
  const r = requestLogTexts[view.language]
  return listPage(view, shown, {
    title: r.problemsTitle,
    heading: view.t.requests,
    path: 'requests/problems',
    lead: `${r.problemsLead} ${r.period}`,
    tabs: requestTabs(view, 'problems'),
    filters: dayFilters(view),
    columns: [[r.problem, 'head'], [r.count, 'number'], r.lastDay, r.cure, r.operations],
    cells: rows.map(({ code, status, title, cure, explained, count, operations, lastDay }) => [
      html`<a href="${linkOf(`${view.root}requests`, { ...shown.values, code })}"><code>${breakable(code)}</code></a>
        <span class="soft"><span lang="en">${title}</span> (${String(status)})</span>`,
      grouped(view.language, String(count)),
      calendarDay(view, lastDay),
      curePart(view, cure, explained, code),
      links(
        operations.map((operation) => ({
          text: operation === unknownOperation ? r.unknown : operation,
          href: linkOf(`${view.root}requests`, { ...shown.values, code, operation }),
        })),
      ) ?? '',
    ]),
    none: { title: r.noProblem, text: r.noProblemText, more: call(view, 'GET /v1/requests/problems', r.problemsCall) },
  })
}

/** A code that breaks at an underscore where it is too long. */
const breakable = (code: string): readonly Html[] =>
  code.split('_').map((part, at) => (at === 0 ? html`${part}` : html`_<wbr />${part}`))

/** Texts of the catalogue mark names of fields by backticks. */
const withCode = (text: string): readonly Html[] =>
  text.split('`').map((part, at) => (at % 2 === 1 ? html`<code>${part}</code>` : html`${part}`))

const curePart = ({ language }: ConsoleView, cure: string, explained: string, code: string): Html =>
  html`<span class="lines">
    <span lang="en">${withCode(cure)}</span>
    <a href="${explained}">${requestLogTexts[language].explain}<span class="away"> ${code}</span></a>
  </span>`

type Request = RequestRow & {
  /** The path, with its values. Absent: the path is that of no operation. */
  readonly path?: string | undefined
  /** English sentence about the operation. */
  readonly summary?: string | undefined
  readonly problem?: Pick<ProblemRow, 'title' | 'cure' | 'explained'> | undefined
  readonly pointer?: string | undefined
  readonly subjects: readonly Link[]
  /** Transactions that the request has created. */
  readonly created: readonly Link[]
  readonly accountHref: string
  readonly staff?: string | undefined
  readonly ip: string
  readonly userAgent?: string | undefined
  readonly requestId: string
  /** Page of the signature debugger, which the sandbox has. */
  readonly doctor?: string | undefined
  readonly raw: unknown
}

export function requestPage(view: ConsoleView, request: Request): string {
  const r = requestLogTexts[view.language]
  const { id, at, status, method, path, operation, verified, replayed, summary, pointer, staff } = request
  return shell(view, {
    title: `${r.request}: ${method} ${operation ?? r.unknown}`,
    main: html`<h1>${r.request}</h1>
      ${!verified && message('warning', r.unverifiedText)} ${replayed && message('neutral', r.replayedText)}
      ${strip([
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

function problemPart(view: ConsoleView, { code, problem, doctor }: Request): Html | undefined {
  const r = requestLogTexts[view.language]
  if (code === undefined || problem === undefined) return undefined
  return html`<section aria-labelledby="problem">
    <h2 id="problem">${r.problem}: <code>${code}</code></h2>
    <p lang="en"><strong>${problem.title}.</strong> ${withCode(problem.cure)}</p>
    ${doctor !== undefined && html`<p>${r.doctorText}</p>`}
    <p class="buttons">
      <a class="button" href="${problem.explained}">${r.explain}</a>
      ${doctor !== undefined && html`<a class="button" href="${doctor}">${r.doctor}</a>`}
      <a class="button" href="${linkOf(`${view.root}requests`, { code })}">${r.sameProblem}</a>
    </p>
  </section>`
}
