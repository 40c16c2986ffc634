/** The page of decision figures: open cases by age, decisions and their times, and false hits by list and rule. Also as CSV. */
import { type PublicAnswer, type PublicRequest, type PublicRoute, Refusal } from '../../kernel/api/index.ts'
import { dayMs, hourMs, minuteMs } from '../../kernel/index.ts'
import {
  ageBands,
  type CountedKind,
  decisionsCsv,
  monthsMax,
  type DecisionFigures,
  filterKinds,
} from '../../reports/decisions/index.ts'
import { type Deciders, kindsDecidedBy, type StaffRole } from '../../people/staff/index.ts'
import { select } from '../kit/forms.ts'
import { freeText, heading, linkButton, section, table, time } from '../kit/parts.ts'
import { consoleHeaders, pathWithQuery, page } from '../kit/request.ts'
import { type ConsoleView, shell } from '../kit/frame.ts'
import { html, type Html } from '../html.ts'
import { fill } from '../language.ts'
import { kindName } from './kinds.ts'
import { boundedSection, listName } from './parties.ts'
import { valueLabel } from './forms.ts'
import { type DeskFrame, type Person, staffRoute } from './request.ts'
import { deskTexts } from './texts.ts'

/**
 * Returns the kinds whose figures a role may read. Compliance and admins may read all. Each other role may read the
 * figures of the kinds that it decides, according to the table of deciders, which two admins change together.
 * Undefined: none.
 */
export function readableKinds(
  role: StaffRole,
  deciders: readonly Deciders[],
): ((kind: CountedKind) => boolean) | undefined {
  if (role === 'compliance' || role === 'admin') return () => true
  const own = new Set(kindsDecidedBy(deciders, role))
  return own.size === 0 ? undefined : (kind) => own.has(kind)
}

const count = ({ language }: ConsoleView, value: number): string => new Intl.NumberFormat(language).format(value)

/** Formats a month, `YYYY-MM` in UTC, with its name. */
const monthText = ({ language }: ConsoleView, month: string): string =>
  new Intl.DateTimeFormat(language, { month: 'long', year: 'numeric', timeZone: 'UTC' }).format(
    new Date(`${month}-01T00:00:00Z`),
  )

/** Formats a duration in the largest unit with a value of at least 2, so that 26 hours are not shown as 1 day. */
export function durationText(view: ConsoleView, ms: number): string {
  const n = deskTexts[view.language].numbers
  const of = (unit: number, text: string) => fill(text, { count: count(view, Math.round(ms / unit)) })
  return ms >= 2 * dayMs ? of(dayMs, n.days) : ms >= 2 * hourMs ? of(hourMs, n.hours) : of(minuteMs, n.minutes)
}

const shareText = ({ language }: ConsoleView, part: number, whole: number): string =>
  new Intl.NumberFormat(language, { style: 'percent', maximumFractionDigits: 1 }).format(whole === 0 ? 0 : part / whole)

const offered = [1, 3, 6, 12, monthsMax] as const

export function numbersPage(view: ConsoleView, numbers: DecisionFigures): string {
  const n = deskTexts[view.language].numbers
  const months = String(numbers.months.length)
  const [before = '', after = ''] = n.text.split('{at}')
  return shell(view, {
    title: n.numbers,
    wide: true,
    main: html`${heading(n.numbers, linkButton(`${view.root}${pathWithQuery('numbers/file', { months })}`, n.download))}
      <p class="lead">${before}${time(view, numbers.at)}${after}</p>
      <form method="get" action="${view.root}numbers" class="filters">
        ${select({
          ...{ id: 'months', name: 'months', label: n.months, value: months },
          options: offered.map((each) => [String(each), String(each)] as const),
        })}
        <div class="buttons"><button type="submit">${n.show}</button></div>
      </form>
      ${openPart(view, numbers)} ${timesPart(view, numbers)} ${decidedPart(view, numbers)}
      ${falsePart(view, {
        ...{ id: 'lists', title: n.lists, text: n.listsText, none: n.listsNone, name: n.falseHits },
        rows: numbers.lists.map((row) => ({ ...row, name: listName(view, row.name) })),
      })}
      ${falsePart(view, {
        ...{ id: 'rules', title: n.rules, text: n.rulesText, none: n.rulesNone, name: n.falseHits },
        rows: numbers.rules,
      })}
      ${findingsPart(view, numbers)}`,
  })
}

function openPart(view: ConsoleView, { open }: DecisionFigures): Html {
  const texts = deskTexts[view.language]
  const n = texts.numbers
  const sum = (of: (row: DecisionFigures['open'][number]) => number) => open.reduce((total, row) => total + of(row), 0)
  return boundedSection(view, {
    id: 'open',
    title: n.open,
    rows: open.length,
    none: n.openNone,
    body: table({
      caption: n.open,
      columns: [
        [texts.parties.kind, 'head'],
        ...ageBands.map((band) => [n[band], 'number'] as const),
        [n.total, 'number'],
      ],
      rows: [
        ...open.map(({ kind, ages, total }) => [
          kindName(view, kind),
          ...ageBands.map((band) => count(view, ages[band])),
          count(view, total),
        ]),
        [
          html`<strong>${n.total}</strong>`,
          ...ageBands.map((band) =>
            count(
              view,
              sum(({ ages }) => ages[band]),
            ),
          ),
          count(
            view,
            sum(({ total }) => total),
          ),
        ],
      ],
    }),
  })
}

