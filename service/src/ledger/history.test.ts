/** Past balances and statements on a real database, compared with a full computation from all transfers. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { checkLedger } from '../../../test/model/ledger-audit.ts'
import { addPartner } from '../../../test/support/composition.ts'
import { drawing } from '../../../test/support/drawing.ts'
import { useModules } from '../../../test/support/fixture.ts'
import { type Currency, firstIdOf, idTime, newId } from '../kernel/index.ts'
import { sql, type Tx } from '../postgres/index.ts'
import type { AccountName } from './account-kinds.ts'
import { createCheckpoints } from './checkpoints.ts'
import type { StatementCursor, StatementLine, StatementRequest } from './history.ts'
import { transferEffects, type Entry, type EntryTransfer, type TransferKind } from './rules.ts'
const service = await useModules({ connectionsMax: 12 })

const settlement = 'settlement.sandbox'
const startedMs = idTime(newId()).getTime() - 3_600_000
/** An id of that millisecond: the order of the history is the order of the ids. */
const idAt = (ms: number) => firstIdOf(new Date(startedMs + ms)).slice(0, 14) + `7${newId().slice(15)}`
const stepOf = (partnerId: string, transfersPerStretch: number) =>
  createCheckpoints({
    db: service.db,
    log: service.log,
    partnerIds: async () => [partnerId],
    limits: { transfersPerStretch, clockDifferenceMsMax: 0 },
  }).checkpointStep

type Row = {
  readonly id: string
  readonly kind: TransferKind
  readonly amount: bigint
  readonly debit: string
  readonly credit: string
  readonly partyId: string
}
type Account = { readonly id: string; readonly name: AccountName; readonly currency: Currency }

const transfersOf = (partnerId: string) =>
  service.db.rows<Row>(sql`select id, kind, amount, debit_account_id as debit, credit_account_id as credit, party_id
    from ledger.transfers where partner_id = ${partnerId} order by id`)
const accountsOf = (partnerId: string) =>
  service.db.rows<Account>(sql`select id, name, currency from ledger.accounts where partner_id = ${partnerId}`)

/** The sums of an account over some transfers, without the code of the service's statements. */
function sumOf(rows: readonly Row[], id: string) {
  const total = { posted: 0n, reserved: 0n }
  for (const row of rows)
    for (const side of ['debit', 'credit'] as const) {
      if (row[side] !== id) continue
      const change = transferEffects(row.kind, row.amount)[side]
      total.posted += change.posted
      total.reserved += change.reserved
    }
  return total
}

/** Compares the closing balances at some ascending moments with the sums of the transfers before each. */
async function checkClosings(partnerId: string, moments: readonly Date[]): Promise<void> {
  const ascending = moments.filter((moment, index) => moment.getTime() !== moments[index - 1]?.getTime())
  const closings = await service.ledger.closingBalances(service.db, partnerId, ascending)
  const [rows, accounts] = [await transfersOf(partnerId), await accountsOf(partnerId)]
  const balances = accounts.filter(({ name }) => name === 'balance')
  assert.deepEqual(
    closings.map(({ currency }) => currency).toSorted(),
    balances.map(({ currency }) => currency).toSorted(),
  )
  for (const { id, currency } of balances) {
    const closing = closings.find((each) => each.currency === currency)
    const before = (end: string) => rows.filter((row) => row.id < end)
    assert.deepEqual(
      closing?.sums,
      ascending.map((moment) => sumOf(before(firstIdOf(moment)), id)),
    )
    assert.deepEqual(closing?.now, sumOf(rows, id))
  }
}

async function readStatement(request: Omit<StatementRequest, 'cursor'>): Promise<readonly StatementLine[]> {
  const lines: StatementLine[] = []
  let cursor: StatementCursor | undefined
  let balance: bigint | undefined
  do {
    const page = await service.ledger.statement(service.db, { ...request, cursor })
    assert.ok(page !== undefined && page.lines.length <= request.linesMax)
    assert.equal(page.opening + page.lines.reduce((sum, { amount }) => sum + amount, 0n), page.closing)
    const [first, last] =
      request.direction === 'ascending' ? [page.opening, page.closing] : [page.closing, page.opening]
    assert.equal(balance ?? first, first, 'a page begins where the one before ended')
    balance = last
    lines.push(...page.lines)
    cursor = page.next
  } while (cursor !== undefined)
  return lines
}

