/** Transfers between the parties of a balance on a real database: races of transfers, and with a block of the balance. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rawNumber } from '@partner-payments/wire'
import { checkLedger } from '../../../test/model/ledger-audit.ts'
import { addPartner, ip, type Service, type TestPartner } from '../../../test/support/composition.ts'
import { useModules } from '../../../test/support/fixture.ts'
import { answerOrCode } from '../../../test/support/refusals.ts'
import { newId } from '../kernel/index.ts'
import { createTransfers, type Transfers } from './transfers.ts'

const service = await useModules()
// As another process.
const other = await service.anotherProcess()

type Ends = { readonly fromCustomerId?: string; readonly toCustomerId?: string }

/** Returns `booked`, or the code of the refusal. */
async function give(partner: TestPartner, amount: string, ends: Ends, by: Transfers = service.accounts) {
  const body = { amount: rawNumber(amount), currency: 'EUR', ...ends } as const
  const maker = { caller: partner.caller, ip, requestId: newId() }
  const answer = await answerOrCode(by.transfer(partner.partnerId, body, maker))
  return typeof answer === 'string' ? answer : 'booked'
}

/** The money of a party, in minor units. */
async function partOf({ partnerId }: TestPartner, partyId: string): Promise<bigint> {
  const sums = await service.ledger.partySumsAt(service.db, partnerId, partyId, undefined)
  return sums.find(({ currency }) => currency === 'EUR')?.posted ?? 0n
}

for (const mode of ['pooled', 'segregated'] as const) {
  const addPayer = async () => {
    const partner = await addPartner(service, 100_00n)
    const { partnerId } = partner
    if (mode === 'segregated') await service.db.transaction((tx) => service.ledger.segregate(tx, partnerId, 'EUR'))
    const others = await Promise.all(
      [1, 2].map((index) => service.customers.create(partnerId, { email: `payee${index}@example.com` })),
    )
    return { partner, others: others.map(({ id }) => id) }
  }
  const race = (partner: TestPartner, amount: string, others: readonly string[], fromCustomerId?: string) =>
    Promise.all(
      Array.from({ length: 12 }, (_none, index) => {
        const by: Service = index % 2 === 0 ? service : other
        const ends = { ...(fromCustomerId && { fromCustomerId }), toCustomerId: others[(index >> 1) % 2] ?? '' }
        return give(partner, amount, ends, by.accounts)
      }),
    )

  test(`concurrent transfers of one party take its money once: ${mode}`, async () => {
    const { partner, others } = await addPayer()
    const { partnerId, customer } = partner
    assert.equal(await give(partner, '100.00', { toCustomerId: customer.id }), 'booked')
    const outcomes = await race(partner, '100.00', others, customer.id)
    assert.deepEqual(outcomes.toSorted(), ['booked', ...Array.from({ length: 11 }, () => 'insufficient_funds')])
    assert.equal(await partOf(partner, customer.id), 0n)
    await checkLedger(service.db, partnerId)
  })

  test(`concurrent transfers of the money of the partner itself take it once: ${mode}`, async () => {
    const { partner, others } = await addPayer()
    const outcomes = await race(partner, '30.00', others)
    assert.equal(outcomes.filter((outcome) => outcome === 'booked').length, 3)
    assert.equal(outcomes.filter((outcome) => outcome === 'insufficient_funds').length, 9)
    assert.equal(await partOf(partner, partner.partnerId), 10_00n)
    await checkLedger(service.db, partner.partnerId)
  })
}

test('a transfer that was judged before a block of the balance is not booked after it', async () => {
  const partner = await addPartner(service, 100_00n)
  const { partnerId, customer } = partner
  let blocks = 0
  const transfers = createTransfers({
    ...service,
    ledger: {
      ...service.ledger,
      clear: async (tx, requests) => {
        blocks += 1
        if (blocks === 1)
          await other.db.transaction((own) => other.ledger.setState(own, partnerId, 'EUR', 'BlockedOutbound'))
        return service.ledger.clear(tx, requests)
      },
    },
  })
  assert.equal(await give(partner, '10.00', { toCustomerId: customer.id }, transfers), 'account_blocked')
  assert.equal(await partOf(partner, customer.id), 0n)
  await checkLedger(service.db, partnerId)
})
