/**
 * SIGKILL of the settlement worker at each boundary of a commit and of a call to a bank that is another process, over HTTP; a
 * new worker continues. The bank executes each instruction once, each payment ends as expected, and the ledger balances.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { BookedOrder } from '../../examples/connector/records.ts'
import { createExampleConnector } from '../../examples/connector/connector.ts'
import { hourMs } from '../../service/src/kernel/index.ts'
import { sql } from '../../service/src/postgres/index.ts'
import { processBankNotifications, submitDuePayouts } from '../../service/src/banks/settlement/index.ts'
import { checkPayments } from '../model/payments.ts'
import { addPartner, balanceOf, pay } from '../support/composition.ts'
import { killAtCrashPoints } from '../support/crash-points.ts'
import { untilEnd, useModules } from '../support/fixture.ts'

/** Fewer points mean that the worker did not run, or that its commits are not counted. */
const pointsMin = 20
const floatMinor = 2_000_000n

/** The amount selects what the example bank does (examples/connector/records.ts). */
const finalStatuses = {
  '10.00': 'Completed',
  '10.01': 'Completed',
  '71.01': 'Failed',
  '71.02': 'Failed',
  '71.03': 'Returned',
  '71.04': 'Completed',
} as const
const paidMinor = 10_00n + 10_01n + 71_04n

async function startBankProcess() {
  const file = fileURLToPath(new URL('../../examples/connector/bank-main.ts', import.meta.url))
  const child = spawn(process.execPath, [file], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [line] = (await once(child.stdout.setEncoding('utf8'), 'data')) as [string]
  const stop = async () => {
    const ended = once(child, 'exit')
    child.kill('SIGTERM')
    await ended
  }
  return { url: line.trim(), stop }
}

const service = await useModules({ chooseConnector: () => 'example' })
const bank = untilEnd(await startBankProcess())

async function scenario() {
  const partner = await addPartner(service, floatMinor)
  const expected = new Map<string, string>()
  for (const [amount, finalStatus] of Object.entries(finalStatuses)) {
    const { payout } = await pay(service, partner, amount)
    expected.set(payout.id, finalStatus)
  }
  return { partner, expected }
}

/** The work of the next worker, after the leases of the killed one have ended, whose clock ran ahead. */
async function finish(): Promise<void> {
  const settlement = { ...service.settlement, connectors: [createExampleConnector({ url: bank.url })] }
  for (let did = 1; did > 0;) {
    service.clock.advance(hourMs)
    did = (await submitDuePayouts(settlement)) + (await processBankNotifications(settlement))
  }
}

async function checkPaymentsOf(partnerId: string, expected: ReadonlyMap<string, string>): Promise<void> {
  const rows = await service.db.rows<{ id: string; status: string }>(sql`
    select id, status from payouts.payouts where partner_id = ${partnerId}`)
  assert.deepEqual(new Map(rows.map(({ id, status }) => [id, status])), expected)
  const { orders } = (await (await fetch(`${bank.url}/statement`)).json()) as {
    readonly orders: readonly BookedOrder[]
  }
  const own = orders.filter(({ onBehalfOf }) => onBehalfOf === partnerId)
  assert.equal(own.length, rows.length, 'the bank has one order for each payout')
  for (const { amount, timesExecuted } of own) assert.equal(timesExecuted, amount === '71.01' ? 0 : 1)
  // The bank recognises an order that it has. But the worker asks before it sends again, so that it needs to for none.
  for (const { timesReceived } of own) assert.equal(timesReceived, 1, 'no order was sent again that the bank has')
  const payments = await checkPayments(service.db, partnerId, new Map())
  assert.ok(payments.every(({ status }) => status !== 'Pending'))
  const posted = floatMinor - paidMinor
  assert.deepEqual(await balanceOf(service, partnerId), { posted, reserved: 0n, available: posted })
}

test('after a kill at any point, a bank over HTTP executes each payment exactly once', async (t) => {
  await killAtCrashPoints(t, { worker: 'connector', pointsMin }, async (runWorker) => {
    const { partner, expected } = await scenario()
    await runWorker(service, { partnerId: partner.partnerId, bankUrl: bank.url })
    await finish()
    await checkPaymentsOf(partner.partnerId, expected)
  })
})
