/** The streams over HTTP: changed transactions, and everything that is held about a customer. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { type JsonObject, success, textAt } from '../support/client.ts'
import { useSharedService } from '../support/fixture.ts'
import { pluck } from '../support/pluck.ts'
import { assertProblem, indistinct } from '../support/problem.ts'
import { otherPartner } from '../support/service.ts'
import { until } from '../support/until.ts'
import { createBeneficiary, createCustomer, payoutText } from '../support/world.ts'

const service = await useSharedService()
const { client } = service
const stranger = await otherPartner(service)

type Line = { readonly cursor: string; readonly transaction: { readonly reference: string } }
const path = '/v1/exports/transactions'
async function linesOf(query = '', as = client): Promise<readonly Line[]> {
  const answer = await as.get(`${path}${query}`)
  assert.equal(answer.status, 200)
  assert.equal(answer.headers['content-type'], 'application/jsonl')
  assert.equal(answer.headers['content-length'], undefined)
  assert.equal(answer.headers['accept-ranges'], undefined)
  return answer.text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Line)
}
const referencesIn = (lines: readonly Line[]) => lines.map(({ transaction }) => transaction.reference)

test('200 with a line for each transaction, and with the changes after a cursor', async () => {
  const beneficiary = textAt(await createBeneficiary(client), 'id')
  const pay = async () =>
    textAt(success(await client.post('/v1/payouts/fiat', payoutText(beneficiary, '1.00'))), 'reference')
  const first = await pay()
  const lines = await until('the payout is in the stream', async () => {
    const all = await linesOf()
    return referencesIn(all).includes(first) && all
  })
  const second = await pay()
  const cursor = encodeURIComponent(lines.at(-1)?.cursor ?? '')
  const seen = await until('the next payout is behind the cursor', async () => {
    const behind = referencesIn(await linesOf(`?after=${cursor}`))
    return behind.includes(second) && behind
  })
  assert.ok(!seen.some((reference) => referencesIn(lines).includes(reference) && reference !== first))
})

test('200 without transactions of another partner, and 400 to its cursor', async () => {
  const mine = await linesOf()
  const theirs = referencesIn(await linesOf('', stranger))
  assert.ok(mine.length > 0)
  assert.deepEqual(
    theirs.filter((reference) => referencesIn(mine).includes(reference)),
    [],
  )
  const cursor = encodeURIComponent(mine[0]?.cursor ?? '')
  assertProblem(await stranger.get(`${path}?after=${cursor}`), { status: 400, pointer: '/query/after' })
})

test('400 with a pointer when a parameter is invalid', async () => {
  for (const query of ['after=x', 'after=', 'updatedSince=now', 'limit=1'])
    assertProblem(await client.get(`${path}?${query}`), { status: 400, pointer: `/query/${query.split('=')[0]}` })
})

type HeldLine = { readonly type: string; readonly data: JsonObject }
const exportOf = (guid: string, as = client) => as.get(`/v1/customers/${guid}/export`)

test('200 with a line for all data held about a customer, including the reads of it', async () => {
  const customer = await createCustomer(client, { kyc: { fullName: 'Ada Lovelace' } })
  const guid = textAt(customer, 'guid')
  await client.get(`/v1/customers/${textAt(customer, 'serviceId')}`)
  const answer = await exportOf(guid)
  assert.equal(answer.status, 200)
  assert.equal(answer.headers['content-type'], 'application/jsonl')
  assert.match(String(answer.headers['content-disposition']), /^attachment; filename="customer-cus_/)
  const lines = answer.text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as HeldLine)
  const dataOf = (type: string) => lines.filter((line) => line.type === type).map(({ data }) => data)
  assert.deepEqual(dataOf('customer'), [customer])
  assert.deepEqual(pluck(dataOf('auditRecord'), 'action'), ['exportCustomer', 'getCustomer'])
  assert.deepEqual(dataOf('end'), [{ lines: lines.length }])
})

test('404 to export an unknown customer, and a customer of another partner in the same words', async () => {
  const guid = textAt(await createCustomer(client), 'guid')
  assert.deepEqual(indistinct(await exportOf(guid, stranger)), indistinct(await exportOf(randomUUID(), stranger)))
  assertProblem(await exportOf(guid, stranger), { status: 404, code: 'not_found' })
})
