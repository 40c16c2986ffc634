/**
 * Writes down the data of this version as SQL, for the versions to come: `node test/migrations/record.ts` lives one day
 * with every module and prints what is in the tables at its end. Run once for a release, into
 * `fixtures/<newest migration>.sql`; what is there stays as it is, since databases in the field do.
 */
import { once } from 'node:events'
import { createAccounts, defaultIssuers } from '../../service/src/modules/accounts/index.ts'
import { createUsers } from '../../service/src/modules/users/index.ts'
import { type Attempt, createDeliveryEngine } from '../../service/src/delivery/index.ts'
import { readMigrations } from '../../service/src/postgres/index.ts'
import { permissions } from '@partner-payments/wire'
import { sendDue, takeNotices } from '../../service/src/settlement/index.ts'
import {
  addPartner,
  createTestService,
  type Service,
  ip,
  pay,
  stepMsDefault,
  type TestPartner,
} from '../support/composition.ts'

/** Every status that a payout and a deposit can rest in, and some that are under way. */
async function liveMoney(service: Service, partner: TestPartner): Promise<void> {
  const { settlement, simulations, clock, payouts } = service
  const work = async (steps: number) => {
    for (let step = 0; step < steps; step += 1) {
      await sendDue(settlement)
      clock.advance(stepMsDefault)
      await takeNotices(settlement)
    }
    await settlement.deposits.expireDue(100)
  }
  const deposit = (outcome: 'completed' | 'failed' | 'expired', amount: number) =>
    simulations.deposit(
      partner.caller,
      {
        ...{ customerId: partner.customer.id, amount, currency: 'EUR', outcome, idempotencyKey: `deposit ${outcome}` },
        ...{ websiteReference: 'order 1', customFields: { basket: [1, 2] } },
      },
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
  for (const claim of await payouts.claim(partner.partnerId, 20)) await payouts.beginSending(claim)
  await pay(service, partner, '13.00', { idempotencyKey: 'accepted' })
  await simulations.deposit(
    partner.caller,
    { customerId: partner.customer.id, amount: 150, currency: 'EUR', outcome: 'completed' },
    ip,
  )
}

/** What the events of the day are owed to: some fanned out, some not yet, one attempt behind one of them. */
async function subscribe({ db, clock, log, sealer, cursors, eventOutbox }: Service, partnerId: string) {
  const webhooks = createDeliveryEngine({
    db,
    clock,
    sealer,
    cursors,
    eventOutbox,
    urlRules: { allowHttpLoopback: true },
  })
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

async function liveTheRest(service: Service, { partnerId, caller, customer }: TestPartner): Promise<void> {
  const { db, clock, sealer, cursors, access, ledger, customers } = service
  await db.transaction((tx) => access.createServiceAccount(tx, { partnerId, name: 'Recorded', permissions }))
  await createAccounts({ db, clock, customers, ledger, issuers: defaultIssuers }).create(partnerId, customer.id)
  const users = createUsers({ db, clock, sealer, cursors, sandbox: true })
  const entry = { email: 'joan@example.com', fullName: 'Joan Clarke', role: 'Operator' } as const
  await users.createInvitations(caller, { invitations: [entry] })
}

type Table = { readonly name: string; readonly columns: readonly string[]; readonly needs: readonly string[] }

/** A table after those that its foreign keys name. */
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

/** As `insert` statements; the values as PostgreSQL itself writes and reads them. */
async function dump({ pool }: Service['db']): Promise<string> {
  const tables = await pool.query<Table>(`
    select c.oid::regclass::text as name,
      array(select attname::text from pg_attribute where attrelid = c.oid and attnum > 0 and not attisdropped
        order by attnum) as columns,
      array(select confrelid::regclass::text from pg_constraint where conrelid = c.oid and contype = 'f') as needs
    from pg_class c where relkind = 'r' and relnamespace::regnamespace::text not in
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
const deliver = await subscribe(service, partner.partnerId)
await liveMoney(service, partner)
await deliver()
await liveTheRest(service, partner)
const level = (await readMigrations()).at(-1)?.name ?? ''
const header = [
  `-- Data as the version wrote them whose newest migration was ${level}. Recorded by test/migrations/record.ts.`,
  `-- Now: ${service.clock.now().toISOString()}. Partner: ${partner.partnerId}.`,
]
if (!process.stdout.write(`${header.join('\n')}\n${await dump(service.db)}\n`)) await once(process.stdout, 'drain')
await service.close()
