/**
 * The workers that tests run as processes and kill: each row of the table is what one process does. It may be killed before and after
 * each of its commits, and wherever its row calls `point` or `around`; rows that never end are killed from outside.
 * `worker-child.ts` runs a row, `crash-points.ts` starts and kills it. A row loads what it needs, so that each process starts quickly.
 */
import { writeSync } from 'node:fs'
import fs, { type FileHandle } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { setTimeout as pause } from 'node:timers/promises'
import type { Caller } from '../../service/src/kernel/api/index.ts'
import type { Transport } from '../../service/src/banks/files/deps.ts'
import { dayMs, minuteMs } from '../../service/src/kernel/index.ts'
import { type Database, type Sql, sql } from '../../service/src/postgres/index.ts'
import type { Connector } from '../../service/src/rails/index.ts'
import type { Service, TestPartner, TestServiceOptions } from './composition.ts'
import type { HooksOptions } from './webhooks.ts'

const writes = (statement: Sql) => /^\s*(?:insert|update|delete)\b/i.test(statement.parts[0] ?? '')

/** The process kills itself with SIGKILL at the chosen point, so that the boundary is exact. `crashAt` counts from 1; 0 never crashes. */
export function createCrashPoints(crashAt: number) {
  let passed = 0
  const point = () => {
    passed += 1
    if (passed === crashAt) process.kill(process.pid, 'SIGKILL')
  }
  /** Adds a point before and after a call. */
  const around = async <T>(call: () => Promise<T>): Promise<T> => {
    point()
    const result = await call()
    point()
    return result
  }
  /** Adds a point before and after each commit: of a transaction, and of a single statement that writes. */
  const wrapDatabase = (db: Database): Database => {
    const single = <T>(statement: Sql, send: (statement: Sql) => Promise<T>): Promise<T> =>
      writes(statement) ? around(() => send(statement)) : send(statement)
    return {
      ...db,
      rows: <T extends object>(statement: Sql) => single(statement, db.rows<T>),
      row: <T extends object>(statement: Sql) => single(statement, db.row<T>),
      run: (statement) => single(statement, db.run),
      transaction: async (work, options) => {
        const result = await db.transaction(async (tx, read) => {
          const done = await work(tx, read)
          point()
          return done
        }, options)
        point()
        return result
      },
    }
  }
  return { point, around, wrapDatabase, passed: () => passed }
}

/** The process of a row. `atEnd` is called when the row has ended by itself. */
export type WorkerRun = Omit<ReturnType<typeof createCrashPoints>, 'passed'> & {
  readonly url: string
  readonly now: Date
  readonly atEnd: (close: () => Promise<unknown>) => void
}
type NoArguments = Readonly<Record<string, never>>
type OfPartner = { readonly partnerId: string }
type Worker = (given: never, run: WorkerRun) => Promise<unknown>

async function serve(run: WorkerRun, options: TestServiceOptions = {}): Promise<Service> {
  const { createTestService } = await import('./composition.ts')
  const { url, now, wrapDatabase } = run
  const service = await createTestService({ url, now, wrapDatabase, ...options })
  run.atEnd(service.close)
  return service
}

/** A delivery engine with crash points. `db` has none. */
async function openHooks(run: WorkerRun, key: string) {
  const { createHooks } = await import('./webhooks.ts')
  const { createCursors } = await import('../../service/src/kernel/api/index.ts')
  const { createSealer } = await import('../../service/src/kernel/index.ts')
  const { createDeliveryEngine } = await import('../../service/src/webhooks/index.ts')
  const masterKey = Buffer.from(key, 'hex')
  const { db, clock, log, eventOutbox, alerts, close } = await createHooks({
    url: run.url,
    key: masterKey,
    now: run.now,
  })
  run.atEnd(close)
  const parts = { db: run.wrapDatabase(db), clock, eventOutbox, alerts }
  const [sealer, cursors] = [createSealer([masterKey]), createCursors(masterKey)]
  const webhooks = createDeliveryEngine({ ...parts, sealer, cursors, urlRules: { allowHttpLoopback: true } })
  return { ...parts, log, webhooks, plainDb: db }
}

const settlementModule = () => import('../../service/src/banks/settlement/index.ts')
async function drain(...steps: readonly (() => Promise<number>)[]): Promise<void> {
  for (const step of steps) while ((await step()) > 0);
}

