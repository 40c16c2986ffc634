/** A worker that dies between the bank and its own books: what the bank tells meanwhile is not lost. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { rawNumber } from '@partner-payments/wire'
import { createTestDatabase } from '../../../test/support/postgres.ts'
import { type Caller, createCursors } from '../api/index.ts'
import { createManualClock } from '../../../test/support/clock.ts'
import { createLog, createSealer, newId, randomBytes } from '../kernel/index.ts'
import { createAccess } from '../access/index.ts'
import { createLedger } from '../ledger/index.ts'
import { createEventOutbox } from '../events/index.ts'
import { createDatabase, sql } from '../postgres/index.ts'
import { createSandboxBank } from '../rails/index.ts'
import { createBeneficiaries } from '../modules/beneficiaries/index.ts'
import { createCustomers } from '../modules/customers/index.ts'
import { createDeposits } from '../modules/deposits/index.ts'
import { createPayouts } from '../modules/payouts/index.ts'
import { createTransactions } from '../modules/transactions/index.ts'
import { sendDue, takeNotices } from './index.ts'

const stepMs = 1000
const leaseMsMax = 60_000
const clock = createManualClock(new Date('2026-03-01T12:00:00.000Z'))
const log = createLog('silent')
const database = await createTestDatabase()
const db = createDatabase({ url: database.url, connectionsMax: 5, log })
after(async () => {
  await db.close()
  await database.drop()
})

const cursors = createCursors(randomBytes(32))
const sealer = createSealer([randomBytes(32)])
const access = createAccess({ db, clock, sealer })
const ledger = createLedger({ clock })
const eventOutbox = createEventOutbox()
const bank = createSandboxBank({ db, clock, stepMs })
const customers = createCustomers({ db, clock, sealer, cursors })
const beneficiaries = createBeneficiaries({ db, clock, cursors, customers })
const transactions = createTransactions({ db, clock, cursors, eventOutbox, customers })
const shared = { db, clock, ledger, eventOutbox, customers, transactions }
const payouts = createPayouts({ ...shared, cursors, beneficiaries, railId: bank.id })
const deposits = createDeposits({ ...shared, access, railId: bank.id })
const settlement = { log, rail: bank, payouts, deposits, idleMs: 1 }

/** A payout that the bank has and the service does not know to be there: Processing, under the lease of the dead. */
async function diedAfterTheBank(amount: string) {
  const partnerId = await db.transaction(async (tx) => {
    const id = await access.createPartner(tx, 'Partner')
    await deposits.bookOwn(tx, id, 'EUR', 1_000_000n)
    return id
  })
  const caller: Caller = { partnerId, serviceAccountId: newId(), name: 'Test', permissions: [] }
  const customer = await customers.create(partnerId, { email: 'ada@example.com' })
  const payee = { customerId: customer.id, name: 'Ada Lovelace', iban: 'DE89370400440532013000', currency: 'EUR' }
  const { id: beneficiaryId } = await beneficiaries.create(partnerId, payee)
  const body = { amount: rawNumber(amount), currency: 'EUR', beneficiaryId, idempotencyKey: newId() }
  const { payout } = await payouts.create(caller, body, '127.0.0.1')
  const [claimed] = await payouts.claim(partnerId, 1)
  assert.ok(claimed)
  const claim = await payouts.beginSending(claimed)
  assert.ok(claim)
  assert.deepEqual(await bank.instruct(claim), { accepted: true })
  const status = async () => (await payouts.get(partnerId, payout.id)).status
  assert.equal(await status(), 'Processing')
  return { partnerId, payout, claim, status }
}

async function eventsOf(partnerId: string, reference: string): Promise<readonly string[]> {
  const rows = await db.rows<{ type: string }>(sql`
    select type from events.events where partner_id = ${partnerId} and reference = ${reference} order by id`)
  return rows.map(({ type }) => type.split('.').at(-1) ?? '')
}

const balanceOf = async (partnerId: string) => {
  const [balance] = await ledger.balances(db, partnerId)
  return [balance?.posted, balance?.reserved]
}

async function timesReceived(partnerId: string, id: string): Promise<number | undefined> {
  const row = await db.row<{ timesReceived: number }>(sql`
    select times_received from rails.sandbox_instructions where partner_id = ${partnerId} and id = ${id}`)
  return row?.timesReceived
}

const cases = [
  ['settled', '10.00', 'Completed', ['requested', 'accepted', 'sent', 'changed'], 999_000n],
  ['rejected', '4001.01', 'Failed', ['requested', 'accepted', 'sent', 'failed', 'changed'], 1_000_000n],
  ['returned', '4001.05', 'Returned', ['requested', 'accepted', 'sent', 'changed'], 1_000_000n],
] as const

for (const [what, amount, ending, events, posted] of cases)
  test(`${what} while the acknowledgement was never recorded: the notice stands in for it`, async () => {
    const { partnerId, payout, claim, status } = await diedAfterTheBank(amount)
    clock.advance(2 * stepMs)
    while ((await takeNotices(settlement)) > 0);
    assert.equal(await status(), ending)
    assert.deepEqual(await eventsOf(partnerId, payout.reference), events)
    assert.deepEqual(await balanceOf(partnerId), [posted, 0n])
    // The dead worker was only slow, and then its lease ends: neither changes anything.
    await payouts.recordAcknowledgement(claim, { accepted: true })
    clock.advance(leaseMsMax)
    assert.equal(await sendDue(settlement), 0)
    assert.equal(await status(), ending)
    assert.deepEqual(await eventsOf(partnerId, payout.reference), events)
    assert.equal(await timesReceived(partnerId, payout.id), 1)
  })
