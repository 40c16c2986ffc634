/** Blocks whose command ends before it has cancelled the payouts: a worker does it, also against an unblock and another worker. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { checkLedger } from '../../../test/model/ledger-audit.ts'
import {
  addPartner,
  balanceOf,
  createTestService,
  pay,
  type Service,
  type TestPartner,
} from '../../../test/support/composition.ts'
import { secondMs } from '../kernel/index.ts'
import type { AccountState } from '../ledger/index.ts'
import { sql } from '../postgres/index.ts'
import type { AccountRef } from './index.ts'

let service: Service
let other: Service
before(async () => {
  service = await createTestService()
  // As another process: its own pool and batches.
  other = await createTestService({ url: service.url, now: service.clock.now() })
})
after(async () => {
  await other.close()
  await service.close()
})

const euros = { currency: 'EUR' } as const
const balance = { ...euros, customerId: null }
const reason = { reason: 'CourtOrder', note: 'Order 17', staff: 'Ada' } as const
const change = ({ partnerId }: TestPartner, state: AccountState, account: AccountRef = euros) =>
  service.db.transaction((tx) => service.accounts.changeState(tx, { partnerId, account, state, ...reason }))
const statusOf = async ({ partnerId }: TestPartner, { payout }: Awaited<ReturnType<typeof pay>>) =>
  (await service.payouts.get(partnerId, payout.id)).status
/** The lease of a command that has ended ends. */
function endLease(): void {
  for (const { clock } of [service, other]) clock.advance(10 * secondMs)
}
async function work(by: Service = service): Promise<number> {
  let steps = 0
  while ((await by.cancellations.step()) > 0) steps += 1
  return steps
}
const pays = (partner: TestPartner, count: number) =>
  Promise.all(Array.from({ length: count }, () => pay(service, partner, '1.00')))

/** Each payout was cancelled once: one step in its timeline, all money back. */
async function assertCancelled(partner: TestPartner, paid: Awaited<ReturnType<typeof pays>>, posted: bigint) {
  for (const { payout } of paid) {
    const { timeline } = await service.transactions.get(partner.partnerId, payout.reference)
    assert.deepEqual(
      timeline.map(({ step }) => step),
      ['Created', 'Reserved', 'Cancelled'],
    )
  }
  assert.deepEqual(await balanceOf(service, partner.partnerId), { posted, reserved: 0n, available: posted })
  await checkLedger(service.db, partner.partnerId)
}

test('a worker cancels what an interrupted block has left, page by page, once its lease has ended', async () => {
  const partner = await addPartner(service, 30_000n)
  const blockedAt = service.clock.now()
  const paid = await pays(partner, 150)
  await change(partner, 'Blocked')
  assert.equal(await work(), 0)
  assert.deepEqual(await service.cancellations.oldestBlock(), blockedAt)
  endLease()
  // Two pages, and the look that finds none.
  assert.equal(await work(), 3)
  await assertCancelled(partner, paid, 30_000n)
  assert.equal(await service.cancellations.oldestBlock(), null)
  assert.equal(await service.cancellations.finish(partner.partnerId, balance), 0)
})

test('the account of a customer loses its own payouts, and those of the partner itself stay', async () => {
  const partner = await addPartner(service, 10_000n)
  const own = await pay(service, partner, '10.00', { beneficiaryId: partner.ownBeneficiary.id })
  const ofCustomer = await pay(service, partner, '10.00')
  const elsewhere = await addPartner(service, 10_000n)
  const ofOther = await pay(service, elsewhere, '10.00')
  await change(partner, 'BlockedOutbound', { customerRef: partner.customer.serviceId })
  endLease()
  await work()
  assert.deepEqual(
    [await statusOf(partner, own), await statusOf(partner, ofCustomer), await statusOf(elsewhere, ofOther)],
    ['Pending', 'Cancelled', 'Pending'],
  )
})

test('a block for what comes in, and an account without payouts, leave nothing to do', async () => {
  const partner = await addPartner(service, 10_000n)
  const paid = await pay(service, partner, '10.00')
  await change(partner, 'BlockedInbound')
  assert.equal(await service.cancellations.oldestBlock(), null)
  const empty = await addPartner(service, 10_000n)
  await change(empty, 'Blocked')
  assert.equal(await service.cancellations.finish(empty.partnerId, balance), 0)
  assert.equal(await service.cancellations.oldestBlock(), null)
  assert.equal(await statusOf(partner, paid), 'Pending')
})

test('an account is not unblocked before its payouts are cancelled, and pays again afterwards', async () => {
  const partner = await addPartner(service, 10_000n)
  const paid = await pays(partner, 3)
  await change(partner, 'Blocked')
  const refused = { code: 'account_blocked', detail: /still being cancelled/ }
  await assert.rejects(change(partner, 'Active'), refused)
  await assert.rejects(change(partner, 'BlockedInbound'), refused)
  assert.equal((await change(partner, 'BlockedOutbound'))?.toState, 'BlockedOutbound')
  assert.equal(await service.cancellations.finish(partner.partnerId, balance), 3)
  await change(partner, 'Active')
  await assertCancelled(partner, paid, 10_000n)
  const later = await pay(service, partner, '10.00')
  endLease()
  assert.equal(await work(), 0)
  assert.equal(await statusOf(partner, later), 'Pending')
})

test('a repeated block cancels what a command of the version before has left', async () => {
  const partner = await addPartner(service, 10_000n)
  const paid = await pays(partner, 2)
  await change(partner, 'Blocked')
  await service.db.run(sql`delete from accounts.cancellations where partner_id = ${partner.partnerId}`)
  assert.equal(await change(partner, 'Blocked'), undefined)
  assert.equal(await service.cancellations.finish(partner.partnerId, balance), 2)
  await assertCancelled(partner, paid, 10_000n)
})

test('the command, two workers and an unblock at one time: each payout of before is cancelled once, and none of after', async () => {
  const partner = await addPartner(service, 100_000n)
  const paid = await pays(partner, 200)
  await change(partner, 'Blocked')
  endLease()
  const unblockAndPay = async () => {
    for (;;) {
      const changed = await change(partner, 'Active').catch((error: unknown) => {
        assert.equal((error as { readonly code?: string }).code, 'account_blocked')
        return undefined
      })
      if (changed !== undefined) return pays(partner, 20)
    }
  }
  const [later] = await Promise.all([
    unblockAndPay(),
    service.cancellations.finish(partner.partnerId, balance),
    work(),
    work(other),
  ])
  for (const each of later) assert.equal(await statusOf(partner, each), 'Pending')
  for (const each of paid) assert.equal(await statusOf(partner, each), 'Cancelled')
  assert.deepEqual(await balanceOf(service, partner.partnerId), {
    posted: 100_000n,
    reserved: 2_000n,
    available: 98_000n,
  })
  await checkLedger(service.db, partner.partnerId)
})
