/** Files in the formats that banks send (all data invented), in each encoding and with each form of the XML head. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import { chunks, messages, readerOf, reportParts } from '../../../scripts/iso-documents.ts'
import { schemaErrors } from '../../../test/support/iso-schemas.ts'
import {
  accountReportXml,
  type BankEntry,
  readRecallAnswer,
  readStatusReport,
  recallAnswerXml,
  recogniseMessage,
  type ReportPart,
  type StatementHead,
  statusReportXml,
} from './index.ts'

const folder = new URL('samples/', import.meta.url)

const bytesOf = (name: string): Buffer => readFileSync(new URL(name, folder))
const read = (name: string) => reportParts(chunks(bytesOf(name), 777))

const statementsOf = (parts: readonly ReportPart[]): readonly StatementHead[] =>
  parts.flatMap((part) => (part.kind === 'statement' ? [part.statement] : []))
const entriesOf = (parts: readonly ReportPart[]): readonly BankEntry[] =>
  parts.flatMap((part) => (part.kind === 'entry' ? [part.entry] : []))
const headOf = (parts: readonly ReportPart[]) => (parts[0]?.kind === 'head' ? parts[0].head : undefined)
const eur = (minor: bigint) => ({ currency: 'EUR', minor }) as const
const foreign = (currency: string, text: string) => ({ currency, minor: null, text }) as const

const reports = readdirSync(folder).filter((name) => name.includes('camt05'))

suite('every sample', () => {
  for (const name of reports)
    test(`${name}: a read statement, written by the schema of version 08, is read back unchanged`, async () => {
      const parts = await read(name)
      const xml = [...accountReportXml(parts)].join('')
      const again = await reportParts(chunks(Buffer.from(xml)))
      assert.deepEqual(withoutVersion(again), withoutVersion(parts))
      assert.deepEqual(await schemaErrors(`${headOf(parts)?.kind}.001.08`, [xml]), [])
      const [, kind, version] = /(camt05\d)-(\d\d)/.exec(name) ?? []
      assert.deepEqual(await recogniseMessage(chunks(bytesOf(name), 777)), {
        kind: kind?.replace('camt', 'camt.'),
        version,
      })
    })
  const withoutVersion = (parts: readonly ReportPart[]) =>
    parts.map((part) => (part.kind === 'head' ? { ...part.head, version: '' } : part))
})

suite('Germany', () => {
  test('camt.053.001.02: a credit, a batch with its payments, a return', async () => {
    const parts = await read('de-camt053-02.xml')
    const [credit, batch, returned] = entriesOf(parts)
    assert.deepEqual(headOf(parts)?.page, { number: '1', isLast: true })
    const [statement] = statementsOf(parts)
    assert.deepEqual(
      statement?.balances.map(({ type, amount }) => [type, amount]),
      [
        [{ code: 'PRCD' }, eur(100_000n)],
        [{ code: 'CLBD' }, eur(119_050n)],
      ],
    )
    assert.deepEqual(statement?.account.servicer, {
      bic: 'COBADEFFXXX',
      name: 'Musterbank',
      otherId: { id: 'DE 123456789', issuer: 'UmsStId' },
    })
    assert.deepEqual(credit?.codes, {
      domain: 'PMNT',
      family: 'RCDT',
      subFamily: 'ESCT',
      proprietary: 'NTRF+166+0000931',
      proprietaryIssuer: 'DK',
    })
    const [detail] = credit?.details ?? []
    assert.deepEqual(detail?.amount, eur(25_050n))
    assert.equal(detail?.debtor?.name, 'Erika Müller')
    assert.deepEqual(detail?.debtorAgent, { bic: 'BYLADEM1001' })
    assert.deepEqual(detail?.remittance?.unstructured, ['Rechnung 1001 vom 01.11.2026', 'Kunde 4711'])
    assert.deepEqual(batch?.batches, [{ messageId: 'PP-0001', batchId: 'PP-0001-1', count: 2 }])
    assert.deepEqual(
      batch?.details.map(({ amount, references }) => [amount, references.endToEndId]),
      [
        [eur(6000n), 'E1'],
        [eur(4000n), 'E2'],
      ],
    )
    assert.deepEqual(returned?.details[0]?.returned, {
      code: 'AC04',
      texts: ['ACCOUNT CLOSED'],
      originator: { id: { kind: 'organisation', bic: 'INGBNL2AXXX' } },
    })
    assert.equal(returned?.information, 'Rücküberweisung')
  })

  test('camt.053.001.08 with a prefix: an instant credit, elements of other namespaces, a CDATA section', async () => {
    const parts = await read('de-camt053-08-prefix.xml')
    const [statement] = statementsOf(parts)
    assert.deepEqual(statement?.account.id, { iban: 'DE89370400440532013000' })
    assert.deepEqual(statement?.page, { number: '2', isLast: false })
    assert.deepEqual(statement?.balances, [
      {
        type: { code: 'OPBD' },
        subType: { code: 'INTM' },
        creditLines: [{ isIncluded: false }],
        amount: eur(500n),
        isCredit: false,
        date: '2026-11-23T00:00:00+01:00',
      },
    ])
    const [entry] = entriesOf(parts)
    assert.equal(entry?.bookingDate, '2026-11-23T09:30:00+01:00')
    const [detail] = entry?.details ?? []
    assert.deepEqual(detail?.debtor, {
      name: 'Meier & Söhne <KG>',
      address: { street: 'Hauptstr.', town: 'Köln', country: 'DE' },
    })
    assert.deepEqual(detail?.remittance?.structured, [
      { creditorReference: 'RF18539007547034', referenceType: { code: 'SCOR' }, referenceIssuer: 'ISO' },
    ])
    assert.equal(detail?.references.uetr, '8a562c67-ca16-48ba-b074-65581be6f001')
    assert.equal(detail?.acceptedAt, '2026-11-23T09:29:58.100+01:00')
  })

  test('camt.054.001.08: an entry of two batches without payments, and a reversal', async () => {
    const [batches, reversal] = entriesOf(await read('de-camt054-08-batch.xml'))
    assert.deepEqual(batches?.batches, [
      { batchId: 'PP-0001-1', count: 2, sum: eur(6000n), isCredit: false },
      { batchId: 'PP-0001-2', count: 1, sum: eur(4000n) },
    ])
    assert.deepEqual(batches?.details, [])
    assert.deepEqual(
      [reversal?.isReversal, reversal?.isCredit, reversal?.codes],
      [true, false, { proprietary: 'STORNO' }],
    )
  })

  test('camt.052.001.08: a pending entry, and a balance of the bank', async () => {
    const parts = await read('de-camt052-08.xml')
    assert.equal(entriesOf(parts)[0]?.status, 'PDNG')
    assert.deepEqual(statementsOf(parts)[0]?.balances[0]?.type, { proprietary: 'DISPO' })
    assert.deepEqual(parts.at(-1), { kind: 'statement end', entries: 1, information: 'Vormerkposten' })
  })
})

suite('other countries', () => {
  test('the Netherlands: Windows line ends, a day with an offset, a negative net total', async () => {
    const parts = await read('nl-camt053-02.xml')
    assert.deepEqual(statementsOf(parts)[0]?.totals, {
      count: 2,
      sum: '30.00',
      net: '10.00',
      netIsCredit: false,
      creditCount: 1,
      creditSum: '10.00',
      debitCount: 1,
      debitSum: '20.00',
    })
    const [credit, debit] = entriesOf(parts)
    assert.equal(credit?.bookingDate, '2026-11-23')
    const [detail] = credit?.details ?? []
    assert.equal(detail?.amount, undefined)
    assert.deepEqual(detail?.amounts?.instructed?.amount, eur(1000n))
    assert.deepEqual(detail?.debtor?.address, { country: 'NL', lines: ['Dorpsstraat 1', '1234 AB Utrecht'] })
    assert.equal(detail?.remittance?.structured?.[0]?.creditorReference, '1234567890123456')
    assert.deepEqual(debit?.details, [])
  })
  test('Austria: ISO-8859-1, a balance that includes a credit line', async () => {
    const parts = await read('at-camt053-02-latin1.xml')
    const [entry] = entriesOf(parts)
    assert.equal(entry?.details[0]?.debtor?.name, 'Käthe Größing, Bäckerei')
    assert.deepEqual(entry?.details[0]?.remittance?.unstructured, ['Überweisung für Öl'])
    assert.deepEqual(statementsOf(parts)[0]?.balances[0]?.creditLines, [{ isIncluded: true, amount: eur(500_000n) }])
  })
  test('Switzerland: two accounts in a message, charges beside and within, another currency', async () => {
    const parts = await read('ch-camt053-04.xml')
    assert.deepEqual(
      statementsOf(parts).map(({ id, account }) => [id, account.currency]),
      [
        ['CHF-1', 'CHF'],
        ['EUR-1', 'EUR'],
      ],
    )
    const [credit, exchanged] = entriesOf(parts)
    assert.deepEqual(credit?.amount, foreign('CHF', '300.00'))
    assert.deepEqual(credit?.chargesTotal, foreign('CHF', '1.80'))
    assert.deepEqual(credit?.charges, [
      { amount: foreign('CHF', '1.80'), isCredit: false, isIncluded: false, type: { proprietary: '2' } },
    ])
    const [first, second] = credit?.details ?? []
    assert.deepEqual(first?.remittance?.structured?.[0]?.referenceType, { proprietary: 'QRR' })
    assert.deepEqual(first?.references.others, [{ type: '01', reference: '010001628' }])
    assert.deepEqual(second?.charges, [{ amount: foreign('CHF', '0.90'), isIncluded: true, bearer: 'SHAR' }])
    assert.deepEqual(second?.debtorAgent, { clearingSystem: { code: 'CHBCC' }, clearingId: '762' })
    assert.deepEqual(exchanged?.details[0]?.amount, eur(9155n))
    assert.deepEqual(exchanged?.details[0]?.amounts?.transaction?.amount, { currency: 'USD', minor: 10_000n })
  })
  test('Finland: an account without IBAN, a statement sent again, charges of an older message, a reversal', async () => {
    const parts = await read('fi-camt053-02-charges.xml')
    const [statement] = statementsOf(parts)
    assert.deepEqual(statement?.account.id, { other: '15723000012345', scheme: { code: 'BBAN' } })
    assert.equal(statement?.copy, 'DUPL')
    const [entry] = entriesOf(parts)
    assert.equal(entry?.isReversal, true)
    assert.deepEqual(entry?.charges, [
      { amount: foreign('SEK', '2.00'), type: { code: 'COMM' }, bearer: 'DEBT' },
      { amount: foreign('SEK', '0.50'), isCredit: false },
    ])
  })
  test('Lithuania: a byte order mark, days instead of times, an empty reference, trailing spaces', async () => {
    const parts = await read('lt-camt053-02-bom.xml')
    const [statement] = statementsOf(parts)
    assert.deepEqual([statement?.from, statement?.to], ['2026-11-23T00:00:00', '2026-11-23T23:59:59'])
    const [entry] = entriesOf(parts)
    assert.equal(entry?.reference, 'RO1')
    assert.deepEqual(entry?.details[0]?.references, { instructionId: '1' })
    assert.equal(entry?.details[0]?.debtor?.name, 'Žydrūnas Šilėnas')
    assert.deepEqual(entry?.details[0]?.purpose, { proprietary: 'MK' })
  })
  test('France: pages, a batch without payments, a statement without entries', async () => {
    const parts = await read('fr-camt053-02-pages.xml')
    assert.deepEqual(headOf(parts)?.page, { number: '1', isLast: false })
    assert.deepEqual(entriesOf(parts)[0]?.batches, [{ count: 45 }])
    assert.deepEqual(
      parts.map(({ kind }) => kind),
      ['head', 'statement', 'entry', 'statement end', 'statement', 'statement end'],
    )
  })
  test('a document within an envelope is read', async () =>
    assert.deepEqual(
      entriesOf(await read('envelope-camt054-08.xml')).map(({ amount }) => amount),
      [eur(300n)],
    ))
  test('a later version, unknown elements and a bank as a party are read', async () => {
    const parts = await read('camt053-13-later.xml')
    assert.equal(headOf(parts)?.version, '13')
    const [entry] = entriesOf(parts)
    assert.equal(entry?.status, 'GEBUCHT')
    assert.deepEqual(entry?.details[0]?.creditor, {
      name: 'ING BANK',
      id: { kind: 'organisation', bic: 'INGBNL2AXXX' },
    })
  })
})

suite('answers', () => {
  test('pain.002.001.03: part of a batch is refused', async () => {
    const report = await readStatusReport(chunks(bytesOf('pain002-03-part.xml'), 100))
    assert.deepEqual([report.groupStatus, report.originalCount, report.originalSum], ['PART', 2, '100'])
    const [refused, accepted] = report.batches[0]?.transfers ?? []
    assert.deepEqual([refused?.status, refused?.money, accepted?.status], ['RJCT', eur(6000n), 'ACSP'])
    assert.deepEqual(refused?.reasons, [
      { code: 'AC01', texts: ['IBAN ungültig'], originator: { name: 'COBADEFFXXX' } },
    ])
    const again = await readStatusReport(chunks(Buffer.from([...statusReportXml(report)].join(''))))
    assert.deepEqual(again, report)
  })
  test('pain.002.001.10: a whole file is refused for a reason of the bank', async () => {
    const report = await readStatusReport(chunks(bytesOf('pain002-10-prefix.xml')))
    assert.deepEqual([report.groupStatus, report.batches], ['RJCT', []])
    assert.deepEqual(report.reasons, [{ proprietary: 'X77', texts: ['duplicate file', 'see agreement'] }])
  })
  test('camt.029.001.03: a recall is refused, a batch is accepted as a whole', async () => {
    const answer = await readRecallAnswer(chunks(bytesOf('camt029-03.xml')))
    assert.deepEqual([answer.caseId, answer.confirmation], ['CASE1', 'RJCR'])
    assert.deepEqual(answer.transfers, [
      {
        originalBatchId: 'PP-0001-1',
        statusId: 'S1',
        instructionId: '00000000000000000000000000000001',
        endToEndId: 'E1',
        status: 'RJCR',
        reasons: [{ code: 'CUST', texts: ['no consent'] }],
      },
      { originalBatchId: 'PP-0001-2', status: 'ACCR', reasons: [] },
    ])
    const again = await readRecallAnswer(chunks(Buffer.from([...recallAnswerXml(answer)].join(''))))
    assert.deepEqual(again, answer)
  })
})

/** Encodes a text with one byte per character. */
function encoded(text: string, encoding: string): Buffer {
  const decoder = new TextDecoder(encoding)
  const bytes = new Map(
    Array.from({ length: 256 }, (_none, byte) => [decoder.decode(Uint8Array.of(byte)), byte] as const),
  )
  return Buffer.from(Array.from(text, (char) => bytes.get(char) ?? assert.fail(`${encoding} has no ${char}`)))
}
const sample = readFileSync(new URL('./samples/de-camt053-08-prefix.xml', import.meta.url), 'utf8')
const body = sample.replace(/^<\?xml[^>]*>\s*/, '')
const declared = (encoding: string, text: string) => `<?xml version="1.0" encoding="${encoding}"?>\n${text}`

