/** Windows and payers against the plain definition, over random transactions with equal times. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { addPartner, createTestService, type Service } from '../../../test/support/composition.ts'
import { drawing } from '../../../test/support/drawing.ts'
import { firstIdOf, hourMs, newId, nilId } from '../kernel/index.ts'
import { sql } from '../postgres/index.ts'
import { partReads } from '../deposits/index.ts'
import { distinctOf, returnsOf, windowsOf } from './store-patterns.ts'

let service: Service
before(async () => {
  service = await createTestService()
})
after(() => service.close())

/** Few hours, amounts and accounts, so that rows meet at the edges of a window. */
const movement = fc.record({
  hour: fc.nat(30),
  minor: fc.constantFrom(100n, 90n, 500n, 1000n),
  account: fc.constantFrom('A', 'B', 'C', null),
  isInward: fc.boolean(),
  isCustomer: fc.boolean(),
  isCounted: fc.boolean(),
  /** An amount in dollars is three times that in euros. `exchanged`: outward money is paid for in dollars; inward money has no exchange. */
  form: fc.constantFrom('plain', 'plain', 'exchanged', 'converted'),
})
type Moved = (typeof movement extends fc.Arbitrary<infer M> ? M : never) & { readonly id: string }

const epochMs = Date.parse('2026-01-01T00:00:00Z')

async function store(rows: readonly Moved[]) {
  const { partnerId, customer } = await addPartner(service)
  const list = rows.map(({ id, hour, minor, account, isInward, isCustomer, isCounted, form }) => ({
    id,
    ...sidesOf({ minor, form, isInward }),
    at: new Date(epochMs + hour * hourMs).toISOString(),
    direction: form === 'converted' ? 'Internal' : isInward ? 'Inward' : 'Outward',
    party: isCustomer ? 'Customer' : 'Partner',
    customer: isCustomer ? customer.id : null,
    status: isCounted ? 'Completed' : isInward ? 'Pending' : 'Cancelled',
    other: account === null || form === 'converted' ? null : JSON.stringify({ iban: account }),
  }))
  await service.db.run(sql`
    insert into transactions.transactions (partner_id, id, reference, amount, currency, category, direction, method, party_type, type, status,
      user_amount, user_currency, customer_id, creditor, debtor, created_at, updated_at, timeline)
    select ${partnerId}, id, id::text, minor, currency, case direction when 'Inward' then 'Deposit' when 'Outward' then 'Withdrawal' else 'Conversion' end, direction, 'Fiat',
      party, party || case direction when 'Inward' then 'Deposit' else 'Withdrawal' end, status, bought, bought_currency, customer, other, other, at, at, '[]'
    from json_to_recordset(${JSON.stringify(list)}::json)
      as made (id uuid, minor bigint, currency text, bought bigint, bought_currency text, at timestamptz, direction text, party text, customer uuid, status text, other text)`)
  return { partnerId, customerId: customer.id }
}

/** The columns of amounts, as JSON. */
function sidesOf({ minor, form, isInward }: Pick<Moved, 'minor' | 'form' | 'isInward'>) {
  const [euros, dollars] = [Number(minor), Number(minor) * 3]
  const isBought = form === 'converted' ? isInward : form === 'exchanged' && !isInward
  if (isBought) return { minor: dollars, currency: 'USD', bought: euros, bought_currency: 'EUR' }
  if (form === 'converted') return { minor: euros, currency: 'EUR', bought: dollars, bought_currency: 'USD' }
  return { minor: euros, currency: 'EUR', bought: null, bought_currency: null }
}

/** Reports whether some window of this length with the row, which ends with a counted row, holds what is asked for. */
const isIn = (
  row: Moved,
  counted: readonly Moved[],
  hours: number,
  holds: (window: readonly Moved[]) => boolean,
): boolean =>
  counted.some(
    (end) =>
      end.hour >= row.hour &&
      end.hour <= row.hour + hours &&
      holds(counted.filter(({ hour }) => hour <= end.hour && hour >= end.hour - hours)),
  )

