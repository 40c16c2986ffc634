/** Verification of payee: schemes and names. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createBreaker, createLog } from '../../kernel/index.ts'
import { type PayeeScheme, sandboxScheme, type SchemeAnswer } from './port.ts'
import { compareNames, createVerification, type NameResult } from './service.ts'

const log = createLog('silent')
const iban = 'NL91ABNA0417164300'
const ofOthers = async () => undefined
const question = (name: string) => ({ name, iban })

test('the sandbox answers by the first word of the name, with the same reference for equal requests', async () => {
  const { ask } = createVerification({ log, scheme: sandboxScheme, ownNames: ofOthers })
  const results = await Promise.all(
    ['Grace Hopper', 'CloseMatch Ada King', 'NoMatch', 'NotPossible Ada', 'Unreachable'].map((name) =>
      ask(question(name)),
    ),
  )
  assert.deepEqual(
    results.map(({ schemeReference: _reference, source: _source, ...result }) => result),
    [
      { result: 'Match' },
      { result: 'CloseMatch', matchedName: 'Ada King' },
      { result: 'NoMatch' },
      { result: 'NotPossible', reason: 'AccountUnknown' },
      { result: 'NotPossible', reason: 'SchemeUnavailable' },
    ],
  )
  const again = await ask(question('Grace Hopper'))
  assert.deepEqual(again, results[0])
  assert.equal(again.source, 'sandbox')
})

test('an answer in another format counts as a failure of the scheme', async () => {
  const whole = { result: 'CloseMatch', matchedName: 'Ada King', schemeReference: 'r' }
  const answerOf = (answer: unknown) => {
    const scheme = { ...sandboxScheme, ask: async () => answer as SchemeAnswer }
    return createVerification({ log, scheme, ownNames: ofOthers }).ask(question('Ada'))
  }
  assert.deepEqual(await answerOf({ ...whole, more: 1 }), { ...whole, source: 'sandbox' })
  for (const change of [
    ...['Ada\0', '\ud800', '', 5, null, undefined, { length: 6e7 }].map((matchedName) => ({ matchedName })),
    ...['r\0', 'r'.repeat(256), {}, undefined].map((schemeReference) => ({ schemeReference })),
    ...['Maybe', 'NotPossible', null].map((result) => ({ result })),
  ])
    assert.equal((await answerOf({ ...whole, ...change })).result, 'NotPossible', JSON.stringify(change))
  for (const answer of [undefined, null, 'Match', []]) assert.equal((await answerOf(answer)).schemeReference, null)
})

test('the service stops waiting for a slow scheme, even if the scheme ignores the signal', async () => {
  let heard: AbortSignal | undefined
  const deaf: PayeeScheme = {
    id: 'deaf',
    timeoutMs: 5,
    ask: (_question, signal) => {
      heard = signal
      return new Promise(() => undefined)
    },
  }
  const expected = { result: 'NotPossible', reason: 'SchemeTimeout', schemeReference: null }
  const asked = createVerification({ log, scheme: deaf, ownNames: ofOthers }).ask(question('Ada'))
  assert.deepEqual(await asked, { ...expected, source: 'deaf' })
  assert.equal(heard?.aborted, true)
  const scheme = { ...sandboxScheme, timeoutMs: 5 }
  const slow = createVerification({ log, scheme, ownNames: ofOthers }).ask(question('Unanswered'))
  assert.deepEqual(await slow, { ...expected, source: 'sandbox' })
})

test('after five failures the breaker answers without a call, and one successful call after the pause closes it', async () => {
  let now = 0
  let calls = 0
  let fails = true
  const scheme: PayeeScheme = {
    id: 'flaky',
    timeoutMs: 1_000,
    ask: async () => {
      calls += 1
      if (fails) throw new Error('unreachable')
      return { result: 'Match', schemeReference: 'r-1' }
    },
  }
  const { ask } = createVerification({ log, scheme, ownNames: ofOthers, breaker: createBreaker(() => now) })
  for (let sent = 0; sent < 8; sent += 1) {
    const answer = await ask(question('Ada'))
    assert.equal(answer.result === 'NotPossible' && answer.reason, 'SchemeUnavailable')
  }
  assert.equal(calls, 5)
  fails = false
  now += 60_000
  assert.equal((await ask(question('Ada'))).result, 'Match')
  assert.equal((await ask(question('Ada'))).result, 'Match')
  assert.equal(calls, 7)
})

test('the service compares the name for its own IBANs without asking the scheme', async () => {
  const scheme: PayeeScheme = { id: 'never', timeoutMs: 1, ask: () => assert.fail('the scheme was asked') }
  const answerOf = async (names: readonly string[], name: string) => {
    const { ask } = createVerification({ log, scheme, ownNames: async () => names })
    const { source, schemeReference, ...result } = await ask(question(name))
    assert.deepEqual([source, schemeReference], ['own', null])
    return result
  }
  const company = ['Analytical Engines Ltd', 'Babbage']
  assert.deepEqual(await answerOf(company, 'analytical engines limited'), { result: 'Match' })
  assert.deepEqual(await answerOf(company, 'Babbage'), { result: 'Match' })
  const close = { result: 'CloseMatch', matchedName: 'Analytical Engines Ltd' }
  assert.deepEqual(await answerOf(company, 'Analytical Enginse'), close)
  assert.deepEqual(await answerOf(company, 'Difference Machines'), { result: 'NoMatch' }, 'no name is told')
  const unknown = { result: 'NotPossible', reason: 'AccountUnknown' }
  assert.deepEqual(await answerOf([], 'Ada'), unknown)
  assert.deepEqual(await answerOf(['Ada'], '北京'), { result: 'NotPossible', reason: 'NameNotComparable' })
})

test('without a scheme the result is NotPossible', async () => {
  const answer = await createVerification({ log, scheme: null, ownNames: ofOthers }).ask(question('Ada'))
  assert.deepEqual(answer, {
    result: 'NotPossible',
    reason: 'SchemeNotConfigured',
    source: 'none',
    schemeReference: null,
  })
})

const cases: Readonly<Record<NameResult, readonly (readonly [given: string, actual: string])[]>> = {
  Match: [
    ['Ada Lovelace', 'ADA  LOVELACE'],
    ['Lovelace, Ada', 'Ada Lovelace'],
    ['Dr. Ada Lovelace', 'Ada Lovelace'],
    ['Jürgen Müller', 'Juergen Mueller'],
    ['Jürgen Müller', 'Jurgen Muller'],
    ['Søren Åkesson', 'Soeren Aakesson'],
    ['José Ñandú', 'Jose Nandu'],
    ['Jean-Pierre Blanc', 'Jean Pierre Blanc'],
    ['Jeanpierre Blanc', 'Jean-Pierre Blanc'],
    ["Sinéad O'Neill", 'Sinead ONeill'],
    ['Наталья Иванова', 'Natalia Ivanova'],
    ['Γιώργος Παππάς', 'Giorgos Pappas'],
    ['Straße 7 GmbH', 'STRASSE 7 G.m.b.H.'],
    ['Acme Limited', 'Acme Ltd.'],
    ['Acme', 'Acme B.V.'],
    ['Łukasz Wałęsa', 'Lukasz Walesa'],
  ],
  CloseMatch: [
    ['A. Lovelace', 'Ada Lovelace'],
    ['Ada Lovelace', 'Ada Augusta Lovelace'],
    ['Ada A. Lovelace', 'Ada Augusta Lovelace'],
    ['Ada Lovelase', 'Ada Lovelace'],
    ['Ada Loevlace', 'Ada Lovelace'],
    ['Acme GmbH', 'Acme AG'],
    ['Siemens', 'Simens'],
  ],
  NoMatch: [
    ['Ada Lovelace', 'Grace Hopper'],
    ['Ada', 'Ada Lovelace'],
    ['Lovelace', 'Ada Lovelace'],
    ['A. L.', 'Ada Lovelace'],
    ['Ada Hopper', 'Ada Lovelace'],
    ['Tim Lovelace', 'Kim Lovelace'],
    ['Adam Lovelase', 'Ada Lovelace'],
    ['Acme', 'Acne Studios'],
  ],
}
for (const [result, pairs] of Object.entries(cases))
  for (const [given, actual] of pairs)
    test(`the result is ${result} for the name ${given} and the account of ${actual}`, () => {
      assert.equal(compareNames(given, actual), result)
      assert.equal(compareNames(actual, given), result, 'in both directions')
    })

test('names without comparable letters are not compared', () => {
  for (const name of ['', ' . ', '北京', '---']) {
    assert.equal(compareNames(name, 'Ada Lovelace'), undefined)
    assert.equal(compareNames('Ada Lovelace', name), undefined)
  }
})

test('every name matches itself in any order of its words, and comparisons are symmetric', () => {
  // Shorter words are often legal forms or titles, such as `as` and `dr`, whose position matters.
  const word = fc.stringMatching(/^[a-zäöüßéñ]{5,12}$/)
  const name = fc.array(word, { minLength: 1, maxLength: 4 })
  fc.assert(
    fc.property(name, name, (one, other) => {
      assert.equal(compareNames(one.join(' '), one.toReversed().join(' ').toUpperCase()), 'Match')
      const [given, actual] = [one.join(' '), other.join(' ')]
      assert.equal(compareNames(given, actual), compareNames(actual, given))
    }),
  )
})
