/**
 * Tests that the operator finds a payment by the data that a partner or bank has, and that the runbook covers each
 * status.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { payouts } from '@partner-payments/wire'
import { type JsonObject, listAt, success, textAt } from '../support/client.ts'
import { commandsOf, useService } from '../support/fixture.ts'
import { pluck } from '../support/pluck.ts'
import { until } from '../support/until.ts'

const service = await useService({ env: { SANDBOX_BANK_DELAY_MS: '10' } })
const { client } = service
const { partnerId } = service.credentials

type Texts = 'payoutId' | 'instructionId' | 'endToEndId' | 'reference' | 'status' | 'since' | 'amount' | 'connector'
type Payment = Readonly<Record<Texts | 'partnerId' | 'beneficiary' | 'next' | 'runbook', string>> & {
  readonly userReference: string | null
  readonly timeline: readonly { readonly step: string; readonly createdAt: string }[]
  readonly cases: readonly { readonly kind: string }[]
  readonly hold?: string
  readonly partnerReads?: string
}
type FoundPayments = { readonly payments: readonly Payment[]; readonly hasMore: boolean }

const commands = commandsOf(service.env)
const find = (...args: readonly string[]) => commands.printed<FoundPayments>('payment', 'find', ...args)
const idsOf = ({ payments }: FoundPayments) => payments.map(({ payoutId }) => payoutId)

const account = { iban: 'DE89370400440532013000', currency: 'EUR', name: 'Grace Hopper' }
const beneficiaryId = textAt(success(await client.post('/v1/beneficiaries', account)), 'id')
const pay = async (amount: number, more: JsonObject = {}) => {
  const idempotencyKey = randomUUID()
  success(await client.post('/v1/payouts/fiat', { amount, currency: 'EUR', beneficiaryId, idempotencyKey, ...more }))
  const [payout = {}] = listAt(success(await client.get(`/v1/payouts?idempotencyKey=${idempotencyKey}`)))
  return textAt(payout, 'id')
}
const reaches = (id: string, status: string) =>
  until(
    `the payout is ${status}`,
    async () => textAt(success(await client.get(`/v1/payouts/${id}`)), 'status') === status,
  )

const first = await pay(4001.07, { reference: 'INVOICE-7' })
const second = await pay(4001.08, { reference: 'INVOICE-7' })
await reaches(first, 'Sent')
await reaches(second, 'Completed')

test('a payment is found by id, reference or amount, narrowed by day and partner', async () => {
  const byId = await find('--id', first)
  const [found] = byId.payments
  assert.ok(found)
  assert.deepEqual(idsOf(byId), [first])
  const own = await find('--reference', 'INVOICE-7')
  assert.deepEqual(idsOf(own), [second, first], 'the second payment keeps the reference as its own')
  assert.deepEqual(pluck(own.payments, 'userReference'), ['INVOICE-7', 'INVOICE-7'])
  const day = found.timeline[0]?.createdAt.slice(0, 10) ?? ''
  const searches = [
    ['--id', first.toUpperCase()],
    ['--id', found.instructionId],
    ['--id', found.endToEndId],
    ['--amount', '4001.07', '--currency', 'EUR'],
    ['--amount', '4001.07', '--currency', 'EUR', '--day', day, '--partner', partnerId],
  ]
  for (const search of searches) assert.deepEqual(idsOf(await find(...search)), [first], search.join(' '))
  const nothing = [
    ['--id', 'unknown'],
    ['--reference', 'INVOICE-8'],
    ['--amount', '4001.07', '--currency', 'GBP'],
    ['--reference', 'INVOICE-7', '--day', '2020-02-29'],
    ['--id', first, '--partner', first],
  ]
  for (const search of nothing)
    assert.deepEqual(await find(...search), { payments: [], hasMore: false }, search.join(' '))
})

test('a payment is shown with the time of its status, its open case, and the next step', async () => {
  const [sent] = (await find('--id', first)).payments
  assert.ok(sent)
  const { status, since, amount, connector, beneficiary, timeline, cases, next } = sent
  assert.deepEqual(
    { status, amount, connector, beneficiary, cases },
    { status: 'Sent', amount: '4001.07', connector: 'sandbox', beneficiary: 'G*** H***', cases: [] },
  )
  assert.deepEqual([timeline.at(-1)?.step, timeline.at(-1)?.createdAt], ['Sent', since])
  assert.match(next, /end-to-end id/)
  assert.deepEqual([sent.hold, sent.partnerReads], ['execution', 'The bank has the payment and executes it.'])
  await until('the bank has reported another amount', async () => {
    const [short] = (await find('--id', second)).payments
    return short?.cases[0]?.kind === 'amount_differs'
  })
})

test('a limited search result states that there are more payments', async () => {
  for (let count = 0; count < 51; count += 1) await pay(12.34)
  const { payments, hasMore } = await find('--amount', '12.34', '--currency', 'EUR')
  assert.deepEqual([payments.length, hasMore], [50, true])
})

test('a search without a key, or with two, is refused in one line', async () => {
  const refusals = [
    [[], 'give one of --id, --reference and --amount'],
    [['--id', first, '--reference', 'x'], 'give one of --id, --reference and --amount'],
    [['--id', first, '--day', '2026-01-01'], '--day goes with --reference or --amount'],
    [['--amount', '1.00'], '--currency is required'],
  ] as const
  for (const [args, message] of refusals)
    assert.equal(await commands.refused('payment', 'find', ...args), `operator: ${message}`)
})

test('the runbook has a section with a resolution for each status', () => {
  const path = 'docs/runbooks/stuck-payout.md'
  const text = readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
  const sections = new Map(text.split(/^## /m).map((part) => [part.split('\n')[0] ?? '', part]))
  for (const status of [...payouts.payoutStatuses, 'Screening'])
    assert.match(sections.get(status) ?? '', /^It ends: /m, status)
})
