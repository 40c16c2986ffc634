/** Files that are not messages: each is refused with a code and a position. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { chunks, reportParts } from '../../../scripts/iso-documents.ts'
import {
  type BankEntry,
  type MessageLimits,
  MessageProblem,
  type ProblemCode,
  readAccountReport,
  readPain001,
  readRecall,
  readRecallAnswer,
  readStatusReport,
  recogniseMessage,
} from './index.ts'

const namespace = 'urn:iso:std:iso:20022:tech:xsd:camt.053.001.08'
const head = '<GrpHdr><MsgId>M1</MsgId><CreDtTm>2026-11-23T10:00:00Z</CreDtTm></GrpHdr>'
const account = '<Acct><Id><IBAN>DE89370400440532013000</IBAN></Id></Acct>'
const amountXml = '<Amt Ccy="EUR">12.50</Amt>'
const entry = `<Ntry>${amountXml}<CdtDbtInd>CRDT</CdtDbtInd><Sts><Cd>BOOK</Cd></Sts><BkTxCd/></Ntry>`
const document = (statement: string): string =>
  `<Document xmlns="${namespace}"><BkToCstmrStmt>${head}<Stmt>${statement}</Stmt></BkToCstmrStmt></Document>`
const whole = document(`<Id>S1</Id>${account}${entry}`)

const partsOf = (text: string | Uint8Array, length?: number) =>
  reportParts(chunks(typeof text === 'string' ? Buffer.from(text) : text, length))

async function problemOf(reading: Promise<unknown>): Promise<MessageProblem> {
  const error = await reading.then(
    () => assert.fail('the file is read'),
    (thrown: unknown) => thrown,
  )
  assert.ok(error instanceof MessageProblem, String(error))
  return error
}

/** Checks the refusal of a text, also read byte by byte, because the code must not depend on where chunks end. */
async function refused(code: ProblemCode, text: string | Uint8Array, message?: RegExp): Promise<void> {
  for (const length of [undefined, 1]) {
    const problem = await problemOf(partsOf(text, length))
    assert.equal(problem.code, code, `${problem.message} (${problem.path}:${problem.line})`)
    if (message) assert.match(problem.message, message)
  }
}

test('a document without a message is refused by every reader', async () => {
  const kinds = [
    ['pain.001.001.09', readPain001],
    ['pain.002.001.10', readStatusReport],
    ['camt.056.001.08', readRecall],
    ['camt.029.001.09', readRecallAnswer],
  ] as const
  for (const [name, read] of kinds)
    for (const text of ['<Document/>', `<Document xmlns="urn:iso:std:iso:20022:tech:xsd:${name}"/>`]) {
      const problem = await problemOf(read(chunks(Buffer.from(text))))
      assert.equal(problem.code, 'not_in_schema', name)
    }
})

test('the unmodified document of these tests is read without a problem', async () => {
  assert.deepEqual(
    (await partsOf(whole)).map(({ kind }) => kind),
    ['head', 'statement', 'entry', 'statement end'],
  )
})

suite('invalid XML', () => {
  const cases: Readonly<Record<string, string>> = {
    'another form': 'hello',
    'a spreadsheet': 'Date;Amount\n2026-11-23;12,50\n',
    MT940: ':20:STARTUMSE\n:25:37040044/532013000\n',
    'a tag that ends another': whole.replace('</Ntry>', '</Entry>'),
    'an end tag followed by another name': whole.replace('</Ntry>', '</Ntry x>'),
    'an end without a start': whole.replace('<Ntry>', ''),
    'an attribute twice': whole.replace('Ccy="EUR"', 'Ccy="EUR" Ccy="USD"'),
    'an attribute without quotes': whole.replace('Ccy="EUR"', 'Ccy=EUR'),
    'a tag within a tag': whole.replace('<Ntry>', '<Ntry <b>'),
    'an ampersand': whole.replace('S1', 'S&1'),
    'an entity that no document type declares': whole.replace('S1', '&pwned;'),
    'a reference to no character': whole.replace('S1', '&#0;'),
    'a reference to half a character': whole.replace('S1', '&#xd800;'),
    'a control character': whole.replace('S1', 'S\u0001'),
    'an undeclared prefix': whole.replaceAll('Ntry>', 'x:Ntry>'),
    'a comment with two hyphens': whole.replace('<Ntry>', '<!-- a -- b --><Ntry>'),
    'an end of a section in a text': whole.replace('S1', 'a]]>b'),
    'a second document': whole + whole,
    'text after the document': `${whole}x`,
    'an XML declaration within': whole.replace('<Ntry>', '<?xml version="1.0"?><Ntry>'),
    'a declaration of an element': `<!ELEMENT a ANY>${whole}`,
  }
  for (const [title, text] of Object.entries(cases)) test(title, () => refused('not_xml', text))
})

