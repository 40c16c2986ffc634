/** Takes partners in turn, so that the first busy one does not take every step. */
import { nilId } from '../../kernel/index.ts'

/**
 * Makes a step of a job: `next` finds the first partner after an id that has work, and `work` does a part of it. The step returns what `work`
 * returned, or 0 if no partner has work.
 */
export function createTurns(
  next: (afterId: string) => Promise<string | undefined>,
  work: (partnerId: string) => Promise<number>,
): () => Promise<number> {
  let last = nilId
  return async () => {
    const partnerId = (await next(last)) ?? (last === nilId ? undefined : await next(nilId))
    last = partnerId ?? nilId
    return partnerId === undefined ? 0 : work(partnerId)
  }
}
