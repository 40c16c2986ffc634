import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type DepositStatus, depositStatuses, mayExpire, mayMove } from './rules.ts'

/** The lifecycle of the interface document, Events: created, initiated, submitted, accepted, failed, completed, expired. */
const transitions: Readonly<Record<DepositStatus, string>> = {
  Created: 'Initiated Failed Expired',
  Initiated: 'Submitted Failed Expired',
  Submitted: 'Accepted Failed',
  Accepted: 'Completed Failed',
  Completed: '',
  Failed: '',
  Expired: '',
}

test('each documented transition is allowed, and no other', () => {
  for (const from of depositStatuses)
    for (const to of depositStatuses)
      assert.equal(mayMove(from, to), transitions[from].split(' ').includes(to), `${from} -> ${to}`)
})

test('a deposit cannot expire once the bank has the payment', () => {
  assert.deepEqual(depositStatuses.filter(mayExpire), ['Created', 'Initiated'])
})
