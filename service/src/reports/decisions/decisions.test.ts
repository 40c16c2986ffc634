/** The numbers of decisions agree with the rows, counted in another way, and each statement reads an index alone over many rows. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { useModules } from '../../../../test/support/fixture.ts'
import { addPartner } from '../../../../test/support/composition.ts'
import { dayMs, hourMs, newId } from '../../kernel/index.ts'
import { sql, toStatement, type Sql, type Tx } from '../../postgres/index.ts'
import * as caseNumbers from '../../cases/store-numbers.ts'
import * as hitNumbers from '../../screening/store-numbers.ts'
import { ageBandStarts, toAgeBands, monthsUntil } from './rules.ts'
import { decisionsCsv, filterKinds } from './index.ts'

const now = new Date('2026-11-24T08:00:00Z')
const service = await useModules({ now })
const { db, numbers } = service
const partner = await addPartner(service)
const other = await addPartner(service)

/** Numbers that look like chance and are the same in each run. */
function chance(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return state / 2_147_483_648
  }
}

type Row = {
  readonly partnerId: string
  readonly kind: string
  readonly openedAt: Date
  readonly resolvedAt: Date | null
  readonly resolution: string | null
  readonly disposition: string | null
}

const kinds = ['unknown_payment', 'monitoring_alert', 'safeguarding', 'bank_fee'] as const
const outcomes = ['noted', 'refused', 'gone', 'released', 'matched'] as const
const dispositions = ['false_positive', 'explained', 'watched', 'fraud'] as const
const lists = ['un', 'eu', 'ofac', 'pep:ours'] as const
const rules = [newId(), newId()] as const

/** Rows of 15 months: some are open, some decided at once, some after 40 days, some on the border of a month. */
function rowsOf(count: number, seed: number): readonly Row[] {
  const next = chance(seed)
  const pick = <T>(of: readonly T[]): T => of[Math.floor(next() * of.length)] ?? (of[0] as T)
  return Array.from({ length: count }, (_none, nth) => {
    const openedAt = new Date(now.getTime() - Math.floor(next() * 450) * dayMs - Math.floor(next() * dayMs))
    const isOpen = next() < 0.3
    const border = new Date('2026-11-01T00:00:00.000Z')
    const decided = nth === 0 ? border : new Date(openedAt.getTime() + Math.floor(next() * 40 * dayMs))
    const isDecided = !isOpen && decided <= now && decided >= openedAt
    return {
      ...{ partnerId: pick([partner, other]).partnerId, kind: pick(kinds), openedAt },
      ...{ resolvedAt: isDecided ? decided : null, resolution: isDecided ? pick(outcomes) : null },
      disposition: isDecided && next() < 0.7 ? pick(dispositions) : null,
    }
  })
}

const cases = rowsOf(400, 1).map((row, nth) => ({ ...row, id: newId(), ruleId: rules[nth % 2] ?? rules[0] }))
const hits = rowsOf(300, 2).map((row, nth) => ({
  ...{ ...row, id: newId(), source: lists[nth % lists.length] ?? 'un' },
  outcome: row.resolvedAt === null ? 'open' : nth % 3 === 0 ? 'confirmed' : 'cleared',
  // Some were decided by a version before.
  found: row.disposition === null ? null : nth % 3 === 0 ? 'data_agree' : 'birth_differs',
}))

async function insertAll(): Promise<void> {
  for (const { partnerId, id, kind, openedAt, resolvedAt, resolution, disposition: found, ruleId } of cases) {
    const disposition = kind === 'monitoring_alert' ? found : null
    await db.run(sql`insert into cases.cases (partner_id, id, kind, connector, notification_id, subject, report, opened_at, resolved_at, resolution,
        disposition)
      values (${partnerId}, ${id}, ${kind}, 'test', ${id}, 'test', '{}', ${openedAt}, ${resolvedAt}, ${resolution}, ${disposition})`)
    if (kind === 'monitoring_alert')
      await db.run(sql`insert into monitoring.alerts (partner_id, id, rule_id, version, subject_id, opened_at)
        values (${partnerId}, ${id}, ${ruleId}, 1, ${partnerId}, ${openedAt})`)
  }
  for (const { partnerId, id, source, openedAt, resolvedAt, outcome, found } of hits)
    await db.run(sql`insert into screening.hits (partner_id, id, subject_kind, subject_id, role, source, entry_id, entry_digest, score,
        detail_sealed, status, cause, generation, opened_at, decided_at, decided_by, disposition)
      values (${partnerId}, ${id}, 'customer', ${newId()}, 'fullName', ${source}, ${id}, 'x', 90, '\\x00', ${outcome}, 'name', 1, ${openedAt},
        ${resolvedAt}, ${resolvedAt === null ? null : 'Lena'}, ${found})`)
}
await db.run(sql`insert into monitoring.rules (id, version, name, kind, settings, made_by, made_at)
  values (${rules[0]}, 1, 'Many small', 'velocity', '{}', 'Lena', ${now}), (${rules[0]}, 2, 'Many small payments', 'velocity', '{}', 'Lena', ${now}),
    (${rules[1]}, 1, '=Dormant', 'dormant', '{}', 'Lena', ${now})`)
