/** One POST that no delivery is behind: by the same guard, signed the same way, within the same time. */
import type { Post } from '../management/test-delivery.ts'
import { createExchange, type ExchangeOptions, exchangeTimeoutMsDefault } from './exchange.ts'
import { createResolver } from './resolver.ts'

export type PostOptions = Omit<ExchangeOptions, 'resolve' | 'timeoutMs'> &
  Partial<Pick<ExchangeOptions, 'resolve' | 'timeoutMs'>>

export function createPost(options: PostOptions): Post {
  const { resolve = createResolver(), timeoutMs = exchangeTimeoutMsDefault } = options
  const exchange = createExchange({ ...options, resolve, timeoutMs })
  return ({ url, keys, ...request }) =>
    new Promise((done, reject) => {
      exchange.send({ ...request, target: { url, keys } }, (result) =>
        result === undefined ? reject(new Error('nobody abandons it')) : done(result),
      )
    })
}
