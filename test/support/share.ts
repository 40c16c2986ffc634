/** Cases that prove the same of many operations, of which one run takes a share. */
import { dayMs } from '../../service/src/kernel/index.ts'

/**
 * Returns one of `parts` shares of the cases: another one each day, that of TEST_SHARE (`TEST_SHARE=2`), or with `TEST_SHARE=all` all.
 * Prints which one.
 */
export function shareOf<T>(cases: readonly T[], parts: number): readonly T[] {
  const given = process.env['TEST_SHARE']
  if (given === 'all') return cases
  const share = (given === undefined ? Math.floor(Date.now() / dayMs) : Number(given)) % parts
  console.log(`share ${share} of ${parts}; TEST_SHARE=${share} repeats it, TEST_SHARE=all takes all`)
  return cases.filter((_case, index) => index % parts === share)
}
