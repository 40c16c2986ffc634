/** Statements of balances and customers, and transfers between the parties of a balance, over the routes. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type BodyOf, decimalText, rawNumber, type ResponseOf } from '@partner-payments/wire'
import { addPartner, pay, type TestPartner } from '../../../test/support/composition.ts'
import { dayMs, firstIdOf, idTime, newId } from '../kernel/index.ts'
import { type AccountName, createCheckpoints, singleEntry } from '../ledger/index.ts'
import { type EntryPage, readEntries } from '../../../test/support/entries.ts'
import { accountsRoutes } from './index.ts'
import { checkLedger } from '../../../test/model/ledger-audit.ts'
import { ledgerFindings } from '../../../test/support/integrity.ts'
import { useModules } from '../../../test/support/fixture.ts'
import { refused } from '../../../test/support/refusals.ts'
const service = await useModules({ connectionsMax: 12 })

type Move = {
  readonly amount: bigint
  readonly partyId: string
  readonly from?: AccountName
  readonly to?: AccountName
  readonly currency?: 'EUR' | 'USD'
}
const settlement = 'settlement.sandbox'

/** Books one transfer from outside the balances. Default: into the balance. */
async function move(partnerId: string, { amount, partyId, from = settlement, to = 'balance', currency = 'EUR' }: Move) {
  const transfer = { partnerId, debit: from, credit: to, currency, amount, partyId, reference: `r-${amount}` }
  await service.db.transaction((tx) => service.ledger.enter(tx, singleEntry('bank', transfer)))
}

function callsOf({ caller }: Pick<TestPartner, 'caller'>) {
  const routes = accountsRoutes(service.accounts, service.idempotency)
  const call = { caller, requestId: newId(), ip: '192.0.2.1', body: undefined }
  return {
    balances: async (query = {}) => (await routes.listAccounts({ ...call, params: {}, query })).body.data,
    entries: async (id: string, query = {}) =>
      (await routes.listAccountEntries({ ...call, params: { id }, query })).body,
    customerBalances: async (id: string, query = {}) =>
      (await routes.listCustomerBalances({ ...call, params: { id }, query })).body.data,
    customerEntries: async (id: string, currency: string, query = {}) =>
      (await routes.listCustomerAccountEntries({ ...call, params: { id, currency }, query })).body,
  }
}

const shown = ({ direction, amount, balance }: EntryPage['data'][number]) =>
  `${direction === 'Inward' ? '+' : '-'}${decimalText(amount)} ${decimalText(balance)}`
const sums = ({ currency, posted, reserved, available }: ResponseOf<'listCustomerBalances'>['data'][number]) =>
  [currency, ...[posted, reserved, available].map(decimalText)].join(' ')

/** Waits for the next millisecond, so that later transfers have later ids. */
async function nextMoment(): Promise<Date> {
  const start = idTime(newId()).getTime()
  for (;;) {
    const now = idTime(newId())
    if (now.getTime() > start) return now
    await new Promise((resolve) => setImmediate(resolve))
  }
}

test('a statement shows the transfers of posted money, newest first, with the balance after each entry', async () => {
  const partner = await addPartner(service)
  const { partnerId, customer } = partner
  const calls = callsOf(partner)
  await move(partnerId, { amount: 100_00n, partyId: partnerId })
  await move(partnerId, { amount: 7_01n, partyId: customer.id, from: 'suspense' })
  await move(partnerId, { amount: 30n, partyId: customer.id, from: 'balance', to: 'fees' })
  await pay(service, partner, '50.00')
  const [balance] = await calls.balances()
  assert(balance !== undefined)
  const { data, hasMore } = await calls.entries(balance.id)
  assert.deepEqual(data.map(shown), ['-0.30 106.71', '+7.01 107.01', '+100.00 100.00'], 'a reserve is no entry')
  assert.deepEqual(
    data.map(({ counterAccount, customerId, reference }) => [counterAccount, customerId, reference]),
    [
      ['Fees', customer.id, 'r-30'],
      ['Suspense', customer.id, 'r-701'],
      ['Settlement', undefined, 'r-10000'],
    ],
  )
  assert.equal(hasMore, false)
  assert.deepEqual([balance.posted, balance.reserved].map(decimalText), ['106.71', '50.00'])
})

