/** Composes the identity provider of the configuration, and the simulated one of a sandbox. A part of the composition root. */
import type { RequestListener } from 'node:http'
import { join } from 'node:path'
import { type Config } from './config.ts'
import { publicUrlOf } from './derived-settings.ts'
import {
  createIdentitySimulator,
  createSimulatedIdentityProvider,
  simulatedIdentityId,
} from '../connectors/identity-simulated/index.ts'
import { createIdentityCalls, type IdentityProvider } from '../identity/index.ts'
import { type Clock, deriveKey, type Log } from '../kernel/index.ts'

type Deps = {
  readonly config: Config
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

export function composeIdentity({ config, clock, log, identityProvider: given }: Deps) {
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
    identityCalls: identityProvider && createIdentityCalls(identityProvider),
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
