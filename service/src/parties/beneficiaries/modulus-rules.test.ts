/**
 * The modulus check by examples of its specification, and by weights of our own that make each exception visible. The 34 test cases of the
 * specification pass with the tables of its versions 3.80 to 7.70, which are not ours to keep here.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ModulusFileProblem, readSubstitutes, readWeights, type WeightRow } from './modulus-file.ts'
import { modulusOf } from './modulus-rules.ts'

type Weights = Readonly<
  Partial<Record<'u' | 'v' | 'w' | 'x' | 'y' | 'z' | 'a' | 'b' | 'c' | 'd' | 'e' | 'f' | 'g' | 'h', number>>
>
const row = (
  method: WeightRow['method'],
  weights: Weights | readonly number[],
  exception: number | null = null,
): WeightRow => ({
  method,
  weights: Array.isArray(weights)
    ? (weights as readonly number[])
    : Array.from('uvwxyzabcdefgh', (name) => (weights as Weights)[name as 'u'] ?? 0),
  exception,
})
const verdict = (sortCode: string, accountNumber: string, ...rows: readonly WeightRow[]) =>
  modulusOf({ sortCode, accountNumber }, rows, [{ original: '938600', substitute: '938617' }])
/** Digits of accounts are named `a` to `h`. */
const isValid = (accountNumber: string, ...rows: readonly WeightRow[]) =>
  verdict('111111', accountNumber, ...rows) === 'valid'

test('the examples of the specification pass, and each other last digit fails', () => {
  const doubled = row('DBLAL', [2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1])
  const standard = row('MOD11', [0, 0, 0, 0, 0, 0, 7, 5, 8, 3, 4, 6, 2, 1])
  for (const [sortCode, number, rule] of [
    ['499273', '12345678', doubled],
    ['000000', '58177632', standard],
  ] as const)
    for (let digit = 0; digit < 10; digit += 1) {
      const changed = `${number.slice(0, 7)}${digit}`
      assert.equal(verdict(sortCode, changed, rule), changed === number ? 'valid' : 'invalid', changed)
    }
  assert.equal(verdict('499273', '12345678'), 'unchecked')
})

test('both checks of a sort code have to pass, if none is an exception', () => {
  const [first, second] = [row('MOD10', { a: 1 }), row('MOD10', { b: 1 })]
  assert.deepEqual(
    ['00000000', '10000000', '01000000'].map((number) => isValid(number, first, second)),
    [true, false, false],
  )
})

test('exception 1 adds 27, exceptions 3 and 6 leave accounts out', () => {
  assert.deepEqual(
    ['30000000', '00000000'].map((number) => isValid(number, row('DBLAL', { a: 1 }, 1))),
    [true, false],
  )
  const third = [row('MOD10', { a: 1 }), row('DBLAL', { b: 1 }, 3)]
  assert.deepEqual(
    ['01600000', '01900000', '01500000', '11600000'].map((number) => isValid(number, ...third)),
    [true, true, false, false],
  )
  const sixth = row('MOD10', { a: 1 }, 6)
  assert.deepEqual(
    ['40000011', '80000000', '40000012', '90000011'].map((number) => isValid(number, sixth)),
    [true, true, false, false],
  )
})

test('exceptions 2 and 9: other weights by a and g, and the sort code of euro accounts', () => {
  const weights = [0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]
  const second = row('MOD11', weights, 2)
  // a = 0: the weights of the table. a = 1, g = 1: 6 + 3 + h, and the sort code 111111 adds 1 + 2 + 5 + 3.
  assert.ok(isValid('00000000', second))
  const found = (prefix: string) =>
    Array.from({ length: 10 }, (_, h) => h).filter((h) => isValid(`${prefix}${h}`, second))
  assert.deepEqual(found('1000001'), [(22 - 11 - 9) % 11])
  // a = 1, g = 9: only c to h count: 27 + h.
  assert.deepEqual(found('1000009'), [6])
  const ninth = row('MOD11', { u: 1, v: 1, w: 1, x: 1, y: 1, z: 1, h: 1 }, 9)
  // 3 + 0 + 9 + 6 + 3 + 4 = 25, so that h is 8.
  assert.deepEqual(
    ['10000008', '10000007'].map((number) => isValid(number, second, ninth)),
    [true, false],
  )
})

