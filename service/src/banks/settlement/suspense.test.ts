/** Unmatched reports of a bank: their money is in suspense, and an operator decides the case. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type CaseAction, operatorPartnerId } from '../../cases/index.ts'
import { dayMs, minuteMs, newId } from '../../kernel/index.ts'
import { instructionIdOf } from '../../payouts/index.ts'
import { sql } from '../../postgres/index.ts'
import type { BankNotification, Connector } from '../../rails/index.ts'
import { addPartner, balanceOf, ip, pay, stepMsDefault } from '../../../../test/support/composition.ts'
import { useModules } from '../../../../test/support/fixture.ts'
import { checkLedger as auditLedger } from '../../../../test/model/ledger-audit.ts'
import { processBankNotifications, submitDuePayouts } from './index.ts'
const service = await useModules()

/** `Omit` of each kind of notification. */
type Report = BankNotification extends infer N ? (N extends unknown ? Omit<N, 'id'> : never) : never

/** Makes the sandbox bank report this once more under a new id. Returns the id. */
async function report(told: Report, id: string = newId(), connector?: Connector) {
  const bank = connector ?? service.bank
  const acknowledged: string[] = []
  const saying: Connector = {
    ...bank,
    notifications: () => Promise.resolve([{ ...told, id } as BankNotification]),
    acknowledge: (notifications) => {
      acknowledged.push(...notifications.map((one) => one.id))
      return Promise.resolve()
    },
  }
  await processBankNotifications({ ...service.settlement, connectors: [saying] })
  return { id, acknowledged: acknowledged.length > 0 }
}

async function work(steps: number): Promise<void> {
  for (let step = 0; step < steps; step += 1) {
    await submitDuePayouts(service.settlement)
    service.clock.advance(stepMsDefault)
    await processBankNotifications(service.settlement)
  }
}

const casesOf = async (partnerId: string) =>
  (await service.cases.list(undefined, 1000)).filter((row) => row.partnerId === partnerId)

const accountOf = async (partnerId: string, name: string) =>
  (
    await service.db.row<{ posted: bigint }>(sql`
      select posted from ledger.accounts where partner_id = ${partnerId} and name = ${name} and currency = 'EUR'`)
  )?.posted ?? 0n

/** Creates a payout of 10.00 that has ended. */
async function ended(amount = '10.00') {
  const partner = await addPartner(service, 1_000_000n)
  const { partnerId } = partner
  const { payout } = await pay(service, partner, amount)
  await work(3)
  const status = async () => (await service.payouts.get(partnerId, payout.id)).status
  const subjectId = instructionIdOf(payout)
  return { partnerId, payout, status, subjectId }
}

const euros = (amount: bigint) => ({ currency: 'EUR', amount }) as const
const failure = { errorKey: 'BankRejection', details: 'No.', reasonCode: null } as const

/** Checks that the ledger balances, and that suspense equals the open cases. */
async function checkLedger(partnerId: string): Promise<void> {
  await auditLedger(service.db, partnerId)
  const open = await casesOf(partnerId)
  assert.equal(
    await accountOf(partnerId, 'suspense'),
    open.reduce((sum, { booked }) => sum + (booked ?? 0n), 0n),
  )
}

test('a settlement of a failed payout opens a case and makes suspense negative', async () => {
  const { partnerId, subjectId, status } = await ended('4001.01')
  assert.equal(await status(), 'Failed')
  const told = { kind: 'payout.settled', partnerId, subjectId, money: euros(400_101n) } as const
  const { id, acknowledged } = await report(told)
  assert.ok(acknowledged)
  await report(told, id)
  const [opened, ...more] = await casesOf(partnerId)
  assert.deepEqual(more, [], 'a repeated notification opens no second case')
  assert.deepEqual([opened?.kind, opened?.booked, opened?.notificationId], ['contradiction', -400_101n, id])
  assert.deepEqual(JSON.parse(opened?.report ?? ''), { ...told, money: { currency: 'EUR', amount: '4001.01' }, id })
  assert.equal(await status(), 'Failed')
  assert.equal((await balanceOf(service, partnerId)).available, 1_000_000n, 'the partner is not charged')
  await checkLedger(partnerId)
})

test('a payout that the bank settles and then rejects stays completed, with a case', async () => {
  const { partnerId, status } = await ended('4001.09')
  assert.equal(await status(), 'Completed')
  assert.deepEqual(
    (await casesOf(partnerId)).map(({ kind, booked }) => [kind, booked]),
    [['contradiction', 400_109n]],
  )
  await checkLedger(partnerId)
})

