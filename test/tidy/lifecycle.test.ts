/** The status of a payment changes by the engine of lifecycles only. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { checkLifecycleTables, checkStatusWrites, countStatusWrites, lifecycleTables } from './lifecycle-rules.ts'
import { type Finding, readSources, scan } from './source.ts'

const sources = readSources()
const none: readonly Finding[] = []

suite('lifecycles', () => {
  test('the rule finds an insert and an update of each table', () =>
    assert.equal(countStatusWrites(sources), 2 * Object.keys(lifecycleTables).length))
  test('only the engine writes a status, and only if the status is still the checked one', () =>
    assert.deepEqual(checkStatusWrites(sources), none))
  test('the rule covers every table of transitions', () => assert.deepEqual(checkLifecycleTables(sources), none))
})

suite('the rules of lifecycles report violations', () => {
  const path = 'service/src/payouts/store.ts'
  const update = (set: string, where = 'payout.status = given.from_status') =>
    `export function f(tx: Tx) {\n  tx.later(sql\`/* payouts.f */ update payouts.payouts as payout set ${set} from (x) as given where ${where}\`)\n}`
  const file = (text: string, at = path) => scan({ path: at, text })
  const advance = (text: string) => file(text, 'service/src/payouts/advance.ts')
  const engine = "import { createEngine } from '../lifecycle/index.ts'\n"
  const count = (...texts: readonly ReturnType<typeof file>[]) => checkStatusWrites(texts).length

  test('a statement that writes a status compares the previous status', () => {
    assert.equal(count(file(update('status = given.status'))), 0)
    assert.equal(count(file(update('status = ${status}', 'payout.status = ${fromStatus}'))), 0)
    assert.equal(count(file(update('lease_id = null, error_key = payout.status', 'true'))), 0)
    for (const set of [
      'status = given.status',
      "lease_id = null, status = 'Sent'",
      'STATUS = ${status}',
      "(lease_id, status) = (null, 'Sent')",
      '${changes}',
      'lease_id = null, ${changes}',
    ])
      assert.equal(count(file(update(set, 'payout.id = given.id'))), 1, set)
    const within =
      "with moved as (update payouts.payouts set status = 'Sent' where id = ${id} returning id) select id from moved"
    assert.equal(count(file(`export const f = () => sql\`${within}\``)), 1)
  })

  test('only a file that creates an engine calls it', () => {
    const written = file(update('status = given.status'))
    const call = 'export const g = (tx: Tx) => store.f(tx)'
    assert.equal(count(written, advance(engine + call)), 0)
    assert.equal(count(written, advance(call)), 1)
    assert.equal(count(written, advance(`import { type Move } from '../lifecycle/index.ts'\n${call}`)), 1)
    assert.equal(count(file(`${update('status = given.status')}\nexport const g = (tx: Tx) => f(tx)`)), 1)
  })

  test('one statement inserts the first status and does not change it', () => {
    const insert = (name: string, end = '') =>
      `export const ${name} = () => sql\`insert into payouts.payouts (partner_id, status) values (\${a}, \${b}) ${end}\``
    assert.equal(count(file(insert('f'))), 0)
    assert.equal(count(file(insert('f', 'on conflict do nothing'))), 0)
    assert.equal(count(file(insert('f', "on conflict (id) do update set status = 'Sent'"))), 1)
    assert.equal(count(file(`${insert('f')}\n${insert('g')}`)), 1)
  })

  test('a table of transitions that the rule does not cover', () => {
    const make = (module: string) => file('export const x = createLifecycle({})', `service/src/${module}/lifecycle.ts`)
    const known = Object.keys(lifecycleTables).map(make)
    assert.deepEqual(checkLifecycleTables(known), none)
    assert.equal(checkLifecycleTables([...known, make('people/users')]).length, 1)
    assert.equal(checkLifecycleTables(known.slice(1)).length, 1)
  })
})
