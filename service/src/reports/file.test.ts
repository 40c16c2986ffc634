import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { addPartner, type Service } from '../../../test/support/composition.ts'
import { book, createReportService, now, readAll, reportWork, written } from '../../../test/support/reports.ts'
import { until } from '../../../test/support/until.ts'
import { Refusal } from '../kernel/api/index.ts'
import { sql } from '../postgres/index.ts'

let service: Service
before(async () => {
  service = await createReportService({ connectionsMax: 12 })
})
after(() => service?.close())

function refused(code: string) {
  return (error: unknown) => {
    assert(error instanceof Refusal, String(error))
    assert.equal(error.code, code)
    return true
  }
}

const past = { from: '2020-01-01T00:00:00Z', to: '2020-02-01T00:00:00Z' }
const csv = { kind: 'statement', format: 'csv', ...past } as const

/** Enough lines for several parts of the file. */
async function long(partnerId: string) {
  await book(service, partnerId, [{ amount: 1n }])
  await service.db.run(sql`
    insert into ledger.transfers (partner_id, id, kind, debit_account_id, credit_account_id, currency, amount, party_id,
      reference, created_at)
    select partner_id, (lpad(to_hex(1600000000000 + n), 12, '0') || '70008000' || lpad(to_hex(n), 12, '0'))::uuid, kind,
      debit_account_id, credit_account_id, currency, 1, party_id, 'r-' || n, created_at
    from ledger.transfers cross join generate_series(1, 12000) as n where partner_id = ${partnerId}`)
  await service.db
    .run(sql`update ledger.accounts set posted = posted + case name when 'balance' then 12000 else -12000 end
    where partner_id = ${partnerId}`)
  return { kind: 'statement', format: 'csv', currency: 'EUR', from: new Date(0), to: now(service) } as const
}

test('any range of the content is what the whole has there, and a deleted report ends a download with an error', async () => {
  const { partnerId } = await addPartner(service)
  const { report, content, bytes } = await written(service, partnerId, await long(partnerId))
  assert.ok(bytes.length > 2 * 512 * 1024, String(bytes.length))
  assert.equal(bytes.length, content.bytes)
  const edge = 512 * 1024
  for (const [from, until] of [
    [0, 1],
    [edge - 1, edge + 1],
    [edge, 2 * edge],
    [5, bytes.length],
    [bytes.length - 1, bytes.length],
  ] as const)
    assert.ok((await readAll(content.read(from, until))).equals(bytes.subarray(from, until)), `${from}-${until}`)
  const reading = content.read(0, content.bytes)[Symbol.asyncIterator]()
  await reading.next()
  await service.reports.remove(partnerId, report.id)
  await assert.rejects(reading.next())
  const work = reportWork(service)
  await work.sweepStep()
  for (const table of ['reports', 'chunks'])
    assert.deepEqual(
      (await service.db.pool.query(`select from reports.${table} where partner_id = '${partnerId}'`)).rowCount,
      0,
      table,
    )
})

test('a report that is deleted while it is written is gone, and its worker stops', async () => {
  const { partnerId } = await addPartner(service)
  const { from, to, ...rest } = await long(partnerId)
  const { id } = await service.reports.create(partnerId, { ...rest, from: from.toISOString(), to: to.toISOString() })
  const work = reportWork(service)
  const [, removed] = await Promise.all([
    work.writeStep(),
    (async () => {
      for (;;) {
        const { status } = await service.reports.get(partnerId, id)
        if (status === 'Running') return service.reports.remove(partnerId, id)
        assert.equal(status, 'Queued')
      }
    })(),
  ])
  assert.equal(removed, undefined)
  await assert.rejects(service.reports.get(partnerId, id), refused('not_found'))
  await work.sweepStep()
  assert.deepEqual(await service.db.rows(sql`select from reports.chunks where partner_id = ${partnerId}`), [])
})

