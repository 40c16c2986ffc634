/** Payments of a file-based bank, by the operator's commands. */
import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { test } from 'node:test'
import { success, textAt } from '../support/client.ts'
import { commandsOf, useFolder, useService } from '../support/fixture.ts'
import { bankSetting, openFolders } from '../support/iso-outgoing.ts'
import { until } from '../support/until.ts'
import { listAll } from '../support/world.ts'

const folders = await openFolders(await useFolder())
const { toBank } = folders
const bank = bankSetting(folders, { preferredScheme: 'Instant', reach: { Instant: 'all' } })
const service = await useService({
  env: { RAIL: 'iso20022', RAIL_RULES: 'GBP=sandbox', ISO20022_BANKS: JSON.stringify([bank]) },
})
const { client, env } = service

type Answer = Readonly<Record<string, unknown>>
const { printed, refused } = commandsOf(env)
const list = (...words: readonly string[]) => printed<readonly Answer[]>('bank', 'files', ...words)

test('an operator lists the files of a bank, traces a payment and recalls it exactly once', async () => {
  assert.deepEqual(await list(), [])
  const account = { iban: 'NL91ABNA0417164300', currency: 'EUR', name: 'Grace Hopper' }
  const beneficiaryId = textAt(success(await client.post('/v1/beneficiaries', account)), 'id')
  const body = { amount: 12.34, currency: 'EUR', beneficiaryId, idempotencyKey: 'first' }
  success(await client.post('/v1/payouts/fiat', body))
  const [listed] = await listAll(client, '/v1/payouts')
  assert.ok(listed)
  const payout = textAt(listed, 'id')
  const { partnerId: partner } = service.credentials
  const named = ['--partner', partner, '--payout', payout] as const
  await until('the file is at the bank', async () => (await readdir(toBank)).some((name) => name.endsWith('.xml')))
  await until('the row says so', async () => (await list())[0]?.['state'] === 'Delivered')

  const [file] = await list('--connector', 'iso20022')
  assert.deepEqual([file?.['kind'], file?.['payments'], file?.['controlSum']], ['pain.001', 1, '12.34'])
  assert.deepEqual(await list('--connector', 'iso20022-other'), [])
  const payment = await printed('bank', 'payment', ...named)
  const { amount, schemeRequested, schemeApplied, schemeReason, recall: none } = payment
  assert.deepEqual([amount, schemeRequested, schemeApplied], ['12.34', 'Instant', 'Instant'])
  assert.deepEqual([schemeReason, none], [null, null])
  assert.deepEqual((payment['file'] as Answer)['name'], file?.['name'])

  const recall = await printed('bank', 'recall', ...named, '--reason', 'FRAD', '--staff', 'Sam Staff')
  assert.deepEqual([recall['reason'], recall['requestedBy']], ['FRAD', 'Sam Staff'])
  await until('the recall is at the bank', async () =>
    (await readdir(toBank)).some((name) => name.startsWith('camt.055') && name.endsWith('.xml')),
  )
  const again = await refused('bank', 'recall', ...named, '--reason', 'DUPL', '--staff', 'Sam Staff')
  assert.equal(again, 'operator: The payment already has a recall. Wait for its answer.')
})

test('an unknown payout is refused in one line', async () => {
  const { partnerId: partner } = service.credentials
  const none = '01890000-0000-7000-8000-000000000000'
  assert.match(await refused('bank', 'payment', '--partner', partner, '--payout', none), /No such payout/)
})
