/** The funds check on a real database: several batches on several connections of several processes, one balance. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { checkLedger } from '../../../test/model/ledger-audit.ts'
import { addPartner, balanceOf, createTestService, type Service } from '../../../test/support/composition.ts'
import { drawing } from '../../../test/support/drawing.ts'
import { Refusal } from '../kernel/api/index.ts'
import { newId } from '../kernel/index.ts'
import { createBatcher, createDatabase, type Database } from '../postgres/index.ts'
import { type BalancesRead, createFundsCheck, type EntryRequest, entryOf, insufficientFunds } from './index.ts'
import type { Transfer } from './rules.ts'

let service: Service
let databases: readonly Database[]
before(async () => {
  service = await createTestService()
  const { url, log } = service
  databases = [1, 2].map(() => createDatabase({ url, connectionsMax: 6, log }))
})
after(async () => {
  await Promise.all(databases.map((db) => db.close()))
  await service.close()
})

const transferOf = (partnerId: string, amount: bigint): Transfer => ({
  partnerId,
  debit: 'balance',
  credit: 'settlement.sandbox',
  currency: 'EUR',
  amount,
  partyId: partnerId,
  reference: newId(),
})

const requestOf = (transfer: Transfer): EntryRequest => ({ transfers: [{ ...transfer, kind: 'reserve' }] })

/** A process that reserves money in batches, as payouts do. `beforeWrite` stands between the check and the write. */
function createProcess(db: Database, beforeWrite: (isAdmitted: boolean) => Promise<void> = async () => undefined) {
  const counts = { batches: 0, locks: 0 }
  const { ledger } = service
  const funds = createFundsCheck({
    fittingUnderLock: (tx, requests, accounts) => {
      counts.locks += 1
      return ledger.fittingUnderLock(tx, requests, accounts)
    },
  })
  const reserve = createBatcher<Transfer, 'reserved', BalancesRead>({
    db,
    read: async (tx, transfers) => ({ mark: funds.markRead(), accounts: await ledger.accountsOf(tx, transfers) }),
    work: async (tx, transfers, balances, position) => {
      counts.batches += 1
      const locksBefore = counts.locks
      const fits = await funds.check(tx, transfers.map(requestOf), balances, position)
      await beforeWrite(counts.locks === locksBefore)
      const fitting = transfers.filter((_transfer, index) => fits[index] === true)
      const reserves = fitting.map((transfer) => entryOf('waits', transfer))
      await ledger.enterMany(tx, reserves, balances.accounts)
      return fits.map((fit) => (fit === true ? 'reserved' : insufficientFunds(fit, undefined)))
    },
    callsMax: 4,
    batchesMax: 4,
    secondBatchMin: 1,
    partnerOf: ({ partnerId }) => partnerId,
  })
  return { counts, reserve }
}

/** True when the money was reserved, false when it was refused. */
const isReserved = (reserving: Promise<unknown>): Promise<boolean> =>
  reserving.then(
    () => true,
    (error: unknown) => {
      assert.ok(error instanceof Refusal && error.code === 'insufficient_funds', String(error))
      return false
    },
  )

/** Reads the balance until `work` ends; it must never be negative. */
async function watchBalance<T>(partnerId: string, work: Promise<T>): Promise<T> {
  let hasEnded = false
  const watching = (async () => {
    while (!hasEnded) {
      const { available } = await balanceOf(service, partnerId)
      assert.ok(available >= 0n, `${available} available`)
    }
  })()
  try {
    return await work
  } finally {
    hasEnded = true
    await watching
  }
}

const sum = (amounts: readonly bigint[]) => amounts.reduce((total, amount) => total + amount, 0n)

test('racing batches of two processes never overdraw, and refuse only what does not fit alone', async (t) => {
  const cases = fc.record({
    float: fc.bigInt({ min: 1n, max: 4000n }),
    amounts: fc.array(fc.bigInt({ min: 1n, max: 300n }), { minLength: 10, maxLength: 60 }),
  })
  await fc.assert(
    fc.asyncProperty(cases, async ({ float, amounts }) => {
      const { partnerId } = await addPartner(service, float)
      const processes = databases.map((db) => createProcess(db))
      const reserving = amounts.map(async (amount, index) => {
        const { reserve } = processes[index % processes.length] ?? assert.fail('a process')
        return { amount, reserved: await isReserved(reserve(transferOf(partnerId, amount))) }
      })
      const answers = await watchBalance(partnerId, Promise.all(reserving))
      const reserved = sum(answers.filter((answer) => answer.reserved).map(({ amount }) => amount))
      const available = float - reserved
      assert.deepEqual(await balanceOf(service, partnerId), { posted: float, reserved, available })
      // Money only leaves in this test: what fits at the end has always fitted alone.
      for (const answer of answers) if (!answer.reserved) assert.ok(answer.amount > available, `${answer.amount} fits`)
      await checkLedger(service.db, partnerId)
    }),
    drawing(t, 12),
  )
})

test('equal amounts: exactly as many are accepted as the balance holds', async () => {
  const { partnerId } = await addPartner(service, 1050n)
  const processes = databases.map((db) => createProcess(db))
  const answers = await Promise.all(
    Array.from({ length: 60 }, (_, index) => {
      const { reserve } = processes[index % processes.length] ?? assert.fail('a process')
      return isReserved(reserve(transferOf(partnerId, 100n)))
    }),
  )
  assert.equal(answers.filter(Boolean).length, 10)
  await checkLedger(service.db, partnerId)
})

test('under the lock a request that does not fit takes nothing from the requests behind it', async () => {
  const { partnerId } = await addPartner(service, 100n)
  const transfers = [60n, 60n, 40n, 1n].map((amount) => transferOf(partnerId, amount))
  const fits = await service.db.transaction(async (tx) =>
    service.ledger.fittingUnderLock(tx, transfers.map(requestOf), await service.ledger.accountsOf(tx, transfers)),
  )
  const short = { currency: 'EUR', available: 40n }
  assert.deepEqual(fits, [true, short, true, { ...short, available: 0n }])
})

test('while the balance is ample no batch locks it first, and none runs twice', async () => {
  const { partnerId } = await addPartner(service, 12_000n)
  const [db = assert.fail('a database')] = databases
  const { reserve, counts } = createProcess(db)
  await Promise.all(Array.from({ length: 60 }, () => reserve(transferOf(partnerId, 100n))))
  assert.deepEqual(counts, { batches: 15, locks: 0 })
  await checkLedger(service.db, partnerId)
})

test('two processes admit the same money without a lock: one reserves it, the other refuses it', async () => {
  const { partnerId } = await addPartner(service, 100n)
  const bothAdmitted = Promise.withResolvers<void>()
  let admitted = 0
  const beforeWrite = (isAdmitted: boolean) => {
    if (isAdmitted && (admitted += 1) === 2) bothAdmitted.resolve()
    return isAdmitted ? bothAdmitted.promise : Promise.resolve()
  }
  const processes = databases.map((db) => createProcess(db, beforeWrite))
  const answers = await Promise.all(processes.map(({ reserve }) => isReserved(reserve(transferOf(partnerId, 80n)))))
  assert.deepEqual(answers.toSorted(), [false, true])
  assert.deepEqual(processes.map(({ counts }) => counts.batches).toSorted(), [1, 2], 'the loser runs again')
  assert.deepEqual(await balanceOf(service, partnerId), { posted: 100n, reserved: 80n, available: 20n })
})
