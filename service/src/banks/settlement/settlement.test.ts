/** A worker that is killed after the bank accepted the instruction and before it recorded the acknowledgement. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { noProofs } from '../../../../test/support/proofs.ts'
import { rawNumber } from '@partner-payments/wire'
import { createTestDatabase } from '../../../../test/support/postgres.ts'
import { type Caller, createCursors } from '../../kernel/api/index.ts'
import { createManualClock } from '../../../../test/support/clock.ts'
import { createLog, createSealer, newId, randomBytes } from '../../kernel/index.ts'
import { createAccess } from '../../access/index.ts'
import { createAudit } from '../../audit/index.ts'
import { createCases, createReturns } from '../../cases/index.ts'
import { createLedger } from '../../ledger/index.ts'
import { createEventOutbox } from '../../events/index.ts'
import { createDatabase, sql } from '../../postgres/index.ts'
import { createSandboxBank } from '../sandbox/index.ts'
import { createConfiguredRates } from '../../rates/index.ts'
import { createVerification } from '../../parties/payee-check/index.ts'
import { createBeneficiaries } from '../../parties/beneficiaries/index.ts'
import { createScreening } from '../../screening/index.ts'
import { decidesHits, twoOfStaff } from '../../people/staff/index.ts'
import { createMayPay } from '../../people/users/index.ts'
import { createCustomers } from '../../parties/customers/index.ts'
import { createDeposits } from '../../deposits/index.ts'
import { createAcceptances } from '../../fx/index.ts'
import { createPayoutAges, createPayoutLife, createPayouts } from '../../payouts/index.ts'
import { createMonitoring } from '../../monitoring/index.ts'
import { createEndedRefunds } from '../../checkout/index.ts'
import { createRecalls, createReturnedByRecall } from '../../payouts/recalls/index.ts'
import { createTransactions } from '../../transactions/index.ts'
import { submitDuePayouts, processBankNotifications } from './index.ts'

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
const ledger = createLedger({ clock, segregates: false, holds: async () => [] })
const eventOutbox = createEventOutbox()
const bank = createSandboxBank({ db, clock, stepMs })
const verification = createVerification({ log, scheme: null, ownNames: async () => undefined })
const screening = createScreening({ judgeTwo: twoOfStaff(decidesHits), db, clock, sealer })
const customers = createCustomers({
  db,
  clock,
  sealer,
  cursors,
  log,
  screening,
  gatesByDefault: 'open',
  ...noProofs,
  identifiers: 'unique',
})
const beneficiaries = createBeneficiaries({
  db,
  clock,
  cursors,
  customers,
  verification,
  refusedAddress: () => undefined,
  screening,
})
const audit = createAudit({ db, clock, cursors, sealer })
const transactions = createTransactions({ audit, db, clock, cursors, eventOutbox, customers, clockDifferenceMsMax: 0 })
const cases = createCases({ db, clock, log, ledger, addOperator: access.addOperator })
const rates = createConfiguredRates(
  {
    ...{ FX_RATES: { kind: 'none' }, FX_RATES_SEED: '', FX_RATES_MAX_AGE_SECONDS: undefined },
    ...{ FX_RATES_JUMP_MAX_PERCENT: 20, REFERENCE_CURRENCY: 'EUR', REFERENCE_RATES_MAX_AGE_DAYS: 7 },
  },
  { db, clock, log },
)
const monitoring = createMonitoring({
  rates,
  judgeTwo: twoOfStaff(decidesHits),
  db,
  clock,
  cases,
  partnerIds: access.partnerIds,
  clockDifferenceMsMax: 0,
})
const shared = {
  db,
  clock,
  log,
  screening,
  cases,
  ledger,
  eventOutbox,
  customers,
  transactions,
  monitoring,
  mayPay: createMayPay(access, screening),
  rates: { converter: () => Promise.reject(new Error('no rule counts over all currencies')) },
}
const life = createPayoutLife({
  ...shared,
  beneficiaries,
  recalls: createReturnedByRecall(shared),
  checkoutRefunds: createEndedRefunds(shared),
  attemptsMax: 300,
})
const payouts = createPayouts({
  ...shared,
  access,
  cursors,
  life,
  beneficiaries,
  quotes: createAcceptances({ clock }),
  chooseConnector: () => bank.id,
  proofsMissing: (_tx, payments) => Promise.resolve(payments.map(() => false)),
  ownIbans: { mayHave: () => false, among: () => Promise.resolve([]) },
  forecastOf: (_connector, payment, at) => bank.forecast(payment, at),
  waitMsOf: (_connector, payment) => bank.waitMsOf?.(payment) ?? 0,
})
const deposits = createDeposits({
  ...shared,
  access,
  ownersOf: () => Promise.resolve(new Map()),
  proofsMissing: (_tx, payments) => Promise.resolve(payments.map(() => false)),
  refunds: { stop: () => Promise.resolve([]) },
})
const isPartner = () => Promise.resolve(true)
const settlement = {
  log,
  connectors: [bank],
  payouts: life,
  payoutAges: createPayoutAges({ ...shared, forecastOf: () => undefined }),
  recalls: createRecalls({ ...shared, payouts, canRecall: () => true }),
  deposits,
  cases,
  returns: createReturns({ db, clock, ledger, record: cases.record }),
  isPartner,
  partnerIds: () => access.partnerIds(db),
}

/** A payout that the bank has accepted, still Processing under the lease of the killed worker. */
async function payoutOfKilledWorker(amount: string) {
  const partnerId = await db.transaction(async (tx) => {
    const id = await access.createPartner(tx, 'Partner')
    await deposits.creditPartner(tx, id, {
      debit: `settlement.${bank.id}` as const,
      currency: 'EUR',
      amount: 1_000_000n,
    })
    return id
  })
  const caller: Caller = { partnerId, serviceAccountId: newId(), name: 'Test', permissions: [] }
  const customer = await customers.create(partnerId, { email: 'ada@example.com' })
  const payee = { customerId: customer.id, name: 'Ada Lovelace', iban: 'DE89370400440532013000', currency: 'EUR' }
  const { id: beneficiaryId } = await beneficiaries.create(partnerId, payee)
  const body = { amount: rawNumber(amount), currency: 'EUR', beneficiaryId, idempotencyKey: newId() }
  const { payout } = await payouts.create(caller, body, '127.0.0.1')
  const [claimed] = await life.claim(bank.id, [partnerId], 1)
  assert.ok(claimed)
  const claim = await life.begin(claimed)
  assert.ok(claim)
  assert.deepEqual(await bank.instruct([claim]), [{ accepted: true }])
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

const endings = [
  {
    outcome: 'settled',
    amount: '10.00',
    finalStatus: 'Completed',
    events: ['requested', 'accepted', 'sent', 'changed'],
    posted: 999_000n,
  },
  {
    outcome: 'rejected',
    amount: '4001.01',
    finalStatus: 'Failed',
    events: ['requested', 'accepted', 'sent', 'failed', 'changed'],
    posted: 1_000_000n,
  },
  {
    outcome: 'returned',
    amount: '4001.05',
    finalStatus: 'Returned',
    events: ['requested', 'accepted', 'sent', 'changed'],
    posted: 1_000_000n,
  },
] as const

for (const { outcome, amount, finalStatus, events, posted } of endings)
  test(`a notification that a payout is ${outcome} replaces an acknowledgement that was never recorded`, async () => {
    const { partnerId, payout, claim, status } = await payoutOfKilledWorker(amount)
    clock.advance(2 * stepMs)
    while ((await processBankNotifications(settlement)) > 0);
    assert.equal(await status(), finalStatus)
    assert.deepEqual(await eventsOf(partnerId, payout.reference), events)
    assert.deepEqual(await balanceOf(partnerId), [posted, 0n])
    // Neither a late acknowledgement of the old worker nor the end of its lease changes anything.
    await life.answered(claim, { accepted: true })
    clock.advance(leaseMsMax)
    assert.equal(await submitDuePayouts(settlement), 0)
    assert.equal(await status(), finalStatus)
    assert.deepEqual(await eventsOf(partnerId, payout.reference), events)
    assert.equal(await timesReceived(partnerId, payout.id), 1)
  })
