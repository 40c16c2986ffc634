/** Assignments: staff take, give and hand back cases and other queue items. */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, suite, test } from 'node:test'
import { addPartner, pay, type Service } from '../../../../test/support/composition.ts'
import { joinedStaff, type StaffRole } from '../../../../test/support/staff.ts'
import { useModules } from '../../../../test/support/fixture.ts'
import { operatorPartnerId } from '../../cases/index.ts'
import { dayMs, minuteMs, newId, secondMs } from '../../kernel/index.ts'
import { eraseExpiredRecords, sql } from '../../postgres/index.ts'
import { processBankNotifications, submitDuePayouts } from '../../banks/settlement/index.ts'
import { keptAssignments, type QueueItemKey } from './index.ts'

suite('queue items other than cases', async () => {
  const service = await useModules({ now: new Date('2026-11-24T08:00:00Z') })
  const folder = await mkdtemp(join(tmpdir(), 'assignments-'))
  after(() => rm(folder, { recursive: true, force: true }))

  const personOf = async (name: string, role: StaffRole = 'support') =>
    (await joinedStaff(service, folder, name, role)).signed

  /** Creates a stuck payout. */
  async function standing(): Promise<QueueItemKey> {
    const partner = await addPartner(service, 100_00n)
    const { payout } = await pay(service, partner, '1.00')
    service.clock.advance(6 * minuteMs)
    return { partnerId: partner.partnerId, kind: 'payout', subject: payout.id }
  }
  const openOf = async (key: QueueItemKey) => (await service.staff.assignments.of(service.db, [key]))[0]
  const stepsOf = async (key: QueueItemKey) =>
    (await service.staff.assignments.stepsOf(key)).map(({ kind, actor, note }) => [kind, actor, note])

  test('if two people take an item at the same time, one becomes the owner, and the other learns who it is', async () => {
    const [ada, grace] = [await personOf('Ada One'), await personOf('Grace One', 'finance')]
    const key = await standing()
    const answers = await Promise.allSettled(
      [ada, grace].map((signed) =>
        service.staff.assignQueueItem(signed, { ...key, ownerId: signed.account.id, seen: null }),
      ),
    )
    assert.deepEqual(answers.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'])
    const owner = (await openOf(key))?.ownerName
    const [refused] = answers.filter((answer) => answer.status === 'rejected')
    assert.match(String(refused?.reason.detail), new RegExp(`^${owner} has it since 2026-11-24T08:`))
    assert.deepEqual(await stepsOf(key), [['taken', owner, '']])
  })

  test("an item is assigned, taken over, annotated and handed back, with a history, and the operator's log omits the note", async () => {
    const [ada, grace] = [await personOf('Ada Two'), await personOf('Grace Two', 'compliance')]
    const [a, g] = [ada.account.id, grace.account.id]
    const key = await standing()
    await service.staff.assignQueueItem(ada, { ...key, ownerId: g, seen: null })
    await service.staff.assignQueueItem(ada, { ...key, ownerId: a, seen: g })
    await service.staff.remarkQueueItem(grace, { ...key, note: 'Asked the bank' })
    await assert.rejects(service.staff.assignQueueItem(grace, { ...key, ownerId: null, seen: g }), {
      detail: /^Ada Two has it since/,
    })
    assert.deepEqual(
      (await service.staff.assignments.ownedBy(a)).map(({ subject }) => subject),
      [key.subject],
    )
    await service.staff.assignQueueItem(grace, { ...key, ownerId: null, seen: a })
    await assert.rejects(service.staff.assignQueueItem(grace, { ...key, ownerId: g, seen: a }), {
      detail: /handed back/,
    })
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

  test("an assignment of an item that does not wait, of another partner's item, or to a removed person is refused", async () => {
    const [ada, gone] = [await personOf('Ada Three'), await personOf('Gone Three')]
    const key = await standing()
    const owned = { ownerId: ada.account.id, seen: null }
    await service.db.transaction((tx) => service.staff.remove(tx, gone.account.id))
    for (const ownerId of [gone.account.id, newId()])
      await assert.rejects(service.staff.assignQueueItem(ada, { ...key, ownerId, seen: null }), {
        code: 'validation_failed',
      })
    await assert.rejects(service.staff.assignQueueItem(gone, { ...key, ...owned }), { code: 'permission_denied' })
    const noLonger = { detail: 'The item no longer waits for a person.' }
    const stranger = { ...key, partnerId: (await addPartner(service)).partnerId }
    await assert.rejects(service.staff.assignQueueItem(ada, { ...stranger, ...owned }), noLonger)
    for (const kind of ['hit', 'deposit'] as const)
      await assert.rejects(service.staff.assignQueueItem(ada, { ...key, kind, ...owned }), noLonger)
    for (const kind of ['pool', 'connector'] as const)
      await assert.rejects(
        service.staff.assignQueueItem(ada, { partnerId: operatorPartnerId, kind, subject: 'none', ...owned }),
        noLonger,
      )
    await submitDuePayouts(service.settlement)
    await assert.rejects(service.staff.assignQueueItem(ada, { ...key, ...owned }), noLonger)
    await assert.rejects(service.staff.remarkQueueItem(ada, { ...key, note: 'Late' }), noLonger)
    assert.equal(await openOf(key), undefined)
  })

  test('an assignment ends when the item no longer waits, and a later wait begins without an owner', async () => {
    const ada = await personOf('Ada Four')
    const [key, other] = [await standing(), await standing()]
    for (const each of [key, other])
      await service.staff.assignQueueItem(ada, { ...each, ownerId: ada.account.id, seen: null })
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
    await service.staff.remarkQueueItem(ada, { ...key, note: 'Again' })
    assert.equal((await openOf(key))?.ownerName, null)
  })

  test('an item without a partner is assigned by its name', async () => {
    const ada = await personOf('Ada Five')
    const key = { partnerId: operatorPartnerId, kind: 'connector', subject: 'sandbox' } as const
    service.connectorHealth.breaker('sandbox', { inFlight: 0, isOpen: true })
    await service.staff.assignQueueItem(ada, { ...key, ownerId: ada.account.id, seen: null })
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

  test('notes are erased when the retention of records ends, but owners are not', async () => {
    const ada = await personOf('Ada Six')
    const key = await standing()
    await service.staff.assignQueueItem(ada, { ...key, ownerId: ada.account.id, seen: null })
    await service.staff.remarkQueueItem(ada, { ...key, note: 'Grace lives in Bonn' })
    const erase = () =>
      service.db.transaction((tx) =>
        eraseExpiredRecords(tx, keptAssignments, {
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

  test('a review has an owner until it is recorded', async () => {
    const ada = await personOf('Ada Review')
    const partner = await addPartner(service)
    const { partnerId, customer } = partner
    const key = { partnerId, kind: 'review', subject: customer.id } as const
    const taken = () => service.staff.assignQueueItem(ada, { ...key, ownerId: ada.account.id, seen: null })
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
})

suite('cases', async () => {
  const service = await useModules({ now: new Date('2026-11-24T08:00:00Z') })
  const folder = await mkdtemp(join(tmpdir(), 'case-owners-'))
  after(() => rm(folder, { recursive: true, force: true }))

  const personOf = async (name: string, role: StaffRole) => (await joinedStaff(service, folder, name, role)).signed

  async function openCase(partnerId?: string) {
    const owner = partnerId ?? (await addPartner(service)).partnerId
    const id = newId()
    const named = { connector: 'sandbox', notificationId: newId(), subject: id, report: {} }
    const booked = { currency: 'EUR', amount: 1234n } as const
    assert.equal(await service.cases.open({ id, partnerId: owner, kind: 'unknown_payment', ...named, booked }), true)
    return { partnerId: owner, id }
  }
  const ownerOf = async ({ partnerId, id }: { readonly partnerId: string; readonly id: string }) =>
    (await service.cases.byId(service.db, partnerId, id))?.ownerName
  const historyOf = async ({ partnerId, id }: { readonly partnerId: string; readonly id: string }) =>
    (await service.decisions.history(service.db, partnerId, id)).map(({ kind, actor, note }) => [kind, actor, note])

  test('if two people take a case at the same time, one becomes the owner, and the other learns who it is', async () => {
    const [ada, grace] = [await personOf('Ada One', 'support'), await personOf('Grace One', 'finance')]
    const key = await openCase()
    const answers = await Promise.allSettled(
      [ada, grace].map((signed) =>
        service.staff.assignCase(signed, { ...key, ownerId: signed.account.id, seen: null }),
      ),
    )
    assert.deepEqual(answers.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'])
    const owner = await ownerOf(key)
    const [refused] = answers.filter((answer) => answer.status === 'rejected')
    assert.match(String(refused?.reason.detail), new RegExp(`^${owner} has the case since 2026-11-24T08:00:00`))
    assert.deepEqual(await historyOf(key), [['taken', owner, '']])
  })

  test("a case is assigned, taken over and handed back, and its history and the operator's log contain each step", async () => {
    const [ada, grace] = [await personOf('Ada Two', 'support'), await personOf('Grace Two', 'finance')]
    const key = await openCase()
    const [a, g] = [ada.account.id, grace.account.id]
    await service.staff.assignCase(ada, { ...key, ownerId: g, seen: null })
    await service.staff.assignCase(ada, { ...key, ownerId: a, seen: g })
    await assert.rejects(service.staff.assignCase(grace, { ...key, ownerId: null, seen: g }), {
      detail: /^Ada Two has the case since/,
    })
    await service.staff.assignCase(grace, { ...key, ownerId: null, seen: a })
    await assert.rejects(service.staff.assignCase(grace, { ...key, ownerId: g, seen: a }), { detail: /handed back/ })
    assert.equal(await ownerOf(key), null)
    assert.deepEqual(await historyOf(key), [
      ['given', 'Ada Two', 'to Grace Two'],
      ['taken', 'Ada Two', ''],
      ['handed_back', 'Grace Two', ''],
    ])
    const { data } = await service.audit.list(operatorPartnerId, {})
    const own = data.filter(({ action, subject }) => action === 'operator case assign' && subject?.['id'] === key.id)
    assert.deepEqual(
      own.map(({ actor, details }) => [actor.name, details]),
      [
        ['Grace Two', { owner: null }],
        ['Ada Two', { owner: a }],
        ['Ada Two', { owner: g }],
      ],
    )
    assert.deepEqual((await service.audit.list(key.partnerId, {})).data, [], 'the partner reads none of it')
  })

  test("an assignment to a removed or unknown person, of a decided case, or of another partner's case is refused", async () => {
    const [ada, gone] = [await personOf('Ada Three', 'finance'), await personOf('Gone Three', 'support')]
    const key = await openCase()
    await service.db.transaction((tx) => service.staff.remove(tx, gone.account.id))
    for (const ownerId of [gone.account.id, newId()])
      await assert.rejects(service.staff.assignCase(ada, { ...key, ownerId, seen: null }), {
        code: 'validation_failed',
      })
    await assert.rejects(service.staff.assignCase(gone, { ...key, ownerId: ada.account.id, seen: null }), {
      code: 'permission_denied',
    })
    const stranger = { ...key, partnerId: (await addPartner(service)).partnerId }
    await assert.rejects(service.staff.assignCase(ada, { ...stranger, ownerId: ada.account.id, seen: null }), {
      code: 'not_found',
    })
    await service.staff.propose(ada, { ...key, action: 'fees', note: 'Charge' })
    await service.staff.approve(await personOf('Grace Three', 'finance'), key)
    const decided = { detail: /^The case was booked_to_fees by/ }
    await assert.rejects(service.staff.assignCase(ada, { ...key, ownerId: ada.account.id, seen: null }), decided)
    await assert.rejects(service.staff.remarkCase(ada, { ...key, note: 'Late' }), decided)
  })

  test('each note has an author and a time, replaces no other, and is not in the logs', async () => {
    const [ada, grace] = [await personOf('Ada Four', 'support'), await personOf('Grace Four', 'compliance')]
    const key = await openCase()
    await Promise.all([
      service.staff.remarkCase(ada, { ...key, note: 'Asked the bank' }),
      service.staff.remarkCase(grace, { ...key, note: 'Wrote to the partner' }),
    ])
    const history = await service.decisions.history(service.db, key.partnerId, key.id)
    assert.deepEqual(
      history.map(({ sequence, kind }) => [sequence, kind]),
      [
        [1, 'remarked'],
        [2, 'remarked'],
      ],
    )
    assert.deepEqual(new Set(history.map(({ note }) => note)), new Set(['Asked the bank', 'Wrote to the partner']))
    const last = await service.cases.lastRemarks(service.db, key.partnerId, [key.id, newId()])
    assert.deepEqual(last, [{ caseId: key.id, note: history.at(-1)?.note }])
    const { data } = await service.audit.list(operatorPartnerId, {})
    const own = data.filter(({ subject }) => subject?.['id'] === key.id)
    assert.deepEqual(new Set(own.map(({ action }) => action)), new Set(['operator case remark']))
    assert.doesNotMatch(JSON.stringify(own), /Asked the bank|Wrote to/)
    assert.equal((await service.cases.byId(service.db, key.partnerId, key.id))?.resolution, null)
  })

  test('the queue lists all cases, my own or unowned ones in pages, each open case once', async () => {
    const ada = await personOf('Ada Five', 'support')
    const { partnerId } = await addPartner(service)
    const keys: Awaited<ReturnType<typeof openCase>>[] = []
    for (let n = 0; n < 5; n++) {
      keys.push(await openCase(partnerId))
      if (n !== 2) service.clock.advance(secondMs)
    }
    for (const key of [keys[1], keys[3]])
      if (key) await service.staff.assignCase(ada, { ...key, ownerId: ada.account.id, seen: null })
    const known = new Set(keys.map(({ id }) => id))
    const pages = async (wanted: Parameters<Service['cases']['list']>[3]) => {
      const found: string[] = []
      for (let rows = await service.cases.list(undefined, 2, service.db, wanted); rows.length > 0;) {
        found.push(...rows.map(({ id }) => id).filter((id) => known.has(id)))
        rows = await service.cases.list(rows.at(-1), 2, service.db, wanted)
      }
      return found
    }
    const at = (...places: readonly number[]) => places.map((place) => keys[place]?.id)
    assert.deepEqual(await pages({}), at(0, 1, 2, 3, 4))
    assert.deepEqual(await pages({ owned: { ownerId: ada.account.id } }), at(1, 3))
    assert.deepEqual(await pages({ owned: 'unowned' }), at(0, 2, 4))
    assert.deepEqual(await pages({ owned: { ownerId: newId() } }), [])
  })
})
