/**
 * `npm run demo -- --full` as a user runs it. A file of its own, so that it runs at the same time as the other forms of
 * the demo.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chapters } from '../../examples/demo/chapters/index.ts'
import { afterChapters, agreed, checks, runDemo } from './demo-runs.ts'

test('npm run demo -- --full runs the day, every value of the interface document and every chapter, and all checks pass', async () => {
  const out = await runDemo('--full')
  const titles = agreed(out)
  const rows = out.match(/^\S+ +Partner\w+ +[\d,.]+ {2}[A-Z]{3} {2}\w+ +[a-z ]+$/gm) ?? []
  assert.equal(rows.length, 16)
  assert.match(out, /^RENT-2026-11 .* Completed +requested accepted sent changed$/m)
  assert.match(out, /422 insufficient_funds/)
  for (const part of [...checks, 'checkout', 'an exchange is accepted once', 'values', ...afterChapters])
    assert.ok(titles.has(part), part)
  assert.match(out, /^agrees +values +37 values of 8 enums/m)
  for (const { name } of chapters) {
    const shown = [...titles].filter((title) => title.startsWith(`${name}: `))
    assert.ok(shown.length >= 2, `${name} shows ${shown.length} facts`)
  }
  assert.match(out, /^agrees +screening: the payout is released +Completed$/m)
  assert.match(out, /^agrees +audit: npm run verify:proof +exit code 0$/m)
})