await insertAll()

const monthOf = (at: Date): string => at.toISOString().slice(0, 7)
const tally = (names: readonly string[]): Readonly<Record<string, number>> =>
  names.reduce<Record<string, number>>((sums, name) => ({ ...sums, [name]: (sums[name] ?? 0) + 1 }), {})
const shown = monthsUntil(now, 12).map(({ month }) => month)
const inMonths = ({ resolvedAt }: Row): boolean => resolvedAt !== null && shown.includes(monthOf(resolvedAt))

suite('decision figures', () => {
  test('open items by kind and age match an independent computation from the queue', async () => {
    const { open } = await numbers.read(12)
    const bandOf = (openedAt: Date) => {
      const days = Math.floor((now.getTime() - openedAt.getTime()) / dayMs)
      return days <= 1 ? 'upTo1' : days <= 3 ? 'upTo3' : days <= 7 ? 'upTo7' : days <= 30 ? 'upTo30' : 'older'
    }
    const waiting = [
      ...cases.filter(({ resolvedAt }) => resolvedAt === null),
      ...hits.filter(({ resolvedAt }) => resolvedAt === null).map((hit) => ({ ...hit, kind: 'screening_hit' })),
    ]
    const counted = open.flatMap(({ kind, ages }) =>
      Object.entries(ages).flatMap(([band, count]) => Array.from({ length: count }, () => `${kind} ${band}`)),
    )
    assert.deepEqual(tally(counted), tally(waiting.map(({ kind, openedAt }) => `${kind} ${bandOf(openedAt)}`)))
    // The queue of the desk reads the same rows.
    const listed = await service.cases.list(undefined, 1000)
    const openHits = await service.screening.oldestOpenHits(1000)
    const sum = open.reduce((total, row) => total + row.total, 0)
    assert.equal(sum, listed.length + openHits.length)
    assert.ok(sum > 100, `${sum} wait`)
  })

  test('decisions by month, kind and outcome match the rows, and midnight belongs to the new month', async () => {
    const { decided, months } = await numbers.read(12)
    assert.deepEqual(months, shown)
    const counted = decided.flatMap(({ month, kind, outcome, count }) =>
      Array.from({ length: count }, () => `${month} ${kind} ${outcome}`),
    )
    const expected = [
      ...cases.filter(inMonths).map((row) => `${monthOf(row.resolvedAt ?? now)} ${row.kind} ${row.resolution}`),
      ...hits.filter(inMonths).map((row) => `${monthOf(row.resolvedAt ?? now)} screening_hit ${row.outcome}`),
    ]
    assert.deepEqual(tally(counted), tally(expected))
    assert.ok(expected.length > 200, `${expected.length} decisions`)
  })

  test('the median and the 90th percentile match the rows, without cases that ended automatically', async () => {
    const { times } = await numbers.read(12)
    const rows = [
      ...cases.filter(
        ({ kind, resolution }) => resolution !== 'gone' && (resolution !== 'released' || kind === 'monitoring_alert'),
      ),
      ...hits.map((hit) => ({ ...hit, kind: 'screening_hit' })),
    ].filter(inMonths)
    for (const { month, kind, count, medianMs, ninetyMs } of times) {
      const took = rows
        .filter((row) => row.kind === kind && (month === null || monthOf(row.resolvedAt ?? now) === month))
        .map(({ resolvedAt, openedAt }) => (resolvedAt ?? now).getTime() - openedAt.getTime())
        .toSorted((a, b) => a - b)
      assert.equal(count, took.length, `${month} ${kind}`)
      const at = (part: number) => took[Math.ceil(part * took.length) - 1] ?? 0
      assert.ok(Math.abs(medianMs - at(0.5)) < 2, `${month} ${kind}: ${medianMs} and ${at(0.5)}`)
      assert.ok(Math.abs(ninetyMs - at(0.9)) < 2, `${month} ${kind}: ${ninetyMs} and ${at(0.9)}`)
    }
    assert.equal(times.filter(({ month }) => month === null).length, kinds.length + 1)
  })

  test('false hits by list, alerts by rule and findings match the rows, and a rule has its latest name', async () => {
    const read = await numbers.read(12)
    const byList = hits
      .filter(inMonths)
      .map((row) => [`${monthOf(row.resolvedAt ?? now)} ${row.source}`, row.outcome] as const)
    for (const { month, name, decided, falseHits } of read.lists) {
      const own = byList.filter(([key]) => key === `${month} ${name}`)
      assert.equal(decided, own.length)
      assert.equal(falseHits, own.filter(([, outcome]) => outcome === 'cleared').length)
    }
    assert.equal(
      read.lists.reduce((sum, { decided }) => sum + decided, 0),
      byList.length,
    )
    const alerts = cases.filter((row) => row.kind === 'monitoring_alert' && inMonths(row))
    for (const { month, id, decided, falseHits } of read.rules) {
      const own = alerts.filter((row) => row.ruleId === id && monthOf(row.resolvedAt ?? now) === month)
      assert.equal(decided, own.length)
      const harmless = own.filter(({ resolution, disposition }) =>
        disposition === null ? resolution !== 'refused' : ['false_positive', 'explained'].includes(disposition),
      )
      assert.equal(falseHits, harmless.length)
    }
    assert.equal(
      read.rules.reduce((sum, { decided }) => sum + decided, 0),
      alerts.length,
    )
    assert.deepEqual(new Set(read.rules.map(({ name }) => name)), new Set(['Many small payments', '=Dormant']))
    const found = read.findings.flatMap(({ month, kind, disposition, count }) =>
      Array.from({ length: count }, () => `${month} ${kind} ${disposition}`),
    )
    const expected = [
      ...alerts.map((row) => ({ ...row, finding: row.disposition })),
      ...hits.filter(inMonths).map((row) => ({ ...row, kind: 'screening_hit', finding: row.found })),
    ].flatMap(({ resolvedAt, kind, finding }) =>
      finding === null ? [] : [`${monthOf(resolvedAt ?? now)} ${kind} ${finding}`],
    )
    assert.ok(expected.some((each) => each.endsWith('screening_hit birth_differs')))
    assert.deepEqual(tally(found), tally(expected))
  })

  test('the file has a row for each count, and no cell that a spreadsheet would run as a formula', async () => {
    const read = await numbers.read(24)
    const lines = decisionsCsv(read).trimEnd().split('\r\n')
    const { open, decided, times, lists: ofLists, rules: ofRules, findings } = read
    const rows = 5 * open.length + decided.length + times.length + ofLists.length + ofRules.length + findings.length
    assert.equal(lines.length, 1 + rows)
    assert.ok(lines[0]?.startsWith('\uFEFFsection,month,kind'))
    assert.ok(lines.some((line) => line.includes("'=Dormant")) && !lines.some((line) => line.includes(',=')))
    assert.ok(lines.every((line) => line.split(',').length === 10))
  })

  test('a person sees only the figures of the kinds that their role handles', async () => {
    const read = filterKinds(await numbers.read(12), (kind) => kind === 'bank_fee')
    assert.deepEqual([...new Set([...read.open, ...read.decided, ...read.times].map(({ kind }) => kind))], ['bank_fee'])
    assert.deepEqual([read.lists, read.rules, read.findings], [[], [], []])
  })

  test('without rows everything is empty, and more than 24 months are limited to 24', async () => {
    const empty = await useModules({ now })
    const read = await empty.numbers.read(99)
    assert.equal(read.months.length, 24)
    assert.deepEqual(
      [read.open, read.decided, read.times, read.lists, read.rules, read.findings],
      [[], [], [], [], [], []],
    )
  })
})

