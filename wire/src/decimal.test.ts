import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { decimalText, isDecimal, isRawNumber, parseJsonExactly, rawNumber } from './decimal.ts'

/** Any JSON number literal. */
const literal = fc.stringMatching(/^-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,30})?([eE][+-]?[0-9]{1,3})?$/)

test('every number literal round-trips unchanged', () => {
  fc.assert(
    fc.property(literal, (text) => {
      const parsed = parseJsonExactly(text)
      assert.ok(isDecimal(parsed))
      assert.equal(decimalText(parsed), text)
      assert.equal(JSON.stringify({ amount: parsed }), `{"amount":${text}}`)
    }),
  )
})

test('a document without white space round-trips unchanged, including its numbers', () => {
  fc.assert(
    fc.property(fc.json(), literal, (json, number) => {
      const text = `{"a":[${JSON.stringify(JSON.parse(json))},${number}]}`
      assert.equal(JSON.stringify(parseJsonExactly(text)), text)
    }),
  )
})

test('safe integers stay numbers; literals that a double could change are kept as text', () => {
  for (const text of ['0', '-7', '9007199254740991']) assert.equal(parseJsonExactly(text), Number(text))
  for (const text of ['0.1', '1.0', '1e2', '-0', '9007199254740992', '1e400'])
    assert.ok(isRawNumber(parseJsonExactly(text)), text)
})

test('rawNumber refuses text that is not a number literal', () => {
  for (const text of ['', ' 1', '01', '1.', '.5', '+1', 'NaN', 'Infinity', '0x10', '1,5', '{}', '[1]'])
    assert.throws(() => rawNumber(text), SyntaxError, text)
})

test('an object with a rawJSON field is not a raw number', () => {
  const forged = parseJsonExactly('{"rawJSON":"1"}')
  assert.equal(isRawNumber(forged), false)
  assert.equal(isDecimal(forged), false)
  for (const value of ['1', null, true, [], 1n]) assert.equal(isDecimal(value), false)
})
