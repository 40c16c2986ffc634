/** The runtime of jobs with a table of work in a real PostgreSQL: wake-ups, due times, back-off, stop, and the poll. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, afterEach, before, beforeEach, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { startWorker } from '../../../../test/support/crash-points.ts'
import { createTestDatabase } from '../../../../test/support/postgres.ts'
import { until } from '../../../../test/support/until.ts'
import { type Clock, createLog, systemClock } from '../../kernel/index.ts'
import { createDatabase, type Database, sql } from '../index.ts'
import { defineJob, type Job, listenForWrites, type RunningJobs, startJobs } from './index.ts'

const log = createLog('silent')
/** Longer than any test, so that the poll finds no work. */
const neverMs = 600_000

let url: string
let drop: () => Promise<void>
let db: Database
let running: RunningJobs | undefined
before(async () => {
  ;({ url, drop } = await createTestDatabase())
  db = createDatabase({ url, connectionsMax: 8, log })
  await db.pool.query(`create table public.work (
    id bigint generated always as identity primary key, due_at timestamptz not null, taken_at timestamptz)`)
})
after(async () => {
  await db.close()
  await drop()
})
beforeEach(() => db.run(sql`delete from public.work`))
afterEach(async () => {
  await running?.stop()
  running = undefined
})

const start = (
  job: Partial<Job>,
  pollMs = neverMs,
  quietEveryMs = neverMs,
  clock: Clock = systemClock,
): RunningJobs => {
  const due: Job['due'] = (behind) =>
    sql`select min(due_at) as due_at from public.work where taken_at is null and due_at > ${behind}`
  running = startJobs({
    db,
    clock,
    log,
    pollMs,
    quietEveryMs,
    jobs: [defineJob({ name: 'work', due, run: take, ...job })],
  })
  return running
}
const take = () =>
  db.run(sql`update public.work set taken_at = now() where taken_at is null and due_at <= ${new Date()}`)
const add = (dueInMs = 0) => db.run(sql`insert into public.work (due_at) values (${new Date(Date.now() + dueInMs)})`)
const taken = async () =>
  (
    await db.rows<{ readonly lateMs: number }>(sql`
    select (extract(epoch from taken_at - due_at) * 1000)::float8 as late_ms from public.work where taken_at is not null`)
  ).map(({ lateMs }) => lateMs)
const allTaken = (count: number) => until(`${count} taken`, async () => (await taken()).length === count)

/** Starts a job that counts its runs. Waits for the first run, so that no wake-up coincides with the start. */
async function counted(run: Job['run'], pollMs = neverMs, clock: Clock = systemClock) {
  let runs = 0
  start({ run: () => ((runs += 1), run()) }, pollMs, neverMs, clock)
  await until('the first run is over', () => runs > 0)
  await pause(50)
  return { runs: () => runs }
}

test('a commit wakes the job, with or without a transaction, and a rollback does not', async () => {
  const { runs } = await counted(take)
  await add()
  await allTaken(1)
  await db.transaction((tx) => tx.run(sql`insert into public.work (due_at) values (${new Date()})`))
  await allTaken(2)
  await pause(200)
  const before = runs()
  await assert.rejects(
    db.transaction(async (tx) => {
      await tx.run(sql`insert into public.work (due_at) values (${new Date()})`)
      throw new Error('rolled back')
    }),
  )
  await pause(200)
  assert.equal(runs(), before)
})

test('commits during a run share one further run', async () => {
  const gate = Promise.withResolvers<void>()
  const counts: number[] = []
  const job = async () => {
    if (counts.length === 0) await gate.promise
    counts.push(counts.length === 0 ? 1 : await take())
    return counts.at(-1) ?? 0
  }
  start({ run: job })
  for (let each = 0; each < 20; each += 1) await add()
  gate.resolve()
  await until('the further run is over', () => counts.length > 1)
  assert.equal(counts[1], 20)
})

test('work with a future due time is done when it is due', async () => {
  const { runs } = await counted(take)
  await add(600)
  await allTaken(1)
  const [lateMs = -1] = await taken()
  assert.ok(lateMs >= 0, `taken ${lateMs} ms after its time`)
  assert.ok(runs() < 12, `${runs()} runs`)
})

test('work that becomes due in the millisecond in which a run began is done in the next run', async () => {
  const began = Date.now()
  let at = began
  const clock = { now: () => new Date(at) }
  await db.run(sql`insert into public.work (due_at) values (${new Date(began)}::timestamptz + interval '456 us')`)
  const { runs } = await counted(
    () => db.run(sql`update public.work set taken_at = now() where taken_at is null and due_at <= ${clock.now()}`),
    neverMs,
    clock,
  )
  await until('it runs again', () => runs() > 1)
  at = began + 1
  await allTaken(1)
})

