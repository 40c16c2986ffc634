/** Pure: which addresses may be called. */
import ipaddr from 'ipaddr.js'

/** RFC 4291 section 2.4: what is not in 2000::/3 is not global unicast, whatever list it is missing from. */
const globalUnicast6 = ipaddr.IPv6.parseCIDR('2000::/3')
/** Public by its range, yet every machine of Azure has the host of its metadata and its agent there. */
const azureHost = '168.63.129.16'

/**
 * Public unicast, or loopback where that is allowed; never private, link-local (metadata services), multicast, shared,
 * reserved, or a range that carries an IPv4 address inside (NAT64, 6to4, Teredo), which would smuggle any of them in.
 */
export function isAllowedAddress(address: string, { allowLoopback }: { readonly allowLoopback: boolean }): boolean {
  // A zone names an interface of this machine: nothing beyond it needs one.
  if (!ipaddr.isValid(address) || address.includes('%')) return false
  // An IPv4-mapped IPv6 address connects to the IPv4 address, so it is judged as that one.
  const parsed = ipaddr.process(address)
  const range = parsed.range()
  if (range === 'loopback') return allowLoopback
  if (range !== 'unicast' || parsed.toString() === azureHost) return false
  return parsed.kind() === 'ipv4' || parsed.match(globalUnicast6)
}

export function isLoopbackAddress(address: string): boolean {
  return isAllowedAddress(address, { allowLoopback: true }) && !isAllowedAddress(address, { allowLoopback: false })
}

/** RFC 6761 section 6.3: these names mean loopback. */
export const isLoopbackName = (host: string) => /^(?:.+\.)?localhost\.?$/.test(host)

/** The address that a URL's host spells, or undefined where it is a name. `new URL` has unfolded every IPv4 spelling. */
export function addressLiteral(hostname: string): string | undefined {
  const bare = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname
  return ipaddr.isValid(bare) ? bare : undefined
}
