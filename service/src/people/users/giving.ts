/**
 * Pure: decides who may grant or revoke a role, a key or a guest's access. Every operation that does so calls `permit`,
 * and its SQL functions take the result. Only this file creates a `Permit`, and test/tidy/giving.test.ts refuses a
 * statement without one.
 */
import { permissions, roleAllows, type users as wire } from '@partner-payments/wire'
import { isWithinNetworks } from '../../access/index.ts'
import { type Caller, type KeyBounds, Refusal } from '../../kernel/api/index.ts'
import type { Clock } from '../../kernel/index.ts'
import { isRecentSignIn } from '../sign-in/index.ts'

/** The person, key or system that acts. */
export type Actor =
  /** A member in the console, or a key. */
  | {
      readonly kind: 'caller'
      readonly caller: Pick<Caller, 'permissions' | 'bounds' | 'signedInAt' | 'impersonatedBy'>
      readonly now: Date
      readonly keysSetSingleSignOn: boolean
    }
  /** The maker of an invitation or a guest link, with the permissions at the time of its use. */
  | { readonly kind: 'maker'; readonly permissions: readonly string[] }
  /** The provider of single sign-on, with the roles that an Admin mapped. */
  | { readonly kind: 'provider'; readonly roles: readonly wire.Role[] }
  /** The operator: two staff members, or the link that the service prints for the first Admin. */
  | { readonly kind: 'operator' }

type Rule = {
  readonly by: Actor['kind']
  /** The act affects how the whole team signs in: only an Admin in the console may do it, unless the setting lets keys do it. */
  readonly adminOnly?: 'unless set' | 'always'
  /** A person may do it only within minutes of a sign-in. */
  readonly needsRecentSignIn?: true
}

const singleSignOnRule = { by: 'caller', adminOnly: 'unless set', needsRecentSignIn: true } as const

/** Acts of the API are named after their operation. */
export const acts = {
  createInvitations: { by: 'caller' },
  resendInvitation: { by: 'caller' },
  revokeInvitation: { by: 'caller' },
  acceptInvitation: { by: 'maker' },
  openFirstInvitation: { by: 'operator' },
  updateUser: { by: 'caller' },
  removeUser: { by: 'caller' },
  resetSignIn: { by: 'caller', adminOnly: 'always', needsRecentSignIn: true },
  recoverAdmin: { by: 'operator' },
  giveRoleByProvider: { by: 'provider' },
  setSingleSignOn: singleSignOnRule,
  proveSingleSignOnDomain: singleSignOnRule,
  removeSingleSignOn: singleSignOnRule,
  decideSingleSignOn: { ...singleSignOnRule, adminOnly: 'always' },
  createGuestLink: { by: 'caller' },
  revokeGuestLink: { by: 'caller' },
  letGuestIn: { by: 'maker' },
  createServiceAccount: { by: 'caller' },
  updateServiceAccount: { by: 'caller' },
  rotateServiceAccount: { by: 'caller' },
  revokeServiceAccount: { by: 'caller' },
} as const satisfies Readonly<Record<string, Rule>>
export type Act = keyof typeof acts

/** A role, a key or a guest's access that is granted or revoked. */
export type Grant = {
  /** The subject of the text of a refusal, such as `The role Admin`. */
  readonly name: string
  readonly permissions: readonly string[]
  /** Absent: not a key, or a key for any address and without expiry. */
  readonly bounds?: KeyBounds | undefined
  /** True for a key. Its holder does not need a factor, so the bounds of its maker apply to it too. */
  readonly isKey?: true
}

declare const judged: unique symbol
/** The proof that `permit` allowed an act. */
export type Permit = { readonly act: Act; readonly [judged]: true }

/** Returns the actor for a caller at the current time. */
export const callerActor = (
  { clock, keysSetSingleSignOn = false }: { readonly clock: Clock; readonly keysSetSingleSignOn?: boolean },
  caller: Caller,
): Actor => ({ kind: 'caller', caller, now: clock.now(), keysSetSingleSignOn })

