/**
 * Every row of the table of payouts, from every status and by every trigger, on the real database; and every pair of status
 * and trigger that is not in the table, which changes nothing.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Caller, Refusal } from '../../service/src/kernel/api/index.ts'
import { AssertionFailure, hourMs, newId, present, type Money } from '../../service/src/kernel/index.ts'
import { instructionIdOf, type PayoutClaim } from '../../service/src/payouts/index.ts'
import { payoutLifecycle } from '../../service/src/payouts/lifecycle.ts'
import { updatePayouts } from '../../service/src/payouts/store.ts'
import { classifyReport } from '../../service/src/lifecycle/engine.ts'
import { sql } from '../../service/src/postgres/index.ts'
import { setApprovalRule } from '../support/approvals.ts'
import { addPartner, createTestService, pay, type TestPartner } from '../support/composition.ts'
import { beforeBeginning, follow, observe, type Payment } from './observation.ts'
import { pathTo, transitionsOn, statusesIn } from './walk.ts'
import { useModules } from '../support/fixture.ts'

const service = await useModules()

const { triggers, statuses } = payoutLifecycle
type Trigger = (typeof triggers)[number]

const floatMinor = 10_000n
const failure = { errorKey: 'InvalidAccountDetails', details: 'The bank says no.' } as const

type Subject = {
  readonly partner: TestPartner
  readonly payment: Payment
  readonly request: { readonly idempotencyKey: string; readonly beneficiaryId: string }
  readonly id: string
  readonly instructionId: string
}

/** `waits`: the payout needs the approval of a second person. */
async function requested(ofCustomer: boolean, waits = false): Promise<Subject> {
  const partner = await addPartner(service, floatMinor)
  if (waits) await setApprovalRule(service, partner.partnerId, { aboveAmount: 0n, expiresHours: waitingHours })
  const { id: beneficiaryId } = ofCustomer ? partner.beneficiary : partner.ownBeneficiary
  const request = { idempotencyKey: newId(), beneficiaryId }
  const { payout } = await pay(service, partner, '10.00', request)
  const { partnerId } = partner
  const payment = { partnerId, table: 'payouts', reference: payout.reference, amount: 1000n, ofCustomer } as const
  return { partner, payment, request, id: payout.id, instructionId: instructionIdOf(payout) }
}

const waitingHours = 1

const secondPerson = ({ partner: { caller } }: Subject): Caller => ({
  ...caller,
  serviceAccountId: newId(),
  name: 'Second person',
})
/** Whether a person may decide. */
const decided = (deciding: Promise<unknown>): Promise<boolean> =>
  deciding.then(
    () => true,
    (error: unknown) => {
      if (error instanceof Refusal && error.code === 'payout_not_awaiting_approval') return false
      throw error
    },
  )

/** A claim as of a worker that holds the lease. A payout that is not due gets a lease that no worker would have. */
async function leased({ payment: { partnerId }, id }: Subject): Promise<PayoutClaim> {
  const row = await service.payouts.get(partnerId, id)
  const leaseId = row.leaseId ?? newId()
  await service.db.run(
    sql`update payouts.payouts set lease_id = ${leaseId} where partner_id = ${partnerId} and id = ${id}`,
  )
  return { ...row, leaseId }
}

/** Persons have confirmed that the beneficiary is the listed one, and two have closed the case of the payout. */
async function confirm(claim: PayoutClaim): Promise<void> {
  const { partnerId, beneficiaryId, id } = claim
  const now = service.clock.now()
  await service.db.run(sql`
    insert into screening.lists (generation, source, published_at, hash, loaded_at, loaded_by, entries, names, added, changed, removed)
    values (1, 'un', ${now}, 'hash', ${now}, 'Sam Staff', 1, 1, 1, 0, 0) on conflict do nothing`)
  await service.db.run(sql`
    insert into screening.hits (partner_id, id, subject_kind, subject_id, role, source, entry_id, entry_digest, score,
      detail_sealed, status, cause, generation, opened_at, decided_at, decided_by)
    values (${partnerId}, ${newId()}, 'beneficiary', ${beneficiaryId}, 'name', 'un', '1', 'digest', 100, ${Buffer.from('x')},
      'confirmed', 'name', 1, ${now}, ${now}, 'Sam Staff') on conflict do nothing`)
  if (['Completed', 'Failed', 'Returned', 'Cancelled'].includes(claim.status)) return
  await service.payoutLife.screen([{ ...claim, status: 'Pending' }])
  const closing = { partnerId, id, staff: 'Sam Staff', note: 'The authority was told.', action: 'refuse' } as const
  const { decisions, db } = service
  if ((await service.cases.byId(db, partnerId, id))?.resolution === null) {
    await db.transaction((tx) => decisions.propose(tx, closing))
    await db.transaction((tx) => decisions.approve(tx, { partnerId, id, staff: 'Kim Staff' }))
  }
}

/** Amounts that the bank keeps of a return in part, and of a settlement. */
const keptMinor = 100n

