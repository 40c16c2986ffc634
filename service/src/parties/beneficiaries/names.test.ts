/** The search for payees by name and its index, including names that an earlier version wrote. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addPartner } from '../../../../test/support/composition.ts'
import { useModules } from '../../../../test/support/fixture.ts'
import { type Sql, sql, toStatement, type Tx } from '../../postgres/index.ts'
import { list } from './store.ts'
const service = await useModules()
const partner = await addPartner(service, 1_000_00n)

const create = (name: string, customerId?: string, partnerId = partner.partnerId) =>
  service.beneficiaries.create(partnerId, {
    ...{ name, iban: 'DE89370400440532013000', currency: 'EUR' },
    ...(customerId === undefined ? {} : { customerId }),
  })
const found = async (namePrefix: string, partnerId = partner.partnerId) =>
  (await service.beneficiaries.list(partnerId, { namePrefix })).data.map(({ id }) => id)
const prefixesOf = async (id: string) =>
  (
    await service.db.rows<{ prefix: string }>(sql`
      select prefix from beneficiaries.name_prefixes
      where partner_id = ${partner.partnerId} and beneficiary_id = ${id} order by prefix`)
  ).map(({ prefix }) => prefix)

test('payees are listed by the beginning of a word of the name, newest first, with other filters, and only for their partner', async () => {
  const { partnerId } = await addPartner(service, 0n)
  const { customer } = partner
  const [first, second] = [await create('Ångström & Söhne'), await create('Anders Ångström', customer.id)]
  assert.deepEqual(await found('angst'), [second.id, first.id])
  assert.deepEqual(await found('ANDERS Å'), [second.id])
  assert.deepEqual(await found('strom'), [])
  assert.deepEqual(await found('angst', partnerId), [])
  const query = { namePrefix: 'angst', limit: '1' }
  const page = await service.beneficiaries.list(partner.partnerId, query)
  assert.deepEqual([page.data.map(({ id }) => id), page.hasMore], [[second.id], true])
  const next = await service.beneficiaries.list(partner.partnerId, { ...query, cursor: page.nextCursor ?? '' })
  assert.deepEqual([next.data.map(({ id }) => id), next.hasMore], [[first.id], false])
  const own = await service.beneficiaries.list(partner.partnerId, { namePrefix: 'angst', customerId: customer.id })
  assert.deepEqual(
    own.data.map(({ id }) => id),
    [second.id],
  )
})

test('400 with a pointer when a search has fewer than two letters or digits', async () => {
  for (const namePrefix of ['a', ' - ', '...'])
    await assert.rejects(found(namePrefix), (error: { code?: string; errors?: readonly { pointer: string }[] }) => {
      assert.deepEqual([error.code, error.errors?.[0]?.pointer], ['validation_failed', '/query/namePrefix'])
      return true
    })
})

test('concurrent renames leave only the prefixes of the final name, and a removal or an erasure leaves no prefixes', async () => {
  const customer = await service.customers.create(partner.partnerId, { email: 'erased@example.com' })
  const [{ id }, owned] = [await create('Bo'), await create('Bo Derek', customer.id)]
  assert.deepEqual(await prefixesOf(id), ['bo'])
  const names = ['Cy', 'Di', 'Ed', 'Fi']
  await Promise.all(names.map((name) => service.beneficiaries.update(partner.partnerId, { id, name })))
  const { name } = await service.beneficiaries.get(partner.partnerId, id)
  assert.deepEqual(await prefixesOf(id), [name.toLowerCase()])
  await service.beneficiaries.update(partner.partnerId, { id, alias: 'alias' })
  assert.deepEqual(await prefixesOf(id), [name.toLowerCase()])
  await service.beneficiaries.remove(partner.partnerId, id)
  assert.deepEqual(await prefixesOf(id), [])
  assert.ok((await prefixesOf(owned.id)).length > 0)
  await service.personalData.erasures.erase(partner.partnerId, customer.id, true)
  assert.deepEqual(await prefixesOf(owned.id), [])
  assert.equal(await service.beneficiaries.indexNamesStep(), 0)
})

test('the worker indexes, in steps, names that an earlier version wrote, and removes deleted names from the index', async () => {
  while ((await service.beneficiaries.indexNamesStep()) > 0);
  const { partnerId } = partner
  const ids: string[] = []
  for (let n = 0; n < 120; n++) ids.push((await create(`Gus Number`)).id)
  const [renamed = '', removed = '', ...others] = ids
  const indexed = await prefixesOf(renamed)
  await service.db.run(sql`delete from beneficiaries.name_prefixes
    where partner_id = ${partnerId} and beneficiary_id = any(${others}::uuid[])`)
  await service.db.run(sql`update beneficiaries.beneficiaries set indexed_name = null
    where partner_id = ${partnerId} and id = any(${others}::uuid[])`)
  await service.db.run(sql`update beneficiaries.beneficiaries set name = 'Hal'
    where partner_id = ${partnerId} and id = ${renamed}`)
  await service.db.run(sql`update beneficiaries.beneficiaries set removed_at = now()
    where partner_id = ${partnerId} and id = ${removed}`)
  assert.deepEqual(
    [await service.beneficiaries.indexNamesStep(), await service.beneficiaries.indexNamesStep()],
    [100, 20],
  )
  assert.equal(await service.beneficiaries.indexNamesStep(), 0)
  assert.deepEqual(await prefixesOf(renamed), ['ha', 'hal'])
  assert.deepEqual(await prefixesOf(removed), [])
  for (const id of others) assert.deepEqual(await prefixesOf(id), indexed)
})

test('a page by name reads only a few further rows, even for a name shared by half of all payees', async () => {
  const { partnerId } = await addPartner(service, 0n)
  await service.db.run(sql`
    insert into beneficiaries.beneficiaries (partner_id, id, name, alias, iban, currency, created_at, updated_at, indexed_name)
    select ${partnerId}::uuid, ('0198e000-0000-7000-8000-' || lpad(to_hex(number), 12, '0'))::uuid, 'Many',
      case when number % 2 = 0 then 'Many' else 'Alias ' || number end, 'DE89370400440532013000',
      'EUR', now(), now(), 'Many' from generate_series(1, 20000) as series (number)`)
  await service.db.run(sql`
    insert into beneficiaries.name_prefixes (partner_id, prefix, beneficiary_id)
    select partner_id, case when row_number() over () % 2 = 0 then 'half' else 'other' end, id
    from beneficiaries.beneficiaries where partner_id = ${partnerId}`)
  await service.db.run(sql`update beneficiaries.name_prefixes set prefix = 'rare' where beneficiary_id = (
    select beneficiary_id from beneficiaries.name_prefixes where partner_id = ${partnerId} limit 1)`)
  await service.db.pool.query('analyze beneficiaries.beneficiaries, beneficiaries.name_prefixes')
  const middle = '0198e000-0000-7000-8000-000000002710'
  for (const [filter, afterId] of [
    [{ prefix: 'half' }, null],
    [{ prefix: 'half' }, middle],
    [{ prefix: 'rare' }, null],
    [{ prefix: 'none' }, null],
    [{ alias: 'Alias 7' }, null],
    [{ alias: 'many' }, null],
    [{ alias: 'MANY' }, middle],
    [{ alias: 'absent' }, null],
  ] as const) {
    const statements: Sql[] = []
    const tx = { ...service.db, rows: (each: Sql) => (statements.push(each), Promise.resolve([])) } as unknown as Tx
    await list(tx, partnerId, filter, { limit: 25, afterId })
    const { text, values } = toStatement(statements[0] ?? sql``)
    const { rows } = await service.db.pool.query<Record<'QUERY PLAN', string>>(`explain (analyze) ${text}`, [...values])
    const plan = rows.map((row) => row['QUERY PLAN'])
    const counts = plan.flatMap((line) =>
      [...line.matchAll(/(?:actual .*rows=|Removed by .*: )(\d+)/g)].map((m) => Number(m[1])),
    )
    assert.ok(Math.max(...counts) < 100, plan.join('\n'))
  }
})
