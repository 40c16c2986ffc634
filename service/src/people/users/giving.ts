/**
 * Pure: who may give, send, take or map a role, a key, or an access of a guest. Every verb that does so asks `permit`, and the statements that
 * write one take its answer: a `Permitted` is made here only, and test/tidy/giving.test.ts refuses a statement without one.
 */
import { permissions, roleAllows, type users as wire } from '@partner-payments/wire'
import { isWithinNetworks } from '../../access/index.ts'
import { type Caller, type KeyBounds, Refusal } from '../../kernel/api/index.ts'
import type { Clock } from '../../kernel/index.ts'
import { isRecentSignIn } from '../sign-in/index.ts'

/** The person, key or part that acts. */
export type By =
  /** A person of the team in the console, or a key. */
  | {
      readonly kind: 'caller'
      readonly caller: Pick<Caller, 'permissions' | 'bounds' | 'signedInAt' | 'impersonatedBy'>
      readonly now: Date
      readonly keysSetSingleSignOn: boolean
    }
  /** The maker of an invitation or of a guest link, when it is used, with the permissions that the maker has then. */
  | { readonly kind: 'maker'; readonly permissions: readonly string[] }
  /** The provider of single sign-on, with the roles that an Admin has mapped. */
  | { readonly kind: 'provider'; readonly roles: readonly wire.Role[] }
  /** The operator, by two persons of staff or by the link that the service prints for the first Admin. */
  | { readonly kind: 'operator' }

type Rule = {
  readonly by: By['kind']
  /** The whole team signs in by it: an Admin does it in the console, unless the setting lets keys do it. */
  readonly isOfAdmins?: 'unless set' | 'always'
  /** A person does it within minutes of a sign-in. */
  readonly needsRecentSignIn?: true
}

const ofSingleSignOn = { by: 'caller', isOfAdmins: 'unless set', needsRecentSignIn: true } as const

/** Acts of the API have the id of their operation. */
export const acts = {
  createInvitations: { by: 'caller' },
  resendInvitation: { by: 'caller' },
  revokeInvitation: { by: 'caller' },
  acceptInvitation: { by: 'maker' },
  openFirstInvitation: { by: 'operator' },
  updateUser: { by: 'caller' },
  removeUser: { by: 'caller' },
  resetSignIn: { by: 'caller', isOfAdmins: 'always', needsRecentSignIn: true },
  recoverAdmin: { by: 'operator' },
  giveRoleByProvider: { by: 'provider' },
  setSingleSignOn: ofSingleSignOn,
  proveSingleSignOnDomain: ofSingleSignOn,
  removeSingleSignOn: ofSingleSignOn,
  decideSingleSignOn: { ...ofSingleSignOn, isOfAdmins: 'always' },
  createGuestLink: { by: 'caller' },
  revokeGuestLink: { by: 'caller' },
  letGuestIn: { by: 'maker' },
  createServiceAccount: { by: 'caller' },
  updateServiceAccount: { by: 'caller' },
  rotateServiceAccount: { by: 'caller' },
  revokeServiceAccount: { by: 'caller' },
} as const satisfies Readonly<Record<string, Rule>>
export type Act = keyof typeof acts

/** A role, a key or an access that is given or taken. */
export type Power = {
  /** The words of a refusal: `The role Admin`. */
  readonly name: string
  readonly permissions: readonly string[]
  /** Absent: no key, or one that is used from any address without an end. */
  readonly bounds?: KeyBounds | undefined
  /** True for a key: its holder is not asked for a factor, so that it is bound as its maker is. */
  readonly isKey?: true
}

declare const judged: unique symbol
/** The proof that a judgement has allowed an act. */
export type Permitted = { readonly act: Act; readonly [judged]: true }

/** A caller at this moment. */
export const byCaller = (
  { clock, keysSetSingleSignOn = false }: { readonly clock: Clock; readonly keysSetSingleSignOn?: boolean },
  caller: Caller,
): By => ({ kind: 'caller', caller, now: clock.now(), keysSetSingleSignOn })

