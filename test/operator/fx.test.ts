/** Tests the operator's command that shows the positions from conversions. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { useOperator } from '../support/fixture.ts'
import { addTrader, convert, quote } from '../support/fx.ts'

const { service, printed } = await useOperator()

const positions = () => printed('fx', 'position')

test('without conversions there is no position', async () => {
  assert.deepEqual(await positions(), { source: null, asOf: null, positions: [], totalEur: '0.00' })
})

test('positions are added up over all partners, and valued at the newest mid rates: the total is the margin', async () => {
  await service.rates.setByHand({ pair: { base: 'EUR', quote: 'USD', rate: { digits: 125n, scale: 2 } } })
  for (let partners = 0; partners < 2; partners += 1) {
    const partner = await addTrader(service)
    const { row } = await quote(service, partner)
    await convert(service, partner, row.id)
  }
  const asOf = service.clock.now().toISOString()
  // Twice 100.00 EUR for 124.37 USD, which were worth 125.00 USD.
  assert.deepEqual(await positions(), {
    source: 'sandbox',
    asOf,
    positions: [
      { currency: 'EUR', position: '200.00', reserved: '0.00', midRate: '1', valueEur: '200.00' },
      { currency: 'USD', position: '-248.74', reserved: '0.00', midRate: '1.25', valueEur: '-198.99' },
    ],
    totalEur: '1.01',
  })
})
