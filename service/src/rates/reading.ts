/** Reads a source without ever waiting for it for long. */
import { setTimeout as pause } from 'node:timers/promises'
import { type Clock, secondMs } from '../kernel/index.ts'
import type { RateSheet, RateSource } from './port.ts'

/**
 * Creates a reader with at most one read of the source at a time, even if the source ignores its signal: a file that
 * hangs holds a thread. Throws an Error if the read fails or does not end in time.
 */
export function createReading(source: RateSource, clock: Clock, readMsMax = 10 * secondMs): () => Promise<RateSheet> {
  let underWay = false
  return async () => {
    if (underWay) throw new Error('the previous read of the source has not ended')
    underWay = true
    const timer = new AbortController()
    const limit = new AbortController()
    const reading = source.read(limit.signal, clock.now()).finally(() => {
      underWay = false
    })
    const late = pause(readMsMax, undefined, { signal: timer.signal }).then(() => {
      limit.abort()
      throw new Error(`the source does not answer within ${readMsMax / secondMs} s`)
    })
    try {
      return await Promise.race([reading, late])
    } finally {
      reading.catch(() => undefined)
      late.catch(() => undefined)
      timer.abort()
    }
  }
}
