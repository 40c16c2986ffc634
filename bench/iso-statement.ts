/**
 * What a long statement costs: `node bench/iso-statement.ts [entries] [deposits]`, by default 1,000,000 and 20,000. A camt.053 lies in the
 * folder of a bank; the time is that from there to the last balance that is credited: copied, read twice, its entries written, and
 * credited by settlement in the same process. Before and after it, and against it, deposits that have been accepted are credited as
 * bench/deposits.ts measures them. States the rates, their ratio and the resident memory.
 */
import { createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { rawNumber } from '@partner-payments/wire'
import { accountReportXml, type BankEntry } from '../service/src/iso20022/index.ts'
import { defineJob, startJobs } from '../service/src/postgres/jobs/index.ts'
import { createLog } from '../service/src/kernel/index.ts'
import { analyseWhatHasGrown, sql } from '../service/src/postgres/index.ts'
import { processNotificationsOf } from '../service/src/banks/settlement/notifications.ts'
import { numbersGiven } from '../scripts/arguments.ts'
import { addPartner, createTestService, ip } from '../test/support/composition.ts'
import { createBankFolders, createIncomingBank, entryOf, partsOf } from '../test/support/iso-incoming.ts'
import { startPostgres } from './postgres.ts'

const { entries, deposits } = numbersGiven({ entries: 1_000_000, deposits: 20_000 })
const customers = 500
const callers = 64
const mebibyte = 2 ** 20
const say = (line: string) => console.log(line)
const amount = (value: number) => Math.round(value).toLocaleString('en')

const postgres = await startPostgres()
const folders = await createBankFolders()
try {
  const url = await postgres.create('statement', 'service')
  const service = await createTestService({ url, stepMs: 0, chooseConnector: () => 'iso20022', connectionsMax: 12 })
  const { db, settlement } = service
  const partner = await addPartner(service)
  const { partnerId, caller } = partner
  const ibans: string[] = []
  const ids: string[] = []
  for (let index = 0; index < customers; index += 1) {
    const kyc = { fullName: `Customer ${index}`, citizenshipCountryCode: 'GB' }
    const { id } = await service.customers.create(partnerId, { email: `c${index}@example.com`, kyc })
    ids.push(id)
    ibans.push((await service.accounts.create(partnerId, id)).ibans[0].iban)
  }
  const log = createLog('error')
  // As in the service: plans for an empty table would be kept while it fills.
  const { clock } = service
  const analyse = () => analyseWhatHasGrown(db, log).then(() => 0)
  const statistics = startJobs({
    db,
    clock,
    log,
    jobs: [defineJob({ name: 'postgres.statistics', everyMs: 2000, run: analyse })],
  })
  const drain = async (connector = settlement.connectors[0]) => {
    while (connector !== undefined && (await processNotificationsOf(settlement, connector, new Map())) > 0);
  }

  /** Deposits credited a second, of those that are accepted. */
  const baseline = async (): Promise<number> => {
    let opened = 0
    const open = async () => {
      while (opened < deposits) {
        const customerId = ids[(opened += 1) % ids.length] ?? ''
        const body = { amount: rawNumber('1.00'), currency: 'EUR', outcome: 'completed', customerId } as const
        await service.simulations.deposit(caller, body, ip)
      }
    }
    await Promise.all(Array.from({ length: callers }, open))
    await db.run(
      sql`update rails.sandbox_notifications set due_at = due_at + interval '1 day' where kind = 'deposit.settled'`,
    )
    await drain()
    await db.run(
      sql`update rails.sandbox_notifications set due_at = due_at - interval '1 day' where kind = 'deposit.settled'`,
    )
    const begun = performance.now()
    await drain()
    return deposits / ((performance.now() - begun) / 1000)
  }

  function* booked(): Generator<BankEntry> {
    for (let index = 0; index < entries; index += 1)
      yield entryOf(100n, {
        bankReference: `2026010100${String(index).padStart(10, '0')}`,
        details: [
          {
            references: { endToEndId: `E2E-${index}` },
            creditorAccount: { iban: ibans[index % ibans.length] ?? '' },
            debtor: { name: `Payer ${index % 1000}` },
            debtorAccount: { iban: 'DE89370400440532013000' },
            remittance: { unstructured: [`Invoice ${index}`] },
          },
        ],
      })
  }

  /** The whole job, with the memory of the process while it goes on. */
  const statement = async (): Promise<number> => {
    const closing = BigInt(entries) * 100n
    const path = join(folders.fromBank, 'statement.xml')
    const parts = accountReportXml(partsOf(booked(), { kind: 'camt.053', opening: 0n, closing }))
    await pipeline(Readable.from(parts), createWriteStream(path))
    const bank = createIncomingBank(service, folders, { messageBytesMax: 4 * 2 ** 30 })
    const credited = async () =>
      Number(
        (
          await db.row<{ value: bigint }>(sql`
        select coalesce(sum(posted), 0)::bigint as value from ledger.accounts
        where partner_id = ${partnerId} and name = 'balance'`)
        )?.value ?? 0n,
      ) / 100
    const before = await credited()
    const seen: string[] = []
    const begun = performance.now()
    const pauses = new Map<string, number>()
    const credit = () => processNotificationsOf(bank.settlement, bank.connector, pauses)
    const running = startJobs({
      db,
      clock,
      log,
      jobs: [
        defineJob({ name: 'incoming', everyMs: 50, run: bank.incoming.step }),
        defineJob({ name: 'crediting', everyMs: 5, run: credit }),
      ],
    })
    let next = 0.1
    let at = 0
    while (at < entries) {
      await sleep(200)
      at = (await credited()) - before
      if (at < entries * next) continue
      seen.push(
        `${amount(process.memoryUsage().rss / mebibyte)} MiB at ${amount(at)} (${amount((performance.now() - begun) / 1000)} s)`,
      )
      next += 0.3
    }
    const rate = entries / ((performance.now() - begun) / 1000)
    await running.stop()
    say(`memory: ${seen.join(', ')}`)
    return rate
  }

  await baseline()
  const first = await baseline()
  say(`deposits credited: ${amount(first)}/s`)
  const rate = await statement()
  say(`entries of a statement, from the folder to the balance: ${amount(rate)}/s`)
  const second = await baseline()
  say(`deposits credited: ${amount(second)}/s`)
  say(`entries / deposits: ${(rate / ((first + second) / 2)).toFixed(2)} (floor 0.5)`)
  await statistics.stop()
  await service.close()
} finally {
  await postgres.stop()
  await folders.remove()
}
