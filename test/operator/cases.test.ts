/** Tests the operator's commands for cases, on a sandbox whose bank sends contradictory reports. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { success, textAt } from '../support/client.ts'
import { useService } from '../support/fixture.ts'
import { runOperator } from '../support/operator.ts'
import { assertRefusal } from '../support/program.ts'
import { until } from '../support/until.ts'
import { balanceOf } from '../support/world.ts'

const service = await useService({ env: { SANDBOX_BANK_DELAY_MS: '10' } })
const { client, env } = service

type Case = Readonly<Record<'partnerId' | 'id' | 'kind', string>> & {
  readonly resolution: string | null
  readonly proposalId: string | null
  readonly suspense: { readonly currency: string; readonly amount: string } | null
  readonly report: { readonly kind?: string; readonly money?: { readonly amount: string } }
}
type Candidate = {
  readonly kind: string
  readonly amount: string
  readonly agreed: readonly { readonly what: string }[]
}
type ShownCase = { readonly candidates: readonly Candidate[] }
type Decision = Readonly<{ sequence: number; kind: string; actor: string; action: string | null }>

const operator = (...args: readonly string[]) => runOperator([...args], env)
const list = async () => JSON.parse((await operator('case', 'list')).stdout) as readonly Case[]
const on = (command: string, { partnerId, id }: Case, ...more: readonly string[]) =>
  operator('case', command, '--partner', partnerId, '--id', id, ...more)
const propose = (opened: Case, action: string, ...more: readonly string[]) =>
  on('propose', opened, '--action', action, '--staff', 'Sam Staff', '--note', 'The bank confirmed it.', ...more)
const approve = (opened: Case, staff = 'Ada Other', ...more: readonly string[]) =>
  on('approve', opened, '--staff', staff, ...more)

async function pay(amount: number, idempotencyKey = String(amount)): Promise<void> {
  const account = { iban: 'DE89370400440532013000', currency: 'EUR', name: 'Grace Hopper' }
  const beneficiaryId = textAt(success(await client.post('/v1/beneficiaries', account)), 'id')
  const body = { amount, currency: 'EUR', beneficiaryId, idempotencyKey }
  success(await client.post('/v1/payouts/fiat', body))
}

test('without faults of the bank there is no case', async () => assert.deepEqual(await list(), []))

test('two people resolve the cases of a bank that contradicts itself, each exactly once', async () => {
  const before = (await balanceOf(client)).available
  await pay(4001.08)
  await pay(4001.09)
  await until('two cases', async () => (await list()).length === 2)
  const cases = await list()
  const short = cases.find(({ kind }) => kind === 'amount_differs')
  const contradicted = cases.find(({ kind }) => kind === 'contradiction')
  assert.ok(short && contradicted)
  assert.deepEqual(short.suspense, { currency: 'EUR', amount: '1.00' })
  assert.deepEqual(contradicted.suspense, { currency: 'EUR', amount: '4001.09' })
  assert.equal(contradicted.report.kind, 'payout.rejected')
  assert.equal(contradicted.report.money?.amount, '4001.09')

  const shown = JSON.parse((await on('show', contradicted)).stdout) as ShownCase
  assert.deepEqual(
    shown.candidates.map(({ kind, amount, agreed }) => [kind, amount, agreed.map(({ what }) => what)]),
    [['payout', '4001.09', ['amount', 'reference', 'same day']]],
  )
  assertRefusal(await on('show', { ...short, id: contradicted.partnerId }), 'operator: No such case.')
  const proposed = JSON.parse((await propose(short, 'write-off')).stdout) as Case
  assert.equal(proposed.resolution, null)
  const alone = await approve(short, 'sam  staff')
  assertRefusal(alone, 'operator: Sam Staff proposed it: another person must approve it.')
  const kept = await approve(short, 'Ada Other', '--proposal', proposed.proposalId ?? '')
  assert.equal((JSON.parse(kept.stdout) as Case).resolution, 'written_off')
  assert.equal((await propose(contradicted, 'fees')).code, 0)
  assert.equal((await on('reject', contradicted, '--staff', 'Ada Other', '--note', 'It is ours.')).code, 0)
  assert.equal((await propose(contradicted, 'credit')).code, 0)
  assert.equal((await approve(contradicted)).code, 0)
  assert.deepEqual(await list(), [])
  assert.equal((await balanceOf(client)).available, before - 4001_08n)

  const again = await propose(contradicted, 'credit')
  assertRefusal(again, /^operator: The case was credited by Sam Staff, approved by Ada Other at \d{4}-.*\.$/)
  const history = JSON.parse((await on('history', contradicted)).stdout) as readonly Decision[]
  assert.deepEqual(
    history.map(({ sequence, kind, actor, action }) => [sequence, kind, actor, action]),
    [
      [1, 'proposed', 'Sam Staff', 'fees'],
      [2, 'rejected', 'Ada Other', 'fees'],
      [3, 'proposed', 'Sam Staff', 'credit'],
      [4, 'approved', 'Ada Other', 'credit'],
    ],
  )
})

test('a proposal for an unknown case is refused with one line', async () => {
  const unknown = { partnerId: service.credentials.partnerId, id: '0190a000-0000-7000-8000-000000000001' } as Case
  assertRefusal(await propose(unknown, 'note'), 'operator: No such case.')
})

test('reconcile prints its lines as JSON or CSV, and shows that suspense equals the open cases', async () => {
  await pay(4001.08, 'again')
  await until('a case', async () => (await list()).length === 1)
  type Line = Readonly<Record<string, string>>
  const suspense = async () => {
    const lines = JSON.parse((await operator('reconcile', '--account', 'suspense')).stdout) as readonly Line[]
    return lines.map(({ record, currency, ledger, bank, unexplained }) => [record, currency, ledger, bank, unexplained])
  }
  // The worker compares at its start and then every minute. It knows the account once a comparison has found money there.
  const known = await suspense()
  if (known.length > 0) assert.deepEqual(known, [['account', 'EUR', '1.00', '1.00', '0.00']])
  const csv = await operator('reconcile', '--format', 'csv')
  assert.match(csv.stdout, /^record,connector,account,currency,id,kind,/)
})
