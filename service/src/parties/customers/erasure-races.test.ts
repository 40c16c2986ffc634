/** Two processes on one database: a customer is erased while it is paid for. Exactly one of the two takes effect. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { rawNumber } from '@partner-payments/wire'
import {
  addPartner,
  createTestService,
  pay,
  type Service,
  type TestPartner,
} from '../../../../test/support/composition.ts'
import { convert, quote } from '../../../../test/support/fx.ts'
import { sendCredit, stateOf } from '../../../../test/support/screening/held.ts'
import { until } from '../../../../test/support/until.ts'
import { Refusal } from '../../kernel/api/index.ts'
import { operatorPartnerId } from '../../cases/index.ts'
import { minuteMs, newId, nilId } from '../../kernel/index.ts'
import { sql } from '../../postgres/index.ts'
import { processBankNotifications } from '../../banks/settlement/index.ts'

let first: Service
let second: Service
let partner: TestPartner
before(async () => {
  first = await createTestService()
  second = await createTestService({ url: first.url })
  partner = await addPartner(first, 10_000_000n)
  await first.db.transaction((tx) => first.access.addOperator(tx, operatorPartnerId))
  await first.rates.prepare()
})
after(async () => {
  await second?.close()
  await first?.close()
})

const payee = { name: 'Grace Hopper', iban: 'DE89370400440532013000', currency: 'EUR' }

async function addCustomer() {
  const { partnerId } = partner
  const customer = await first.customers.create(partnerId, { kyc: { fullName: 'Ada Lovelace' } })
  const beneficiary = await first.beneficiaries.create(partnerId, { ...payee, customerId: customer.id })
  return { customer, beneficiary }
}

const erase = (service: Service, id: string) => service.personalData.erasures.erase(partner.partnerId, id, true)
const codeOf = (outcome: PromiseSettledResult<unknown>): string => {
  if (outcome.status === 'fulfilled') return 'done'
  assert.ok(outcome.reason instanceof Refusal, String(outcome.reason))
  return outcome.reason.code
}
const pending = async (id: string) =>
  (await first.transactions.list(partner.partnerId, { customerId: id, status: 'Pending' })).data.length
const isErased = async (id: string) =>
  first.customers.get(partner.partnerId, id).then(
    () => false,
    () => true,
  )

/** Returns which of the two took effect. */
async function assertOne(id: string, [made, erased]: readonly PromiseSettledResult<unknown>[]): Promise<string> {
  assert.ok(made && erased)
  const codes = `${codeOf(made)} ${codeOf(erased)}`
  assert.ok(['done customer_not_erasable', 'not_found done'].includes(codes), codes)
  const isPaid = codes.startsWith('done')
  assert.deepEqual([await pending(id), await isErased(id)], [isPaid ? 1 : 0, !isPaid])
  return codes
}

const rounds = 24

test('a payout and an erasure race: one of them takes effect', async () => {
  for (let round = 0; round < rounds; round += 1) {
    const { customer, beneficiary } = await addCustomer()
    // Warms what the process remembers of the beneficiary, in half of the rounds.
    if (round % 4 > 1)
      await pay(first, partner, '0.01', { beneficiaryId: beneficiary.id }).then(({ payout }) =>
        first.payouts.cancel(partner.partnerId, payout.id),
      )
    const payouts = () => pay(first, partner, '1.00', { beneficiaryId: beneficiary.id })
    const calls = [payouts, () => erase(second, customer.id)] as const
    const running =
      round % 2 === 0
        ? calls.map((call) => call())
        : calls
            .toReversed()
            .map((call) => call())
            .toReversed()
    await assertOne(customer.id, await Promise.allSettled(running))
  }
})

