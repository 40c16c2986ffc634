/**
 * The audit log is chained in order and signed, its records can be proved to a partner, and every change of it is
 * detected.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { generateKeyPairSync } from 'node:crypto'
import {
  type ApprovalSnapshot,
  type AuditProof,
  findApprovalFaults,
  findProofFaults,
  leafHash,
  inclusionPath,
  payeeDigest,
  merkleRoot,
  type SignedApproval,
} from '@partner-payments/wire'
import { auditLogs, day, idAt, recordAt } from '../../../test/support/audit-logs.ts'
import { addPartner, pay } from '../../../test/support/composition.ts'
import { until } from '../../../test/support/until.ts'
import { type AllHandlers, type OperationCall, Refusal } from '../kernel/api/index.ts'
import { createSealer, dayMs, newId, present, randomBytes } from '../kernel/index.ts'
import { sql } from '../postgres/index.ts'
import { auditedHandlers, createChainStep, verifyLog } from './index.ts'
import { insertKey, type KeyRow } from './store.ts'
import { type KeyPair, signedByPasskey } from '../../../test/support/passkey.ts'
import { useModules } from '../../../test/support/fixture.ts'

suite('log', async () => {
  const service = await useModules()
  const logs = auditLogs(() => service)

  test('every record has a valid proof, in a day of more than one subtree', async () => {
    const { partnerId, ids } = await logs.addLogged(2_500)
    for (const at of [0, 1, 1_023, 1_024, 2_047, 2_048, 2_499]) {
      const proof = await service.audit.proof(partnerId, `r${at}`, [ids[at] ?? ''])
      assert.deepEqual([proof.records.length, proof.pending, findProofFaults(proof)], [1, 0, []], `record ${at}`)
      assert.equal(proof.records[0]?.sequence, at + 1)
    }
    const { partnerId: other } = await addPartner(service)
    assert.equal((await service.audit.proof(other, 'r1', [ids[1] ?? ''])).records.length, 0)
  })

  test('a proof with a changed, missing, moved or foreign part is not valid', async () => {
    const { partnerId, ids } = await logs.addLogged()
    const proof = await service.audit.proof(partnerId, 'r3', [ids[3] ?? ''])
    const [record] = proof.records
    const [head] = proof.heads
    assert.ok(record && head)
    const { publicKey } = head
    assert.deepEqual(findProofFaults(proof, publicKey), [])
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
      assert.notDeepEqual(findProofFaults(each, publicKey), [], `case ${index} is found`)
    assert.match(findProofFaults(foreign, publicKey).join(), /another key/)
  })

  test('the Merkle path of every leaf leads to the root, in trees of up to 17 leaves', () => {
    for (let size = 1; size <= 17; size += 1) {
      const leaves = Array.from({ length: size }, (_, at) => leafHash(String(at)))
      const root = Buffer.from(merkleRoot(leaves)).toString('hex')
      assert.equal(
        new Set(
          leaves.map((_, at) =>
            inclusionPath(leaves, at)
              .map((hash) => Buffer.from(hash).toString('hex'))
              .join(),
          ),
        ).size,
        size,
      )
      assert.match(root, /^[0-9a-f]{64}$/)
    }
  })

  test('each step of a payment is recorded in its transaction, and the verification command proves the steps offline', async () => {
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
        assert.match(short.stderr, /differ from those in the statement/)
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

  test('the list of records is newest first, paged by cursor, and has no record of another partner', async () => {
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

  test('requests that change something and sensitive reads are recorded before they run; other reads are not recorded', async () => {
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
        (handlers[id] as (given: unknown) => Promise<unknown>)(call as unknown as OperationCall<'getCustomer'>),
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
})

suite('chain', async () => {
  const service = await useModules()
  const logs = auditLogs(() => service)

  test('records are chained in one order without gaps, and each day has one signed head', async () => {
    const { partnerId } = await logs.addLogged(2_500)
    const { records, heads, faults } = await verifyLog(service, partnerId)
    assert.deepEqual([records, heads, faults], [2_503, 2, []])
    const page = await service.audit.heads(partnerId, { limit: '1' })
    assert.deepEqual([page.data.length, page.hasMore], [1, true])
    const older = await service.audit.heads(partnerId, { cursor: page.nextCursor ?? '' })
    const [first] = older.data.map(({ content }) => JSON.parse(content) as Record<string, unknown>)
    assert.deepEqual([first?.['firstSequence'], first?.['lastSequence'], first?.['previous']], [1, 2_500, null])
    assert.equal(first?.['from'], day.toISOString())
  })

  test('two concurrent processes chain each record exactly once', async () => {
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
    const { records: count, faults } = await verifyLog(service, partnerId)
    assert.deepEqual([count, faults], [1_500, []])
  })

  test('a record that commits after a record with a later id is chained before it', async () => {
    const { partnerId } = await addPartner(service)
    const record = (name: string) =>
      ({ partnerId, actor: { kind: 'worker' }, action: `operator ${name}`, subject: {} }) as const
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
    assert.equal((await verifyLog(service, partnerId)).records, 0, 'the later record waits')
    mayCommit.resolve()
    await slow
    await until('both are chained', async () => {
      await logs.chained(partnerId)
      return (await verifyLog(service, partnerId)).records === 2
    })
    const order = await service.db.rows<{ action: string }>(sql`
    select content::jsonb ->> 'action' as action
    from audit.links cross join unnest(coalesce(record_ids, array[record_id])) with ordinality as linked (id, place)
      join audit.records on records.partner_id = links.partner_id and records.id = linked.id
    where links.partner_id = ${partnerId} order by sequence, place`)
    assert.deepEqual(
      order.map(({ action }) => action),
      ['operator early', 'operator late'],
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
    const { records, heads, faults } = await verifyLog(service, partnerId)
    assert.deepEqual([records, heads, faults], [2, 1, []])
  })

  type Tampering = {
    readonly what: string
    readonly change: (partnerId: string, ids: readonly string[]) => Promise<unknown>
    readonly fault: RegExp
  }

  /** Changes of the log that a verification finds for any way of chaining. */
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
      what: 'two records in exchanged positions',
      change: (partnerId, ids) =>
        service.db.run(sql`update audit.records set content = other.content from audit.records as other
        where records.partner_id = ${partnerId} and other.partner_id = ${partnerId}
          and (records.id, other.id) in ((${ids[4]}::uuid, ${ids[5]}::uuid), (${ids[5]}::uuid, ${ids[4]}::uuid))`),
      fault: /replaces another one/,
    },
    {
      what: 'a moved link',
      change: (partnerId) =>
        service.db.run(sql`update audit.links set sequence = 1000 where partner_id = ${partnerId} and sequence = 20`),
      fault: /links \d+ to 20 are missing/,
    },
    {
      what: 'an unchained record',
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
      what: 'two records of a stretch exchanged with their leaves',
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
      test(`the verification finds ${what}, when records are chained ${together ? 'together' : 'one by one'}`, async () => {
        const { partnerId, ids } = await logs.addLogged(20, together)
        assert.deepEqual(await logs.faultsOf(partnerId), [])
        await change(partnerId, ids)
        const faults = await logs.faultsOf(partnerId)
        assert.ok(
          faults.some((each) => fault.test(each)),
          faults.join('\n'),
        )
      })

  test('the verification finds heads that a person without the master key has signed again after dropping a record', async () => {
    const { partnerId, ids } = await logs.addLogged()
    const keys = () =>
      service.db.rows<KeyRow>(sql`
      select id, public_key, private_key_sealed from audit.keys where partner_id = ${partnerId}`)
    const [own] = await keys()
    await dropRecord(partnerId, ids[4])
    for (const table of [sql`heads`, sql`subtrees`, sql`links`, sql`chains`, sql`keys`])
      await service.db.run(sql`delete from audit.${table} where partner_id = ${partnerId}`)
    const foreign = { ...service, sealer: createSealer([randomBytes(32)]), partnerIds: async () => [partnerId] }
    const step = createChainStep({ ...foreign, clockDifferenceMsMax: 0, headPeriodMs: dayMs })
    while ((await step()) > 0);
    const [made] = await keys()
    assert.ok(own !== undefined && made !== undefined)
    const fault = (id: string) => [`The key ${id} of signed heads is not sealed under a master key of the service.`]
    // The row of the key that the service has made stays, and is the newest.
    await insertKey(service.db, partnerId, { ...own, id: newId() }, day)
    assert.deepEqual(await logs.faultsOf(partnerId), fault(made.id))
    await insertKey(service.db, partnerId, { ...own, publicKey: made.publicKey }, day)
    await service.db.run(sql`update audit.heads set key_id = ${own.id} where partner_id = ${partnerId}`)
    assert.deepEqual(await logs.faultsOf(partnerId), fault(own.id))
  })

  /** Returns how many records each link chains, in order. */
  const recordsOfLinks = async (partnerId: string) => {
    const rows = await service.db.rows<{ records: number }>(
      sql`select records from audit.links where partner_id = ${partnerId} order by sequence`,
    )
    return rows.map(({ records }) => records)
  }

  test('a link chains up to 1,000 consecutive records, all of one day', async () => {
    const { partnerId } = await logs.addLogged(2_500)
    assert.deepEqual(await recordsOfLinks(partnerId), [1_000, 1_000, 500, 3])
  })

  test('a log that began with one link per record continues with one link per stretch, and every record has a proof', async () => {
    const { partnerId, ids } = await logs.addLogged(20, false)
    const late = recordAt(partnerId, dayMs + 500, 98)
    const more = Array.from({ length: 1_200 }, (_, at) => recordAt(partnerId, 2 * dayMs + at, 100 + at))
    await logs.append(...more)
    await logs.chained(partnerId)
    assert.deepEqual(await recordsOfLinks(partnerId), [...Array.from({ length: 23 }, () => 1), 1_000, 200])
    assert.equal(await logs.faultsOf(partnerId).then(String), '')
    const wanted = [ids[0], ids[19], ...[0, 1, 998, 999, 1_000, 1_198, 1_199].map((at) => more[at]?.id)]
    for (const [index, id] of wanted.entries()) {
      const reference =
        index < 2 ? `r${index * 19}` : `r${100 + ([0, 1, 998, 999, 1_000, 1_198, 1_199][index - 2] ?? 0)}`
      const proof = await service.audit.proof(partnerId, reference, [id ?? ''])
      assert.deepEqual([proof.records.length, findProofFaults(proof)], [1, []], reference)
    }
    // Appended after its day was signed. Its id is in the range of a stretch that does not contain it.
    await logs.append(late)
    assert.equal((await service.audit.proof(partnerId, 'r98', [late.id])).pending, 1)
  })

  test('late records within a stretch are chained alone, and have proofs', async () => {
    const { partnerId } = await addPartner(service)
    const step = logs.chainStep([partnerId])
    await logs.append(...Array.from({ length: 30 }, (_, at) => recordAt(partnerId, at * 1000, at)))
    while ((await recordsOfLinks(partnerId)).length === 0) await step()
    const late = [recordAt(partnerId, 4_500, 90), recordAt(partnerId, 5_500, 91)]
    await logs.append(...late)
    await logs.chained(partnerId)
    assert.deepEqual(await recordsOfLinks(partnerId), [30, 1, 1])
    const { records, heads, faults } = await verifyLog(service, partnerId)
    assert.deepEqual([records, heads, faults], [32, 1, []])
    for (const [at, { id }] of late.entries()) {
      const proof = await service.audit.proof(partnerId, `r${90 + at}`, [id])
      assert.deepEqual([proof.records[0]?.sequence, findProofFaults(proof)], [31 + at, []])
    }
    const amid = await service.audit.proof(partnerId, 'r5', [idAt(5_000, 5)])
    assert.deepEqual([amid.records[0]?.sequence, findProofFaults(amid)], [6, []])
  })

  test('PostgreSQL and the verification compute the same leaf for any text', async () => {
    const { partnerId } = await addPartner(service)
    const texts = ['', 'Žemaitė & Søn', '\u{1F600}', 'back\\slash "quote"', '\u0001 control', 'x'.repeat(100_000)]
    const records = texts.map((reason, at) => ({ ...recordAt(partnerId, at, at), reason }))
    await logs.append(...records)
    await logs.chained(partnerId)
    assert.deepEqual(await recordsOfLinks(partnerId), [texts.length])
    assert.deepEqual(await logs.faultsOf(partnerId), [])
  })
})

