/** Staff take, give and hand back what waits besides cases: one of two at once counts, and it ends by itself. */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { addPartner, createTestService, pay, type Service } from '../../../../test/support/composition.ts'
import { joinedStaff, type StaffRole } from '../../../../test/support/staff.ts'
import { operatorPartnerId } from '../../cases/index.ts'
import { dayMs, minuteMs, newId } from '../../kernel/index.ts'
import { eraseKept, sql } from '../../postgres/index.ts'
import { processBankNotifications, submitDuePayouts } from '../../banks/settlement/index.ts'
import { keptAssignments, type ThingKey } from './index.ts'

let service: Service
let folder: string
before(async () => {
  service = await createTestService({ now: new Date('2026-11-24T08:00:00Z') })
  folder = await mkdtemp(join(tmpdir(), 'assignments-'))
})
after(async () => {
  await service.close()
  await rm(folder, { recursive: true, force: true })
})

const personOf = async (name: string, role: StaffRole = 'support') =>
  (await joinedStaff(service, folder, name, role)).signed

/** A payout that stands still. */
async function standing(): Promise<ThingKey> {
  const partner = await addPartner(service, 100_00n)
  const { payout } = await pay(service, partner, '1.00')
  service.clock.advance(6 * minuteMs)
  return { partnerId: partner.partnerId, kind: 'payout', subject: payout.id }
}
const openOf = async (key: ThingKey) => (await service.staff.assignments.of(service.db, [key]))[0]
const stepsOf = async (key: ThingKey) =>
  (await service.staff.assignments.stepsOf(key)).map(({ kind, actor, note }) => [kind, actor, note])

