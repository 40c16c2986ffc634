/** Reads a source with a short time limit. */
import { setTimeout as pause } from 'node:timers/promises'
import { type Clock, secondMs } from '../kernel/index.ts'
import type { RateSheet, RateSource } from './port.ts'

/**
 * Creates a reader with at most one concurrent read of the source, even if the source ignores its signal: a hanging
 * file holds a thread. Throws an Error if the read fails or does not end in time.
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
