/** Records are chained in order, by links of one or of many, and the verification finds every change of the log. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { faultsOfProof } from '@partner-payments/wire'
import { auditLogs, day, idAt, recordAt } from '../../../test/support/audit-logs.ts'
import { addPartner, createTestService, type Service } from '../../../test/support/composition.ts'
import { until } from '../../../test/support/until.ts'
import { dayMs } from '../kernel/index.ts'
import { sql } from '../postgres/index.ts'
import { verifyLog } from './index.ts'

let service: Service
before(async () => {
  service = await createTestService()
})
after(() => service.close())
const logs = auditLogs(() => service)

test('records are chained in one order without gaps, and each day has one signed head', async () => {
  const { partnerId } = await logs.addLogged(2_500)
  const { records, heads, faults } = await verifyLog(service.db, partnerId)
  assert.deepEqual([records, heads, faults], [2_503, 2, []])
  const page = await service.audit.heads(partnerId, { limit: '1' })
  assert.deepEqual([page.data.length, page.hasMore], [1, true])
  const older = await service.audit.heads(partnerId, { cursor: page.nextCursor ?? '' })
  const [first] = older.data.map(({ content }) => JSON.parse(content) as Record<string, unknown>)
  assert.deepEqual([first?.['firstSequence'], first?.['lastSequence'], first?.['previous']], [1, 2_500, null])
  assert.equal(first?.['from'], day.toISOString())
})

test('two loops at once chain each record once', async () => {
  const { partnerId } = await addPartner(service)
  const records = Array.from({ length: 1_500 }, (_, at) => recordAt(partnerId, at, at))
  await logs.append(...records)
  const steps = [logs.chainStep([partnerId]), logs.chainStep([partnerId]), logs.chainStep([partnerId])]
  await Promise.all(
    steps.map(async (step) => {
      while ((await step()) > 0);
    }),
  )
  await logs.chained(partnerId)
  const { records: count, faults } = await verifyLog(service.db, partnerId)
  assert.deepEqual([count, faults], [1_500, []])
})

test('a record that commits behind a later one is chained before it', async () => {
  const { partnerId } = await addPartner(service)
  const record = (name: string) => ({ partnerId, actor: { kind: 'worker' }, action: name, subject: {} }) as const
  const began = Promise.withResolvers<void>()
  const mayCommit = Promise.withResolvers<void>()
  const slow = service.db.transaction(async (tx) => {
    service.audit.append(tx, [record('early')])
    await tx.row(sql`select 1 as one`)
    began.resolve()
    await mayCommit.promise
  })
  await began.promise
  await service.audit.record(record('late'))
  await logs.chained(partnerId)
  assert.equal((await verifyLog(service.db, partnerId)).records, 0, 'the later record waits')
  mayCommit.resolve()
  await slow
  await until('both are chained', async () => {
    await logs.chained(partnerId)
    return (await verifyLog(service.db, partnerId)).records === 2
  })
  const order = await service.db.rows<{ action: string }>(sql`
    select content::jsonb ->> 'action' as action
    from audit.links cross join unnest(coalesce(record_ids, array[record_id])) with ordinality as linked (id, place)
      join audit.records on records.partner_id = links.partner_id and records.id = linked.id
    where links.partner_id = ${partnerId} order by sequence, place`)
  assert.deepEqual(
    order.map(({ action }) => action),
    ['early', 'late'],
  )
})

test('a record that appears late is chained before its day is signed', async () => {
  const { partnerId } = await addPartner(service)
  await logs.append(recordAt(partnerId, 5_000, 1))
  const step = logs.chainStep([partnerId])
  await step()
  await step()
  await logs.append(recordAt(partnerId, 1_000, 2))
  await logs.chained(partnerId)
  const { records, heads, faults } = await verifyLog(service.db, partnerId)
  assert.deepEqual([records, heads, faults], [2, 1, []])
})

type Tampering = {
  readonly what: string
  readonly change: (partnerId: string, ids: readonly string[]) => Promise<unknown>
  readonly fault: RegExp
}

/** Records to chain, in any way. */
const tamperings: readonly Tampering[] = [
  {
    what: 'a changed record',
    change: (partnerId, ids) =>
      service.db.run(sql`update audit.records set content = replace(content, 'worker', 'bank')
        where partner_id = ${partnerId} and id = ${ids[4]}`),
    fault: /link 5 was changed/,
  },
  {
    what: 'a dropped record',
    change: (partnerId, ids) =>
      service.db.run(sql`delete from audit.records where partner_id = ${partnerId} and id = ${ids[4]}`),
    fault: /link 5 is missing/,
  },
  {
    what: 'two records that change places',
    change: (partnerId, ids) =>
      service.db.run(sql`update audit.records set content = other.content from audit.records as other
        where records.partner_id = ${partnerId} and other.partner_id = ${partnerId}
          and (records.id, other.id) in ((${ids[4]}::uuid, ${ids[5]}::uuid), (${ids[5]}::uuid, ${ids[4]}::uuid))`),
    fault: /replaces another one/,
  },
  {
    what: 'a link that is moved',
    change: (partnerId) =>
      service.db.run(sql`update audit.links set sequence = 1000 where partner_id = ${partnerId} and sequence = 20`),
    fault: /links \d+ to 20 are missing/,
  },
  {
    what: 'a record that is not chained',
    change: (partnerId) => logs.append(recordAt(partnerId, 2_500, 99)),
    fault: /is not in the chain/,
  },
]

