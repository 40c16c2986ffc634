/** The work has not ended within its time limit. */
export class Late extends Error {
  override readonly name = 'Late'
  constructor(timeoutMs: number) {
    super(`no answer within ${timeoutMs} ms`)
  }
}

/** Stops waiting at the limit, even if the work ignores its signal. Rejects with Late. */
export async function inTime<T>(timeoutMs: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const limit = new AbortController()
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => {
    const error = new Late(timeoutMs)
    late.reject(error)
    limit.abort(error)
  }, timeoutMs)
  const asked = Promise.try(work, limit.signal)
  // The loser of the race may still fail.
  asked.catch(() => undefined)
  try {
    return await Promise.race([asked, late.promise])
  } finally {
    clearTimeout(timer)
  }
}
