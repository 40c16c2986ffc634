import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readBulkFile, readParts, shownProblemsMax, sumsOf, tooMany } from './bulk-csv.ts'

const payee = '019aa8c4-6e4f-7a12-8d3e-2b1c5f7a9e10'
const head = 'beneficiaryId,amount,currency,reference'
const fileOf = (...lines: readonly string[]) => readBulkFile([head, ...lines].join('\n'))

test('reads quotes, semicolons, line ends, a byte order mark and columns in any order', () => {
  const { lines, problemCount } = readBulkFile(
    `\uFEFFReference;Amount;Currency;BeneficiaryId\r\n"Rent; ""May""\nlate";1250,5;EUR;${payee.toUpperCase()}\r\n\r\n;7;USD;${payee}`,
  )
  assert.equal(problemCount, 0)
  assert.deepEqual(lines, [
    { beneficiaryId: payee, amount: '1250.5', currency: 'EUR', reference: 'Rent; "May"\nlate' },
    { beneficiaryId: payee, amount: '7', currency: 'USD', reference: '' },
  ])
})

test('names the line and the column of each problem', () => {
  const { problems, problemCount } = fileOf(
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

test('a file without the columns, and one without text, has one problem', () => {
  for (const text of ['', 'name,amount\nAda,5', '\n\n'])
    assert.deepEqual(readBulkFile(text).problems, [{ line: 1, code: 'header' }], JSON.stringify(text))
})

test('10,000 lines with problems are read at once; the first hundred are kept, and all are counted', () => {
  const before = performance.now()
  const file = fileOf(...Array.from({ length: 10_000 }, () => 'unknown,nothing,EUR,'))
  assert.ok(performance.now() - before < 5000)
  assert.equal(file.problems.length, shownProblemsMax)
  assert.equal(file.problemCount, 20_000)
  assert.ok(tooMany(file))
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
