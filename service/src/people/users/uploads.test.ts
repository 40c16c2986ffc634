import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { addPartner } from '../../../../test/support/composition.ts'
import { useModules } from '../../../../test/support/fixture.ts'
import { dayMs, minuteMs, newId } from '../../kernel/index.ts'
import { sql } from '../../postgres/index.ts'

suite('uploads', async () => {
  const service = await useModules()
  const { uploads } = service
  const owner = async () => ({ caller: (await addPartner(service)).caller })
  type Owner = Awaited<ReturnType<typeof owner>>
  const colleague = ({ caller }: Owner) => ({ caller: { ...caller, serviceAccountId: newId() } })
  const none = { code: 'not_found' }

  test('a file is stored sealed, by kind, and only for its person', async () => {
    const ann = await owner()
    const id = await uploads.keep(ann, 'Bulk', { lines: ['Ada Lovelace'] })
    const found = await uploads.find(ann, 'Bulk', id)
    assert.deepEqual([found.content, found.revision, found.resultId], [{ lines: ['Ada Lovelace'] }, 1, null])
    const other = await owner()
    for (const refused of [
      () => uploads.find(colleague(ann), 'Bulk', id),
      () => uploads.find(other, 'Bulk', id),
      () => uploads.find(ann, 'Payees', id),
      () => uploads.find(ann, 'Bulk', newId()),
      () => uploads.remove(colleague(ann), 'Bulk', id),
    ])
      await assert.rejects(refused, none)
    const [row] = await service.db.rows<{ readonly stored: string }>(
      sql`select encode(content_sealed, 'escape') as stored from users.uploads where id = ${id}`,
    )
    assert.ok(row !== undefined && !row.stored.includes('Lovelace'))
    await uploads.remove(ann, 'Bulk', id)
    await assert.rejects(uploads.find(ann, 'Bulk', id), none)
  })

  test('one of two concurrent changes is stored, and the other is notified of it', async () => {
    const ann = await owner()
    const id = await uploads.keep(ann, 'Bulk', { at: 0 })
    const seen = await uploads.find(ann, 'Bulk', id)
    const kept = await Promise.all([1, 2, 3].map((at) => uploads.replace(ann, seen, { at })))
    assert.equal(kept.filter(Boolean).length, 1)
    const now = await uploads.find<{ readonly at: number }>(ann, 'Bulk', id)
    assert.deepEqual([now.revision, now.content?.at], [2, kept.indexOf(true) + 1])
    assert.equal(await uploads.replace(colleague(ann), now, {}), false)
  })

  test('only one request at a time sends a file, and the lease of a dead process expires', async () => {
    const ann = await owner()
    const id = await uploads.keep(ann, 'Bulk', {})
    const seen = await uploads.find(ann, 'Bulk', id)
    const leases = await Promise.all([uploads.lease(ann, seen), uploads.lease(ann, seen)])
    assert.equal(leases.filter((lease) => lease !== undefined).length, 1)
    assert.equal(await uploads.replace(ann, seen, {}), false)
    assert.equal(await uploads.lease(ann, { ...seen, revision: 2 }), undefined)
    service.clock.advance(3 * minuteMs)
    const next = await uploads.lease(ann, seen)
    assert.ok(next !== undefined)
    await uploads.release(ann, next)
    const last = await uploads.lease(ann, seen)
    assert.ok(last !== undefined)
    // The dead process cannot finish the upload.
    const result = newId()
    await uploads.finish(ann, next, newId())
    await uploads.finish(ann, last, result)
    const sent = await uploads.find(ann, 'Bulk', id)
    assert.deepEqual([sent.content, sent.resultId], [undefined, result])
    assert.equal(await uploads.lease(ann, sent), undefined)
    assert.deepEqual(await uploads.unsent(ann, 'Bulk'), [])
  })

  test('only the twenty newest files of a kind are kept for a person', async () => {
    const ann = await owner()
    const ids: string[] = []
    for (let at = 0; at < 22; at += 1) ids.push(await uploads.keep(ann, 'Bulk', { at }))
    await uploads.keep(ann, 'Payees', {})
    assert.deepEqual(
      (await uploads.unsent(ann, 'Bulk')).map(({ id }) => id),
      ids.slice(2).toReversed(),
    )
    assert.equal((await uploads.unsent(ann, 'Payees')).length, 1)
    assert.deepEqual(await uploads.unsent(colleague(ann), 'Bulk'), [])
  })

  test('an expired file is not found, and the job deletes it, partner by partner', async () => {
    const [ann, bo] = [await owner(), await owner()]
    const ids = [await uploads.keep(ann, 'Bulk', {}), await uploads.keep(bo, 'Customers', {})]
    service.clock.advance(7 * dayMs)
    const later = await uploads.keep(ann, 'Bulk', {})
    await assert.rejects(uploads.find(ann, 'Bulk', ids[0] ?? ''), none)
    while ((await uploads.expireStep()) > 0);
    const left = await service.db.rows<{ readonly id: string }>(
      sql`select id from users.uploads where id = any(${[...ids, later]}::uuid[])`,
    )
    assert.deepEqual(left, [{ id: later }])
  })
})