function timesPart(view: ConsoleView, { times }: DecisionFigures): Html | false {
  const texts = deskTexts[view.language]
  const n = texts.numbers
  return (
    times.length > 0 &&
    section(
      'times',
      n.times,
      html`<p>${n.timesText}</p>
        ${table({
          caption: n.times,
          columns: [
            [n.month, 'head'],
            texts.parties.kind,
            [n.count, 'number'],
            [n.median, 'number'],
            [n.ninety, 'number'],
          ],
          rows: times.map(({ month, kind, count: decided, medianMs, ninetyMs }) => [
            month === null ? html`<strong>${n.whole}</strong>` : monthText(view, month),
            kindName(view, kind),
            count(view, decided),
            durationText(view, medianMs),
            durationText(view, ninetyMs),
          ]),
        })}`,
    )
  )
}

function decidedPart(view: ConsoleView, { decided }: DecisionFigures): Html {
  const texts = deskTexts[view.language]
  const n = texts.numbers
  const outcomes: Readonly<Record<string, string>> = { ...texts.resolutions, ...texts.hitStatuses }
  return boundedSection(view, {
    id: 'decided',
    title: n.decided,
    rows: decided.length,
    none: n.decidedNone,
    body: table({
      caption: n.decided,
      columns: [[n.month, 'head'], texts.parties.kind, n.outcome, [n.count, 'number']],
      rows: decided.map(({ month, kind, outcome, count: number }) => [
        monthText(view, month),
        kindName(view, kind),
        outcomes[outcome] ?? outcome,
        count(view, number),
      ]),
    }),
  })
}

type FalseHits = {
  readonly id: string
  readonly title: string
  readonly text?: string
  readonly none: string
  /** Heading of the column of false hits. */
  readonly name: string
  readonly rows: DecisionFigures['lists']
}

function falsePart(view: ConsoleView, { id, title, text, none, name, rows }: FalseHits): Html {
  const texts = deskTexts[view.language]
  const n = texts.numbers
  const label = id === 'lists' ? texts.parties.list : texts.parties.rule
  const body =
    rows.length === 0
      ? html`<p>${none}</p>`
      : html`${text !== undefined && html`<p>${text}</p>`}
        ${table({
          caption: title,
          columns: [[n.month, 'head'], label, [n.count, 'number'], [name, 'number'], [n.share, 'number']],
          rows: rows.map(({ month, name: of, decided, falseHits }) => [
            monthText(view, month),
            freeText(of),
            count(view, decided),
            count(view, falseHits),
            shareText(view, falseHits, decided),
          ]),
        })}`
  return section(id, title, body)
}

/** Lists the findings about alerts and hits, for the report to an authority. */
function findingsPart(view: ConsoleView, { findings }: DecisionFigures): Html | false {
  const n = deskTexts[view.language].numbers
  return (
    findings.length > 0 &&
    section(
      'findings',
      n.findings,
      table({
        caption: n.findings,
        columns: [[n.month, 'head'], deskTexts[view.language].parties.kind, n.finding, [n.count, 'number']],
        rows: findings.map(({ month, kind, disposition, count: number }) => [
          monthText(view, month),
          kindName(view, kind),
          valueLabel(view, 'disposition', disposition),
          count(view, number),
        ]),
      }),
    )
  )
}

const monthsDefault = 6

export function numberRoutes(frame: DeskFrame): readonly PublicRoute[] {
  const read = async ({ query }: PublicRequest, { signed }: Person): Promise<DecisionFigures> => {
    const isShown = readableKinds(signed.account.role, await frame.staff.deciders(frame.db))
    if (isShown === undefined) throw new Refusal('permission_denied', 'Your role may not read these figures.')
    const months = Number(new URLSearchParams(query).get('months') ?? monthsDefault)
    const asked = Number.isInteger(months) && months >= 1 && months <= monthsMax ? months : monthsDefault
    return filterKinds(await frame.numbers.read(asked), isShown)
  }
  return [
    staffRoute(frame, 'numbers', 'GET', '/numbers', async (request, person) =>
      page(request, 200, numbersPage(person.view, await read(request, person))),
    ),
    staffRoute(frame, 'numbers', 'GET', '/numbers/file', async (request, person): Promise<PublicAnswer> => {
      const numbers = await read(request, person)
      return csvFile(`decisions-${numbers.at.toISOString().slice(0, 10)}.csv`, decisionsCsv(numbers))
    }),
  ]
}

/** Responds with a CSV file that the browser saves. */
export const csvFile = (name: string, body: string): PublicAnswer => ({
  status: 200,
  headers: {
    ...consoleHeaders,
    'content-type': 'text/csv; charset=utf-8',
    'content-disposition': `attachment; filename="${name}"`,
  },
  body,
})
