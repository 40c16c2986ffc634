/**
 * Composes the people who sign in (the operator's staff at the desk, the teams of partners), and the identity provider that verifies customers.
 * A part of the composition root.
 */
import type { RequestListener } from 'node:http'
import { join } from 'node:path'
import type { Cursors } from '../kernel/api/index.ts'
import type { Audit } from '../audit/index.ts'
import { type Config, ConfigError } from './config.ts'
import { consoleUrlOf, deskSettings, deskUrlOf, publicUrlOf, signInSettings } from './derived-settings.ts'
import {
  createIdentitySimulator,
  createSimulatedIdentityProvider,
  simulatedIdentityId,
} from '../simulations/identity-provider/index.ts'
import { createIdentityCalls, type IdentityProvider } from '../parties/identity-port/index.ts'
import type { EventOutbox } from '../events/index.ts'
import { type Clock, deriveKey, type Log, type Sealer } from '../kernel/index.ts'
import type { Customers } from '../parties/customers/index.ts'
import { createIdentityReader, createIdentityChecks } from '../parties/identity-checks/index.ts'
import type { Database } from '../postgres/index.ts'
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
  // The operator trusts its provider, which may be on a private network. It may still be silent, and anybody can cause calls to it.
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

/** Limits calls to sign-in providers separately for each realm. */
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

/** Composes the people of a team. Partners choose the URLs of their providers, so calls to them are guarded like webhooks. */
export function composeMembers(parts: MemberParts) {
  const { config, clock, sealer, chosenHosts } = parts
  const { partnerName, isClosed } = parts.access
  const redirectUri = (partnerId: string) => `${consoleUrlOf(config)}/sso/${partnerId}`
  const allowHttp = config.WEBHOOK_HTTP
  const singleSignOn = createSingleSignOn({ clock, sealer, redirectUri, ...signOnBy(chosenHosts), allowHttp })
  return createMembers({
    ...parts,
    singleSignOn,
    redirectUri,
    partnerName,
    isClosed,
    support: parts.access,
    ...signInSettings(config),
    sandbox: config.MODE === 'sandbox',
    keysSetSingleSignOn: config.KEYS_SET_SINGLE_SIGN_ON,
    resolveTxt: chosenHosts.resolveTxt,
  })
}

// The identity provider of the configuration, and the simulated one of a sandbox.

type IdentityParts = {
  readonly config: Config
  readonly db: Database
  readonly clock: Clock
  readonly log: Log
  /** Default: the provider of the configuration. Null: no provider. */
  readonly identityProvider?: IdentityProvider | null
}

/** The server of the simulated provider, in the process that runs the jobs of a sandbox. */
export type SimulatedIdentity = {
  readonly listener: RequestListener
  /** Sets where the provider and the API listen. Verifications start only after this. */
  readonly opened: (addresses: { readonly simulatorUrl: string; readonly apiUrl: string }) => void
}

type IdentityCore = {
  readonly sealer: Sealer
  readonly cursors: Cursors
  readonly customers: Customers
  readonly eventOutbox: EventOutbox
  readonly audit: Audit
}

/** Composes the proofs of identity that determine the verification of customers. */
export const composeProofs = (
  { IDENTITY_PROVIDER, IDENTITY_REQUIRED: identityRequired, MODE }: Config,
  sealer: Sealer,
) => {
  if (MODE === 'production' && IDENTITY_PROVIDER === simulatedIdentityId)
    throw new ConfigError('MODE=production: IDENTITY_PROVIDER must not be simulated: anybody can choose its answers')
  if (identityRequired && IDENTITY_PROVIDER === 'none')
    throw new ConfigError('IDENTITY_REQUIRED needs an IDENTITY_PROVIDER: no customer could become Complete')
  return { identitiesOf: createIdentityReader({ sealer }), identityRequired }
}

export function composeIdentity(
  { config, db, clock, log, identityProvider: given }: IdentityParts,
  core: IdentityCore,
) {
  const key = deriveKey(config.MASTER_KEY[0], 'simulated identity provider')
  let addresses: Parameters<SimulatedIdentity['opened']>[0] | undefined
  const apiUrl = () => addresses?.apiUrl ?? publicUrlOf(config)
  const simulated = createSimulatedIdentityProvider({
    key,
    baseUrl: () => config.IDENTITY_SIMULATOR_URL ?? addresses?.simulatorUrl,
    webhookUrl: () => `${apiUrl()}/identity/webhooks/${simulatedIdentityId}`,
  })
  const configured = config.IDENTITY_PROVIDER === simulatedIdentityId ? simulated : null
  const identityProvider = given === undefined ? configured : given
  return {
    identityProvider,
    identityChecks: createIdentityChecks({
      ...core,
      db,
      clock,
      log,
      sandbox: config.MODE === 'sandbox',
      calls: identityProvider && createIdentityCalls(identityProvider),
    }),
    /** Undefined: another provider is configured, or the simulated provider runs in another process. */
    identitySimulator: (): SimulatedIdentity | undefined => {
      if (configured === null || config.IDENTITY_SIMULATOR_URL !== undefined) return undefined
      const file = join(config.DATA_DIR, 'identity-simulator.jsonl')
      const { listener, opened } = createIdentitySimulator({ clock, log, key, file })
      return {
        listener,
        opened: (all) => {
          addresses = all
          opened(all.simulatorUrl)
        },
      }
    },
  }
}