test('pages contain each entry once, also across checkpoints, and a period contains the entries between its times', async () => {
  const partner = await addPartner(service)
  const { partnerId } = partner
  const calls = callsOf(partner)
  for (let amount = 1n; amount <= 5n; amount += 1n) await move(partnerId, { amount, partyId: partnerId })
  const from = await nextMoment()
  for (let amount = 6n; amount <= 9n; amount += 1n) await move(partnerId, { amount, partyId: partnerId })
  const to = await nextMoment()
  for (let amount = 10n; amount <= 12n; amount += 1n) await move(partnerId, { amount, partyId: partnerId })
  const id = (await calls.balances())[0]?.id ?? ''
  const period = { from: from.toISOString(), to: to.toISOString() }
  const expected = ['+0.09 0.45', '+0.08 0.36', '+0.07 0.28', '+0.06 0.21']
  const check = async () => {
    const all = await readEntries((query) => calls.entries(id, query), { limit: '5' })
    assert.deepEqual([all.length, all.slice(3, 7).map(shown), all.at(-1)?.amount], [12, expected, all[11]?.balance])
    const between = await readEntries((query) => calls.entries(id, query), { limit: '3', ...period })
    assert.deepEqual(between.map(shown), expected)
  }
  await check()
  const limits = { transfersPerStretch: 2, clockDifferenceMsMax: 0 }
  await createCheckpoints({ ...service, partnerIds: async () => [partnerId], limits }).checkpointStep()
  await check()
  const { nextCursor } = await calls.entries(id, { limit: '1' })
  const cursor = nextCursor ?? ''
  await assert.rejects(calls.entries(id, { cursor, ...period }), refused('validation_failed', '/query/cursor'))
  const empty = await calls.entries(id, { from: period.to, to: period.from })
  assert.deepEqual(empty, { data: [], nextCursor: null, hasMore: false })
})

test('a past balance contains the transfers before that time, and a balance that did not exist then is absent', async () => {
  const partner = await addPartner(service)
  const { partnerId, customer } = partner
  const calls = callsOf(partner)
  const first = await nextMoment()
  await move(partnerId, { amount: 5_00n, partyId: customer.id })
  const second = await nextMoment()
  await move(partnerId, { amount: 2_00n, partyId: customer.id })
  await move(partnerId, { amount: 1n, partyId: customer.id, currency: 'USD' })
  await pay(service, partner, '1.00')
  const at = (moment: Date) => ({ at: moment.toISOString() })
  assert.deepEqual(await calls.balances(at(first)), [])
  assert.deepEqual(await calls.customerBalances(customer.id, at(first)), [])
  const past = await calls.balances(at(second))
  assert.deepEqual(past.map(sums), ['EUR 5.00 0.00 5.00'])
  assert.equal(past[0]?.asOf, second.toISOString())
  const now = ['EUR 7.00 1.00 6.00', 'USD 0.01 0.00 0.01']
  assert.deepEqual((await calls.balances()).map(sums).toSorted(), now)
  assert.deepEqual((await calls.balances(at(await nextMoment()))).map(sums).toSorted(), now)
  assert.deepEqual((await calls.customerBalances(customer.id)).map(sums), now)
  assert.deepEqual((await calls.customerBalances(customer.id, at(second))).map(sums), ['EUR 5.00 0.00 5.00'])
  const later = await calls.balances({ at: '9999-12-31T23:59:59.999Z' })
  assert.deepEqual(later.map(sums).toSorted(), now)
  assert.equal(later[0]?.asOf, service.clock.now().toISOString(), 'the time of reading')
  assert.deepEqual(await calls.balances({ at: '0001-01-01T00:00:00Z' }), [])
})

