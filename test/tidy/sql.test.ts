/** Each folder uses its own tables, each statement reads one partner's rows, and the database computes nothing. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { readLayers, schemaOf } from './places.ts'
import { type Finding, isTest, readFiles, readSources, scan } from './source.ts'
import {
  checkCitusMigrations,
  checkDeclaredTables,
  checkMigrations,
  checkOwnership,
  checkPartner,
  checkReturning,
  checkSharded,
  checkStatementNames,
  checkTablesExist,
  checkWords,
  readSchemas,
  readTables,
} from './sql-rules.ts'
import { readPartnerScans } from './statements.ts'

const sources = readSources()
const migrations = readFiles('.sql', 'service/migrations')
const schemas = readSchemas(migrations)
const tables = readTables(migrations)
const shared = new Set(tables.filter(({ spread }) => spread === 'replicate').map(({ name }) => name))
const places = new Set([...readLayers().layerOf.keys()].map((name) => schemaOf({ name })))
const none: readonly Finding[] = []

suite('sql', () => {
  test('the rules read enough statements, migrations and tables', () => {
    const statements = sources
      .filter((source) => !isTest(source) && source.path.startsWith('service/src/'))
      .flatMap(({ templates }) => templates.filter(({ tag }) => tag === 'sql'))
    assert.ok(statements.length >= 18, `only ${statements.length} statements were seen`)
    assert.ok(migrations.length >= 2, `only ${migrations.length} migrations were seen`)
    assert.ok(tables.length >= 7, `only ${tables.length} tables were seen`)
  })
  test('a folder uses only its own tables, and a module only in its store files', () =>
    assert.deepEqual(checkOwnership(sources, schemas), none))
  test('a folder declares columns of its own tables', () => assert.deepEqual(checkDeclaredTables(sources), none))
  test('a statement selects one partner, or says why it reads the rows of all partners', () =>
    assert.deepEqual(checkPartner(sources, schemas, shared), none))
  test('every statement can run on a sharded database', () =>
    assert.deepEqual(checkSharded(sources, schemas, shared), none))
  test('a write returns columns, not values that depend on settings', () =>
    assert.deepEqual(checkReturning(sources), none))
  test('the rule finds the scans over all partners', () => assert.ok(readPartnerScans(sources).length >= 10))
  test('a statement begins with the name of its function', () => assert.deepEqual(checkStatementNames(sources), none))
  test('statements use existing tables', () => assert.deepEqual(checkTablesExist(sources, tables), none))
  test('no statement reads the time, creates an id or takes an advisory lock in the database', () =>
    assert.deepEqual(checkWords(sources, migrations), none))
  test('every migration can run on Citus', () => assert.deepEqual(checkCitusMigrations(migrations), none))
  test('migrations are numbered, explained, and keyed by partner', () =>
    assert.deepEqual(checkMigrations(migrations, places), none))
})

const store = 'service/src/payouts/store.ts'
const one = (statement: string, path = store) => [scan({ path, text: `function f() { return sql\`${statement}\` }` })]

suite('the rules of statements report violations', () => {
  const owned = (statement: string, path?: string) => checkOwnership(one(statement, path), schemas).length
  const named = (statement: string) => checkPartner(one(statement), schemas, shared).length

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
    assert.equal(owned('select 1 from payouts.payouts', 'service/src/payouts/service.ts'), 1)
    assert.equal(owned('select 1 from payouts.limits', 'service/src/payouts/controls/store.ts'), 0)
    assert.equal(owned('select 1 from payouts.payouts', 'service/src/payouts/controls/store.ts'), 1)
    assert.equal(owned('select 1 from payouts.limits'), 1)
    assert.equal(owned('select 1 from delivery.deliveries', 'service/src/edge/gateway/store.ts'), 1)
  })

  test('a declared table of another module', () => {
    const declared = (table: string) =>
      checkDeclaredTables([scan({ path: store, text: `const a = {\n  table: '${table}',\n}` })])
    assert.deepEqual(declared('payouts.payouts'), none)
    assert.equal(declared('cases.cases').length, 1)
  })

  test('names of statements', () => {
    const unnamed = (statement: string) => checkStatementNames(one(statement)).length
    assert.equal(unnamed('select 1 from payouts.payouts'), 1)
    assert.equal(unnamed('/* payouts.g */ select 1 from payouts.payouts'), 1)
    assert.equal(unnamed('/* payouts.f */ select 1 from payouts.payouts'), 0)
    assert.equal(unnamed('partner_id, id'), 0, 'a fragment has no name')
  })

  test('existing tables', () => {
    const unknown = (statement: string) => checkTablesExist(one(statement), tables).length
    assert.equal(unknown('select extract(epoch from t.created_at) from payouts.payouts t'), 0)
    assert.equal(unknown('select 1 from delivery.deliveries_default where a is distinct from t.b'), 0)
    assert.equal(unknown('select 1 from payouts.payment'), 1)
    assert.equal(unknown('delete from webhooks.deliveries_default'), 1)
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

  test('partner, in SQL fragments', () => {
    const count = (text: string) => checkPartner([scan({ path: store, text })], schemas, shared).length
    const find = (hole: string) =>
      `const find = () => sql\`select 1 from payouts.payouts where \${${hole}} and id = 1\``
    for (const text of [
      find('ofPartners(ids)'),
      find('ofOnePartner(ids, sql`p.partner_id`)'),
      `function f() {\n  const own = ofPartners(ids)\n  return sql\`select 1 from payouts.payouts where \${own}\`\n}`,
      `const own = (id: string) => sql\`partner_id = \${id}\`\n${find('own(id)')}`,
      `const mine = sql\`payouts.payouts where partner_id = \${id}\`\nconst all = sql\`select 1 from \${mine}\``,
      `const part = (id: string) => sql\`exists (select 1 from payouts.payouts)\`\n${find("ofPartners(ids)} and partner_id <> ''\n and ${part(id)")}`,
    ])
      assert.equal(count(text), 0, text)
    for (const text of [
      find('condition'),
      find('ofEverything(ids)'),
      `const own = ofPartners(ids)\nconst all = sql\`select 1 from payouts.payouts\``,
      `export const part = () => sql\`select 1 from payouts.payouts\`\n${find('ofPartners(ids)} and ${part()')}`,
    ])
      assert.ok(count(text) > 0, text)
  })

  test('partner, with the marker of scans', () => {
    const marked = (reason: string, statement: string) => [
      scan({ path: store, text: `const find = () => acrossPartners('${reason}', sql\`${statement}\`)` }),
    ]
    const reason = 'finds partners with due payouts'
    const all = 'select partner_id from payouts.payouts'
    assert.deepEqual(checkPartner(marked(reason, all), schemas, shared), none)
    assert.deepEqual(readPartnerScans(marked(reason, all)), [{ path: store, name: 'find', reason }])
    assert.equal(checkPartner(marked('', all), schemas, shared).length, 1)
    assert.equal(checkPartner(marked(reason, `${all} where partner_id = \${id}`), schemas, shared).length, 1)
    assert.equal(checkPartner(marked(reason, 'select 1'), schemas, shared).length, 1)
  })

  test('returning', () => {
    const faults = (text: string) => checkReturning([scan({ path: store, text })]).length
    assert.equal(faults('const columns = sql`id, from_day`\nsql`update a.b set n = 1 returning ${columns}`'), 0)
    assert.equal(
      faults('const columns = sql`id, from_day::text as d`\nsql`update a.b set n = 1 returning ${columns}`'),
      1,
    )
    assert.equal(faults("sql`insert into a.b (n) values (1) returning to_char(made_at, 'YYYY')`"), 1)
  })

  test('sharded', () => {
    const faults = (text: string) => checkSharded([scan({ path: store, text })], schemas, shared).length
    const named = (statement: string) => faults(`const find = () => sql\`${statement}\``)
    const scanned = (statement: string) =>
      faults(`const find = () => dueWork('finds due work', (whose) => sql\`${statement}\`)`)
    const own = 'partner_id = ${p}'
    assert.equal(named(`select 1 from payouts.a where ${own} and exists (select 1 from payouts.b where ${own})`), 0)
    assert.equal(named(`update payouts.a set at = \${at}::timestamptz where ${own}`), 0)
    assert.equal(named(`select at - interval '1 day' from payouts.a where ${own} for update`), 0)
    assert.equal(scanned('select distinct partner_id from payouts.a where ${whose()} limit 3'), 0)
    assert.equal(
      scanned('select 1 from payouts.a where exists (select 1 from payouts.b where b.partner_id = a.partner_id)'),
      0,
    )
    for (const statement of [
      `with recursive f as (select 1 from payouts.a where ${own}) select 1 from f`,
      `delete from payouts.a where ${own} and ctid = any(array(select 1))`,
      `insert into payouts.a (partner_id, n) values (\${p}, (select max(n) + 1 from payouts.a where ${own}))`,
      `update payouts.a set n = 1 where ${own} and at <= \${at} - interval '1 minute'`,
      `update payouts.a set at = (body ->> 'at')::timestamptz where ${own}`,
      `insert into payouts.a (partner_id) values (\${p}) on conflict do update set a = case a.a when 'b' then 'c' end`,
      `insert into payouts.a (partner_id) values (\${p}) on conflict do update set text = concat(excluded.text, 'x')`,
      `select 1 from payouts.a where ${own} and exists (select 1 from payouts.b where b.partner_id = a.partner_id)`,
      `select 1 from payouts.a cross join lateral (select 1 from payouts.b where b.partner_id = a.partner_id) where ${own}`,
    ])
      assert.equal(named(statement), 1, statement)
    for (const statement of [
      'select 1 from payouts.a for update',
      'delete from payouts.a',
      'select 1 from payouts.a cross join lateral (select 1 from payouts.b where b.partner_id = a.partner_id) c',
      'select 1 from payouts.a where exists (select 1 from payouts.b where b.id = a.id)',
      'select 1 from access.partners where exists (select 1 from payouts.b where b.partner_id = partners.partner_id)',
    ])
      assert.equal(scanned(statement), 1, statement)
  })

  test('words', () => {
    for (const statement of [
      'select now()',
      'update payouts.payouts set at = current_timestamp',
      'select gen_random_uuid()',
      'select pg_advisory_xact_lock(1)',
      'order by random()',
      'merge into payouts.payouts',
      'insert into rails.a (b) select b from unnest(${b}::text[]) as given (b)',
    ])
      assert.equal(checkWords(one(statement), []).length, 1, statement)
    assert.deepEqual(checkWords(one('select known(a) -- now()'), []), none)
    const file = { path: 'service/migrations/0009-x.sql', text: 'create trigger t before insert on a.b' }
    assert.equal(checkWords([], [file]).length, 1)
  })
})

suite('the rules of migrations report violations', () => {
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

  test('migrations for Citus', () => {
    const judge = (text: string) => checkCitusMigrations([{ path: 'service/migrations/0009-x.sql', text }]).length
    for (const text of [
      "alter table a.b add column c text default 'x' check (c in ('x', 'y'))",
      'alter table a.b rename constraint c to d',
      'insert into a.b select 1 from a.c cross join lateral (select 1) as e',
      'update a.b set c = (select d from a.e where e.id = b.id)',
      "update a.b set c = (d ->> 'e')::timestamptz",
      "update a.b set c = c + interval '1 day'",
    ])
      assert.equal(judge(`${text};`), 1, text)
    assert.equal(judge('alter table a.b add column c text, add column d integer'), 0)
  })
})
