/** Cases by the operator's commands, on a sandbox whose bank contradicts itself. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { createClient, success, textAt } from '../support/client.ts'
import { createTestDatabase } from '../support/postgres.ts'
import { freePorts, run, start, stop } from '../support/program.ts'
import { readCredentials } from '../support/service.ts'
import { until } from '../support/until.ts'
import { balanceOf } from '../support/world.ts'

const folder = await mkdtemp(join(tmpdir(), 'partner-payments-cases-'))
const database = await createTestDatabase()
const [PORT, OPS_PORT] = (await freePorts(2)) as [string, string]
const SANDBOX_BANK_DELAY_MS = '10'
const env = { DATA_DIR: folder, DATABASE_URL: database.url, PORT, OPS_PORT, SANDBOX_BANK_DELAY_MS }
const service = await start(['serve'], env)
const credentials = JSON.parse(readFileSync(join(folder, 'sandbox-credentials.json'), 'utf8')) as Record<string, string>
const client = createClient(`http://127.0.0.1:${PORT}`, readCredentials(credentials))
after(async () => {
  await stop(service)
  await database.drop()
  await rm(folder, { recursive: true, force: true })
})

type Case = {
  readonly partnerId: string
  readonly id: string
  readonly kind: string
  readonly suspense: { readonly currency: string; readonly amount: string } | null
  readonly report: { readonly kind?: string; readonly money?: { readonly amount: string } }
  readonly resolution: string | null
}

const operator = (...args: readonly string[]) => run(['operator', ...args], env)
const list = async () => JSON.parse((await operator('case', 'list')).stdout) as readonly Case[]
const resolve = (opened: Case, action: string, ...more: readonly string[]) =>
  operator(
    ...['case', 'resolve', '--partner', opened.partnerId, '--id', opened.id, '--action', action],
    ...['--staff', 'Sam Staff', '--note', 'The bank confirmed it.', ...more],
  )

async function pay(amount: number): Promise<void> {
  const account = { iban: 'DE89370400440532013000', currency: 'EUR', name: 'Grace Hopper' }
  const beneficiaryId = textAt(success(await client.post('/v1/beneficiaries', account)), 'id')
  const body = { amount, currency: 'EUR', beneficiaryId, idempotencyKey: String(amount) }
  success(await client.post('/v1/payouts/fiat', body))
}

test('without oddities there is no case', async () => assert.deepEqual(await list(), []))

test('an operator lists the cases of a bank that contradicts itself, and resolves each once', async () => {
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

  const kept = await resolve(short, 'write-off')
  assert.equal((JSON.parse(kept.stdout) as Case).resolution, 'written_off')
  assert.equal((await resolve(contradicted, 'credit')).code, 0)
  assert.deepEqual(await list(), [])
  assert.equal((await balanceOf(client)).available, before - 4001_08n)

  const again = await resolve(contradicted, 'credit')
  assert.deepEqual([again.code, again.stdout], [1, ''])
  assert.match(again.stderr, /^operator: The case was credited by Sam Staff at \d{4}-[^\n]*\.\n$/)
})

for (const [args, message] of [
  [['--id', 'x'], /--partner is required/],
  [['--partner', 'x'], /--partner must be a UUID/],
] as const)
  test(`case resolve ${args.join(' ')} is refused with one line`, async () => {
    const { code, stderr } = await operator('case', 'resolve', ...args)
    assert.equal(code, 1)
    assert.match(stderr, message)
    assert.equal(stderr.trim().split('\n').length, 1)
  })

test('an action that does not exist, and one that the case does not allow, are refused with one line', async () => {
  const unknown = { partnerId: credentials.partnerId, id: '0190a000-0000-7000-8000-000000000001' } as Case
  for (const [action, message] of [
    ['keep', /--action is one of credit, reverse, write-off, note/],
    ['note', /No such case/],
  ] as const) {
    const { code, stderr } = await resolve(unknown, action)
    assert.equal(code, 1)
    assert.match(stderr, message)
  }
})
