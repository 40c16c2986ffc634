/** A broken invariant is a bug. The request or the worker step fails, and its transaction is rolled back. */
export class AssertionFailure extends Error {
  override readonly name = 'AssertionFailure'
}

export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new AssertionFailure(message)
}

/** Returns the value, which cannot be absent here. `message` says why. */
export function present<T>(value: T | null | undefined, message: string): T {
  if (value === null || value === undefined) throw new AssertionFailure(message)
  return value
}