/** Compares the sums and statements of each party before a moment with those that its transfers add up to. */
async function checkParties(partnerId: string, rows: readonly Row[], moment: Date | undefined): Promise<void> {
  const { db, ledger } = service
  const balances = (await accountsOf(partnerId)).filter(({ name }) => name === 'balance')
  for (const partyId of new Set([...rows.map((row) => row.partyId), newId()])) {
    const own = rows.filter((row) => row.partyId === partyId)
    const sums = new Map((await ledger.partySumsAt(db, partnerId, partyId, moment)).map((sum) => [sum.id, sum]))
    for (const { id, currency } of balances) {
      const { posted = 0n, reserved = 0n } = sums.get(id) ?? {}
      assert.deepEqual({ posted, reserved }, sumOf(own, id))
      const isLine = (row: Row) => sumOf([row], id).posted !== 0n
      const expected = own.filter(isLine).map((row) => [row.id, sumOf(own.slice(0, own.indexOf(row) + 1), id).posted])
      const request = { partnerId, name: 'balance' as const, currency, partyId, until: moment, linesMax: 4 }
      for (const direction of ['ascending', 'descending'] as const) {
        const lines = (await readStatement({ ...request, direction })).map((line) => [line.id, line.posted])
        assert.deepEqual(lines, direction === 'ascending' ? expected : expected.toReversed())
      }
    }
  }
}

/** Compares balances at some moments, and statements in both directions between them, with the full computation. */
async function checkHistory(
  partnerId: string,
  moments: readonly (Date | undefined)[],
  linesMax: number,
): Promise<void> {
  const rows = await transfersOf(partnerId)
  const isBefore = (moment: Date | undefined) => (row: Row) => moment === undefined || row.id < firstIdOf(moment)
  const accounts = await accountsOf(partnerId)
  for (const moment of moments) {
    const balances = new Map(
      (await service.ledger.balancesAt(service.db, partnerId, moment)).map(({ id, ...balance }) => [id, balance]),
    )
    for (const { id, name, currency } of accounts)
      assert.deepEqual(balances.get(id), { name, currency, ...sumOf(rows.filter(isBefore(moment)), id) })
  }
  const [from, until] = [moments[0], moments.at(-1)]
  await checkParties(partnerId, rows.filter(isBefore(until)), until)
  for (const { id, name, currency } of accounts) {
    const isLine = (row: Row) => sumOf([row], id).posted !== 0n
    const expected = rows.filter(
      (row) => isLine(row) && isBefore(until)(row) && (from === undefined || !isBefore(from)(row)),
    )
    const inOrder = expected.map((row) => ({
      id: row.id,
      amount: sumOf([row], id).posted,
      posted: sumOf(rows.slice(0, rows.indexOf(row) + 1), id).posted,
      counterAccount: accounts.find((other) => other.id !== id && [row.debit, row.credit].includes(other.id))?.name,
    }))
    for (const direction of ['ascending', 'descending'] as const) {
      const lines = await readStatement({ partnerId, name, currency, from, until, direction, linesMax })
      const shown = lines.map((line) => ({
        id: line.id,
        amount: line.amount,
        posted: line.posted,
        counterAccount: line.counterAccount,
      }))
      assert.deepEqual(shown, direction === 'ascending' ? inOrder : inOrder.toReversed())
    }
  }
}

const move = fc.record({
  kind: fc.constantFrom<EntryTransfer['kind'][]>('direct', 'reserve'),
  /** 0: an account that is rarely used. */
  counter: fc.nat(30),
  incoming: fc.boolean(),
  currency: fc.constantFrom<Currency[]>('EUR', 'USD'),
  amount: fc.bigInt({ min: 1n, max: 9n }),
  gapMs: fc.nat(2),
  transfers: fc.integer({ min: 1, max: 3 }),
  /** The partner itself, or one of two customers. */
  party: fc.nat(2),
})
const customerIds = [newId(), newId()]
type Move = typeof move extends fc.Arbitrary<infer T> ? T : never

function entryOfMove(
  partnerId: string,
  at: number,
  { kind, counter, incoming, currency, amount, transfers, party }: Move,
): Entry {
  const other: AccountName = counter === 0 ? 'suspense' : counter < 5 ? 'fees' : settlement
  const isIn = kind === 'direct' && incoming
  const [debit, credit] = isIn ? [other, 'balance' as const] : ['balance' as const, other]
  const partyId = customerIds[party] ?? partnerId
  const transfer = { partnerId, kind, debit, credit, currency, amount, partyId, reference: 'r-1' }
  return { id: idAt(at), permit: 'bank', transfers: Array.from({ length: transfers }, () => transfer) }
}

async function enterAll(partnerId: string, moves: readonly Move[], startMs: number): Promise<readonly Entry[]> {
  let at = startMs
  const entries = moves
    .map((each) => entryOfMove(partnerId, (at += each.gapMs), each))
    .toSorted((a, b) => (a.id < b.id ? -1 : 1))
  await service.db.transaction((tx) => service.ledger.enterMany(tx, entries, new Map()))
  return entries
}

