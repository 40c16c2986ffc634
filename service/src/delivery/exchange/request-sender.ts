/** Sends single requests that belong to no delivery, with the guard, signatures and time limit of deliveries. */
import type { SendRequest } from '../management/test-delivery.ts'
import { createExchange, type ExchangeOptions, exchangeTimeoutMsDefault } from './exchange.ts'
import { createResolver } from './resolver.ts'

export type RequestSenderOptions = Omit<ExchangeOptions, 'resolve' | 'timeoutMs'> &
  Partial<Pick<ExchangeOptions, 'resolve' | 'timeoutMs'>>

export function createRequestSender(options: RequestSenderOptions): SendRequest {
  const { resolve = createResolver(), timeoutMs = exchangeTimeoutMsDefault } = options
  const exchange = createExchange({ ...options, resolve, timeoutMs })
  return ({ url, keys, ...request }) =>
    new Promise((done, reject) => {
      exchange.send({ ...request, target: { url, keys } }, (result) =>
        result === undefined ? reject(new Error('a single request is never abandoned')) : done(result),
      )
    })
}
