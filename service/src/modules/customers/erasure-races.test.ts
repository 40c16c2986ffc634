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
import { until } from '../../../../test/support/until.ts'
import { Refusal } from '../../api/index.ts'
import { newId } from '../../kernel/index.ts'
import { sql } from '../../postgres/index.ts'

let first: Service
let second: Service
let partner: TestPartner
before(async () => {
  first = await createTestService()
  second = await createTestService({ url: first.url })
  partner = await addPartner(first, 10_000_000n)
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

/** Which of the two took effect. */
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

/** Both wait for the balance, in this order, so that each has read the customer before the other ends. */
async function raceAtBalance(isErasedFirst: boolean) {
  const { customer, beneficiary } = await addCustomer()
  const steps = [
    () => pay(first, partner, '1.00', { beneficiaryId: beneficiary.id }),
    () => erase(second, customer.id),
  ] as const
  const order = isErasedFirst ? [1, 0] : [0, 1]
  const running: Promise<unknown>[] = []
  const begun = await first.db.transaction(async (tx) => {
    await tx.rows(sql`select id from ledger.accounts where partner_id = ${partner.partnerId} order by id for update`)
    for (const [index, step] of order.entries()) {
      running[step] = (steps[step] ?? assert.fail())().catch((error: unknown) => Promise.reject(error as Error))
      running[step].catch(() => undefined)
      await until(`${index + 1} wait`, async () => (await waiting()) >= BigInt(index + 1))
    }
    return running
  })
  return assertOne(customer.id, await Promise.allSettled(begun))
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
    assert.deepEqual(await first.accounts.ibansOf(first.db, partner.partnerId, customer.id), [])
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
  assert.equal((await erase(first, customer.id)).row.phase, 'done')
})
