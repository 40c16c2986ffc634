import assert from 'node:assert/strict'
import { test } from 'node:test'
import { spreadsheetText, decodeFile } from '../kit/csv.ts'
import { pain001Text } from '../../../../test/support/pain001.ts'
import { columnName, readBulkFile as readOn, templateHead, replaceInvalidLines } from './bulk-file.ts'

const bytes = (text: string) => new Uint8Array(Buffer.from(text))
const today = '2026-11-30'
const readBulkFile = (file: Uint8Array) => readOn(file, today)
const latin = (text: string) => new Uint8Array(Buffer.from(text, 'latin1'))
const iban = 'DE89370400440532013000'

async function linesOf(file: Uint8Array) {
  const read = await readBulkFile(file)
  assert.equal(read.kind, 'lines', JSON.stringify(read))
  return read.kind === 'lines' ? read.lines : []
}
async function cellsOf(file: Uint8Array) {
  const lines = await linesOf(file)
  return lines.map(({ cells: { name, iban: account, amount, currency, reference, payee } }) =>
    [payee, name, account, amount, currency, reference].join('|'),
  )
}

const german = `Name;IBAN;Betrag;Währung;Verwendungszweck\r\nMüller & Söhne;${iban};1.234,56;EUR;"Rechnung ""7"""\r\n;;;;\r\n\r\n`
const germanCells = [`|Müller & Söhne|${iban}|1.234,56|EUR|Rechnung "7"`]

test('files are read as Excel writes them in German and in English', async () => {
  const utf16 = new Uint8Array(Buffer.from(`\uFEFF${german.replaceAll(';', '\t')}`, 'utf16le'))
  for (const file of [bytes(`\uFEFF${german}`), bytes(german), latin(german), utf16, bytes(`sep=;\r\n${german}`)])
    assert.deepEqual(await cellsOf(file), germanCells)
  const english = `Name,IBAN,Amount,Currency,Reference\r\n"Lovelace, Ada",DE89 3704 0044 0532 0130 00,"1,234.56",EUR,Rent\r\n`
  assert.deepEqual(await cellsOf(bytes(english)), ['|Lovelace, Ada|DE89 3704 0044 0532 0130 00|1,234.56|EUR|Rent'])
})

test('a Windows-1252 file keeps its euro sign, and a UTF-8 file is never read as Windows-1252', async () => {
  const euro = new Uint8Array([...latin(`Name;IBAN;Betrag;Währung\r\nJörg;${iban};5,00 `), 0x80, ...latin(';EUR\r\n')])
  assert.deepEqual(await cellsOf(euro), [`|Jörg|${iban}|5,00 €|EUR|`])
  assert.deepEqual(decodeFile(bytes('Jörg €')), { text: 'Jörg €' })
})

test('cells are read without ="..." formulas and leading apostrophes, and columns in any order', async () => {
  const file = `Currency;Amount;Account number;Sort code;Name;Remarks\nGBP;5;="01234567";"=""040004""";'+Ada;x\n`
  const [line] = await linesOf(bytes(file))
  assert.deepEqual(
    [line?.cells.accountNumber, line?.cells.sortCode, line?.cells.name, line?.line],
    ['01234567', '040004', '+Ada', 2],
  )
})

test('line numbers match the file, also after line breaks and empty lines', async () => {
  const file = `payee,amount,currency\n"two\nlines",5,EUR\n\n,,\nlandlord,6,EUR`
  assert.deepEqual(
    (await linesOf(bytes(file))).map(({ line }) => line),
    [2, 6],
  )
})

test('the column "Empfänger" is a saved payee, or the payee name if the file has an account column', async () => {
  assert.deepEqual(await cellsOf(bytes(`Empfänger;Betrag;Währung\nVermieter;5;EUR`)), ['Vermieter|||5|EUR|'])
  assert.deepEqual(await cellsOf(bytes(`Empfaenger;IBAN;Betrag;Waehrung\nAda;${iban};5;EUR\nBo;;5;EUR`)), [
    `|Ada|${iban}|5|EUR|`,
    'Bo|||5|EUR|',
  ])
})

test('a file of the previous version is read, with payee ids under beneficiaryId', async () => {
  const id = '019aa8c4-6e4f-7a12-8d3e-2b1c5f7a9e10'
  assert.deepEqual(await cellsOf(bytes(`beneficiaryId,amount,currency,reference\n${id},5,EUR,x`)), [`${id}|||5|EUR|x`])
})

test('a file that cannot be read is refused with the reason', async () => {
  const kind = async (file: Uint8Array) => {
    const read = await readBulkFile(file)
    return read.kind === 'problem' ? read.code : read.kind
  }
  assert.equal(await kind(new Uint8Array([0x50, 0x4b, 0x03, 0x04, 1, 2])), 'workbook')
  assert.equal(await kind(new Uint8Array([0xd0, 0xcf, 0x11, 0xe0, 1, 2])), 'workbook')
  assert.equal(await kind(new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0, 0, 1])), 'binary')
  assert.equal(await kind(bytes('<?xml version="1.0"?>\n<Document/>')), 'unreadable')
  for (const text of ['', '\n\n', 'Name;IBAN\nAda;x', 'amount,currency\n5,EUR'])
    assert.equal(await kind(bytes(text)), 'header', JSON.stringify(text))
  for (const text of ['payee,amount,currency', 'payee,amount,currency\n,,\n\n'])
    assert.equal(await kind(bytes(text)), 'empty')
  const unquoted = await readBulkFile(bytes('payee,amount,currency\nAda,1,250.00,EUR\nBo,"5,EUR'))
  assert.deepEqual(unquoted, {
    kind: 'rows',
    problems: [
      { line: 2, code: 'cells' },
      { line: 3, code: 'quote' },
    ],
  })
})

