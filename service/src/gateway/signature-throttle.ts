/**
 * Turns of the event loop. What is computed for each request (a signature, a tenth of a millisecond) is computed for few
 * of them at a time where the database is spoken to by the same thread: in between its answers are read, and the next
 * statement leaves. For thirty requests that arrive together the database would wait as long as for a commit.
 */

/** Resolves in the order of the calls, `perTurn` of them in each turn of the event loop. */
export function createTurns(perTurn: number): () => Promise<void> {
  const waiting: (() => void)[] = []
  let isComing = false
  const come = () => {
    for (const enter of waiting.splice(0, perTurn)) enter()
    isComing = waiting.length > 0
    if (isComing) setImmediate(come)
  }
  return () =>
    new Promise((resolve) => {
      waiting.push(resolve)
      if (isComing) return
      isComing = true
      setImmediate(come)
    })
}