/** Names with letters of the encoding. Those of ISO-8859-2 have other bytes in windows-1250. */
const names: Readonly<Record<string, string>> = {
  'windows-1250': 'Žižkovská „Šance“ Łódź €',
  'ISO-8859-2': 'Žižkovská Šance Łódź Őrség ľ ť',
  'ISO-8859-15': 'Škoda Žďár'.replace('ďá', 'dá'),
  'windows-1252': 'Müller “Söhne” €',
}

for (const [encoding, name] of Object.entries(names))
  test(`a statement in ${encoding} is read like the same statement in UTF-8`, async () => {
    const text = body.replace(/<(\w*:?)Nm>[^<]*</, `<$1Nm>${name}<`)
    assert.ok(text.includes(name))
    const bytes = encoded(declared(encoding, text), encoding)
    const expected = await reportParts(chunks(Buffer.from(declared('UTF-8', text))))
    assert.ok(
      JSON.stringify(expected, (_key, value: unknown) => (typeof value === 'bigint' ? String(value) : value)).includes(
        name,
      ),
    )
    for (const length of [undefined, 7]) assert.deepEqual(await reportParts(chunks(bytes, length)), expected)
    assert.equal((await recogniseMessage(chunks(bytes)))?.kind, 'camt.053')
  })

test('bytes of windows-1250 that are declared as ISO-8859-2 are refused where they differ, not guessed', async () => {
  const text = body.replace(/<(\w*:?)Nm>[^<]*</, '<$1Nm>Š<')
  await assert.rejects(reportParts(chunks(encoded(declared('ISO-8859-2', text), 'windows-1250'))), { code: 'encoding' })
})