/** Amount that the bank has kept of a settlement, which is in suspense. */
const withDifference = (transfers: readonly string[]) => [
  ...transfers.filter((kind) => kind !== 'post'),
  'direct',
  ...transfers.filter((kind) => kind === 'post'),
]

const reporting = ({ payment: { partnerId }, instructionId }: Subject, money?: Money) => {
  const report = { connector: 'sandbox', notificationId: newId(), ...(money === undefined ? {} : { money }) }
  return { partnerId, instructionId, report }
}

type Provocation = (subject: Subject, claim: PayoutClaim) => Promise<unknown>
const provocations: Readonly<Record<Trigger, Provocation>> = {
  requested: ({ partner, request }) => pay(service, partner, '10.00', request),
  attempt: (_subject, claim) => service.payoutLife.begin(claim),
  accepted: (_subject, claim) => service.payoutLife.answered(claim, { accepted: true }),
  refused: (_subject, claim) => service.payoutLife.answered(claim, { accepted: false, ...failure, reasonCode: null }),
  unreachable: (_subject, claim) => service.payoutLife.unreachable(claim),
  kept: (_subject, claim) => {
    const notBefore = new Date(service.clock.now().getTime() + hourMs)
    return service.payoutLife.answered(claim, { accepted: true, notBefore })
  },
  stopped: (_subject, claim) => service.payoutLife.screen([{ ...claim, status: 'Pending' }]),
  cancelled: ({ payment: { partnerId }, id }) => service.payoutLife.cancel(partnerId, id),
  approved: (subject) => decided(service.payouts.approve(secondPerson(subject), subject.id)),
  declined: (subject) => decided(service.payouts.reject(secondPerson(subject), subject.id, 'Not ours.')),
  lapsed: async ({ payment: { partnerId }, id }) => {
    const { status } = await service.payouts.get(partnerId, id)
    service.clock.advance(waitingHours * hourMs)
    await service.payoutLife.expireApprovalsStep()
    return status === 'PendingApproval'
  },
  settled: (subject) => service.payoutLife.settled(reporting(subject)),
  'settled-otherwise': (subject) => {
    const money = { currency: 'EUR', amount: subject.payment.amount - keptMinor } as const
    return service.payoutLife.settled(reporting(subject, money))
  },
  rejected: (subject) => service.payoutLife.rejected(reporting(subject), failure),
  returned: (subject) => service.payoutLife.returned(reporting(subject), failure),
  'returned-in-part': (subject) => {
    const money = { currency: 'EUR', amount: subject.payment.amount - keptMinor } as const
    return service.payoutLife.returned(reporting(subject, money), failure)
  },
}
const errorKeyOf = (trigger: Trigger) => (trigger === 'stopped' ? 'RecipientBlocked' : failure.errorKey)
const isOfWorker = (trigger: Trigger) =>
  ['attempt', 'accepted', 'refused', 'stopped', 'unreachable', 'kept'].includes(trigger)

/** Triggers that come before a trigger and make steps of their own. */
async function prepare(subject: Subject, trigger: Trigger): Promise<void> {
  if (trigger === 'stopped') await confirm(await leased(subject))
}
const provoke = async (subject: Subject, trigger: Trigger) => provocations[trigger](subject, await leased(subject))

/** A payout in a status. A status that no transition leads to is written by the test. */
async function inStatus(status: string, ofCustomer = true): Promise<Subject> {
  const path = pathTo(payoutLifecycle, status)
  const subject = await requested(ofCustomer, path?.[0]?.row.to === 'PendingApproval')
  const { partnerId } = subject.payment
  for (const { trigger } of path?.slice(1) ?? []) {
    await prepare(subject, trigger)
    await provoke(subject, trigger)
  }
  if (path === undefined)
    await service.db.run(sql`
      update payouts.payouts set status = ${status} where partner_id = ${partnerId} and id = ${subject.id}`)
  assert.equal((await service.payouts.get(partnerId, subject.id)).status, status)
  return subject
}

test('accepting a payout has exactly the effects of its row in the table', async () => {
  for (const ofCustomer of [true, false])
    for (const name of ['accept', 'hold']) {
      const { payment } = await requested(ofCustomer, name === 'hold')
      const row = present(payoutLifecycle.transitions[name], name)
      const expected = follow(beforeBeginning(floatMinor), row, payment, '')
      assert.deepEqual(await observe(service, payment), expected)
    }
})

