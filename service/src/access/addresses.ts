/** Pure: the addresses and networks (CIDR) from which a service account may be used. */
import { BlockList, isIP } from 'node:net'

type Family = 'ipv4' | 'ipv6'
const bitsOf: Readonly<Record<Family, number>> = { ipv4: 32, ipv6: 128 }

const familyOf = (address: string): Family | undefined =>
  isIP(address) === 4 ? 'ipv4' : isIP(address) === 6 ? 'ipv6' : undefined

type Network = { readonly address: string; readonly bits: number; readonly family: Family }

/** Reads `203.0.113.7`, `203.0.113.0/24`, `2001:db8::/32`. Undefined: any other text. */
export function readNetwork(text: string): Network | undefined {
  const [address = '', prefix, ...rest] = text.split('/')
  const family = familyOf(address)
  if (family === undefined || rest.length > 0 || address.includes('%')) return undefined
  if (prefix === undefined) return { address, bits: bitsOf[family], family }
  const bits = /^(?:0|[1-9]\d{0,2})$/.test(prefix) ? Number(prefix) : Infinity
  return bits <= bitsOf[family] ? { address, bits, family } : undefined
}

/** The IPv6 form of an IPv4 client, as a dual-stack socket reports it. */
const mapped = /^::ffff:(?=\d+\.)/i

/** Undefined: every address is allowed, so that an account without a list costs nothing. */
export function allowedFrom(networks: readonly string[]): ((ip: string) => boolean) | undefined {
  if (networks.length === 0) return undefined
  const list = new BlockList()
  for (const text of networks) {
    const network = readNetwork(text)
    if (network) list.addSubnet(network.address, network.bits, network.family)
  }
  return (ip) => {
    const address = ip.replace(mapped, '')
    const family = familyOf(address)
    return family !== undefined && list.check(address, family)
  }
}

/** Reports whether every address of some networks is in one of others. An empty list is every address. */
export function isWithinNetworks(inner: readonly string[], outer: readonly string[]): boolean {
  if (outer.length === 0) return true
  const around = outer.flatMap((text) => readNetwork(text) ?? [])
  return (
    inner.length > 0 &&
    inner.every((text) => {
      const network = readNetwork(text)
      return network !== undefined && around.some((each) => contains(each, network))
    })
  )
}

function contains(outer: Network, inner: Network): boolean {
  if (outer.family !== inner.family || outer.bits > inner.bits) return false
  const list = new BlockList()
  list.addSubnet(outer.address, outer.bits, outer.family)
  return list.check(inner.address, inner.family)
}
