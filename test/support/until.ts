/** Waiting for something to become true, and saying what did not. Tests never sleep for a guessed time. */
import { setTimeout as delay } from 'node:timers/promises'

const pollMs = 20

/** Calls `probe` until it gives something other than undefined or false. The last error is part of the failure. */
export async function until<T>(
  what: string,
  probe: () => Promise<T | undefined | false> | T | undefined | false,
  timeoutMs = 15_000,
): Promise<T> {
  const end = performance.now() + timeoutMs
  let last: unknown
  while (performance.now() < end) {
    try {
      const value = await probe()
      if (value !== undefined && value !== false) return value
    } catch (error) {
      last = error
    }
    await delay(pollMs)
  }
  throw new Error(`waited ${timeoutMs} ms in vain: ${what}`, { cause: last })
}
