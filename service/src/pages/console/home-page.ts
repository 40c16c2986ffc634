/** The first page after signing in: what waits for the person, then the balances. */
import { html, type Html } from '../html.ts'
import { fill } from '../language.ts'
import { balancePlot, type BalancePlot } from './balance-plot.ts'
import { call, empty, table } from './components.ts'
import { grouped } from './money.ts'
import { type ConsoleView, shell } from './view.ts'

/** Amounts are texts in the language of the page, without their currency. */
type Balance = {
  readonly currency: string
  readonly available: string
  readonly reserved: string
  /** The partner's own part of a segregated balance. */
  readonly own?: string
  /** Only the customer of a payout pays it, or the partner. */
  readonly segregated: boolean
}
type Waiting = { readonly title: string; readonly count: string; readonly href?: string }

type Home = {
  readonly balances: readonly Balance[]
  /** Plots of the first balances. Each has the same days. */
  readonly plots: readonly BalancePlot[]
  readonly waiting: readonly Waiting[]
}

export function homePage(view: ConsoleView, { balances, plots, waiting }: Home): string {
  const { t } = view
  return shell(view, {
    title: t.home,
    main: html`<h1>${t.home}</h1>
      <section aria-labelledby="waiting-title">
        <h2 id="waiting-title">${t.waiting}</h2>
        ${waiting.length === 0 ? html`<p class="calm">${t.waitingEmpty}</p>` : waitingList(waiting)}
      </section>
      <section aria-labelledby="balances-title">
        <h2 id="balances-title">${t.balances}</h2>
        ${balances.length === 0 ? noBalances(view) : balanceTable(view, balances)}
      </section>
      ${plots.length > 0 && plotsOf(view, plots)}`,
  })
}

const plotsOf = (view: ConsoleView, plots: readonly BalancePlot[]): Html =>
  html`<section aria-labelledby="plots-title">
    <h2 id="plots-title">${fill(view.t.lastDays, { count: String(plots[0]?.days.length ?? 0) })}</h2>
    <p class="soft">${view.t.lastDaysText}</p>
    <div class="plots">${plots.map((plot) => balancePlot(view, plot))}</div>
  </section>`

const waitingList = (waiting: readonly Waiting[]): Html =>
  html`<ul class="waiting">
    ${waiting.map(({ title, count, href }) => {
      const content = html`<span class="count">${count}</span> <span>${title}</span>`
      return href === undefined ? html`<li><p>${content}</p></li> ` : html`<li><a href="${href}">${content}</a></li> `
    })}
  </ul>`

function balanceTable({ t, language }: ConsoleView, balances: readonly Balance[]): Html {
  const hasOwn = balances.some(({ own }) => own !== undefined)
  const money = (amount: string, currency: string, look: string) =>
    html`<span class="money ${look}">${grouped(language, amount)} <abbr>${currency}</abbr></span>`
  return table({
    caption: t.balances,
    columns: [
      [t.currency, 'head'],
      [t.available, 'number'],
      [t.reserved, 'number'],
      ...(hasOwn ? [[t.own, 'number'] as const] : []),
      t.payoutsUse,
    ],
    rows: balances.map(({ currency, available, reserved, own, segregated }) => [
      currency,
      money(available, currency, 'main'),
      money(reserved, currency, ''),
      ...(hasOwn ? [own === undefined ? '' : money(own, currency, '')] : []),
      segregated ? t.usesOwnPart : t.usesWholeBalance,
    ]),
  })
}

const depositCall = `POST /v1/simulations/deposits
{ "customerId": "…", "amount": 100.00, "currency": "EUR", "outcome": "completed" }`
const accountCall = `POST /v1/customers/{id}/account`

function noBalances(view: ConsoleView): Html {
  const { t, sandbox } = view
  return empty({
    title: t.balancesEmpty,
    text: sandbox ? t.balancesEmptySandbox : t.balancesEmptyText,
    more: call(view, sandbox ? depositCall : accountCall, sandbox ? t.depositCall : t.accountCall),
  })
}
