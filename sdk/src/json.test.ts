import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { parseExactly, stringifyExactly } from './json.ts'

test('keeps amounts as text', () => {
  const text =
    '{"amount":9007199254740993.10,"userAmount":0.30,"n":7,"page":{"data":[{"amount":1.00},{"amount":-0.05}]}}'
  assert.deepEqual(parseExactly(text, ['amount', 'userAmount', 'page.data.*.amount']), {
    amount: '9007199254740993.10',
    userAmount: '0.30',
    n: 7,
    page: { data: [{ amount: '1.00' }, { amount: '-0.05' }] },
  })
})

test('keeps only the given paths as text, not an amount in custom fields', () => {
  const text = '{"amount":12.50,"customFields":{"amount":12.50,"quoted":"\\"amount\\":1"}}'
  assert.deepEqual(parseExactly(text, ['amount']), {
    amount: '12.50',
    customFields: { amount: 12.5, quoted: '"amount":1' },
  })
})

test('returns null and strings at an amount path unchanged', () => {
  assert.deepEqual(parseExactly('{"amount":null}', ['amount']), { amount: null })
  assert.deepEqual(parseExactly('{"amount":"1.0"}', ['amount']), { amount: '1.0' })
})

test('a field named __proto__ does not change the prototype', () => {
  const parsed = parseExactly('{"amount":1,"__proto__":{"admin":true}}', ['amount']) as object
  assert.equal(Object.getPrototypeOf(parsed), Object.prototype)
  assert.deepEqual(Object.keys(parsed), ['amount', '__proto__'])
})

test('parses everything except amounts as JSON.parse does', () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 4 }), (text) => {
      assert.deepEqual(parseExactly(text, ['no.such.path']), JSON.parse(text))
    }),
    { numRuns: 500 },
  )
  for (const text of ['', '{', '{"a":01}', '[1,]', '{"a" 1}'])
    assert.throws(() => parseExactly(text, ['a']), SyntaxError)
})

test('writes decimal strings as number literals and everything else as JSON.stringify does', () => {
  assert.equal(
    stringifyExactly({ amount: '10000000.10', note: 'say "hi"', gone: undefined, list: [{ a: null }] }, ['amount']),
    '{"amount":10000000.10,"note":"say \\"hi\\"","list":[{"a":null}]}',
  )
  assert.equal(stringifyExactly({ amount: 12.5 }, ['amount']), '{"amount":12.5}')
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
      assert.equal(stringifyExactly(value, ['no.such.path']), JSON.stringify(value))
    }),
    { numRuns: 500 },
  )
})

test('refuses an amount that is not a decimal, so that it cannot inject JSON', () => {
  for (const amount of [
    '',
    '1,5',
    '1e3',
    ' 1',
    '01',
    '1}',
    '0x1',
    'NaN',
    Number.NaN,
    Number.POSITIVE_INFINITY,
    null,
    true,
  ])
    assert.throws(() => stringifyExactly({ amount }, ['amount']), TypeError, String(amount))
})
