/**
 * The HTTP client of the service with the same settings and the same way in, but without its guard: what the ceiling and
 * the peers post with. The peers limit the time of an exchange, as whoever delivers must; the ceiling does not.
 */
import { deliverySignature, type SigningKey } from '@partner-payments/wire'
import { Agent } from 'undici'

/** `headers`: names and values in turn. */
export type Post = {
  readonly origin: string
  readonly path: string
  readonly headers: readonly string[]
  readonly body: Buffer
}

export function signedPost(url: string, key: SigningKey, id: string, data: string): Post {
  const { origin, pathname: path } = new URL(url)
  const body = Buffer.from(`{"eventId":"${id}","data":${data}}`)
  const timestamp = Math.floor(Date.now() / 1000)
  const headers = [
    ...['content-type', 'application/json', 'user-agent', 'PartnerPayments-Webhooks/2', 'webhook-id', id],
    ...['webhook-timestamp', String(timestamp), 'webhook-signature', deliverySignature(key, id, timestamp, body)],
  ]
  return { origin, path, headers, body }
}

export type Client = {
  /** The status; the answer is read to its end. */
  readonly post: (post: Post) => Promise<number>
}

const late = new Error('no complete answer in time')

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
            onResponseStart: (_controller, given) => void (status = given),
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
