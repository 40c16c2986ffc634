/**
 * The HTTP client of the service with the same settings, but without its guard. The raw client and the peers use it. Only
 * the peers limit the time of an exchange, because every delivery needs a limit.
 */
import { deliverySignature, type SigningKey } from '@partner-payments/wire'
import { Agent } from 'undici'

/** `headers`: names and values, alternating. */
export type SignedRequest = {
  readonly origin: string
  readonly path: string
  readonly headers: readonly string[]
  readonly body: Buffer
}

export function signRequest(url: string, key: SigningKey, id: string, data: string): SignedRequest {
  const { origin, pathname: path } = new URL(url)
  const body = Buffer.from(`{"eventId":"${id}","data":${data}}`)
  const timestamp = Math.floor(Date.now() / 1000)
  const headers = [
    'content-type',
    'application/json',
    'user-agent',
    'PartnerPayments-Webhooks/2',
    'webhook-id',
    id,
    'webhook-timestamp',
    String(timestamp),
    'webhook-signature',
    deliverySignature(key, id, timestamp, body),
  ]
  return { origin, path, headers, body }
}

export type Client = {
  /** Returns the status after reading the whole response. */
  readonly post: (request: SignedRequest) => Promise<number>
}

const late = new Error('no complete response in time')

export function createClient(timeoutMs?: number): Client {
  const keepAlive = { keepAliveTimeout: 4000, keepAliveMaxTimeout: 60_000 }
  const agent = new Agent({ allowH2: false, headersTimeout: 0, bodyTimeout: 0, ...keepAlive })
  return {
    post: ({ origin, path, headers, body }) =>
      new Promise<number>((resolve, reject) => {
        let status = 0
        let abort = () => {}
        const timer = timeoutMs === undefined ? undefined : setTimeout(() => abort(), timeoutMs)
        agent.dispatch(
          { origin, path, method: 'POST', headers: [...headers], body },
          {
            onRequestStart: (controller) => void (abort = () => controller.abort(late)),
            onResponseStart: (_controller, statusCode) => void (status = statusCode),
            onResponseData: () => {},
            onResponseEnd: () => {
              clearTimeout(timer)
              resolve(status)
            },
            onResponseError: (_controller, error) => {
              clearTimeout(timer)
              reject(error)
            },
          },
        )
      }),
  }
}
