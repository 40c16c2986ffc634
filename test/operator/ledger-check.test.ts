/**
 * `operator ledger check` finds each change of a row that a person makes in SQL. Each column of the tables with money is classified here:
 * it is changed and the check must name its table, or a reason says why no other row knows it. A new column fails until it is classified.
 */
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { rawNumber } from '@partner-payments/wire'
import { operatorPartnerId } from '../../service/src/cases/index.ts'
import { comparisons, type Finding, findingsMax } from '../../service/src/ledger/integrity/index.ts'
import { newId } from '../../service/src/kernel/index.ts'
import { createCheckpoints } from '../../service/src/ledger/index.ts'
import { createDatabase, sql, type Sql, toStatement, type Tx } from '../../service/src/postgres/index.ts'
import { processBankNotifications, submitDuePayouts } from '../../service/src/banks/settlement/index.ts'
import { ip, pay, stepMsDefault } from '../support/composition.ts'
import { auditLogs } from '../support/audit-logs.ts'
import { useOperator } from '../support/fixture.ts'
import { addTrader, convert, quote } from '../support/fx.ts'
import { runOperator } from '../support/operator.ts'
import { ledgerFindings } from '../support/integrity.ts'
import { pluck } from '../support/pluck.ts'
import { linesOf } from '../support/program.ts'
import { elsewhere, rowChanges, tables } from './ledger-check-columns.ts'

const { service, env } = await useOperator()
await service.db.transaction((tx) => service.access.addOperator(tx, operatorPartnerId))
const partner = await addTrader(service, ['EUR', 'USD'])
const { partnerId } = partner

async function work(steps: number): Promise<void> {
  for (let step = 0; step < steps; step += 1) {
    await submitDuePayouts(service.settlement)
    service.clock.advance(stepMsDefault)
    await processBankNotifications(service.settlement)
  }
}

/** Credits the customer's account, and then reverses `reversed` of the credit, if given. */
async function credit(account: string, amount: bigint, reversed?: bigint): Promise<void> {
  const creditId = newId()
  const money = (minor: bigint) => ({ currency: 'EUR', amount: minor }) as const
  const debtor = { account: 'DE1', bic: 'COBADEFFXXX', name: 'Payer', countryCode: 'DE', address: null }
  const facts = { account, money: money(amount), debtor, remittance: null, endToEndId: 'E2E-1' }
  await service.db.transaction(async (tx) => service.bank.sendCredit(tx, operatorPartnerId, creditId, facts))
  await work(1)
  if (reversed === undefined) return
  const back = { money: money(reversed), details: 'The bank cancelled it.' }
  await service.db.transaction(async (tx) => service.bank.reverseCredit(tx, operatorPartnerId, creditId, back))
  await work(1)
}

/** Pays an account without an IBAN. The transaction has its routing number and account number in separate columns. */
async function payAmerican(): Promise<void> {
  const { caller } = partner
  await service.db.transaction((tx) =>
    service.deposits.creditPartner(tx, partnerId, { debit: 'settlement.sandbox', currency: 'USD', amount: 10_00n }),
  )
  const account = { routingNumber: '021000021', accountNumber: '123456', currency: 'USD' }
  const { id: beneficiaryId } = await service.beneficiaries.create(partnerId, { name: 'Grace Hopper', ...account })
  const body = { amount: rawNumber('1.00'), currency: 'USD', beneficiaryId, idempotencyKey: newId() } as const
  await service.payouts.create(caller, body, ip)
}

/** Payments of every kind, in every status, with checkpoints and a chain. */
before(async () => {
  const { customer, caller } = partner
  await service.db.transaction((tx) =>
    service.deposits.creditPartner(tx, partnerId, { debit: 'settlement.sandbox', currency: 'EUR', amount: 5_000_000n }),
  )
  for (const amount of ['10.00', '4001.01', '4001.05', '4001.08']) await pay(service, partner, amount)
  await payAmerican()
  const deposit = { customerId: customer.id, amount: rawNumber('7.00'), currency: 'EUR' } as const
  for (const outcome of ['completed', 'failed'] as const)
    await service.simulations.deposit(caller, { ...deposit, outcome }, ip)
  await work(6)
  const iban = (await service.accounts.create(partnerId, customer.id)).ibans[0].iban
  await credit(iban, 900n, 1000n)
  const order = { ...deposit, idempotencyKey: newId(), partialPayments: true }
  const { session } = await service.checkout.create(caller, order)
  const part = { step: 'credit', amount: rawNumber('2.00') } as const
  await service.checkout.simulate(partnerId, session.id, part, ip)
  await work(1)
  await credit(iban, 1200n)
  await convert(service, partner, (await quote(service, partner)).row.id)
  const { payout } = await pay(service, partner, '20.00')
  await service.payouts.cancel(partnerId, payout.id, { id: caller.serviceAccountId, name: caller.name })
  const { db, log } = service
  const limits = { transfersPerStretch: 10, clockDifferenceMsMax: -60_000 }
  await createCheckpoints({ db, log, limits, partnerIds: async () => [partnerId] }).checkpointStep()
  await auditLogs(() => service).chained(partnerId, 1)
  await pay(service, partner, '4001.07')
  await work(1)
  await pay(service, partner, '30.00')
  const cover = { amount: rawNumber('20000.00'), currency: 'EUR', toCustomerId: customer.id } as const
  await service.accounts.transfer(partnerId, cover, undefined)
  const segregated = service.db.transaction((tx) => service.ledger.segregate(tx, partnerId, 'EUR'))
  assert.deepEqual(await segregated, [])
})

