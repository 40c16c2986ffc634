/** Maximum parallel calls of one request. More would slow down other requests. */
const callsAtOnce = 4

/**
 * Processes items in parallel. After a failure it starts no further item, and throws when the running ones have
 * finished.
 */
export async function inParallel<Item>(items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> {
  const left = items.values()
  let isFailed = false
  const worker = async () => {
    for (const item of left) {
      if (isFailed) return
      try {
        await work(item)
      } catch (error) {
        isFailed = true
        throw error
      }
    }
  }
  const ended = await Promise.allSettled(Array.from({ length: callsAtOnce }, worker))
  for (const result of ended) if (result.status === 'rejected') throw result.reason
}