test('a payout settled for less completes, and the difference is in suspense', async () => {
  const { partnerId, status, payout } = await ended('4001.08')
  assert.equal(await status(), 'Completed')
  const [opened] = await casesOf(partnerId)
  assert.deepEqual([opened?.kind, opened?.booked, opened?.subject], ['amount_differs', 100n, payout.id])
  assert.equal((await balanceOf(service, partnerId)).posted, 1_000_000n - 400_108n)
  // The bank holds the float less the amount paid out.
  assert.equal(await accountOf(partnerId, 'settlement.sandbox'), -(1_000_000n - 400_008n))
  await checkLedger(partnerId)
})

test('after a return of more than was paid the partner gets what it paid, and the excess is in suspense', async () => {
  const { partnerId, subjectId, status } = await ended()
  await report({ kind: 'payout.returned', partnerId, subjectId, ...failure, money: euros(1200n) })
  assert.equal(await status(), 'Returned')
  assert.equal((await balanceOf(service, partnerId)).posted, 1_000_000n)
  assert.deepEqual(
    (await casesOf(partnerId)).map(({ kind, booked }) => [kind, booked]),
    [['amount_differs', 200n]],
  )
  await checkLedger(partnerId)
})

for (const isSettled of [true, false])
  test(`a partial return ${isSettled ? 'after' : 'before'} the settlement gives the partner the returned amount`, async () => {
    const partner = await addPartner(service, 1_000_000n)
    const { partnerId } = partner
    const { payout } = await pay(service, partner, isSettled ? '10.00' : '4001.07')
    await work(3)
    const paid = isSettled ? 1000n : 400_107n
    const subjectId = instructionIdOf(payout)
    await report({ kind: 'payout.returned', partnerId, subjectId, ...failure, money: euros(700n) })
    assert.equal((await service.payouts.get(partnerId, payout.id)).status, 'Returned')
    const balance = 1_000_000n - paid + 700n
    assert.deepEqual(await balanceOf(service, partnerId), { posted: balance, reserved: 0n, available: balance })
    assert.deepEqual(
      (await casesOf(partnerId)).map(({ kind, booked }) => [kind, booked]),
      [['amount_differs', null]],
    )
    await checkLedger(partnerId)
  })

test('reports about unknown payments of a known or unknown partner, or with invalid ids, open cases with their money in suspense', async () => {
  const { partnerId } = await addPartner(service)
  await report({ kind: 'payout.returned', partnerId, subjectId: newId(), ...failure, money: euros(500n) })
  await report({ kind: 'deposit.settled', partnerId, subjectId: 'NOTPROVIDED', money: euros(300n) })
  await report({ kind: 'deposit.initiated', partnerId, subjectId: newId() })
  assert.deepEqual(
    (await casesOf(partnerId)).map(({ kind, booked }) => [kind, booked]),
    [
      ['unknown_payment', 500n],
      ['unknown_payment', 300n],
      ['unknown_payment', null],
    ],
  )
  await checkLedger(partnerId)
  const before = await accountOf(operatorPartnerId, 'suspense')
  for (const stranger of [newId(), 'DE89370400440532013000'])
    await report({ kind: 'deposit.settled', partnerId: stranger, subjectId: newId(), money: euros(50n) })
  assert.equal(await accountOf(operatorPartnerId, 'suspense'), before + 100n)
  await checkLedger(operatorPartnerId)
})

test('a report from another connector, or in another currency, does not change a payout', async () => {
  const partner = await addPartner(service, 1_000_000n)
  const { partnerId } = partner
  const { payout } = await pay(service, partner, '4001.07')
  await work(1)
  const subjectId = instructionIdOf(payout)
  const settled = { kind: 'payout.settled', partnerId, subjectId } as const
  await report({ ...settled, money: euros(400_107n) }, newId(), { ...service.bank, id: 'other' })
  await report({ ...settled, money: { currency: 'USD', amount: 400_107n } })
  assert.equal((await service.payouts.get(partnerId, payout.id)).status, 'Sent')
  assert.deepEqual(
    (await casesOf(partnerId)).map(({ kind, connector, currency }) => [kind, connector, currency]),
    [
      ['contradiction', 'other', 'EUR'],
      ['contradiction', 'sandbox', 'USD'],
    ],
  )
  await auditLedger(service.db, partnerId)
})

test('a report of an unsubmitted payout waits until its submission', async () => {
  const partner = await addPartner(service, 1_000_000n)
  const { partnerId } = partner
  const { payout } = await pay(service, partner, '4001.07')
  const subjectId = instructionIdOf(payout)
  const told = { kind: 'payout.settled', partnerId, subjectId, money: euros(400_107n) } as const
  const { id, acknowledged } = await report(told)
  assert.equal(acknowledged, false)
  await submitDuePayouts(service.settlement)
  assert.equal((await report(told, id)).acknowledged, true)
  assert.equal((await service.payouts.get(partnerId, payout.id)).status, 'Completed')
  assert.deepEqual(await casesOf(partnerId), [])
})

