/** Rules of the ledger, and decisions of the funds check. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  debitAccount,
  transferEffects,
  type EntryRequest,
  fitsLimits,
  accountMapKey,
  type TransferKind,
} from './rules.ts'
import type { Minor } from '../kernel/index.ts'
import type { Tx } from '../postgres/index.ts'
import { type BalancesSnapshot, createFundsCheck, type FundsCheck, type ReadMark } from './funds-check.ts'

const kinds = ['direct', 'reserve', 'post', 'release'] as const satisfies readonly TransferKind[]
const amount = fc.bigInt({ min: 1n, max: 10n ** 15n })

test('no kind of transfer creates or destroys posted money', () => {
  fc.assert(
    fc.property(fc.constantFrom(...kinds), amount, (kind, cents) => {
      const { debit, credit } = transferEffects(kind, cents)
      assert.equal(debit.posted + credit.posted, 0n)
      assert.equal(credit.reserved, 0n)
    }),
  )
})

test('reserve and post equal a direct transfer; reserve and release change nothing', () => {
  const sum = (cents: bigint, ...parts: readonly TransferKind[]) =>
    parts
      .map((kind) => transferEffects(kind, cents).debit)
      .reduce((a, b) => ({ posted: a.posted + b.posted, reserved: a.reserved + b.reserved }))
  fc.assert(
    fc.property(amount, (cents) => {
      assert.deepEqual(sum(cents, 'reserve', 'post'), transferEffects('direct', cents).debit)
      assert.deepEqual(sum(cents, 'reserve', 'release'), { posted: 0n, reserved: 0n })
    }),
  )
})

test('a balance cannot fall below its reserved part; a system account has no lower limit', () => {
  const out = transferEffects('direct', 10n).debit
  const reserve = transferEffects('reserve', 10n).debit
  assert.deepEqual(
    [
      fitsLimits('balance', { posted: 10n, reserved: 0n }, out),
      fitsLimits('balance', { posted: 9n, reserved: 0n }, out),
      fitsLimits('balance', { posted: 15n, reserved: 6n }, out),
    ],
    [true, false, false],
  )
  assert.deepEqual(
    [
      fitsLimits('balance', { posted: 15n, reserved: 5n }, reserve),
      fitsLimits('balance', { posted: 15n, reserved: 6n }, reserve),
    ],
    [true, false],
  )
  assert.ok(fitsLimits('settlement.sandbox', { posted: 0n, reserved: 0n }, out))
  assert.ok(
    !fitsLimits('balance', { posted: 20n, reserved: 5n }, transferEffects('release', 10n).debit),
    'a release cannot exceed the reserved part',
  )
})

const noStatement = () => assert.fail('the funds check sends no statement of its own')
const tx: Tx = {
  sharded: false,
  rows: noStatement,
  row: noStatement,
  run: noStatement,
  later: noStatement,
  afterCommit: noStatement,
}

const transfer = (amount: Minor, partnerId = 'p1', currency: 'EUR' | 'GBP' = 'EUR') =>
  ({
    partnerId,
    partyId: partnerId,
    kind: 'reserve',
    debit: 'balance',
    credit: 'settlement.sandbox',
    currency,
    amount,
  }) as const
const request = (...given: Parameters<typeof transfer>): EntryRequest => ({ transfers: [transfer(...given)] })
const read = (mark: ReadMark, available: Minor): BalancesSnapshot => ({
  mark,
  accounts: new Map([[accountMapKey(debitAccount(transfer(0n))), { id: 'a1', available }]]),
})

/** The place of a batch in the queue. `end` ends the batch, and resolves when the funds check has seen it. */
function place(earlierEnded: Promise<void> = Promise.resolve()) {
  const { promise: ended, resolve } = Promise.withResolvers<void>()
  const end = async () => {
    resolve()
    await ended
  }
  return { position: { earlierEnded, ended }, end }
}

const short = { currency: 'EUR', available: 0n } as const

/** A funds check whose lock refuses everything, so that an accepted request was admitted without the lock. */
function lockRefuses() {
  const locks: (readonly EntryRequest[])[] = []
  const funds = createFundsCheck({
    fittingUnderLock: async (_tx, requests) => {
      locks.push(requests)
      return requests.map(() => short)
    },
  })
  return { funds, locks }
}
const checkOne = (funds: FundsCheck, available: Minor, amount: Minor, { position } = place()) =>
  funds.check(tx, [request(amount)], read(funds.markRead(), available), position)

test('a batch that its balance covers is admitted without a lock', async () => {
  const { funds, locks } = lockRefuses()
  const requests = [request(60n), request(40n)]
  assert.deepEqual(await funds.check(tx, requests, read(funds.markRead(), 100n), place().position), [true, true])
  assert.deepEqual(locks, [])
})