const samples = readdirSync(folder).filter((name) => name.endsWith('.xml'))
const root = /<((?:[\w.]+:)?Document)\s+([^>]*?)\s*>/
const declaration = /^\s*<\?xml[^>]*\?>/

const withRoot = (text: string, of: (name: string, attributes: string) => string): string =>
  text.replace(root, (_all, name: string, attributes: string) => of(name, attributes))
const split = (attributes: string): readonly string[] => attributes.match(/[\w:]+\s*=\s*(?:"[^"]*"|'[^']*')/g) ?? []
const comment = `<!-- ${'the bank writes a long comment '.repeat(400)} -->`

const forms: Readonly<Record<string, (text: string) => string>> = {
  'CR LF between the attributes': (text) => withRoot(text, (name, attributes) => `<${name}\r\n\t${attributes}\r\n>`),
  'CR LF everywhere': (text) => text.replace(/\r?\n/g, '\r\n').replace(root, (tag) => tag.replaceAll(' ', '\r\n')),
  'CR alone': (text) => text.replaceAll('\n', '\r'),
  'space around the equals sign': (text) =>
    withRoot(text, (name, attributes) => `<${name} ${attributes.replaceAll('=', '\r\n=\t')}>`),
  'attributes in another order': (text) =>
    withRoot(text, (name, attributes) => `<${name}  ${split(attributes).toReversed().join('\r\n')} >`),
  'an attribute before the namespace': (text) =>
    withRoot(text, (name, attributes) => `<${name} id = "1"\r\n${attributes}>`),
  'quotes of the other kind': (text) =>
    withRoot(text, (name, attributes) => `<${name} ${attributes.replaceAll('"', "'")}>`),
  'a long comment and an instruction before it': (text) =>
    `${declaration.exec(text)?.[0] ?? ''}\r\n${comment}<?style a?>${text.replace(declaration, '')}`,
  'a comment within the document': (text) => text.replace(root, (tag) => `${tag}\r\n${comment}`),
  'an element of another namespace first': (text) =>
    text.replace(root, (tag) => `${tag}<x:Head xmlns:x="urn:others"><x:Id/></x:Head>`),
  'an envelope': (text) =>
    `<e:File xmlns:e="urn:others"\r\n><e:Head>${'x'.repeat(100_000).replace(/.{4000}/g, '<e:A>$&</e:A>')}</e:Head>${text.replace(declaration, '')}</e:File>`,
  'a byte order mark': (text) => `\ufeff${text.replace(declaration, '')}`,
}

test('samples exist, each with a root that the variants replace', () => {
  assert.ok(samples.length > 10)
  for (const name of samples) assert.match(readFileSync(new URL(name, folder), 'latin1'), root, name)
})

for (const [title, change] of Object.entries(forms))
  test(`${title}: a changed sample is recognised and read like the original`, async () => {
    for (const name of samples) {
      const bytes = readFileSync(new URL(name, folder))
      const text = new TextDecoder(/ISO-8859-1/i.test(bytes.toString('latin1', 0, 200)) ? 'latin1' : 'utf-8').decode(
        bytes,
      )
      const plain = Buffer.from(text.replace(/encoding=(["'])[^"']*\1/, ''))
      const changed = Buffer.from(change(plain.toString()))
      const kind = await recogniseMessage(chunks(plain))
      assert.deepEqual(await recogniseMessage(chunks(changed, 1000)), kind, name)
      const read = readerOf(kind?.kind)
      assert.ok(read, name)
      assert.deepEqual(await read(chunks(changed, 1000)), await read(chunks(plain)), name)
    }
  })

const numRuns = 150
const seed = 18

for (const [title, arbitrary] of Object.entries(messages)) {
  test(`${title}: every value is read back as written, in chunks of any length`, async () => {
    await fc.assert(
      fc.asyncProperty(arbitrary, fc.integer({ min: 1, max: 200 }), async ({ value, xml, read, name }, length) => {
        const bytes = Buffer.from(xml)
        assert.deepEqual(await read(chunks(bytes)), value)
        assert.deepEqual(await read(chunks(bytes, length)), value)
        assert.deepEqual(await recogniseMessage(chunks(bytes, length)), {
          kind: name.slice(0, 8),
          version: name.slice(-2),
        })
      }),
      { numRuns, seed },
    )
  })

  test(`${title}: written messages are valid by our schema`, async () => {
    const written = fc.sample(arbitrary, { numRuns, seed })
    for (const name of new Set(written.map((message) => message.name))) {
      const documents = written.filter((message) => message.name === name).map(({ xml }) => xml)
      assert.deepEqual(await schemaErrors(name, documents), [])
      const [first = ''] = documents
      assert.notDeepEqual(await schemaErrors(name, [first.replace(/<(MsgId|Id)>/, '<Unknown/><$1>')]), [])
    }
  })
}
