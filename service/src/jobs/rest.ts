/** A rest that a wake-up or the next due time shortens. */

export type RestLimits = {
  /** The milliseconds that nothing shortens. */
  readonly minMs: number
  /** The milliseconds after which the rest ends by itself. */
  readonly maxMs: number
}

/** Node ends a timer with a longer delay at once. */
const timerMsMax = 2 ** 31 - 1

export function createRest() {
  let woken = false
  let current: { readonly earliest: number; readonly latest: number; readonly done: () => void } | undefined
  let timer: NodeJS.Timeout | undefined

  const end = () => {
    clearTimeout(timer)
    current?.done()
    current = undefined
  }
  const schedule = () => {
    clearTimeout(timer)
    if (current === undefined) return
    const ms = Math.ceil(current.latest - performance.now())
    if (ms <= 0) end()
    // A longer rest is looked at again when the longest timer ends.
    else if (ms <= timerMsMax) timer = setTimeout(end, ms)
    else if (ms < Infinity) timer = setTimeout(schedule, timerMsMax)
  }
  const endAt = (at: number) => {
    if (current === undefined) return
    const latest = Math.max(current.earliest, at)
    if (latest >= current.latest) return
    current = { ...current, latest }
    schedule()
  }
  return {
    begin: ({ minMs, maxMs }: RestLimits): Promise<void> => {
      woken = false
      const now = performance.now()
      return new Promise((done) => {
        current = { earliest: now + minMs, latest: now + maxMs, done }
        schedule()
      })
    },
    /** Reports whether there was a wake-up since the rest began, or since `takeWakeUp`. */
    wasWoken: (): boolean => woken,
    /** Returns `wasWoken` and clears it: the run that follows finds the work. */
    takeWakeUp: (): boolean => {
      const taken = woken
      woken = false
      return taken
    },
    wake: (): void => {
      woken = true
      endAt(performance.now())
    },
    dueIn: (ms: number): void => endAt(performance.now() + ms),
    end,
  }
}
