import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventTypes } from './routes.ts'

const amounts: Readonly<Record<string, string>> = {
  'account.balance.crossed': 'The balance after the entry,',
  'checkout.part.updated': 'Amount of the session',
  'checkout.late.payment.updated': 'Amount of the session',
  'checkout.session.opened': 'Amount of the session',
}

test('the twelve event types of the interface document and ten additional ones describe their data in plain JSON Schema', () => {
  assert.equal(eventTypes.length, 22)
  for (const type of eventTypes) {
    assert.deepEqual(type.properties['amount'], {
      type: 'number',
      description: `${amounts[type.name] ?? 'Amount of the transaction'} in major units of \`currency\`. Parse it as a decimal.`,
    })
    assert.equal(type.version, 2)
    assert.ok(!JSON.stringify(type).includes('x-json-type'))
  }
  const completed = eventTypes.find((type) => type.name === 'partner.customer.deposit.completed')
  assert.deepEqual(completed?.properties['blockchainTransactionHash'], {
    anyOf: [{ type: 'string' }, { type: 'null' }],
    description: 'Hash of the blockchain transaction. Null for fiat payments.',
  })
  assert.equal(Object.keys(completed?.properties ?? {}).length, 22)
})
