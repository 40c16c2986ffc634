/**
 * Limits what begins in one turn of the event loop. A signature takes a tenth of a millisecond on the thread that also reads
 * the database's answers: without the limit, thirty requests that arrive together would delay these answers by as long as
 * a commit takes. A pipelined request costs the same.
 */

/** Resolves in the order of the calls, `perTurn` of them in each turn of the event loop. */
export function createTurnThrottle(perTurn: number): () => Promise<void> {
  const waiting: (() => void)[] = []
  let isScheduled = false
  const runTurn = () => {
    for (const proceed of waiting.splice(0, perTurn)) proceed()
    isScheduled = waiting.length > 0
    if (isScheduled) setImmediate(runTurn)
  }
  return () =>
    new Promise((resolve) => {
      waiting.push(resolve)
      if (isScheduled) return
      isScheduled = true
      setImmediate(runTurn)
    })
}
