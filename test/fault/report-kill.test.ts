/** A worker is killed with SIGKILL while it writes a report; another one writes the same bytes. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from '../../service/src/postgres/index.ts'
import { addPartner } from '../support/composition.ts'
import { killWorker, startWorker } from '../support/crash-points.ts'
import { untilEnd } from '../support/fixture.ts'
import { book, createReportService, now, reportWork, written } from '../support/reports.ts'
import { until } from '../support/until.ts'

const service = untilEnd(await createReportService())

/** Six parts of a file. */
const lines = 30_000

test('a report whose worker was killed has the same bytes as an uninterrupted report', async () => {
  const { partnerId } = await addPartner(service)
  await book(service, partnerId, [{ amount: 1n }])
  await service.db.run(sql`
    insert into ledger.transfers (partner_id, id, kind, debit_account_id, credit_account_id, currency, amount, party_id,
      reference, created_at)
    select partner_id, (lpad(to_hex(1600000000000 + n), 12, '0') || '70008000' || lpad(to_hex(n), 12, '0'))::uuid, kind,
      debit_account_id, credit_account_id, currency, 1, party_id, 'r-' || n, created_at
    from ledger.transfers cross join generate_series(1, ${lines}::integer) as n where partner_id = ${partnerId}`)
  await service.db.run(sql`update ledger.accounts
    set posted = posted + case name when 'balance' then ${lines}::bigint else -${lines}::bigint end
    where partner_id = ${partnerId}`)
  const to = now(service)
  const request = { kind: 'statement', format: 'csv', currency: 'EUR', from: new Date(0), to } as const
  const whole = await written(service, partnerId, request)
  const period = { from: request.from.toISOString(), to: to.toISOString() }
  const { id } = await service.reports.create(partnerId, { ...request, ...period })
  const child = startWorker('report', service, {})
  const parts = async () =>
    (await service.db.rows(sql`select from reports.chunks where partner_id = ${partnerId} and report_id = ${id}`))
      .length
  await until('the child has written a part', async () => (await parts()) > 0)
  await killWorker(child)
  const killed = await service.reports.get(partnerId, id)
  assert.deepEqual([killed.status, killed.attempts], ['Running', 1], 'it was killed half way')
  const work = reportWork(service)
  assert.equal(await work.writeStep(), 0, 'the lease of the killed worker still holds')
  service.clock.advance(120_000)
  assert.equal(await work.writeStep(), 1)
  const report = await service.reports.get(partnerId, id)
  assert.deepEqual([report.status, report.attempts, report.sha256], ['Ready', 2, whole.report.sha256])
  const attempts = await service.db.rows(sql`
    select distinct attempt from reports.chunks where partner_id = ${partnerId} and report_id = ${id}`)
  assert.deepEqual(attempts, [{ attempt: 2 }])
})
