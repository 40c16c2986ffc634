/**
 * The pages of reconciliation: the accounts with their last results, and for one account the parts of the difference
 * with what to do about each.
 */
import { notFound, type PublicRequest, type PublicRoute } from '../../kernel/api/index.ts'
import { dayMs } from '../../kernel/index.ts'
import { useSnapshot, type Tx } from '../../postgres/index.ts'
import { type ReportLine, reportHead, reportLine } from '../../cases/reconciliation/index.ts'
import {
  badge,
  calendarDay,
  facts,
  freeText,
  heading as titleWith,
  identifier,
  formatAccount,
  linkButton,
  message,
  money,
  moneyText,
  summaryStrip,
  table,
  time,
} from '../kit/parts.ts'
import { pager } from '../kit/lists.ts'
import { page } from '../kit/request.ts'
import { type ConsoleView, shell } from '../kit/frame.ts'
import { html, type Html } from '../html.ts'
import { fill } from '../language.ts'
import { findPayoutButton, partnerLink } from './files.ts'
import { titledTable, tableOrEmpty } from './parties.ts'
import { deskTexts } from './texts.ts'
import { csvFile } from './numbers.ts'
import { type DeskFrame, staffRoute } from './request.ts'

type AccountName = { readonly connector: string; readonly account: string; readonly currency: string }

/** Only a comparison with a recent statement is green. */
const tones = {
  agrees: 'good',
  agreesOld: 'warning',
  explained: 'neutral',
  unexplained: 'bad',
  noStatement: 'warning',
  notLooked: 'warning',
} as const
/** Maximum age of a recent statement. It allows for a weekend, a holiday, and the day until the statement arrives. */
const statementDaysMax = 5
const isZero = (amount: string | undefined): boolean => !/[1-9]/.test(amount ?? '')

/**
 * Classifies the result of a look. Bank accounts are compared with their last statement, suspense with open cases.
 * `now`: undefined for a stored look.
 */
export function lookResult(line: ReportLine | undefined, name: AccountName, now: Date | undefined): keyof typeof tones {
  if (line === undefined) return 'notLooked'
  if (!isZero(line['unexplained'])) return 'unexplained'
  const statementOn = line['statement_on'] ?? ''
  if (!isSuspense(name) && statementOn === '') return 'noStatement'
  if (!isZero(line['difference'])) return 'explained'
  const isOld =
    now !== undefined &&
    !isSuspense(name) &&
    now.getTime() - Date.parse(`${statementOn}T00:00:00Z`) > statementDaysMax * dayMs
  return isOld ? 'agreesOld' : 'agrees'
}

const amountCell = (view: ConsoleView, line: ReportLine | undefined, name: string): Html | string => {
  const amount = line?.[name] ?? ''
  return amount === '' ? '' : money(view, amount, line?.['currency'] ?? '')
}

const dayCell = (view: ConsoleView, text: string | undefined, none = ''): Html | string =>
  text === undefined || text === '' ? none : calendarDay(view, text)
const timeCell = (view: ConsoleView, text: string | undefined): Html | string =>
  text === undefined || text === '' ? '' : time(view, new Date(text))

const accountHref = (
  { connector, account, currency }: AccountName,
  more: Readonly<Record<string, string>> = {},
): string => `reconciliation/account?${new URLSearchParams({ connector, account, currency, ...more }).toString()}`
/** Returns the path of the report as a file. */
const fileHref = ({ connector, account, currency }: AccountName): string =>
  `reconciliation/file?${new URLSearchParams({ connector, account, currency }).toString()}`
const isSuspense = ({ account }: AccountName): boolean => account === 'suspense'

type AccountList = {
  readonly accounts: readonly { readonly name: AccountName; readonly line: ReportLine | undefined }[]
  readonly now: Date
}

