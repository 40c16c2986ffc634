/**
 * The permissions of each role. Contract page, Silences: Admin has all; Developer has reads, webhooks and simulations;
 * Operator has the groups listed below, and reads what became of the payments that it makes. The page of permissions is made from these rules.
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
