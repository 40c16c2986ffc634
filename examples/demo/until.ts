/** Waits for a condition with a deadline, and names the condition if it is missed. */
import { setTimeout as pause } from 'node:timers/promises'

const pollMs = 25

export type Until = <T>(what: string, probe: () => Promise<T | undefined | false> | T | undefined | false) => Promise<T>

export function createUntil(deadlineMs: number): Until {
  return async (what, probe) => {
    const end = performance.now() + deadlineMs
    for (;;) {
      const value = await probe()
      if (value !== undefined && value !== false) return value
      if (performance.now() > end) throw new Error(`not true after ${deadlineMs / 1000} s: ${what}`)
      await pause(pollMs)
    }
  }
}
