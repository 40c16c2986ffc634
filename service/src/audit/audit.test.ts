/** The log is chained in order, signed, proved to a partner, and shows every change of it. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { type AuditProof, faultsOfProof, leafOf, pathOf, rootOf } from '@partner-payments/wire'
import { auditLogs, day, recordAt } from '../../../test/support/audit-logs.ts'
import { addPartner, createTestService, pay, type Service } from '../../../test/support/composition.ts'
import { until } from '../../../test/support/until.ts'
import { type AllHandlers, type Call, Refusal } from '../kernel/api/index.ts'
import { newId } from '../kernel/index.ts'
import { sql } from '../postgres/index.ts'
import { auditedHandlers } from './index.ts'

let service: Service
before(async () => {
  service = await createTestService()
})
after(() => service.close())
const logs = auditLogs(() => service)

test('every record has a proof that holds, in a day of more than one subtree', async () => {
  const { partnerId, ids } = await logs.addLogged(2_500)
  for (const at of [0, 1, 1_023, 1_024, 2_047, 2_048, 2_499]) {
    const proof = await service.audit.proof(partnerId, `r${at}`, [ids[at] ?? ''])
    assert.deepEqual([proof.records.length, proof.pending, faultsOfProof(proof)], [1, 0, []], `record ${at}`)
    assert.equal(proof.records[0]?.sequence, at + 1)
  }
  const { partnerId: other } = await addPartner(service)
  assert.equal((await service.audit.proof(other, 'r1', [ids[1] ?? ''])).records.length, 0)
})

test('a proof with a changed, dropped, moved or foreign part does not hold', async () => {
  const { partnerId, ids } = await logs.addLogged()
  const proof = await service.audit.proof(partnerId, 'r3', [ids[3] ?? ''])
  const [record] = proof.records
  const [head] = proof.heads
  assert.ok(record && head)
  const { publicKey } = head
  assert.deepEqual(faultsOfProof(proof, publicKey), [])
  const stranger = await logs.addLogged()
  const foreign = await service.audit.proof(stranger.partnerId, 'r3', [stranger.ids[3] ?? ''])
  const cases: readonly AuditProof[] = [
    { ...proof, records: [{ ...record, content: record.content.replace('worker', 'bank') }] },
    { ...proof, records: [{ ...record, sequence: record.sequence + 1 }] },
    { ...proof, records: [{ ...record, path: record.path.slice(1) }] },
    { ...proof, records: [{ ...record, path: record.path.toReversed() }] },
    { ...proof, records: [{ ...record, head: 1 }] },
    { ...proof, records: [] },
    { ...proof, records: [record, record] },
    { ...proof, reference: 'r4' },
    { ...proof, heads: [{ ...head, content: head.content.replace('"version":1', '"version":2') }] },
    { ...proof, heads: [{ ...head, signature: Buffer.alloc(64).toString('base64') }] },
    { ...proof, heads: foreign.heads },
    { ...proof, statement: null },
    { ...proof, statement: foreign.statement },
    { ...proof, statement: head },
    { ...proof, pending: 1 },
  ]
  for (const [index, each] of cases.entries())
    assert.notDeepEqual(faultsOfProof(each, publicKey), [], `case ${index} is found`)
  assert.match(faultsOfProof(foreign, publicKey).join(), /another key/)
})

test('a path leads to the root for every leaf of every small tree', () => {
  for (let size = 1; size <= 17; size += 1) {
    const leaves = Array.from({ length: size }, (_, at) => leafOf(String(at)))
    const root = Buffer.from(rootOf(leaves)).toString('hex')
    assert.equal(
      new Set(
        leaves.map((_, at) =>
          pathOf(leaves, at)
            .map((hash) => Buffer.from(hash).toString('hex'))
            .join(),
        ),
      ).size,
      size,
    )
    assert.match(root, /^[0-9a-f]{64}$/)
  }
})

test('each step of a payment has a record in its transaction, and the steps are proved offline by the command', async () => {
  const partner = await addPartner(service, 1_000_000n)
  const { partnerId, caller } = partner
  const { payout } = await pay(service, { ...partner, caller: { ...caller, requestId: 'request-7' } }, '12.50')
  await service.payouts.cancel(partnerId, payout.id, { id: caller.serviceAccountId, name: caller.name })
  const { data } = await service.audit.list(partnerId, {})
  const own = data.filter(({ subject }) => subject['reference'] === payout.reference)
  assert.deepEqual(
    own.map(({ action, actor, details }) => [action, actor.kind, actor.name, details?.['steps']]),
    [
      ['transaction.steps', 'partner', caller.name, ['Cancelled']],
      ['transaction.steps', 'partner', caller.name, ['Created', 'Reserved']],
    ],
  )
  assert.deepEqual(
    [own[1]?.requestId, own[1]?.actor.id, own[1]?.details?.['amount']],
    ['request-7', caller.serviceAccountId, '12.50'],
  )
  const pending = await service.transactions.proof(partnerId, payout.reference)
  assert.deepEqual([pending.records.length, pending.pending], [0, 2])
  const proof = await until('the records are under a signed head', async () => {
    await logs.chained(partnerId, 1)
    const found = await service.transactions.proof(partnerId, payout.reference)
    return found.pending === 0 && found
  })
  const folder = mkdtempSync(join(tmpdir(), 'proof-'))
  const verify = (content: object, ...options: readonly string[]) => {
    const file = join(folder, 'proof.json')
    writeFileSync(file, JSON.stringify(content))
    return spawnSync(process.execPath, ['scripts/verify-proof.ts', file, ...options], { encoding: 'utf8' })
  }
  const key = proof.heads[0]?.publicKey ?? ''
  const good = verify(proof, '--key', key)
  assert.deepEqual([good.status, good.stderr], [0, ''])
  assert.match(good.stdout, /: 2 records are under signed heads, 0 are pending/)
  const changed = JSON.parse(JSON.stringify(proof).replace('12.50', '92.50')) as object
  const bad = verify(changed)
  assert.equal(bad.status, 1)
  assert.match(bad.stderr, /is not under its head/)
  assert.equal(verify(proof, '--key', 'other').status, 1)
  // A salt may begin with a dash.
  const salted = verify(proof, '--payee', '-', '--account', 'DE89370400440532013000', '--salt', '-x9', '--key', key)
  assert.deepEqual([salted.status, salted.stderr], [0, ''])
  assert.equal(verify(proof, '--salt').status, 2)
  for (const [left] of proof.records.entries()) {
    const records = proof.records.filter((_record, at) => at !== left)
    for (const pending of [0, 1]) {
      const short = verify({ ...proof, records, pending })
      assert.equal(short.status, 1, `record ${left} is left out`)
      assert.match(short.stderr, /not those that the statement names/)
    }
  }
  rmSync(folder, { recursive: true })
})

test('a payment that is rolled back has no record', async () => {
  const { partnerId } = await addPartner(service)
  const failed = service.db.transaction(async (tx) => {
    service.audit.append(tx, [recordAt(partnerId, 0, 1)])
    await tx.row(sql`select 1 as one`)
    throw new Error('rolled back')
  })
  await assert.rejects(failed, /rolled back/)
  assert.deepEqual((await service.audit.list(partnerId, {})).data, [])
})

test('the list is newest first, pages by cursor, and has no record of another partner', async () => {
  const { partnerId } = await logs.addLogged()
  const first = await service.audit.list(partnerId, { limit: '2' })
  assert.deepEqual(
    first.data.map(({ subject }) => subject['reference']),
    ['r22', 'r21'],
  )
  const second = await service.audit.list(partnerId, { limit: '2', cursor: first.nextCursor ?? '' })
  assert.deepEqual(
    second.data.map(({ subject }) => subject['reference']),
    ['r20', 'r19'],
  )
  const range = { createdFrom: day.toISOString(), createdTo: new Date(day.getTime() + 2_000).toISOString() }
  const early = await service.audit.list(partnerId, range)
  assert.deepEqual(
    early.data.map(({ subject }) => subject['reference']),
    ['r1', 'r0'],
  )
  const { partnerId: other } = await addPartner(service)
  await assert.rejects(service.audit.list(other, { cursor: first.nextCursor ?? '' }), Refusal)
  assert.deepEqual((await service.audit.list(other, {})).data, [])
})

test('a request that changes something, and a sensitive read, are recorded before they run; other reads are not', async () => {
  const { partnerId, caller } = await addPartner(service)
  const seen: string[] = []
  const handler = (id: string) => async () => {
    const { data } = await service.audit.list(partnerId, {})
    seen.push(`${id}: ${data.map(({ action }) => action).join()}`)
    throw new Refusal('not_found')
  }
  const ids = ['getCustomer', 'updateCustomer', 'getTransaction', 'createFiatPayout'] as const
  const handlers = auditedHandlers(
    Object.fromEntries(ids.map((id) => [id, handler(id)])) as unknown as AllHandlers,
    service.audit,
  )
  for (const id of ids) {
    const call = { caller, params: { id: 'c-1' }, requestId: newId(), ip: '203.0.113.9' }
    await assert.rejects(
      (handlers[id] as (given: unknown) => Promise<unknown>)(call as unknown as Call<'getCustomer'>),
      Refusal,
    )
  }
  assert.deepEqual(seen, [
    'getCustomer: getCustomer',
    'updateCustomer: updateCustomer,getCustomer',
    'getTransaction: updateCustomer,getCustomer',
    'createFiatPayout: updateCustomer,getCustomer',
  ])
  const [last] = (await service.audit.list(partnerId, { limit: '1' })).data
  assert.deepEqual([last?.subject, last?.actor.name, last?.actor.ip], [{ id: 'c-1' }, 'Test account', '203.0.113.9'])
})