test('a batch that exceeds its balance waits for the earlier batches and then decides under the lock', async () => {
  const { funds, locks } = lockRefuses()
  const earlier = Promise.withResolvers<void>()
  const checking = checkOne(funds, 100n, 101n, place(earlier.promise))
  await new Promise(setImmediate)
  assert.equal(locks.length, 0)
  earlier.resolve()
  assert.deepEqual(await checking, [short])
  assert.deepEqual(locks, [[request(101n)]])
})

test('an entry of several transfers takes the sum of its transfers from each balance, and nothing from a system account', async () => {
  const { funds, locks } = lockRefuses()
  const fees = { ...transfer(1000n), debit: 'fees', kind: 'direct' } as const
  const entry = { transfers: [transfer(60n), transfer(40n), fees] }
  assert.deepEqual(await funds.check(tx, [entry], read(funds.markRead(), 100n), place().position), [true])
  assert.deepEqual(await funds.check(tx, [entry], read(funds.markRead(), 199n), place().position), [short])
  assert.equal(locks.length, 1)
})

test('a balance that does not exist covers nothing', async () => {
  const { funds, locks } = lockRefuses()
  await funds.check(tx, [request(1n)], { mark: funds.markRead(), accounts: new Map() }, place().position)
  assert.equal(locks.length, 1)
})

test('a rerun of a batch has no position and always decides under the lock', async () => {
  const { funds, locks } = lockRefuses()
  await funds.check(tx, [request(1n)], read(funds.markRead(), 100n), undefined)
  assert.equal(locks.length, 1)
})

test('a batch in progress at the time of the read counts until it ends', async () => {
  const { funds } = lockRefuses()
  const first = place()
  assert.deepEqual(await checkOne(funds, 100n, 60n, first), [true])
  assert.deepEqual(await checkOne(funds, 100n, 60n), [short])
  const { funds: other } = lockRefuses()
  const ended = place()
  assert.deepEqual(await checkOne(other, 100n, 60n, ended), [true])
  await ended.end()
  assert.deepEqual(await checkOne(other, 40n, 40n), [true], 'the next read contains its reserve')
})

test('a batch that was checked and ended after the read still counts', async () => {
  const { funds } = lockRefuses()
  const early = read(funds.markRead(), 100n)
  const first = place()
  assert.deepEqual(await checkOne(funds, 100n, 60n, first), [true])
  await first.end()
  assert.deepEqual(await funds.check(tx, [request(60n)], early, place().position), [short])
})

test('a batch that waits for the lock counts with its full requested amount', async () => {
  const { funds } = lockRefuses()
  const never = new Promise<void>(() => undefined)
  void checkOne(funds, 100n, 500n, place(never))
  assert.deepEqual(await checkOne(funds, 100n, 1n), [short])
})

test('batches of other partners and currencies do not count', async () => {
  const { funds } = lockRefuses()
  const others = [request(1000n, 'p2'), request(1000n, 'p1', 'GBP')]
  await funds.check(tx, others, read(funds.markRead(), 100n), place().position)
  assert.deepEqual(await checkOne(funds, 100n, 100n), [true])
})

test('batches admitted without a lock never overdraw, in any order of reads, checks and commits', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.bigInt({ min: 1n, max: 50n }), { minLength: 2, maxLength: 8 }),
      fc.array(fc.nat(7), { maxLength: 40 }),
      async (amounts, schedule) => {
        const { funds } = lockRefuses()
        let available = 100n
        const batches = amounts.map((amount) => {
          const { position, end } = place()
          let mark: ReadMark
          let balances: BalancesSnapshot
          let isAdmitted = false
          const steps = [
            async () => void (mark = funds.markRead()),
            async () => void (balances = read(mark, available)),
            async () => void (isAdmitted = (await funds.check(tx, [request(amount)], balances, position))[0] === true),
            async () => void (available -= isAdmitted ? amount : 0n),
            end,
          ]
          return {
            next: async () => steps.shift()?.(),
            finish: async () => {
              for (const step of steps) await step()
            },
          }
        })
        for (const index of schedule) {
          await batches[index]?.next()
          assert.ok(available >= 0n, `${available} available`)
        }
        for (const { finish } of batches) await finish()
        assert.ok(available >= 0n, `${available} available at the end`)
        const total = amounts.reduce((sum, amount) => sum + amount, 0n)
        // A committed batch may count twice, once in the balance and once as under way.
        if (2n * total <= 100n) assert.equal(available, 100n - total, 'an ample balance admits every batch')
      },
    ),
    { numRuns: 500 },
  )
})
