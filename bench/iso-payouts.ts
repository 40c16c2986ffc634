/**
 * `node bench/iso-payouts.ts [payouts] [rounds]`: payouts ended per second over the connector `iso20022`, with the test bank as a
 * program beside it that answers and books each file a second after it came, against the sandbox connector in the same run. Rounds of the
 * two alternate, each on a fresh database. Counts from the start of settlement to the last end, the last file's second included.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createIsoBankProgram } from '../examples/iso-bank/child.ts'
import { isoBankSetting } from '../examples/iso-bank/config.ts'
import { sql } from '../service/src/postgres/index.ts'
import { numbersGiven } from '../scripts/arguments.ts'
import { startSettlement } from '../test/support/jobs.ts'
import { addPartner, createTestService, pay, type Service } from '../test/support/composition.ts'
import { businessDay } from '../test/support/iso-bank.ts'

const { payouts, rounds } = numbersGiven({ payouts: 20_000, rounds: 3 })
const partnersCount = 4
const acceptedAtOnce = 500
const pollMs = 50
/** Small files cost the most: each is copied, read twice and flushed, whatever it holds. A bank's default is a minute. */
const fileWindowMs = 1000

type Running = { readonly stop: () => Promise<void> }
type Round = { readonly ended: number; readonly cpu: number }

async function accept(service: Service): Promise<void> {
  const partners = await Promise.all(Array.from({ length: partnersCount }, () => addPartner(service, 100_000_000n)))
  for (let from = 0; from < payouts; from += acceptedAtOnce)
    await Promise.all(
      Array.from({ length: Math.min(acceptedAtOnce, payouts - from) }, (_none, index) => {
        const partner = partners[(from + index) % partnersCount]
        if (partner === undefined) throw new Error('there are partners')
        return pay(service, partner, '1.00')
      }),
    )
}

async function measure(service: Service, start: () => Running): Promise<Round> {
  await accept(service)
  const cpu = process.cpuUsage()
  const begun = performance.now()
  // The clock of a test service stands still; banks and leases need it to go.
  const clock = setInterval(() => service.clock.advance(pollMs), pollMs)
  const running = start()
  for (;;) {
    const row = await service.db.row<{ readonly count: bigint }>(sql`
      select count(*) as count from payouts.payouts where status = 'Completed'`)
    if (Number(row?.count) === payouts) break
    await sleep(pollMs)
  }
  const seconds = (performance.now() - begun) / 1000
  const used = process.cpuUsage(cpu)
  clearInterval(clock)
  await running.stop()
  await service.close()
  return { ended: payouts / seconds, cpu: (used.user + used.system) / 1e6 / seconds }
}

async function sandbox(): Promise<Round> {
  const service = await createTestService({ stepMs: 0, connectionsMax: 12, now: businessDay })
  return measure(service, () => startSettlement(service))
}

async function files(): Promise<Round> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-iso-'))
  mkdirSync(join(folder, 'archive'))
  const bank = createIsoBankProgram({ folder: join(folder, 'bank'), settings: { answerMs: 1000 } })
  const { toBank, fromBank } = await bank.start()
  const setting = isoBankSetting({ kind: 'folder', toBank, fromBank }, folder)
  const service = await createTestService({
    connectionsMax: 12,
    now: businessDay,
    settings: {
      RAIL: 'iso20022',
      ISO20022_BANKS: JSON.stringify([{ ...setting, preferredScheme: 'CreditTransfer', fileWindowMs }]),
    },
  })
  try {
    const { connectors, isoBanks } = service
    return await measure(service, () => startSettlement(service, { connectors, jobs: isoBanks.jobs }))
  } finally {
    await bank.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

const median = (values: readonly number[]): number =>
  values.toSorted((left, right) => left - right)[values.length >> 1] ?? 0
const write = (line: string) => process.stdout.write(`${line}\n`)

const results: { readonly sandbox: Round; readonly files: Round }[] = []
for (let round = 1; round <= rounds; round += 1) {
  // Which one comes first alternates: the second one finds warmer caches.
  const first = round % 2 === 1 ? 'sandbox' : 'files'
  const one = await (first === 'sandbox' ? sandbox() : files())
  const other = await (first === 'sandbox' ? files() : sandbox())
  const result = first === 'sandbox' ? { sandbox: one, files: other } : { sandbox: other, files: one }
  results.push(result)
  const text = (name: 'sandbox' | 'files') =>
    `${name} ${result[name].ended.toFixed(0)}/s (${result[name].cpu.toFixed(2)} cores)`
  write(
    `round ${round}: ${text('sandbox')}, ${text('files')}, ratio ${(result.files.ended / result.sandbox.ended).toFixed(2)}`,
  )
}
const ratio = median(results.map((result) => result.files.ended / result.sandbox.ended))
write(`${payouts} payouts, ${rounds} rounds: files / sandbox = ${ratio.toFixed(2)} (median)`)
process.exit(0)
