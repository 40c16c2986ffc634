/** The last release answers requests and delivers webhooks while the migrations of this version are applied. */
import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const repository = fileURLToPath(new URL('../..', import.meta.url))
/** The last commit before the baseline. It stands for the last release until there is one. */
const lastRelease = '69df0e16'

const known = spawnSync('git', ['cat-file', '-e', `${lastRelease}^{commit}`], { cwd: repository }).status === 0

test(
  'the last release answers every request during and after the migrations',
  { skip: !known && `the history of this checkout lacks ${lastRelease}` },
  async () => {
    const words = ['scripts/old-version.ts', lastRelease]
    const { stdout } = await promisify(execFile)(process.execPath, words, { cwd: repository })
    const [, before, after, failures, deliveries] =
      /: (\d+) answers before, (\d+) after, (\d+) failures; (\d+) deliveries after\n$/.exec(stdout)?.map(Number) ?? []
    assert.ok(before && after && deliveries, stdout)
    assert.equal(failures, 0, stdout)
  },
)