suite('document types', () => {
  const bomb = `<?xml version="1.0"?><!DOCTYPE a [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>`
  test('a document type with nested entities is refused', () => refused('doctype', bomb + whole.replace('S1', '&b;')))
  test('a document type with an external entity is refused', () =>
    refused('doctype', `<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]>${whole.replace('S1', '&x;')}`))
  test('a document type with an external subset is refused', () =>
    refused('doctype', `<!DOCTYPE a SYSTEM "http://example.com/a.dtd">${whole}`))
  test('a document type in lower case is refused', () => refused('doctype', `<!doctype html>${whole}`))
})

suite('truncated files', () => {
  test('a file truncated at any byte is reported as truncated', async () => {
    const bytes = Buffer.from(`<?xml version="1.0" encoding="UTF-8"?>\n<!-- ä -->${whole.replace('S1', 'Sß😀')}`)
    for (let length = 0; length < bytes.length; length += 1) {
      const problem = await problemOf(partsOf(bytes.subarray(0, length)))
      assert.equal(problem.code, 'not_whole', `${length}: ${problem.message}`)
    }
    assert.equal((await partsOf(bytes)).length, 4)
  })
  test('half a character after the document is invalid XML, not a truncated file', () =>
    refused('not_xml', Buffer.concat([Buffer.from(whole), Buffer.from([0xe2, 0x82])])))
})

suite('encodings', () => {
  const owner = '<Ownr><Nm>Müller €</Nm></Ownr>'
  const text = document(`<Id>S1</Id>${account.replace('</Acct>', `${owner}</Acct>`)}${entry}`)
  const nameIn = async (bytes: Uint8Array) => {
    const part = (await partsOf(bytes)).find(({ kind }) => kind === 'statement')
    return part?.kind === 'statement' ? part.statement.account.owner?.name : undefined
  }
  const declared = (encoding: string) => `<?xml version="1.0" encoding="${encoding}"?>${text}`
  /** Encodes text as one byte per character: latin1, and the euro sign where the encoding has it. */
  const single = (encoding: string, euro: number) =>
    Buffer.from(declared(encoding).replace('€', '\u0001'), 'latin1').map((byte) => (byte === 1 ? euro : byte))
  const swapped = (bytes: Buffer) => Buffer.from(bytes).swap16()

  const read: Readonly<Record<string, Uint8Array>> = {
    'UTF-8 without declaration': Buffer.from(text),
    'UTF-8 with a byte order mark': Buffer.from(`\ufeff${declared('UTF-8')}`),
    'UTF-16, little endian': Buffer.from(`\ufeff${declared('UTF-16')}`, 'utf16le'),
    'UTF-16, big endian': swapped(Buffer.from(`\ufeff${declared('UTF-16')}`, 'utf16le')),
    'UTF-16 without a byte order mark, little endian': Buffer.from(declared('UTF-16'), 'utf16le'),
    'UTF-16 without a byte order mark, big endian': swapped(Buffer.from(text, 'utf16le')),
    'windows-1250': single('windows-1250', 0x80),
    'ISO-8859-15': single('ISO-8859-15', 0xa4),
    'windows-1252': single('windows-1252', 0x80),
    'ISO-8859-1 as banks write it': single('iso-8859-1', 0x80),
  }
  for (const [title, bytes] of Object.entries(read))
    test(title, async () => assert.equal(await nameIn(bytes), 'Müller €'))
  test('line ends of every kind become line feeds', async () => {
    const name = text.replace('Müller €', 'a\r\nb\rc')
    assert.equal(await nameIn(Buffer.from(name)), 'a\nb\nc')
  })

  const wrong: Readonly<Record<string, Uint8Array>> = {
    'an unsupported encoding': Buffer.from(declared('KOI8-R')),
    'bytes of ISO-8859-1 declared as UTF-8': Buffer.from(declared('UTF-8'), 'latin1'),
    'declared but absent UTF-16': Buffer.from(declared('UTF-16')),
    'UTF-32': Buffer.from([0xff, 0xfe, 0, 0, 0x3c, 0, 0, 0]),
    'an unpaired surrogate': Buffer.from(`\ufeff${text.replace('ü', '\ud800')}`, 'utf16le'),
    'an overlong character': Buffer.from(text.replace('ü', '\u0001'), 'latin1').fill(0xc0, 100, 101),
  }
  for (const [title, bytes] of Object.entries(wrong)) test(`refused: ${title}`, () => refused('encoding', bytes))
})

