/** The page of connectors: how each bank and chain responds, what is pending for it, and its last files. */
import type { PublicRoute } from '../../kernel/api/index.ts'
import { operatorPartnerId } from '../../cases/index.ts'
import type { BankFile } from '../../rails/index.ts'
import { badge, facts, freeText, table, time, wordFor } from '../kit/parts.ts'
import { page } from '../kit/request.ts'
import { type ConsoleView, shell } from '../kit/frame.ts'
import { html, type Html } from '../html.ts'
import { deskTexts, type Runbook } from './texts.ts'
import { type ConnectorStatus, type DeskFrame, staffRoute } from './request.ts'
import { runbookLink, waitingItemHref } from './things.ts'

const runbooks: Readonly<Record<NonNullable<ConnectorStatus['trouble']>, Runbook>> = {
  heldBack: 'alerts/PaymentsBankUnreachable',
  failing: 'alerts/PaymentsBankUnreachable',
  file: 'alerts/PaymentsBankFileStuck',
  notification: 'alerts/PaymentsBankNotificationsFailing',
  payout: 'alerts/PaymentsQueueStuck',
}

type ConnectorList = {
  readonly connectors: readonly ConnectorStatus[]
  /** Returns the path of the page with owner and notes of a connector, from the root of the desk. */
  readonly hrefOf: (id: string) => string
}

export function connectorsPage(view: ConsoleView, { connectors, hrefOf }: ConnectorList): string {
  const d = deskTexts[view.language].connectors
  const [first] = connectors
  const [before = '', after = ''] = d.text.split('{since}')
  return shell(view, {
    title: d.connectors,
    wide: true,
    main: html`<h1>${d.connectors}</h1>
      <p class="lead">${before}${first === undefined ? d.never : time(view, first.state.since)}${after}</p>
      ${connectorTable(view, connectors)} ${connectors.map((each) => connectorPart(view, each, hrefOf(each.id)))}`,
  })
}

function stateBadge(view: ConsoleView, { trouble, state, byFiles, files }: ConnectorStatus): Html {
  const d = deskTexts[view.language].connectors
  if (trouble !== undefined) return badge('bad', d[trouble])
  const isQuiet = state.answeredAt === null && !(byFiles && files.received !== null)
  return isQuiet ? badge('neutral', d.quiet) : badge('good', d.works)
}

const timeOr = (view: ConsoleView, at: Date | null) =>
  at === null ? deskTexts[view.language].connectors.never : time(view, at)

function connectorTable(view: ConsoleView, connectors: readonly ConnectorStatus[]): Html {
  const d = deskTexts[view.language].connectors
  return table({
    caption: d.connectors,
    columns: [[d.connector, 'head'], d.state, d.answeredAt, [d.failures, 'number'], d.runbook],
    rows: connectors.map((each) => [
      html`<a href="#${each.id}">${each.id}</a>`,
      stateBadge(view, each),
      timeOr(view, each.state.answeredAt),
      String(each.state.failures),
      each.trouble === undefined ? '–' : runbookLink(view, runbooks[each.trouble]),
    ]),
  })
}

function connectorPart(view: ConsoleView, connector: ConnectorStatus, href: string): Html {
  const d = deskTexts[view.language].connectors
  const { id, byFiles, state, waits, files, trouble } = connector
  const wait = (name: keyof typeof waits, text: string) =>
    waits[name] !== null && html`<span>${text}: ${time(view, waits[name])}</span>`
  const waiting = [
    wait('notification', d.waitingNotification),
    wait('payout', d.waitingPayout),
    wait('recall', d.waitingRecall),
    wait('file', d.waitingFile),
  ].filter((each) => each !== false)
  return html`<section aria-labelledby="${id}">
    <h2 id="${id}">${id}</h2>
    ${facts([
      [d.state, stateBadge(view, connector)],
      [d.answeredAt, timeOr(view, state.answeredAt)],
      [d.failures, String(state.failures)],
      [
        d.problem,
        state.failedAt === null
          ? undefined
          : html`${time(view, state.failedAt)} ${state.problem !== null && freeText(state.problem)}`,
      ],
      [d.breaker, state.heldBack ? d.open : d.closed],
      [d.inFlight, String(state.inFlight)],
      [d.waiting, waiting.length === 0 ? d.never : html`<span class="lines">${waiting}</span>`],
      [d.lastIn, byFiles ? fileCell(view, files.received) : d.noFiles],
      [d.lastOut, byFiles ? fileCell(view, files.sent) : d.noFiles],
      [d.aside, files.aside === null ? undefined : fileCell(view, files.aside)],
    ])}
    ${trouble !== undefined && html`<p><a href="${view.root}${href}">${d.owner}</a></p>`}
  </section>`
}

const fileCell = (view: ConsoleView, found: BankFile | null): Html | string =>
  found === null
    ? deskTexts[view.language].connectors.never
    : html`<a href="${view.root}files/${found.id}">${freeText(found.name)}</a>
        ${wordFor(deskTexts[view.language].files, found.state)} ${time(view, found.at)}`

export const connectorRoutes = (frame: DeskFrame): readonly PublicRoute[] => [
  staffRoute(frame, 'connectors', 'GET', '/connectors', async (request, { view }) => {
    const connectors = await frame.waiting.connectors()
    const hrefOf = (subject: string) => waitingItemHref({ partnerId: operatorPartnerId, kind: 'connector', subject })
    return page(request, 200, connectorsPage(view, { connectors, hrefOf }))
  }),
]
