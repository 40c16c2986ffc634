/** Amounts are exact from the request to the response. Contract page, amount and currency. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { success, textAt } from '../support/client.ts'
import { useSharedService } from '../support/fixture.ts'
import { assertProblem } from '../support/problem.ts'
import {
  balanceOf,
  cents,
  createBeneficiary,
  createCustomer,
  finalTransaction,
  listAll,
  payoutText,
  transactionOf,
} from '../support/world.ts'
import { until } from '../support/until.ts'

const service = await useSharedService()
const { client } = service
const customer = textAt(await createCustomer(client), 'guid')
const beneficiary = textAt(await createBeneficiary(client), 'id')

type Path = '/v1/payouts/fiat' | '/v1/simulations/deposits' | '/v1/simulations/withdrawals'
function requestText(path: Path, amount: string, currency = 'EUR'): string {
  if (path === '/v1/payouts/fiat') return payoutText(beneficiary, amount, { currency })
  const outcome = path === '/v1/simulations/deposits' ? 'completed' : 'sent'
  return `{"amount":${amount},${JSON.stringify({ customerId: customer, currency, outcome }).slice(1)}`
}

const paths = ['/v1/payouts/fiat', '/v1/simulations/deposits', '/v1/simulations/withdrawals'] as const
const refused: Readonly<Record<string, readonly string[]>> = {
  'negative or zero': ['-1', '-0.01', '0', '0.0', '0.00', '-0', '-0.0', '0e5', '0e-99999', '-1e2'],
  'under 0.01 or over 10,000,000.00': [
    ...['10000000.01', '10000001', '1e8', '99999999999999999999', '9007199254740993', '1e30', '1e308'],
    ...['0.001', '1e-3', '1e-400'],
  ],
  'an exponent beyond range': [
    '1e999',
    '1E+999',
    '1e1000000000',
    '1e99999999999999999999',
    '-1e999',
    '1e-999999999999',
  ],
  'more digits than the currency has': [
    ...[
      '0.015',
      '12.345',
      '12.340',
      '12.34000000000000000',
      '0.30000000000000004',
      '0.1000000000000000055511151231257827',
      '9999999.999',
    ],
    ...['1.00000000000000000000000000000000000001', '10000000.000000000001', `1.${'0'.repeat(5000)}1`, '1.001e0'],
  ],
  'not a number': ['"10.00"', '""', 'null', 'true', '[]', '{}', '[10]', '{"rawJSON":"10.00"}', '"1e2"', '"NaN"'],
}

for (const path of paths)
  for (const [why, literals] of Object.entries(refused))
    test(`400 with /amount when the amount is ${why}: POST ${path}`, async () => {
      const before = await balanceOf(client)
      const transactions = await listAll(client, '/v1/transactions')
      for (const literal of literals)
        assertProblem(await client.post(path, requestText(path, literal)), {
          status: 400,
          code: 'validation_failed',
          pointer: '/amount',
        })
      assert.deepEqual(await balanceOf(client), before)
      assert.deepEqual(await listAll(client, '/v1/transactions'), transactions)
    })

for (const path of paths)
  test(`400 malformed_json when the number is not valid JSON: POST ${path}`, async () => {
    for (const literal of ['01', '1.', '.5', '+1', '0x10', '1_000', 'Infinity', 'NaN', '1,5', '--1', '1e', '10n', ''])
      assertProblem(await client.post(path, requestText(path, literal)), { status: 400, code: 'malformed_json' })
  })

for (const path of paths)
  test(`400 or 422 without a payment when the currency is invalid or unsupported: POST ${path}`, async () => {
    for (const currency of ['eur', 'EU', '', 'EURO12', '€', 'E R'])
      assertProblem(await client.post(path, requestText(path, '10.00', currency)), {
        status: 400,
        pointer: '/currency',
      })
    for (const currency of ['CHF', 'JPY', 'BHD'])
      assertProblem(await client.post(path, requestText(path, '10.00', currency)), {
        status: 422,
        code: ['currency_not_supported', 'beneficiary_currency_mismatch'],
      })
  })

const allowed: readonly { readonly literal: string; readonly expected: bigint }[] = [
  { literal: '0.01', expected: 1n },
  { literal: '0.1', expected: 10n },
  { literal: '0.30', expected: 30n },
  { literal: '1e2', expected: 10_000n },
  { literal: '1E+2', expected: 10_000n },
  { literal: '12.5e1', expected: 12_500n },
  { literal: '1e-2', expected: 1n },
  { literal: '7', expected: 700n },
  { literal: '4.35', expected: 435n },
  { literal: '1.10', expected: 110n },
  { literal: '8.29', expected: 829n },
  { literal: '1234.56', expected: 123_456n },
]

for (const { literal, expected } of allowed)
  test(`200 to a payout of ${literal}, with the same exact amount in every response`, async () => {
    const { available } = await balanceOf(client)
    const answer = await client.post('/v1/payouts/fiat', payoutText(beneficiary, literal))
    const reference = textAt(success(answer), 'reference')
    assert.equal(cents(answer.literals.amount), expected, `${literal} came back as ${String(answer.literals.amount)}`)
    await transactionOf(client, reference)
    const read = await client.get(`/v1/transactions/${reference}`)
    assert.equal(cents(read.literals.amount), expected)
    const final = await finalTransaction(client, reference)
    const lost = final.status === 'Completed' ? expected : 0n
    await until('the balance shows it', async () => (await balanceOf(client)).available === available - lost)
  })

test('200 to a deposit of 10000000.00, credited exactly, and to a payout of 9999999.99', async () => {
  for (const literal of ['10000000.00', '10000000', '1e7']) {
    const { posted } = await balanceOf(client)
    const answer = await client.post('/v1/simulations/deposits', requestText('/v1/simulations/deposits', literal))
    assert.equal(cents(answer.literals.amount), 1_000_000_000n)
    const final = await finalTransaction(client, textAt(success(answer), 'reference'))
    assert.equal(final.status, 'Completed')
    assert.equal((await balanceOf(client)).posted, posted + 1_000_000_000n)
  }
  for (const literal of ['9999999.99', '10000000.00']) {
    const answer = await client.post(
      '/v1/payouts/fiat',
      payoutText(beneficiary, literal, { idempotencyKey: randomUUID() }),
    )
    success(answer)
    assert.equal(cents(answer.literals.amount), cents(literal))
  }
})

test('200 to deposits of 0.1 and 0.2, which credit exactly 0.30', async () => {
  const before = await balanceOf(client, 'GBP')
  for (const literal of ['0.1', '0.2']) {
    const path = '/v1/simulations/deposits'
    const answer = await client.post(path, requestText(path, literal, 'GBP'))
    await finalTransaction(client, textAt(success(answer), 'reference'))
  }
  assert.equal((await balanceOf(client, 'GBP')).posted - before.posted, 30n)
})

test('200 with exactly 12.34, or 400 with /amount, when an exponent shifts the digits', async () => {
  for (const literal of ['1234e-2', '0.01234e3']) {
    const answer = await client.post('/v1/payouts/fiat', payoutText(beneficiary, literal))
    if (answer.status === 200) assert.equal(cents(answer.literals.amount), 1234n, answer.asked)
    else assertProblem(answer, { status: 400, code: 'validation_failed', pointer: '/amount' })
  }
})
