/** Payments of a file-based bank, by the operator's commands. */
import assert from 'node:assert/strict'
import { mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { success, textAt } from '../support/client.ts'
import { useFolder, useService } from '../support/fixture.ts'
import { runOperator } from '../support/operator.ts'
import { until } from '../support/until.ts'
import { listAll } from '../support/world.ts'

const folder = await useFolder()
const [toBank, fromBank, archive] = ['to', 'from', 'archive'].map((name) => join(folder, name)) as [
  string,
  string,
  string,
]
await Promise.all([mkdir(toBank), mkdir(fromBank)])
const bank = {
  initiator: { name: 'Example' },
  accounts: [
    {
      iban: 'DE89370400440532013000',
      bic: 'COBADEFFXXX',
      ownerName: 'Example',
      ownerAddress: { town: 'Berlin', country: 'DE' },
    },
  ],
  archive,
  preferredScheme: 'Instant',
  reach: { Instant: 'all' },
  transport: { kind: 'folder', toBank, fromBank },
}
const service = await useService({
  env: { RAIL: 'iso20022', RAIL_RULES: 'GBP=sandbox', ISO20022_BANKS: JSON.stringify([bank]) },
})
const { client, env } = service

type Answer = Readonly<Record<string, unknown>>
const operator = async (...words: readonly string[]) => {
  const { code, stdout, stderr } = await runOperator(['bank', ...words], env)
  return { code, stderr, answer: code === 0 ? (JSON.parse(stdout) as unknown) : undefined }
}
const answerOf = async (...words: readonly string[]) => (await operator(...words)).answer as Answer
const list = async (...words: readonly string[]) => (await operator('files', ...words)).answer as readonly Answer[]

test('an operator sees the files of a bank and the way of a payment, and asks for it back once', async () => {
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
  const payment = await answerOf('payment', ...named)
  assert.deepEqual(
    [
      payment['amount'],
      payment['schemeRequested'],
      payment['schemeApplied'],
      payment['schemeReason'],
      payment['recall'],
    ],
    ['12.34', 'Instant', 'Instant', null, null],
  )
  assert.deepEqual((payment['file'] as Answer)['name'], file?.['name'])

  const recall = await answerOf('recall', ...named, '--reason', 'FRAD', '--staff', 'Sam Staff')
  assert.deepEqual([recall['reason'], recall['requestedBy']], ['FRAD', 'Sam Staff'])
  await until('the recall is at the bank', async () =>
    (await readdir(toBank)).some((name) => name.startsWith('camt.055') && name.endsWith('.xml')),
  )
  const again = await operator('recall', ...named, '--reason', 'DUPL', '--staff', 'Sam Staff')
  assert.deepEqual(
    [again.code, again.stderr.trim()],
    [1, 'operator: The payment already has a recall. Wait for its answer.'],
  )
})

test('what is wrong with a command is told in one line', async () => {
  const { partnerId: partner } = service.credentials
  const none = '01890000-0000-7000-8000-000000000000'
  const wrong: readonly (readonly [readonly string[], RegExp])[] = [
    [['payment', '--partner', partner], /--payout is required/],
    [['payment', '--partner', partner, '--payout', 'x'], /--payout must be a UUID/],
    [['payment', '--partner', partner, '--payout', none], /No such payout/],
    [['recall', '--partner', partner, '--payout', none, '--staff', 'Sam'], /--reason is required/],
    [
      ['recall', '--partner', partner, '--payout', none, '--reason', 'WHY', '--staff', 'Sam'],
      /--reason must be DUPL or TECH/,
    ],
  ]
  for (const [words, reason] of wrong) {
    const { code, stderr } = await operator(...words)
    assert.equal(code, 1)
    assert.match(stderr, reason)
    assert.equal(stderr.trim().split('\n').length, 1)
  }
})