const manages = 'users:write'

export const roleAsPower = (role: wire.Role): Power => ({
  name: `The role ${role}`,
  permissions: permissions.filter((each) => roleAllows(role, each)),
})

/** A provider of single sign-on decides who signs in with every role, also without a claim of roles. */
export const everyRole: readonly Power[] = [roleAsPower('Admin')]

/**
 * The one judgement: who acts × the act × what it gives or takes. A power that exists before the act and the one after it are both judged, so
 * that no caller takes more than it could give. Refuses: permission_denied.
 */
export function permit(by: By, act: Act, powers: readonly Power[]): Permitted {
  const why = whyNot(by, act, powers)
  if (why !== undefined) throw new Refusal('permission_denied', why)
  return { act } as Permitted
}

/** The reason of a refusal. Undefined: the act is allowed. */
export function whyNot(by: By, act: Act, powers: readonly Power[]): string | undefined {
  const rule: Rule = acts[act]
  if (rule.by !== by.kind) return 'You may not do this.'
  if (by.kind === 'operator') return undefined
  if (by.kind === 'provider') {
    const mapped = by.roles.map((role) => roleAsPower(role).name)
    const other = powers.find(({ name }) => !mapped.includes(name))
    return other && `${other.name} is none that your provider gives.`
  }
  if (by.kind === 'maker') return whyNotManages(by) ?? whyAbove(by, powers)
  const { caller } = by
  if (caller.impersonatedBy !== undefined) return 'An impersonation changes nothing.'
  return whyNotManages(caller) ?? whyNotOfAdmins(by, rule) ?? whyAbove(caller, powers)
}

const whyNotManages = (held: { readonly permissions: readonly string[] }): string | undefined =>
  held.permissions.includes(manages) ? undefined : `This needs the permission ${manages}.`

function whyNotOfAdmins(
  { caller: { permissions: held, signedInAt }, now, keysSetSingleSignOn }: Extract<By, { readonly kind: 'caller' }>,
  { isOfAdmins, needsRecentSignIn }: Rule,
): string | undefined {
  const isKeyRefused = isOfAdmins === 'always' || (isOfAdmins === 'unless set' && !keysSetSingleSignOn)
  const isAdmin = signedInAt !== undefined && permissions.every((each) => held.includes(each))
  if (isKeyRefused && !isAdmin) return 'An Admin does this in the console, after a sign-in of the last minutes.'
  if (needsRecentSignIn && signedInAt !== undefined && !isRecentSignIn(signedInAt, now))
    return 'This needs a sign-in of the last five minutes: sign in again.'
  return undefined
}

function whyAbove(
  { permissions: held, bounds }: { readonly permissions: readonly string[]; readonly bounds?: KeyBounds },
  powers: readonly Power[],
): string | undefined {
  for (const power of powers) {
    const missing = power.permissions.find((each) => !held.includes(each))
    if (missing !== undefined) return `${power.name} has the permission ${missing}, which you do not have.`
    const why = bounds && power.isKey && whyUnbound(bounds, power)
    if (why !== undefined) return why
  }
  return undefined
}

/** A key that was stolen would outlive its end, or leave its network, by a key that it makes. */
function whyUnbound(own: KeyBounds, { name, bounds }: Power): string | undefined {
  const { expiresAt = null, allowedAddresses = [] } = bounds ?? {}
  if (own.expiresAt !== null && (expiresAt === null || expiresAt > own.expiresAt))
    return `${name} would work after ${own.expiresAt.toISOString()}, when yours ends: give it an end until then, or let a person of your team do this.`
  if (!isWithinNetworks(allowedAddresses, own.allowedAddresses))
    return `${name} would work from addresses that yours does not have (${own.allowedAddresses.join(', ')}): give it some of these, or let a person of your team do this.`
  return undefined
}