test('exception 4 compares the remainder with g and h, exception 5 with one digit and a substitute', () => {
  const fourth = row('MOD11', { a: 5, b: 5 }, 4)
  assert.deepEqual(
    ['10000005', '20000010', '10000004'].map((number) => isValid(number, fourth)),
    [true, true, false],
  )
  const fifth = row('MOD11', { a: 1 }, 5)
  assert.deepEqual(
    ['40000070', '00000000', '40000060'].map((number) => isValid(number, fifth)),
    [true, true, false],
  )
  for (let g = 0; g < 10; g += 1) assert.equal(isValid(`100000${g}0`, fifth), false, 'a remainder of 1 is never right')
  const doubled = row('DBLAL', { a: 1 }, 5)
  assert.deepEqual(
    ['40000006', '00000000', '10000009', '40000007'].map((number) => isValid(number, doubled)),
    [true, true, true, false],
  )
  const bySortCode = row('MOD11', { z: 1 }, 5)
  assert.equal(verdict('938600', '00000040', bySortCode), 'valid', '11 - 7 of the substitute')
  assert.equal(verdict('938607', '00000040', bySortCode), 'valid')
  assert.equal(verdict('938608', '00000040', bySortCode), 'invalid')
})

test('exceptions 7, 8 and 10 change weights or the sort code', () => {
  const all = { u: 1, v: 1, w: 1, x: 1, y: 1, z: 1, a: 1, b: 1, h: 1 }
  assert.deepEqual(
    ['00000090', '00000080'].map((number) => isValid(number, row('MOD10', all, 7))),
    [true, false],
  )
  // 0 + 9 + 0 + 1 + 2 + 6 = 18.
  assert.deepEqual(
    ['00000002', '00000004'].map((number) => isValid(number, row('MOD10', all, 8))),
    [true, false],
  )
  const [tenth, eleventh] = [row('MOD10', all, 10), row('MOD10', { h: 1 }, 11)]
  assert.deepEqual(
    ['09000090', '99000090', '08000090', '09000080'].map((number) => isValid(number, tenth)),
    [true, true, false, false],
  )
  assert.deepEqual(
    ['08000080', '08000081'].map((number) => isValid(number, tenth, eleventh)),
    [true, false],
  )
})

test('of exceptions 12 and 13 one check is enough, and exception 14 shifts the account', () => {
  const [twelfth, thirteenth] = [row('MOD11', { a: 1 }, 12), row('MOD10', { b: 1 }, 13)]
  assert.deepEqual(
    ['01000000', '10000000', '11000000'].map((number) => isValid(number, twelfth, thirteenth)),
    [true, true, false],
  )
  const coutts = row('MOD11', [0, 0, 0, 0, 0, 0, 8, 7, 6, 5, 4, 3, 2, 1], 14)
  assert.deepEqual(
    ['98093517', '00000190', '00000195'].map((number) => isValid(number, coutts)),
    [true, true, false],
  )
})

test('the files are read as they are published, whole or not at all', () => {
  const line = '010004 016715 MOD11    0    0    0    0    0    0    8    7    6    5    4    3    2    1'
  const [first, second] = readWeights(
    `${line}\r\n070116 070116 MOD11    0    0    7    6    5    8    9    4    5    6    7    8    9   -1  12\r\n\n`,
  )
  assert.deepEqual([first?.exception, second?.exception, second?.weights.at(-1)], [null, 12, -1])
  assert.deepEqual([first?.line, second?.line], [1, 2])
  assert.deepEqual(
    readSubstitutes('938173 938017\n938289 938068\n').map(({ substitute }) => substitute),
    ['938017', '938068'],
  )
  for (const [text, at] of [
    ['', 1],
    [`${line}\n010004 MOD11 1`, 2],
    [line.replace('MOD11', 'MOD97'), 1],
    [line.replace('010004', '020004'), 1],
    [`${line} 15`, 1],
    [line.slice(0, -5), 1],
  ] as const)
    assert.throws(
      () => readWeights(text),
      (error) => error instanceof ModulusFileProblem && error.line === at,
      text,
    )
  for (const text of ['938173', '938173 938017 1', '938173 938017\n938173 938018'])
    assert.throws(() => readSubstitutes(text), ModulusFileProblem)
})
