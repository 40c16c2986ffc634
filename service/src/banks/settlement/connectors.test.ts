/** Several connectors, and connectors after a restore. */
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { rawNumber } from '@partner-payments/wire'
import {
  addPartner,
  createTestService,
  ip,
  pay,
  type Service,
  type TestPartner,
} from '../../../../test/support/composition.ts'
import { startSettlement } from '../../../../test/support/jobs.ts'
import { until } from '../../../../test/support/until.ts'
import { useModules } from '../../../../test/support/fixture.ts'
import { Unreachable } from '../../kernel/api/index.ts'
import { hourMs, minuteMs, newId, secondMs } from '../../kernel/index.ts'
import { sql } from '../../postgres/index.ts'
import type { Connector, Instruction } from '../../rails/index.ts'
import { processBankNotifications, submitDuePayouts } from './index.ts'

/** The bank keeps the records of the first service. */
const first = await createTestService()
const restored = await createTestService({ wrapConnector: () => first.settlement.connectors[0] ?? first.bank })

suite('connectors', async () => {
  /** A bank that never answers, as if its network dropped every packet. It records received instructions. */
  function createHangingConnector(callTimeoutMs: number) {
    const received: Instruction[] = []
    const aborted: boolean[] = []
    const hang = () => new Promise<never>(() => undefined)
    const connector: Connector = {
      id: 'hanging',
      forecast: () => ({ possible: false, errorKey: 'BankUnreachable', details: 'The bank does not answer.' }),
      limits: { instructionsPerCallMax: 8, callsMax: 2, callTimeoutMs },
      instruct: (instructions, options) => {
        received.push(...instructions)
        options?.signal.addEventListener('abort', () => aborted.push(true))
        return hang()
      },
      find: hang,
      notifications: hang,
      acknowledge: hang,
      oldestNotification: () => Promise.resolve(null),
    }
    return { connector, received, aborted }
  }

  const hanging = createHangingConnector(200)
  const service = await useModules({
    stepMs: 0,
    connectors: [hanging.connector],
    chooseConnector: ({ currency }) => (currency === 'USD' ? 'hanging' : 'sandbox'),
  })

  /** A partner with a beneficiary in dollars, whom the hanging bank pays. */
  async function addDollarPartner() {
    const partner = await addPartner(service, 1_000_000n)
    const { partnerId, caller } = partner
    const account = { iban: 'DE89370400440532013000', currency: 'USD', name: 'Dolly' }
    const { id: beneficiaryId } = await service.beneficiaries.create(partnerId, account)
    const money = { debit: 'settlement.hanging' as const, currency: 'USD', amount: 1_000_000n } as const
    await service.db.transaction((tx) => service.deposits.creditPartner(tx, partnerId, money))
    const payDollars = async () => {
      const body = { amount: rawNumber('10.00'), currency: 'USD', beneficiaryId, idempotencyKey: newId() }
      return (await service.payouts.create(caller, body, ip)).payout
    }
    return { ...partner, payDollars }
  }

  const connectorOf = async (partnerId: string, id: string) =>
    (
      await service.db.row<{ connector: string }>(
        sql`select connector from payouts.payouts where partner_id = ${partnerId} and id = ${id}`,
      )
    )?.connector

  test('a payout records its connector, reserves against its settlement account, and is sent only to its bank', async () => {
    const partner = await addDollarPartner()
    const dollars = await partner.payDollars()
    const { payout: euros } = await pay(service, partner, '10.00')
    assert.equal(await connectorOf(partner.partnerId, dollars.id), 'hanging')
    assert.equal(await connectorOf(partner.partnerId, euros.id), 'sandbox')
    const accounts = await service.db.rows<{ name: string; currency: string }>(sql`
    select name, currency from ledger.accounts where partner_id = ${partner.partnerId} order by currency, name`)
    assert.deepEqual(
      accounts.map(({ name, currency }) => `${currency} ${name}`),
      ['EUR balance', 'EUR settlement.sandbox', 'USD balance', 'USD settlement.hanging'],
    )
    hanging.received.splice(0)
    assert.equal(await submitDuePayouts(service.settlement), 2)
    assert.deepEqual(
      hanging.received.map(({ amount, currency }) => [amount, currency]),
      [[1000n, 'USD']],
    )
    assert.deepEqual(hanging.aborted.splice(0), [true], 'the connector is told that its call is over')
    assert.equal((await service.payouts.get(partner.partnerId, dollars.id)).status, 'Processing')
    assert.notEqual((await service.payouts.get(partner.partnerId, euros.id)).status, 'Processing')
  })

  test('payouts of one bank complete while the other bank hangs, and its breaker holds its payouts back', async () => {
    const partner = await addDollarPartner()
    for (let at = 0; at < 60; at += 1) await partner.payDollars()
    const states: boolean[] = []
    const observe = {
      instructions: () => undefined,
      bankNotification: () => undefined,
      answered: () => undefined,
      failed: () => undefined,
      age: () => undefined,
      connector: (id: string, { isOpen }: { readonly isOpen: boolean }) => {
        if (id === 'hanging') states.push(isOpen)
      },
    }
    const running = startSettlement(service, { observe })
    try {
      const paid = await Promise.all(Array.from({ length: 20 }, () => pay(service, partner, '1.00')))
      await until('the payouts of the other bank have ended', async () => {
        service.clock.advance(1)
        const rows = await service.payouts.list(partner.partnerId, { status: 'Completed', limit: '100' })
        return rows.data.length >= paid.length
      })
      await until('the breaker is open', () => states.at(-1) === true)
      const attempts = await service.db.row<{ most: number; none: bigint }>(sql`
      select max(send_attempts) as most, count(*) filter (where send_attempts = 0) as none from payouts.payouts
      where partner_id = ${partner.partnerId} and connector = 'hanging'`)
      assert.ok(Number(attempts?.none) > 0, 'payouts that were held back count no attempt')
    } finally {
      await running.stop()
    }
  })

  test('payouts of a connector that throws wait for the next attempt, and the other payouts continue', async () => {
    const defect = new TypeError('a defect of the connector')
    const faulty: Connector = {
      ...hanging.connector,
      instruct: () => Promise.reject(defect),
      notifications: () => Promise.reject(new Unreachable('downstream_unreachable', 'no route')),
    }
    const partner = await addDollarPartner()
    const dollars = await partner.payDollars()
    const { payout: euros } = await pay(service, partner, '2.00')
    const [bank] = service.settlement.connectors
    assert.ok(bank)
    await submitDuePayouts({ ...service.settlement, connectors: [faulty, bank] })
    assert.equal((await service.payouts.get(partner.partnerId, dollars.id)).status, 'Processing')
    assert.notEqual((await service.payouts.get(partner.partnerId, euros.id)).status, 'Processing')
    service.clock.advance(20 * secondMs)
    assert.ok((await service.payoutLife.partnersWithDue('hanging', 10)).includes(partner.partnerId), 'due again')
  })

  test('an answer with a wrong number of outcomes is an error and changes no payouts', async () => {
    const short: Connector = { ...hanging.connector, instruct: () => Promise.resolve([]) }
    const partner = await addDollarPartner()
    const dollars = await partner.payDollars()
    await submitDuePayouts({ ...service.settlement, connectors: [short] })
    const { status, sendAttempts } = await service.payouts.get(partner.partnerId, dollars.id)
    assert.deepEqual([status, sendAttempts], ['Processing', 1])
  })

  test('a payout that its connector holds until later does not fail: the bank is asked then, and the payout is sent', async () => {
    const opensAt = new Date(service.clock.now().getTime() + 12 * hourMs)
    const keeping: Connector = {
      ...hanging.connector,
      instruct: (instructions) => Promise.resolve(instructions.map(() => ({ accepted: true, notBefore: opensAt }))),
      find: (keys) =>
        Promise.resolve(
          keys.map(() => ({ accepted: true, ...(service.clock.now() < opensAt ? { notBefore: opensAt } : {}) })),
        ),
    }
    const settlement = { ...service.settlement, connectors: [keeping] }
    const partner = await addDollarPartner()
    const { id } = await partner.payDollars()
    while ((await submitDuePayouts(settlement)) > 0);
    const stand = async () => {
      const { status, sendAttempts } = await service.payouts.get(partner.partnerId, id)
      return [status, sendAttempts]
    }
    assert.deepEqual(await stand(), ['Processing', 1])
    const aged = async () =>
      (await service.payoutAges.oldestUnfinished([partner.partnerId])).find((age) => age.status === 'Processing')?.ageMs
    assert.equal(await aged(), 0, 'it waits on purpose')
    service.clock.advance(11 * hourMs)
    await submitDuePayouts(settlement)
    assert.deepEqual(await stand(), ['Processing', 1], 'not asked about yet')
    service.clock.advance(2 * hourMs)
    while ((await submitDuePayouts(settlement)) > 0);
    assert.deepEqual(await stand(), ['Sent', 2])
  })
})