suite('sizes', () => {
  const limited = (text: string, limits: Partial<MessageLimits>) =>
    problemOf(Array.fromAsync(readAccountReport(chunks(Buffer.from(text), 1000), limits)))
  const cases: Readonly<Record<string, readonly [string, Partial<MessageLimits>]>> = {
    'bytes of the file': [whole, { bytesMax: 100 }],
    depth: [document('<a>'.repeat(100)), {}],
    'a text': [whole.replace('S1', 'S'.repeat(100_000)), {}],
    'a text of many sections': [whole.replace('S1', '<![CDATA[SSSSSSSSSS]]>'.repeat(10_000)), {}],
    'a comment': [whole.replace('<Ntry>', `<!--${' '.repeat(100_000)}--><Ntry>`), {}],
    'a tag': [whole.replace('<Ntry>', `<Ntry ${' '.repeat(100_000)}>`), {}],
    'an endless name': [whole.replace('<Ntry>', `<${'N'.repeat(100_000)}`), {}],
    attributes: [whole.replace('<Ntry>', `<Ntry ${Array.from({ length: 100 }, (_, i) => `a${i}=""`).join(' ')}>`), {}],
    'elements of an entry': [whole.replace('<BkTxCd/>', '<BkTxCd/>'.repeat(1000)), { elementsMax: 500 }],
    'payments of an entry': [
      whole.replace('<BkTxCd/>', `<BkTxCd/><NtryDtls>${'<TxDtls/>'.repeat(1000)}</NtryDtls>`),
      { detailsMax: 500 },
    ],
    'texts of an entry': [
      whole.replace(
        '<BkTxCd/>',
        `<BkTxCd/><NtryDtls>${'<TxDtls><AddtlTxInf>abcdefghij</AddtlTxInf></TxDtls>'.repeat(100)}</NtryDtls>`,
      ),
      { recordCharsMax: 500 },
    ],
  }
  for (const [title, [text, limits]] of Object.entries(cases))
    test(`too many: ${title}`, async () => assert.equal((await limited(text, limits)).code, 'too_large'))
  test('reading an endless file stops as soon as it is too large', async () => {
    let given = 0
    async function* endless() {
      yield Buffer.from(whole.slice(0, whole.indexOf('<Ntry>')))
      for (;;) {
        given += 1
        yield Buffer.from(entry.repeat(100))
      }
    }
    const problem = await problemOf(Array.fromAsync(readAccountReport(endless(), { bytesMax: 10_000_000 })))
    assert.equal(problem.code, 'too_large')
    assert.ok(given < 2000, `${given} chunks were read`)
  })
})

