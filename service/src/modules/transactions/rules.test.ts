import assert from 'node:assert/strict'
import { test } from 'node:test'
import { transactions } from '@partner-payments/wire'
import { mayMove } from './rules.ts'

test('Pending moves once, to one of the four ends; nothing moves from an end', () => {
  for (const from of transactions.transactionStatuses)
    for (const to of transactions.transactionStatuses)
      assert.equal(mayMove(from, to), from === 'Pending' && to !== 'Pending', `${from} -> ${to}`)
})
