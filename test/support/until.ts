/** Waits for a condition, and names it if it does not become true. Tests never sleep for a guessed time. The limit ends a test that hangs; a loaded machine must not meet it. */
import { setTimeout as delay } from 'node:timers/promises'

const pollMs = 20

/** Calls `probe` until it returns something other than undefined or false. The failure's cause is the last error. */
export async function until<T>(
  what: string,
  probe: () => Promise<T | undefined | false> | T | undefined | false,
  timeoutMs = 90_000,
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
  throw new Error(`not true after ${timeoutMs} ms: ${what}`, { cause: last })
}