/** Crash points before and after each call that changes something at the bank, and each enquiry. */
const bankWithPoints = ({ around }: WorkerRun, connector: Connector): Connector => ({
  ...connector,
  instruct: (instructions, options) => around(() => connector.instruct(instructions, options)),
  find: (keys, options) => around(() => connector.find(keys, options)),
  acknowledge: (notifications, options) => around(() => connector.acknowledge(notifications, options)),
})

/** Crash points before, within and after each operation on a file. The modules that are loaded later import the wrapped functions. */
function wrapFiles({ point, around }: WorkerRun): { readonly count: () => void } {
  let isCounting = false
  const wrap =
    <A extends readonly unknown[], R>(work: (...args: A) => Promise<R>) =>
    (...args: A): Promise<R> =>
      isCounting ? around(() => work(...args)) : work(...args)
  const wrapHandle = (handle: FileHandle): FileHandle => {
    const write = handle.writeFile.bind(handle)
    return Object.assign(handle, {
      sync: wrap(handle.sync.bind(handle)),
      writeFile: async (bytes: Uint8Array) => {
        // Half of a file is on the disk.
        const half = Math.floor(bytes.length / 2)
        await write(bytes.subarray(0, half))
        if (isCounting) point()
        await write(bytes.subarray(half))
      },
    })
  }
  const { mkdir, open, rename, unlink } = fs
  Object.assign(fs, {
    mkdir: wrap(mkdir),
    rename: wrap(rename),
    unlink: wrap(unlink),
    open: wrap(async (...args: Parameters<typeof open>) => wrapHandle(await open(...args))),
  })
  syncBuiltinESMExports()
  return { count: () => (isCounting = true) }
}

/** Shared settings of the killed processes that send files and the one that continues. */
export const rulesOfRun = { preferred: 'Instant', instantMax: 10_00n, paymentsPerFileMax: 3 } as const

export type DeliveryWorkerOptions = {
  readonly leaseMs: number
  /** The difference of its clock from the system clock. */
  readonly skewMs?: number
  readonly queryTimeoutMs?: number
  readonly threads?: number
}

/** Short leases and delays, so that another worker takes over soon, and the system clock, so that several workers agree on the time. */
async function quickHooks({ leaseMs, skewMs = 0, queryTimeoutMs }: DeliveryWorkerOptions): Promise<HooksOptions> {
  const { after, systemClock } = await import('../../service/src/kernel/index.ts')
  return {
    clock: { now: () => after(systemClock.now(), skewMs) },
    limits: { leaseMs, leaseMarginMs: Math.ceil(leaseMs / 4) },
    retryDelaysMs: Array.from({ length: 50 }, () => 50),
    ...(queryTimeoutMs === undefined ? {} : { queryTimeoutMs }),
  }
}