test('a file of 1,001 payouts is refused with their number, and a very long file is not read to its end', async () => {
  const many = (lines: number) =>
    bytes(['payee,amount,currency', ...Array.from({ length: lines }, () => 'Ada,5,EUR')].join('\n'))
  assert.equal((await linesOf(many(1000))).length, 1000)
  assert.deepEqual(await readBulkFile(many(1001)), { kind: 'many', count: 1001, isMore: false })
  assert.deepEqual(await readBulkFile(many(50_000)), { kind: 'many', count: 10_000, isMore: true })
  assert.equal((await readBulkFile(bytes(`payee,amount,currency\n${','.repeat(4_000_000)}`))).kind, 'problem')
})

test('reading a large file does not block the event loop', async () => {
  let turns = 0
  const timer = setInterval(() => (turns += 1), 0)
  await readBulkFile(bytes(['payee,amount,currency', ...Array.from({ length: 10_000 }, () => 'Ada,5,EUR')].join('\n')))
  clearInterval(timer)
  assert.ok(turns > 0)
})

test('each payment of a pain.001 becomes a line, decoded by the encoding that the file declares', async () => {
  const createdAt = new Date(`${today}T09:00:00Z`)
  const british = {
    creditorAccount: { other: '55779911' },
    creditorAgent: { clearingSystem: { code: 'GBDSC' }, clearingId: '200000' },
  }
  const document = pain001Text(
    'MSG-7',
    [
      {
        minor: 1_234_50n,
        text: 'Rechnung 7',
        creditor: { name: 'Jörg Müller' },
        creditorAgent: { bic: 'COBADEFFXXX' },
      },
      { minor: 5_00n, endToEndId: 'NOTPROVIDED', money: { minor: 5_00n, currency: 'GBP' }, ...british },
    ],
    { createdAt },
  )
  for (const file of [bytes(document), latin(document.replace('UTF-8', 'ISO-8859-1'))]) {
    const read = await readBulkFile(file)
    assert.ok(read.kind === 'lines', JSON.stringify(read))
    assert.equal(read.messageId, 'MSG-7')
    assert.deepEqual(
      read.lines.map(({ line, cells, file: more }) => [line, Object.values(cells).filter((cell) => cell !== ''), more]),
      [
        [1, ['Jörg Müller', iban, '1234.50', 'EUR', 'Rechnung 7'], { endToEndId: 'E2E-1', bic: 'COBADEFFXXX' }],
        [2, ['Grace Hopper', '200000', '55779911', '5.00', 'GBP'], {}],
      ],
    )
  }
})

test('a pain.001 with features that payouts do not support is refused with a reason for each payment', async () => {
  const mistakesOf = async (
    payments: Parameters<typeof pain001Text>[1],
    more: Parameters<typeof pain001Text>[2] = {},
  ) => {
    const read = await readBulkFile(bytes(pain001Text('M', payments, { createdAt: new Date(today), ...more })))
    return read.kind === 'mistakes'
      ? read.mistakes.map(({ line, code, given }) => `${line} ${code} ${given}`)
      : read.kind
  }
  const payment = { minor: 1_00n }
  assert.deepEqual(await mistakesOf([payment], { executionDate: '2026-12-01' }), ['1 executionDate 2026-12-01'])
  assert.equal(await mistakesOf([payment], { executionDate: '2026-11-27' }), 'lines')
  assert.deepEqual(await mistakesOf([payment, { ...payment, purpose: 'SALA' }, { ...payment, endToEndId: 'A//B' }]), [
    '2 purpose ',
    '3 endToEndId A//B',
  ])
  assert.deepEqual(await mistakesOf([{ ...payment, creditorAccount: { other: '12' } }]), ['1 account '])
  const many = pain001Text(
    'M',
    Array.from({ length: 1001 }, () => payment),
    { createdAt: new Date(today) },
  )
  assert.deepEqual(await readBulkFile(bytes(many)), { kind: 'many', count: 1001, isMore: false })
  const cut = await readBulkFile(bytes(many.slice(0, 5000)))
  assert.ok(cut.kind === 'unreadable' && cut.line > 0, JSON.stringify(cut))
})

test('the template of each language is read back, column by column', async () => {
  for (const language of ['en', 'de'] as const) {
    const head = templateHead(language)
    const row = head.map((name) => (name === columnName(language, 'currency') ? 'EUR' : `cell of ${name}`))
    const [line] = await linesOf(bytes(spreadsheetText(language, [head, row])))
    assert.equal(new Set(Object.values(line?.cells ?? {})).size, head.length, language)
  }
  assert.match(spreadsheetText('de', [['a', 'b;c', '=1']]), /^\uFEFFa;"b;c";'=1\r\n$/)
  assert.match(spreadsheetText('en', [['1,5', 'ä']]), /^\uFEFF"1,5",ä\r\n$/)
})

test('a file with corrected lines replaces the wrong lines and keeps the correct lines', async () => {
  const lines = await linesOf(bytes('payee,amount,currency\nAda,5,EUR\nBo,x,EUR\nCy,7,EUR'))
  const corrected = await linesOf(bytes('payee,amount,currency\nBo,6,EUR'))
  const merged = replaceInvalidLines(lines, new Set([3]), corrected)
  assert.deepEqual(
    merged.map(({ line, cells }) => `${line} ${cells.payee} ${cells.amount}`),
    ['2 Ada 5', '4 Cy 7', '5 Bo 6'],
  )
})
