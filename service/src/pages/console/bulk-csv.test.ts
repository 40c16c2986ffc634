import assert from 'node:assert/strict'
import { test } from 'node:test'
import { linesMax, readBulkFile, readParts, shownProblemsMax, sumsOf, tooMany } from './bulk-csv.ts'

const payee = '019aa8c4-6e4f-7a12-8d3e-2b1c5f7a9e10'
const head = 'beneficiaryId,amount,currency,reference'
const fileOf = async (...lines: readonly string[]) => await readBulkFile([head, ...lines].join('\n'))

test('reads quotes, semicolons, line ends, a byte order mark and columns in any order', async () => {
  const { lines, problemCount } = await readBulkFile(
    `\uFEFFReference;Amount;Currency;BeneficiaryId\r\n"Rent; ""May""\nlate";1250,5;EUR;${payee.toUpperCase()}\r\n\r\n;7;USD;${payee}`,
  )
  assert.equal(problemCount, 0)
  assert.deepEqual(lines, [
    { beneficiaryId: payee, amount: '1250.5', currency: 'EUR', reference: 'Rent; "May"\nlate' },
    { beneficiaryId: payee, amount: '7', currency: 'USD', reference: '' },
  ])
})

test('names the line and the column of each problem', async () => {
  const { problems, problemCount } = await fileOf(
    `unknown,0,eur,${'x'.repeat(141)}`,
    `${payee},"1,250.00",EUR,ok`,
    `${payee},5,EUR`,
    `"two\nlines",5,EUR,`,
    `${payee},5,EUR,"open`,
  )
  assert.deepEqual(
    problems.map(({ line, code }) => `${line} ${code}`),
    ['2 payee', '2 amount', '2 currency', '2 reference', '3 amount', '4 cells', '5 payee', '7 quote'],
  )
  assert.equal(problemCount, problems.length)
})

test('a file without the columns, and one without text, has one problem', async () => {
  for (const text of ['', 'name,amount\nAda,5', '\n\n'])
    assert.deepEqual((await readBulkFile(text)).problems, [{ line: 1, code: 'header' }], JSON.stringify(text))
})

test('of 10,000 lines with problems the first hundred are kept, and all are counted', async () => {
  const file = await fileOf(...Array.from({ length: 10_000 }, () => 'unknown,nothing,EUR,'))
  assert.equal(file.problems.length, shownProblemsMax)
  assert.equal(file.problemCount, 20_000)
  assert.deepEqual([tooMany(file), file.isCut], [true, false])
})

test('a file of four megabytes of short lines, or of one long line, is not read to its end', async () => {
  for (const line of ['', ',,,', '"",'.repeat(4), 'x']) {
    const file = await fileOf(...Array.from({ length: 50_000 }, () => line))
    assert.deepEqual([file.isCut, tooMany(file)], [true, true], line)
    assert.ok(file.lines.length <= linesMax && file.problemCount <= 4 * linesMax)
  }
  const { problems, problemCount } = await fileOf(','.repeat(4_000_000), `${payee},5,EUR`)
  assert.deepEqual([problemCount, problems.map(({ line }) => line)], [2, [2, 3]])
})

test('other work runs while a file is read', async () => {
  let turns = 0
  const timer = setInterval(() => (turns += 1), 0)
  await fileOf(...Array.from({ length: 10_000 }, () => `${payee},5,EUR,ok`))
  clearInterval(timer)
  assert.ok(turns > 0)
})

test('sums are exact', () => {
  const line = (amount: string, currency = 'EUR') => ({ beneficiaryId: payee, amount, currency, reference: '' })
  assert.deepEqual(sumsOf([line('999999999999.99'), line('0.1'), line('5', 'USD'), line('0.02')]), [
    { currency: 'EUR', amount: '1000000000000.11' },
    { currency: 'USD', amount: '5.00' },
  ])
})

test('reads the parts of a form with a file', async () => {
  const body = [
    '--abc',
    'Content-Disposition: form-data; name="mode"',
    '',
    'BestEffort',
    '--abc',
    'Content-Disposition: form-data; name="file"; filename="a\u00e4.csv"',
    'Content-Type: text/csv',
    '',
    'Zeile ä\r\n--ab\r\n',
    '--abc--',
    '',
  ].join('\r\n')
  const parts = await readParts(Buffer.from(body))
  assert.deepEqual(
    [...parts],
    [
      ['mode', 'BestEffort'],
      ['file', 'Zeile ä\r\n--ab\r\n'],
    ],
  )
  for (const text of ['', '--', '--abc', 'a=b', '--abc\r\n--abc\r\n--abc--'])
    assert.equal((await readParts(Buffer.from(text))).size, 0, text)
})

test('a form of thousands of parts is none, and so is one with a NUL in a field', async () => {
  const part = (name: string, text: string) =>
    `--abc\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${text}\r\n`
  const read = (...parts: readonly string[]) => readParts(Buffer.from(`${parts.join('')}--abc--\r\n`))
  const many = (count: number) => Array.from({ length: count }, (_none, at) => part(`n${at}`, ''))
  assert.equal((await read(...many(32))).size, 32)
  assert.equal((await read(...many(33))).size, 0)
  assert.equal((await read(...many(80_000))).size, 0)
  assert.equal((await read(part('mode', 'a'), part('idempotencyKey', 'b'))).size, 2)
  assert.equal((await read(part('mode', 'a'), part('idempotencyKey', 'b\0'))).size, 0)
})
