/**
 * The test files that take turns: those whose tests start processes, kill them, drive browsers, or ask everything. `npm test` takes
 * a share of them, another one each hour, so that it ends within minutes; `npm run test:all` takes them all.
 */
import { shareNumber } from '../test/support/share.ts'

/** A power of two: the shares of cases within a file are odd in number, so that each of them meets each case. */
const shares = 8

const longFolders =
  /^test\/(?:browser|chain|conformance|examples|fault|guides|iso-bank|lifecycle|model|operator|roles|scenario|walk)\//

/** Files of other folders that take as long. */
const longNames = /\/(?:bodies|check-iso|conformance|corpus|embedded|ordered|package|round-trip|sftp-faults)\.test\.ts$/

/** Long files that every run takes: what each kind of user does first, and a kill. */
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

/** The files without the long ones that are not in the share of this run. Prints which share that is. */
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
