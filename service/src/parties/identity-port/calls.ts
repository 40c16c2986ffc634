/** Calls of an identity provider, each within its time limit, behind a breaker. */
import { type Breaker, createBreaker, inTime } from '../../kernel/index.ts'
import { type IdentityProvider, IdentityRefused } from './port.ts'

export type IdentityCalls = Pick<IdentityProvider, 'id'> & {
  /** False while the breaker is open: a call would only wait for its time limit. */
  readonly mayCall: () => boolean
  readonly start: (request: Parameters<IdentityProvider['start']>[0]) => ReturnType<IdentityProvider['start']>
  readonly report: (providerSession: string) => ReturnType<IdentityProvider['report']>
  readonly erase: (verification: Parameters<IdentityProvider['erase']>[0]) => ReturnType<IdentityProvider['erase']>
}

/** `breaker`: tests pass one with a clock of their own. */
export function createIdentityCalls(provider: IdentityProvider, breaker: Breaker = createBreaker()): IdentityCalls {
  const call = async <T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> => {
    try {
      const answer = await inTime(provider.timeoutMs, work)
      breaker.answered()
      return answer
    } catch (error) {
      // A refusal is an answer.
      if (error instanceof IdentityRefused) breaker.answered()
      else breaker.failed()
      throw error
    }
  }
  return {
    id: provider.id,
    mayCall: () => breaker.state() !== 'open',
    start: (request) => call((signal) => provider.start(request, signal)),
    erase: (verification) => call((signal) => provider.erase(verification, signal)),
    report: (providerSession) => call((signal) => provider.report(providerSession, signal)),
  }
}