test('a report of zero or a negative amount does not change a payment', async () => {
  for (const amount of [0n, -5n]) {
    const { partnerId, subjectId, status } = await ended()
    const { acknowledged } = await report({
      kind: 'payout.returned',
      partnerId,
      subjectId,
      ...failure,
      money: euros(amount),
    })
    assert.ok(acknowledged)
    assert.equal(await status(), 'Completed')
    const deposit = await openDeposit('completed')
    service.clock.advance(3 * stepMsDefault)
    await processBankNotifications(service.settlement)
    const { partnerId: owner, subjectId: depositId } = deposit
    await report({ kind: 'deposit.settled', partnerId: owner, subjectId: depositId, money: euros(amount) })
    assert.equal(await deposit.status(), 'Pending')
    for (const id of [partnerId, owner]) {
      assert.deepEqual(
        (await casesOf(id)).map(({ kind, booked }) => [kind, booked]),
        [['contradiction', amount === 0n ? null : amount]],
      )
      await checkLedger(id)
    }
  }
})

async function openDeposit(outcome: 'completed' | 'expired') {
  const partner = await addPartner(service)
  const body = { customerId: partner.customer.id, amount: 7, currency: 'EUR', outcome } as const
  const { reference } = await service.simulations.deposit(partner.caller, body, ip)
  const row = await service.db.row<{ id: string }>(
    sql`select id from deposits.deposits where partner_id = ${partner.partnerId}`,
  )
  const { partnerId } = partner
  const status = async () => (await service.transactions.get(partnerId, reference)).row.status
  return { partner, partnerId, subjectId: row?.id ?? '', status }
}

test('notifications of a deposit in the wrong order are applied in the right order', async () => {
  const { partnerId, status } = await openDeposit('completed')
  service.clock.advance(10 * stepMsDefault)
  const reversed: Connector = {
    ...service.bank,
    notifications: async (max) => (await service.bank.notifications(max)).toReversed(),
  }
  for (let step = 0; step < 5; step += 1)
    await processBankNotifications({ ...service.settlement, connectors: [reversed] })
  assert.equal(await status(), 'Completed')
  assert.equal((await balanceOf(service, partnerId)).posted, 700n)
  assert.deepEqual(await casesOf(partnerId), [])
})

test('a credit for another amount than expected fails the deposit, and the money is in suspense', async () => {
  const { partnerId, subjectId, status } = await openDeposit('completed')
  service.clock.advance(3 * stepMsDefault)
  await processBankNotifications(service.settlement)
  await report({ kind: 'deposit.settled', partnerId, subjectId, money: euros(650n) })
  assert.equal(await status(), 'Unsuccessful')
  assert.equal((await balanceOf(service, partnerId)).posted, 0n)
  assert.deepEqual(
    (await casesOf(partnerId)).map(({ kind, booked }) => [kind, booked]),
    [['amount_differs', 650n]],
  )
  // The sandbox bank's own notification still arrives: the money counts twice.
  service.clock.advance(minuteMs)
  await processBankNotifications(service.settlement)
  assert.equal((await casesOf(partnerId)).length, 2)
  await checkLedger(partnerId)
})

const operatorCase = async (subject: string) => {
  const found = (await casesOf(operatorPartnerId)).find((row) => row.subject === subject)
  assert.ok(found, 'a case is open')
  return found
}

for (const why of ['bank_fee', 'doubled', 'unknown_debit'] as const)
  test(`a debit without an instruction is booked to suspense with a case: ${why}`, async () => {
    const subjectId = newId()
    const account = 'DE89370400440532013000'
    const debit = { kind: 'debit.booked', why, account, money: euros(123n), details: 'The bank took 1.23.' } as const
    const told = await report({ ...debit, partnerId: operatorPartnerId, subjectId })
    assert.ok(told.acknowledged)
    const { kind, booked } = await operatorCase(subjectId)
    assert.deepEqual([kind, booked], [why, -123n])
    assert.ok((await report({ ...debit, partnerId: operatorPartnerId, subjectId }, told.id)).acknowledged)
    const repeated = (await casesOf(operatorPartnerId)).filter((row) => row.subject === subjectId)
    assert.equal(repeated.length, 1, 'a repetition opens no second case')
    await checkLedger(operatorPartnerId)
  })

test('an unmatched report without money opens a case without money', async () => {
  const subjectId = newId()
  const oddity = { kind: 'oddity', what: 'file_unreadable', details: 'The file ends in the middle.' } as const
  await report({ ...oddity, partnerId: operatorPartnerId, subjectId })
  const { kind, booked, report: told } = await operatorCase(subjectId)
  assert.deepEqual([kind, booked], ['file_unreadable', null])
  assert.match(told, /The file ends in the middle/)
})

