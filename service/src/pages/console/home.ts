/** The home page: tasks of the person, and balances with their last days. */
import { decimalText } from '@partner-payments/wire'
import type { Caller } from '../../kernel/api/index.ts'
import { html, type Html } from '../html.ts'
import { type ConsoleView, shell } from '../kit/frame.ts'
import { emptyState, formatGrouped, linkButton, table } from '../kit/parts.ts'
import { page } from '../kit/request.ts'
import { fill } from '../language.ts'
import { balancePlot, type BalancePlot, createPlot } from './balance-plot.ts'
import { waitingPerPage } from './payouts.ts'
import { callOf, type Frame, may, type Person, type Routes } from './request.ts'
import { needsRotation } from './service-accounts.ts'
import { texts } from './texts/index.ts'
import { isFailing } from './webhooks.ts'

/** Amounts are texts in the language of the page, without their currency. */
type Balance = {
  readonly currency: string
  readonly available: string
  readonly reserved: string
  /** The partner's own part of a segregated balance. */
  readonly own?: string
  /** True if each customer's payouts use only that customer's money. */
  readonly segregated: boolean
}

type WaitingItem = { readonly title: string; readonly count: string; readonly href?: string }

type HomeView = {
  readonly balances: readonly Balance[]
  /** Plots of the first balances, all for the same days. */
  readonly plots: readonly BalancePlot[]
  readonly waiting: readonly WaitingItem[]
}

export function homePage(view: ConsoleView, { balances, plots, waiting }: HomeView): string {
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
      ${plots.length > 0 && plotsPart(view, plots)}`,
  })
}

const plotsPart = (view: ConsoleView, plots: readonly BalancePlot[]): Html =>
  html`<section aria-labelledby="plots-title">
    <h2 id="plots-title">${fill(view.t.lastDays, { count: String(plots[0]?.days.length ?? 0) })}</h2>
    <p class="soft">${view.t.lastDaysText}</p>
    <div class="plots">${plots.map((plot) => balancePlot(view, plot))}</div>
  </section>`

const waitingList = (waiting: readonly WaitingItem[]): Html =>
  html`<ul class="waiting">
    ${waiting.map(({ title, count, href }) => {
      const content = html`<span class="count">${count}</span> <span>${title}</span>`
      return href === undefined ? html`<li><p>${content}</p></li> ` : html`<li><a href="${href}">${content}</a></li> `
    })}
  </ul>`

function balanceTable({ t, language }: ConsoleView, balances: readonly Balance[]): Html {
  const hasOwn = balances.some(({ own }) => own !== undefined)
  const money = (amount: string, currency: string, look: string) =>
    html`<span class="money ${look}">${formatGrouped(language, amount)} <abbr>${currency}</abbr></span>`
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

function noBalances(view: ConsoleView): Html {
  const { t, sandbox } = view
  return emptyState({
    title: t.balancesEmpty,
    text: sandbox ? t.balancesEmptySandbox : t.balancesEmptyText,
    more: html`<p class="more">
      ${sandbox ? linkButton(`${view.root}simulations`, t.simulations) : linkButton(`${view.root}customers`, t.customers)}
    </p>`,
  })
}

type ListAnswer = { readonly data: readonly unknown[]; readonly nextCursor: string | null }

const countText = (found: ListAnswer | undefined): string | undefined =>
  found === undefined || found.data.length === 0
    ? undefined
    : `${found.data.length}${found.nextCursor === null ? '' : '+'}`

/** Maximum that is counted. More are shown as `25+`, because an exact count would read them all. */
const countedMax = 25

/** Number of days of a plot. Only the first balances of the table have a plot. */
const plotDays = 30

const plotsMax = 6

/**
 * Lists approvals that the person may decide, which are for payouts that others created. A bulk counts as one, as in
 * the list.
 */
async function listApprovals({ access, payouts }: Frame, caller: Caller) {
  const made = { notBy: await access.madeBy(caller) }
  const found = await payouts.waitingApprovals(caller.partnerId, { made, afterId: null, rowsMax: waitingPerPage + 1 })
  return { data: found.slice(0, waitingPerPage), nextCursor: found.length > waitingPerPage ? 'more' : null }
}

/** Counts the open tasks that the person may do. */
async function countWaiting(frame: Frame, person: Person, call: ReturnType<typeof callOf>) {
  const { operate, clock, members } = frame
  const { view } = person
  const first = `limit=${countedMax}`
  const { caller } = person
  const [held, sessions, invalid, hooks, keys, signOn] = await Promise.all([
    may(person, 'payouts:write') ? listApprovals(frame, caller) : undefined,
    may(person, 'checkout:write') && may(person, 'checkout:read')
      ? operate('listCheckoutSessions', { ...call, query: `hasLatePayments=true&${first}` })
      : undefined,
    may(person, 'customers:read')
      ? operate('listCustomers', { ...call, query: `verificationState=Invalid&${first}` })
      : undefined,
    may(person, 'webhooks:read') ? operate('listSubscriptions', { ...call, query: 'limit=100' }) : undefined,
    may(person, 'users:read')
      ? operate('listServiceAccounts', { ...call, query: 'status=Active&limit=100' })
      : undefined,
    may(person, 'users:write') ? members.singleSignOn.waiting(caller.partnerId) : undefined,
  ])
  const only = <T>(found: { readonly data: readonly T[] } | undefined, counts: (item: T) => boolean) =>
    found && { data: found.data.filter(counts), nextCursor: null }
  const late = only(sessions, ({ latePayments = [] }) => latePayments.some(({ status }) => status === 'Waiting'))
  const failing = only(hooks, isFailing)
  const ending = only(keys, (key) => needsRotation(key, clock.now()))
  // The Admin who proposed the change cannot confirm it.
  const proposed = signOn !== undefined && signOn.proposedBy !== caller.serviceAccountId ? [signOn] : []
  const customers = texts[view.language].payments.unverifiedCustomers
  return [
    { title: view.t.payoutsToApprove, count: countText(held), href: 'payouts?tab=mine' },
    {
      title: view.t.signOnToConfirm,
      count: countText({ data: proposed, nextCursor: null }),
      href: 'team/single-sign-on',
    },
    { title: view.t.latePayments, count: countText(late), href: 'checkout?hasLatePayments=true' },
    { title: customers, count: countText(invalid), href: 'customers?verificationState=Invalid' },
    { title: view.t.failingWebhooks, count: countText(failing), href: 'webhooks?show=failing' },
    { title: view.t.endingKeys, count: countText(ending), href: 'service-accounts?show=ending' },
  ].flatMap(({ count, ...each }) => (count === undefined ? [] : [{ ...each, count }]))
}

export const homeRoutes: Routes = (frame) => [
  {
    method: 'GET',
    path: '/console/home',
    handle: (request) =>
      frame.withMoney(request, async (person) => {
        const { operate, accounts } = frame
        const { caller, view } = person
        const call = callOf(person, request)
        const balances = may(person, 'accounts:read') ? (await operate('listAccounts', call)).data : []
        const daily = balances.length === 0 ? [] : await accounts.dailyBalances(caller.partnerId, plotDays)
        const shown = balances.map(({ currency, available, reserved, own, segregated }) => ({
          currency,
          segregated,
          available: decimalText(available),
          reserved: decimalText(reserved),
          ...(own === undefined ? {} : { own: decimalText(own.available) }),
        }))
        const plots = daily.flatMap((each) => createPlot(each) ?? []).slice(0, plotsMax)
        const waiting = await countWaiting(frame, person, call)
        return page(request, 200, homePage({ ...view, current: 'home' }, { balances: shown, plots, waiting }))
      }),
  },
]