const waiting = async () => {
  const row = await first.db.row<{ count: bigint }>(
    sql`select count(*) as count from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
  )
  return row?.count ?? 0n
}

type Steps = readonly [() => Promise<unknown>, () => Promise<unknown>]

/**
 * Starts both steps in this order while the balance is locked, so that each has read the customer before the other
 * ends.
 */
async function behindBalance(partnerId: string, steps: Steps, isErasedFirst: boolean) {
  const order = isErasedFirst ? [1, 0] : [0, 1]
  const running: Promise<unknown>[] = []
  const begun = await first.db.transaction(async (tx) => {
    await tx.rows(sql`select id from ledger.accounts where partner_id = ${partnerId} order by id for update`)
    for (const [index, step] of order.entries()) {
      running[step] = (steps[step] ?? assert.fail())().catch((error: unknown) => Promise.reject(error as Error))
      running[step].catch(() => undefined)
      await until(`${index + 1} wait`, async () => (await waiting()) >= BigInt(index + 1))
    }
    return running
  })
  return Promise.allSettled(begun)
}

async function raceAtBalance(isErasedFirst: boolean) {
  const { customer, beneficiary } = await addCustomer()
  const payout = () => pay(first, partner, '1.00', { beneficiaryId: beneficiary.id })
  const steps = [payout, () => erase(second, customer.id)] as const
  return assertOne(customer.id, await behindBalance(partner.partnerId, steps, isErasedFirst))
}

test('an erasure that commits between the look-up and the write of a payout refuses it', async () => {
  const outcomes = new Set<string>()
  for (let round = 0; round < 4; round += 1) outcomes.add(await raceAtBalance(true))
  assert.ok(outcomes.has('not_found done'), [...outcomes].join())
})

test('a payout that commits before the erasure has the balance refuses it', async () => {
  for (let round = 0; round < 4; round += 1) await raceAtBalance(false)
})

test('a checkout session and an erasure race: one of them takes effect', async () => {
  for (let round = 0; round < rounds; round += 1) {
    const { customer } = await addCustomer()
    const order = { amount: rawNumber('1.00'), currency: 'EUR', idempotencyKey: newId(), customerId: customer.id }
    const calls = [() => first.checkout.create(partner.caller, order), () => erase(second, customer.id)] as const
    const running =
      round % 2 === 0
        ? calls.map((call) => call())
        : calls
            .toReversed()
            .map((call) => call())
            .toReversed()
    await assertOne(customer.id, await Promise.allSettled<unknown>(running))
  }
})

test('an account and an erasure race: an erased customer has no IBAN that takes money', async () => {
  for (let round = 0; round < rounds; round += 1) {
    const { customer } = await addCustomer()
    const [made, erased] = await Promise.allSettled([
      first.accounts.create(partner.partnerId, customer.id),
      erase(second, customer.id),
    ])
    assert.equal(codeOf(erased), 'done')
    assert.ok(['done', 'not_found'].includes(codeOf(made)), codeOf(made))
    const ibans = made.status === 'fulfilled' ? made.value.ibans.map(({ iban }) => iban) : []
    assert.equal((await first.accounts.ownersOf(first.db, ibans)).size, 0)
  }
})

test('two processes that erase one customer answer the same, and two steps at once do not work twice', async () => {
  const { customer } = await addCustomer()
  const [one, other] = await Promise.all([erase(first, customer.id), erase(second, customer.id)])
  assert.deepEqual(one, other)
  const run = async ({ personalData }: Service) => {
    while ((await personalData.erasures.step()) > 0);
  }
  await Promise.all([run(first), run(second)])
  await run(first)
  assert.equal((await erase(first, customer.id)).row.phase, 'retained')
})

/** A partner of its own, so that its balances and cases are those of one credit. */
async function raceWithCredit(isErasedFirst: boolean): Promise<'credited' | 'erased'> {
  const { partnerId, customer } = await addPartner(first, 100n)
  const { iban } = (await first.accounts.create(partnerId, customer.id)).ibans[0]
  const casesBefore = (await first.cases.list(undefined, 1000)).length
  await sendCredit(first, iban)
  second.clock.advance(minuteMs)
  const credit = () => processBankNotifications(second.settlement)
  const erasure = () => first.personalData.erasures.erase(partnerId, customer.id, false)
  const [, erased] = await behindBalance(partnerId, [credit, erasure], isErasedFirst)
  assert.ok(erased)
  // The first step of a credit may have waited; the bank reports the rest again.
  for (let round = 0; round < 4; round += 1) {
    second.clock.advance(minuteMs)
    await processBankNotifications(second.settlement)
  }
  const { statuses, balance } = await stateOf(first, partnerId)
  const cases = (await first.cases.list(undefined, 1000)).length - casesBefore
  const outcome = codeOf(erased) === 'done' ? 'erased' : 'credited'
  assert.deepEqual(
    [statuses, balance, cases],
    outcome === 'erased' ? [[], 100n, 1] : [['Completed'], 600n, 0],
    `${outcome}: the money is the customer's, or a case`,
  )
  assert.equal(codeOf(erased), outcome === 'erased' ? 'done' : 'customer_not_erasable')
  return outcome
}

