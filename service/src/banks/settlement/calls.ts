/** Calls to a bank: each has a time limit. */
import { Unreachable } from '../../kernel/api/index.ts'
import { assert } from '../../kernel/index.ts'
import { type CallOptions, callTimeoutMsMax, type Connector } from '../../rails/index.ts'

/** The `performance.now()` at which a call that begins now is abandoned. */
export function endOfCall({ limits: { callTimeoutMs } }: Connector): number {
  assert(callTimeoutMs <= callTimeoutMsMax, 'a call ends before the lease of its payouts')
  return performance.now() + callTimeoutMs
}

export const late = () => new Unreachable('downstream_timeout', 'the bank does not answer in time')

/** Makes a call with a signal that ends it. Throws Unreachable when the time is over: the outcome is then unknown. */
export async function inTime<T>(endsAt: number, call: (options: CallOptions) => Promise<T>): Promise<T> {
  const controller = new AbortController()
  const { promise: end, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(
    () => {
      controller.abort()
      reject(late())
    },
    Math.max(0, endsAt - performance.now()),
  )
  try {
    // A connector may ignore the signal: the race ends the wait in that case too.
    return await Promise.race([call({ signal: controller.signal }), end])
  } finally {
    clearTimeout(timer)
  }
}
