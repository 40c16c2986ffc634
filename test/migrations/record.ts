/**
 * Records the data of this version as SQL for tests of later versions. `node test/migrations/record.ts` prints the rows of
 * all tables. Run it once per release, into `fixtures/<newest migration>.sql`. Existing fixtures do not change, because
 * databases of released versions do not change either.
 */
import { once } from 'node:events'
import type { Attempt } from '../../service/src/webhooks/index.ts'
import { readMigrations } from '../../service/src/postgres/index.ts'
import { permissions } from '@partner-payments/wire'
import { submitDuePayouts, processBankNotifications } from '../../service/src/banks/settlement/index.ts'
import {
  addPartner,
  createTestService,
  type Service,
  ip,
  pay,
  stepMsDefault,
  type TestPartner,
} from '../support/composition.ts'

/** Creates payouts and deposits in every final status, and some in progress. */
async function recordPayments(service: Service, partner: TestPartner): Promise<void> {
  const { settlement, simulations, clock, payoutLife } = service
  const work = async (steps: number) => {
    for (let step = 0; step < steps; step += 1) {
      await submitDuePayouts(settlement)
      clock.advance(stepMsDefault)
      await processBankNotifications(settlement)
    }
    await settlement.deposits.expireDue(100)
  }
  const common = { customerId: partner.customer.id, currency: 'EUR' } as const
  const named = { websiteReference: 'order 1', customFields: { basket: [1, 2] } }
  const deposit = (outcome: 'completed' | 'failed' | 'expired', amount: number) =>
    simulations.deposit(
      partner.caller,
      { ...common, ...named, amount, outcome, idempotencyKey: `deposit ${outcome}` },
      ip,
    )
  await deposit('completed', 120)
  await deposit('failed', 130)
  await deposit('expired', 140)
  for (const [index, amount] of ['10.00', '4001.01', '4001.02', '4001.05', '4001.06', '4001.07'].entries())
    await pay(service, partner, amount, { idempotencyKey: `payout ${index}`, reference: `INV ${index}` })
  await pay(service, partner, '11.00', { beneficiaryId: partner.ownBeneficiary.id, idempotencyKey: 'own' })
  await work(5)
  await pay(service, partner, '12.00', { idempotencyKey: 'under way', reference: 'INV 0' })
  for (const claim of await payoutLife.claim('sandbox', [partner.partnerId], 20)) await payoutLife.begin(claim)
  await pay(service, partner, '13.00', { idempotencyKey: 'accepted' })
  await simulations.deposit(partner.caller, { ...common, amount: 150, outcome: 'completed' }, ip)
}

/** A subscription. Some of its events are fanned out, some are not, and one has a failed attempt. */
async function recordDeliveries({ db, clock, log, webhooks }: Service, partnerId: string) {
  const events = ['transaction.status.changed']
  await webhooks.create(partnerId, { url: 'https://hooks.example.com/', events })
  return async () => {
    await db.transaction((tx) => webhooks.fanOut(tx, [partnerId], 30))
    const begun: Attempt[] = []
    const worker = webhooks.createQueueWorker(log, {
      ...{ begin: (claim) => begun.push(claim), wake: () => undefined, pause: async () => undefined },
      ...{ idleMs: 0, inFlightMax: 1 },
    })
    await worker.step()
    worker.stop()
    for (const claim of begun) await worker.recordResult(claim, { startedAt: clock.now(), durationMs: 12, status: 503 })
    await worker.close()
  }
}

async function recordOthers(service: Service, { partnerId, caller, customer }: TestPartner): Promise<void> {
  const { db, access, accounts, users } = service
  await db.transaction((tx) => access.createServiceAccount(tx, { partnerId, name: 'Recorded', permissions }))
  await accounts.create(partnerId, customer.id)
  const entry = { email: 'joan@example.com', fullName: 'Joan Clarke', role: 'Operator' } as const
  await users.createInvitations(caller, { invitations: [entry] })
}

type Table = { readonly name: string; readonly columns: readonly string[]; readonly needs: readonly string[] }

/** Lists the tables, each after the tables that its foreign keys reference. */
function inOrder(tables: readonly Table[]): readonly Table[] {
  const done: Table[] = []
  const add = (table: Table) => {
    if (done.includes(table)) return
    for (const need of tables) if (need !== table && table.needs.includes(need.name)) add(need)
    done.push(table)
  }
  tables.forEach(add)
  return done
}

/** Formats all rows as `insert` statements, with values in PostgreSQL's text format. */
async function dump({ pool }: Service['db']): Promise<string> {
  const tables = await pool.query<Table>(`
    select class.oid::regclass::text as name,
      array(select attname::text from pg_attribute where attrelid = class.oid and attnum > 0 and not attisdropped
        order by attnum) as columns,
      array(select confrelid::regclass::text from pg_constraint where conrelid = class.oid and contype = 'f') as needs
    from pg_class class where relkind = 'r' and relnamespace::regnamespace::text not in
      ('pg_catalog', 'information_schema', 'public')
    order by 1`)
  const lines: string[] = []
  for (const { name, columns } of inOrder(tables.rows)) {
    const values = columns.map((column) => `quote_nullable(${column}::text)`).join(`, ', ', `)
    const { rows } = await pool.query<{ line: string }>(`select concat('(', ${values}, ')') as line from ${name}`)
    const sorted = rows.map((row) => row.line).toSorted()
    if (sorted.length > 0) lines.push(`insert into ${name} (${columns.join(', ')}) values\n${sorted.join(',\n')};`)
  }
  return lines.join('\n')
}

const service = await createTestService()
const partner = await addPartner(service, 5_000_000n)
const deliver = await recordDeliveries(service, partner.partnerId)
await recordPayments(service, partner)
await deliver()
await recordOthers(service, partner)
const newest = (await readMigrations()).at(-1)?.name ?? ''
const header = [
  `-- Data of the version with the newest migration ${newest}. Recorded by test/migrations/record.ts.`,
  `-- Now: ${service.clock.now().toISOString()}. Partner: ${partner.partnerId}.`,
]
if (!process.stdout.write(`${header.join('\n')}\n${await dump(service.db)}\n`)) await once(process.stdout, 'drain')
await service.close()
