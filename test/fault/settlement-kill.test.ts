/**
 * The settlement worker dies by SIGKILL at every boundary of a commit and of a call to the bank, one after another; a
 * new worker goes on. Whatever the line, the bank has each instruction once, each payment comes to its right end, the
 * books balance and every event is told once.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { minuteMs } from '../../service/src/kernel/index.ts'
import { sql } from '../../service/src/postgres/index.ts'
import { submitDuePayouts, processBankNotifications } from '../../service/src/settlement/index.ts'
import { checkPayments } from '../model/payments.ts'
import { addPartner, balanceOf, createTestService, type Service, ip, pay } from '../support/composition.ts'
import { killEverywhere } from '../support/crash-points.ts'

/** Fewer would mean that the worker was not there, or that its commits are no longer seen. */
const pointsMin = 40

let service: Service
before(async () => {
  service = await createTestService({ stepMs: 0 })
})
after(() => service.close())

/** The amount chooses what the bank does; a deposit goes the same way. */
const ends = { '10.00': 'Completed', '4001.01': 'Failed', '4001.05': 'Returned' } as const

async function scenario() {
  const partner = await addPartner(service, 1_000_000n)
  const expected = new Map<string, string>()
  for (const [amount, end] of Object.entries(ends)) {
    const { payout } = await pay(service, partner, amount)
    expected.set(payout.id, end)
  }
  const deposit = { customerId: partner.customer.id, amount: 7, currency: 'EUR', outcome: 'completed' } as const
  await service.simulations.deposit(partner.caller, deposit, ip)
  return { partner, expected }
}

/** What the next worker does, once the dead one's leases have run out. */
async function goOn(): Promise<void> {
  service.clock.advance(2 * minuteMs)
  for (let did = 1; did > 0;)
    did = (await submitDuePayouts(service.settlement)) + (await processBankNotifications(service.settlement))
}

async function checkEnds(partnerId: string, expected: ReadonlyMap<string, string>): Promise<void> {
  const rows = await service.db.rows<{ id: string; status: string; timesReceived: number | null }>(sql`
    select p.id, p.status, i.times_received from payouts.payouts p
    left join rails.sandbox_instructions i on i.partner_id = ${partnerId} and i.id = p.id
    where p.partner_id = ${partnerId}`)
  assert.deepEqual(new Map(rows.map(({ id, status }) => [id, status])), expected)
  for (const { timesReceived } of rows) assert.equal(timesReceived, 1, 'the bank has each instruction once')
  const payments = await checkPayments(service.db, partnerId, new Map())
  assert.ok(payments.every(({ status }) => status !== 'Pending'))
  // The float, a float's deposit, three payouts, and what gives the third one back.
  assert.equal(payments.length, 1 + 1 + 3 + 1)
  const posted = 1_000_000n - 1000n + 700n
  assert.deepEqual(await balanceOf(service, partnerId), { posted, reserved: 0n, available: posted })
}

test('killed at any point, the worker has sent nothing twice and its successor loses nothing', async (t) => {
  const points = await killEverywhere(t, 'settlement-child.ts', async (runChild) => {
    const { partner, expected } = await scenario()
    await runChild(service.url, partner.partnerId, service.clock.now().toISOString())
    await goOn()
    await checkEnds(partner.partnerId, expected)
  })
  assert.ok(points >= pointsMin, `only ${points} points were passed`)
})
