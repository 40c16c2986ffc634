/** The pages of safeguarding: the days, and one day in one currency. Every role of staff reads them. */
import { notFound, type PublicAnswer, type PublicRoute } from '../../kernel/api/index.ts'
import { isFiat } from '../../kernel/index.ts'
import {
  type SafeguardingContent,
  isCalendarDay,
  safeguardingCsv,
  safeguardingPdf,
  type SignedContent,
  toSigned,
} from '../../reports/safeguarding/index.ts'
import {
  account,
  badge,
  calendarDay,
  dayText,
  facts,
  freeText,
  identifier,
  linkButton,
  message,
  money,
  summaryStrip,
  table,
  time,
} from '../kit/parts.ts'
import { pager } from '../kit/lists.ts'
import { consoleHeaders, page } from '../kit/request.ts'
import { type ConsoleView, shell } from '../kit/frame.ts'
import { html, type Html } from '../html.ts'
import { fill } from '../language.ts'
import { actionButtons, actionMessage } from './acts.ts'
import { type DeskFrame, staffRoute } from './request.ts'
import { titledTable, tableOrEmpty } from './parties.ts'
import { deskTexts, type DeskTexts } from './texts.ts'

const tones = {
  balanced: 'good',
  excess: 'neutral',
  shortfall: 'bad',
  unexplained: 'bad',
  incomplete: 'warning',
} as const

/** Reports whether no account was compared. Such a day is not green, even if its sums agree. */
const hasNoAccount = ({ accounts }: SafeguardingContent): boolean => accounts.length === 0

function resultBadge({ language }: ConsoleView, content: SafeguardingContent): Html {
  const d = deskTexts[language].safeguarding
  return hasNoAccount(content) ? badge('warning', d.without) : badge(tones[content.status], d[content.status])
}

type DayList = {
  readonly days: readonly SafeguardingContent[]
  readonly next?: string
  readonly first?: string
  readonly acts?: Html | undefined
  readonly said?: Html | undefined
}

export function daysPage(view: ConsoleView, { days, next, first, acts, said }: DayList): string {
  const d = deskTexts[view.language].safeguarding
  return shell(view, {
    title: d.days,
    wide: true,
    main: html`${said}
      <h1>${d.days}</h1>
      <p class="lead">${d.daysText}</p>
      ${acts}
      ${tableOrEmpty({
        none: {
          title: d.none,
          text: d.noneText,
          more: html`<p class="more">
            ${linkButton(`${view.root}runbooks/safeguarding`, deskTexts[view.language].connectors.runbook)}
          </p>`,
        },
        caption: d.days,
        columns: [
          [d.day, 'head'],
          d.currency,
          d.result,
          [d.requirement, 'number'],
          [d.resource, 'number'],
          [d.own, 'number'],
        ],
        rows: days.map((content) => [
          html`<a href="${view.root}safeguarding/${content.day}/${content.currency}"
            >${calendarDay(view, content.day)}</a
          >`,
          content.currency,
          resultBadge(view, content),
          money(view, content.requirement.total, content.currency),
          amountCell(view, content, content.resource),
          amountCell(view, content, content.own),
        ]),
      })}
      ${pager(view, { next, first })}`,
  })
}

const amountCell = (view: ConsoleView, { currency }: SafeguardingContent, amount: string | null): Html | string =>
  amount === null ? deskTexts[view.language].safeguarding.notKnown : money(view, amount, currency)

type DayDetails = {
  readonly content: SafeguardingContent
  readonly digest: string
  readonly versions: readonly {
    readonly version: number
    readonly computedAt: Date
    readonly status: SafeguardingContent['status']
  }[]
}

export function dayPage(view: ConsoleView, { content, digest, versions }: DayDetails): string {
  const d = deskTexts[view.language].safeguarding
  const { day, currency, status, requirement, version } = content
  const title = fill(d.title, { day: dayText(view, day), currency })
  const amount = (text: string | null) => amountCell(view, content, text)
  return shell(view, {
    title,
    wide: true,
    main: html`<h1>${title}</h1>
      ${summaryStrip([
        [d.result, resultBadge(view, content)],
        [d.requirement, amount(requirement.total)],
        [d.resource, amount(content.resource)],
        [d.difference, amount(content.difference)],
        [d.own, amount(content.own)],
      ])}
      ${hasNoAccount(content) ? message('warning', d.withoutText) : message(tones[status], d[`${status}Text`])}
      ${facts([
        [d.ofClients, amount(requirement.balances)],
        [d.reserved, amount(requirement.reserved)],
        [d.suspense, amount(requirement.suspense)],
        [d.endOfDay, time(view, new Date(content.cutAt))],
        [fill(d.version, { version: String(version) }), time(view, new Date(content.computedAt))],
        [d.digest, identifier(view, digest, d.digest)],
      ])}
      ${accountsTable(view, content)} ${partsTable(view, content)} ${entriesTable(view, content)}
      ${rowsTable(view, content)}
      <h2>${d.versions}</h2>
      ${table({
        caption: d.versions,
        columns: [[d.versions, 'head'], d.endOfDay, d.result],
        rows: versions.map((each) => [
          String(each.version),
          time(view, each.computedAt),
          badge(tones[each.status], d[each.status]),
        ]),
      })}
      <h2>${d.file}</h2>
      <p class="buttons">
        ${formats.map((format) =>
          linkButton(
            `${view.root}safeguarding/${day}/${currency}/${format}`,
            fill(d.download, { format: format.toUpperCase() }),
          ),
        )}
      </p>`,
  })
}