test('of two who take a thing at once one has it, and the other is told who', async () => {
  const [ada, grace] = [await personOf('Ada One'), await personOf('Grace One', 'finance')]
  const key = await standing()
  const answers = await Promise.allSettled(
    [ada, grace].map((signed) => service.staff.assignThing(signed, { ...key, ownerId: signed.account.id, seen: null })),
  )
  assert.deepEqual(answers.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'])
  const owner = (await openOf(key))?.ownerName
  const [refused] = answers.filter((answer) => answer.status === 'rejected')
  assert.match(String(refused?.reason.detail), new RegExp(`^${owner} has it since 2026-11-24T08:`))
  assert.deepEqual(await stepsOf(key), [['taken', owner, '']])
})

test('a thing is given, taken over, annotated and handed back, with a history, and in the log of the operator without the note', async () => {
  const [ada, grace] = [await personOf('Ada Two'), await personOf('Grace Two', 'compliance')]
  const [a, g] = [ada.account.id, grace.account.id]
  const key = await standing()
  await service.staff.assignThing(ada, { ...key, ownerId: g, seen: null })
  await service.staff.assignThing(ada, { ...key, ownerId: a, seen: g })
  await service.staff.remarkThing(grace, { ...key, note: 'Asked the bank' })
  await assert.rejects(service.staff.assignThing(grace, { ...key, ownerId: null, seen: g }), {
    detail: /^Ada Two has it since/,
  })
  assert.deepEqual(
    (await service.staff.assignments.ownedBy(a)).map(({ subject }) => subject),
    [key.subject],
  )
  await service.staff.assignThing(grace, { ...key, ownerId: null, seen: a })
  await assert.rejects(service.staff.assignThing(grace, { ...key, ownerId: g, seen: a }), { detail: /handed back/ })
  const open = await openOf(key)
  assert.deepEqual([open?.ownerId, open?.lastNote], [null, 'Asked the bank'])
  assert.deepEqual(await service.staff.assignments.ownedBy(a), [])
  assert.deepEqual(await stepsOf(key), [
    ['given', 'Ada Two', 'to Grace Two'],
    ['taken', 'Ada Two', ''],
    ['remarked', 'Grace Two', 'Asked the bank'],
    ['handed_back', 'Grace Two', ''],
  ])
  const { data } = await service.audit.list(operatorPartnerId, {})
  const own = data.filter(({ subject }) => subject?.['id'] === key.subject)
  assert.deepEqual(
    own.map(({ action, actor, details }) => [action, actor.name, details]),
    [
      ['operator queue assign', 'Grace Two', { kind: 'payout', owner: null }],
      ['operator queue remark', 'Grace Two', { kind: 'payout' }],
      ['operator queue assign', 'Ada Two', { kind: 'payout', owner: a }],
      ['operator queue assign', 'Ada Two', { kind: 'payout', owner: g }],
    ],
  )
  assert.doesNotMatch(JSON.stringify(own), /Asked the bank/)
  const ofPartner = (await service.audit.list(key.partnerId, {})).data.map(({ action }) => action)
  assert.deepEqual(new Set(ofPartner), new Set(['transaction.steps']), 'the partner reads none of it')
})

test('what does not wait, the thing of another partner, and a person who was removed are refused', async () => {
  const [ada, gone] = [await personOf('Ada Three'), await personOf('Gone Three')]
  const key = await standing()
  const owned = { ownerId: ada.account.id, seen: null }
  await service.db.transaction((tx) => service.staff.remove(tx, gone.account.id))
  for (const ownerId of [gone.account.id, newId()])
    await assert.rejects(service.staff.assignThing(ada, { ...key, ownerId, seen: null }), { code: 'validation_failed' })
  await assert.rejects(service.staff.assignThing(gone, { ...key, ...owned }), { code: 'permission_denied' })
  const noLonger = { detail: 'It no longer waits for a person.' }
  const stranger = { ...key, partnerId: (await addPartner(service)).partnerId }
  await assert.rejects(service.staff.assignThing(ada, { ...stranger, ...owned }), noLonger)
  for (const kind of ['hit', 'deposit'] as const)
    await assert.rejects(service.staff.assignThing(ada, { ...key, kind, ...owned }), noLonger)
  for (const kind of ['pool', 'connector'] as const)
    await assert.rejects(
      service.staff.assignThing(ada, { partnerId: operatorPartnerId, kind, subject: 'none', ...owned }),
      noLonger,
    )
  await submitDuePayouts(service.settlement)
  await assert.rejects(service.staff.assignThing(ada, { ...key, ...owned }), noLonger)
  await assert.rejects(service.staff.remarkThing(ada, { ...key, note: 'Late' }), noLonger)
  assert.equal(await openOf(key), undefined)
})

test('an assignment ends when the thing no longer waits, and a later wait begins without an owner', async () => {
  const ada = await personOf('Ada Four')
  const [key, other] = [await standing(), await standing()]
  for (const each of [key, other])
    await service.staff.assignThing(ada, { ...each, ownerId: ada.account.id, seen: null })
  await service.staff.assignments.endStep()
  assert.equal((await openOf(key))?.ownerName, 'Ada Four', 'it still waits')
  await service.db.run(sql`update payouts.payouts set status = 'Cancelled', due_at = null
    where partner_id = ${key.partnerId} and id = ${key.subject}`)
  assert.deepEqual(
    (await service.staff.assignments.ownedBy(ada.account.id)).map(({ subject }) => subject),
    [other.subject],
    'what is over is no longer shown as mine',
  )
  await Promise.all([service.staff.assignments.endStep(), service.staff.assignments.endStep()])
  assert.equal(await openOf(key), undefined)
  assert.deepEqual((await stepsOf(key)).at(-1), ['ended', 'service', ''])
  assert.deepEqual((await stepsOf(key)).length, 2)
  await service.db.run(sql`update payouts.payouts set status = 'Pending', due_at = ${service.clock.now()}
    where partner_id = ${key.partnerId} and id = ${key.subject}`)
  await service.staff.remarkThing(ada, { ...key, note: 'Again' })
  assert.equal((await openOf(key))?.ownerName, null)
})

test('a thing without a partner has an owner by its name', async () => {
  const ada = await personOf('Ada Five')
  const key = { partnerId: operatorPartnerId, kind: 'connector', subject: 'sandbox' } as const
  service.connectorHealth.breaker('sandbox', { inFlight: 0, isOpen: true })
  await service.staff.assignThing(ada, { ...key, ownerId: ada.account.id, seen: null })
  assert.equal((await openOf(key))?.ownerName, 'Ada Five')
  service.connectorHealth.breaker('sandbox', { inFlight: 0, isOpen: false })
  await submitDuePayouts(service.settlement)
  await processBankNotifications(service.settlement)
  await service.staff.assignments.endStep()
  assert.equal(
    (await openOf(key))?.ownerName,
    'Ada Five',
    'another process may know more, until the bank answers this one',
  )
  service.connectorHealth.answered('sandbox')
  await service.staff.assignments.endStep()
  assert.equal(await openOf(key), undefined)
})

test('notes are erased with the time of the records, and owners stay', async () => {
  const ada = await personOf('Ada Six')
  const key = await standing()
  await service.staff.assignThing(ada, { ...key, ownerId: ada.account.id, seen: null })
  await service.staff.remarkThing(ada, { ...key, note: 'Grace lives in Bonn' })
  const erase = () =>
    service.db.transaction((tx) =>
      eraseKept(tx, keptAssignments, {
        partnerId: key.partnerId,
        ...{ afterId: '00000000-0000-0000-0000-000000000000', beforeId: 'ffffffff-ffff-ffff-ffff-ffffffffffff' },
        ...{ endedBefore: new Date(service.clock.now().getTime() + dayMs), rowsMax: 10 },
      }),
    )
  await erase()
  assert.equal((await openOf(key))?.lastNote, 'Grace lives in Bonn', 'an open one is in use')
  await submitDuePayouts(service.settlement)
  await service.staff.assignments.endStep()
  await erase()
  const kept = await service.db.rows(
    sql`select owner_name, last_note from staff.assignments where partner_id = ${key.partnerId}`,
  )
  assert.deepEqual(kept, [{ ownerName: 'Ada Six', lastNote: null }])
  assert.deepEqual(
    (await stepsOf(key)).map(([kind, , note]) => [kind, note]),
    [
      ['taken', ''],
      ['remarked', ''],
      ['ended', ''],
    ],
  )
})

test('a review has an owner until it is made', async () => {
  const ada = await personOf('Ada Review')
  const partner = await addPartner(service)
  const { partnerId, customer } = partner
  const key = { partnerId, kind: 'review', subject: customer.id } as const
  const taken = () => service.staff.assignThing(ada, { ...key, ownerId: ada.account.id, seen: null })
  await assert.rejects(taken(), { code: 'validation_failed' })
  const review = (months: number) =>
    service.db.transaction((tx) =>
      service.customers.reviews.set(tx, { partnerId, customerRef: customer.id, risk: 'low', staff: 'Sam', months }),
    )
  await review(0)
  await taken()
  assert.equal((await openOf(key))?.ownerName, 'Ada Review')
  await review(12)
  await service.staff.assignments.endStep()
  assert.equal(await openOf(key), undefined)
})
