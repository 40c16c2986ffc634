/**
 * SIGKILL of the settlement worker at each boundary of a commit and of a call to the bank; a new worker continues. The
 * bank receives each instruction once, each payment ends as expected, the ledger balances, and each event occurs once.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { minuteMs } from '../../service/src/kernel/index.ts'
import { sql } from '../../service/src/postgres/index.ts'
import { submitDuePayouts, processBankNotifications } from '../../service/src/banks/settlement/index.ts'
import { checkPayments } from '../model/payments.ts'
import { addPartner, balanceOf, ip, pay } from '../support/composition.ts'
import { killAtCrashPoints } from '../support/crash-points.ts'
import { useModules } from '../support/fixture.ts'

/** Fewer points mean that the worker did not run, or that its commits are not counted. */
const pointsMin = 25

const service = await useModules({ stepMs: 0 })

/** The amount selects the behaviour of the sandbox bank. */
const finalStatuses = {
  '10.00': 'Completed',
  '10.01': 'Completed',
  '20.00': 'Completed',
  '4001.01': 'Failed',
  '4001.02': 'Failed',
  '4001.05': 'Returned',
} as const

async function scenario() {
  const partner = await addPartner(service, 2_000_000n)
  const expected = new Map<string, string>()
  for (const [amount, finalStatus] of Object.entries(finalStatuses)) {
    const { payout } = await pay(service, partner, amount)
    expected.set(payout.id, finalStatus)
  }
  const [{ iban }] = (await service.accounts.create(partner.partnerId, partner.customer.id)).ibans
  const account = { iban, currency: 'EUR' }
  const inside = await service.beneficiaries.create(partner.partnerId, { ...account, name: 'Ada Lovelace' })
  const { payout } = await pay(service, partner, '30.00', { beneficiaryId: inside.id })
  expected.set(payout.id, 'Completed')
  const deposit = { customerId: partner.customer.id, amount: 7, currency: 'EUR', outcome: 'completed' } as const
  await service.simulations.deposit(partner.caller, deposit, ip)
  return { partner, expected }
}

/** The work of the next worker, after the leases of the killed one have ended. */
async function finish(): Promise<void> {
  service.clock.advance(2 * minuteMs)
  for (let did = 1; did > 0;)
    did = (await submitDuePayouts(service.settlement)) + (await processBankNotifications(service.settlement))
}

async function checkPaymentsOf(partnerId: string, expected: ReadonlyMap<string, string>): Promise<void> {
  const rows = await service.db.rows<{ id: string; status: string; timesReceived: number | null }>(sql`
    select payout.id, payout.status, instruction.times_received from payouts.payouts as payout
    left join (
      select end_to_end_id, times_received from rails.sandbox_instructions where partner_id = ${partnerId}
      union all select end_to_end_id, times_received from rails.internal_transfers where partner_id = ${partnerId}) as instruction
      on instruction.end_to_end_id = payout.end_to_end_id
    where payout.partner_id = ${partnerId}`)
  assert.deepEqual(new Map(rows.map(({ id, status }) => [id, status])), expected)
  for (const { timesReceived } of rows) assert.equal(timesReceived, 1, 'the bank received each instruction once')
  const payments = await checkPayments(service.db, partnerId, new Map())
  assert.ok(payments.every(({ status }) => status !== 'Pending'))
  // The float, a deposit, the payouts, the refund of one, and both sides of the transfer inside.
  assert.equal(payments.length, 1 + 1 + Object.keys(finalStatuses).length + 1 + 2)
  const posted = 2_000_000n - 1000n - 1001n - 2000n + 700n
  assert.deepEqual(await balanceOf(service, partnerId), { posted, reserved: 0n, available: posted })
}

test('after a kill at any point, the next settlement worker completes each payment, and no payment is sent twice', async (t) => {
  await killAtCrashPoints(t, { worker: 'settlement', pointsMin }, async (runWorker) => {
    const { partner, expected } = await scenario()
    await runWorker(service, { partnerId: partner.partnerId })
    await finish()
    await checkPaymentsOf(partner.partnerId, expected)
  })
})