const dropRecord = (partnerId: string, id: string | undefined) =>
  service.db.run(sql`delete from audit.records where partner_id = ${partnerId} and id = ${id}`)

const ofSingles: readonly Tampering[] = [
  {
    what: 'a dropped record with its link',
    change: async (partnerId, ids) => {
      await service.db.run(sql`delete from audit.links where partner_id = ${partnerId} and record_id = ${ids[4]}`)
      await dropRecord(partnerId, ids[4])
    },
    fault: /links 5 to 5 are missing/,
  },
]

const ofStretches: readonly Tampering[] = [
  {
    what: 'a changed head',
    change: (partnerId) =>
      service.db.run(sql`update audit.heads set content = replace(content, '"version":1', '"version":2')
        where partner_id = ${partnerId} and first_sequence = 1`),
    fault: /is not signed/,
  },
  {
    what: 'a dropped head',
    change: (partnerId) =>
      service.db.run(sql`delete from audit.heads where partner_id = ${partnerId} and first_sequence = 1`),
    fault: /does not follow the head before it/,
  },
  {
    what: 'a dropped last head',
    change: (partnerId) =>
      service.db.run(sql`delete from audit.heads where partner_id = ${partnerId} and first_sequence > 1`),
    fault: /last signed head is missing/,
  },
  {
    what: 'a dropped record that is left out of its stretch',
    change: async (partnerId, ids) => {
      await service.db
        .run(sql`update audit.links set records = records - 1, record_ids = array_remove(record_ids, ${ids[4]}::uuid),
          leaf = substr(leaf, 1, 4 * 32) || substr(leaf, 5 * 32 + 1)
        where partner_id = ${partnerId} and sequence = 20`)
      await dropRecord(partnerId, ids[4])
    },
    fault: /links 1 to 1 are missing/,
  },
  {
    what: 'two records of a stretch that are exchanged with their leaves',
    change: (partnerId, ids) =>
      service.db.run(sql`update audit.links set
          record_ids = record_ids[:4] || array[${ids[5]}, ${ids[4]}]::uuid[] || record_ids[7:],
          leaf = substr(leaf, 1, 4 * 32) || substr(leaf, 5 * 32 + 1, 32) || substr(leaf, 4 * 32 + 1, 32) || substr(leaf, 6 * 32 + 1)
        where partner_id = ${partnerId} and sequence = 20`),
    fault: /chain is broken at link 20/,
  },
  {
    what: 'a dropped stretch',
    change: (partnerId) =>
      service.db.run(sql`delete from audit.links where partner_id = ${partnerId} and sequence = 20`),
    fault: /links 1 to 20 are missing/,
  },
]

