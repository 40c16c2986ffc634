/** The navigation entries of the partner's console, in order. */
import type { Permission } from '@partner-payments/wire'
import type { NavigationItem } from '../kit/frame.ts'
import type { Texts } from '../kit/texts/en.ts'

const places: readonly (Pick<NavigationItem, 'name' | 'icon' | 'isForGuests' | 'isPersonal'> & {
  readonly text: (t: Texts) => string
  /** Absent: the entry comes before the groups. */
  readonly group?: (t: Texts) => string
  /** Absent: every signed-in person sees the entry. */
  readonly permission?: Permission
  /** True if only the sandbox has the entry. */
  readonly isSandbox?: boolean
})[] = [
  { name: 'home', text: (t) => t.home, icon: 'M3 9.5 10 3.5l7 6M5 8v8.5h10V8M8.5 16.5v-4h3v4' },
  {
    name: 'inbox',
    isPersonal: true,
    text: (t) => t.inbox,
    icon: 'M3 10.5 5.5 4h9l2.5 6.5v6H3zM3 10.5h4.5l1 2.5h3l1-2.5H17',
  },
  {
    name: 'transactions',
    text: (t) => t.transactions,
    group: (t) => t.groupPayments,
    permission: 'transactions:read',
    icon: 'M3 7h13M13 4l3 3-3 3M17 13H4M7 10l-3 3 3 3',
  },
  {
    name: 'payouts',
    text: (t) => t.payouts,
    group: (t) => t.groupPayments,
    permission: 'payouts:read',
    icon: 'M17.5 2.5 9 11M17.5 2.5 12 17.5l-3-6.5-6.5-3z',
  },
  {
    name: 'bulk-payouts',
    text: (t) => t.bulkPayouts,
    group: (t) => t.groupPayments,
    permission: 'payouts:read',
    icon: 'M3 4.5h14M3 8.5h14M3 12.5h8M3 16.5h8M15 12v5.5M12.5 15l2.5 2.5 2.5-2.5',
  },
  {
    name: 'standing-orders',
    text: (t) => t.standingOrders,
    group: (t) => t.groupPayments,
    permission: 'payouts:read',
    icon: 'M4 5.5h12v11H4zM4 9h12M7 3.5v4M13 3.5v4M8 13l1.5 1.5L12.5 11.5',
  },
  {
    name: 'payees',
    text: (t) => t.payees,
    group: (t) => t.groupPayments,
    permission: 'beneficiaries:read',
    icon: 'M3 8.5 10 4l7 4.5M4.5 8.5V15M8.2 8.5V15M11.8 8.5V15M15.5 8.5V15M3 16.5h14',
  },
  {
    name: 'customers',
    text: (t) => t.customers,
    group: (t) => t.groupPayments,
    permission: 'customers:read',
    icon: 'M10 10a3.2 3.2 0 1 0 0-6.4 3.2 3.2 0 0 0 0 6.4zM3.5 16.8c.4-3.2 3-4.8 6.5-4.8s6.1 1.6 6.5 4.8',
  },
  {
    name: 'checkout',
    text: (t) => t.checkout,
    group: (t) => t.groupPayments,
    permission: 'checkout:read',
    icon: 'M3 5h14v10H3zM3 8.5h14M6 12h4',
  },
  {
    name: 'exchange',
    text: (t) => t.exchange,
    group: (t) => t.groupPayments,
    permission: 'fx:read',
    icon: 'M4 8.5a6 6 0 0 1 11-2.5M15 2.5V6h-3.5M16 11.5a6 6 0 0 1-11 2.5M5 17.5V14h3.5',
  },
  {
    name: 'wallets',
    text: (t) => t.wallets,
    group: (t) => t.groupPayments,
    permission: 'wallets:read',
    icon: 'M3 6.5V15a1.5 1.5 0 0 0 1.5 1.5h11A1.5 1.5 0 0 0 17 15V8a1.5 1.5 0 0 0-1.5-1.5zM3 6.5A2 2 0 0 1 5 4.5h9v2M17 10h-3.2a1.6 1.6 0 0 0 0 3.2H17',
  },
  {
    name: 'reports',
    text: (t) => t.reports,
    group: (t) => t.groupPayments,
    permission: 'reports:read',
    icon: 'M4 2.5h8.5L16 6v11.5H4zM12 2.5V6.5h4M7.5 14v-3M10 14V9M12.5 14v-2',
  },
  {
    name: 'events',
    isForGuests: true,
    text: (t) => t.events,
    group: (t) => t.groupDevelopers,
    permission: 'webhooks:read',
    icon: 'M11 2.5 4.5 11.5H10l-1 6 6.5-9H10z',
  },
  {
    name: 'webhooks',
    isForGuests: true,
    text: (t) => t.webhooks,
    group: (t) => t.groupDevelopers,
    permission: 'webhooks:read',
    icon: 'M10 3v4M10 7a3 3 0 1 1 0 6 3 3 0 0 1 0-6zM10 13v4M3 10h4M13 10h4',
  },
  {
    name: 'requests',
    text: (t) => t.requests,
    group: (t) => t.groupDevelopers,
    permission: 'users:read',
    icon: 'M3 5h14M3 10h9M3 15h6M14 12.5l2.5 2.5L14 17.5',
  },
  {
    name: 'simulations',
    text: (t) => t.simulations,
    group: (t) => t.groupDevelopers,
    permission: 'simulations:write',
    isSandbox: true,
    icon: 'M8 2.5h4M9 2.5v5L4.5 15A1.7 1.7 0 0 0 6 17.5h8a1.7 1.7 0 0 0 1.5-2.5L11 7.5v-5M6.5 12.5h7',
  },
  {
    name: 'team',
    text: (t) => t.team,
    group: (t) => t.groupAccess,
    permission: 'users:read',
    icon: 'M7.5 9.5a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM2 16.5c0-3 2.2-5 5.5-5s5.5 2 5.5 5M13 3.8a3 3 0 0 1 0 5.4M15 11.9c2 .7 3 2.3 3 4.6',
  },
  {
    name: 'service-accounts',
    text: (t) => t.serviceAccounts,
    group: (t) => t.groupAccess,
    permission: 'users:read',
    icon: 'M6.5 13.5a4 4 0 1 1 3.4-6.1h7.6v3h-2v2.6h-3v-2.6h-2.6a4 4 0 0 1-3.4 3.1zM6.5 9.5h.01',
  },
  {
    name: 'audit',
    text: (t) => t.audit,
    group: (t) => t.groupAccess,
    permission: 'users:read',
    icon: 'M5 2.5h7l3.5 3.5v11.5H5zM12 2.5V6h3.5M7.5 9.5h5.5M7.5 12h5.5M7.5 14.5h3.5',
  },
  {
    name: 'account',
    text: (t) => t.account,
    group: (t) => t.groupAccess,
    icon: 'M12.5 2.5a5 5 0 0 0-4.7 6.7L2.5 14.5v3h3v-2h2v-2h2l1.3-1.3a5 5 0 1 0 1.7-9.7zM13.5 6.5h.01',
  },
  {
    name: 'notifications',
    isPersonal: true,
    text: (t) => t.notifications,
    group: (t) => t.groupAccess,
    icon: 'M5 14V9a5 5 0 0 1 10 0v5l1.5 1.5h-13zM8.5 17.5h3',
  },
  {
    name: 'sessions',
    text: (t) => t.sessions,
    group: (t) => t.groupAccess,
    icon: 'M3 4h14v9H3zM7 16.5h6M10 13v3.5',
  },
]

/** Lists the navigation entries that a person with these permissions may open. */
export const visiblePlaces = (t: Texts, granted: readonly Permission[], sandbox: boolean): readonly NavigationItem[] =>
  places
    .filter(({ isSandbox = false }) => sandbox || !isSandbox)
    .filter(({ permission }) => permission === undefined || granted.includes(permission))
    .map(({ text, group, permission: _permission, isSandbox: _isSandbox, ...place }) => ({
      ...place,
      text: text(t),
      ...(group && { group: group(t) }),
    }))
