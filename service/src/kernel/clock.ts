/** The only source of time. Everything that must know the time is given a Clock, so that tests and the sandbox own it. */
export type Clock = { readonly now: () => Date }

export const systemClock: Clock = { now: () => new Date() }

/** A clock that stands still until it is moved. */
export function createManualClock(start: Date): Clock & { readonly advance: (ms: number) => void } {
  let at = start.getTime()
  return {
    now: () => new Date(at),
    advance: (ms) => {
      at += ms
    },
  }
}

export const secondMs = 1000
export const minuteMs = 60 * secondMs
export const hourMs = 60 * minuteMs
export const dayMs = 24 * hourMs

export function after(instant: Date, ms: number): Date {
  return new Date(instant.getTime() + ms)
}