suite('restore', () => {
  after(async () => {
    await restored.close()
    await first.close()
  })

  /** Creates a partner in both databases, and a payout in the first one only. */
  async function partnerOfBoth(): Promise<Readonly<{ before: TestPartner; restoredTo: TestPartner }>> {
    const before = await addPartner(first, 1_000_00n)
    const restoredTo = await addPartner(restored, 1_000_00n, before.partnerId)
    return { before, restoredTo }
  }

  const instructionsOf = (partnerId: string) =>
    first.db.rows<{ id: string; timesReceived: number }>(
      sql`select id, times_received from rails.sandbox_instructions where partner_id = ${partnerId}`,
    )
  const statusOf = async (service: Service, { partnerId }: TestPartner, id: string) =>
    (await service.payouts.get(partnerId, id)).status

  test('a payout repeated after a restore has the instruction of the first payout, and is paid exactly once', async () => {
    const { before, restoredTo } = await partnerOfBoth()
    const request = { idempotencyKey: 'rent 2026-03', reference: 'RENT 3' }
    const paid = await pay(first, before, '12.00', request)
    await submitDuePayouts(first.settlement)
    assert.equal(await statusOf(first, before, paid.payout.id), 'Sent')

    const repeated = await pay(restored, restoredTo, '12.00', request)
    assert.equal(repeated.replayed, false)
    assert.notEqual(repeated.payout.id, paid.payout.id)
    assert.equal(repeated.payout.endToEndId, paid.payout.endToEndId)
    await submitDuePayouts(restored.settlement)
    assert.deepEqual(
      (await instructionsOf(before.partnerId)).map(({ timesReceived }) => timesReceived),
      [2],
      'one instruction, received twice',
    )
    for (const { clock } of [first, restored]) clock.advance(minuteMs)
    assert.equal(await processBankNotifications(restored.settlement), 1)
    assert.equal(await statusOf(restored, restoredTo, repeated.payout.id), 'Completed')
  })

  test('payouts with other keys, or of other partners with the same key, have separate instructions', async () => {
    const { before } = await partnerOfBoth()
    const other = await addPartner(first, 1_000_00n)
    const paid = [
      await pay(first, before, '1.00', { idempotencyKey: 'a' }),
      await pay(first, before, '1.00', { idempotencyKey: 'b' }),
      await pay(first, other, '1.00', { idempotencyKey: 'a' }),
    ]
    assert.equal(new Set(paid.map(({ payout }) => payout.endToEndId)).size, paid.length)
    await submitDuePayouts(first.settlement)
    assert.equal((await instructionsOf(before.partnerId)).length, 2)
  })
})
