/** The lists of refusals in comments agree with the code. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { problems } from '@partner-payments/wire'
import { checkListed, checkMissing, handedOn, readLists, safeCalls } from './refuses-rules.ts'
import { type Finding, readSources, scan } from './source.ts'

const codes = Object.keys(problems)
const none: readonly Finding[] = []

suite('lists of refusals', () => {
  const index = readLists(readSources(), codes)

  test('the rule reads most of the lists', () => assert.ok(index.lists.length > 300, String(index.lists.length)))
  test('the code raises every listed code', () => assert.deepEqual(checkListed(index), none))
  test('every code that a verb throws is listed', () => assert.deepEqual(checkMissing(index), none))
  test('each exception is needed', () => {
    const listed = checkListed(index, []).join('\n')
    for (const { of, code } of handedOn) assert.ok(listed.includes(`${of.split(' ')[1]} lists ${code}`), of)
    for (const each of safeCalls)
      assert.notDeepEqual(
        checkMissing(
          index,
          safeCalls.filter((other) => other !== each),
        ),
        none,
        each.of,
      )
  })
})

suite('the rules of refusals report violations', () => {
  const own = 'service/src/fx/service.ts'
  const read = (texts: Readonly<Record<string, string>>) =>
    readLists(
      Object.entries(texts).map(([path, text]) => scan({ path, text })),
      codes,
    )
  const verb = (list: string, body: string, more = '') =>
    `export type Fx = {\n  /** Reads. ${list} */\n  readonly get: (id: string) => void\n}\n${more}` +
    `export function createFx() {\n  return {\n    get: (id) => {\n      ${body}\n    },\n  }\n}\n`
  const listed = (text: string, others = {}) => checkListed(read({ [own]: text, ...others })).length
  const missing = (text: string, others = {}) => checkMissing(read({ [own]: text, ...others }))
  const throwing = "throw new Refusal('not_found')"

  test('a listed code that nothing raises', () => {
    assert.equal(listed(verb('Refuses: not_found.', throwing)), 0)
    assert.equal(listed(verb('Refuses: not_found, fx_quote_expired.', throwing)), 1)
    assert.equal(listed(verb('Refuses (404): fx_quote_expired.', throwing)), 1)
  })

  test('a word that is not a code', () => {
    assert.equal(listed(verb('Refuses: not_found, quote_exhausted.', throwing)), 1)
    assert.equal(listed(verb('Refuses: not_found (see `quote_exhausted`).', throwing)), 0)
  })

  test('a code that another file raises', () => {
    const rules = { 'service/src/fx/rules.ts': `export function judge() {\n  ${throwing}\n}\n` }
    const calling = verb('Refuses: not_found.', 'judge()', "import { judge } from './rules.ts'\n")
    assert.equal(listed(calling, rules), 0)
    assert.equal(listed(calling, { 'service/src/fx/rules.ts': 'export function judge() {\n  return 1\n}\n' }), 1)
  })

  test('a code that the list does not have', () => {
    const list = 'Refuses: fx_quote_expired.'
    assert.equal(missing(verb(list, "throw new Refusal('fx_quote_expired')")).length, 0)
    for (const body of [
      throwing,
      "throw notFound('quote')",
      "throw refuseField({ pointer: '', code: 'x', message: '' })",
    ])
      assert.equal(missing(verb(list, body)).length, 1, body)
    const gone = "const gone = () => new Refusal('not_found')\n"
    assert.equal(missing(verb(list, 'throw gone()', gone)).length, 1, 'made by a function')
    assert.equal(missing(verb(list, 'const refusal = gone()', gone)).length, 0, 'made and not thrown')
    assert.equal(missing(verb('Refuses: fx_quote_expired, and as `list`.', throwing)).length, 0, 'points to another')
    assert.equal(missing(verb(list, `try {\n        ${throwing}\n      } catch {}`)).length, 0, 'caught')
  })

  test('a code of a function of the folder', () => {
    const rules = { 'service/src/fx/rules.ts': `export function judge() {\n  ${throwing}\n}\n` }
    const list = 'Refuses: fx_quote_expired.'
    assert.equal(missing(verb(list, 'judge()', "import { judge } from './rules.ts'\n"), rules).length, 1)
    assert.equal(missing(verb(list, 'rules.judge()', "import * as rules from './rules.ts'\n"), rules).length, 1)
    const other = { 'service/src/rates/index.ts': `export function judge() {\n  ${throwing}\n}\n` }
    assert.equal(missing(verb(list, 'judge()', "import { judge } from '../rates/index.ts'\n"), other).length, 0)
  })
})
