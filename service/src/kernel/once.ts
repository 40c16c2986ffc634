/** Returns a function that makes a value at its first call and returns it from then on. Calls at the same time share it; a failure is forgotten. */
export function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined
  return () => {
    made ??= make().catch((error: unknown) => {
      made = undefined
      throw error
    })
    return made
  }
}
