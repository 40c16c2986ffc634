/** Shares of what a run would take too long for: each run takes one, another one each hour. */

const hourMs = 3_600_000
const given = process.env['TEST_SHARE']

/** The number of the shares of this run: of the hour, or of TEST_SHARE (`TEST_SHARE=3`), which scripts/test.ts gives to all processes. */
export const shareNumber = given === undefined || given === 'all' ? Math.floor(Date.now() / hourMs) : Number(given)

/** Whether this run takes all shares: `TEST_SHARE=all`. */
export const takesAll = given === 'all'

/**
 * Returns one of `parts` shares of the cases, which prove the same of many operations, or all of them. Prints which one. `parts` is odd: a file
 * that takes turns runs in each eighth share (scripts/turns.ts), and would meet only some of an even number of shares.
 */
export function shareOf<T>(cases: readonly T[], parts: number): readonly T[] {
  if (parts % 2 === 0)
    throw new Error(`${parts} shares: their number is odd, so that a file that takes turns meets each`)
  if (takesAll) return cases
  const share = shareNumber % parts
  console.log(`share ${share} of ${parts}; TEST_SHARE=${shareNumber} repeats it, TEST_SHARE=all takes all`)
  return cases.filter((_case, index) => index % parts === share)
}

/** The two modes in which a sandbox starts: with its own defaults, or with those of production in everything but what it simulates. */
export type Mode = 'sandbox' | 'production'

/**
 * The modes in which this run takes one of the files that run in both: a third of the files with the defaults of production, another third
 * with each share. Prints which one.
 */
export function modesOf(file: string, files: readonly string[]): readonly Mode[] {
  if (takesAll) return ['sandbox', 'production']
  const mode = (shareNumber + files.indexOf(file)) % 3 === 0 ? 'production' : 'sandbox'
  console.log(`${file}: defaults of ${mode}; TEST_SHARE=${shareNumber} repeats it, TEST_SHARE=all takes both`)
  return [mode]
}
