import assert from 'node:assert/strict'
import { test } from 'node:test'
import { payouts } from '@partner-payments/wire'
import { mayMove, type PayoutMoveName, payoutMoves } from './lifecycle.ts'
import { holdsReserve, type PayoutStatus } from './rules.ts'

const names = Object.keys(payoutMoves) as readonly PayoutMoveName[]
const from = (status: PayoutStatus) => names.filter((name) => mayMove(status, name)).map((name) => payoutMoves[name].to)

/** Every status that a move of the table reaches. */
const expected: Readonly<Record<PayoutStatus, readonly PayoutStatus[]>> = {
  Pending: ['Processing'],
  PendingApproval: [],
  Processing: ['Processing', 'Sent', 'Failed'],
  Sent: ['Completed', 'Failed', 'Returned'],
  Completed: ['Returned'],
  Failed: [],
  Returned: [],
  Cancelled: [],
}

for (const status of payouts.payoutStatuses)
  test(`the moves that leave ${status}, and no others`, () => assert.deepEqual(from(status), expected[status]))

for (const name of names) {
  const move = payoutMoves[name]
  test(`${name}: the reserve, the transaction and the status end together`, () => {
    for (const status of move.from) {
      const releases = holdsReserve(status) && !holdsReserve(move.to)
      const { ledger, concludes } = { ledger: undefined, concludes: undefined, ...move }
      assert.equal(ledger === 'post' || ledger === 'release', releases, `${status} -> ${move.to}`)
      assert.equal(concludes !== undefined, releases)
      assert.equal(ledger === 'refund', !holdsReserve(status), 'money that was posted comes back by a refund')
    }
  })
}
