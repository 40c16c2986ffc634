/** For connectors whose records are in this database, which ends what hangs by its own time limit. Their caller does not wait so long. */
import { Unreachable } from '../api/index.ts'
import type { CallOptions } from './port.ts'

export async function untilAborted<T>(work: Promise<T>, options?: CallOptions): Promise<T> {
  if (options === undefined) return work
  const { signal } = options
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const abort = () => reject(new Unreachable('downstream_timeout', 'the connector does not answer in time'))
  signal.addEventListener('abort', abort)
  if (signal.aborted) abort()
  try {
    return await Promise.race([work, aborted])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}
