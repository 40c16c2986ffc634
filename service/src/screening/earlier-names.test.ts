/** A subject keeps the names that it had, and is screened under all of them. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { addPartner, createTestService, type Service } from '../../../test/support/composition.ts'
import { decideAll, sampleList, screenAll } from '../../../test/support/screening/held.ts'

let service: Service
before(async () => {
  service = await createTestService()
  await service.screening.lists.load(await sampleList(), 'Sam Staff')
})
after(() => service.close())

test('a name and an entry have one hit, whatever names stand beside it, and are decided about once', async () => {
  const { beneficiaries, screener, screening, db } = service
  const { partnerId, beneficiary } = await addPartner(service)
  const { id } = beneficiary
  const named = ['Borislav Tremurov', 'Boris Tremuroff', 'Ada King', 'Borislav Tremurof', 'Borislav Tremurov']
  for (const name of named) {
    await beneficiaries.update(partnerId, { id, name })
    await screenAll(service)
  }
  const open = async () =>
    (await screening.openHits(undefined, 100))
      .filter((hit) => hit.partnerId === partnerId)
      .map((hit) => [hit.name, hit.nameNumber])
  const hits = [
    ['Borislav Tremurov', 0],
    ['Boris Tremuroff', 1],
    ['Borislav Tremurof', 2],
  ]
  assert.deepEqual(await open(), hits)
  const names = await screener.namesOf(db, { partnerId, kind: 'beneficiary', id })
  const kept = ['Borislav Tremurov', 'Grace Hopper', 'Boris Tremuroff', 'Ada King', 'Borislav Tremurof']
  assert.deepEqual(
    names.map(({ name }) => name),
    kept,
  )
  await decideAll(service, partnerId, 'clear')
  for (const name of named.toReversed()) await beneficiaries.update(partnerId, { id, name })
  await screenAll(service)
  assert.deepEqual(await open(), [])
})

test('who is forgotten has no earlier names, unless a hit is open or confirmed', async () => {
  const { beneficiaries, screener, screening, db } = service
  const { partnerId, beneficiary, ownBeneficiary } = await addPartner(service)
  for (const [{ id }, name] of [
    [beneficiary, 'Borislav Tremurov'],
    [ownBeneficiary, 'Ada King'],
  ] as const)
    await beneficiaries.update(partnerId, { id, name })
  await screenAll(service)
  await db.transaction((tx) => screening.forget(tx, partnerId, [beneficiary.id, ownBeneficiary.id]))
  const countOf = async ({ id }: { readonly id: string }) =>
    (await screener.namesOf(db, { partnerId, kind: 'beneficiary', id })).length
  assert.deepEqual([await countOf(beneficiary), await countOf(ownBeneficiary)], [2, 1])
  assert.equal((await screening.openHits(undefined, 100)).filter((hit) => hit.partnerId === partnerId).length, 1)
})