const manageTeam = 'users:write'

export const roleGrant = (role: wire.Role): Grant => ({
  name: `The role ${role}`,
  permissions: permissions.filter((each) => roleAllows(role, each)),
})

/**
 * The grants of a provider of single sign-on. It decides who signs in, with any role, even without a claim for roles.
 */
export const allRoleGrants: readonly Grant[] = [roleGrant('Admin')]

/**
 * Checks that an actor may make the grants of an act, or revoke them. A change is checked for the grant before it and
 * the grant after it, so that no caller revokes more than it could grant. Refuses: permission_denied.
 */
export function permit(by: Actor, act: Act, grants: readonly Grant[]): Permit {
  const why = denialReason(by, act, grants)
  if (why !== undefined) throw new Refusal('permission_denied', why)
  return { act } as Permit
}

/** Returns the reason for a refusal. Undefined: the act is allowed. */
export function denialReason(by: Actor, act: Act, grants: readonly Grant[]): string | undefined {
  const rule: Rule = acts[act]
  if (rule.by !== by.kind) return 'You may not do this.'
  if (by.kind === 'operator') return undefined
  if (by.kind === 'provider') {
    const mapped = by.roles.map((role) => roleGrant(role).name)
    const unmapped = grants.find(({ name }) => !mapped.includes(name))
    return unmapped && `${unmapped.name} is not mapped at your provider.`
  }
  if (by.kind === 'maker') return whyNotManager(by) ?? whyAbove(by, grants)
  const { caller } = by
  if (caller.impersonatedBy !== undefined) return 'An impersonation session cannot change anything.'
  return whyNotManager(caller) ?? whyNotAdmin(by, rule) ?? whyAbove(caller, grants)
}

const whyNotManager = (held: { readonly permissions: readonly string[] }): string | undefined =>
  held.permissions.includes(manageTeam) ? undefined : `This needs the permission ${manageTeam}.`

function whyNotAdmin(
  { caller: { permissions: held, signedInAt }, now, keysSetSingleSignOn }: Extract<Actor, { readonly kind: 'caller' }>,
  { adminOnly, needsRecentSignIn }: Rule,
): string | undefined {
  const isKeyRefused = adminOnly === 'always' || (adminOnly === 'unless set' && !keysSetSingleSignOn)
  const isAdmin = signedInAt !== undefined && permissions.every((each) => held.includes(each))
  if (isKeyRefused && !isAdmin) return 'Only an Admin can do this, in the console, within five minutes of a sign-in.'
  if (needsRecentSignIn && signedInAt !== undefined && !isRecentSignIn(signedInAt, now))
    return 'This needs a sign-in within the last five minutes: sign in again.'
  return undefined
}

function whyAbove(
  { permissions: held, bounds }: { readonly permissions: readonly string[]; readonly bounds?: KeyBounds },
  grants: readonly Grant[],
): string | undefined {
  for (const grant of grants) {
    const missing = grant.permissions.find((each) => !held.includes(each))
    if (missing !== undefined) return `${grant.name} has the permission ${missing}, which you do not have.`
    const why = bounds && grant.isKey && whyUnbound(bounds, grant)
    if (why !== undefined) return why
  }
  return undefined
}

/**
 * Explains why a key exceeds its maker's bounds: a stolen key must not create a key that lasts longer or works from
 * more addresses.
 */
function whyUnbound(own: KeyBounds, { name, bounds }: Grant): string | undefined {
  const { expiresAt = null, allowedAddresses = [] } = bounds ?? {}
  if (own.expiresAt !== null && (expiresAt === null || expiresAt > own.expiresAt))
    return `${name} would work after ${own.expiresAt.toISOString()}, when yours expires: give it an earlier expiry, or let a person of your team do this.`
  if (!isWithinNetworks(allowedAddresses, own.allowedAddresses))
    return `${name} would work from addresses that yours does not have (${own.allowedAddresses.join(', ')}): choose addresses among these, or let a person of your team do this.`
  return undefined
}
