/**
 * An egress proxy: a tunnel by CONNECT (RFC 9110 section 9.3.6) to an address that was judged before. The proxy is told
 * the address, never the name, so that it resolves nothing and the judgement holds; TLS inside the tunnel is with the name.
 */
import { type ClientRequest, request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { isIPv6, type Socket } from 'node:net'

export type Proxy = {
  readonly protocol: 'http:' | 'https:'
  readonly host: string
  readonly port: number
  /** The value of `Proxy-Authorization`. */
  readonly authorization?: string
}

/** Undefined where the text is not `http://` or `https://`, a host, and nothing but credentials and a port. */
export function readProxy(text: string): Proxy | undefined {
  if (!URL.canParse(text)) return undefined
  const { protocol, hostname, port, pathname, search, hash, username, password } = new URL(text)
  if ((protocol !== 'http:' && protocol !== 'https:') || pathname !== '/' || search !== '' || hash !== '')
    return undefined
  const host = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname
  const byDefault = protocol === 'https:' ? 443 : 80
  const proxy = { protocol, host, port: port === '' ? byDefault : Number(port) } as const
  if (username === '' && password === '') return proxy
  try {
    const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
    return { ...proxy, authorization: `Basic ${Buffer.from(credentials).toString('base64')}` }
  } catch {
    return undefined
  }
}

/** Its cause says what the proxy did; the partner is told only that it was not the endpoint. */
const failed = (cause: unknown) => Object.assign(new Error('no tunnel', { cause }), { code: 'PROXY_FAILED' })

/** A socket through which the target speaks. Rejects where the proxy is not there, says no or takes longer than `ms`. */
export function openTunnel(
  { protocol, host, port, authorization }: Proxy,
  target: { readonly address: string; readonly port: number },
  ms: number,
): Promise<Socket> {
  const authority = `${isIPv6(target.address) ? `[${target.address}]` : target.address}:${target.port}`
  return new Promise<Socket>((resolve, reject) => {
    const connect: ClientRequest = (protocol === 'https:' ? httpsRequest : httpRequest)({
      host,
      port,
      method: 'CONNECT',
      path: authority,
      headers: { host: authority, ...(authorization === undefined ? {} : { 'proxy-authorization': authorization }) },
      agent: false,
    })
    const timer = setTimeout(() => connect.destroy(new Error('the proxy did not answer in time')), ms)
    const refuse = (cause: unknown) => {
      clearTimeout(timer)
      connect.destroy()
      reject(failed(cause))
    }
    connect.once('connect', (response, socket, head) => {
      clearTimeout(timer)
      // In TLS the client speaks first: whatever is there already is not of the target.
      if (response.statusCode === 200 && head.length === 0) return resolve(socket as Socket)
      socket.destroy()
      reject(failed(new Error(`the proxy answered ${response.statusCode}`)))
    })
    // An answer that is not to CONNECT: a proxy that serves pages, say.
    connect.once('response', (response) => refuse(new Error(`the proxy answered ${response.statusCode}`)))
    connect.on('error', refuse)
    connect.end()
  })
}
