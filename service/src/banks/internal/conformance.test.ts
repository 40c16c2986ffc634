/** Runs the conformance kit on the connector of internal transfers. The checks act as the worker: they book the credit of each payee. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addPartner } from '../../../../test/support/composition.ts'
import { useModules } from '../../../../test/support/fixture.ts'
import { type Connector, internalConnectorId } from '../../rails/index.ts'
import { sql } from '../../postgres/index.ts'
import { type BankRecord, checks, type Harness, runChecks } from '../conformance/index.ts'

/** An IBAN with a bank code of the service that was not issued. */
const unknownIban = 'DE77999000010000999999'
const cannot = [
  'reject',
  'return',
  'answer later',
  'lose call',
  'lose answer',
  'lose half',
  'error before',
  'error after',
  'hang',
  'repeat',
  'reverse',
  'delay',
] as const

const connectorOf = (): Connector => {
  const connector = service.connectors.find(({ id }) => id === internalConnectorId)
  assert.ok(connector)
  return connector
}
const service = await useModules()
const [first, second] = [await addPartner(service), await addPartner(service)]
const account = await service.accounts.create(second.partnerId, second.customer.id)
const harness = createHarness([first.partnerId, second.partnerId], account.ibans[0].iban)

function createHarness(partnerIds: readonly [string, string], creditorAccount: string): Harness {
  const { db, clock } = service
  return {
    open: async () => ({ connector: connectorOf(), close: async () => undefined }),
    partnerIds,
    currencies: ['EUR', 'USD', 'GBP'],
    clock,
    // The connector writes to the same database, and sends no rejections or returns.
    cannot,
    prepare: (instruction, behaviour) => ({
      ...instruction,
      creditorAccount: behaviour === 'refuse' ? unknownIban : creditorAccount,
    }),
    breakNext: (fault) => assert.fail(`a transfer inside cannot ${fault}`),
    disturb: (disorder) => assert.fail(`a transfer inside cannot ${disorder}`),
    mend: () => undefined,
    letTimePass: async () => {
      clock.advance(1)
      const read = await connectorOf().notifications(5000)
      await connectorOf().acknowledge(read.filter(({ kind }) => kind === 'credit.booked'))
    },
    recordOf: async ({ partnerId, id }) => {
      const row = await db.row<Omit<BankRecord, 'timesExecuted'> & { readonly accepted: boolean }>(sql`
        select end_to_end_id, amount, currency, creditor_name, creditor_account, remittance, times_received, accepted
        from rails.internal_transfers where partner_id = ${partnerId} and id = ${id}`)
      return row && { ...row, timesExecuted: row.accepted ? 1 : 0 }
    },
  }
}

test('the connector for internal transfers passes every check that needs no bank fault', async () => {
  const results = await runChecks(harness)
  assert.deepEqual(
    results.filter(({ result }) => result === 'failed'),
    [],
  )
  assert.equal(results.length, checks.length)
  assert.ok(results.some(({ result }) => result === 'passed'))
})
