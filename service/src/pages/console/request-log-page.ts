/** The request log of a partner: its requests, their problems with the cures, and the page of one request. */
import { html, type Html } from '../html.ts'
import { fill } from '../language.ts'
import { badge, calendarDay, call, field, message, table, time } from './components.ts'
import { grouped } from './money.ts'
import {
  facts,
  filters,
  freeText,
  identifier,
  type Link,
  links,
  list,
  type Options,
  optionsOf,
  type Pages,
  rawJson,
  select,
  strip,
  tabs,
} from './lists.ts'
import { linkOf, type Problems, type Values } from './payments-request.ts'
import { paymentTexts } from './texts/payments.ts'
import { requestLogTexts } from './texts/request-log.ts'
import { type ConsoleView, shell } from './view.ts'

const mainFilters = ['statusClass', 'code', 'operation', 'serviceAccountId'] as const
const moreFilters = ['requestId', 'createdFrom', 'createdTo'] as const
export const requestFilters: readonly string[] = [...mainFilters, ...moreFilters]
/** The operation of a request whose method and path are those of none. */
export const unknownOperation = 'unknown'
/** Filters of the pages that count. */
export const periodFilters: readonly string[] = ['createdFrom', 'createdTo']

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

type Requests = {
  readonly rows: readonly RequestRow[]
  readonly values: Values
  readonly problems: Problems
  readonly pages: Pages
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

function fieldsOf(view: ConsoleView, { values, problems, choices }: Requests) {
  const r = requestLogTexts[view.language]
  const { any } = paymentTexts[view.language]
  const choose = (name: (typeof mainFilters)[number], label: string, options: Options) =>
    select({ id: name, name, label, options, any, value: values[name], error: problems[name] })
  return {
    main: [
      choose('statusClass', r.status, optionsOf(r.classes)),
      choose('code', r.problem, choices.codes),
      choose('operation', r.operation, choices.operations),
      choose('serviceAccountId', r.account, choices.accounts),
    ],
    more: {
      fields: [
        field({
          ...{ id: 'requestId', name: 'requestId', label: r.requestId, value: values['requestId'] ?? '' },
          ...{ error: problems['requestId'], optional: true, more: html`autocomplete="off" maxlength="64"` },
        }),
        ...dayFields(view, values, problems),
      ],
      open: moreFilters.some((name) => values[name] !== undefined),
    },
  }
}

export function dayFields(view: ConsoleView, values: Values, problems: Problems): readonly Html[] {
  const r = requestLogTexts[view.language]
  const day = (name: string, label: string) =>
    field({
      ...{ id: name, name, label, type: 'date', value: values[name] ?? '', error: problems[name] },
      optional: true,
    })
  return [day('createdFrom', r.from), day('createdTo', r.until)]
}

export function requestsPage(view: ConsoleView, shown: Requests): string {
  const r = requestLogTexts[view.language]
  const { rows, values, problems, pages } = shown
  const isFiltered = Object.keys(values).length > 0
  return shell(view, {
    title: view.t.requests,
    wide: true,
    problems,
    main: html`<h1>${view.t.requests}</h1>
      <p class="lead">${r.lead}</p>
      ${requestTabs(view, 'all')}
      ${filters(view, { path: `${view.root}requests`, ...fieldsOf(view, shown), active: isFiltered })}
      ${isFiltered && pages.next !== undefined && html`<p class="soft">${r.searched}</p>`}
      ${list(view, {
        table: requestTable(view, rows),
        isEmpty: rows.length === 0,
        isFiltered: isFiltered || pages.first !== undefined,
        none: { title: r.empty, text: r.emptyText, more: call(view, 'GET /v1/requests', r.call) },
        pages,
      })}`,
  })
}

function requestTable(view: ConsoleView, rows: readonly RequestRow[]): Html {
  const r = requestLogTexts[view.language]
  return table({
    caption: view.t.requests,
    columns: [
      { label: r.at, kind: 'head' },
      { label: r.status },
      { label: r.operation },
      { label: r.problem },
      { label: r.account },
      { label: r.duration, kind: 'number' },
    ],
    rows: rows.map((row) => [
      html`<a href="${view.root}requests/${row.id}">${time(view, row.at, 'seconds')}</a>`,
      statusBadge(row.status),
      html`<span class="free"><span class="soft">${row.method}</span> ${operationPart(view, row)}</span>`,
      row.code === undefined ? '' : html`<code>${row.code}</code>`,
      accountPart(view, row),
      duration(view, row.durationMs),
    ]),
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

type ProblemCounts = {
  readonly rows: readonly ProblemRow[]
  readonly values: Values
  readonly problems: Problems
}

export function requestProblemsPage(view: ConsoleView, { rows, values, problems }: ProblemCounts): string {
  const r = requestLogTexts[view.language]
  const isFiltered = Object.keys(values).length > 0
  return shell(view, {
    title: r.problemsTitle,
    wide: true,
    problems,
    main: html`<h1>${view.t.requests}</h1>
      <p class="lead">${r.problemsLead} ${r.period}</p>
      ${requestTabs(view, 'problems')}
      ${filters(view, {
        path: `${view.root}requests/problems`,
        main: dayFields(view, values, problems),
        active: isFiltered,
      })}
      ${list(view, {
        table: problemTable(view, rows, values),
        isEmpty: rows.length === 0,
        isFiltered,
        none: {
          title: r.noProblem,
          text: r.noProblemText,
          more: call(view, 'GET /v1/requests/problems', r.problemsCall),
        },
        pages: {},
      })}`,
  })
}

function problemTable(view: ConsoleView, rows: readonly ProblemRow[], values: Values): Html {
  const r = requestLogTexts[view.language]
  return table({
    caption: r.problemsTitle,
    columns: [
      { label: r.problem, kind: 'head' },
      { label: r.count, kind: 'number' },
      { label: r.lastDay },
      { label: r.cure },
      { label: r.operations },
    ],
    rows: rows.map(({ code, status, title, cure, explained, count, operations, lastDay }) => [
      html`<a href="${linkOf(`${view.root}requests`, { ...values, code })}"><code>${breakable(code)}</code></a>
        <span class="soft"><span lang="en">${title}</span> (${String(status)})</span>`,
      grouped(view.language, String(count)),
      calendarDay(view, lastDay),
      curePart(view, cure, explained, code),
      links(
        operations.map((operation) => ({
          text: operation === unknownOperation ? r.unknown : operation,
          href: linkOf(`${view.root}requests`, { ...values, code, operation }),
        })),
      ) ?? '',
    ]),
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