const of = { partnerId: '0190aaaa-0000-7000-8000-000000000001', reference: 'TX-1' }
const snapshotOf = (change: Partial<ApprovalSnapshot> = {}): string =>
  JSON.stringify({
    version: 1,
    purpose: 'approvePayout',
    ...of,
    payoutId: '0190aaaa-0000-7000-8000-000000000002',
    amount: '1000.00',
    currency: 'EUR',
    payee: payeeDigest('salt', 'Grace Hopper', 'NL91ABNA0417164300'),
    approverId: '0190aaaa-0000-7000-8000-000000000003',
    expiresAt: '2026-11-24T08:02:00.000Z',
    nonce: 'nonce',
    ...change,
  } satisfies ApprovalSnapshot)

const ec: KeyPair = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const keys: Readonly<Record<string, KeyPair>> = {
  'EC P-256': ec,
  Ed25519: generateKeyPairSync('ed25519'),
  RSA: generateKeyPairSync('rsa', { modulusLength: 2048 }),
}

for (const [name, pair] of Object.entries(keys))
  test(`the signature of a passkey with a key of type ${name} proves its snapshot, and no other snapshot`, () => {
    const approval = signedByPasskey(snapshotOf(), pair)
    assert.deepEqual(findApprovalFaults(approval, of), [])
    for (const change of [{ amount: '9000.00' }, { currency: 'USD' }, { payee: '0'.repeat(64) }, { nonce: 'other' }])
      assert.deepEqual(findApprovalFaults({ ...approval, snapshot: snapshotOf(change) }, of), [
        'The passkey has signed another snapshot.',
      ])
  })