suite('documents that are not statements', () => {
  const cases: Readonly<Record<string, readonly [text: string, path: string, message: RegExp]>> = {
    'no account': [document('<Id>S1</Id>'), 'Document/BkToCstmrStmt/Stmt', /no Acct/],
    'a balance after entries': [
      whole.replace('</Ntry>', '</Ntry><Bal/>'),
      'Document/BkToCstmrStmt/Stmt/Bal',
      /follows entries/,
    ],
    'text beside elements': [whole.replace('<Ntry>', '<Ntry>x'), 'Document/BkToCstmrStmt/Stmt/Ntry', /beside/],
    'elements in a text': [whole.replace('S1', '<b>S1</b>'), 'Document/BkToCstmrStmt/Stmt/Id', /text is expected/],
    'no head': [whole.replace(head, ''), 'Document/BkToCstmrStmt/Stmt', /GrpHdr is missing/],
  }
  for (const [title, [text, path, message]] of Object.entries(cases))
    test(title, async () => {
      const problem = await problemOf(partsOf(text))
      assert.deepEqual([problem.code, problem.path], ['not_in_schema', path], problem.message)
      assert.match(problem.message, message)
    })
  test('the error names the line of the element', async () => {
    const lines = `\n\n${whole.replace('<IBAN>', '\n<IBAN\n><b/>')}`
    assert.equal((await problemOf(partsOf(lines))).line, 4)
    assert.equal((await problemOf(partsOf(lines, 1))).line, 4)
  })
  test('a message of another kind is refused', async () => {
    await refused(
      'unknown_message',
      whole.replaceAll('BkToCstmrStmt', 'BkToCstmrAcctRpt'),
      /expected .*, not BkToCstmrAcctRpt/,
    )
    await refused('unknown_message', '<html><body/></html>')
    assert.equal((await problemOf(readPain001(chunks(Buffer.from(whole))))).code, 'unknown_message')
    const renamed = Buffer.from(whole.replaceAll('BkToCstmrStmt', 'BkToCstmrAcctRpt'))
    assert.equal(await recogniseMessage(chunks(renamed)), undefined)
  })
})

/** Returns the only entry that cannot be read, read in large chunks and byte by byte. */
async function unreadEntry(text: string) {
  const found: (readonly BankEntry[])[] = []
  for (const length of [undefined, 1])
    found.push((await partsOf(text, length)).flatMap((part) => (part.kind === 'entry' ? [part.entry] : [])))
  assert.deepEqual(found[0], found[1])
  const [one, ...others] = (found[0] ?? []).filter(({ problem }) => problem !== undefined)
  assert.ok(one !== undefined && others.length === 0, 'one entry cannot be read')
  return one
}

suite('an unreadable entry does not affect other entries', () => {
  const two = document(`<Id>S1</Id>${account}${entry}${entry.replace('12.50', '7.00')}`)
  const reference = '<AcctSvcrRef>R1</AcctSvcrRef>'
  const eur = (minor: bigint) => ({ currency: 'EUR', minor })
  const none = { currency: 'EUR', minor: null, text: '' }
  const cases: Readonly<Record<string, readonly [text: string, problem: RegExp, amount: unknown]>> = {
    'an amount twice': [
      two.replace(amountXml, amountXml + amountXml),
      /more than one Amt.*Ntry\/Amt/,
      { ...none, currency: '' },
    ],
    'no amount': [two.replace(amountXml, ''), /no Amt/, { ...none, currency: '' }],
    'no direction': [two.replace('<CdtDbtInd>CRDT</CdtDbtInd>', ''), /CdtDbtInd/, none],
    'an invalid day': [
      two.replace('<BkTxCd/>', `<BookgDt><Dt>2026-02-30</Dt></BookgDt>${reference}`),
      /is not a date.*line 1, Document\/BkToCstmrStmt\/Stmt\/Ntry\/BookgDt\/Dt/,
      eur(12_50n),
    ],
    'a payment with two references': [
      two.replace(
        '<BkTxCd/>',
        '<NtryDtls><TxDtls><Refs><TxId>1</TxId><TxId>2</TxId></Refs></TxDtls><TxDtls/></NtryDtls>',
      ),
      /more than one TxId/,
      eur(12_50n),
    ],
  }
  for (const [title, [text, problem, amount]] of Object.entries(cases))
    test(title, async () => {
      const one = await unreadEntry(text)
      assert.match(one.problem ?? '', problem)
      assert.deepEqual(one.amount, amount)
      assert.deepEqual([one.details, one.isCredit, one.status], [[], true, 'BOOK'])
      assert.equal(one.bankReference, text.includes(reference) ? 'R1' : undefined)
    })
  test('exceeding a limit of the reader refuses the whole file', () =>
    refused('too_large', two.replace('<BkTxCd/>', `<AddtlNtryInf>${'x'.repeat(100_000)}</AddtlNtryInf>`)))
})

