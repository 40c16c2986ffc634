/** Composes the identity provider of the configuration, and the simulated one of a sandbox. A part of the composition root. */
import type { RequestListener } from 'node:http'
import { join } from 'node:path'
import type { Cursors } from '../kernel/api/index.ts'
import type { Audit } from '../audit/index.ts'
import { type Config, ConfigError } from './config.ts'
import { publicUrlOf } from './derived-settings.ts'
import {
  createIdentitySimulator,
  createSimulatedIdentityProvider,
  simulatedIdentityId,
} from '../simulations/identity-provider/index.ts'
import { createIdentityCalls, type IdentityProvider } from '../parties/identity-port/index.ts'
import type { EventOutbox } from '../events/index.ts'
import { type Clock, deriveKey, type Log, type Sealer } from '../kernel/index.ts'
import type { Customers } from '../parties/customers/index.ts'
import { createIdentitiesOf, createIdentityChecks } from '../parties/identity-checks/index.ts'
import type { Database } from '../postgres/index.ts'

type Deps = {
  readonly config: Config
  readonly db: Database
  readonly clock: Clock
  readonly log: Log
  /** Default: the one of the configuration. Null: none. */
  readonly identityProvider?: IdentityProvider | null
}

/** The server of the simulated provider, in the process that runs the jobs of a sandbox. */
export type SimulatedIdentity = {
  readonly listener: RequestListener
  /** Says where the provider and the API listen. Until then no verification starts. */
  readonly opened: (addresses: { readonly simulatorUrl: string; readonly apiUrl: string }) => void
}

type Core = {
  readonly sealer: Sealer
  readonly cursors: Cursors
  readonly customers: Customers
  readonly eventOutbox: EventOutbox
  readonly audit: Audit
}

/** The proofs by which customers are judged. */
export const composeProofs = (
  { IDENTITY_PROVIDER, IDENTITY_REQUIRED: identityRequired, MODE }: Config,
  sealer: Sealer,
) => {
  if (MODE === 'production' && IDENTITY_PROVIDER === simulatedIdentityId)
    throw new ConfigError('MODE=production: IDENTITY_PROVIDER must not be simulated: its answers are chosen')
  if (identityRequired && IDENTITY_PROVIDER === 'none')
    throw new ConfigError('IDENTITY_REQUIRED needs an IDENTITY_PROVIDER: no customer could become Complete')
  return { identitiesOf: createIdentitiesOf({ sealer }), identityRequired }
}

export function composeIdentity({ config, db, clock, log, identityProvider: given }: Deps, core: Core) {
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
      ...{ ...core, db, clock, log, sandbox: config.MODE === 'sandbox' },
      calls: identityProvider && createIdentityCalls(identityProvider),
    }),
    /** Undefined: the provider is another one, or runs in another process. */
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
