/**
 * Measures `operator ledger check`: seconds and transactions a second of each comparison, over a partner with so many
 * payouts, all settled, and over one with four times as many. A comparison that is linear takes four times as long.
 * `node scripts/measure/ledger-check.ts [--payouts 5000]`.
 */
import { parseArgs } from 'node:util'
import { comparisons } from '../../service/src/ledger/integrity/index.ts'
import { dayMs } from '../../service/src/kernel/index.ts'
import { createDatabase } from '../../service/src/postgres/index.ts'
import { createTestDatabase } from '../../test/support/postgres.ts'
import { verifyLog } from '../../service/src/audit/index.ts'
import { createCheckpoints } from '../../service/src/ledger/index.ts'
import { processBankNotifications, submitDuePayouts } from '../../service/src/banks/settlement/index.ts'
import { addPartner, createTestService, pay, type Service, stepMsDefault } from '../../test/support/composition.ts'
import { auditLogs } from '../../test/support/audit-logs.ts'

const { values } = parseArgs({ options: { payouts: { type: 'string', default: '5000' } } })
const payouts = Number(values.payouts)
const growth = 4
const atOnce = 500

const { url, drop } = await createTestDatabase()
const service = await createTestService({ url })
const checking = createDatabase({
  url,
  connectionsMax: 1,
  queryTimeoutMs: dayMs,
  log: service.log,
  readsWholeTables: true,
})
try {
  const seconds = [await measure(service, payouts), await measure(service, payouts * growth)]
  const [small = new Map(), large = new Map()] = seconds
  console.log(`comparison, seconds of ${payouts} and of ${payouts * growth} payouts, quotient, payouts a second`)
  for (const [name, after] of large) {
    const before = small.get(name) ?? 0
    const rate = Math.round((payouts * growth) / after)
    console.log(`${name.padEnd(20)} ${before.toFixed(2)} ${after.toFixed(2)} ${(after / before).toFixed(1)} ${rate}`)
  }
  const total = [...large.values()].reduce((sum, each) => sum + each, 0)
  console.log(`all                  ${total.toFixed(2)} s, ${Math.round((payouts * growth) / total)} payouts a second`)
} finally {
  await checking.close()
  await service.close()
  await drop()
}

async function measure(on: Service, count: number): Promise<ReadonlyMap<string, number>> {
  const partner = await addPartner(on)
  const { partnerId } = partner
  await on.db.transaction((tx) =>
    on.deposits.creditPartner(tx, partnerId, { debit: 'settlement.sandbox', currency: 'EUR', amount: 10n ** 12n }),
  )
  for (let made = 0; made < count; made += atOnce) {
    await Promise.all(Array.from({ length: Math.min(atOnce, count - made) }, () => pay(on, partner, '1.00')))
    for (let step = 0; step < 6; step += 1) {
      await submitDuePayouts(on.settlement)
      on.clock.advance(stepMsDefault)
      await processBankNotifications(on.settlement)
    }
  }
  const limits = { transfersPerStretch: 1000, clockDifferenceMsMax: -60_000 }
  const { db, log } = on
  const checkpoints = createCheckpoints({ db, log, limits, partnerIds: async () => [partnerId] })
  for (let taken = 1; taken > 0;) taken = await checkpoints.checkpointStep()
  await auditLogs(() => on).chained(partnerId, 1)
  const times = new Map<string, number>()
  for (const [name, compare] of Object.entries(comparisons)) {
    const began = performance.now()
    const found = await compare(checking, partnerId, 10)
    times.set(name, (performance.now() - began) / 1000)
    if (found.length > 0) throw new Error(`${name} found ${JSON.stringify(found)}`)
  }
  const began = performance.now()
  await verifyLog({ db: checking, sealer: on.sealer }, partnerId)
  times.set('audit log', (performance.now() - began) / 1000)
  return times
}
