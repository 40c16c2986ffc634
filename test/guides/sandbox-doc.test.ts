/** The tables of docs/sandbox.md match the sandbox bank's code, row by row. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { rawNumber, simulations } from '@partner-payments/wire'
import { endings, shortName } from '../../examples/demo/causes.ts'
import { parseAmount } from '../../service/src/kernel/api/index.ts'
import { type Currency } from '../../service/src/kernel/index.ts'
import { settings } from '../../service/src/app/config.ts'
import {
  type Behaviour,
  chooseBehaviour,
  magicAmounts,
  magicNamePrefix,
  planInstruction,
} from '../../service/src/banks/sandbox/script.ts'

const page = readFileSync(new URL('../../docs/sandbox.md', import.meta.url), 'utf8')

/** The cells of the table after a mark, without backticks and without the heading. */
function tableAfter(mark: string): readonly (readonly string[])[] {
  const text = page.split(`<!-- ${mark} -->`)[1]?.trimStart().split('\n\n')[0] ?? ''
  const rows = text.split('\n').map((line) => line.split('|').slice(1, -1))
  return rows.slice(2).map((cells) => cells.map((cell) => cell.trim().replaceAll('`', '')))
}

const magic = tableAfter('magic')

function behaviour(amount: string, creditorName: string, currency: Currency = 'EUR'): Behaviour {
  const minor = parseAmount(rawNumber(amount), currency)
  return chooseBehaviour({ amount: minor, currency, creditorName, simulatedOutcome: null })
}

/** The final status of a payout and the demo's name of its outcome, by the bank's behaviour. */
const payoutEndings: Readonly<
  Record<Behaviour['kind'], { readonly payoutStatus: string; readonly ending: keyof typeof endings }>
> = {
  settle: { payoutStatus: 'Completed', ending: 'customer payout settled' },
  'stay-sent': { payoutStatus: 'Sent', ending: 'customer payout sent' },
  refuse: { payoutStatus: 'Failed', ending: 'customer payout refused' },
  reject: { payoutStatus: 'Failed', ending: 'customer payout rejected' },
  return: { payoutStatus: 'Returned', ending: 'customer payout settled' },
  silent: { payoutStatus: 'Failed', ending: 'customer payout refused' },
  'settle-short': { payoutStatus: 'Completed', ending: 'customer payout settled' },
  contradict: { payoutStatus: 'Completed', ending: 'customer payout settled' },
  unreachable: { payoutStatus: 'Completed', ending: 'customer payout settled' },
}

test('the table of magic amounts lists exactly the amounts of the code', () => {
  const amounts = magic.map(([amount]) => amount).filter((amount) => amount !== 'any other')
  assert.deepEqual(amounts, Object.keys(magicAmounts))
})

test('the amount and the name of a row select the same behaviour, with the result that the row shows', () => {
  assert.equal(magic.length, Object.keys(magicAmounts).length + 1)
  for (const [amount = '', name = '', , status, errorKey, events] of magic) {
    const other = amount === 'any other'
    const done = other ? behaviour('12.34', 'Ada Lovelace') : behaviour(amount, 'Ada Lovelace')
    if (!other) {
      assert.equal(name.toLowerCase(), `${magicNamePrefix}${magicAmounts[amount]}`)
      assert.deepEqual(behaviour('12.34', name), done, name)
      assert.deepEqual(behaviour('12.34', name.toUpperCase()), done, name)
      assert.deepEqual(behaviour(amount, 'Ada Lovelace', 'USD'), done, amount)
    }
    const { payoutStatus, ending } = payoutEndings[done.kind]
    assert.equal(status, payoutStatus, amount)
    assert.equal(errorKey, 'errorKey' in done && status !== 'Completed' ? done.errorKey : '', amount)
    assert.equal(events, endings[ending].events.map(shortName).join(', '), amount)
    const settles = planInstruction(done, { currency: 'EUR', amount: 400_108n }).some(
      ({ kind }) => kind === 'payout.settled',
    )
    assert.equal(settles, status === 'Completed' || status === 'Returned', amount)
  }
})

test('the table of simulations lists every outcome with the events that the demo expects', () => {
  const rows = tableAfter('simulations')
  const pairs = rows.map(([simulation, outcome]) => `${simulation} ${outcome}`)
  const deposits = simulations.depositOutcomes.map((outcome) => `deposit ${outcome}`)
  const withdrawals = simulations.withdrawalOutcomes.map((outcome) => `withdrawal ${outcome}`)
  assert.deepEqual(pairs.toSorted(), [...deposits, ...withdrawals].toSorted())
  const withdrawalEndings = { completed: 'settled', sent: 'sent', failed: 'rejected' } as const
  for (const [simulation, outcome = '', status, events] of rows) {
    const name =
      simulation === 'deposit'
        ? `deposit ${outcome}`
        : `customer payout ${withdrawalEndings[outcome as keyof typeof withdrawalEndings]}`
    const ending = endings[name as keyof typeof endings]
    assert.equal(status, ending.status, name)
    assert.equal(events, ending.events.join(', '), name)
  }
})

test("the page states the default of the bank's delay", () => {
  const stated = /SANDBOX_BANK_DELAY_MS` pass between two steps: (\d+)/.exec(page)?.[1]
  assert.equal(stated, settings.SANDBOX_BANK_DELAY_MS.default)
})
