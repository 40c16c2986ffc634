/**
 * The budget of requests that are refused before authentication, per connection and per client address. Beyond it each
 * refusal closes its connection; beyond the budget of the address it is also delayed, so that an address that opens
 * many connections waits for each. Only refusals count: partners behind the same proxy or network keep their
 * connections.
 */
import type { Socket } from 'node:net'
import type { Clock } from '../../kernel/index.ts'
import { createAddressLimiter } from './rate.ts'

export type Refusals = {
  /** Counts a refusal. Says whether it closes its connection, and after what delay it is sent. */
  readonly count: (socket: Socket, ip: string) => { readonly isLast: boolean; readonly delayMs: number }
}

const perConnectionMax = 100
const perAddress = { perSecond: 20, burst: 1000 }
/** 50 connections of an address get 200 refusals a second instead of 1,700, which took a third of a core. */
const delayBeyondMs = 250

export function createRefusals(clock: Clock): Refusals {
  const addresses = createAddressLimiter({ clock, ...perAddress })
  const counts = new WeakMap<Socket, number>()
  return {
    count: (socket, ip) => {
      const count = (counts.get(socket) ?? 0) + 1
      counts.set(socket, count)
      const isWithin = addresses.tryTake(ip)
      return { isLast: !isWithin || count >= perConnectionMax, delayMs: isWithin ? 0 : delayBeyondMs }
    },
  }
}
