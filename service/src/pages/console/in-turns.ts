/** Calls that a request makes at once: enough to be quick, few enough that others are served. */
export const turnsAtOnce = 4

/** Works on items, so many at once, and waits for all. The first failure ends the work when those under way have ended. */
export async function inTurns<Item>(
  items: readonly Item[],
  atOnce: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
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
  const ended = await Promise.allSettled(Array.from({ length: atOnce }, worker))
  for (const result of ended) if (result.status === 'rejected') throw result.reason
}