test('age bands meet without a gap: an item of 48 hours is two days old', () => {
  const times = ageBandStarts(now)
  const bandOf = (hours: number) => {
    const openedAt = new Date(now.getTime() - hours * hourMs)
    const count = (at: Date) => (openedAt > at ? 1 : 0)
    const [first, second, third, fourth] = times.map(count) as [number, number, number, number]
    return Object.entries(toAgeBands({ first, second, third, fourth, total: 1 })).find(([, one]) => one === 1)?.[0]
  }
  const hours = [0, 47, 48, 95, 96, 191, 192, 743, 744, 9999]
  assert.deepEqual(hours.map(bandOf), [
    ...['upTo1', 'upTo1', 'upTo3', 'upTo3', 'upTo7', 'upTo7', 'upTo30', 'upTo30', 'older', 'older'],
  ])
})

test('months are calendar months in UTC, also across the end of a year', () => {
  const months = monthsUntil(new Date('2026-01-31T23:59:59Z'), 3)
  assert.deepEqual(
    months.map(({ month, from, before }) => [month, from.toISOString(), before.toISOString()]),
    [
      ['2026-01', '2026-01-01T00:00:00.000Z', '2026-02-01T00:00:00.000Z'],
      ['2025-12', '2025-12-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z'],
      ['2025-11', '2025-11-01T00:00:00.000Z', '2025-12-01T00:00:00.000Z'],
    ],
  )
})

