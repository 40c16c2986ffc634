/** Each check of the conformance kit fails, with its message, on a connector with the defect. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { startHarness } from '../../examples/connector/harness.ts'
import { checks, type Harness, runChecks } from '../../service/src/banks/conformance/index.ts'
import type { Defect } from './defects/defect.ts'
import { readingDefects } from './defects/reading.ts'
import { submissionAndOutageDefects } from './defects/submission.ts'
import { pluck } from '../support/pluck.ts'

const defects: readonly Defect[] = [...submissionAndOutageDefects, ...readingDefects]

const openBroken = (harness: Harness, wrap: Defect['wrap']): Harness => ({
  ...harness,
  // This bank sends at once, so absent notifications are not awaited for long.
  notificationMsMax: 200,
  open: async () => {
    const opened = await harness.open()
    return { ...opened, connector: wrap(opened.connector) }
  },
})

suite('each check fails on a connector that', () => {
  for (const { title, defect, wrap, says } of defects)
    test(`${defect}: ${title}`, async () => {
      const check = checks.find((each) => each.title.includes(title))
      assert.ok(check, `a check with the title ${title}`)
      const harness = await startHarness()
      try {
        const [sound] = await runChecks(harness, { only: [check] })
        assert.ok(sound)
        assert.equal(sound.result, 'passed', sound.details)
        const [broken] = await runChecks(openBroken(harness, wrap), { only: [check] })
        assert.ok(broken)
        assert.equal(broken.result, 'failed')
        assert.match(broken.details, says)
      } finally {
        await harness.close()
      }
    })
})

test('every check has a connector on which it fails', () => {
  const without = checks.filter((check) => !defects.some(({ title }) => check.title.includes(title)))
  assert.deepEqual(pluck(without, 'title'), [])
})

test('a check that needs an unsupported ability is reported as not checked', async () => {
  const harness = await startHarness()
  try {
    const results = await runChecks({ ...harness, cannot: ['hang', 'return'] })
    const unchecked = results.filter(({ result }) => result === 'not checked')
    assert.ok(unchecked.length > 1)
    for (const { details } of unchecked) assert.match(details, /^the bank cannot: (hang|return)$/)
    assert.equal(results.filter(({ result }) => result === 'failed').length, 0)
  } finally {
    await harness.close()
  }
})
