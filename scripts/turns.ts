/**
 * The long test files, which start or kill processes, drive browsers, or check everything. `npm test` runs a share of them, another share
 * each hour, so that it ends within minutes. `npm run test:all` runs them all.
 */
import { shareNumber } from '../test/support/share.ts'

/** A power of two. Files split their cases into odd numbers of shares, so that every combination occurs. */
const shares = 8

const longFolders =
  /^test\/(?:browser|chain|conformance|examples|fault|guides|iso-bank|lifecycle|model|operator|roles|scenario|walk)\//

/** Files of other folders that take as long. */
const longNames = /\/(?:bodies|check-iso|conformance|corpus|embedded|ordered|package|round-trip|sftp-faults)\.test\.ts$/

/** Long files in every run: the first steps of each kind of user, and a kill. */
const always: ReadonlySet<string> = new Set(
  [
    'browser/console',
    'fault/settlement-kill',
    'guides/first-payout',
    'lifecycle/payouts',
    'model/payouts',
    'operator/readme',
    'roles/roles',
    'scenario/day',
  ].map((name) => `test/${name}.test.ts`),
)

const isLong = (file: string): boolean => (longFolders.test(file) || longNames.test(file)) && !always.has(file)

/** Removes long files outside the share of this run. Prints the share. */
export function filesOfTurn(files: readonly string[]): readonly string[] {
  const long = files.filter(isLong)
  const share = shareNumber % shares
  const taken = new Set(long.filter((_file, index) => index % shares === share))
  console.log(
    `share ${share} of ${shares} of the long test files, ${taken.size} of ${long.length}: TEST_SHARE=${shareNumber} repeats it, ` +
      `npm run test:all runs all\n`,
  )
  return files.filter((file) => !isLong(file) || taken.has(file))
}