test('due work that no run can claim is left to the poll and does not delay other work', async () => {
  await add(-1000)
  const { runs } = await counted(() =>
    db.run(
      sql`update public.work set taken_at = now() where taken_at is null and due_at <= now() and due_at > now() - interval '1 s'`,
    ),
  )
  await pause(500)
  assert.ok(runs() <= 3, `${runs()} runs`)
  await add(300)
  await allTaken(1)
  assert.ok((await taken()).every((lateMs) => lateMs >= 0))
})

test('a job that writes its own table without doing work rests longer after each run', async () => {
  await add(neverMs)
  const { runs } = await counted(() => db.run(sql`update public.work set due_at = due_at`).then(() => 0))
  await pause(1500)
  assert.ok(runs() <= 12, `${runs()} runs`)
})

test('a job that only commits wake runs at its interval until no commit comes, and again after a commit', async () => {
  let runs = 0
  start({ run: () => Promise.resolve(void (runs += 1)).then(() => 0), everyMs: 10, quietAfterMs: 1000 })
  await until('it runs at its interval', () => runs > 5)
  await pause(1500)
  const whenQuiet = runs
  await pause(300)
  assert.ok(runs <= whenQuiet + 1, `${runs - whenQuiet} runs while the database was quiet`)
  await add()
  await until('it runs at its interval again', () => runs > whenQuiet + 5)
})

test('a job without recent wake-ups finds work whose wake-up was lost', async () => {
  let runs = 0
  start({ run: () => ((runs += 1), take()), everyMs: 10, quietAfterMs: 50 }, neverMs, 500)
  await until('it is quiet', () => runs > 0)
  await pause(200)
  assert.equal(await write('kill'), 'SIGKILL')
  await allTaken(1)
})

test('a failing job rests despite wake-ups, and resumes its work when it succeeds', async () => {
  let fails = true
  const startMs = performance.now()
  const { runs } = await counted(() => (fails ? Promise.reject(new Error('fails')) : take()))
  for (let each = 0; each < 20; each += 1) {
    await add()
    await pause(20)
  }
  // The shortest rest is 375 ms; twenty wake-ups without it would be twenty runs.
  const runsMax = 1 + Math.ceil((performance.now() - startMs) / 375)
  assert.ok(runs() <= runsMax, `${runs()} runs`)
  fails = false
  await allTaken(20)
})

test('stop waits for the current run, drains once, and starts no further run', async () => {
  const gate = Promise.withResolvers<number>()
  let runs = 0
  let drained = 0
  const job = start({
    run: () => ((runs += 1), gate.promise),
    drain: () => Promise.resolve(void (drained += 1)),
  })
  await until('a run is under way', () => runs === 1)
  await add()
  let stopped = false
  const stopping = job.stop().then(() => (stopped = true))
  await pause(100)
  assert.deepEqual([stopped, drained], [false, 0])
  gate.resolve(1)
  await stopping
  assert.deepEqual([runs, drained], [1, 1])
})

const write = async (mode: 'announce' | 'kill') => {
  const child = startWorker('job writer', { url, clock: systemClock }, { isKilled: mode === 'kill' })
  const [code, signal] = (await once(child, 'exit')) as [number | null, string | null]
  return signal ?? code
}

test('a commit of another process wakes the job', async () => {
  await counted(take)
  const listening = listenForWrites(db, running as RunningJobs)
  try {
    await pause(200)
    assert.equal(await write('announce'), 0)
    await allTaken(1)
  } finally {
    await listening.stop()
  }
})

test('the poll finds work of a process that was killed between its commit and the wake-up', async () => {
  await counted(take, 300)
  assert.equal(await write('kill'), 'SIGKILL')
  await allTaken(1)
})

test('a listener that lost its connection reconnects and finds the work that it missed', async () => {
  await counted(take)
  const listening = listenForWrites(db, running as RunningJobs)
  // Its commits wake nothing here, as those of another process.
  const other = createDatabase({ url, connectionsMax: 1, log })
  try {
    const pid = await until('it listens', async () => {
      const row = await db.row<{ readonly pid: number }>(sql`
        select pid from pg_stat_activity where datname = current_database() and application_name = 'partner-payments-listen'
          and query like 'listen%' and state = 'idle'`)
      return row?.pid
    })
    await other.run(sql`select pg_terminate_backend(${pid})`)
    await other.run(sql`insert into public.work (due_at) values (${new Date()})`)
    await allTaken(1)
  } finally {
    await other.close()
    await listening.stop()
  }
})
