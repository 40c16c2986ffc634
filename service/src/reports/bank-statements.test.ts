/** Statements as camt.053: valid by their schema, and read back as a bank's own by the reader of banks' files. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Readable } from 'node:stream'
import { addPartner, type Service } from '../../../test/support/composition.ts'
import { book, createReportService, dayBefore, now, statementErrors, written } from '../../../test/support/reports.ts'
import { readAccountReport } from '../iso20022/index.ts'
import { sql } from '../postgres/index.ts'

let service: Service
before(async () => {
  service = await createReportService()
})
after(() => service?.close())

const name = `Łódź & <Söhne> \u202e\uffff ${'ж'.repeat(70)}`
const odd = `</Ustrd><x>&"'\u{1f600}`

async function statement(format: 'camt.053' | 'camt.053.001.02') {
  const { partnerId, customer } = await addPartner(service)
  await book(service, partnerId, [
    { amount: 100_001n, partyId: customer.id, reference: 'INV-1' },
    { amount: 250n, from: 'balance', to: 'fees', partyId: customer.id, reference: 'INV-1' },
    { amount: 5n, reference: odd },
    { amount: 6n, reference: 'x'.repeat(140) },
  ])
  await service.db.run(sql`update access.partners set name = ${name} where id = ${partnerId}`)
  const to = now(service)
  return written(service, partnerId, { kind: 'statement', format, currency: 'EUR', from: dayBefore(to), to })
}

async function readBack(text: string) {
  const parts = (await Array.fromAsync(readAccountReport(Readable.from([Buffer.from(text)])))).flat()
  return {
    versions: parts.flatMap((part) => (part.kind === 'head' ? part.head.version : [])),
    balances: parts.flatMap((part) =>
      part.kind === 'statement' ? part.statement.balances.map(({ amount }) => amount.minor) : [],
    ),
    entries: parts.flatMap((part) => (part.kind === 'entry' ? part.entry : [])),
  }
}

test('a camt.053 is valid by the schema, whatever the names contain', async () => {
  const { text, report } = await statement('camt.053')
  assert.deepEqual(await statementErrors(text), [])
  assert.equal((await statementErrors(text.replace('<Cd>BOOK</Cd>', '<Cd>PDNG</Cd>'))).length, 1)
  assert.equal(report.rows, 4n)
  assert.equal(text.match(/<Ntry>/g)?.length, 4)
  assert.match(text, /<EndToEndId>NOTPROVIDED<\/EndToEndId><AcctSvcrTxId>&lt;\/Ustrd&gt;&lt;x&gt;&amp;"'/)
  assert.match(text, /<EndToEndId>NOTPROVIDED<\/EndToEndId><\/Refs>/)
  const net = '<TtlNetNtry><Amt>997.62</Amt><CdtDbtInd>CRDT</CdtDbtInd></TtlNetNtry>'
  assert.ok(text.includes(`<TtlNtries><NbOfNtries>4</NbOfNtries><Sum>1002.62</Sum>${net}</TtlNtries>`), text)
})

test('version 02 has its own elements: sums, states, references and names', async () => {
  const { text, content } = await statement('camt.053.001.02')
  assert.match(content.fileName, /\.camt\.053\.001\.02\.xml$/)
  assert.match(text, /<Sts>BOOK<\/Sts>/)
  assert.match(
    text,
    /<Refs><AcctSvcrRef>&lt;\/Ustrd&gt;&lt;x&gt;&amp;"'[^<]*<\/AcctSvcrRef><EndToEndId>NOTPROVIDED<\/EndToEndId><\/Refs>/,
  )
  const net = '<TtlNetNtryAmt>997.62</TtlNetNtryAmt><CdtDbtInd>CRDT</CdtDbtInd>'
  assert.ok(text.includes(`<TtlNtries><NbOfNtries>4</NbOfNtries><Sum>1002.62</Sum>${net}</TtlNtries>`), text)
})

test('each version says the same to a reader of bank statements', async () => {
  for (const [format, version] of [
    ['camt.053', '08'],
    ['camt.053.001.02', '02'],
  ] as const) {
    const { versions, balances, entries } = await readBack((await statement(format)).text)
    assert.deepEqual([versions, balances], [[version], [0n, 997_62n]], format)
    assert.deepEqual(
      entries.map(({ amount, isCredit }) => [amount.minor, isCredit]),
      [
        [1000_01n, true],
        [2_50n, false],
        [5n, true],
        [6n, true],
      ],
      format,
    )
  }
})
