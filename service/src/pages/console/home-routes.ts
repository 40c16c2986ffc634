/** The first page after the sign-in: balances, and what waits. */
import { decimalText, type Permission } from '@partner-payments/wire'
import { plotOf } from './balance-plot.ts'
import { homePage } from './home-page.ts'
import { page, type Person, type Routes } from './request.ts'
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

export const homeRoutes: Routes = ({ operate, accounts }, _withPerson, withMoney) => [
  {
    method: 'GET',
    path: '/console/home',
    handle: (request) =>
      withMoney(request, async (person) => {
        const { caller, view } = person
        const { requestId, ip } = request
        const call = { caller, requestId, ip }
        const balances = may(person, 'accounts:read') ? (await operate('listAccounts', call)).data : []
        const daily = balances.length === 0 ? [] : await accounts.dailyBalances(caller.partnerId, plotDays)
        const first = `limit=${shownMax}`
        const [held, invalid] = await Promise.all([
          may(person, 'payouts:read')
            ? operate('listPayouts', { ...call, query: `status=PendingApproval&${first}` })
            : undefined,
          may(person, 'customers:read')
            ? operate('listCustomers', { ...call, query: `verificationState=Invalid&${first}` })
            : undefined,
        ])
        const shown = balances.map(({ currency, available, reserved, own }) => ({
          currency,
          available: decimalText(available),
          reserved: decimalText(reserved),
          ...(own === undefined ? {} : { own: decimalText(own.available) }),
        }))
        const plots = daily.flatMap((each) => plotOf(each) ?? []).slice(0, plotsMax)
        const tab = may(person, 'transactions:read') ? 'mine' : 'waiting'
        const waiting = [
          { title: view.t.payoutsToApprove, count: countOf(held), href: `payouts?tab=${tab}` },
          {
            title: paymentTexts[view.language].unverifiedCustomers,
            count: countOf(invalid),
            href: 'customers?verificationState=Invalid',
          },
        ].flatMap(({ count, ...each }) => (count === undefined ? [] : [{ ...each, count }]))
        return page(request, 200, homePage({ ...view, current: 'home' }, { balances: shown, plots, waiting }))
      }),
  },
]