/** Enough money in both currencies, so that every move fits. */
async function addFunded() {
  const { partnerId } = await addPartner(service)
  for (const currency of ['EUR', 'USD'] as const) {
    const id = idAt(0)
    const transfer = { partnerId, debit: settlement, credit: 'balance', currency, amount: 100_000n } as const
    const transfers = [{ ...transfer, kind: 'direct', partyId: partnerId, reference: 'float' } as const]
    await service.db.transaction((tx) => service.ledger.enter(tx, { id, permit: 'bank', transfers }))
  }
  return partnerId
}

test('past balances and statements equal a full computation, for any checkpoints and pages', async (t) => {
  const cases = fc.record({
    batches: fc.array(fc.array(move, { minLength: 1, maxLength: 40 }), { minLength: 1, maxLength: 3 }),
    transfersPerStretch: fc.integer({ min: 1, max: 12 }),
    linesMax: fc.integer({ min: 1, max: 9 }),
    picks: fc.array(fc.nat(400), { minLength: 2, maxLength: 4 }),
    ended: fc.nat(5),
  })
  await fc.assert(
    fc.asyncProperty(cases, async ({ batches, transfersPerStretch, linesMax, picks, ended }) => {
      const partnerId = await addFunded()
      const step = stepOf(partnerId, transfersPerStretch)
      const entries: Entry[] = []
      for (const [index, moves] of batches.entries()) {
        entries.push(...(await enterAll(partnerId, moves, 1 + index * 100)))
        await step()
      }
      const reserves = entries.filter(({ transfers }) => transfers[0]?.kind === 'reserve').slice(0, ended)
      const ends = reserves.map(
        ({ id }, index) => ({ partnerId, entryId: id, kind: index % 2 ? 'release' : 'post' }) as const,
      )
      await service.db.transaction((tx) => service.ledger.settleMany(tx, ends, []))
      const moments = picks.toSorted((a, b) => a - b).map((ms) => new Date(startedMs + ms))
      await checkHistory(partnerId, [undefined, ...moments, undefined], linesMax)
      await checkClosings(partnerId, moments)
      while ((await step()) > 0);
      await checkClosings(partnerId, moments)
      await checkHistory(partnerId, [...moments, undefined], linesMax)
      await checkHistory(partnerId, moments, linesMax)
      await checkLedger(service.db, partnerId)
      const rows = await transfersOf(partnerId)
      assert.equal((await checkpointsOf(partnerId)).length, Math.floor(rows.length / transfersPerStretch))
    }),
    drawing(t, 12),
  )
})

const checkpointsOf = (partnerId: string) =>
  service.db.rows(sql`select distinct position from ledger.checkpoints where partner_id = ${partnerId}`)
const one: Move = {
  kind: 'direct',
  counter: 9,
  incoming: true,
  currency: 'EUR',
  amount: 1n,
  gapMs: 1,
  transfers: 1,
  party: 0,
}
const many = (count: number): readonly Move[] => Array.from({ length: count }, () => one)

test('no checkpoint covers transfers that an open transaction may still commit, and later checkpoints contain them', async () => {
  const partnerId = await addFunded()
  const step = stepOf(partnerId, 5)
  const enter = (count: number, tx: Tx) => {
    const entries = many(count).map((each) => ({ ...entryOfMove(partnerId, 0, each), id: newId() }))
    return { entries, write: () => service.ledger.enterMany(tx, entries, new Map()) }
  }
  const hasIds = Promise.withResolvers<void>()
  const mayWrite = Promise.withResolvers<void>()
  const late = service.db.transaction(async (tx) => {
    const { write } = enter(3, tx)
    hasIds.resolve()
    await mayWrite.promise
    await write()
  })
  await hasIds.promise
  await service.db.transaction((tx) => enter(20, tx).write())
  await step()
  assert.deepEqual(await checkpointsOf(partnerId), [], 'the 20 transfers are visible, and ids before theirs are not')
  mayWrite.resolve()
  await late
  await step()
  assert.equal((await checkpointsOf(partnerId)).length, 5)
  assert.equal((await progressOf(partnerId))?.differs, false)
  await checkLedger(service.db, partnerId)
})

test('the transfers of the last half minute have no checkpoint, because clocks differ', async () => {
  const partnerId = await addFunded()
  const { db, log } = service
  const limits = { transfersPerStretch: 2, clockDifferenceMsMax: 30_000 }
  const { checkpointStep } = createCheckpoints({ db, log, partnerIds: async () => [partnerId], limits })
  const recent = many(10).map((each) => ({ ...entryOfMove(partnerId, 0, each), id: newId() }))
  await db.transaction((tx) => service.ledger.enterMany(tx, recent, new Map()))
  await checkpointStep()
  assert.equal((await checkpointsOf(partnerId)).length, 1, 'only of the float, which is older')
  await checkHistory(partnerId, [undefined], 3)
})