export function accountsPage(view: ConsoleView, { accounts, now }: AccountList): string {
  const d = deskTexts[view.language].reconciliation
  return shell(view, {
    title: d.title,
    wide: true,
    main: html`${titleWith(d.title, accounts.length > 0 && linkButton(`${view.root}reconciliation/file`, d.file))}
      <p class="lead">${d.text}</p>
      ${tableOrEmpty({
        none: { title: d.none, text: d.noneText },
        caption: d.title,
        columns: [
          [d.account, 'head'],
          d.result,
          d.statementOn,
          d.lookedAt,
          [d.closing, 'number'],
          [d.difference, 'number'],
          [d.explained, 'number'],
          [d.unexplained, 'number'],
          d.bank,
        ],
        rows: accounts.map(({ name, line }) => [
          html`<a href="${view.root}${accountHref(name)}"
            >${isSuspense(name) ? d.suspense : formatAccount(name.account)} ${name.currency}</a
          >`,
          badge(tones[lookResult(line, name, now)], d[lookResult(line, name, now)]),
          isSuspense(name) ? '' : dayCell(view, line?.['statement_on'], d.noneYet),
          timeCell(view, line?.['at']),
          amountCell(view, line, 'closing'),
          amountCell(view, line, 'difference'),
          amountCell(view, line, 'explained'),
          amountCell(view, line, 'unexplained'),
          name.connector,
        ]),
      })}`,
  })
}

type AccountDetails = {
  readonly name: AccountName
  readonly lines: readonly ReportLine[]
  readonly days: readonly ReportLine[]
  /** The time of a stored look. Undefined for a new look. */
  readonly at: Date | undefined
  readonly now: Date
  readonly rowsMax: number
  readonly next?: string | undefined
  readonly first?: string | undefined
}

export function accountPage(view: ConsoleView, shown: AccountDetails): string {
  const d = deskTexts[view.language].reconciliation
  const { name, lines, at, now, next, first, rowsMax } = shown
  const line = lines.find(({ record }) => record === 'account')
  const result = lookResult(line, name, at === undefined ? now : undefined)
  const of = (...records: readonly string[]) => lines.filter(({ record = '' }) => records.includes(record))
  const heading = isSuspense(name) ? d.suspense : formatAccount(name.account)
  const opening = line?.['opening'] ?? ''
  const from = opening === '' ? d.notStated : moneyText(view, opening, name.currency)
  return shell(view, {
    title: `${d.title}: ${heading} ${name.currency}`,
    wide: true,
    main: html`${titleWith(`${d.title}: ${heading} ${name.currency}`, linkButton(`${view.root}${fileHref(name)}`, d.file))}
      <p class="lead">
        ${at === undefined ? d.now : html`${d.asOf} ${time(view, at, 'seconds')}. <a href="${view.root}${accountHref(name)}">${d.toNow}</a>`}
      </p>
      ${summaryStrip([
        [d.result, badge(tones[result], d[result])],
        ...(isSuspense(name) ? [] : ([[d.closing, orNone(amountCell(view, line, 'closing'), d.notStated)]] as const)),
        [d.difference, orNone(amountCell(view, line, 'difference'), d.notLooked)],
        [d.explained, orNone(amountCell(view, line, 'explained'), d.notLooked)],
        [d.unexplained, orNone(amountCell(view, line, 'unexplained'), d.notLooked)],
      ])}
      ${result !== 'notLooked' && message(tones[result], d[`${result}Text`])}
      <p>${isSuspense(name) ? d.suspenseText : fill(d.movedText, { opening: from })}</p>
      ${facts([
        [d.statementOn, isSuspense(name) ? undefined : dayCell(view, line?.['statement_on'], d.noneYet)],
        [isSuspense(name) ? d.openCases : d.bankMoved, orNone(amountCell(view, line, 'bank'), d.notLooked)],
        [d.ledgerMoved, orNone(amountCell(view, line, 'ledger'), d.notLooked)],
      ])}
      ${partsTable(view, of('difference', 'suspense', 'memo'), line)} ${casesTable(view, of('case', 'case_reversed'))}
      ${rowsTable(view, of(...rowRecords), rowsMax)} ${!isSuspense(name) && daysTable(view, shown)}
      ${statementsTable(view, of('statement'))} ${pager(view, { next, first })}`,
  })
}

const orNone = (value: Html | string, none: string): Html | string => (value === '' ? none : value)

