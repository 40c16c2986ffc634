/** The first page after the sign-in: balances, and what waits. */
import { decimalText, type Permission } from '@partner-payments/wire'
import { plotOf } from './balance-plot.ts'
import { homePage } from './home-page.ts'
import { dayMs } from '../../kernel/index.ts'
import { callOf } from './payments-request.ts'
import { type Frame, page, type Person, type Routes } from './request.ts'
import { paymentTexts } from './texts/payments.ts'

const may = ({ caller }: Person, permission: Permission) => caller.permissions.includes(permission)

type Page = { readonly data: readonly unknown[]; readonly nextCursor: string | null }

const countOf = (found: Page | undefined): string | undefined =>
  found === undefined || found.data.length === 0
    ? undefined
    : `${found.data.length}${found.nextCursor === null ? '' : '+'}`

/** More are shown as `25+`: an exact count would read them all. */
const shownMax = 25

/** Days of a plot, and balances that have one: the first ones of the table. */
const plotDays = 30
const plotsMax = 6

/** Time before its end from which on a key waits for its rotation. */
const keyMsLeft = 14 * dayMs

/** Counts what waits for a person, of the operations that the person may call. */
async function waitingFor({ operate, clock }: Frame, person: Person, call: ReturnType<typeof callOf>) {
  const { view } = person
  const first = `limit=${shownMax}`
  const [held, invalid, hooks, keys] = await Promise.all([
    may(person, 'payouts:read')
      ? operate('listPayouts', { ...call, query: `status=PendingApproval&${first}` })
      : undefined,
    may(person, 'customers:read')
      ? operate('listCustomers', { ...call, query: `verificationState=Invalid&${first}` })
      : undefined,
    may(person, 'webhooks:read') ? operate('listSubscriptions', { ...call, query: 'limit=100' }) : undefined,
    may(person, 'users:read')
      ? operate('listServiceAccounts', { ...call, query: 'status=Active&limit=100' })
      : undefined,
  ])
  const only = <T>(found: { readonly data: readonly T[] } | undefined, counts: (item: T) => boolean) =>
    found && { data: found.data.filter(counts), nextCursor: null }
  const endsBefore = clock.now().getTime() + keyMsLeft
  const failing = only(hooks, ({ disabledReason }) => disabledReason === 'Failing' || disabledReason === 'Gone')
  const ending = only(
    keys,
    ({ expiresAt, impersonation }) => !impersonation && expiresAt !== null && Date.parse(expiresAt) < endsBefore,
  )
  const tab = may(person, 'transactions:read') ? 'mine' : 'waiting'
  const customers = paymentTexts[view.language].unverifiedCustomers
  return [
    { title: view.t.payoutsToApprove, count: countOf(held), href: `payouts?tab=${tab}` },
    { title: customers, count: countOf(invalid), href: 'customers?verificationState=Invalid' },
    { title: view.t.failingWebhooks, count: countOf(failing), href: 'webhooks' },
    { title: view.t.endingKeys, count: countOf(ending), href: 'service-accounts?status=Active' },
  ].flatMap(({ count, ...each }) => (count === undefined ? [] : [{ ...each, count }]))
}

export const homeRoutes: Routes = (frame, _withPerson, withMoney) => [
  {
    method: 'GET',
    path: '/console/home',
    handle: (request) =>
      withMoney(request, async (person) => {
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
        const plots = daily.flatMap((each) => plotOf(each) ?? []).slice(0, plotsMax)
        const waiting = await waitingFor(frame, person, call)
        return page(request, 200, homePage({ ...view, current: 'home' }, { balances: shown, plots, waiting }))
      }),
  },
]
