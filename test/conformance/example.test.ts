/** The example connector passes every check of the conformance kit, over real HTTP. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { startHarness } from '../../examples/connector/harness.ts'
import { checks, runChecks } from '../../service/src/banks/conformance/index.ts'

test('the example connector passes every check', async () => {
  const harness = await startHarness()
  try {
    const results = await runChecks(harness)
    assert.deepEqual(
      results.filter(({ result }) => result !== 'passed'),
      [],
    )
    assert.equal(results.length, checks.length)
  } finally {
    await harness.close()
  }
})

test('`npm run check:connector` prints a line for each check and ends with 0', async () => {
  const main = fileURLToPath(new URL('../../examples/connector/main.ts', import.meta.url))
  const { stdout } = await promisify(execFile)(process.execPath, [main])
  const lines = stdout.trimEnd().split('\n')
  assert.equal(lines.filter((line) => line.startsWith('passed ')).length, checks.length)
  assert.equal(lines.at(-1), `${checks.length} passed, 0 failed, 0 not checked`)
})