suite('informative fields are kept as written', () => {
  const detail = (inner: string) =>
    document(`<Id>S1</Id>${account}${entry.replace('<BkTxCd/>', `<NtryDtls><TxDtls>${inner}</TxDtls></NtryDtls>`)}`)
  const charge = (text: string) => `<Chrgs><Rcrd><Amt Ccy="EUR">${text}</Amt></Rcrd></Chrgs>`
  const only = async (text: string) => {
    const parts = await partsOf(text)
    const [found] = parts.flatMap((part) => (part.kind === 'entry' ? [part.entry] : []))
    assert.equal(found?.problem, undefined)
    return found?.details[0]
  }
  for (const text of ['0.025', '-1.50', '1,50', '9'.repeat(30)])
    test(`a charge of ${text} keeps its text`, async () =>
      assert.deepEqual((await only(detail(charge(text))))?.charges, [
        { amount: { currency: 'EUR', minor: null, text } },
      ]))
  test('an instructed amount with five decimals and a document amount with three keep their text', async () => {
    const found = await only(
      detail(
        '<AmtDtls><InstdAmt><Amt Ccy="EUR">110.00455</Amt><CcyXchg/></InstdAmt></AmtDtls>' +
          '<RmtInf><Strd><RfrdDocAmt><RmtdAmt Ccy="EUR">1.005</RmtdAmt></RfrdDocAmt></Strd></RmtInf>',
      ),
    )
    assert.deepEqual(found?.amounts, { instructed: { amount: { currency: 'EUR', minor: null, text: '110.00455' } } })
    assert.deepEqual(found?.remittance?.structured, [{ remitted: { currency: 'EUR', minor: null, text: '1.005' } }])
  })
  test('a charge without a currency or an amount is left out', async () => {
    const bare = '<Chrgs><Rcrd><Amt>1.00</Amt></Rcrd><Rcrd><Br>SHAR</Br></Rcrd></Chrgs>'
    assert.deepEqual((await only(detail(bare)))?.charges, [])
  })
  test('unreadable balances are left out, and totals keep their text', async () => {
    const balance = (inner: string) => `<Bal><Tp><CdOrPrtry><Cd>CLAV</Cd></CdOrPrtry></Tp>${inner}</Bal>`
    const written = [
      balance(amountXml),
      balance('<Amt>1.00</Amt><CdtDbtInd>CRDT</CdtDbtInd><Dt><Dt>2026-11-23</Dt></Dt>'),
      balance('<Amt Ccy="EUR">1.00005</Amt><CdtDbtInd>CRDT</CdtDbtInd><Dt><Dt>2026-11-31</Dt></Dt>'),
    ]
    const totals = '<TxsSummry><TtlNtries><NbOfNtries>one</NbOfNtries><Sum>.3</Sum></TtlNtries></TxsSummry>'
    const parts = await partsOf(document(`<Id>S1</Id>${account}${written.join('')}${totals}${entry}`))
    const [head] = parts.flatMap((part) => (part.kind === 'statement' ? [part.statement] : []))
    assert.deepEqual(head?.balances, [
      {
        type: { code: 'CLAV' },
        creditLines: [],
        amount: { currency: 'EUR', minor: null, text: '1.00005' },
        isCredit: true,
      },
    ])
    assert.deepEqual(head?.totals, { sum: '.3' })
  })
})

