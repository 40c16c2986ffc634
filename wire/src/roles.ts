/**
 * What a role may do. Contract page, Silences: Admin all; Developer reads, webhooks and simulations, never money;
 * Operator the groups of daily business. `docs/permissions.md` is printed from here.
 */
import type { Permission } from './operations.ts'
import { type Role, roles } from './users.ts'

/** Groups by name, not by `Tag`: the contract also names groups (fx, checkout, ...) without operations yet. */
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
  Operator: (group) => operatorGroups.has(group),
}

export function roleAllows(role: Role, permission: Permission): boolean {
  const [group, access] = permission.split(':') as [string, string]
  return rules[role](group, access)
}

/** The roles that hold a permission, in the order of the roles. */
export function rolesAllowed(permission: Permission): readonly Role[] {
  return roles.filter((role) => roleAllows(role, permission))
}