test('the statement of a customer contains only the entries of its payments, with their own sum', async () => {
  const partner = await addPartner(service)
  const { partnerId, customer } = partner
  const calls = callsOf(partner)
  const other = await service.customers.create(partnerId, { email: 'joan@example.com' })
  await move(partnerId, { amount: 100_00n, partyId: partnerId })
  await move(partnerId, { amount: 3_00n, partyId: customer.id })
  await move(partnerId, { amount: 9_00n, partyId: other.id })
  await move(partnerId, { amount: 8_00n, partyId: customer.id, from: 'balance', to: settlement })
  for (const id of [customer.id, customer.serviceId]) {
    const { data } = await calls.customerEntries(id, 'EUR')
    assert.deepEqual(data.map(shown), ['-8.00 -5.00', '+3.00 3.00'])
    assert.ok(data.every((entry) => !('customerId' in entry)))
  }
  assert.deepEqual((await calls.customerBalances(customer.id)).map(sums), ['EUR -5.00 0.00 -5.00'])
  assert.deepEqual((await calls.customerEntries(customer.id, 'USD')).data, [], 'the partner has no such balance')
  const { nextCursor } = await calls.customerEntries(customer.id, 'EUR', { limit: '1' })
  const cursor = nextCursor ?? ''
  await assert.rejects(
    calls.customerEntries(other.id, 'EUR', { cursor }),
    refused('validation_failed', '/query/cursor'),
  )
})

test('the balances of each page add up while payments are booked, and so do those of a whole past period', async () => {
  const partner = await addPartner(service, 1_000_00n)
  const { partnerId, customer } = partner
  const calls = callsOf(partner)
  const id = (await calls.balances())[0]?.id ?? ''
  const addsUp = (entries: EntryPage['data']) => {
    const cents = (amount: EntryPage['data'][number]['amount']) => BigInt(decimalText(amount).replace('.', ''))
    for (const [index, { direction, amount, balance }] of entries.entries()) {
      const earlier = entries[index + 1]
      const change = direction === 'Inward' ? cents(amount) : -cents(amount)
      if (earlier !== undefined) assert.equal(cents(earlier.balance) + change, cents(balance))
    }
  }
  const booked = Promise.all(
    Array.from({ length: 40 }, (_, index) => move(partnerId, { amount: BigInt(index + 1), partyId: customer.id })),
  )
  let isBooked = false
  void booked.finally(() => (isBooked = true))
  while (!isBooked) {
    addsUp((await calls.entries(id, { limit: '7' })).data)
    addsUp((await calls.customerEntries(customer.id, 'EUR', { limit: '7' })).data)
  }
  await booked
  const to = (await nextMoment()).toISOString()
  const more = Promise.all(Array.from({ length: 10 }, () => move(partnerId, { amount: 1n, partyId: customer.id })))
  const whole = await readEntries((query) => calls.entries(id, query), { to, limit: '6' })
  await more
  addsUp(whole)
  assert.equal(whole.length, 41)
  assert.equal(decimalText(whole[0]?.balance ?? 0), '1008.20')
})

/** Books a transfer at a past time. */
async function moveAt(partnerId: string, at: Date, amount: bigint, kind: 'direct' | 'reserve' = 'direct') {
  const [debit, credit] = amount > 0n ? ([settlement, 'balance'] as const) : (['balance', settlement] as const)
  const sum = amount > 0n ? amount : -amount
  const transfer = { partnerId, debit, credit, currency: 'EUR', amount: sum, kind, partyId: partnerId } as const
  const id = firstIdOf(at).slice(0, 14) + `7${newId().slice(15)}`
  await service.db.transaction((tx) =>
    service.ledger.enter(tx, { id, permit: 'bank', transfers: [{ ...transfer, reference: `past-${id}` }] }),
  )
}

