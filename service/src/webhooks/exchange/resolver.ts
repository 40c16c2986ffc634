/** Resolves host names to addresses, and says which addresses the service may call. */
import { Resolver } from 'node:dns/promises'
import ipaddr from 'ipaddr.js'

/** Returns every address of a name. Rejects if it has none. */
export type Resolve = (hostname: string) => Promise<readonly string[]>

type ResolverOptions = {
  /** Addresses of name servers, with ports. Default: those of the system. */
  readonly servers?: readonly string[]
}

const tryTimeoutMs = 1500
const tries = 2
/** Errors of a name server that are temporary. All others mean that the name has no address. */
const temporaryErrors = new Set(['ESERVFAIL', 'ETIMEOUT', 'ECONNREFUSED', 'ECANCELLED', 'EREFUSED'])

/**
 * Queries the name servers directly. The system's `getaddrinfo` runs on four threads of the process: four names with
 * unresponsive servers would delay every other lookup and all file access. The hosts file is not read, because its names
 * are not public; `localhost` needs no query. IPv4 addresses come first, because they are reachable everywhere.
 */
export function createResolver({ servers }: ResolverOptions = {}): Resolve {
  const resolver = new Resolver({ timeout: tryTimeoutMs, tries })
  if (servers !== undefined) resolver.setServers(servers)
  const underWay = new Map<string, Promise<readonly string[]>>()

  const queryName = async (hostname: string): Promise<readonly string[]> => {
    if (isLoopbackName(hostname)) return ['127.0.0.1', '::1']
    const answers = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)])
    const found = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
    if (found.length > 0) return found
    const codes = answers.map((answer) =>
      answer.status === 'rejected' ? (answer.reason as { code?: string }).code : '',
    )
    const code = codes.some((each) => temporaryErrors.has(each ?? '')) ? 'EAI_AGAIN' : 'ENOTFOUND'
    throw Object.assign(new Error('the host name does not resolve'), { code })
  }

  // Connections to one endpoint often begin together. They share one query.
  return (hostname) => {
    const known = underWay.get(hostname)
    if (known !== undefined) return known
    const query = queryName(hostname).finally(() => underWay.delete(hostname))
    underWay.set(hostname, query)
    return query
  }
}

/** Returns the texts of a name's TXT records (RFC 1035, section 3.3.14). Rejects with a DNS `code` if there are none. */
export function createTxtResolver({ servers }: ResolverOptions = {}): (name: string) => Promise<readonly string[]> {
  const resolver = new Resolver({ timeout: tryTimeoutMs, tries })
  if (servers !== undefined) resolver.setServers(servers)
  return async (name) => (await resolver.resolveTxt(name)).map((parts) => parts.join(''))
}

let system: Resolve | undefined
/** Uses the name servers of the system. The process has one such resolver, created at its first use. */
export const systemResolve: Resolve = (hostname) => (system ??= createResolver())(hostname)

/** RFC 4291 section 2.4: an address outside 2000::/3 is not global unicast, even if no other list names it. */
const globalUnicast6 = ipaddr.IPv6.parseCIDR('2000::/3')
/** Azure's metadata and agent address. It is in a public range, but every virtual machine of Azure reaches it. */
const azureHost = '168.63.129.16'

/**
 * Allows public unicast addresses, and loopback if `allowLoopback` is set. Refuses private, link-local, multicast, shared
 * and reserved addresses, and ranges that embed an IPv4 address (NAT64, 6to4, Teredo).
 */
export function isAllowedAddress(address: string, { allowLoopback }: { readonly allowLoopback: boolean }): boolean {
  // A zone names a network interface of this machine. No public address needs one.
  if (!ipaddr.isValid(address) || address.includes('%')) return false
  // A connection to an IPv4-mapped IPv6 address goes to the IPv4 address, so that address is checked.
  const parsed = ipaddr.process(address)
  const range = parsed.range()
  if (range === 'loopback') return allowLoopback
  if (range !== 'unicast' || parsed.toString() === azureHost) return false
  return parsed.kind() === 'ipv4' || parsed.match(globalUnicast6)
}

export function isLoopbackAddress(address: string): boolean {
  return isAllowedAddress(address, { allowLoopback: true }) && !isAllowedAddress(address, { allowLoopback: false })
}

/** Reports whether a name is one of loopback (RFC 6761 section 6.3). */
export const isLoopbackName = (host: string) => /^(?:.+\.)?localhost\.?$/.test(host)

/**
 * Returns the IP address in the host of a URL. Undefined: the host is a name. `new URL` has normalised the host, so every
 * spelling of an IPv4 address is in dotted form.
 */
export function addressLiteral(hostname: string): string | undefined {
  const bare = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname
  return ipaddr.isValid(bare) ? bare : undefined
}
