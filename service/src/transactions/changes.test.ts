/** The stream of changes: all of them, in pages, resumable at each line, a few readers at once. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { addPartner, createTestService, pay, type Service } from '../../../test/support/composition.ts'
import { type Call, Refusal } from '../kernel/api/index.ts'
import { newId } from '../kernel/index.ts'
import { sql } from '../postgres/index.ts'
import { type Changes, createExports } from './changes.ts'
import { transactionsRoutes } from './index.ts'

let service: Service
before(async () => {
  service = await createTestService()
})
after(() => service.close())

const rows = 1_200
const start = new Date('2026-01-01T00:00:00Z')

/** A partner with many transactions. Groups of three have changed at the same time. */
async function addBusyPartner(): Promise<string> {
  const { partnerId } = await addPartner(service)
  await service.db.run(sql`
    insert into transactions.transactions (partner_id, id, reference, amount, currency, category, direction, method,
      party_type, type, status, timeline, created_at, updated_at)
    select ${partnerId}::uuid, ('0198e000-0000-7000-8000-' || lpad(to_hex(number), 12, '0'))::uuid, 'r' || number, 100, 'EUR',
      'Withdrawal', 'Outward', 'Fiat', 'Partner', 'PartnerWithdraw', 'Completed', '[]'::jsonb, ${start}::timestamptz,
      ${start}::timestamptz + (number / 3) * interval '1 second'
    from generate_series(1, ${rows}::integer) as series (number)`)
  return partnerId
}

async function referencesOf({ pages, closed }: Changes, linesMax = Infinity) {
  const seen: { reference: string; cursor: string }[] = []
  for await (const page of pages()) {
    for (const { cursor, transaction } of page) seen.push({ reference: transaction.row.reference, cursor })
    if (seen.length >= linesMax) break
  }
  closed()
  return seen.slice(0, linesMax)
}

test('the stream has every transaction once, the oldest change first, and continues behind any line', async () => {
  const partnerId = await addBusyPartner()
  const whole = await referencesOf(await service.transactions.changes(partnerId, {}))
  const names = whole.map(({ reference }) => reference)
  assert.deepEqual(
    names,
    Array.from({ length: rows }, (_, index) => `r${index + 1}`),
  )
  for (const at of [1, 2, 499, 500, 501, rows - 1]) {
    const [...head] = await referencesOf(await service.transactions.changes(partnerId, {}), at)
    const cursor = head.at(-1)?.cursor ?? ''
    const tail = await referencesOf(await service.transactions.changes(partnerId, { cursor }))
    assert.deepEqual(
      [...head, ...tail].map(({ reference }) => reference),
      names,
      `cut behind line ${at}`,
    )
  }
  const end = whole.at(-1)?.cursor ?? ''
  assert.deepEqual(await referencesOf(await service.transactions.changes(partnerId, { cursor: end })), [])
  const since = new Date(start.getTime() + 399_000)
  const late = await referencesOf(await service.transactions.changes(partnerId, { since }))
  assert.deepEqual(
    late.map(({ reference }) => reference),
    ['r1197', 'r1198', 'r1199', 'r1200'],
  )
})

test('the cursor of a line continues a list of changes, and the other way round', async () => {
  const partnerId = await addBusyPartner()
  const head = await referencesOf(await service.transactions.changes(partnerId, {}), 10)
  const updatedSince = start.toISOString()
  const list = await service.transactions.list(partnerId, {
    updatedSince,
    cursor: head.at(-1)?.cursor ?? '',
    limit: '2',
  })
  assert.deepEqual(
    list.data.map(({ row }) => row.reference),
    ['r11', 'r12'],
  )
  const tail = await referencesOf(await service.transactions.changes(partnerId, { cursor: list.nextCursor ?? '' }), 1)
  assert.equal(tail[0]?.reference, 'r13')
})

test('a cursor of another partner or of another list is refused, and counts as no reader', async () => {
  const partnerId = await addBusyPartner()
  const other = await addPartner(service)
  const [line] = await referencesOf(await service.transactions.changes(partnerId, {}), 1)
  const refused = (error: unknown) => error instanceof Refusal && error.errors[0]?.pointer === '/query/after'
  for (let times = 0; times < 5; times += 1)
    await assert.rejects(service.transactions.changes(other.partnerId, { cursor: line?.cursor ?? '' }), refused)
  const { nextCursor } = await service.transactions.list(partnerId, { limit: '1' })
  await assert.rejects(service.transactions.changes(partnerId, { cursor: nextCursor ?? '' }), refused)
})

test('of readers that start at once two are let in, and the next one when one has ended', async () => {
  const { partnerId } = await addPartner(service)
  const { changes } = createExports({ ...service, clockDifferenceMsMax: 0 })
  const started = await Promise.allSettled(Array.from({ length: 5 }, () => changes(partnerId, {})))
  const open = started.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
  const refusals = started.flatMap((each) => (each.status === 'rejected' ? [each.reason as Refusal] : []))
  assert.deepEqual(
    [open.length, refusals.map(({ code }) => code)],
    [2, ['rate_limited', 'rate_limited', 'rate_limited']],
  )
  assert.equal(refusals[0]?.headers['retry-after'], '5')
  const { partnerId: another } = await addPartner(service)
  await changes(another, {})
  open[0]?.closed()
  await changes(partnerId, {})
  await assert.rejects(changes(partnerId, {}), Refusal)
})

test('a stream ends with what was certain at its start, while payments go on', async () => {
  const partner = await addPartner(service, 1_000_000n)
  await pay(service, partner, '1.00', { reference: 'first' })
  const changes = await service.transactions.changes(partner.partnerId, {})
  const seen: string[] = []
  for await (const page of changes.pages()) {
    for (const { transaction } of page) seen.push(transaction.row.reference)
    await pay(service, partner, '1.00', { reference: newId() })
    assert.ok(seen.length < 10, 'the stream does not run after the payments')
  }
  assert.ok(seen.includes('first'))
})

test('each line is JSON with the documented transaction', async () => {
  const partner = await addPartner(service, 1_000_000n)
  const { payout } = await pay(service, partner, '12.50')
  const call = { caller: partner.caller, query: {} } as unknown as Call<'exportTransactions'>
  const { stream } = await transactionsRoutes(service.transactions, service.holdOf).exportTransactions(call)
  assert.ok(stream)
  let text = ''
  for await (const part of stream.read()) text += Buffer.from(part).toString()
  stream.closed()
  const lines = text.split('\n')
  assert.equal(lines.pop(), '')
  const last = JSON.parse(lines.at(-1) ?? '') as { cursor: string; transaction: Record<string, unknown> }
  assert.deepEqual(Object.keys(last), ['cursor', 'transaction'])
  assert.deepEqual([last.transaction['reference'], last.transaction['amount']], [payout.reference, 12.5])
  assert.match(lines.at(-1) ?? '', /"amount":12\.50,/)
})
