/**
 * The budget of requests that are refused before authentication, of a connection and of a client address. Beyond it each
 * refusal closes its connection. Only refusals count: partners behind the same proxy or network keep their connections.
 */
import type { Socket } from 'node:net'
import type { Clock } from '../kernel/index.ts'
import { createRateLimiter } from './rate.ts'

export type Refusals = {
  /** Counts a refusal. Returns true if the connection must close. */
  readonly count: (socket: Socket, ip: string) => boolean
}

const perConnectionMax = 100
const perAddress = { perSecond: 20, burst: 1000 }

export function createRefusals(clock: Clock): Refusals {
  const addresses = createRateLimiter({ clock, ...perAddress })
  const counts = new WeakMap<Socket, number>()
  return {
    count: (socket, ip) => {
      const count = (counts.get(socket) ?? 0) + 1
      counts.set(socket, count)
      const isWithin = addresses.tryTake(ip)
      return !isWithin || count >= perConnectionMax
    },
  }
}