suite('control sums', () => {
  const transfer =
    '<CdtTrfTxInf><PmtId><EndToEndId>E1</EndToEndId></PmtId><Amt><InstdAmt Ccy="EUR">0.30</InstdAmt></Amt><Cdtr><Nm>A</Nm></Cdtr>' +
    '<CdtrAcct><Id><IBAN>NL91ABNA0417164300</IBAN></Id></CdtrAcct></CdtTrfTxInf>'
  const file = (sum: string) =>
    '<Document xmlns="urn:iso:std:iso:20022:tech:xsd:pain.001.001.09"><CstmrCdtTrfInitn><GrpHdr><MsgId>M</MsgId>' +
    `<CreDtTm>2026-11-23T10:00:00Z</CreDtTm><NbOfTxs>1</NbOfTxs><CtrlSum>${sum}</CtrlSum><InitgPty><Nm>A</Nm></InitgPty></GrpHdr>` +
    '<PmtInf><PmtInfId>P</PmtInfId><PmtMtd>TRF</PmtMtd><ReqdExctnDt><Dt>2026-11-24</Dt></ReqdExctnDt><Dbtr><Nm>A</Nm></Dbtr>' +
    '<DbtrAcct><Id><IBAN>DE89370400440532013000</IBAN></Id></DbtrAcct><DbtrAgt><FinInstnId><BICFI>COBADEFF</BICFI></FinInstnId></DbtrAgt>' +
    `${transfer}</PmtInf></CstmrCdtTrfInitn></Document>`
  for (const sum of ['.3', '+.30', '0.3', '00.300', '0.30'])
    test(`${sum} is the sum of 0.30`, async () => {
      const { batches } = await readPain001(chunks(Buffer.from(file(sum))))
      assert.equal(batches[0]?.transfers[0]?.money.minor, 30n)
    })
  for (const sum of ['3', '.03', '.31', '0.030'])
    test(`refused: ${sum}`, async () =>
      assert.match((await problemOf(readPain001(chunks(Buffer.from(file(sum)))))).message, /CtrlSum is/))
})

suite('amounts that count are exact, or their entry is unreadable', () => {
  const read = async (text: string, currency = 'EUR') => {
    const parts = await partsOf(whole.replace(amountXml, `<Amt Ccy="${currency}">${text}</Amt>`))
    const part = parts.find(({ kind }) => kind === 'entry')
    return part?.kind === 'entry' ? part.entry.amount : undefined
  }
  const exact: Readonly<Record<string, bigint>> = {
    '12': 1200n,
    '12.': 1200n,
    '12.5': 1250n,
    '12.50': 1250n,
    '12.500': 1250n,
    ' 12.50\n': 1250n,
    '+12.50': 1250n,
    '.5': 50n,
    '0': 0n,
    '0012.50': 1250n,
    '9999999999999999.99': 999_999_999_999_999_999n,
  }
  for (const [text, minor] of Object.entries(exact))
    test(`${JSON.stringify(text)}`, async () => assert.deepEqual(await read(text), { currency: 'EUR', minor }))
  test('an amount in an unsupported currency keeps its text', async () =>
    assert.deepEqual(await read('1250', 'JPY'), { currency: 'JPY', minor: null, text: '1250' }))
  for (const text of [
    '12.345',
    '12,50',
    '1 000',
    "1'000.00",
    '-12.50',
    '1e3',
    '',
    '.',
    'NaN',
    '0x10',
    '١٢',
    '1'.repeat(19),
    `${'0'.repeat(60_000)}x`,
  ])
    test(`not read: ${JSON.stringify(text.slice(0, 20))}`, async () => {
      const { amount, problem } = await unreadEntry(whole.replace(amountXml, `<Amt Ccy="EUR">${text}</Amt>`))
      assert.deepEqual(amount, { currency: text === '' ? '' : 'EUR', minor: null, text: text.slice(0, 64) })
      assert.match(problem ?? '', /Ntry\/Amt/)
    })
  for (const currency of ['', 'EU', 'eur', 'EURO', 'E1R'])
    test(`not read: the currency ${JSON.stringify(currency)}`, async () => {
      const { amount } = await unreadEntry(whole.replace('Ccy="EUR"', `Ccy="${currency}"`))
      assert.deepEqual(amount, { currency: '', minor: null, text: '' })
    })
  test('not read: no currency', async () =>
    assert.match((await unreadEntry(whole.replace(' Ccy="EUR"', ''))).problem ?? '', /no currency/))
})
