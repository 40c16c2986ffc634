/** Payouts wait for decisions about names on sanctions lists, and go on or fail by them. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, before, test } from 'node:test'
import { addPartner, balanceOf, createTestService, pay, type Service } from '../../../../test/support/composition.ts'
import { secondMs } from '../../kernel/index.ts'
import { sql } from '../../postgres/index.ts'
import { readSanctionsList } from '../../screening/index.ts'
import { submitDuePayouts } from '../../settlement/index.ts'

let service: Service
before(async () => {
  service = await createTestService()
})
after(() => service.close())

async function* bytesOf(file: string): AsyncGenerator<Uint8Array> {
  yield await readFile(new URL(`../../screening/samples/${file}`, import.meta.url))
}
const loadList = async () => service.screening.lists.load(await readSanctionsList(bytesOf('un.xml')), 'Sam Staff')
async function screen(): Promise<void> {
  while ((await service.screener.sweepStep()) > 0);
  while ((await service.screener.screenStep()) > 0);
}
const submit = async () => {
  service.clock.advance(31 * secondMs)
  await submitDuePayouts(service.settlement)
}

/** A payout of 10.00 to a beneficiary of this name. */
async function payoutTo(name: string) {
  const partner = await addPartner(service, 1_000_00n)
  const account = { iban: 'DE89370400440532013000', currency: 'EUR', customerId: partner.customer.id }
  const beneficiary = await service.beneficiaries.create(partner.partnerId, { ...account, name })
  const { payout } = await pay(service, partner, '10.00', { beneficiaryId: beneficiary.id })
  const get = () => service.payouts.get(partner.partnerId, payout.id)
  const steps = async () =>
    (await service.transactions.get(partner.partnerId, payout.reference)).timeline.map(({ step }) => step)
  const decide = async (outcome: 'clear' | 'confirm') => {
    const open = (await service.screening.openHits(undefined, 100)).filter(
      ({ subjectId }) => subjectId === beneficiary.id,
    )
    assert.ok(open.length > 0, 'the beneficiary has a hit')
    for (const { id } of open)
      for (const staff of ['Sam Staff', 'Kim Staff']) {
        const deciding = { partnerId: partner.partnerId, id, outcome, staff, note: 'Compared with the passport.' }
        await service.db.transaction((tx) => service.screening.decide(tx, deciding)).catch(() => undefined)
      }
  }
  return { partner, payout, get, steps, decide }
}

const listed = 'Borislav Tremurov'

test('without a list payouts go on without screening', async () => {
  const { get } = await payoutTo(listed)
  await submit()
  assert.equal((await get()).status, 'Sent')
})

test('with a list a payout waits for its names, then for the decision about a hit, and goes on when it is cleared', async () => {
  await loadList()
  const { get, steps, decide, partner } = await payoutTo(listed)
  await submit()
  assert.equal((await get()).status, 'Pending', 'its names were not compared yet')
  await screen()
  for (let rounds = 0; rounds < 3; rounds += 1) await submit()
  assert.equal((await get()).status, 'Pending')
  assert.deepEqual(await steps(), ['Created', 'Reserved', 'Screening'])
  assert.equal((await balanceOf(service, partner.partnerId)).reserved, 10_00n)
  await decide('clear')
  await submit()
  assert.equal((await get()).status, 'Sent')
  assert.deepEqual(await steps(), ['Created', 'Reserved', 'Screening', 'Accepted', 'Sent'])
})

test('a confirmed hit fails the payout and releases its money; a later payout fails as well', async () => {
  const { get, steps, decide, partner, payout } = await payoutTo(listed)
  await screen()
  await submit()
  await decide('confirm')
  await submit()
  const { status, errorKey } = await get()
  assert.deepEqual([status, errorKey], ['Failed', 'RecipientBlocked'])
  assert.deepEqual(await steps(), ['Created', 'Reserved', 'Screening', 'Failed'])
  assert.deepEqual(await balanceOf(service, partner.partnerId), {
    posted: 1_000_00n,
    reserved: 0n,
    available: 1_000_00n,
  })
  const again = await pay(service, partner, '10.00', { beneficiaryId: payout.beneficiaryId ?? '' })
  await submit()
  assert.equal((await service.payouts.get(partner.partnerId, again.payout.id)).status, 'Failed')
})

test('the partner may cancel a payout that waits for a decision', async () => {
  const { get, partner, payout } = await payoutTo(listed)
  await screen()
  await submit()
  await service.payouts.cancel(partner.partnerId, payout.id)
  await submit()
  assert.equal((await get()).status, 'Cancelled')
  assert.equal((await balanceOf(service, partner.partnerId)).reserved, 0n)
})

test('an ordinary name goes on as soon as it is screened', async () => {
  const { get, steps } = await payoutTo('Grace Hopper')
  await screen()
  await submit()
  assert.equal((await get()).status, 'Sent')
  assert.deepEqual(await steps(), ['Created', 'Reserved', 'Accepted', 'Sent'])
})

test('cancelled while the worker screens it: exactly one outcome', async () => {
  for (let round = 0; round < 5; round += 1) {
    const { get, decide, partner, payout } = await payoutTo(listed)
    await screen()
    await submit()
    await decide(round % 2 === 0 ? 'clear' : 'confirm')
    const [cancelled] = await Promise.allSettled([service.payouts.cancel(partner.partnerId, payout.id), submit()])
    const { status } = await get()
    assert.equal(status === 'Cancelled', cancelled.status === 'fulfilled', status)
    const { reserved } = await balanceOf(service, partner.partnerId)
    assert.equal(reserved, status === 'Sent' ? 10_00n : 0n)
  }
})

test('what was sent before goes on: the bank may have it', async () => {
  const { get, decide, partner, payout } = await payoutTo(listed)
  await screen()
  await submit()
  await decide('confirm')
  await service.db.run(sql`update payouts.payouts set status = 'Processing', send_attempts = 1
    where partner_id = ${partner.partnerId} and id = ${payout.id}`)
  await submit()
  assert.equal((await get()).status, 'Sent')
})
