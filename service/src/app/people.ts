/** Composes the people who sign in: the operator's staff at the desk, and the teams of partners. */
import type { Audit } from '../audit/index.ts'
import { type Config } from './config.ts'
import { consoleUrlOf, deskSettings, deskUrlOf, signInSettings } from './derived-settings.ts'
import { type ChosenHosts, createChosenHosts } from '../webhooks/index.ts'
import { createMembers, type MembersDeps } from '../people/users/index.ts'
import { createStaff, type StaffDeps } from '../people/staff/index.ts'
import { createSignIn, createSingleSignOn, type SignIn } from '../people/sign-in/index.ts'

type StaffParts = Omit<StaffDeps, 'deskName' | 'signIn' | 'singleSignOn' | 'provider' | 'addOperator'> & {
  readonly config: Config
  readonly access: Pick<StaffDeps, 'addOperator'>
  readonly sealer: MembersDeps['sealer']
  readonly audit: Audit
}

/** Composes the operator's people, who sign in at the desk. */
export function composeStaff(parts: StaffParts) {
  const { config, clock, sealer } = parts
  // The operator trusts its own provider, which may be on a private network. It may be silent nevertheless, and anybody may ask for it.
  const hosts = createChosenHosts({ clock, allowLoopback: true, isTrusted: true })
  const singleSignOn = createSingleSignOn({
    clock,
    sealer,
    redirectUri: () => new URL('/desk/sso', deskUrlOf(config)).href,
    ...signOnBy(hosts),
    allowHttp: config.MODE === 'sandbox',
  })
  const signIn = createSignIn({ ...parts, ...deskSettings(config) })
  const { addOperator } = parts.access
  const { site } = deskSettings(config)
  return createStaff({ ...parts, deskName: site.name, addOperator, signIn, singleSignOn, provider: config.STAFF_SSO })
}

/** Each realm has a budget of its own. */
const signOnBy = ({ call, fetch }: ChosenHosts) => ({
  fetch,
  atProvider: <T>(realmId: string, host: string, work: () => Promise<T>) => call('signOn', realmId, host, work),
})

type MemberParts = Omit<
  MembersDeps,
  | 'singleSignOn'
  | 'redirectUri'
  | 'resolveTxt'
  | 'sandbox'
  | 'keysSetSingleSignOn'
  | 'partnerName'
  | 'isClosed'
  | 'support'
  | 'signInUrl'
> & {
  readonly config: Config
  readonly access: Pick<MembersDeps, 'partnerName' | 'isClosed'> & MembersDeps['support']
  readonly signIn: SignIn
  readonly chosenHosts: ChosenHosts
}

/** Composes the people of a team. Partners choose the addresses of their providers, which are therefore reached as endpoints of webhooks are. */
export function composeMembers(parts: MemberParts) {
  const { config, clock, sealer, chosenHosts } = parts
  const { partnerName, isClosed } = parts.access
  const redirectUri = (partnerId: string) => `${consoleUrlOf(config)}/sso/${partnerId}`
  const allowHttp = config.WEBHOOK_HTTP
  const singleSignOn = createSingleSignOn({ clock, sealer, redirectUri, ...signOnBy(chosenHosts), allowHttp })
  return createMembers({
    ...{ ...parts, singleSignOn, redirectUri, partnerName, isClosed, support: parts.access, ...signInSettings(config) },
    sandbox: config.MODE === 'sandbox',
    keysSetSingleSignOn: config.KEYS_SET_SINGLE_SIGN_ON,
    resolveTxt: chosenHosts.resolveTxt,
  })
}
