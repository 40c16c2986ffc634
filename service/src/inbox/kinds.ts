/** The types of facts: their kinds, the people who may see them, and their pages. */
import { type Permission, roleAllows, type users as wire } from '@partner-payments/wire'

export const mailFrequencies = ['now', 'daily', 'no'] as const
export type MailFrequency = (typeof mailFrequencies)[number]

/** Kinds that a member of a team can choose. */
const teamKinds = ['approvals', 'payments', 'refunds', 'recalls', 'webhooks', 'keys', 'team', 'rules'] as const
export type TeamKind = (typeof teamKinds)[number]

/** Kinds that a staff member can choose. */
export const staffKinds = ['cases', 'alerts', 'hits', 'changes'] as const
export type StaffKind = (typeof staffKinds)[number]

type FactValues = Readonly<Record<string, string | null>>

type TeamFact = {
  readonly kind: TeamKind
  readonly permission: Permission
  /** True if people are notified only while the subject is pending. */
  readonly waits?: true
  /** Path of the subject's page, below the root of the console. */
  readonly path: (subject: string, facts: FactValues) => string
  /** Path of the list of subjects. With a list, further facts of an hour become one entry that counts them. */
  readonly list?: string
}

const payout = (subject: string) => `payouts/${subject}`
const bulk = (subject: string) => `bulk-payouts/${subject}`
const webhook = (subject: string) => `webhooks/${subject}`
const account = (subject: string) => `service-accounts/${subject}`
const payoutFact = { kind: 'payments', permission: 'payouts:read', path: payout, list: 'payouts' } as const
const orderFact = {
  kind: 'payments',
  permission: 'payouts:read',
  path: (subject: string) => `standing-orders/${subject}`,
  list: 'standing-orders',
} as const
const approval = { kind: 'approvals', permission: 'payouts:write', waits: true } as const
const refund = {
  kind: 'refunds',
  permission: 'checkout:read',
  path: (_subject: string, { sessionId }: FactValues) => `checkout/${sessionId ?? ''}`,
  list: 'checkout',
} as const
const recall = {
  kind: 'recalls',
  permission: 'payouts:read',
  path: (_subject: string, { payoutId }: FactValues) => payout(payoutId ?? ''),
  list: 'payouts',
} as const
const endpoint = { kind: 'webhooks', permission: 'webhooks:read', path: webhook } as const
const member = { kind: 'team', permission: 'users:read', path: () => 'team' } as const
const rule = { kind: 'rules', permission: 'payouts:read', path: () => 'payouts' } as const

export const teamTypes = {
  'payout.waits': { ...approval, path: payout, list: 'payouts?tab=mine' },
  'payout.lapses': { ...approval, path: payout, list: 'payouts?tab=mine' },
  'bulk.waits': { ...approval, path: bulk },
  'bulk.lapses': { ...approval, path: bulk },
  'signOn.waits': { ...approval, permission: 'users:write', path: () => 'team/single-sign-on' },
  'payout.lapsed': payoutFact,
  'payout.rejected': payoutFact,
  'bulk.rejected': { kind: 'payments', permission: 'payouts:read', path: bulk },
  'payout.failed': payoutFact,
  'payout.returned': payoutFact,
  'order.failed': orderFact,
  'order.repeats': orderFact,
  'deposit.reversed': {
    kind: 'payments',
    permission: 'transactions:read',
    path: (_subject: string, { reference }: FactValues) => `transactions/${reference ?? ''}`,
    list: 'transactions',
  },
  'late.waits': {
    ...{ kind: 'refunds', permission: 'checkout:write', waits: true },
    path: (_subject: string, { sessionId }: FactValues) => `checkout/${sessionId ?? ''}`,
    list: 'checkout?hasLatePayments=true',
  },
  'refund.completed': refund,
  'refund.failed': refund,
  'recall.accepted': recall,
  'recall.refused': recall,
  'recall.expired': recall,
  'endpoint.failing': endpoint,
  'endpoint.disabled': endpoint,
  'key.expires': { kind: 'keys', permission: 'users:read', waits: true, path: account },
  'key.created': { kind: 'keys', permission: 'users:read', path: account },
  'key.rotated': { kind: 'keys', permission: 'users:read', path: account },
  'key.changed': { kind: 'keys', permission: 'users:read', path: account },
  'key.revoked': { kind: 'keys', permission: 'users:read', path: account },
  'member.joined': member,
  'member.changed': member,
  'member.removed': member,
  'signOn.changed': { ...member, path: () => 'team/single-sign-on' },
  'rule.set': rule,
  'rule.removed': rule,
} as const satisfies Readonly<Record<string, TeamFact>>
export type TeamType = keyof typeof teamTypes

