/** The address of a client behind proxies, for a server without Fastify, which reads it in the same way. */
import { isIP } from 'node:net'
import { allowedFrom } from '../../access/index.ts'

type ClientAddress = (remote: string, forwarded: string | readonly string[] | undefined) => string

/**
 * Walks `X-Forwarded-For` from the nearest proxy outwards, as long as the address before is trusted. What stands further out was written by the
 * client, and may be a lie. Without proxies the header is not read.
 */
export function createClientAddress(proxies: readonly string[] | undefined): ClientAddress {
  const isTrusted = allowedFrom(proxies ?? [])
  if (isTrusted === undefined) return (remote) => remote
  return (remote, forwarded) => {
    const hops = [forwarded ?? []].flat().join(',').split(',')
    let address = remote
    for (const hop of hops.map((text) => text.trim()).toReversed()) {
      if (!isTrusted(address) || isIP(hop) === 0) return address
      address = hop
    }
    return address
  }
}
