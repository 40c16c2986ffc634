import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type DepositStatus, depositStatuses, mayExpire, mayMove } from './rules.ts'

/** The lifecycle of the interface document, Events: created, initiated, submitted, accepted, failed, completed, expired. */
const moves: Readonly<Record<DepositStatus, string>> = {
  Created: 'Initiated Failed Expired',
  Initiated: 'Submitted Failed Expired',
  Submitted: 'Accepted Failed',
  Accepted: 'Completed Failed',
  Completed: '',
  Failed: '',
  Expired: '',
}

test('each move that is there, and no other', () => {
  for (const from of depositStatuses)
    for (const to of depositStatuses)
      assert.equal(mayMove(from, to), moves[from].split(' ').includes(to), `${from} -> ${to}`)
})

test('what the bank has can no longer run out of time', () => {
  assert.deepEqual(depositStatuses.filter(mayExpire), ['Created', 'Initiated'])
})
