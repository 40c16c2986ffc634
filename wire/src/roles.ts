/**
 * The permissions of each role. Contract page, Silences: Admin has all; Developer has reads, webhooks and simulations;
 * Operator has the groups listed below, and reads the results of its payments. The page of permissions is generated from these rules.
 */
import type { Permission } from './operations.ts'
import type { Role } from './users.ts'

/** Strings instead of `Tag`, because the contract also names groups without operations (fx, checkout, ...). */
const operatorGroups: ReadonlySet<string> = new Set([
  'customers',
  'accounts',
  'beneficiaries',
  'payouts',
  'fx',
  'checkout',
  'wallets',
  'reports',
])
const developerWrites: ReadonlySet<string> = new Set(['webhooks', 'simulations'])

const rules: Readonly<Record<Role, (group: string, access: string) => boolean>> = {
  Admin: () => true,
  Developer: (group, access) => access === 'read' || developerWrites.has(group),
  Operator: (group, access) => operatorGroups.has(group) || (group === 'transactions' && access === 'read'),
}

export function roleAllows(role: Role, permission: Permission): boolean {
  const [group, access] = permission.split(':') as [string, string]
  return rules[role](group, access)
}