type StaffFact = {
  readonly kind: StaffKind
  readonly waits: true
  /** Path of the subject's page, below the root of the desk. */
  readonly path: (subject: string, partnerId: string) => string
  /** Path of the list, as for a team. */
  readonly list?: string
}
const caseFact = { waits: true, path: (subject: string, partnerId: string) => `cases/${partnerId}/${subject}` } as const

export const staffTypes = {
  'case.opened': { kind: 'cases', ...caseFact, list: 'queue' },
  'case.proposed': { kind: 'changes', ...caseFact },
  'alert.opened': { kind: 'alerts', ...caseFact, list: 'queue?kind=monitoring_alert' },
  'hit.opened': {
    kind: 'hits',
    waits: true,
    path: (subject, partnerId) => `hits/${partnerId}/${subject}`,
    list: 'hits',
  },
  'hit.proposed': { kind: 'changes', waits: true, path: (subject, partnerId) => `hits/${partnerId}/${subject}` },
  'change.waits': { kind: 'changes', waits: true, path: () => 'changes' },
} as const satisfies Readonly<Record<string, StaffFact>>
export type StaffType = keyof typeof staffTypes

export type FactType = TeamType | StaffType

const definitions: Readonly<Record<FactType, Pick<TeamFact, 'kind' | 'list' | 'waits'> | StaffFact>> = {
  ...teamTypes,
  ...staffTypes,
}
type TypesWithList<Types> = { [T in keyof Types]: Types[T] extends { readonly list: string } ? T : never }[keyof Types]
/** Types that may occur thousands of times in an hour. */
export type GroupedType = TypesWithList<typeof teamTypes> | TypesWithList<typeof staffTypes>
export const isGroupedType = (type: FactType): type is GroupedType => definitions[type].list !== undefined

/**
 * Reports whether people are notified of a fact only while its subject is pending. Entries that count several facts
 * always stay.
 */
export const isPendingOnly = (type: FactType, facts: FactValues): boolean =>
  definitions[type].waits === true && !('more' in facts)

/** Builds the path of an entry's page, below the root of the console or the desk. */
export function entryPath({ type, subject, facts }: { type: FactType; subject: string; facts: FactValues }): string {
  const { list } = definitions[type]
  if (list !== undefined && 'more' in facts) return list
  return isStaffType(type)
    ? staffTypes[type].path(subject, facts['partnerId'] ?? '')
    : teamTypes[type].path(subject, facts)
}

export const isTeamType = (type: string): type is TeamType => type in teamTypes
export const isStaffType = (type: string): type is StaffType => type in staffTypes

export const roleMayReceive = (role: wire.Role, type: TeamType): boolean => roleAllows(role, teamTypes[type].permission)

/** Lists the kinds of facts that a role can be notified of. */
export const kindsOfRole = (role: wire.Role): readonly TeamKind[] =>
  teamKinds.filter((kind) =>
    Object.values<TeamFact>(teamTypes).some((each) => each.kind === kind && roleAllows(role, each.permission)),
  )

const teamDefaults: Readonly<Record<wire.Role, Partial<Readonly<Record<TeamKind, MailFrequency>>>>> = {
  Admin: { approvals: 'now', payments: 'daily', refunds: 'daily', recalls: 'daily', webhooks: 'now', rules: 'now' },
  Operator: { approvals: 'now', payments: 'now', refunds: 'daily', recalls: 'now', rules: 'daily' },
  Developer: { webhooks: 'now', keys: 'now' },
}
export const teamDefault = (role: wire.Role, kind: TeamKind): MailFrequency => teamDefaults[role][kind] ?? 'no'

/**
 * Changes of the team, keys and single sign-on are mailed to each Admin at once. These mails cannot be switched off, because a stranger who has
 * taken over an account would do so. The inbox mails such changes to other roles only.
 */
const adminMailTypes: ReadonlySet<string> = new Set([
  'member.joined',
  'member.changed',
  'member.removed',
  'signOn.changed',
  'signOn.waits',
  'key.created',
  'key.rotated',
  'key.changed',
  'key.revoked',
])
export const isMailedToAdmins = (role: wire.Role, type: TeamType): boolean =>
  role === 'Admin' && adminMailTypes.has(type)

/** Kinds with all types mailed to Admins at once. */
export const fixedKinds = (role: wire.Role): ReadonlySet<TeamKind> => new Set(role === 'Admin' ? ['team'] : [])

const staffDefaults: Readonly<Record<string, Partial<Readonly<Record<StaffKind, MailFrequency>>>>> = {
  compliance: { alerts: 'now', hits: 'now', changes: 'now' },
  finance: { cases: 'now', changes: 'now' },
  admin: { cases: 'daily', alerts: 'daily', hits: 'daily', changes: 'now' },
}
export const staffDefault = (role: string, kind: StaffKind): MailFrequency => staffDefaults[role]?.[kind] ?? 'no'
