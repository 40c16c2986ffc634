/** The only source of time. Code that needs the time takes a Clock, so that tests and the sandbox control it. */
export type Clock = { readonly now: () => Date }

export const systemClock: Clock = { now: () => new Date() }

export const secondMs = 1000
export const minuteMs = 60 * secondMs
export const hourMs = 60 * minuteMs
export const dayMs = 24 * hourMs

export function after(instant: Date, ms: number): Date {
  return new Date(instant.getTime() + ms)
}
