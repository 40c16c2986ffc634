/** A clock that advances only when the test moves it. */
import type { Clock } from '../../service/src/kernel/index.ts'

export function createManualClock(start: Date): Clock & { readonly advance: (ms: number) => void } {
  let at = start.getTime()
  return {
    now: () => new Date(at),
    advance: (ms) => {
      at += ms
    },
  }
}
