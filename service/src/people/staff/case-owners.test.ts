/** Staff take, give and hand back cases, and add notes: one of two at once counts, and each step is in the log of the operator. */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { addPartner, createTestService, type Service } from '../../../../test/support/composition.ts'
import { joinedStaff, type StaffRole } from '../../../../test/support/staff.ts'
import { operatorPartnerId } from '../../cases/index.ts'
import { newId, secondMs } from '../../kernel/index.ts'

let service: Service
let folder: string
before(async () => {
  service = await createTestService({ now: new Date('2026-11-24T08:00:00Z') })
  folder = await mkdtemp(join(tmpdir(), 'case-owners-'))
})
after(async () => {
  await service.close()
  await rm(folder, { recursive: true, force: true })
})

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

test('of two who take a case at once one has it, and the other is told who', async () => {
  const [ada, grace] = [await personOf('Ada One', 'support'), await personOf('Grace One', 'finance')]
  const key = await openCase()
  const answers = await Promise.allSettled(
    [ada, grace].map((signed) => service.staff.assignCase(signed, { ...key, ownerId: signed.account.id, seen: null })),
  )
  assert.deepEqual(answers.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'])
  const owner = await ownerOf(key)
  const [refused] = answers.filter((answer) => answer.status === 'rejected')
  assert.match(String(refused?.reason.detail), new RegExp(`^${owner} has the case since 2026-11-24T08:00:00`))
  assert.deepEqual(await historyOf(key), [['taken', owner, '']])
})

test('a case is given, taken over and handed back, and the history and the log of the operator have each step', async () => {
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

test('a person who was removed, an unknown one, a decided case and the case of another partner are refused', async () => {
  const [ada, gone] = [await personOf('Ada Three', 'finance'), await personOf('Gone Three', 'support')]
  const key = await openCase()
  await service.db.transaction((tx) => service.staff.remove(tx, gone.account.id))
  for (const ownerId of [gone.account.id, newId()])
    await assert.rejects(service.staff.assignCase(ada, { ...key, ownerId, seen: null }), { code: 'validation_failed' })
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

test('notes are added and never replaced, with author and time, and no log has their text', async () => {
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

test('the queue shows all, mine and unowned in pages, each open case once', async () => {
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
  const pages = async (owned: Parameters<Service['cases']['list']>[3]) => {
    const found: string[] = []
    for (let rows = await service.cases.list(undefined, 2, service.db, owned); rows.length > 0;) {
      found.push(...rows.map(({ id }) => id).filter((id) => known.has(id)))
      rows = await service.cases.list(rows.at(-1), 2, service.db, owned)
    }
    return found
  }
  const at = (...places: readonly number[]) => places.map((place) => keys[place]?.id)
  assert.deepEqual(await pages('any'), at(0, 1, 2, 3, 4))
  assert.deepEqual(await pages({ ownerId: ada.account.id }), at(1, 3))
  assert.deepEqual(await pages('unowned'), at(0, 2, 4))
  assert.deepEqual(await pages({ ownerId: newId() }), [])
})