function accountsTable(view: ConsoleView, content: SafeguardingContent): Html | undefined {
  const d = deskTexts[view.language].safeguarding
  return titledTable({
    caption: d.accounts,
    columns: [[d.account, 'head'], d.statement, [d.closing, 'number']],
    rows: content.accounts.map(({ account: iban, statement, dueOn }) => [
      account(view, iban),
      statement === null
        ? fill(d.missing, { day: dayText(view, dueOn) })
        : html`${freeText(statement.name)} ${calendarDay(view, statement.on)}`,
      amountCell(view, content, statement?.closing ?? null),
    ]),
  })
}

const kindText = (d: DeskTexts['safeguarding'], kind: string): string =>
  kind === 'unexplained' ? d.unexplainedPart : ((d as Readonly<Record<string, string>>)[kind] ?? kind)

function partsTable(view: ConsoleView, { parts, currency }: SafeguardingContent): Html | undefined {
  const d = deskTexts[view.language].safeguarding
  return titledTable({
    caption: d.parts,
    none: d.noParts,
    columns: [[d.part, 'head'], d.account, [d.count, 'number'], [d.amount, 'number']],
    rows: parts.map(({ kind, account: iban, connector, count, amount }) => [
      kindText(d, kind),
      freeText(iban || connector),
      count === 0 ? '' : String(count),
      money(view, amount, currency),
    ]),
  })
}

function entriesTable(view: ConsoleView, { entries, currency }: SafeguardingContent): Html | false {
  const d = deskTexts[view.language].safeguarding
  return (
    entries.length > 0 &&
    html`<details>
      <summary>${d.entries}</summary>
      ${table({
        caption: d.entries,
        columns: [[d.entry, 'head'], d.part, d.bookedOn, [d.amount, 'number']],
        rows: entries
          .slice(0, entriesShown)
          .map(({ id, kind, bookedOn, amount }) => [
            identifier(view, id, d.entry),
            kindText(d, kind),
            calendarDay(view, bookedOn),
            money(view, amount, currency),
          ]),
      })}
    </details>`
  )
}
/** Maximum entries on the page. The exports contain all entries. */
const entriesShown = 100

function rowsTable(view: ConsoleView, { changedRows, currency }: SafeguardingContent): Html | undefined {
  const d = deskTexts[view.language].safeguarding
  return titledTable({
    caption: d.rows,
    columns: [[d.partner, 'head'], d.account, [d.difference, 'number']],
    rows: changedRows.map(({ partnerId, account: name, difference }) => [
      html`<a href="${view.root}partners/${partnerId}">${d.partner}</a> ${identifier(view, partnerId, d.partner)}`,
      name,
      money(view, difference, currency),
    ]),
  })
}

/** File formats for an auditor, who can verify the signature. */
const formats = ['pdf', 'csv', 'json'] as const
const mediaTypes = { pdf: 'application/pdf', csv: 'text/csv; charset=utf-8', json: 'application/json' } as const

function exportBody(format: (typeof formats)[number], signed: readonly SignedContent[]): PublicAnswer['body'] {
  if (format === 'pdf') return safeguardingPdf(signed)
  return format === 'csv' ? safeguardingCsv(signed) : `${JSON.stringify(signed, undefined, 2)}\n`
}

const rowsShown = 60
/** Bounds that include the days of all records. */
const [firstDay, lastDay] = ['0001-01-01', '9999-12-31']

export function safeguardingRoutes(frame: DeskFrame): readonly PublicRoute[] {
  const { db, safeguarding } = frame
  return [
    staffRoute(frame, 'safeguarding', 'GET', '/safeguarding', async (request, person) => {
      const { view } = person
      const asked = new URLSearchParams(request.query).get('before') ?? ''
      const before = isCalendarDay(asked) ? asked : lastDay
      const rows = await safeguarding.list(db, { from: firstDay, before, rowsMax: rowsShown + 1 })
      // A page ends with a whole day: the next one begins before it.
      const cut = rows.length > rowsShown ? rows.at(-1)?.day : undefined
      const days = rows.filter(({ day }) => day !== cut).map(({ content }) => content)
      const last = days.at(-1)?.day
      const next = cut === undefined || last === undefined ? {} : { next: `safeguarding?before=${last}` }
      const first = before === lastDay ? {} : { first: 'safeguarding' }
      const offered = {
        acts: ['safeguarding accounts set', 'safeguarding run'] as const,
        given: {},
        back: 'safeguarding',
      }
      const acts = actionButtons(view, { ...frame, person }, offered)
      return page(request, 200, daysPage(view, { days, ...next, ...first, acts, said: actionMessage(view, request) }))
    }),
    staffRoute(frame, 'safeguarding', 'GET', '/safeguarding/{day}/{currency}', async (request, { view }) => {
      const { day = '', currency = '' } = request.params
      if (!isCalendarDay(day) || !isFiat(currency)) throw notFound('page')
      const versions = await safeguarding.versions(db, day, currency)
      const [last] = versions
      if (last === undefined) throw notFound('page')
      return page(request, 200, dayPage(view, { content: last.content, digest: last.digest, versions }))
    }),
    staffRoute(frame, 'safeguarding', 'GET', '/safeguarding/{day}/{currency}/{format}', async ({ params }) => {
      const { day = '', currency = '' } = params
      const format = formats.find((each) => each === params['format'])
      if (!isCalendarDay(day) || !isFiat(currency) || format === undefined) throw notFound('page')
      const [last] = await safeguarding.versions(db, day, currency)
      if (last === undefined) throw notFound('page')
      const disposition = `attachment; filename="safeguarding-${day}-${currency}.${format}"`
      const headers = { ...consoleHeaders, 'content-type': mediaTypes[format], 'content-disposition': disposition }
      return { status: 200, headers, body: exportBody(format, [toSigned(last)]) }
    }),
  ]
}