test("daily balances of 30 days match the ledger before each midnight, and today's matches the current balance", async () => {
  const { partnerId } = await addPartner(service)
  const midnight = Math.floor(idTime(newId()).getTime() / dayMs) * dayMs
  const daysAgo = (days: number, ms = 0) => new Date(midnight - days * dayMs + ms)
  await moveAt(partnerId, daysAgo(60), 500_000n)
  for (let days = 40; days > 0; days -= 3) await moveAt(partnerId, daysAgo(days, 3_600_000 * (days % 24)), 1_000n)
  await moveAt(partnerId, daysAgo(10), 7n)
  await moveAt(partnerId, daysAgo(9, -1), -100_000n)
  await moveAt(partnerId, daysAgo(5, 1), -20_000n, 'reserve')
  const read = async () => {
    const [balance, ...others] = await service.accounts.dailyBalances(partnerId, 30)
    assert.deepEqual([balance?.currency, others], ['EUR', []])
    return balance?.days ?? []
  }
  const check = async () => {
    const days = await read()
    assert.equal(days.length, 30)
    assert.equal(days.at(-1)?.day, daysAgo(0).toISOString().slice(0, 10))
    for (const [index, { day, available }] of days.entries()) {
      assert.equal(
        day,
        daysAgo(29 - index)
          .toISOString()
          .slice(0, 10),
      )
      const moment = index === 29 ? undefined : daysAgo(28 - index)
      const rows = await service.ledger.balancesAt(service.db, partnerId, moment)
      const then = rows.find(({ name }) => name === 'balance')
      assert.equal(available, then && then.posted - then.reserved, day)
    }
  }
  await check()
  const { db, log } = service
  const limits = { transfersPerStretch: 4, clockDifferenceMsMax: 0 }
  const { checkpointStep } = createCheckpoints({ db, log, partnerIds: async () => [partnerId], limits })
  while ((await checkpointStep()) > 0);
  await check()
  await moveAt(partnerId, new Date(), 1n)
  await check()
})

test('a partner without balances has no daily balances, and a new balance is zero before its first day', async () => {
  const { partnerId } = await addPartner(service)
  assert.deepEqual(await service.accounts.dailyBalances(partnerId, 30), [])
  await move(partnerId, { amount: 5n, partyId: partnerId, currency: 'USD' })
  const [balance] = await service.accounts.dailyBalances(partnerId, 30)
  assert.deepEqual(
    balance?.days.map(({ available }) => available),
    [...Array.from({ length: 29 }, () => 0n), 5n],
  )
})

type Fields = Partial<Omit<BodyOf<'createAccountTransfer'>, 'amount'>>
const routes = () => accountsRoutes(service.accounts, service.idempotency)
const callOf = ({ caller }: TestPartner) => ({ caller, requestId: newId(), ip: '192.0.2.1', params: {} })
const transfer = async (partner: TestPartner, amount: string, fields: Fields, idempotencyKey?: string) => {
  const body = { amount: rawNumber(amount), currency: 'EUR' as const, ...fields }
  const call = {
    ...callOf(partner),
    query: undefined,
    body,
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
  }
  return (await routes().createAccountTransfer(call)).body
}
const balance = async (partner: TestPartner) => {
  const { data } = (await routes().listAccounts({ ...callOf(partner), query: {}, body: undefined })).body
  const [{ available, segregated, own } = { available: rawNumber('0'), segregated: false, own: undefined }] = data
  return [decimalText(available), segregated, own && decimalText(own.available)]
}
const entriesOf = async (partner: TestPartner, id: string) => {
  const call = { ...callOf(partner), query: {}, body: undefined, params: { id, currency: 'EUR' } }
  const { data } = (await routes().listCustomerAccountEntries(call)).body
  return data.map(({ direction, amount, counterAccount }) => `${direction} ${decimalText(amount)} ${counterAccount}`)
}
const segregate = (partnerId: string) =>
  service.db.transaction(async (tx) => assert.deepEqual(await service.ledger.segregate(tx, partnerId, 'EUR'), []))
/** Runs both audits: that of the ledger, and that of all tables with amounts. */
async function checkAll({ partnerId }: TestPartner): Promise<void> {
  await checkLedger(service.db, partnerId)
  assert.deepEqual(await ledgerFindings(service.db, partnerId), [])
}

test('money moves between the partner and its customers, as two linked transactions', async () => {
  const partner = await addPartner(service, 100_00n)
  const { partnerId, customer } = partner
  await segregate(partnerId)
  const bonus = await transfer(partner, '30.00', { toCustomerId: customer.id, reference: 'bonus-1' })
  assert.deepEqual(
    [bonus.outwardReference, bonus.toCustomerId, bonus.fromCustomerId],
    ['bonus-1', customer.id, undefined],
  )
  await transfer(partner, '4.50', { fromCustomerId: customer.serviceId })
  assert.deepEqual(await balance(partner), ['100.00', true, '74.50'])
  assert.deepEqual(await entriesOf(partner, customer.id), ['Outward 4.50 Transfers', 'Inward 30.00 Transfers'])
  const { transactions } = service
  const [outward, inward] = await Promise.all(
    [bonus.outwardReference, bonus.inwardReference].map((reference) => transactions.get(partnerId, reference)),
  ).then((views) => views.map(({ row }) => row))
  assert.deepEqual([outward?.type, outward?.status, outward?.customerId], ['PartnerWithdraw', 'Completed', null])
  assert.deepEqual(
    [inward?.type, inward?.status, inward?.customerId],
    ['PartnerCustomerDeposit', 'Completed', customer.id],
  )
  assert.equal(inward?.originatingReference, 'bonus-1')
  await pay(service, partner, '25.50')
  await checkAll(partner)
})