test("each part of a passkey's evidence is verified", () => {
  const whole = signedByPasskey(snapshotOf(), ec)
  const evidence = present(whole.passkey, 'signed by a passkey')
  const other = signedByPasskey('{}', generateKeyPairSync('ed25519')).passkey
  const cases: readonly (readonly [SignedApproval, RegExp])[] = [
    [signedByPasskey(snapshotOf({ reference: 'TX-2' }), ec), /is of another payout/],
    [signedByPasskey(snapshotOf({ partnerId: of.reference }), ec), /is of another payout/],
    [signedByPasskey(snapshotOf(), ec, { type: 'webauthn.create' }), /not made by a passkey/],
    [signedByPasskey(snapshotOf(), ec, { origin: 'https://evil.example.com' }), /used on another site/],
    [signedByPasskey(snapshotOf(), ec, { domain: 'evil.example.com' }), /belongs to another site/],
    [signedByPasskey(snapshotOf(), ec, { flags: 0x01 }), /not verified its user/],
    [signedByPasskey(snapshotOf(), ec, { flags: 0x04 }), /not verified its user/],
    [
      {
        ...whole,
        passkey: { ...evidence, publicKey: other?.publicKey ?? '' },
      },
      /signature/,
    ],
    [{ ...whole, passkey: { ...evidence, publicKey: 'AAAA' } }, /signature of the approval is wrong/],
    [{ snapshot: whole.snapshot, factor: 'passkey' }, /no signature/],
  ]
  for (const [approval, fault] of cases) assert.match(findApprovalFaults(approval, of).join(' '), fault)
  assert.deepEqual(findApprovalFaults({ snapshot: whole.snapshot, factor: 'code' }, of), [])
})

test('a payee digest matches only its payee and account', () => {
  const digest = payeeDigest('salt', 'Grace Hopper', 'NL91ABNA0417164300')
  assert.match(digest, /^[0-9a-f]{64}$/)
  for (const other of [
    payeeDigest('salt', 'Grace Hopper', 'NL91ABNA0417164301'),
    payeeDigest('salt', 'Grace', ' HopperNL91ABNA0417164300'),
    payeeDigest('other', 'Grace Hopper', 'NL91ABNA0417164300'),
  ])
    assert.notEqual(other, digest)
})
