/** Random movements on the real ledger and on a model of a few lines: both must refuse and reserve the same. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Refusal } from '../../service/src/kernel/api/index.ts'
import { AssertionFailure, newId } from '../../service/src/kernel/index.ts'
import { sqlState, violates } from '../../service/src/postgres/index.ts'
import { singleEntry } from '../../service/src/ledger/index.ts'
import { addPartner, balanceOf } from '../support/composition.ts'
import { drawing } from '../support/drawing.ts'
import { checkLedger } from './ledger-audit.ts'
import { useModules } from '../support/fixture.ts'

type Move = {
  readonly kind: 'in' | 'out' | 'reserve' | 'post' | 'release'
  readonly cents: bigint
  readonly pick: number
}
type Model = { posted: bigint; reserved: bigint; readonly open: { readonly id: string; readonly cents: bigint }[] }

const move: fc.Arbitrary<Move> = fc.record({
  kind: fc.constantFrom('in', 'out', 'reserve', 'post', 'release'),
  cents: fc.bigInt({ min: 1n, max: 1000n }),
  pick: fc.nat(100),
})

const service = await useModules({ connectionsMax: 12 })

const settlement = 'settlement.sandbox' as const

async function begin(partnerId: string, kind: 'in' | 'out' | 'reserve', amount: bigint): Promise<string> {
  const { db, ledger } = service
  const [debit, credit] = kind === 'in' ? ([settlement, 'balance'] as const) : (['balance', settlement] as const)
  const transfer = {
    partnerId,
    debit,
    credit,
    currency: 'EUR',
    amount,
    partyId: partnerId,
    reference: newId(),
  } as const
  const entry = singleEntry(kind === 'reserve' ? 'waits' : 'bank', transfer)
  await db.transaction((tx) => ledger.enter(tx, entry))
  return entry.id
}

/** The id of the transfer, or undefined for insufficient funds. Any other error fails the test. */
const orRefused = (request: Promise<string>): Promise<string | undefined> =>
  request.catch((error: unknown) => {
    if (!(error instanceof Refusal && error.code === 'insufficient_funds')) throw error
    return undefined
  })

/** Ending a reservation twice is a bug of the caller, and never a refusal that a partner sees. */
const isSecondEnd = (error: unknown) =>
  error instanceof AssertionFailure || violates(error, sqlState.uniqueViolation, 'transfers_reserve_ends_once')

async function apply(partnerId: string, model: Model, { kind, cents, pick }: Move): Promise<void> {
  const { db, ledger } = service
  if (kind === 'post' || kind === 'release') {
    const [reserve] = model.open.splice(pick % Math.max(1, model.open.length), 1)
    if (!reserve) return
    const ends = [{ partnerId, entryId: reserve.id, kind }]
    const end = () => db.transaction((tx) => ledger.settleMany(tx, ends, []))
    await end()
    await assert.rejects(end(), isSecondEnd)
    model.reserved -= reserve.cents
    if (kind === 'post') model.posted -= reserve.cents
    return
  }
  const fits = kind === 'in' || model.posted - model.reserved >= cents
  const id = await orRefused(begin(partnerId, kind, cents))
  assert.equal(id !== undefined, fits, `${kind} ${cents} of ${model.posted} - ${model.reserved}`)
  if (id === undefined) return
  if (kind === 'in') model.posted += cents
  if (kind === 'out') model.posted -= cents
  if (kind === 'reserve') {
    model.reserved += cents
    model.open.push({ id, cents })
  }
}

test('sequential movements: the ledger accepts, refuses and holds the same amounts as the model', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.array(move, { maxLength: 30 }), async (moves) => {
      const { partnerId } = await addPartner(service)
      const model: Model = { posted: 0n, reserved: 0n, open: [] }
      for (const one of moves) {
        await apply(partnerId, model, one)
        const { posted, reserved } = model
        assert.deepEqual(await balanceOf(service, partnerId), { posted, reserved, available: posted - reserved })
      }
      await checkLedger(service.db, partnerId)
    }),
    drawing(t, 15),
  )
})

test('concurrent movements: the balance is the sum of the accepted movements, and never negative', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.array(move, { minLength: 5, maxLength: 25 }), async (moves) => {
      const { partnerId } = await addPartner(service)
      const opened = await begin(partnerId, 'in', 2000n).then(() => begin(partnerId, 'reserve', 500n))
      const results = await Promise.all(
        moves.map(async ({ kind, cents }) => {
          const begun = kind === 'in' || kind === 'out' || kind === 'reserve'
          if (begun) return { kind, cents, done: (await orRefused(begin(partnerId, kind, cents))) !== undefined }
          // Every end is for the same reservation, so that exactly one succeeds.
          const ends = [{ partnerId, entryId: opened, kind }]
          const end = service.db.transaction((tx) => service.ledger.settleMany(tx, ends, []))
          return end.then(
            () => ({ kind, cents: 500n, done: true }),
            (error: unknown) => {
              assert.ok(isSecondEnd(error), String(error))
              return { kind, cents: 500n, done: false }
            },
          )
        }),
      )
      const done = results.filter((result) => result.done)
      const sum = (...kinds: readonly string[]) =>
        done.filter(({ kind }) => kinds.includes(kind)).reduce((total, { cents }) => total + cents, 0n)
      const ends = done.filter(({ kind }) => kind === 'post' || kind === 'release').length
      assert.equal(ends, moves.some(({ kind }) => kind === 'post' || kind === 'release') ? 1 : 0)
      const posted = 2000n + sum('in') - sum('out') - sum('post')
      const reserved = 500n + sum('reserve') - sum('post', 'release')
      assert.deepEqual(await balanceOf(service, partnerId), { posted, reserved, available: posted - reserved })
      await checkLedger(service.db, partnerId)
    }),
    drawing(t, 10),
  )
})

test('concurrent first movements in every currency create each account exactly once', async () => {
  const { partnerId } = await addPartner(service)
  const currencies = ['EUR', 'GBP', 'USD', 'USDC'] as const
  const common = { partnerId, debit: settlement, credit: 'balance', amount: 5n, partyId: partnerId } as const
  const credit = (currency: (typeof currencies)[number]) =>
    service.db.transaction((tx) =>
      service.ledger.enter(tx, singleEntry('bank', { ...common, currency, reference: 'R' })),
    )
  await Promise.all(Array.from({ length: 24 }, (_, index) => credit(currencies[index % 4] ?? 'EUR')))
  const accounts = await checkLedger(service.db, partnerId)
  assert.equal(accounts.length, 8)
  for (const currency of currencies) assert.equal((await balanceOf(service, partnerId, currency)).posted, 30n)
})
