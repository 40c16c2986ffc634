/** Shares of what a run would take too long for: each run takes one, another one each hour. */

const hourMs = 3_600_000
const given = process.env['TEST_SHARE']

/** The number of the shares of this run: of the hour, or of TEST_SHARE (`TEST_SHARE=3`), which scripts/test.ts gives to all processes. */
export const shareNumber = given === undefined || given === 'all' ? Math.floor(Date.now() / hourMs) : Number(given)

/** Whether this run takes all shares: `TEST_SHARE=all`. */
export const takesAll = given === 'all'

/** Returns one of `parts` shares of the cases, which prove the same of many operations, or all of them. Prints which one. */
export function shareOf<T>(cases: readonly T[], parts: number): readonly T[] {
  if (takesAll) return cases
  const share = shareNumber % parts
  console.log(`share ${share} of ${parts}; TEST_SHARE=${shareNumber} repeats it, TEST_SHARE=all takes all`)
  return cases.filter((_case, index) => index % parts === share)
}
