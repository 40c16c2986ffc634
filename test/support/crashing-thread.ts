/** Programs of threads of exchanges that fail when they are sent an event with DIES or HANGS in it. */

/**
 * Of how many such messages the last is taken amiss, after what came with it has begun. `once`: a file; where that is
 * there already, nothing happens. Node drops what a worker's URL asks for, hence the module around it.
 */
export function mortalThread(nth = 1, once?: string): URL {
  const program = new URL('crashing-thread-program.ts', import.meta.url)
  program.searchParams.set('nth', String(nth))
  if (once !== undefined) program.searchParams.set('once', once)
  return new URL(`data:text/javascript,${encodeURIComponent(`import ${JSON.stringify(program.href)}`)}`)
}