suite('over many rows', () => {
  const period = { from: new Date('2026-10-01T00:00:00Z'), before: new Date('2026-11-01T00:00:00Z') }

  /** The nodes of the plan that read a table, and how many rows each statement dropped after it had read them. */
  async function planOf(run: (tx: Tx) => Promise<unknown>) {
    const statements: Sql[] = []
    const keep = (statement: Sql) => (statements.push(statement), Promise.resolve([]))
    const row = (statement: Sql) => (statements.push(statement), Promise.resolve(undefined))
    await run({ ...db, rows: keep, row } as unknown as Tx)
    const { text, values } = toStatement(statements[0] ?? sql``)
    const plan = await db.pool.query<Record<'QUERY PLAN', string>>(`explain (analyze, buffers off) ${text}`, [
      ...values,
    ])
    const lines = plan.rows.map((each) => each['QUERY PLAN'])
    const removed = lines.map((line) => Number(/Rows Removed by Filter: (\d+)/.exec(line)?.[1] ?? 0))
    return { lines, scans: lines.filter((line) => /Scan/.test(line)).join('\n'), removed: Math.max(0, ...removed) }
  }

  test('each SQL statement of the figures and of the pages uses its index', async () => {
    const many = 60_000
    const base = new Date('2024-01-01T00:00:00Z')
    await db.run(sql`insert into cases.cases (partner_id, id, kind, connector, notification_id, subject, report, opened_at, resolved_at, resolution)
      select case when n % 20 = 0 then ${partner.partnerId}::uuid else ${other.partnerId}::uuid end, ('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid,
        case when n % 5 = 0 then 'monitoring_alert' else 'bank_fee' end, 'many', n::text, 's' || n, '{}',
        ${base}::timestamptz + n * interval '20 minutes', ${base}::timestamptz + n * interval '21 minutes', 'noted'
      from generate_series(1, ${many}) n`)
    await db.run(sql`insert into screening.hits (partner_id, id, subject_kind, subject_id, role, source, entry_id, entry_digest, score, detail_sealed,
        status, cause, generation, opened_at, decided_at, decided_by)
      select case when n % 20 = 0 then ${partner.partnerId}::uuid else ${other.partnerId}::uuid end, ('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid,
        'customer', ('00000000-0000-7000-9000-' || lpad(to_hex(n), 12, '0'))::uuid, 'fullName', 'un', n::text, 'x', 90, '\\x00',
        'cleared', 'name', 1, ${base}::timestamptz + n * interval '20 minutes', ${base}::timestamptz + n * interval '21 minutes', 'Lena'
      from generate_series(1, ${many}) n`)
    await db.run(sql`insert into monitoring.alerts (partner_id, id, rule_id, version, subject_id, opened_at)
      select partner_id, id, ${rules[0]}, 1, ('00000000-0000-7000-9000-' || right(id::text, 12))::uuid, opened_at
      from cases.cases where connector = 'many' and kind = 'monitoring_alert'`)
    for (const table of ['cases.cases', 'screening.hits', 'monitoring.alerts'])
      await db.pool.query(`vacuum analyze ${table}`)
    const subject = '00000000-0000-7000-9000-000000000064'
    const { partnerId } = partner
    const statements: readonly (readonly [index: string, run: (tx: Tx) => Promise<unknown>])[] = [
      ['cases_decided', (tx) => caseNumbers.countDecisions(tx, period)],
      ['cases_decided', (tx) => caseNumbers.decisionTimes(tx, period)],
      ['cases_alerts_decided', (tx) => caseNumbers.decidedAlerts(tx, period, undefined, 1000)],
      ['hits_decided_as', (tx) => hitNumbers.decidedCounts(tx, period)],
      ['hits_decided_as', (tx) => hitNumbers.decisionDurations(tx, period)],
      ['hits_open', (tx) => hitNumbers.countOpenHits(tx, ageBandStarts(now))],
      ['hits_by_subject', (tx) => hitNumbers.listHitsOfSubjects(tx, partnerId, [subject], 10)],
      ['hits_open_of_partner', (tx) => hitNumbers.listPartnerOpenHits(tx, partnerId, undefined, 10)],
      ['cases_open_of_partner', (tx) => service.cases.openOf(tx, partnerId, undefined, 10)],
      ['alerts_about', (tx) => service.monitoring.newestAlerts(tx, partnerId, { subjectId: subject }, 10)],
      ['alerts_pkey', (tx) => service.monitoring.newestAlerts(tx, partnerId, {}, 10)],
    ]
    for (const [index, run] of statements) {
      const { lines, scans, removed } = await planOf(run)
      assert.match(scans, new RegExp(`using ${index}`), lines.join('\n'))
      assert.ok(removed < 1000, lines.join('\n'))
    }
  })
})
