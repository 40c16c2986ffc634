/** The parts of the difference add up, whatever the numbers are; and each status has its cause. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { DayLook } from '../../cases/reconciliation/index.ts'
import { type AccountInput, isCalendarDay, computeDayFinding, opensCase, sumOfGroup } from './rules.ts'

const none = { amount: 0n, count: 0n }
const account = { connector: 'iso20022', account: 'DE02120300000000202051', currency: 'EUR' } as const
const statement = { id: 's', statementId: 'S1', sequence: 1n, closingOn: '2026-03-02' }

/** Items are parts of `ledger - bank`; what they leave over is unexplained. */
function lookOf(given: Partial<Record<'opening' | 'bank' | 'ledger' | 'offStatement' | 'gap', bigint>>): DayLook {
  const { opening = 0n, bank = 0n, ledger = bank, offStatement = 0n, gap = 0n } = given
  const item = (kind: string, amount: bigint) =>
    ({ side: 'difference', kind, amount, count: 1n, oldestAt: null }) as const
  return {
    ...account,
    statement: { ...statement, closing: opening + bank },
    opening,
    ledger,
    items: [item('not_on_statement', offStatement), item('statement_gap', gap)],
    unexplained: ledger - bank - offStatement - gap,
    statements: [],
    laterIds: [],
  }
}

const facts = (look: DayLook, around: AccountInput['around'] = { offAfter: none, onAfter: none }): AccountInput => ({
  look,
  around,
  hasStatement: true,
})
const posted = (amounts: Readonly<Record<string, bigint>>) =>
  new Map(Object.entries(amounts).map(([name, amount]) => [name, { posted: amount, reserved: 0n }]))
const judged = (
  amounts: Readonly<Record<string, bigint>>,
  look: DayLook,
  more: { readonly debits?: bigint; readonly changedRows?: number; readonly around?: AccountInput['around'] } = {},
) =>
  computeDayFinding({
    sums: posted(amounts),
    debits: { amount: more.debits ?? 0n, count: 1n },
    accounts: [facts(look, more.around)],
    changedRows: more.changedRows ?? 0,
    internalConnector: 'internal',
  })

test('the parts add up to resource less requirement, for any figures of a balanced ledger', () => {
  const amount = fc.bigInt({ min: -(10n ** 12n), max: 10n ** 12n })
  fc.assert(
    fc.property(
      fc.record({
        ...{ balance: amount, suspense: amount, fees: amount, fx: amount, inside: amount, sandbox: amount },
        ...{ debits: amount, opening: amount, bank: amount, ledger: amount, offStatement: amount, gap: amount },
        ...{ offAfter: amount, onAfter: amount },
      }),
      (one) => {
        const { balance, suspense, fees, fx, inside, sandbox } = one
        const rest = -(balance + suspense + fees + fx + inside + sandbox)
        const sums = { balance, suspense, fees, fx }
        const settled = { 'settlement.internal': inside, 'settlement.sandbox': sandbox, 'settlement.iso20022': rest }
        const around = { offAfter: { amount: one.offAfter, count: 0n }, onAfter: { amount: one.onAfter, count: 0n } }
        const { requirement, resource, parts } = judged({ ...sums, ...settled }, lookOf(one), {
          debits: one.debits,
          around,
        })
        assert.equal(requirement.total, balance + suspense - one.debits)
        assert.equal(resource, one.opening + one.bank)
        const groups = sumOfGroup(parts, 'own') + sumOfGroup(parts, 'timing') + sumOfGroup(parts, 'discrepancy')
        assert.equal(groups, (resource ?? 0n) - requirement.total)
        assert.equal(sumOfGroup(parts, 'own'), fees + fx + one.debits + one.opening + sandbox)
      },
    ),
  )
})

const ten = { balance: 10n, 'settlement.iso20022': -10n }

test('a day is balanced, or has an excess or a shortfall, by what the bank holds and what is owed to customers', () => {
  assert.equal(judged(ten, lookOf({ bank: 10n })).status, 'balanced')
  assert.equal(judged({ balance: 9n, fees: 1n, 'settlement.iso20022': -10n }, lookOf({ bank: 10n })).status, 'excess')
  assert.equal(judged(ten, lookOf({ bank: 10n, opening: 5n })).status, 'excess')
  const charged = { balance: 10n, suspense: -1n, 'settlement.iso20022': -9n }
  const short = judged(charged, lookOf({ bank: 9n }), { debits: -1n })
  assert.deepEqual([short.status, short.requirement.total, short.resource], ['shortfall', 10n, 9n])
  const elsewhere = { balance: 10n, 'settlement.iso20022': -4n, 'settlement.sandbox': -6n }
  assert.equal(judged(elsewhere, lookOf({ bank: 4n })).status, 'shortfall')
})

test('amounts in transit leave a day balanced', () => {
  const found = judged(ten, lookOf({ bank: 3n, ledger: 10n, offStatement: 7n }))
  assert.equal(found.status, 'balanced')
  assert.deepEqual(
    found.parts.filter(({ amount }) => amount !== 0n).map(({ kind, amount }) => [kind, amount]),
    [['in_transit', -7n]],
  )
})

test('one cent without a reason, a gap between statements, or a changed row is unexplained', () => {
  assert.equal(judged(ten, lookOf({ bank: 9n, ledger: 10n })).status, 'unexplained')
  assert.equal(judged(ten, lookOf({ bank: 9n, ledger: 10n, gap: 1n })).status, 'unexplained')
  assert.equal(judged(ten, lookOf({ bank: 10n }), { changedRows: 1 }).status, 'unexplained')
})

test('without a statement there is no resource', () => {
  const incomplete = { ...facts(lookOf({ bank: 10n })), hasStatement: false }
  const given = { sums: posted(ten), debits: none, changedRows: 0, internalConnector: 'internal' }
  const { resource, status, parts } = computeDayFinding({ ...given, accounts: [incomplete] })
  assert.deepEqual([resource, status, parts], [null, 'incomplete', []])
})

test('an excess opens no case; the other differences do', () => {
  const all = ['balanced', 'excess', 'shortfall', 'unexplained', 'incomplete'] as const
  assert.deepEqual(all.filter(opensCase), ['shortfall', 'unexplained', 'incomplete'])
})

test('a day must be a calendar day', () => {
  assert.deepEqual(['2026-02-28', '2026-02-29', '2026-2-8', '2026-02-30', 'today'].filter(isCalendarDay), [
    '2026-02-28',
  ])
})
