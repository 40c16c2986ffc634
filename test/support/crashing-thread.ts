/** A thread program that crashes on an event with CRASHES in its body, and stops answering on one with HANGS. */

/**
 * The thread fails at the `nth` such message. `once` is a marker file: the thread fails only if it does not exist, and
 * creates it. The wrapping module is needed because Node drops the query of a worker's URL.
 */
export function crashingThread(nth = 1, once?: string): URL {
  const program = new URL('crashing-thread-program.ts', import.meta.url)
  program.searchParams.set('nth', String(nth))
  if (once !== undefined) program.searchParams.set('once', once)
  return new URL(`data:text/javascript,${encodeURIComponent(`import ${JSON.stringify(program.href)}`)}`)
}