test('money that comes in while an erasure is decided is credited and refuses it, or becomes a case', async () => {
  const outcomes = new Set<string>()
  for (let round = 0; round < 6; round += 1) outcomes.add(await raceWithCredit(round % 2 === 0))
  assert.deepEqual([...outcomes].toSorted(), ['credited', 'erased'])
})

/** The references of transactions that an erased customer has got since. */
const madeSince = (customerId: string) =>
  first.db.rows(sql`
    select made.reference from transactions.transactions as made
    join customers.customers as owner on owner.partner_id = made.partner_id and owner.id = made.customer_id
    where made.partner_id = ${partner.partnerId} and owner.id = ${customerId} and made.created_at > owner.erased_at`)

test('a quote of a customer is converted before its erasure or not at all', async () => {
  const codes = new Set<string>()
  for (let round = 0; round < 8; round += 1) {
    const { customer } = await addCustomer()
    const { id } = (await quote(first, partner, { sellAmount: '1.00', customerId: customer.id })).row
    first.clock.advance(1)
    const steps = [() => convert(first, partner, id), () => erase(second, customer.id)] as const
    const [made, erased] = await behindBalance(partner.partnerId, steps, round % 2 === 0)
    assert.ok(made && erased)
    assert.equal(codeOf(erased), 'done')
    codes.add(codeOf(made))
    assert.deepEqual(await madeSince(customer.id), [])
    await assert.rejects(convert(first, partner, id), Refusal)
  }
  assert.deepEqual([...codes].toSorted(), ['done', 'not_found'])
})

test('a quote and an erasure race: an erased customer has no open quote', async () => {
  for (let round = 0; round < rounds; round += 1) {
    const { customer } = await addCustomer()
    const asked = () => quote(first, partner, { sellAmount: '1.00', customerId: customer.id })
    const [made, erased] = await Promise.allSettled([asked(), erase(second, customer.id)])
    assert.equal(codeOf(erased), 'done')
    assert.ok(['done', 'not_found'].includes(codeOf(made)), codeOf(made))
    assert.deepEqual(await first.fx.quotesOf(first.db, partner.partnerId, customer.id, nilId, 10), [])
  }
})

test('a credit whose only customer is erased between the look-up and the booking is money without an owner', async () => {
  const { partnerId } = partner
  const { customer } = await addCustomer()
  const account = (await first.accounts.create(partnerId, customer.id)).ibans[0].iban
  const debtor = { account: 'DE1', bic: '', name: 'Payer', countryCode: 'DE', address: null }
  const money = { currency: 'EUR', amount: 500n } as const
  const about = { partnerId: operatorPartnerId, id: newId(), subjectId: newId(), remittance: null, endToEndId: null }
  const credit = () =>
    first.deposits.processCredit('sandbox', { kind: 'credit.booked', ...about, account, money, debtor })
  const running = await first.db.transaction(async (tx) => {
    await tx.rows(
      sql`select id from customers.customers where partner_id = ${partnerId} and id = ${customer.id} for update`,
    )
    const steps: Promise<unknown>[] = []
    for (const step of [() => erase(second, customer.id), credit]) {
      steps.push(step())
      await until(`${steps.length} wait`, async () => (await waiting()) >= BigInt(steps.length))
    }
    return { steps }
  })
  const [, credited] = await Promise.all(running.steps)
  assert.deepEqual(
    [await isErased(customer.id), credited],
    [true, { applied: 'unknown', partnerId: operatorPartnerId }],
  )
})
