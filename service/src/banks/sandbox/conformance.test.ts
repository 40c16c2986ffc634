/** Runs the conformance kit on the sandbox bank. The database is its bank; the harness makes it lose calls and hang. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addPartner, stepMsDefault } from '../../../../test/support/composition.ts'
import { useModules } from '../../../../test/support/fixture.ts'
import { Unreachable } from '../../kernel/api/index.ts'
import { type Database, sql } from '../../postgres/index.ts'
import { checks, type Behaviour, type BankRecord, type Fault, type Harness, runChecks } from '../conformance/index.ts'
import { createSandboxBank } from './service.ts'

/** docs/sandbox.md. */
const amounts: Readonly<Partial<Record<Behaviour, bigint>>> = {
  refuse: 4001_02n,
  reject: 4001_01n,
  return: 4001_05n,
  'answer later': 4001_06n,
}
const cannot = ['lose half', 'error before', 'error after', 'repeat', 'reverse', 'delay'] as const
/** The notifications of an instruction come in two steps. */
const stepsMax = 2
const service = await useModules()
const partners = [await addPartner(service), await addPartner(service)] as const
const harness = createHarness([partners[0].partnerId, partners[1].partnerId])

function createHarness(partnerIds: readonly [string, string]): Harness {
  const { db, clock } = service
  const { database, breakNext, mend } = createFaultyDatabase(db)
  return {
    open: async () => ({
      connector: createSandboxBank({ db: database, clock, stepMs: stepMsDefault }),
      close: async () => undefined,
    }),
    partnerIds,
    currencies: ['EUR', 'USD', 'GBP', 'USDC'],
    clock,
    // A call is one transaction without errors, and notifications are rows in the order of their time.
    cannot,
    prepare: (instruction, behaviour) => ({ ...instruction, amount: amounts[behaviour] ?? instruction.amount }),
    breakNext,
    disturb: (disorder) => assert.fail(`the sandbox bank cannot ${disorder}`),
    mend,
    letTimePass: async () => clock.advance(stepsMax * stepMsDefault),
    recordOf: async ({ partnerId, id }) => {
      const row = await db.row<Omit<BankRecord, 'timesExecuted'> & { readonly accepted: boolean }>(sql`
        select end_to_end_id, amount, currency, creditor_name, creditor_account, times_received, accepted
        from rails.sandbox_instructions where partner_id = ${partnerId} and id = ${id}`)
      return row && { ...row, timesExecuted: row.accepted ? 1 : 0 }
    },
  }
}

/** Breaks the next SQL statement or transaction of the bank. */
function createFaultyDatabase(db: Database) {
  let fault: Fault | undefined
  let mended = Promise.withResolvers<void>()
  const broken = () => new Unreachable('downstream_unreachable', 'the connection broke')
  const send = async <T>(work: () => Promise<T>): Promise<T> => {
    const now = fault
    if (now === 'hang') await mended.promise
    else fault = undefined
    if (now === 'hang' || now === 'lose call') throw broken()
    const answer = await work()
    if (now === 'lose answer') throw broken()
    return answer
  }
  const database: Database = {
    ...db,
    rows: (statement) => send(() => db.rows(statement)),
    row: (statement) => send(() => db.row(statement)),
    run: (statement) => send(() => db.run(statement)),
    transaction: (work, options) => send(() => db.transaction(work, options)),
  }
  return {
    database,
    breakNext: (next: Fault) => void (fault = next),
    mend: () => {
      fault = undefined
      mended.resolve()
      mended = Promise.withResolvers()
    },
  }
}

test('the sandbox bank passes every check that applies to it', async () => {
  const results = await runChecks(harness)
  assert.deepEqual(
    results.filter(({ result }) => result === 'failed'),
    [],
  )
  assert.equal(results.length, checks.length)
  assert.deepEqual(
    results.filter(({ result }) => result === 'not checked').map(({ details }) => details),
    cannot.map((ability) => `the bank cannot: ${ability}`),
  )
})