function partsTable(view: ConsoleView, items: readonly ReportLine[], line: ReportLine | undefined): Html | undefined {
  const d = deskTexts[view.language].reconciliation
  const words = d as Readonly<Record<string, string>>
  const isLeft = line !== undefined && !isZero(line['unexplained'])
  const rows = items.map(({ record, kind = '', ...item }) => [
    record === 'suspense' ? fill(d.suspenseItem, { kind }) : (words[kind] ?? kind),
    money(view, item['amount'] ?? '', item['currency'] ?? ''),
    item['count'] ?? '',
    timeCell(view, item['since']),
    record === 'suspense'
      ? html`<a href="${view.root}queue">${d.suspenseDo}</a>`
      : (words[`${kind}Do`] ?? item['why'] ?? ''),
  ])
  const left = isLeft ? [[d.unexplained, amountCell(view, line, 'unexplained'), '', '', d.unexplainedDo]] : []
  return titledTable({
    caption: d.parts,
    none: d.noParts,
    columns: [[d.part, 'head'], [d.amount, 'number'], [d.count, 'number'], d.since, d.todo],
    rows: [...left, ...rows],
  })
}

function casesTable(view: ConsoleView, cases: readonly ReportLine[]): Html | undefined {
  const d = deskTexts[view.language].reconciliation
  const words = d as Readonly<Record<string, string>>
  return titledTable({
    caption: d.cases,
    columns: [[d.case, 'head'], [d.amount, 'number'], d.opened, d.status, d.partner],
    rows: cases.map((each) => [
      html`<a href="${view.root}cases/${each['partner']}/${each['id']}"
        >${freeText(each['kind'])}<span class="away"> ${each['id']}</span></a
      >`,
      amountCell(view, each, 'amount'),
      timeCell(view, each['since']),
      each['record'] === 'case_reversed' ? d.case_reversed : (words[each['status'] ?? ''] ?? each['status'] ?? ''),
      partnerLink(view, each['partner'] ?? null),
    ]),
  })
}

const rowRecords = ['entry_not_on_statement', 'entry_new', 'payment_not_booked', 'payment_missing'] as const

/** Lists single entries and payments. The page omits the other party and the remittance, which are in the report. */
function rowsTable(view: ConsoleView, rows: readonly ReportLine[], rowsMax: number): Html | false {
  const d = deskTexts[view.language].reconciliation
  const words = d as Readonly<Record<string, string>>
  const payoutOf = ({ record = '', id = '', kind = '', subject = '' }: ReportLine) =>
    record.startsWith('payment_') ? id : ['payout', 'return'].includes(kind) && subject !== '' ? subject : null
  return (
    rows.length > 0 &&
    html`<h2>${d.rows}</h2>
      <p class="lead">${fill(d.rowsText, { max: String(rowsMax) })}</p>
      ${table({
        caption: d.rows,
        columns: [[d.row, 'head'], [d.amount, 'number'], d.since, d.status, d.payout, d.partner, d.id],
        rows: rows.map((each) => [
          words[each['record'] ?? ''] ?? '',
          amountCell(view, each, 'amount'),
          timeCell(view, each['since']),
          freeText(each['kind']),
          findPayoutButton(view, payoutOf(each)),
          partnerLink(view, each['partner'] || null),
          identifier(view, each['id'] ?? '', d.id),
        ]),
      })}`
  )
}

function daysTable(view: ConsoleView, { name, days }: AccountDetails): Html {
  const d = deskTexts[view.language].reconciliation
  if (days.length === 0)
    return html`<h2>${d.days}</h2>
      <p>${d.noDays}</p>`
  return html`<h2>${d.days}</h2>
    <p class="lead">${d.daysText}</p>
    ${table({
      caption: d.days,
      columns: [
        [d.day, 'head'],
        [d.closing, 'number'],
        [d.bankMoved, 'number'],
        [d.ledgerMoved, 'number'],
        [d.difference, 'number'],
        [d.explained, 'number'],
        [d.unexplained, 'number'],
        d.lookedAt,
      ],
      rows: days.map((each) => [
        html`<a href="${view.root}${accountHref(name, { at: each['at'] ?? '' })}"
          >${dayCell(view, each['statement_on'], d.noDay)}</a
        >`,
        orNone(amountCell(view, each, 'closing'), d.notStated),
        amountCell(view, each, 'bank'),
        amountCell(view, each, 'ledger'),
        amountCell(view, each, 'difference'),
        amountCell(view, each, 'explained'),
        amountCell(view, each, 'unexplained'),
        timeCell(view, each['at']),
      ]),
    })}`
}