test('a party cannot transfer more than its money, even in a pooled balance', async () => {
  const partner = await addPartner(service, 10_00n)
  const { customer } = partner
  for (const segregated of [false, true]) {
    if (segregated) await segregate(partner.partnerId)
    await assert.rejects(transfer(partner, '10.01', { toCustomerId: customer.id }), refused('insufficient_funds'))
    await assert.rejects(transfer(partner, '0.01', { fromCustomerId: customer.id }), refused('insufficient_funds'))
  }
  await transfer(partner, '10.00', { toCustomerId: customer.id })
  const back = Array.from({ length: 8 }, () => transfer(partner, '3.00', { fromCustomerId: customer.id }))
  const outcomes = await Promise.allSettled(back)
  assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 3)
  await checkAll(partner)
})

test('repeated and concurrent calls with one idempotency key move the money exactly once', async () => {
  const partner = await addPartner(service, 10_00n)
  const key = newId()
  const once = await transfer(partner, '4.00', { toCustomerId: partner.customer.id }, key)
  assert.deepEqual(await transfer(partner, '4.00', { toCustomerId: partner.customer.id }, key), once)
  await assert.rejects(
    transfer(partner, '5.00', { toCustomerId: partner.customer.id }, key),
    refused('idempotency_key_reused', '/headers/Idempotency-Key'),
  )
  assert.deepEqual(await entriesOf(partner, partner.customer.id), ['Inward 4.00 Transfers'])
})

test('invalid parties are refused with a pointer to their field, and no money moves', async () => {
  const partner = await addPartner(service, 10_00n)
  const other = await addPartner(service)
  const { customer } = partner
  const cases: readonly (readonly [Fields, code: string, pointer: string])[] = [
    [{}, 'validation_failed', '/fromCustomerId'],
    [{ fromCustomerId: customer.id, toCustomerId: customer.serviceId }, 'validation_failed', '/toCustomerId'],
    [{ toCustomerId: other.customer.id }, 'not_found', '/toCustomerId'],
    [{ fromCustomerId: newId(), toCustomerId: customer.id }, 'not_found', '/fromCustomerId'],
  ]
  for (const [fields, code, pointer] of cases)
    await assert.rejects(transfer(partner, '1.00', fields), refused(code, pointer))
  assert.deepEqual(await entriesOf(partner, customer.id), [])
})

test('the gates and blocks of customers apply to transfers', async () => {
  const partner = await addPartner(service, 10_00n)
  const { partnerId, customer } = partner
  const gate = (allowed: readonly ('Pay' | 'Receive')[]) =>
    service.db.transaction((tx) => service.customers.gates.set(tx, { partnerId, state: 'Incomplete', allowed }))
  await gate(['Pay'])
  await assert.rejects(
    transfer(partner, '1.00', { toCustomerId: customer.id }),
    refused('customer_not_verified', '/toCustomerId'),
  )
  await gate(['Receive'])
  await transfer(partner, '1.00', { toCustomerId: customer.id })
  await assert.rejects(
    transfer(partner, '1.00', { fromCustomerId: customer.id }),
    refused('customer_not_verified', '/fromCustomerId'),
  )
  await gate(['Pay', 'Receive'])
  const account = { customerRef: customer.id }
  const blocked = { partnerId, account, state: 'BlockedOutbound', reason: 'Fraud', note: '', staff: 'Ann' } as const
  await service.db.transaction((tx) => service.accounts.changeState(tx, blocked))
  await assert.rejects(transfer(partner, '1.00', { fromCustomerId: customer.id }), refused('account_blocked'))
  await transfer(partner, '1.00', { toCustomerId: customer.id })
  await checkAll(partner)
})
