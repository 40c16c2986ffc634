/** Reports and their files. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import type { BodyOf } from '@partner-payments/wire'
import { addPartner, type Service } from '../../../test/support/composition.ts'
import {
  book,
  createReportService,
  dayBefore,
  keptDays,
  now,
  readAll,
  reportWork,
  written,
} from '../../../test/support/reports.ts'
import { createIdempotency } from '../idempotency/index.ts'
import { newId } from '../kernel/index.ts'
import { singleEntry } from '../ledger/index.ts'
import { sql } from '../postgres/index.ts'
import { reportsRoutes } from './index.ts'
import { openReportsMax, schedulesMax } from './rules.ts'
import { until } from '../../../test/support/until.ts'
import { untilEnd } from '../../../test/support/fixture.ts'
import { refused } from '../../../test/support/refusals.ts'
const service = untilEnd(await createReportService({ connectionsMax: 12 }))

const past = { from: '2020-01-01T00:00:00Z', to: '2020-02-01T00:00:00Z' }
const csv = { kind: 'statement', format: 'csv', ...past } as const

suite('reports', () => {
  type ScheduleInput = BodyOf<'createReportSchedule'>

  /** Every report that is due, written one after the other. Returns the partners in the order of the reports. */
  async function writeAll(): Promise<readonly string[]> {
    const work = reportWork(service)
    while ((await work.writeStep()) > 0);
    const rows = await service.db.rows<{ partnerId: string }>(sql`
    select partner_id from reports.reports where status = 'Ready' order by expires_at, id`)
    return rows.map(({ partnerId }) => partnerId)
  }

  test('a report is refused if its kind is not available in the requested format', async () => {
    const { partnerId } = await addPartner(service)
    const { reports } = service
    now(service)
    const wrong = [
      [{ kind: 'transactions', format: 'pdf', ...past }, 'report_format_not_supported', '/format'],
      [{ kind: 'transactions', format: 'camt.053', ...past }, 'report_format_not_supported', '/format'],
      [{ kind: 'fees', format: 'camt.053', ...past }, 'report_format_not_supported', '/format'],
      [{ kind: 'reconciliation', format: 'pdf', ...past }, 'report_format_not_supported', '/format'],
      [
        { kind: 'statement', format: 'camt.053', currency: 'USDC', ...past },
        'report_format_not_supported',
        '/currency',
      ],
      [{ kind: 'statement', format: 'pdf', ...past }, 'validation_failed', '/currency'],
      [{ kind: 'statement', format: 'camt.053', ...past }, 'validation_failed', '/currency'],
      [{ kind: 'reconciliation', format: 'csv', customerId: newId(), ...past }, 'validation_failed', '/customerId'],
      [{ ...csv, currency: 'JPY' }, 'currency_not_supported', '/currency'],
      [{ ...csv, currency: 'AAA' }, 'validation_failed', '/currency'],
      [{ ...csv, customerId: newId() }, 'not_found', '/customerId'],
      [{ ...csv, to: past.from }, 'validation_failed', '/to'],
      [{ ...csv, from: past.to, to: past.from }, 'validation_failed', '/to'],
      [{ ...csv, from: '2999-01-01T00:00:00Z', to: '2999-02-01T00:00:00Z' }, 'validation_failed', '/to'],
      [{ ...csv, to: new Date(service.clock.now().getTime() + 1000).toISOString() }, 'validation_failed', '/to'],
    ] as const
    for (const [body, code, pointer] of wrong)
      await assert.rejects(reports.create(partnerId, body), refused(code, pointer), JSON.stringify(body))
    const { customer } = await addPartner(service)
    await assert.rejects(
      reports.create(partnerId, { ...csv, customerId: customer.id }),
      refused('not_found', '/customerId'),
    )
  })

  test('concurrent requests beyond the limit are refused, and a deleted report makes room', async () => {
    const { partnerId } = await addPartner(service)
    const { reports } = service
    const outcomes = await Promise.allSettled(
      Array.from({ length: openReportsMax + 20 }, () => reports.create(partnerId, csv)),
    )
    const made = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value.id] : []))
    for (const outcome of outcomes) if (outcome.status === 'rejected') refused('report_limit_reached')(outcome.reason)
    assert.equal(made.length, openReportsMax)
    await reports.remove(partnerId, made[0] ?? '')
    await reports.create(partnerId, csv)
    await assert.rejects(reports.create(partnerId, csv), refused('report_limit_reached'))
    await service.db.run(sql`delete from reports.reports where partner_id = ${partnerId}`)
  })

  test('an idempotency key in the header or in the body creates one report', async () => {
    const { caller, partnerId } = await addPartner(service)
    const idempotency = createIdempotency({ ...service, sealer: service.sealer })
    const routes = reportsRoutes(service.reports, idempotency)
    const call = (body: object, idempotencyKey: string) =>
      routes.createReport({
        caller,
        body,
        idempotencyKey,
        params: {},
        query: undefined,
        requestId: newId(),
        ip: '',
      } as never)
    const answers = await Promise.all([
      call({ ...csv, idempotencyKey: 'k' }, 'k'),
      call({ ...csv, idempotencyKey: 'k' }, 'k'),
      call(csv, 'k'),
    ])
    assert.equal(new Set(answers.map(({ body }) => body.id)).size, 1)
    await assert.rejects(call({ ...csv, format: 'jsonl' }, 'k'), refused('idempotency_key_reused'))
    assert.equal((await service.reports.list(partnerId, {})).data.length, 1)
    await service.db.run(sql`delete from reports.reports where partner_id = ${partnerId}`)
  })

  test('a report of another partner is not found', async () => {
    const [one, other] = [await addPartner(service), await addPartner(service)]
    const { reports } = service
    const { id } = await reports.create(one.partnerId, csv)
    for (const work of [
      () => reports.get(other.partnerId, id),
      () => reports.content(other.partnerId, id),
      () => reports.remove(other.partnerId, id),
      () => reports.getSchedule(other.partnerId, id),
      () => reports.removeSchedule(other.partnerId, id),
    ])
      await assert.rejects(work(), refused('not_found'))
    assert.equal((await reports.get(one.partnerId, id)).status, 'Queued')
    await assert.rejects(reports.content(one.partnerId, id), refused('report_not_ready'))
    await reports.remove(one.partnerId, id)
    await assert.rejects(reports.remove(one.partnerId, id), refused('not_found'))
    assert.deepEqual((await reports.list(one.partnerId, {})).data, [])
  })

  test('partners alternate: many reports of one partner do not delay another partner', async () => {
    const [many, few] = [await addPartner(service), await addPartner(service)]
    for (let count = 0; count < 8; count += 1) await service.reports.create(many.partnerId, csv)
    await service.reports.create(few.partnerId, csv)
    const work = reportWork(service)
    const turns: string[] = []
    for (let step = 0; step < 2; step += 1) {
      service.clock.advance(1)
      assert.equal(await work.writeStep(), 1)
      const [last] = await service.db.rows<{ partnerId: string }>(sql`
      select partner_id from reports.turns order by served_at desc limit 1`)
      turns.push(last?.partnerId ?? '')
    }
    assert.deepEqual(new Set(turns), new Set([many.partnerId, few.partnerId]))
    await writeAll()
  })

  test('several workers write each report exactly once', async () => {
    const { partnerId } = await addPartner(service)
    for (let count = 0; count < 12; count += 1) await service.reports.create(partnerId, csv)
    const works = Array.from({ length: 4 }, () => reportWork(service))
    await Promise.all(
      works.map(async (work) => {
        while ((await work.writeStep()) > 0);
      }),
    )
    const rows = await service.db.rows<{ status: string; attempts: number }>(sql`
    select status, attempts from reports.reports where partner_id = ${partnerId}`)
    assert.equal(rows.length, 12)
    for (const row of rows) assert.deepEqual(row, { status: 'Ready', attempts: 1 })
  })

  test('a report waits until its period is certain to be complete', async () => {
    const partner = await addPartner(service)
    const { partnerId } = partner
    const held = Promise.withResolvers<void>()
    const begun = Promise.withResolvers<void>()
    const open = service.db.transaction(async (tx) => {
      await tx.run(sql`select 1`)
      begun.resolve()
      await held.promise
      await service.ledger.enter(
        tx,
        singleEntry('bank', {
          partnerId,
          partyId: partnerId,
          reference: 'late',
          currency: 'EUR',
          amount: 3n,
          debit: 'settlement.bank',
          credit: 'balance',
        }),
      )
    })
    await begun.promise
    await pause(5)
    const to = now(service)
    const spec = { ...csv, from: dayBefore(to).toISOString(), to: to.toISOString() }
    const { id } = await service.reports.create(partnerId, spec)
    const work = reportWork(service)
    assert.equal(await work.writeStep(), 0)
    assert.equal((await service.reports.get(partnerId, id)).status, 'Queued')
    held.resolve()
    await open
    assert.equal(await work.writeStep(), 1)
    assert.equal((await service.reports.get(partnerId, id)).status, 'Ready')
  })

  test('reports and their files are deleted when their retention ends', async () => {
    const { partnerId } = await addPartner(service)
    const { report } = await written(service, partnerId, {
      kind: 'fees',
      format: 'csv',
      from: new Date(0),
      to: new Date(1e12),
    })
    const work = reportWork(service)
    service.clock.advance(keptDays * 86_400_000 - 60_000)
    await work.sweepStep()
    assert.equal((await service.reports.get(partnerId, report.id)).status, 'Ready')
    service.clock.advance(120_000)
    while ((await work.sweepStep()) > 0);
    await assert.rejects(service.reports.get(partnerId, report.id), refused('not_found'))
  })

  test('a schedule makes one report for each period, and mails a link to each address', async () => {
    // The clock of the others is ahead of the database by now.
    const own = await createReportService()
    try {
      await mailsByDay(own)
    } finally {
      await own.close()
    }
  })

  async function mailsByDay(service: Service): Promise<void> {
    const { partnerId, caller } = await addPartner(service)
    const invitations = ['ada', 'grace'].map((name) => ({
      email: `${name}@example.com`,
      fullName: name,
      role: 'Admin' as const,
    }))
    await service.users.createInvitations(caller, { invitations })
    const mailed: { kind: string; secret: string | null; to: { address: string } }[] = []
    const work = reportWork(service, mailed)
    const emails = ['ada@example.com', 'grace@example.com']
    const daily = { kind: 'statement', format: 'pdf', currency: 'EUR', frequency: 'daily', emails } as const
    const schedule = await service.reports.createSchedule(partnerId, { ...daily, timeZone: 'Europe/Berlin' })
    assert.equal(await work.scheduleStep(), 0)
    // The end of the period lies behind: what a stopped service finds when it starts.
    const end = new Date(schedule.nextAt.getTime() - 86_400_000 * 2)
    await service.db.run(sql`update reports.schedules set next_at = ${end} where partner_id = ${partnerId}`)
    await Promise.all([work.scheduleStep(), reportWork(service).scheduleStep()])
    while ((await work.scheduleStep()) > 0);
    while ((await work.writeStep()) > 0);
    const { data } = await service.reports.list(partnerId, {})
    const ends = data.map(({ periodTo }) => periodTo.getTime())
    assert.equal(new Set(ends).size, data.length)
    assert.ok(
      data.length >= 2 && data.every(({ scheduleId, status }) => scheduleId === schedule.id && status === 'Ready'),
    )
    const mails = await service.db.rows<{ toAddress: string; kind: string }>(sql`
    select to_address, kind from mail.messages where partner_id = ${partnerId} and kind like 'report%'`)
    assert.equal(mails.length, data.length * emails.length)
    assert.ok(mails.every(({ kind }) => kind === 'report_ready'))
  }

  const inviteAda = (caller: Parameters<Service['users']['createInvitations']>[0]) =>
    service.users.createInvitations(caller, {
      invitations: [{ email: 'ada@example.com', fullName: 'Ada Lovelace', role: 'Admin' }],
    })

  test('a link opens its report until it expires, and other tokens do not', async () => {
    const { partnerId, caller } = await addPartner(service)
    await inviteAda(caller)
    const mailed: { secret: string | null }[] = []
    const work = reportWork(service, mailed)
    const daily = {
      kind: 'fees' as const,
      format: 'csv' as const,
      frequency: 'monthly' as const,
      emails: ['ada@example.com'],
    } satisfies ScheduleInput
    await service.reports.createSchedule(partnerId, daily)
    await service.db.run(sql`update reports.schedules set next_at = ${new Date('2020-01-01T00:00:00Z')}
    where partner_id = ${partnerId}`)
    await work.scheduleStep()
    await work.writeStep()
    const token = mailed[0]?.secret ?? ''
    const content = await service.reports.contentOfLink(token)
    assert.match((await readAll(content.read(0, content.bytes))).toString(), /^record,/)
    const last = token.at(-1) === 'A' ? 'Q' : 'A'
    for (const wrong of ['', 'x', `${token.slice(0, -1)}${last}`, `${token}A`, token.toLowerCase(), '../../etc'])
      await assert.rejects(service.reports.contentOfLink(wrong), refused('not_found'), wrong)
    service.clock.advance((keptDays + 1) * 86_400_000)
    await assert.rejects(service.reports.contentOfLink(token), refused('not_found'))
  })

  test('a partner has a limited number of schedules', async () => {
    const { partnerId, caller } = await addPartner(service)
    await inviteAda(caller)
    const daily = {
      kind: 'fees' as const,
      format: 'csv' as const,
      frequency: 'weekly' as const,
      emails: ['ada@example.com'],
    } satisfies ScheduleInput
    const outcomes = await Promise.allSettled(
      Array.from({ length: schedulesMax + 3 }, () => service.reports.createSchedule(partnerId, daily)),
    )
    assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, schedulesMax)
    await assert.rejects(service.reports.createSchedule(partnerId, daily), refused('report_schedule_limit_reached'))
    const [first] = (await service.reports.listSchedules(partnerId, {})).data
    await service.reports.removeSchedule(partnerId, first?.id ?? '')
    await service.reports.createSchedule(partnerId, daily)
    const zone = { ...daily, timeZone: 'Europe/Atlantis' }
    await assert.rejects(service.reports.createSchedule(partnerId, zone), refused('validation_failed', '/timeZone'))
  })

  test('400 for a schedule that mails a person outside the team, and a revoked invitation ends the mails', async () => {
    const { partnerId, caller } = await addPartner(service)
    const monthly: ScheduleInput = { kind: 'fees', format: 'csv', frequency: 'monthly', emails: ['ada@example.com'] }
    await assert.rejects(service.reports.createSchedule(partnerId, monthly), refused('validation_failed'))
    const [invited] = await inviteAda(caller)
    const schedule = await service.reports.createSchedule(partnerId, { ...monthly, emails: ['ADA@example.com'] })
    assert.equal(schedule.emails, '["ada@example.com"]')
    const mailed: unknown[] = []
    const work = reportWork(service, mailed)
    const run = async () => {
      await service.db.run(sql`update reports.schedules set next_at = ${new Date('2020-01-01T00:00:00Z')}
      where partner_id = ${partnerId}`)
      while ((await work.scheduleStep()) + (await work.writeStep()) > 0);
    }
    await run()
    assert.ok(mailed.length > 0)
    mailed.length = 0
    await service.users.revokeInvitation(caller, invited?.id ?? '')
    await run()
    assert.equal(mailed.length, 0)
  })
})

suite('files', () => {
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

  test('any range has the bytes of the whole content, and deleting a report ends its download with an error', async () => {
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

  test('a report that is deleted while it is written is removed, and its worker stops', async () => {
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

  test('a worker that lost its lease adds nothing: the file is from the attempt that completed', async () => {
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

  test('a full disk delays a report, and after five attempts the report fails with a reason', async () => {
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
    await assert.rejects(service.reports.content(partnerId, waiting.id), {
      code: 'report_not_ready',
      detail:
        'The report failed: The report could not be written. Request it again; if it fails again, contact support.',
    })
    await service.db.pool.query('drop function reports.full_disk cascade')
    // With space again, a new request is written, and one that waits is as well.
    assert.equal(
      (await written(service, partnerId, { kind: 'fees', format: 'csv', from: new Date(0), to: new Date(1e12) })).report
        .status,
      'Ready',
    )
  })

  test('a PDF that is too long fails at once with an instruction', async () => {
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
    await assert.rejects(service.reports.content(partnerId, id), {
      detail: `The report failed: ${failure}`,
    })
  })
})