for (const status of statuses)
  for (const trigger of triggers) {
    const rows = transitionsOn(payoutLifecycle, status, trigger)
    if (rows.length > 0)
      test(`${status}, ${trigger}: has exactly the effects in the table`, async () => {
        for (const ofCustomer of [true, false]) {
          const subject = await inStatus(status, ofCustomer)
          await prepare(subject, trigger)
          const { payment } = subject
          const expected = rows.reduce(
            (observation, row) => follow(observation, row, payment, errorKeyOf(trigger)),
            await observe(service, payment),
          )
          const answer = await provoke(subject, trigger)
          const kept = trigger === 'returned-in-part' ? keptMinor : 0n
          const transfers = trigger === 'settled-otherwise' ? withDifference(expected.transfers) : expected.transfers
          assert.deepEqual(await observe(service, payment), { ...expected, transfers, posted: expected.posted - kept })
          assert.notEqual(answer, false)
        }
      })
    else
      test(`${status}, ${trigger}: changes nothing`, async () => {
        const subject = await inStatus(status)
        await prepare(subject, trigger)
        const earlier = await observe(service, subject.payment)
        if (isOfWorker(trigger)) await assert.rejects(provoke(subject, trigger), AssertionFailure)
        else if (trigger === 'requested')
          assert.equal(((await provoke(subject, trigger)) as { readonly replayed: boolean }).replayed, true)
        // The partner may ask for it at any time. Only what a bank reports can contradict.
        else if (['cancelled', 'approved', 'declined', 'lapsed'].includes(trigger))
          assert.equal(await provoke(subject, trigger), false)
        else {
          const meaning = classifyReport(payoutLifecycle, status, trigger)
          assert.equal(await provoke(subject, trigger), meaning === 'repeat' ? false : meaning)
        }
        assert.deepEqual(await observe(service, subject.payment), earlier)
      })
  }

for (const trigger of triggers.filter(isOfWorker))
  test(`${trigger}: changes nothing once another worker has the lease`, async () => {
    for (const status of statuses) {
      const subject = await inStatus(status)
      const lost = { ...(await leased(subject)), leaseId: newId() }
      const earlier = await observe(service, subject.payment)
      await provocations[trigger](subject, lost)
      assert.deepEqual(await observe(service, subject.payment), earlier, status)
    }
  })

test('notifications of one payout in one batch are applied one after the other', async () => {
  const subject = await inStatus('Processing')
  const { payment } = subject
  const row = (name: string) => present(payoutLifecycle.transitions[name], name)
  const expected = [row('send'), row('settle'), row('refund')].reduce(
    (observation, each) => follow(observation, each, payment, failure.errorKey),
    await observe(service, payment),
  )
  const claim = await leased(subject)
  const kinds = ['settled', 'returned', 'settled'] as const
  const answers = await Promise.all(kinds.map((kind) => provocations[kind](subject, claim)))
  assert.deepEqual(answers, [true, true, false])
  assert.deepEqual(await observe(service, payment), expected)
})

test('a payout has no failure before the transition that sets it, even if another transition is implied first', async () => {
  const subject = await inStatus('Processing')
  const { id, payment } = subject
  const { partnerId } = payment
  const committed: (string | null)[] = []
  const observed = await createTestService({
    url: service.url,
    now: service.clock.now(),
    wrapDatabase: (db) => ({
      ...db,
      transaction: async (work, options) => {
        const result = await db.transaction(work, options)
        const { status, errorKey } = await service.payouts.get(partnerId, id)
        committed.push(status, errorKey)
        return result
      },
    }),
  })
  assert.equal(await observed.payoutLife.rejected(reporting(subject), failure), true)
  assert.deepEqual(committed, ['Sent', null, 'Failed', failure.errorKey])
  await observed.close()
})

test('an attempt keeps the lease, an unreachable bank makes the payout due again, and other transitions leave neither', async () => {
  for (const { trigger, keepsLease, isDue } of [
    { trigger: 'attempt', keepsLease: true, isDue: true },
    { trigger: 'unreachable', keepsLease: false, isDue: true },
    { trigger: 'accepted', keepsLease: false, isDue: false },
    { trigger: 'refused', keepsLease: false, isDue: false },
    { trigger: 'settled', keepsLease: false, isDue: false },
  ] as const) {
    const subject = await inStatus('Processing')
    await provoke(subject, trigger)
    const { leaseId, dueAt } = await service.payouts.get(subject.payment.partnerId, subject.id)
    assert.deepEqual([leaseId !== null, dueAt !== null], [keepsLease, isDue], trigger)
  }
})

test('a transition is not written if the status is not the one that was checked', async () => {
  const { payment, id } = await inStatus('Sent')
  const { partnerId } = payment
  const earlier = await observe(service, payment)
  const row = await service.payouts.get(partnerId, id)
  const now = service.clock.now()
  const write = (fromStatus: typeof row.status) =>
    service.db.transaction(async (tx) => updatePayouts(tx, [{ ...row, fromStatus, status: 'Completed' }], now))
  for (const fromStatus of ['Pending', 'Processing', 'Completed'] as const) {
    await assert.rejects(write(fromStatus), AssertionFailure)
    assert.deepEqual(await observe(service, payment), earlier)
  }
  await write('Sent')
  assert.equal((await observe(service, payment)).status, 'Completed')
})

test('the database permits exactly the statuses of the table', async () => {
  const row = await service.db.row<{ definition: string }>(sql`
    select pg_get_constraintdef(oid) as definition from pg_constraint
    where conrelid = 'payouts.payouts'::regclass and conname = 'payouts_status_check'`)
  assert.deepEqual(new Set(statusesIn(row?.definition ?? '')), new Set(statuses))
})
