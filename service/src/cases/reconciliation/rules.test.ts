/** The chain of statements, and the scores of candidates. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { BankStatement } from '../../rails/index.ts'
import { buildChain, unexplainedAmount } from './rules.ts'
import { type Candidate, type MoneyFacts, scoreCandidates } from './candidates.ts'

const at = new Date('2026-01-10T12:00:00Z')
let number = 0
function statement(opening: bigint | null, closing: bigint | null, more: Partial<BankStatement> = {}): BankStatement {
  number += 1
  const moved = (closing ?? 0n) - (opening ?? 0n)
  return {
    id: String(number),
    statementId: `S${number}`,
    sequence: null,
    opening,
    closing,
    openingOn: '2026-01-01',
    closingOn: '2026-01-01',
    entries: 0n,
    credits: moved > 0n ? moved : 0n,
    debits: moved < 0n ? -moved : 0n,
    byValueDate: null,
    createdAt: at,
    taken: true,
    numbering: 'evidence',
    ...more,
  }
}
const facts = (all: readonly BankStatement[]) => {
  const { opening, closing, moved, gaps, sumsDiffer } = buildChain(all)
  return {
    opening,
    closing,
    moved,
    gaps: gaps.map(({ amount }) => amount),
    differ: sumsDiffer.map(({ amount }) => amount),
  }
}

test('without a statement there is no movement', () => {
  assert.deepEqual(facts([]), { opening: null, closing: null, moved: 0n, gaps: [], differ: [] })
})

test('the movement is the last closing balance less the first opening balance, with or without gaps', () => {
  const days = [
    statement(5n, 9n),
    statement(9n, 4n, { closingOn: '2026-01-02' }),
    statement(7n, 7n, { closingOn: '2026-01-03' }),
  ]
  assert.deepEqual(facts(days), { opening: 5n, closing: 7n, moved: 2n, gaps: [3n], differ: [] })
})

test('pages of one day are read in the order of their balances, and a repeated page counts only once', () => {
  const [first, second, third] = [statement(0n, 3n), statement(3n, 9n), statement(9n, 8n)]
  const again = { ...first, id: 'again' }
  const joined = { opening: 0n, closing: 8n, moved: 8n, gaps: [], differ: [] }
  for (const order of [
    [first, second, third, again],
    [third, again, second, first],
    [second, third, first, again],
  ])
    assert.deepEqual(facts(order), joined)
})

test('a missing number is a gap without an amount where numbers are consecutive, and they may restart with a year', () => {
  const of = (sequence: bigint, closingOn: string) =>
    statement(1n, 1n, { sequence, closingOn, numbering: 'consecutive' })
  assert.deepEqual(facts([of(1n, '2026-01-01'), of(3n, '2026-01-03')]).gaps, [0n])
  assert.deepEqual(facts([of(250n, '2026-12-31'), of(1n, '2027-01-02')]).gaps, [])
  assert.deepEqual(facts([of(250n, '2026-12-31'), of(251n, '2027-01-02')]).gaps, [])
  assert.deepEqual(facts([of(250n, '2026-12-31'), of(2n, '2027-01-03')]).gaps, [0n])
})

test('balances show whether statements are consecutive, and numbers count only without balances, if the bank numbers them', () => {
  const of = (sequence: bigint, closing: bigint | null, more: Partial<BankStatement> = {}) =>
    statement(1n, closing, { sequence, closingOn: `2026-01-0${sequence % 10n}`, ...more })
  const times = [of(202611240639094571n, 1n), of(202611250640120002n, 1n)]
  assert.deepEqual(facts(times).gaps, [])
  const bare = { opening: null, credits: 0n, debits: 0n } as const
  assert.deepEqual(facts([of(1n, null, bare), of(3n, null, bare)]).gaps, [0n])
  assert.deepEqual(facts([of(1n, null, bare), of(3n, null, { ...bare, numbering: 'ignored' })]).gaps, [])
  assert.deepEqual(facts([of(1n, 1n), of(3n, null, bare)]).gaps, [0n])
  // If there are balances, they decide, whatever the numbers are.
  assert.deepEqual(facts([of(1n, 1n), of(2n, 9n, { opening: 4n })]).gaps, [3n])
})

test('statements of a day without consecutive numbers are sorted by their balances', () => {
  const [first, second, third] = [
    statement(0n, 3n, { sequence: 900n }),
    statement(3n, 9n, { sequence: 20n }),
    statement(9n, 8n, { sequence: 500n }),
  ]
  assert.deepEqual(facts([second, third, first].filter((one) => one !== undefined)).gaps, [])
})

test('statements without balances count by their entries, and an incomplete statement does not count', () => {
  const bare = statement(null, null, { credits: 30n, debits: 10n })
  assert.deepEqual(facts([bare, statement(9n, 99n, { taken: false })]), {
    opening: null,
    closing: null,
    moved: 20n,
    gaps: [],
    differ: [],
  })
})

test('balances that differ from the entries are listed with their statement', () => {
  assert.deepEqual(facts([statement(0n, 10n, { credits: 7n })]).differ, [3n])
})

test('only items on the difference side reduce the unexplained amount', () => {
  const item = (side: 'difference' | 'suspense' | 'memo', amount: bigint) =>
    ({ side, kind: 'x', amount, count: 1n, oldestAt: null }) as const
  assert.equal(unexplainedAmount(10n, 3n, [item('difference', 5n), item('suspense', 100n), item('memo', 100n)]), 2n)
})

const money: MoneyFacts = {
  currency: 'EUR',
  amount: 10_000n,
  account: 'FR7630006000011234567890189',
  name: 'Lovelace Ada',
  texts: ['Refund of E2E 0190a000000070008000000000000001'],
  on: at,
}
const candidate: Candidate = {
  kind: 'payout',
  partnerId: 'p',
  id: 'c',
  status: 'Settled',
  currency: 'EUR',
  amount: 10_000n,
  account: 'FR76 3000 6000 0112 3456 7890 189',
  name: 'Ada Lovelace',
  references: ['0190a000000070008000000000000001'],
  on: at,
}
const scoreOf = (more: Partial<Candidate>) => scoreCandidates(money, [{ ...candidate, ...more }])[0]
const agreedOf = (more: Partial<Candidate>) => scoreOf(more)?.agreed.map(({ what }) => what)

test('the score is at most 100, with points for each agreement', () => {
  assert.equal(scoreOf({})?.score, 100)
  assert.deepEqual(agreedOf({}), ['amount', 'reference', 'account', 'name', 'same day'])
})

test('a near agreement has fewer points and its own reason', () => {
  const nearly = {
    amount: 9_900n,
    account: 'FR7630006000011234567890198',
    name: 'Ada Lovelase',
    on: new Date('2026-01-06T12:00:00Z'),
  }
  assert.deepEqual(agreedOf(nearly), [
    'amount nearly',
    'reference',
    'account but for a typing error',
    'name nearly',
    'within five days',
  ])
  assert.equal(scoreOf(nearly)?.score, 78)
})

test('poor matches and other currencies are left out', () => {
  const little = { amount: 5n, references: [], account: '', name: '', on: null }
  assert.equal(scoreOf(little), undefined)
  assert.equal(scoreOf({ currency: 'USD' }), undefined)
  // A short reference may occur in a text by chance.
  assert.deepEqual(agreedOf({ references: ['E2E'] }), ['amount', 'account', 'name', 'same day'])
})

test('the best candidate comes first', () => {
  const found = scoreCandidates(money, [{ ...candidate, id: 'b', references: [], account: '' }, candidate])
  assert.deepEqual(
    found.map(({ candidate: { id } }) => id),
    ['c', 'b'],
  )
})
