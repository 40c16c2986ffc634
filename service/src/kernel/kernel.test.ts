/** The kernel: ids, sealed values, logs, breakers, CSV. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Writable } from 'node:stream'
import fc from 'fast-check'
import {
  deriveTimeId,
  idAfter,
  newId,
  randomBytes,
  randomFraction,
  randomText,
  randomToken,
  timeOrderedText,
} from './ids.ts'
import { AssertionFailure, createSealer, deriveKey } from './seal.ts'
import { createLog } from './log.ts'
import { createBreaker } from './breaker.ts'
import { csvCell, csvAmountCell } from './text-formats.ts'
import { loadOnce } from './once.ts'
import { isEmptyName, isSamePerson, normalizeName } from './persons.ts'

const v7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

test('ids sort in creation order, also many within a millisecond', () => {
  const ids = Array.from({ length: 20_000 }, newId)
  for (const id of ids) assert.match(id, v7)
  assert.deepEqual(ids, ids.toSorted())
  assert.equal(new Set(ids).size, ids.length)
})

test('an id begins with its creation time', () => {
  const before = Date.now()
  const ms = Number.parseInt(newId().replace('-', '').slice(0, 12), 16)
  // When the counter of a millisecond is used up, the next milliseconds are used.
  assert.ok(ms >= before && ms < before + 1000, `${ms - before}`)
})

test('the ids that follow an id are its neighbours and sort before the next created id', () => {
  const [first, second] = [newId(), newId()]
  const ids = Array.from({ length: 100 }, (_, steps) => idAfter(first, steps))
  assert.equal(ids[0], first)
  assert.deepEqual(ids, ids.toSorted())
  assert.equal(new Set(ids).size, ids.length)
  assert.ok(idAfter(first, 99) < second)
  assert.equal(idAfter('01980000-0000-7000-8000-ffffffffffff', 1), '01980000-0000-7000-8001-000000000000')
})

test('equal inputs give the same derived id, and different inputs different ids', () => {
  const timeId = newId()
  fc.assert(
    fc.property(fc.array(fc.uuid(), { minLength: 1 }), fc.array(fc.uuid(), { minLength: 1 }), (names, others) => {
      const id = deriveTimeId(timeId, ...names)
      assert.match(id, v7)
      assert.equal(id.slice(0, 13), timeId.slice(0, 13), 'the time is that of the given id')
      assert.equal(id === deriveTimeId(timeId, ...others), names.join() === others.join())
    }),
  )
  assert.notEqual(deriveTimeId(timeId, 'a', 'bc'), deriveTimeId(timeId, 'ab', 'c'))
})

test('random text uses the reduced alphabet, tokens are 256 bits and URL-safe, and fractions lie in [0, 1)', () => {
  assert.match(randomText(1000), /^[0-9a-hjkmnp-tv-z]{1000}$/)
  assert.match(randomToken(), /^[A-Za-z0-9_-]{43}$/)
  assert.notEqual(randomToken(), randomToken())
  for (let i = 0; i < 1000; i += 1) {
    const fraction = randomFraction()
    assert.ok(fraction >= 0 && fraction < 1)
  }
})

test('a timed text sorts by its time, and two of the same millisecond differ', () => {
  const texts = Array.from({ length: 2000 }, () => timeOrderedText(12))
  assert.equal(new Set(texts).size, texts.length)
  for (const text of texts) assert.match(text, /^[0-9a-hjkmnp-tv-z]{22}$/)
  const times = texts.map((text) => text.slice(0, 10))
  assert.deepEqual(times, times.toSorted())
})

const [older, newer] = [randomBytes(32), randomBytes(32)]
const sealer = createSealer([older])
const context = ['customers.kyc', 'partner', 'row']

test('a sealed text opens for its context, and two sealed values of one text differ', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.array(fc.uuid()), (plain, names) => {
      const sealed = sealer.seal(plain, names)
      assert.equal(sealer.open(sealed, names), plain)
      assert.notDeepEqual(sealer.seal(plain, names), sealed)
    }),
  )
})

test('a sealed value does not open for another row, column or partner', () => {
  const sealed = sealer.seal('secret', context)
  for (const other of [['customers.kyc', 'partner', 'other row'], ['customers.kyc', 'partner'], [...context, ''], []])
    assert.throws(() => sealer.open(sealed, other), AssertionFailure, other.join())
})

test('each sealed value has a stable mark of its own, also if the texts are the same', () => {
  const seals = Array.from({ length: 100 }, () => sealer.seal('secret', context))
  assert.equal(new Set(seals.map(sealer.mark)).size, seals.length)
  for (const sealed of seals) assert.equal(sealer.mark(Buffer.from(sealed)), sealer.mark(sealed))
})

test('a sealed value that was changed or truncated does not open', () => {
  const sealed = sealer.seal('secret', context)
  for (let at = 0; at < sealed.length; at += 1) {
    const changed = Buffer.from(sealed)
    changed.writeUInt8(changed.readUInt8(at) ^ 0x10, at)
    assert.throws(() => sealer.open(changed, context), AssertionFailure, `byte ${at}`)
    assert.throws(() => sealer.open(sealed.subarray(0, at), context), AssertionFailure, `cut at ${at}`)
  }
})

test('after a rotation the new key seals and both keys open, and values of a removed key do not open', () => {
  const rotated = createSealer([newer, older])
  const [before, since] = [sealer.seal('old', context), rotated.seal('new', context)]
  assert.deepEqual([rotated.open(before, context), rotated.open(since, context)], ['old', 'new'])
  assert.throws(() => sealer.open(since, context), /not configured/)
  assert.throws(() => createSealer([newer]).open(before, context), /not configured/)
})

test('a sealer requires at least one master key, and 32 bytes in each', () => {
  for (const keys of [[], [randomBytes(31)], [older, randomBytes(16)]])
    assert.throws(() => createSealer(keys), AssertionFailure)
})

test('the derived keys of two purposes differ from each other and from the master key', () => {
  const keys = [older, deriveKey(older, 'cursors'), deriveKey(older, 'internal'), deriveKey(newer, 'cursors')]
  assert.equal(new Set(keys.map((key) => key.toString('hex'))).size, 4)
  assert.deepEqual(deriveKey(older, 'cursors'), keys[1])
})

function logged(fields: object): string {
  let text = ''
  const destination = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      text += chunk.toString()
      done()
    },
  })
  createLog('debug', destination).error(fields, 'it failed')
  return text
}

test('a database error is logged with code and stack, without the value and the row that it quotes', () => {
  const error = Object.assign(new Error('invalid input syntax for type uuid: "GB33BUKB20201555555555"'), {
    code: '22P02',
    detail: 'Failing row contains (GB33BUKB20201555555555).',
    where: 'unnamed portal parameter $1 = GB33BUKB20201555555555',
  })
  for (const err of [error, new Error('outer', { cause: error })]) {
    const text = logged({ err })
    assert.doesNotMatch(text, /GB33/)
    assert.match(text, /"code":"22P02"/)
    assert.match(text, /kernel\.test\.ts/)
  }
})

test('secrets are redacted by name down to the second level', () => {
  const text = logged({ apiSecret: 'hidden-1', a: { kyc: { taxId: 'hidden-2' } }, b: { c: { iban: 'hidden-3' } } })
  assert.doesNotMatch(text, /hidden/)
  assert.match(text, /\[redacted\]/)
})

test('an outage, and an error that it caused, are logged without a stack', () => {
  const outage = Object.assign(new Error('the database cannot be reached'), { name: 'Unreachable' })
  for (const err of [outage, new Error('deposits not expired: 1', { cause: outage })]) {
    const text = logged({ err })
    assert.doesNotMatch(text, /"stack"/)
    assert.match(text, /the database cannot be reached/)
  }
})

function createTimedBreaker() {
  let now = 0
  const breaker = createBreaker(() => now)
  const fail = (times: number) => {
    for (let at = 0; at < times; at += 1) breaker.failed()
  }
  return { ...breaker, fail, wait: (ms: number) => void (now += ms) }
}

test('five consecutive failed calls open the breaker, and an answered call restarts the count', () => {
  const { state, fail, answered } = createTimedBreaker()
  fail(4)
  assert.equal(state(), 'closed')
  answered()
  fail(4)
  assert.equal(state(), 'closed')
  fail(1)
  assert.equal(state(), 'open')
})

test('after a pause the breaker allows one call, and the pause doubles up to 30 seconds while calls fail', () => {
  const { state, fail, wait } = createTimedBreaker()
  fail(5)
  for (const seconds of [1, 2, 4, 8, 16, 30, 30]) {
    wait(seconds * 1000 - 1)
    assert.equal(state(), 'open', `${seconds} s`)
    wait(1)
    assert.equal(state(), 'half-open', `${seconds} s`)
    fail(1)
    assert.equal(state(), 'open')
  }
})

test('calls in progress when the breaker opens do not lengthen its pause', () => {
  const { state, fail, wait } = createTimedBreaker()
  fail(20)
  wait(1000)
  assert.equal(state(), 'half-open')
})

test('an answered call closes the breaker, and the next outage begins with the shortest pause', () => {
  const { state, fail, wait, answered } = createTimedBreaker()
  fail(5)
  wait(1000)
  fail(1)
  wait(2000)
  answered()
  assert.equal(state(), 'closed')
  fail(5)
  wait(1000)
  assert.equal(state(), 'half-open')
})

/** Decodes a cell as a parser of RFC 4180 does. */
const read = (cell: string) => (cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell)
const formulaStart = /^[\s"']*[=+\-@\uff1d\uff0b\uff0d\uff20]/

test('no cell is a formula, with any separator, and a text is changed only by added apostrophes', () => {
  const part = fc.oneof(
    fc.constantFrom('', '=', '+', '-', '@', '\t', '\r', '\n', ';', '"', "'", ' =', '\uff1d'),
    fc.string(),
  )
  fc.assert(
    fc.property(fc.array(part, { maxLength: 6 }), (parts) => {
      const text = parts.join('')
      const shown = read(csvCell(text))
      assert.ok(!/^[\t\r\n]/.test(shown), JSON.stringify(shown))
      for (const cell of shown.split(/[;\t\r\n]/))
        assert.ok(!/^[=+\-@\uff1d\uff0b\uff0d\uff20]/.test(cell), JSON.stringify(shown))
      assert.equal(shown.replaceAll("'", ''), text.replaceAll("'", ''))
      if (!formulaStart.test(text) && !/[;\t\r\n]/.test(text)) assert.equal(shown, text)
    }),
  )
})

test('a cell is quoted if it contains a comma, a semicolon, a tab, a quote or a line end', () => {
  for (const [text, cell] of [
    ['Rent', 'Rent'],
    ['Rent, May', '"Rent, May"'],
    ['say "hi"', '"say ""hi"""'],
    ['a;b', '"a;b"'],
    ['a\tb', '"a\tb"'],
    ['=1+1', "'=1+1"],
    ['Invoice;=HYPERLINK("x")', '"Invoice;\'=HYPERLINK(""x"")"'],
    ['Invoice\n@x', '"Invoice\n\'@x"'],
    ['Invoice\t "-2', '"Invoice\t ""\'-2"'],
    ['a-b=c', 'a-b=c'],
  ] as const)
    assert.equal(csvCell(text), cell)
  assert.deepEqual(['-5.00', '-5.00x', '-', '+5'].map(csvAmountCell), ['-5.00', "'-5.00x", "'-", "'+5"])
})

test('concurrent calls load one value once, and the next call retries a failure', async () => {
  let calls = 0
  const read = loadOnce(async () => {
    calls += 1
    if (calls === 1) throw new Error('too many open files')
    return { calls }
  })
  const failed = await Promise.allSettled([read(), read()])
  assert.deepEqual(
    failed.map(({ status }) => status),
    ['rejected', 'rejected'],
  )
  const [one, other] = await Promise.all([read(), read()])
  assert.equal(one, other)
  assert.equal(await read(), one)
  assert.equal(calls, 2)
})

test('names that differ only in blanks, case, accents, invisible characters or look-alikes are the same person', () => {
  for (const other of [
    'Sam Staff ',
    ' sam  STAFF',
    'Sam\u00a0Staff',
    'Sam\u200bStaff',
    'Ｓａｍ Ｓｔａｆｆ',
    'Sám Stáff',
    'Ѕаm Ѕtаff',
    'SΑM STΑFF',
    'Sam\u00adStaff',
  ])
    assert.equal(isSamePerson('Sam Staff', other), true, JSON.stringify(other))
  for (const other of ['Sam Stuff', 'Pam Staff', 'Sam Staff 2', 'Сам Стафф'])
    assert.equal(isSamePerson('Sam Staff', other), false, other)
})

test('a name of blanks and invisible characters is empty, and a stored name has single blanks', () => {
  for (const blank of ['', ' ', '\t\n', '\u200b\u2060', '\u00a0']) assert.equal(isEmptyName(blank), true)
  assert.equal(normalizeName('  Sam\u00a0\u200b Staff\n'), 'Sam Staff')
})
