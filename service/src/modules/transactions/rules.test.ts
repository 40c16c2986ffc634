import assert from 'node:assert/strict'
import { test } from 'node:test'
import { transactions } from '@partner-payments/wire'
import { mayMove } from './rules.ts'

test('Pending moves to each of the four final statuses; a final status never moves', () => {
  for (const from of transactions.transactionStatuses)
    for (const to of transactions.transactionStatuses)
      assert.equal(mayMove(from, to), from === 'Pending' && to !== 'Pending', `${from} -> ${to}`)
})
