/** Code that writes a role, a key or an access of a guest has asked the judgement. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { checkGivingCalls, checkRoleWrites, givingTables, readTables } from './giving-rules.ts'
import { type Finding, readSources, scan } from './source.ts'

const sources = readSources()
const none: readonly Finding[] = []

suite('grants', () => {
  test('the statements that write each table are read', () =>
    assert.deepEqual([...readTables(sources).keys()].toSorted(), givingTables.toSorted()))
  test('a statement that grants or removes a role requires a permit', () =>
    assert.deepEqual(checkRoleWrites(sources), none))
  test('only verbs that check a permit and commands of the operator create keys and staff accounts', () =>
    assert.deepEqual(checkGivingCalls(sources), none))
  test('each table is written only by its own folder', () => {
    for (const [table, paths] of readTables(sources))
      for (const path of paths) assert.match(path, new RegExp(`/${table.split('.')[0]}/`), table)
  })
})

suite('the rules of grants report violations', () => {
  const file = (text: string, path = 'service/src/people/users/store.ts') => scan({ path, text })
  const write = (sql: string, parameters = 'tx: Tx') =>
    file(`export async function f(${parameters}) {\n  await tx.run(sql\`/* users.f */ ${sql}\`)\n}`)
  const count = (...texts: readonly ReturnType<typeof file>[]) => checkRoleWrites(texts).length

  test('a statement without a permit', () => {
    for (const sql of [
      'insert into users.members (role) values (${role})',
      'update users.members set role = ${role} where id = ${id}',
      'update users.members set updated_at = ${now}, removed_at = ${now} where id = ${id}',
      'update users.invitations set token_hash = ${hash} where id = ${id}',
      'insert into users.single_sign_on (issuer) values (${a}) on conflict do update set issuer = excluded.issuer',
      'delete from users.single_sign_on where partner_id = ${a}',
      'insert into users.guest_links (access) values (${access})',
    ]) {
      assert.equal(count(write(sql)), 1, sql)
      assert.equal(count(write(sql, 'tx: Tx, _permitted: Permit')), 0, sql)
    }
    for (const sql of [
      'update users.members set last_sign_in_at = ${now} where role = ${role}',
      "update users.invitations set status = 'Expired' where token_hash = ${hash}",
      'select role from users.members',
    ])
      assert.equal(count(write(sql)), 0, sql)
  })

  test('a permit made by a type assertion', () =>
    assert.equal(count(file("const all = { act: 'updateUser' } as Permit")), 1))

  test('a key or a staff account that another file creates', () => {
    const calls = (text: string, path: string) => checkGivingCalls([file(text, path)]).length
    const make = 'export const f = (tx: Tx) => access.createServiceAccount(tx, {})'
    assert.equal(calls(make, 'service/src/webhooks/api/service.ts'), 1)
    assert.equal(calls(make, 'service/src/people/users/service-accounts.ts'), 1)
    assert.equal(calls(`${make}\nconst g = () => permit(by)`, 'service/src/people/users/service-accounts.ts'), 0)
    assert.equal(calls(make, 'service/src/operator/keys.ts'), 0)
    assert.equal(calls('const f = () => staff.setRole(tx, id, role)', 'service/src/pages/desk/staff.ts'), 1)
  })
})
