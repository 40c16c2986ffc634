import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkSoundness } from '../../../test/lifecycle/soundness.ts'
import type { Transition } from '../lifecycle/index.ts'
import { depositLifecycle, type DepositStatus, depositStatuses, mayExpire } from './lifecycle.ts'

/** The lifecycle of the interface document, Events: created, initiated, submitted, accepted, failed, completed, expired. */
const parts = 'PartiallyPaid Completed Screening Failed'
const expected: Readonly<Record<DepositStatus, string>> = {
  // Money that arrives unannounced leads to Accepted at once.
  // In parts: a part, the last one, one that waits for a decision about a name, and one that the account refuses.
  Created: `Initiated Accepted ${parts} Failed Expired`,
  Initiated: `Submitted Accepted ${parts} Failed Expired`,
  Submitted: `Accepted Accepted ${parts} Failed`,
  PartiallyPaid: `${parts} Expired`,
  // Screening: a name is on a sanctions list. The second Failed: another amount arrived than was expected.
  Accepted: `${parts} Completed Screening Failed Failed`,
  // A further part; cleared, and the rest is missing or not; confirmed, or taken back by the bank.
  Screening: 'Screening PartiallyPaid Completed Failed Failed',
  Completed: '',
  Failed: '',
  Expired: '',
}
const rows: readonly Transition[] = Object.values(depositLifecycle.transitions)

test('the table has exactly the documented transitions', () => {
  const leaving = (status: string) => rows.filter(({ from }) => from.includes(status)).map(({ to }) => to)
  for (const status of depositStatuses) assert.equal(leaving(status).join(' '), expected[status])
})

test('only the transition that completes the transaction credits the balance', () => {
  checkSoundness(depositLifecycle)
  for (const { ledger, concludes } of rows) assert.equal(ledger === 'credit', concludes === 'Completed')
})

test('a deposit cannot expire once the bank has the payment', () => {
  assert.deepEqual(depositStatuses.filter(mayExpire), ['Created', 'Initiated', 'PartiallyPaid'])
})
