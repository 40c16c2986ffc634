/** Names to addresses. */
import { Resolver } from 'node:dns/promises'
import { isLoopbackName } from './addresses.ts'

/** Every address of a name; rejects where it has none. */
export type Resolve = (hostname: string) => Promise<readonly string[]>

export type ResolverOptions = {
  /** Addresses of name servers, with ports; the system's unless given. */
  readonly servers?: readonly string[]
}

const tryTimeoutMs = 1500
const tries = 2
/** What a name server says that it cannot tell now; all else says that there is nothing. */
const passing = new Set(['ESERVFAIL', 'ETIMEOUT', 'ECONNREFUSED', 'ECANCELLED', 'EREFUSED'])

/**
 * Asks the name servers itself. The system's `getaddrinfo` runs on four threads that the whole process shares: four names
 * whose servers do not answer would hold up every other look-up, and files with them. Names of the hosts file are not
 * public names; `localhost` is known without asking. IPv4 stands first: it leads everywhere.
 */
export function createResolver({ servers }: ResolverOptions = {}): Resolve {
  const resolver = new Resolver({ timeout: tryTimeoutMs, tries })
  if (servers !== undefined) resolver.setServers(servers)
  const underWay = new Map<string, Promise<readonly string[]>>()

  const ask = async (hostname: string): Promise<readonly string[]> => {
    if (isLoopbackName(hostname)) return ['127.0.0.1', '::1']
    const answers = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)])
    const found = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
    if (found.length > 0) return found
    const codes = answers.map((answer) =>
      answer.status === 'rejected' ? (answer.reason as { code?: string }).code : '',
    )
    const code = codes.some((each) => passing.has(each ?? '')) ? 'EAI_AGAIN' : 'ENOTFOUND'
    throw Object.assign(new Error('the name does not resolve'), { code })
  }

  // Ten connections to one endpoint begin together: they share one question.
  return (hostname) => {
    const known = underWay.get(hostname)
    if (known !== undefined) return known
    const asked = ask(hostname).finally(() => underWay.delete(hostname))
    underWay.set(hostname, asked)
    return asked
  }
}

let system: Resolve | undefined
/** The name servers of the system; one resolver for the process, made when it is first asked. */
export const systemResolve: Resolve = (hostname) => (system ??= createResolver())(hostname)
