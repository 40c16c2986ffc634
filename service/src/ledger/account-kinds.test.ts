import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { addPartner, createTestService, type Service } from '../../../test/support/composition.ts'
import { newId } from '../kernel/index.ts'
import { sql, sqlState, violates } from '../postgres/index.ts'
import { accountKinds, type AccountName, isAccountName, kindOf } from './account-kinds.ts'

let service: Service
before(async () => {
  service = await createTestService()
})
after(() => service.close())

const nameOf = (kind: string) => (kind === 'settlement' ? 'settlement.sandbox' : kind) as AccountName

test('the table of kinds and the constraint of the database agree on which accounts may fall below zero', async () => {
  const { db, clock } = service
  const { partnerId } = await addPartner(service)
  const mayStore = (name: string, posted: bigint, reserved: bigint) =>
    db
      .run(
        sql`insert into ledger.accounts (partner_id, id, name, currency, posted, reserved, created_at)
          values (${partnerId}, ${newId()}, ${name}, ${posted < 0n ? 'EUR' : 'USD'}, ${posted}, ${reserved}, ${clock.now()})`,
      )
      .then(
        () => true,
        (error: unknown) => {
          assert.ok(violates(error, sqlState.checkViolation, 'accounts_never_negative'), String(error))
          return false
        },
      )
  for (const kind of Object.keys(accountKinds)) {
    const { mayFallBelowZero } = kindOf(nameOf(kind))
    assert.equal(await mayStore(nameOf(kind), -1n, 0n), mayFallBelowZero, `${kind} below zero`)
    assert.equal(await mayStore(nameOf(kind), 5n, 6n), mayFallBelowZero, `${kind} below its reserved part`)
  }
})

test('a name is a kind, or a settlement account of a connector', () => {
  for (const name of ['balance', 'suspense', 'transfers', 'parts', 'fees', 'fx', 'settlement.sandbox'])
    assert.ok(isAccountName(name), name)
  for (const name of ['', 'settlement', 'settlement.', 'Balance', 'toString']) assert.ok(!isAccountName(name), name)
  assert.equal(kindOf('settlement.sandbox'), accountKinds.settlement)
})
