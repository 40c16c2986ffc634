/**
 * The HTTP client of the service with the same settings, but without its guard and its limits of time: what the ceiling
 * and the peers post with.
 */
import { deliverySignature, type SigningKey } from '@partner-payments/wire'
import { Agent } from 'undici'

export type Post = { readonly url: string; readonly headers: Readonly<Record<string, string>>; readonly body: string }

export function signedPost(url: string, key: SigningKey, id: string, data: string): Post {
  const body = `{"eventId":"${id}","data":${data}}`
  const timestamp = Math.floor(Date.now() / 1000)
  return {
    url,
    body,
    headers: {
      'content-type': 'application/json',
      'user-agent': 'PartnerPayments-Webhooks/2',
      'webhook-id': id,
      'webhook-timestamp': String(timestamp),
      'webhook-signature': deliverySignature(key, id, timestamp, body),
    },
  }
}

export type Client = {
  /** The status; the answer is read to its end. */
  readonly post: (post: Post) => Promise<number>
  readonly close: () => Promise<void>
}

export function createClient(): Client {
  const agent = new Agent({ headersTimeout: 0, bodyTimeout: 0, keepAliveTimeout: 4000, keepAliveMaxTimeout: 60_000 })
  return {
    post: async ({ url, headers, body }) => {
      const { origin, pathname } = new URL(url)
      const answer = await agent.request({ origin, path: pathname, method: 'POST', headers: { ...headers }, body })
      await answer.body.dump()
      return answer.statusCode
    },
    close: () => agent.close(),
  }
}