/** Findings of the check after a change, which is undone. */
async function afterChange(change: (tx: Tx) => Promise<unknown>): Promise<readonly Finding[]> {
  let found: readonly Finding[] = []
  const undone = new Error('undone')
  await assert.rejects(
    service.db.transaction(async (tx) => {
      await change(tx)
      found = await ledgerFindings(tx, partnerId)
      throw undone
    }),
    undone,
  )
  return found
}

const amountColumns = /amount|posted|reserved|booked|balance$|^used$|^opening$|^closing$/

const raw = (text: string) => ({ parts: [text], values: [] }) as unknown as ReturnType<typeof sql>
const rowsTriedMax = 6

/** The places of the first rows of the partner with this condition. */
async function rowsOf(table: string, where: string): Promise<readonly string[]> {
  const condition = `partner_id = '${partnerId}' and ${where}`
  const rows = await service.db.rows<{ at: string }>(
    raw(`select ctid::text as at from ${table} as row where ${condition} limit ${rowsTriedMax}`),
  )
  assert.ok(rows.length > 0, 'the story has such a row')
  return pluck(rows, 'at')
}

test('an intact ledger has no findings while payments continue', async () => {
  assert.deepEqual(await ledgerFindings(service.db, partnerId), [])
  let isPaying = true
  const paying = (async () => {
    while (isPaying) {
      await pay(service, partner, '1.00')
      await work(1)
    }
  })()
  for (let round = 0; round < 10; round += 1) assert.deepEqual(await ledgerFindings(service.db, partnerId), [])
  isPaying = false
  await paying
})

test('every column of the compared tables is classified, and every other table with amounts has its reason', async () => {
  const columns = await service.db.rows<{ table: string; name: string; type: string }>(sql`
    select table_schema || '.' || table_name as table, column_name as name, data_type as type
    from information_schema.columns where table_schema not in ('pg_catalog', 'information_schema', 'public')`)
  const byTable = Map.groupBy(columns, ({ table }) => table)
  for (const [table, classified] of Object.entries(tables))
    assert.deepEqual(
      pluck(byTable.get(table) ?? [], 'name').toSorted(),
      ['partner_id', ...Object.keys(classified)].toSorted(),
      table,
    )
  const money = columns
    .filter(({ type, name }) => type === 'bigint' && amountColumns.test(name))
    .map(({ table }) => table)
  const open = [...new Set(money)].filter((table) => tables[table] === undefined && elsewhere[table] === undefined)
  const schemas = new Set(['ledger', 'transactions', 'deposits', 'cases', 'fx', 'events'])
  assert.deepEqual(
    open.filter((table) => schemas.has(table.split('.')[0] ?? '')),
    [],
  )
})

for (const [table, columns] of Object.entries(tables))
  for (const [column, change] of Object.entries(columns))
    if (typeof change !== 'string')
      test(`a change of ${table}.${column} is found`, async () => {
        const { to, where = `${column} is not null`, names = [table] } = change
        for (const at of await rowsOf(table, where)) {
          const found = await afterChange((tx) =>
            tx.run(raw(`update ${table} as row set ${column} = ${to} where ctid = '${at}'`)),
          )
          assert.ok(
            found.some((finding) => names.includes(finding.table)),
            `${at}: ${JSON.stringify(found)}`,
          )
        }
      })

for (const [table, { where, copy }] of Object.entries(rowChanges))
  test(`a deleted or added row of ${table} is found`, async () => {
    for (const at of await rowsOf(table, where)) {
      const deleted = await afterChange((tx) => tx.run(raw(`delete from ${table} where ctid = '${at}'`)))
      assert.ok(deleted.length > 0, `${at} is deleted`)
      if (copy === undefined) continue
      const added = await afterChange(async (tx) => {
        await tx.run(raw(`create temporary table copy on commit drop as select * from ${table} where ctid = '${at}'`))
        await tx.run(raw(`update copy set ${copy}`))
        await tx.run(raw(`insert into ${table} select * from copy`))
      })
      assert.ok(added.length > 0, `${at} is added`)
    }
  })