for (const together of [true, false])
  for (const { what, change, fault } of [...tamperings, ...(together ? ofStretches : ofSingles)])
    test(`the verification finds ${what}, of records chained ${together ? 'together' : 'one by one'}`, async () => {
      const { partnerId, ids } = await logs.addLogged(20, together)
      assert.deepEqual(await logs.faultsOf(partnerId), [])
      await change(partnerId, ids)
      const faults = await logs.faultsOf(partnerId)
      assert.ok(
        faults.some((each) => fault.test(each)),
        faults.join('\n'),
      )
    })

/** How many records each link chains, in order. */
const recordsOfLinks = async (partnerId: string) => {
  const rows = await service.db.rows<{ records: number }>(
    sql`select records from audit.links where partner_id = ${partnerId} order by sequence`,
  )
  return rows.map(({ records }) => records)
}

test('records that follow one another are chained by one link of up to 1,000, and none of two days', async () => {
  const { partnerId } = await logs.addLogged(2_500)
  assert.deepEqual(await recordsOfLinks(partnerId), [1_000, 1_000, 500, 3])
})

test('a log that was begun with a link for each record goes on with stretches, and proves all of them', async () => {
  const { partnerId, ids } = await logs.addLogged(20, false)
  const late = recordAt(partnerId, dayMs + 500, 98)
  const more = Array.from({ length: 1_200 }, (_, at) => recordAt(partnerId, 2 * dayMs + at, 100 + at))
  await logs.append(...more)
  await logs.chained(partnerId)
  assert.deepEqual(await recordsOfLinks(partnerId), [...Array.from({ length: 23 }, () => 1), 1_000, 200])
  assert.equal(await logs.faultsOf(partnerId).then(String), '')
  const wanted = [ids[0], ids[19], ...[0, 1, 998, 999, 1_000, 1_198, 1_199].map((at) => more[at]?.id)]
  for (const [index, id] of wanted.entries()) {
    const reference = index < 2 ? `r${index * 19}` : `r${100 + ([0, 1, 998, 999, 1_000, 1_198, 1_199][index - 2] ?? 0)}`
    const proof = await service.audit.proof(partnerId, reference, [id ?? ''])
    assert.deepEqual([proof.records.length, faultsOfProof(proof)], [1, []], reference)
  }
  // After its day was signed: it lies in a stretch's range of ids and is not in it.
  await logs.append(late)
  assert.equal((await service.audit.proof(partnerId, 'r98', [late.id])).pending, 1)
})

test('late records among stretches are chained alone, and proved', async () => {
  const { partnerId } = await addPartner(service)
  const step = logs.chainStep([partnerId])
  await logs.append(...Array.from({ length: 30 }, (_, at) => recordAt(partnerId, at * 1000, at)))
  while ((await recordsOfLinks(partnerId)).length === 0) await step()
  const late = [recordAt(partnerId, 4_500, 90), recordAt(partnerId, 5_500, 91)]
  await logs.append(...late)
  await logs.chained(partnerId)
  assert.deepEqual(await recordsOfLinks(partnerId), [30, 1, 1])
  const { records, heads, faults } = await verifyLog(service.db, partnerId)
  assert.deepEqual([records, heads, faults], [32, 1, []])
  for (const [at, { id }] of late.entries()) {
    const proof = await service.audit.proof(partnerId, `r${90 + at}`, [id])
    assert.deepEqual([proof.records[0]?.sequence, faultsOfProof(proof)], [31 + at, []])
  }
  const amid = await service.audit.proof(partnerId, 'r5', [idAt(5_000, 5)])
  assert.deepEqual([amid.records[0]?.sequence, faultsOfProof(amid)], [6, []])
})

test('PostgreSQL computes the leaf of any text as the verification does', async () => {
  const { partnerId } = await addPartner(service)
  const texts = ['', 'Žemaitė & Søn', '\u{1F600}', 'back\\slash "quote"', '\u0001 control', 'x'.repeat(100_000)]
  const records = texts.map((reason, at) => ({ ...recordAt(partnerId, at, at), reason }))
  await logs.append(...records)
  await logs.chained(partnerId)
  assert.deepEqual(await recordsOfLinks(partnerId), [texts.length])
  assert.deepEqual(await logs.faultsOf(partnerId), [])
})