test('a worker that lost its lease adds nothing: the file is that of the attempt that ended', async () => {
  const { partnerId } = await addPartner(service)
  const request = await long(partnerId)
  const first = await written(service, partnerId, request)
  const { from, to, ...rest } = request
  const { id } = await service.reports.create(partnerId, { ...rest, from: from.toISOString(), to: to.toISOString() })
  // Two workers at once: the lease of the first ends while it writes.
  const [one, two] = [reportWork(service), reportWork(service)]
  const running = one.writeStep()
  for (;;) if ((await service.reports.get(partnerId, id)).status === 'Running') break
  await service.reports.releaseLeases(partnerId)
  await Promise.all([running, two.writeStep()])
  const report = await service.reports.get(partnerId, id)
  assert.deepEqual([report.status, report.sha256], ['Ready', first.report.sha256])
  const attempts = await service.db.rows(sql`
    select distinct attempt from reports.chunks where partner_id = ${partnerId} and report_id = ${id}`)
  assert.deepEqual(attempts, [{ attempt: report.contentAttempt }])
})

test('a full disk delays a report; after five attempts it fails with a reason', async () => {
  const { partnerId } = await addPartner(service)
  await service.db.pool.query(`
    create function reports.full_disk() returns trigger language plpgsql as
      $$begin raise exception 'could not extend file: No space left on device' using errcode = '53100'; end$$;
    create trigger full_disk before insert on reports.chunks for each row execute function reports.full_disk()`)
  const work = reportWork(service)
  const waiting = await service.reports.create(partnerId, csv)
  assert.equal(await work.writeStep(), 1)
  const { status, attempts } = await service.reports.get(partnerId, waiting.id)
  assert.deepEqual([status, attempts], ['Queued', 1])
  for (let attempt = 2; attempt <= 5; attempt += 1) {
    assert.equal(await work.writeStep(), 0)
    service.clock.advance(10_000 * 2 ** attempt)
    assert.equal(await work.writeStep(), 1)
  }
  const failed = await service.reports.get(partnerId, waiting.id)
  assert.equal(failed.status, 'Failed')
  assert.match(failed.failure ?? '', /could not be written/)
  await assert.rejects(service.reports.content(partnerId, waiting.id), refused('report_not_ready'))
  await service.db.pool.query('drop function reports.full_disk cascade')
  // With space again, a new request is written, and one that waits is as well.
  assert.equal(
    (await written(service, partnerId, { kind: 'fees', format: 'csv', from: new Date(0), to: new Date(1e12) })).report
      .status,
    'Ready',
  )
})

test('a PDF that is too long fails at once and says what to do', async () => {
  const { partnerId } = await addPartner(service)
  await long(partnerId)
  // The sum is the limit; a hundred thousand lines would take the test a minute.
  await service.db
    .run(sql`insert into ledger.transfers (partner_id, id, kind, debit_account_id, credit_account_id, currency,
      amount, party_id, reference, created_at)
    select partner_id, (lpad(to_hex(1500000000000 + n), 12, '0') || '70008000' || lpad(to_hex(n), 12, '0'))::uuid, kind,
      debit_account_id, credit_account_id, currency, 1, party_id, 'r-' || n, created_at
    from (select * from ledger.transfers where partner_id = ${partnerId} limit 1) as one cross join generate_series(1, 90000) as n`)
  const { id } = await service.reports.create(partnerId, {
    ...past,
    kind: 'statement',
    format: 'pdf',
    currency: 'EUR',
    from: '1990-01-01T00:00:00Z',
    to: now(service).toISOString(),
  })
  // Transactions of other files on the server of the run may be older.
  await until('the report is written', async () => (await reportWork(service).writeStep()) === 1)
  const { status, failure } = await service.reports.get(partnerId, id)
  assert.equal(status, 'Failed')
  assert.match(failure ?? '', /at most 100,000 lines, and the period has 102,001/)
})