const check = (words: string) =>
  runOperator(['ledger', 'check', ...words.split(' ').filter((word) => word !== '')], env)

test('the command prints a line for each finding, and its exit status reports findings', async () => {
  const clean = await check(`--partner ${partnerId}`)
  assert.deepEqual([clean.code, clean.stderr], [0, ''], clean.stdout)
  const positions = [...Object.keys(comparisons), 'auditLog'].map((step) => `position ${partnerId}/${step}`)
  assert.deepEqual(linesOf(clean.stdout), [...positions, '0 findings'])
  await service.db.run(sql`
    update ledger.accounts set posted = posted + 5000 where partner_id = ${partnerId} and name = 'balance' and currency = 'EUR'`)
  const { code, stdout, stderr } = await check('')
  const lines = linesOf(stdout)
  assert.equal(code, 1)
  assert.match(stderr, /1 rows do not agree/)
  assert.match(lines.join('\n'), /^ledger\.accounts \S+ \(posted, reserved\): expected \d+, \d+, found \d+, \d+$/m)
  const behind = await check(`--from ${partnerId}`)
  assert.equal(linesOf(behind.stdout)[0], positions[0])
})

test('an interrupted check resumes inside a partner, at the position that it printed', async () => {
  const rest = await check(`--partner ${partnerId} --from ${partnerId}/statusEvents`)
  const steps = ['statusEvents', 'eventAmounts', 'auditLog'].map((step) => `position ${partnerId}/${step}`)
  assert.deepEqual([rest.code, ...linesOf(rest.stdout)], [0, ...steps, '0 findings'])
  for (const from of [`${partnerId}/nothing`, `${partnerId}/booked/more`]) {
    const { code, stdout, stderr } = await check(`--from ${from}`)
    assert.deepEqual([code, stdout], [1, ''])
    assert.match(stderr, /--from is a position that `ledger check` has printed/)
  }
})

type Plan = {
  readonly 'Node Type': string
  readonly 'Parent Relationship'?: string
  readonly 'Relation Name'?: string
  readonly 'CTE Name'?: string
  readonly Plans?: readonly Plan[]
}

/** The tables and expressions that a plan reads again for each row of another. */
function readForEachRow(plan: Plan, again = false): readonly string[] {
  const read = plan['Relation Name'] ?? plan['CTE Name']
  const isLoop = plan['Node Type'] === 'Nested Loop'
  return [
    ...(again && read !== undefined ? [`${plan['Node Type']} of ${read}`] : []),
    ...(plan.Plans ?? []).flatMap((inner) => {
      const relationship = inner['Parent Relationship']
      return readForEachRow(inner, again || relationship === 'SubPlan' || (isLoop && relationship === 'Inner'))
    }),
  ]
}

test('no comparison reads a table again for each row of another table', async () => {
  const reader = createDatabase({ url: service.url, connectionsMax: 1, log: service.log, readsWholeTables: true })
  const readAgain = async (statement: Sql): Promise<readonly string[]> => {
    const { text, values } = toStatement(statement)
    const explained = await reader.pool.query<Record<'QUERY PLAN', readonly [{ Plan: Plan }]>>(
      `explain (format json) ${text}`,
      [...values],
    )
    const [row] = explained.rows
    assert.ok(row)
    return readForEachRow(row['QUERY PLAN'][0].Plan)
  }
  try {
    const statements: Sql[] = []
    const rows = async (statement: Sql) => {
      statements.push(statement)
      return []
    }
    for (const compare of Object.values(comparisons)) await compare({ ...reader, rows }, partnerId, findingsMax)
    assert.equal(statements.length, Object.keys(comparisons).length)
    for (const statement of statements) assert.deepEqual(await readAgain(statement), [], toStatement(statement).text)
    const correlated = sql`/* test.correlated */
      with event as (select reference from events.events where partner_id = ${partnerId})
      select (select count(*) from event where event.reference = told.reference)
      from transactions.transactions as told where partner_id = ${partnerId}`
    const range = sql`/* test.range */
      select transfer.id from ledger.transfers as transfer join ledger.checkpoints as made
        on made.partner_id = ${partnerId} and transfer.id > made.stretch_after and transfer.id <= made.position
      where transfer.partner_id = ${partnerId}`
    for (const statement of [correlated, range]) assert.notDeepEqual(await readAgain(statement), [])
  } finally {
    await reader.close()
  }
})
