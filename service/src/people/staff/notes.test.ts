/** Notes of staff: their erasure and their lists. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addPartner } from '../../../../test/support/composition.ts'
import { useModules } from '../../../../test/support/fixture.ts'
import { dayMs, newId } from '../../kernel/index.ts'
import type { NoteSubject } from './index.ts'
import { insertNote } from './store.ts'

const service = await useModules()
const { db, clock, personalData, staff } = service

const write = (about: NoteSubject) =>
  db.transaction((tx) =>
    insertNote(tx, about, { id: newId(), authorId: newId(), authorName: 'Sam', note: 'Called', madeAt: clock.now() }),
  )
const count = async (about: NoteSubject) => (await staff.notes.of(db, about, undefined, 10)).length

test('notes about an erased customer and its payees are deleted, and notes about the partner are kept', async () => {
  const { partnerId, customer, beneficiary, ownBeneficiary } = await addPartner(service)
  const about = (kind: NoteSubject['kind'], subjectId: string) => ({ partnerId, kind, subjectId })
  const all = [
    about('customer', customer.id),
    about('payee', beneficiary.id),
    about('payee', ownBeneficiary.id),
    about('partner', partnerId),
  ] as const
  for (const each of all) await write(each)
  await personalData.erasures.erase(partnerId, customer.id, false)
  while ((await personalData.erasures.step()) > 0);
  assert.deepEqual(
    await Promise.all(all.map(count)),
    [1, 0, 1, 1],
    'the notes about the customer are kept as its KYC is',
  )
  clock.advance(11 * 366 * dayMs)
  while ((await personalData.erasures.step()) > 0);
  assert.deepEqual(await Promise.all(all.map(count)), [0, 0, 1, 1])
  while ((await personalData.keptRecords.step()) > 0);
  assert.deepEqual(await Promise.all(all.map(count)), [0, 0, 0, 0])
})

test('notes are listed newest first, in pages, without notes about another subject or partner', async () => {
  const one = await addPartner(service)
  const two = await addPartner(service)
  const about = { partnerId: one.partnerId, kind: 'customer', subjectId: one.customer.id } as const
  for (let n = 0; n < 5; n++) await write(about)
  await write({ ...about, kind: 'payee' })
  await write({ ...about, partnerId: two.partnerId })
  const first = await staff.notes.of(db, about, undefined, 3)
  const rest = await staff.notes.of(db, about, first.at(-1)?.id, 3)
  assert.deepEqual([first.length, rest.length], [3, 2])
  const ids = [...first, ...rest].map(({ id }) => id)
  assert.deepEqual(ids, ids.toSorted().toReversed())
})