/** Decides a case: one person proposes, another approves. */
const decide = async (partnerId: string, id: string, action: CaseAction, toPartnerId = partnerId) => {
  const key = { partnerId, id }
  const { db, decisions } = service
  const proposed = { ...key, action, staff: 'ada', note: 'asked the bank', toPartnerId }
  const { resolution } = await db.transaction((tx) => decisions.propose(tx, proposed))
  if (resolution === null) await db.transaction((tx) => decisions.approve(tx, { ...key, staff: 'grace' }))
}

test('the operator credits a late credit of an expired deposit exactly once, even if two do so concurrently', async () => {
  const { partnerId, subjectId, status } = await openDeposit('expired')
  service.clock.advance(dayMs)
  await service.deposits.expireDue(100)
  assert.equal(await status(), 'Expired')
  await report({ kind: 'deposit.settled', partnerId, subjectId, money: euros(700n) })
  const [opened] = await casesOf(partnerId)
  assert.equal(opened?.booked, 700n)
  const decisions = await Promise.allSettled([1, 2].map(() => decide(partnerId, opened.id, 'credit')))
  assert.deepEqual(decisions.map((decision) => decision.status).toSorted(), ['fulfilled', 'rejected'])
  assert.equal((await balanceOf(service, partnerId)).posted, 700n)
  const { data } = await service.transactions.list(partnerId, { category: 'Deposit', status: 'Completed' })
  assert.deepEqual(
    data.map(({ row }) => [row.amount, row.status]),
    [[700n, 'Completed']],
  )
  assert.deepEqual(await casesOf(partnerId), [])
  await checkLedger(partnerId)
})

test('money that belongs to no partner can be credited to a partner, reversed or written off', async () => {
  const { partnerId } = await addPartner(service)
  const openOne = async (amount: bigint) => {
    const { id } = await report({
      kind: 'deposit.settled',
      partnerId: newId(),
      subjectId: newId(),
      money: euros(amount),
    })
    const found = (await casesOf(operatorPartnerId)).find(({ notificationId }) => notificationId === id)
    assert.ok(found)
    return found.id
  }
  const fees = await accountOf(operatorPartnerId, 'fees')
  await decide(operatorPartnerId, await openOne(70n), 'credit', partnerId)
  await decide(operatorPartnerId, await openOne(30n), 'reverse')
  await decide(operatorPartnerId, await openOne(20n), 'write-off')
  assert.equal((await balanceOf(service, partnerId)).posted, 70n)
  assert.equal(await accountOf(partnerId, 'settlement.sandbox'), -70n)
  assert.equal(await accountOf(operatorPartnerId, 'fees'), fees + 20n)
  for (const id of [operatorPartnerId, partnerId]) await checkLedger(id)
})

test('a decision that does not apply to the case is refused, and changes nothing', async () => {
  const { partnerId, subjectId } = await ended('4001.01')
  await report({ kind: 'payout.settled', partnerId, subjectId, money: euros(400_101n) })
  await report({ kind: 'payout.rejected', partnerId, subjectId: newId(), ...failure })
  const [left, moneyless] = await casesOf(partnerId)
  assert.ok(left && moneyless)
  await assert.rejects(decide(partnerId, left.id, 'credit'), /the money of the case left/i)
  await assert.rejects(decide(partnerId, left.id, 'note'), /has money/)
  await assert.rejects(decide(partnerId, moneyless.id, 'reverse'), /has no money/)
  await assert.rejects(decide(partnerId, newId(), 'note'), /No such case/)
  await assert.rejects(decide(operatorPartnerId, left.id, 'reverse'), /No such case/)
  assert.equal((await casesOf(partnerId)).length, 2)
  await decide(partnerId, left.id, 'write-off')
  await decide(partnerId, moneyless.id, 'note')
  assert.equal(await accountOf(partnerId, 'fees'), -400_101n)
  await assert.rejects(decide(partnerId, left.id, 'reverse'), /was written_off by ada/)
  await checkLedger(partnerId)
})

test('open cases are listed in pages, each once, oldest first', async () => {
  const { partnerId } = await addPartner(service)
  for (let count = 0; count < 3; count += 1)
    await report({ kind: 'deposit.settled', partnerId, subjectId: newId(), money: euros(1n) })
  const whole = await service.cases.list(undefined, 1000)
  const paged: (typeof whole)[number][] = []
  for (
    let page = await service.cases.list(undefined, 2);
    page.length > 0;
    page = await service.cases.list(page.at(-1), 2)
  )
    paged.push(...page)
  assert.ok(whole.length > 4)
  assert.deepEqual(paged, whole)
})
