/**
 * Egress through a proxy: a CONNECT tunnel (RFC 9110 section 9.3.6) to an address that the guard has checked. The proxy
 * receives only the address, so that it does not resolve names. TLS inside the tunnel uses the name.
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

/** Parses a proxy URL. Undefined: the text is not an http or https URL with only a host, a port and credentials. */
export function readProxy(text: string): Proxy | undefined {
  if (!URL.canParse(text)) return undefined
  const { protocol, hostname, port, pathname, search, hash, username, password } = new URL(text)
  if ((protocol !== 'http:' && protocol !== 'https:') || pathname !== '/' || search !== '' || hash !== '')
    return undefined
  const host = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname
  const defaultPort = protocol === 'https:' ? 443 : 80
  const proxy = { protocol, host, port: port === '' ? defaultPort : Number(port) } as const
  if (username === '' && password === '') return proxy
  try {
    const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
    return { ...proxy, authorization: `Basic ${Buffer.from(credentials).toString('base64')}` }
  } catch {
    return undefined
  }
}

/** Builds the error of a failed proxy. The log shows the cause; the partner sees only that the proxy failed, and not the endpoint. */
const proxyFailure = (cause: unknown) => Object.assign(new Error('no tunnel', { cause }), { code: 'PROXY_FAILED' })

/** Opens a tunnel to the target. Rejects if the proxy is unreachable, refuses, or takes longer than `timeoutMs`. */
export function openTunnel(
  { protocol, host, port, authorization }: Proxy,
  target: { readonly address: string; readonly port: number },
  timeoutMs: number,
): Promise<Socket> {
  const authority = `${isIPv6(target.address) ? `[${target.address}]` : target.address}:${target.port}`
  const headers: Record<string, string> = { host: authority }
  if (authorization !== undefined) headers['proxy-authorization'] = authorization
  return new Promise<Socket>((resolve, reject) => {
    const connect: ClientRequest = (protocol === 'https:' ? httpsRequest : httpRequest)({
      host,
      port,
      method: 'CONNECT',
      path: authority,
      headers,
      agent: false,
    })
    const timer = setTimeout(() => connect.destroy(new Error('the proxy did not answer in time')), timeoutMs)
    const refuse = (cause: unknown) => {
      clearTimeout(timer)
      connect.destroy()
      reject(proxyFailure(cause))
    }
    connect.once('connect', (response, socket, head) => {
      clearTimeout(timer)
      // In TLS the client sends first, so bytes that are already here do not come from the target.
      if (response.statusCode === 200 && head.length === 0) return resolve(socket as Socket)
      socket.destroy()
      reject(proxyFailure(new Error(`the proxy responded with ${response.statusCode}`)))
    })
    // Not a response to CONNECT, for example from a web server.
    connect.once('response', (response) => refuse(new Error(`the proxy responded with ${response.statusCode}`)))
    connect.on('error', refuse)
    connect.end()
  })
}
