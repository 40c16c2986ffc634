/** The example connector passes every check of the conformance kit, over real HTTP. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../examples/connector/harness.ts'
import { checks, runChecks } from '../../service/src/rails/conformance/index.ts'

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
