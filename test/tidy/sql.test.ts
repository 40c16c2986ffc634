/** Each place on its own tables, each statement of one partner, nothing computed by the database. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { readLayers } from './places.ts'
import { type Finding, isTest, readFiles, readSources, scan } from './source.ts'
import {
  checkMigrations,
  checkOwnership,
  checkPartner,
  checkWords,
  readSchemas,
  readTables,
  scans,
} from './sql-rules.ts'

const sources = readSources()
const migrations = readFiles('.sql', 'service/migrations')
const schemas = readSchemas(migrations)
const tables = readTables(migrations)
const shared = new Set(tables.filter(({ spread }) => spread === 'replicate').map(({ name }) => name))
const places = new Set(readLayers().layerOf.keys())
const none: readonly Finding[] = []

suite('sql', () => {
  test('enough is read to judge by', () => {
    const statements = sources
      .filter((source) => !isTest(source) && source.path.startsWith('service/src/'))
      .flatMap(({ templates }) => templates.filter(({ tag }) => tag === 'sql'))
    assert.ok(statements.length >= 18, `only ${statements.length} statements were seen`)
    assert.ok(migrations.length >= 2, `only ${migrations.length} migrations were seen`)
    assert.ok(tables.length >= 7, `only ${tables.length} tables were seen`)
  })
  test('a place names its own tables, a room in its store', () =>
    assert.deepEqual(checkOwnership(sources, schemas), none))
  test('a statement says whose rows it means', () =>
    assert.deepEqual(checkPartner(sources, schemas, shared).findings, none))
  test('each listed scan is there and needs its place in the list', () => {
    const { usedScans } = checkPartner(sources, schemas, shared)
    assert.deepEqual(
      Object.keys(scans).filter((scan) => !usedScans.has(scan)),
      none,
    )
  })
  test('the database computes no time, id or lock of its own', () =>
    assert.deepEqual(checkWords(sources, migrations), none))
  test('migrations are numbered, explained, and keyed by partner', () =>
    assert.deepEqual(checkMigrations(migrations, places), none))
})

suite('each sql rule bites', () => {
  const store = 'service/src/modules/payouts/store.ts'
  const one = (statement: string, path = store) => [scan({ path, text: `function f() { return sql\`${statement}\` }` })]
  const owned = (statement: string, path?: string) => checkOwnership(one(statement, path), schemas).length
  const named = (statement: string) => checkPartner(one(statement), schemas, shared).findings.length

  test('ownership', () => {
    assert.equal(owned('select 1 from payouts.payouts where partner_id = ${p}'), 0)
    assert.equal(owned('select extract(epoch from t.created_at) from payouts.payouts t'), 0)
    for (const statement of [
      'select 1 from ledger.accounts',
      'update customers.customers set a = 1',
      'insert into events.events (partner_id) values (1)',
      'delete from ledger.accounts',
      'select 1 from payouts.payouts p join customers.customers c on true',
      'lock table ledger.accounts',
    ])
      assert.equal(owned(statement), 1, statement)
    assert.equal(owned('select 1 from payouts.payouts', 'service/src/modules/payouts/service.ts'), 1)
    assert.equal(owned('select 1 from delivery.deliveries', 'service/src/gateway/store.ts'), 1)
  })

  test('partner', () => {
    for (const statement of [
      'select 1 from payouts.payouts where partner_id = ${p} and id = ${i}',
      'insert into payouts.payouts (partner_id, id) values (${p}, ${i})',
      'select 1 from payouts.a a join payouts.b b on b.partner_id = a.partner_id where a.partner_id = ${p}',
      'select name from access.partners where id = ${p}',
      'id, name',
    ])
      assert.equal(named(statement), 0, statement)
    for (const statement of [
      'select 1 from payouts.payouts where id = ${i}',
      'select partner_id from payouts.payouts',
      'select 1 from payouts.a a join payouts.b b using (id) where a.partner_id = ${p}',
      'delete from payouts.payouts where id = ${i}',
      'insert into payouts.payouts (id) values (${i})',
    ])
      assert.equal(named(statement), 1, statement)
  })

  test('words', () => {
    for (const statement of [
      'select now()',
      'update payouts.payouts set at = current_timestamp',
      'select gen_random_uuid()',
      'select pg_advisory_xact_lock(1)',
      'order by random()',
      'merge into payouts.payouts',
    ])
      assert.equal(checkWords(one(statement), []).length, 1, statement)
    assert.deepEqual(checkWords(one('select known(a) -- now()'), []), none)
    const file = { path: 'service/migrations/0009-x.sql', text: 'create trigger t before insert on a.b' }
    assert.equal(checkWords([], [file]).length, 1)
  })

  test('migrations', () => {
    const judge = (body: string, after = "select public.shard('payouts.a');") =>
      checkMigrations(
        [
          {
            path: 'service/migrations/0009-x.sql',
            text: `-- Why.\n-- Locks: none.\n\ncreate table payouts.a (${body});\n${after}`,
          },
        ],
        places,
      )
    const good = 'partner_id uuid not null, id uuid not null, primary key (partner_id, id)'
    assert.deepEqual(judge(good), none)
    for (const body of [
      'partner_id uuid not null, id uuid not null, primary key (id)',
      'id uuid not null, partner_id uuid not null, primary key (partner_id, id)',
      'partner_id uuid not null, id uuid not null',
      `${good}, unique (id)`,
      `${good}, email text unique`,
      `${good}, foreign key (id) references payouts.b (id)`,
    ])
      assert.equal(judge(body).length, 1, body)
    assert.equal(judge(good, '').length, 1)
    assert.equal(judge(good, "select public.shard('payouts.a');\ncreate unique index i on payouts.a (id);").length, 1)
    assert.equal(judge(good, "select public.shard('payouts.a');\ncreate schema sundries;").length, 1)
    const bare = { path: 'service/migrations/0009-x.sql', text: 'select 1;' }
    assert.equal(checkMigrations([bare, { ...bare, path: 'service/migrations/0009-y.sql' }], places).length, 3)
  })
})
