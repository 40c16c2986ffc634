/** The page that counts the requests of a partner: by operation and by day. */
import type { ResponseOf } from '@partner-payments/wire'
import { html, type Html } from '../html.ts'
import { calendarDay, call, table } from './components.ts'
import { filterForm, type Listed } from './list-page.ts'
import { list } from './lists.ts'
import { grouped } from './money.ts'
import { linkOf, type Values } from './payments-request.ts'
import { dayFilters, duration, operationPart, requestTabs, unknownOperation } from './request-log-page.ts'
import { requestLogTexts } from './texts/request-log.ts'
import { type ConsoleView, shell } from './view.ts'

type RequestSum = ResponseOf<'listRequestSums'>['data'][number]
type Sum = Omit<RequestSum, 'day' | 'operation'>

/** Adds sums up by a name, in the order in which the names first come. The mean is weighted by the number of requests. */
export function summedBy(
  sums: readonly RequestSum[],
  nameOf: (sum: RequestSum) => string,
): readonly (readonly [string, Sum])[] {
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

type Shown = Omit<Listed<never>, 'rows'> & { readonly sums: readonly RequestSum[] }

export function requestUsagePage(view: ConsoleView, { sums, ...shown }: Shown): string {
  const r = requestLogTexts[view.language]
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
        none: { title: r.noUsage, text: r.emptyText, more: call(view, 'GET /v1/requests/sums', r.usageCall) },
        pages: {},
      })}`,
  })
}

function operationTable(view: ConsoleView, sums: readonly RequestSum[], values: Values): Html {
  const r = requestLogTexts[view.language]
  const rows = summedBy(sums, ({ operation }) => operation).toSorted(([, a], [, b]) => b.count - a.count)
  return sumTable(view, r.byOperation, r.operation, rows, (operation) => {
    const named = operationPart(view, operation === unknownOperation ? {} : { operation })
    return html`<a href="${linkOf(`${view.root}requests`, { ...values, operation })}">${named}</a>`
  })
}

function dayTable(view: ConsoleView, sums: readonly RequestSum[]): Html {
  const r = requestLogTexts[view.language]
  return sumTable(
    view,
    r.byDay,
    r.day,
    summedBy(sums, ({ day }) => day),
    (day) => calendarDay(view, day),
  )
}

function sumTable(
  view: ConsoleView,
  caption: string,
  head: string,
  rows: readonly (readonly [string, Sum])[],
  nameOf: (name: string) => Html,
): Html {
  const r = requestLogTexts[view.language]
  const number = (count: number) => grouped(view.language, String(count))
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
