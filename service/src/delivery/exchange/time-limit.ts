/** Stops exchanges that exceed the time limit. */
import type { ResponseReader } from './response-reader.ts'

export type TimeLimit = {
  readonly start: (reader: ResponseReader, startMs: number) => void
  readonly end: (reader: ResponseReader) => void
  readonly stopAll: () => void
}

/**
 * One timer serves all exchanges: they have the same limit, so the oldest one reaches it first. The timer of
 * `AbortSignal.timeout` would not keep the process alive until the attempts end.
 */
export function createTimeLimit(timeoutMs: number): TimeLimit {
  /** The start of each exchange, oldest first. */
  const underWay = new Map<ResponseReader, number>()
  let timer: NodeJS.Timeout | undefined

  const stopLate = () => {
    timer = undefined
    for (const [reader, startMs] of underWay) {
      const remainingMs = startMs + timeoutMs - performance.now()
      if (remainingMs > 0) {
        clearTimeout(timer)
        timer = setTimeout(stopLate, Math.ceil(remainingMs))
        return
      }
      reader.stop(`no complete response within ${timeoutMs} ms`)
    }
  }

  return {
    start: (reader, startMs) => {
      underWay.set(reader, startMs)
      timer ??= setTimeout(stopLate, timeoutMs)
    },
    end: (reader) => {
      underWay.delete(reader)
      if (underWay.size > 0) return
      clearTimeout(timer)
      timer = undefined
    },
    stopAll: () => {
      for (const reader of underWay.keys()) reader.stop()
    },
  }
}