test('a transaction is found if and only if a window with it holds so many, such a sum, or so many payers', async (t) => {
  const given = fc.record({
    isOverAll: fc.boolean(),
    rows: fc.array(movement, { maxLength: 40 }),
    hours: fc.integer({ min: 1, max: 8 }),
    countMin: fc.integer({ min: 1, max: 5 }),
    sumMin: fc.constantFrom(0n, 1000n, 2500n),
  })
  await fc.assert(
    fc.asyncProperty(given, async ({ rows: drawn, hours, countMin, sumMin, isOverAll }) => {
      const rows = drawn.toSorted((a, b) => a.hour - b.hour).map((row) => ({ ...row, id: newId() }))
      const { partnerId, customerId } = await store(rows)
      const ms = hours * hourMs
      const wide = { from: firstIdOf(new Date(0)), to: firstIdOf(new Date('2100-01-01')), sessionsFrom: nilId }
      const rates = [
        { currency: 'EUR', over: 1n, under: 1n },
        { currency: 'USD', over: 1n, under: 3n },
      ] as const
      const measure = { currency: 'EUR', ...(isOverAll ? { rates } : {}) } as const
      for (const isCustomer of [true, false]) {
        const own = rows.filter(
          (row) => row.isCounted && row.isCustomer === isCustomer && !(isOverAll && row.form === 'converted'),
        )
        const inward = own.filter(({ isInward }) => isInward)
        if (own.length === 0) continue
        const around = (list: readonly Moved[]) =>
          list.map(({ id }) => ({ id, customerId: isCustomer ? customerId : null, ...wide }))
        const ids = (found: readonly { readonly id: string }[]) => found.map(({ id }) => id).toSorted()
        if (inward.length > 0) {
          const what = { direction: 'Inward', measure, amountMin: null, amountMax: null, parts: partReads } as const
          const reach = { what, ms, countMin, sumMin }
          const windows = await windowsOf(service.db, partnerId, around(inward), reach)
          const holds = (window: readonly Moved[]) =>
            window.length >= countMin && window.reduce((sum, { minor }) => sum + minor, 0n) >= sumMin
          assert.deepEqual(ids(windows), ids(inward.filter((row) => isIn(row, inward, hours, holds))))
          for (const { count, sum } of windows) assert.ok(count >= BigInt(countMin) && sum >= sumMin)
          const known = inward.filter(({ account, form }) => account !== null && form !== 'converted')
          const payers = await distinctOf(service.db, partnerId, around(inward), {
            ...{ what, by: 'account', ms, countMin },
          })
          const pay = (window: readonly Moved[]) => new Set(window.map(({ account }) => account)).size >= countMin
          assert.deepEqual(ids(payers), ids(known.filter((row) => isIn(row, known, hours, pay))))
        }
        const moved = own.map(({ id, hour, minor, account, isInward, form }) => ({
          ...{ id, customerId: isCustomer ? customerId : null, ...wide, amount: minor },
          ...{ account: form === 'converted' ? null : account, createdAt: new Date(epochMs + hour * hourMs) },
          direction: isInward ? ('Inward' as const) : ('Outward' as const),
        }))
        const returns = await returnsOf(service.db, partnerId, moved, { measure, percent: 90, ms, parts: partReads })
        const isBack = (row: Moved, back: Moved) =>
          row.account !== null &&
          row.account === back.account &&
          row.form !== 'converted' &&
          back.form !== 'converted' &&
          Math.abs(row.hour - back.hour) <= hours &&
          row.isInward !== back.isInward &&
          back.minor * 100n >= row.minor * 90n &&
          row.minor * 100n >= back.minor * 90n
        assert.deepEqual(ids(returns), ids(own.filter((row) => own.some((back) => isBack(row, back)))))
      }
    }),
    drawing(t, 60),
  )
})
