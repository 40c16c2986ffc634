/** The operator's commands that read the ledger: balances at a time, and statements of any length. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { firstIdOf, newId } from '../../service/src/kernel/index.ts'
import { createCheckpoints } from '../../service/src/ledger/index.ts'
import type { JsonObject } from '../support/client.ts'
import { addPartner, pay } from '../support/composition.ts'
import { useOperator } from '../support/fixture.ts'
import { linesOf } from '../support/program.ts'

const operator = await useOperator()
const { service } = operator
const startedMs = Date.UTC(2026, 0, 2)
const deposits = 1200
const partner = await addPartner(service)
const { partnerId } = partner
const { db, ledger, log } = service
const transfer = { debit: 'settlement.sandbox', credit: 'balance', currency: 'EUR', amount: 1234n } as const
const entries = Array.from({ length: deposits }, (_, at) => ({
  // One a second.
  id: `${firstIdOf(new Date(startedMs + at * 1000)).slice(0, 14)}7${newId().slice(15)}`,
  permit: 'bank' as const,
  transfers: [{ ...transfer, kind: 'direct', partnerId, partyId: partnerId, reference: `=ref "${at}", x` }] as const,
}))
await db.transaction((tx) => ledger.enterMany(tx, entries, new Map()))
await createCheckpoints({ db, log, partnerIds: async () => [partnerId] }).checkpointStep()
await pay(service, partner, '100.00')

const printed = (words: string) => operator.text('ledger', ...words.split(' '))
const at = (second: number) => new Date(startedMs + second * 1000).toISOString()

test('current and past balances are shown with the amount of each account', async () => {
  const balance = { account: 'balance', currency: 'EUR', holds: 'customers' }
  const settlement = { account: 'settlement.sandbox', currency: 'EUR', holds: 'bank', reserved: '0.00' }
  const now: unknown = JSON.parse(await printed(`balances --partner ${partnerId}`))
  assert.deepEqual(now, [
    { ...balance, posted: '14808.00', reserved: '100.00', available: '14708.00' },
    { ...settlement, posted: '-14808.00', available: '-14808.00' },
  ])
  const past = JSON.parse(await printed(`balances --partner ${partnerId} --at ${at(10)}`)) as readonly JsonObject[]
  assert.deepEqual(past[0], { ...balance, posted: '123.40', reserved: '0.00', available: '123.40' })
})

test('a statement of many pages adds up from opening to closing balance, with a CSV row for each line', async () => {
  const words = `statement --partner ${partnerId} --currency EUR --format csv`
  const [titles, opening, ...lines] = linesOf(await printed(`${words} --from ${at(100)}`))
  assert.equal(titles, 'time,kind,amount,posted,counter_account,reference,transfer_id,entry_id')
  assert.equal(opening, `${at(100)},opening,,1234.00,,,,`)
  assert.equal(lines.pop(), ',closing,,14808.00,,,,')
  assert.equal(lines.length, deposits - 100)
  lines.forEach((line, index) => {
    const [time, kind, amount, posted, counterAccount] = line.split(',')
    const second = 100 + index
    assert.deepEqual([time, kind, amount, counterAccount], [at(second), 'direct', '12.34', 'settlement.sandbox'])
    assert.equal(posted, ((1234 * (second + 1)) / 100).toFixed(2))
    assert.ok(line.includes(`,"'=ref ""${second}"", x",`), line)
  })
})

test('a statement can be printed as a table, for another account and for a period', async () => {
  const words = `statement --partner ${partnerId} --currency EUR --account settlement.sandbox`
  const lines = linesOf(await printed(`${words} --from ${at(5)} --to ${at(7)}`))
  const cells = lines.map((line) => line.trim().split(/\s{2,}/))
  assert.deepEqual(cells[1], [at(5), 'opening', '-61.70'])
  assert.deepEqual(cells[2]?.slice(0, 5), [at(5), 'direct', '-12.34', '-74.04', 'balance'])
  assert.deepEqual([cells.length, cells.at(-1)], [5, [at(7), 'closing', '-86.38']])
  assert.equal(lines[0]?.indexOf('counter_account'), lines[2]?.indexOf('balance'))
})

test('wrong arguments are refused with one line', async () => {
  const statement = ['ledger', 'statement', '--partner', partnerId, '--currency']
  assert.match(await operator.refused(...statement, 'EUR', '--account', 'cash'), /--account is balance, suspense/)
  assert.match(await operator.refused(...statement, 'GBP'), /the partner has no account balance in GBP/)
})
