/**
 * Ends a wait at its signal, for connectors whose records are in this database. The database has its own time limit,
 * which is longer than their caller waits.
 */
import { Unreachable } from '../kernel/api/index.ts'
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
