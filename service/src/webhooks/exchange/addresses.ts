/** Pure: which addresses the service may call. */
import ipaddr from 'ipaddr.js'

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

/** RFC 6761 section 6.3: these names mean loopback. */
export const isLoopbackName = (host: string) => /^(?:.+\.)?localhost\.?$/.test(host)

/**
 * The IP address in the host of a URL, or undefined if the host is a name. `new URL` has normalised the host before, so
 * that every spelling of an IPv4 address is in dotted form.
 */
export function addressLiteral(hostname: string): string | undefined {
  const bare = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname
  return ipaddr.isValid(bare) ? bare : undefined
}
