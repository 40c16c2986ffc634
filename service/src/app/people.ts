/** Composes the people who sign in: the operator's staff at the desk, and the teams of partners. */
import type { Audit } from '../audit/index.ts'
import { type Config } from './config.ts'
import { consoleUrlOf, deskSettings, deskUrlOf, signInSettings } from './derived-settings.ts'
import { createBoundedFetch, createTxtResolver } from '../delivery/index.ts'
import { createMembers, type MembersDeps, type ResolveTxt } from '../modules/users/index.ts'
import { createStaff, type StaffDeps } from '../modules/staff/index.ts'
import { createSignIn, createSingleSignOn, type SignIn } from '../sign-in/index.ts'

type StaffParts = Omit<StaffDeps, 'deskName' | 'signIn' | 'singleSignOn' | 'provider' | 'addOperator'> & {
  readonly config: Config
  readonly access: Pick<StaffDeps, 'addOperator'>
  readonly sealer: MembersDeps['sealer']
  readonly audit: Audit
}

/** Composes the operator's people, who sign in at the desk. */
export function composeStaff(parts: StaffParts) {
  const { config, clock, sealer } = parts
  const singleSignOn = createSingleSignOn({
    clock,
    sealer,
    redirectUri: () => new URL('/desk/sso', deskUrlOf(config)).href,
    // The operator trusts its own provider, which may be on a private network.
    fetch: createBoundedFetch(),
    allowHttp: config.MODE === 'sandbox',
  })
  const signIn = createSignIn({ ...parts, ...deskSettings(config) })
  const { addOperator } = parts.access
  const { site } = deskSettings(config)
  return createStaff({ ...parts, deskName: site.name, addOperator, signIn, singleSignOn, provider: config.STAFF_SSO })
}

type MemberParts = Omit<
  MembersDeps,
  'singleSignOn' | 'redirectUri' | 'resolveTxt' | 'sandbox' | 'partnerName' | 'isClosed' | 'support' | 'signInUrl'
> & {
  readonly config: Config
  readonly access: Pick<MembersDeps, 'partnerName' | 'isClosed'> & MembersDeps['support']
  readonly signIn: SignIn
  /** Default: the name servers of the system. */
  readonly resolveTxt?: ResolveTxt | undefined
}

/** Composes the people of a team. Partners choose the addresses of their providers, which are therefore reached as endpoints of webhooks are. */
export function composeMembers(parts: MemberParts) {
  const { config, clock, sealer, resolveTxt } = parts
  const { partnerName, isClosed } = parts.access
  const redirectUri = (partnerId: string) => `${consoleUrlOf(config)}/sso/${partnerId}`
  const fetch = createBoundedFetch({ allowLoopback: config.WEBHOOK_HTTP, proxy: config.WEBHOOK_PROXY_URL })
  const singleSignOn = createSingleSignOn({ clock, sealer, redirectUri, fetch, allowHttp: config.WEBHOOK_HTTP })
  return createMembers({
    ...{ ...parts, singleSignOn, redirectUri, partnerName, isClosed, support: parts.access, ...signInSettings(config) },
    sandbox: config.MODE === 'sandbox',
    resolveTxt: resolveTxt ?? createTxtResolver(),
  })
}