test('a transfer that appears before a checkpoint is found, and the checkpoints are rebuilt', async () => {
  const partnerId = await addFunded()
  const step = stepOf(partnerId, 5)
  await enterAll(partnerId, many(20), 100)
  await step()
  await enterAll(partnerId, many(1), 10)
  await enterAll(partnerId, many(5), 200)
  await step()
  assert.deepEqual(await checkpointsOf(partnerId), [])
  await step()
  await checkHistory(partnerId, [undefined, new Date(startedMs + 150), undefined], 4)
  await checkLedger(service.db, partnerId)
  assert.equal((await checkpointsOf(partnerId)).length, 5)
  assert.equal((await progressOf(partnerId))?.differs, false)
})

test('checkpoints of a version without party checkpoints are completed, even if that version rebuilt them', async () => {
  const partnerId = await addFunded()
  const step = stepOf(partnerId, 5)
  await enterAll(partnerId, many(20), 100)
  await step()
  for (const position of [null, 'ffffffff-0000-7000-8000-000000000000']) {
    await service.db.run(sql`delete from ledger.party_checkpoints where partner_id = ${partnerId}`)
    await service.db.run(sql`
      update ledger.checkpoint_progress set party_position = ${position} where partner_id = ${partnerId}`)
    await step()
    await step()
    await checkHistory(partnerId, [undefined, new Date(startedMs + 110), undefined], 4)
    await checkLedger(service.db, partnerId)
    const [{ count } = { count: 0n }] = await service.db.rows<{ count: bigint }>(sql`
      select count(distinct position) as count from ledger.party_checkpoints where partner_id = ${partnerId}`)
    assert.equal(count, 4n)
  }
})
const progressOf = (partnerId: string) =>
  service.db.row<{ differs: boolean }>(
    sql`select differs from ledger.checkpoint_progress where partner_id = ${partnerId}`,
  )

test('a wrong account row is reported, and its checkpoints are rebuilt exactly once', async () => {
  const partnerId = await addFunded()
  const step = stepOf(partnerId, 5)
  await enterAll(partnerId, many(8), 100)
  await service.db.run(
    sql`update ledger.accounts set posted = posted + 1 where partner_id = ${partnerId} and name = 'balance'`,
  )
  await step()
  assert.deepEqual([(await checkpointsOf(partnerId)).length, (await progressOf(partnerId))?.differs], [0, true])
  await step()
  assert.deepEqual([(await checkpointsOf(partnerId)).length, (await progressOf(partnerId))?.differs], [2, true])
  await service.db.run(
    sql`update ledger.accounts set posted = posted - 1 where partner_id = ${partnerId} and name = 'balance'`,
  )
  await enterAll(partnerId, many(5), 200)
  await step()
  assert.deepEqual([(await checkpointsOf(partnerId)).length, (await progressOf(partnerId))?.differs], [3, false])
  await checkLedger(service.db, partnerId)
})

test('several processes continue the checkpoints of one partner without a conflict', async () => {
  const partnerId = await addFunded()
  await enterAll(partnerId, many(60), 100)
  const steps = [1, 2, 3, 4].map(() => stepOf(partnerId, 3))
  await Promise.all(steps.map((step) => step()))
  await steps[0]?.()
  assert.equal((await checkpointsOf(partnerId)).length, 20)
  await checkLedger(service.db, partnerId)
})

test('stretches beyond the limit of one step are covered by the next step, which follows at once', async () => {
  const partnerId = await addFunded()
  await enterAll(partnerId, many(110), 100)
  const step = stepOf(partnerId, 1)
  assert.deepEqual([await step(), await step()], [1, 0])
  assert.equal((await checkpointsOf(partnerId)).length, 112)
  await checkLedger(service.db, partnerId)
})

test('statements without an account, without a transfer in the period, or without any transfer are empty', async () => {
  const { partnerId } = await addPartner(service)
  const { db, ledger } = service
  const request = { partnerId, name: 'balance', currency: 'EUR', direction: 'ascending', linesMax: 5 } as const
  assert.deepEqual(await ledger.balancesAt(db, partnerId, undefined), [])
  assert.equal(await ledger.statement(db, request), undefined)
  assert.equal(await stepOf(partnerId, 1)(), 0)
  const funded = await addFunded()
  await stepOf(funded, 1)()
  for (const direction of ['ascending', 'descending'] as const) {
    const [past, future] = [new Date(startedMs - 1), new Date(startedMs + 9)]
    const before = await ledger.statement(db, { ...request, partnerId: funded, until: past, direction })
    assert.deepEqual(before, { opening: 0n, closing: 0n, lines: [], next: undefined })
    const later = await ledger.statement(db, { ...request, partnerId: funded, from: future, direction })
    assert.deepEqual(later, { opening: 100_000n, closing: 100_000n, lines: [], next: undefined })
  }
})
