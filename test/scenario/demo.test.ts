/** `npm run demo` as a user runs it: every check of the reconciliation passes. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { modesOf } from '../support/share.ts'
import { afterChapters, agreed, assertReconciled, checks, demo, runDemo } from './demo-runs.ts'

const [defaults = 'sandbox'] = modesOf('demo', ['demo'])

test('npm run demo -- --chapter payees runs only that chapter', async () => {
  const titles = agreed(await runDemo('--chapter', 'payees', '--defaults', defaults))
  assert.deepEqual(
    [...titles],
    [
      'payees: a name with a slip',
      'payees: the corrected name',
      'payees: the evidence behind the payout',
      'payees: a sort code that is too short',
      'payees: what a payment to her needs',
      'payees: a payment by SWIFT without an address',
      'payees: the account that was paid',
      ...afterChapters,
    ],
  )
})

test('npm run demo -- --chapter refuses an unknown name and lists all chapters', async () => {
  const { code, err } = await demo('--chapter', 'none')
  assert.equal(code, 1)
  assert.match(err, /--chapter is one of customers, gates, payees, /)
})

test('npm run demo -- --kill: all checks pass after eight kills', async () => {
  const out = await runDemo('--kill', '--defaults', defaults)
  assertReconciled(out)
  assert.equal(out.match(/SIGKILL +number \d/g)?.length, 8)
  assert.match(out, /^agrees +bank +35 instructions, each received once$/m)
})

test('npm run demo -- --bank iso20022 runs the day with bank files, and the three ledgers agree', async () => {
  const out = await runDemo('--bank', 'iso20022')
  const books = [...checks.slice(0, -1), 'bank', 'entries', 'statements', 'cases', 'safeguarding']
  assertReconciled(out, books)
  assert.match(out, /^agrees +bank +7 payments, each received once$/m)
  assert.match(out, /^agrees +entries +the 10 bookings of the bank, each read once$/m)
})