export const workers = {
  /** Blocks a balance, and cancels what waits on it, as the command does. */
  block: async ({ partnerId }: OfPartner, run) => {
    const service = await serve(run)
    const block = { state: 'Blocked', reason: 'CourtOrder', note: '', staff: 'Ada' } as const
    const account = { currency: 'EUR' } as const
    await run
      .wrapDatabase(service.db)
      .transaction((tx) => service.accounts.changeState(tx, { partnerId, account, ...block }))
    await service.cancellations.finish(partnerId, { ...account, customerId: null })
  },
  bulks: async (_given: NoArguments, run) => drain((await serve(run)).bulkPayouts.step),
  /** Sends a file of payouts, as the page does: makes its new payees, and then the bulk. */
  'bulk file': async ({ caller, id }: { readonly caller: Caller; readonly id: string }, run) => {
    const { openBulkFiles } = await import('./bulk-files.ts')
    const files = await openBulkFiles(await serve(run), caller)
    await files.send(id)
  },
  orders: async (_given: NoArguments, run) => drain((await serve(run)).standingOrders.step),
  /** Makes the entries of what has happened, and queues the mails of persons who are told at once. */
  inbox: async (_given: NoArguments, run) => {
    const { inbox } = await serve(run, { settings: { INBOX_GATHER_SECONDS: '0' } })
    await drain(inbox.spreadStep, inbox.mailStep)
  },
  monitors: async ({ settings }: { readonly settings: Readonly<Record<string, string>> }, run) =>
    drain((await serve(run, { settings })).monitors.monitorStep),
  /** The bank is in the same database, so that its commits have points, too. */
  recalls: async (_given: NoArguments, run) => {
    const { createSandboxBank } = await import('../../service/src/banks/sandbox/index.ts')
    const { stepMsDefault } = await import('./composition.ts')
    const { sendDueRecalls } = await settlementModule()
    const { db, clock, settlement, recalls } = await serve(run)
    const bank = createSandboxBank({ db: run.wrapDatabase(db), clock, stepMs: stepMsDefault })
    await drain(() => sendDueRecalls(settlement, bank), recalls.expireStep)
  },
  /** Applies the credits of a session in parts. */
  parts: async (_given: NoArguments, run) => {
    const { processBankNotifications } = await settlementModule()
    const { settlement } = await serve(run, { stepMs: 0 })
    await drain(() => processBankNotifications(settlement))
  },
  /** Chooses about late payments of a session, and carries the return out. */
  latePayments: async (
    given: OfPartner & { readonly sessionId: string; readonly accept: string; readonly giveBack: string },
    run,
  ) => {
    const { processBankNotifications, sendDueReturns } = await settlementModule()
    const { checkout, connectors, settlement } = await serve(run, { stepMs: 0 })
    await checkout.acceptLate(given.partnerId, given.sessionId, given.accept)
    await checkout.returnLate(given.partnerId, given.sessionId, given.giveBack)
    await drain(...connectors.map((connector) => () => sendDueReturns(settlement, connector)), () =>
      processBankNotifications(settlement),
    )
  },
  /** Makes refunds of a session, and settles them. */
  refunds: async (
    given: {
      readonly caller: Caller
      readonly sessionId: string
      readonly refunds: readonly {
        readonly amount: string
        readonly idempotencyKey: string
        readonly latePaymentId?: string
      }[]
    },
    run,
  ) => {
    const { rawNumber } = await import('@partner-payments/wire')
    const { ip } = await import('./composition.ts')
    const { processBankNotifications, submitDuePayouts } = await settlementModule()
    const { checkout, settlement } = await serve(run, { stepMs: 0 })
    for (const { amount, ...body } of given.refunds)
      await checkout.refund(given.caller, given.sessionId, { amount: rawNumber(amount), ...body }, ip)
    await drain(async () => (await submitDuePayouts(settlement)) + (await processBankNotifications(settlement)))
  },
  identity: async ({ origin }: { readonly origin: string }, run) => {
    const { providerAt } = await import('./identity-service.ts')
    const { identityChecks } = await serve(run, { identityProvider: providerAt(origin) })
    await drain(identityChecks.step, identityChecks.expireStep)
  },
  /** Requests an erasure, works on all of its pages, and works on the rest when the time of retention is over. */
  erasure: async ({ partnerId, customerId }: OfPartner & { readonly customerId: string }, run) => {
    const { personalData, clock } = await serve(run)
    const { erasures } = personalData
    await erasures.erase(partnerId, customerId, true)
    for (const days of [0, 6 * 366]) {
      clock.advance(days * dayMs)
      while ((await erasures.step()) > 0) clock.advance(1)
    }
  },
  /** Credits what has come in, compares the names, decides and looks. */
  screening: async ({ partnerId, outcome }: OfPartner & { readonly outcome: 'clear' | 'confirm' }, run) => {
    const { decideAll, screenAll } = await import('./screening/held.ts')
    const { processBankNotifications } = await settlementModule()
    const service = await serve(run, { stepMs: 0 })
    await screenAll(service)
    await processBankNotifications(service.settlement)
    await screenAll(service)
    await decideAll(service, partnerId, outcome)
    service.clock.advance(minuteMs)
    await service.deposits.screenDue(100)
  },
  /** Makes payouts, and prints each reference when its payout is answered. */
  payouts: async (
    { partner, references }: { readonly partner: TestPartner; readonly references: readonly string[] },
    run,
  ) => {
    const { pay } = await import('./composition.ts')
    const service = await serve(run)
    const perRound = Math.ceil(references.length / 3)
    for (let at = 0; at < references.length; at += perRound)
      await Promise.all(
        references.slice(at, at + perRound).map(async (reference) => {
          await pay(service, partner, '1.00', { reference })
          // Synchronously, so that an answered reference is printed before the next crash point.
          writeSync(1, `${reference}\n`)
        }),
      )
  },
  /** Settles with a bank without delay: a notification can arrive before the acknowledgement is recorded. */
  settlement: async ({ partnerId }: OfPartner, run) => {
    const { startSettlement } = await import('./jobs.ts')
    const service = await serve(run, { stepMs: 0, wrapConnector: (connector) => bankWithPoints(run, connector) })
    const running = startSettlement(service)
    const waiting = () =>
      service.db.row<{ count: bigint }>(sql`select
        (select count(*) from payouts.payouts where partner_id = ${partnerId} and due_at is not null)
        + (select count(*) from rails.sandbox_notifications where partner_id = ${partnerId})
        + (select count(*) from rails.internal_transfers where partner_id = ${partnerId} and due_at is not null) as count`)
    while ((await waiting())?.count !== 0n) await pause(5)
    await running.stop()
  },
  /** Settles with the example connector, whose bank is another process. */
  connector: async ({ partnerId, bankUrl }: OfPartner & { readonly bankUrl: string }, run) => {
    const { createExampleConnector } = await import('../../examples/connector/connector.ts')
    const { startSettlement } = await import('./jobs.ts')
    const connector = createExampleConnector({ url: bankUrl })
    const service = await serve(run)
    const running = startSettlement(service, { connectors: [bankWithPoints(run, connector)] })
    const hasWork = async () => {
      const due = await service.db.row(sql`
        select id from payouts.payouts where partner_id = ${partnerId} and due_at is not null limit 1`)
      return due !== undefined || (await connector.oldestNotification(new Date())) !== null
    }
    while (await hasWork()) {
      // What the bank did not answer is due again. Slowly: on a busy machine a call must not outlast its lease of this clock.
      service.clock.advance(20)
      await pause(5)
    }
    await running.stop()
  },
  /** Settles on a chain. Each transaction that the node gets has a point before and after it. */
  chain: async ({ partnerId, nodeUrl }: OfPartner & { readonly nodeUrl: string }, run) => {
    const plainFetch = globalThis.fetch
    globalThis.fetch = (input, init) =>
      String(init?.body).includes('"eth_sendRawTransaction"')
        ? run.around(() => plainFetch(input, init))
        : plainFetch(input, init)
    const { connectAnvil } = await import('./chain/anvil.ts')
    const { createChainScene } = await import('./chain/scene.ts')
    const { url, now, wrapDatabase } = run
    const anvil = connectAnvil(nodeUrl)
    const { service, pump } = await createChainScene({ anvil, url, now, wrapDatabase })
    run.atEnd(service.close)
    const open = () =>
      service.db.row(sql`
        select id from payouts.payouts where partner_id = ${partnerId} and status in ('Pending', 'Processing', 'Sent') limit 1`)
    while ((await open()) !== undefined) {
      await pump()
      await anvil.mine(1)
      service.clock.advance(1000)
    }
  },
  /** Sends files to a bank until no payment waits and every file is there. */
  'outgoing files': async ({ root }: { readonly root: string }, run) => {
    const { count } = wrapFiles(run)
    const service = await serve(run)
    const { bankTakes, openBank, openFolders } = await import('./iso-outgoing.ts')
    const { countQueued } = await import('../../service/src/banks/files/store-instructions.ts')
    const { oldestUndelivered } = await import('../../service/src/banks/files/store-instructions.ts')
    const { db, clock } = service
    const folders = await openFolders(root)
    const { steps } = openBank({ db: run.wrapDatabase(db), clock }, folders, rulesOfRun)
    const isOver = async () =>
      (await countQueued(db, 'iso20022')).size === 0 && (await oldestUndelivered(db, 'iso20022')) === null
    count()
    while (!(await isOver())) {
      await steps.make()
      await steps.deliver()
      // The bank takes what it finds at once, so that nothing but the rows says that it has it.
      await bankTakes(folders)
      clock.advance(1000)
    }
  },
  /** Takes the files of a bank, and applies what they mean. */
  'incoming files': async ({ root }: { readonly root: string }, run) => {
    const { createIncomingBank, foldersIn } = await import('./iso-incoming.ts')
    const { around, point } = run
    /** Statements that write by themselves what was done with a file. Transactions have points of their own. */
    const withSingles = (db: Database): Database => ({
      ...db,
      run: (statement) =>
        /rails\.(?:insert|finish)Message /.test(statement.parts[0] ?? '')
          ? around(() => db.run(statement))
          : db.run(statement),
    })
    /** Crash points before and after each operation on the bank's folder, and within a copy. */
    const wrapTransport = (transport: Transport): Transport => ({
      ...transport,
      read: async function* read(name, offset, signal) {
        for await (const chunk of transport.read(name, offset, signal)) {
          yield chunk.subarray(0, 100)
          point()
          yield chunk.subarray(100)
        }
      },
      finish: (name, signal) => around(() => transport.finish(name, signal)),
    })
    const service = await serve(run)
    const db = withSingles(run.wrapDatabase(service.db))
    await createIncomingBank({ ...service, db }, foldersIn(root), { wrapTransport }).work()
  },
  /** Delivers all events of the partner. */
  delivery: async ({ partnerId, key }: OfPartner & { readonly key: string }, run) => {
    const { startDelivery } = await import('./jobs.ts')
    const { db, clock, log, webhooks, plainDb } = await openHooks(run, key)
    const loop = startDelivery({
      db,
      clock,
      log,
      allowLoopback: true,
      idleMs: 5,
      webhooks: {
        ...webhooks,
        createQueueWorker: (...given) => {
          const worker = webhooks.createQueueWorker(...given)
          return {
            ...worker,
            // The endpoint has answered, and no database records it.
            recordResult: (claim, result) => {
              run.point()
              return worker.recordResult(claim, result)
            },
          }
        },
      },
    })
    const waiting = () =>
      plainDb.row<{ count: bigint }>(sql`select
        (select count(*) from events.pending where partner_id = ${partnerId})
        + (select count(*) from delivery.queue where partner_id = ${partnerId}) as count`)
    while ((await waiting())?.count !== 0n) await pause(5)
    await loop.stop()
  },
  recovery: async ({ key }: { readonly key: string }, run) => drain((await openHooks(run, key)).webhooks.recoverStep),

  /** Commits work of a job: announces it to the processes with jobs, or is killed between the commit and the announcement. */
  'job writer': async ({ isKilled }: { readonly isKilled: boolean }, { url }) => {
    const { announceWrites } = await import('../../service/src/postgres/jobs/index.ts')
    const { createLog } = await import('../../service/src/kernel/index.ts')
    const { createDatabase } = await import('../../service/src/postgres/index.ts')
    const db = createDatabase({ url, connectionsMax: 1, log: createLog('silent') })
    const announcements = announceWrites(db, new Set(['public.work']))
    db.onWritten(() => {
      if (isKilled) process.kill(process.pid, 'SIGKILL')
    })
    await db.run(sql`insert into public.work (due_at) values (now())`)
    await announcements.stop()
    await db.close()
  },
  /** Writes a report. Killed from outside. */
  report: async (_given: NoArguments, { url, now }) => {
    const { createReportService, reportWork } = await import('./reports.ts')
    const { writeStep } = reportWork(await createReportService({ url, now }))
    while ((await writeStep()) === 0);
  },
  /** All workers of a service whose bank takes and gives files. Prints a line when they run. Killed from outside. */
  'file bank': async ({ banks }: { readonly banks: string }, run) => {
    const { createTestService } = await import('./composition.ts')
    const { startSettlement } = await import('./jobs.ts')
    const settings = { RAIL: 'iso20022', ISO20022_BANKS: banks }
    const service = await createTestService({ url: run.url, now: run.now, settings })
    let at = performance.now()
    // The clock of the run goes as fast as the machine's.
    setInterval(() => {
      const ms = performance.now() - at
      at += ms
      service.clock.advance(ms)
    }, 20)
    const { connectors, isoBanks } = service
    await isoBanks.releaseLeases()
    startSettlement(service, { connectors, jobs: isoBanks.jobs })
    writeSync(1, 'running\n')
    await new Promise(() => undefined)
  },
  /** Delivers events of all partners. Killed, frozen and cut off from outside. */
  deliveries: async ({ key, options }: { readonly key: string; readonly options?: DeliveryWorkerOptions }, run) => {
    const { startDelivery } = await import('./jobs.ts')
    const { createHooks } = await import('./webhooks.ts')
    const quick = options === undefined ? { now: run.now } : await quickHooks(options)
    const { db, clock, log, webhooks } = await createHooks({ ...quick, url: run.url, key: Buffer.from(key, 'hex') })
    startDelivery({ db, clock, log, webhooks, allowLoopback: true, idleMs: 20, threads: options?.threads ?? 0 })
    await new Promise(() => undefined)
  },
} satisfies Readonly<Record<string, Worker>>

export type WorkerName = keyof typeof workers
export type WorkerInput<N extends WorkerName> = Parameters<(typeof workers)[N]>[0]