function statementsTable(view: ConsoleView, statements: readonly ReportLine[]): Html | false {
  const d = deskTexts[view.language].reconciliation
  return (
    statements.length > 0 &&
    html`<details>
      <summary>${d.statements}</summary>
      ${table({
        caption: d.statements,
        columns: [
          [d.statement, 'head'],
          d.day,
          [d.opening, 'number'],
          [d.credits, 'number'],
          [d.debits, 'number'],
          [d.closing, 'number'],
          [d.gapBefore, 'number'],
          [d.sumDiffers, 'number'],
        ],
        rows: statements
          .toReversed()
          .map((each) => [
            freeText(each['id']),
            dayCell(view, each['statement_on']),
            ...['opening', 'credits', 'debits', 'closing', 'gap_before', 'sum_differs'].map((column) =>
              amountCell(view, each, column),
            ),
          ]),
      })}
    </details>`
  )
}

const daysShown = 31
/** Maximum rows of each kind on a page. */
const rowsMax = 50
/** Maximum rows of each kind in a file. The file is built in memory and has a few megabytes at most. */
const fileRowsMax = 5000

type ReportQuery = Parameters<DeskFrame['reconciliation']['report']>[1]

export function reconciliationRoutes(frame: DeskFrame): readonly PublicRoute[] {
  const { db, clock, reconciliation } = frame
  const linesOf = async (tx: Tx, wanted: ReportQuery): Promise<readonly ReportLine[]> => {
    const lines: ReportLine[] = []
    for await (const some of reconciliation.report(tx, wanted)) lines.push(...some)
    return lines
  }
  return [
    staffRoute(frame, 'reconciliation', 'GET', '/reconciliation', async (request, { view }) => {
      // Reads the stored results without a new look. Another process may have stored them with a clock that is ahead.
      const stored = await linesOf(db, { at: new Date(clock.now().getTime() + dayMs) })
      const accounts = (await reconciliation.accounts(db)).map((name) => ({
        name,
        line: stored.find(
          (line) =>
            line['record'] === 'account' &&
            line['connector'] === name.connector &&
            line['account'] === name.account &&
            line['currency'] === name.currency,
        ),
      }))
      return page(request, 200, accountsPage(view, { accounts, now: clock.now() }))
    }),
    staffRoute(frame, 'reconciliation', 'GET', '/reconciliation/file', async (request) => {
      const { connector, account, currency, at } = readReportQuery(request)
      const wanted =
        account === '' ? { at, rowsMax: fileRowsMax } : { connector, account, currency, at, rowsMax: fileRowsMax }
      const lines = await db.transaction(async (tx) => {
        await useSnapshot(tx)
        return linesOf(tx, wanted)
      })
      const body = [reportHead, ...lines.map(reportLine)].map((line) => `${line}\n`).join('')
      return csvFile(`reconciliation-${clock.now().toISOString().slice(0, 10)}.csv`, body)
    }),
    staffRoute(frame, 'reconciliation', 'GET', '/reconciliation/account', async (request, { view }) => {
      const { connector, account, currency, at, before } = readReportQuery(request)
      const shown = await db.transaction(async (tx) => {
        await useSnapshot(tx)
        const known = await reconciliation.accounts(tx)
        const name = known.find(
          (one) => one.connector === connector && one.account === account && one.currency === currency,
        )
        if (name === undefined) throw notFound('page')
        const lines = await linesOf(tx, { connector, account, currency, at, rowsMax })
        return { name, lines, days: await reconciliation.days(tx, name, before, daysShown + 1) }
      })
      const days = shown.days.slice(0, daysShown)
      const last = shown.days.length > daysShown ? days.at(-1) : undefined
      const query = (more: Readonly<Record<string, string>>) =>
        `account?${new URLSearchParams({ connector, account, currency, ...more }).toString()}`
      return page(
        request,
        200,
        accountPage(view, {
          ...{ ...shown, days, at, rowsMax, now: clock.now() },
          next: last && query({ before: last['at'] ?? '' }),
          first: before && query({}),
        }),
      )
    }),
  ]
}

function readReportQuery({ query }: PublicRequest) {
  const fields = new URLSearchParams(query)
  const text = (name: string) => fields.get(name) ?? ''
  const moment = (name: string) => {
    const date = new Date(text(name))
    return Number.isNaN(date.getTime()) ? undefined : date
  }
  const [connector, account, currency] = [text('connector'), text('account'), text('currency')]
  return { connector, account, currency, at: moment('at'), before: moment('before') }
}
