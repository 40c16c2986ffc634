/** One run: a service whose workers are another process, a file-based bank that is a third one, and kills of both. */
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { createIsoBankProgram, type IsoBankProgram } from '../../../examples/iso-bank/child.ts'
import { isoBankSetting } from '../../../examples/iso-bank/config.ts'
import { amountText, minuteMs, present, systemClock } from '../../../service/src/kernel/index.ts'
import { sql, type Sql } from '../../../service/src/postgres/index.ts'
import { addPartner, createTestService, pay, type Service, type TestPartner } from '../../support/composition.ts'
import { killWorker, startWorker } from '../../support/crash-points.ts'
import { businessDay } from '../../support/iso-bank.ts'
import { scaled } from '../../support/faults.ts'
import type { PlannedPayment } from '../../support/iso-oddities.ts'
import { until } from '../../support/until.ts'

const partnersCount = 3
const floatMinor = 10n ** 12n
const acceptedAtOnce = 200
/** Longer than every lease, so that the next process does not wait for those of the one that was killed. */
const afterKillMs = minuteMs
/** Guards against a hang. No test measures it. */
const waitMsMax = scaled(180_000, 600_000)
const tickMs = 20

export type Run = {
  readonly service: Service
  readonly partners: readonly TestPartner[]
  readonly ibans: readonly string[]
  readonly bank: IsoBankProgram
  readonly accept: (payments: readonly PlannedPayment[]) => Promise<void>
  /** SIGKILL, then a new process with a clock that is later. */
  readonly restart: (which: 'workers' | 'bank' | 'both', laterMs?: number) => Promise<void>
  readonly wait: (what: string, condition: () => Promise<boolean>) => Promise<void>
  readonly count: (statement: Sql) => Promise<number>
  /** Names of the bank's files that are not taken yet. */
  readonly untaken: () => readonly string[]
}

export async function createRun(context: TestContext): Promise<Run> {
  const folder = mkdtempSync(join(tmpdir(), 'iso-books-'))
  mkdirSync(join(folder, 'archive'))
  let service: Service | undefined
  const bank = createIsoBankProgram({
    folder: join(folder, 'bank'),
    settings: { answerMs: 100, bookMs: 200, laterMs: 300 },
    aheadMs: () => (service?.clock.now() ?? businessDay).getTime() - systemClock.now().getTime(),
  })
  const { toBank, fromBank } = await bank.start()
  const setting = JSON.stringify([
    {
      ...isoBankSetting({ kind: 'folder', toBank, fromBank }, folder),
      preferredScheme: 'CreditTransfer',
      // Found at the end, when the clock goes ahead, and not while a killed process is away.
      missingAfterMs: 20 * minuteMs,
      detailsWithinMs: 20 * minuteMs,
      // As long as a bank may be away after a kill with half of a file in the folder.
      unfinishedAfterMs: 15_000,
    },
  ])
  const started = await createTestService({ now: businessDay, settings: { RAIL: 'iso20022', ISO20022_BANKS: setting } })
  service = started
  let child = await startWorkers(started, setting)
  let at = performance.now()
  const timer = setInterval(() => {
    started.clock.advance(performance.now() - at)
    at = performance.now()
  }, tickMs)
  context.after(async () => {
    clearInterval(timer)
    await killWorker(child)
    await bank.stop()
    await started.close()
    rmSync(folder, { recursive: true, force: true, maxRetries: 10 })
  })
  const { partners, ibans } = await addPartners(started)
  return {
    service: started,
    partners,
    ibans,
    bank,
    accept: (payments) => acceptAll(started, partners, payments),
    restart: async (which, laterMs = afterKillMs) => {
      if (which !== 'bank') await killWorker(child)
      if (which !== 'workers') await bank.kill()
      started.clock.advance(laterMs)
      if (which !== 'workers') await bank.start()
      if (which !== 'bank') child = await startWorkers(started, setting)
    },
    wait: async (what, condition) => {
      try {
        await until(what, condition, waitMsMax)
      } catch (error) {
        throw new Error(`${what}: ${await stateOf(started, readdirSync(fromBank))}`, { cause: error })
      }
    },
    count: async (statement) => Number((await started.db.row<{ readonly count: bigint }>(statement))?.count ?? 0n),
    untaken: () => readdirSync(fromBank),
  }
}

/** Describes a run that does not continue. */
async function stateOf({ db }: Service, untaken: readonly string[]): Promise<string> {
  const payouts = await db.rows(sql`select status, count(*) from payouts.payouts group by status`)
  const instructions = await db.rows(sql`select status, count(*) from rails.iso_instructions group by status`)
  const files = await db.rows(sql`select state, count(*) from rails.iso_files group by state`)
  const messages = await db.rows(sql`select kind, state, count(*) from rails.iso_messages group by kind, state`)
  const cases = await db.rows(sql`select kind, resolution, count(*) from cases.cases group by kind, resolution`)
  const notifications = await db.rows(sql`select kind, count(*) from rails.iso_notifications group by kind`)
  const text = { payouts, instructions, files, messages, cases, notifications, untaken }
  return JSON.stringify(text, (_key, value: unknown) => (typeof value === 'bigint' ? Number(value) : value), 1)
}

async function startWorkers(service: Service, banks: string): Promise<ChildProcess> {
  const child = startWorker('file bank', service, { banks }, { streams: ['pipe', 'inherit'] })
  const ended = once(child, 'exit').then(() => Promise.reject(new Error('the workers ended at their start')))
  await Promise.race([once(present(child.stdout, 'the output of the workers is piped'), 'data'), ended])
  ended.catch(() => undefined)
  return child
}

async function addPartners(service: Service) {
  const partners: TestPartner[] = []
  const ibans: string[] = []
  for (let count = 0; count < partnersCount; count += 1) {
    const partner = await addPartner(service, floatMinor)
    partners.push(partner)
    const account = await service.accounts.create(partner.partnerId, partner.customer.id)
    ibans.push(account.ibans[0].iban)
  }
  return { partners, ibans }
}

async function acceptAll(service: Service, partners: readonly TestPartner[], payments: readonly PlannedPayment[]) {
  for (let from = 0; from < payments.length; from += acceptedAtOnce)
    await Promise.all(
      payments.slice(from, from + acceptedAtOnce).map(({ amount }, index) => {
        const partner = present(partners[index % partners.length], 'there are partners')
        return pay(service, partner, amountText(amount, 'EUR'))
      }),
    )
}
