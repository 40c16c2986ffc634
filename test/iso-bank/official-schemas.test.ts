/**
 * Validates messages of the service by the official schemas, and reads files of real banks. Both are in SAMPLES_DIR, outside the
 * repository (its own are in `service/src/iso20022`).
 */
import assert from 'node:assert/strict'
import { createReadStream, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { messages, readerOf } from '../../scripts/iso-documents.ts'
import { messagesIn, ownSchemas, schemaErrors } from '../support/iso-schemas.ts'
import { samplesFolder } from '../support/samples.ts'
import {
  camt053Xml,
  type BankStatement,
  type Camt053Version,
  MessageProblem,
  recogniseMessage,
} from '../../service/src/iso20022/index.ts'

const samples = samplesFolder
const official = samples === undefined ? undefined : join(samples, 'iso20022', 'schemas')
const skip =
  samples === undefined ? 'SAMPLES_DIR is not set: it has the official schemas and files of real banks' : false
const schemas = official === undefined ? [ownSchemas] : [ownSchemas, official]

for (const [title, arbitrary] of Object.entries(messages))
  test(`${title}: every generated message is valid by the official schema`, { skip }, async () => {
    const written = fc.sample(arbitrary, { numRuns: 100, seed: 25 })
    assert.ok(written.length > 0)
    for (const [name, some] of Map.groupBy(written, (message) => message.name))
      assert.deepEqual(
        await schemaErrors(
          name,
          some.map(({ xml }) => xml),
          official,
          'ISO',
        ),
        [],
      )
  })

/** The largest amounts of the schema, which allows 18 digits for amounts and sums. */
const most = 10n ** 18n - 1n
const side = { name: 'Łódź & <Söhne> \u{1f600} '.repeat(10), account: 'NL91ABNA0417164300' }
const payments = [
  { endToEndId: "Rent/11 'x'", userReference: 'Rent', ...side },
  { endToEndId: null, userReference: 'x'.repeat(140), name: side.name, account: null },
  { endToEndId: 'y'.repeat(36), userReference: '', name: '', account: '0x'.repeat(30) },
  undefined,
] as const
async function statementOf(
  amounts: readonly bigint[],
  opening: bigint,
  version: Camt053Version = '08',
): Promise<string> {
  const at = new Date('2026-11-24T00:00:00Z')
  const credits = amounts.filter((amount) => amount > 0n).reduce((sum, amount) => sum + amount, 0n)
  const debits = -amounts.filter((amount) => amount < 0n).reduce((sum, amount) => sum + amount, 0n)
  const entries = amounts.map((amount, index) => ({
    id: `E${index}`,
    amount,
    bookedAt: at.toISOString(),
    code: ['PMNT', 'RCDT', 'OTHR'] as const,
    reference: 'R',
    payment: payments[index % payments.length],
    text: 'T',
  }))
  const statement: BankStatement = {
    version,
    id: 'S1',
    createdAt: at,
    period: { from: at, to: at },
    account: { id: 'A1', currency: 'EUR', ownerName: 'Ada' },
    opening,
    closing: opening + credits - debits,
    lines: amounts.length,
    credits,
    debits,
    creditLines: amounts.filter((amount) => amount > 0n).length,
    entries: async function* all() {
      yield entries
    },
  }
  return (await Array.fromAsync(camt053Xml(statement))).join('')
}

test('a statement with amounts of 18 digits is valid although its sums are longer', async () => {
  const statements = [
    [[most], 0n],
    [[most, most], -most],
    [[most, -most, most], -1n],
    [[-most, -most], most],
    [[1n, -1n, 2n, -2n, 3n, -3n, 4n, -4n].flatMap((one) => [one, one, one]), 0n],
  ] as const
  const written = (version: Camt053Version) =>
    Promise.all(statements.map(([amounts, opening]) => statementOf(amounts, opening, version)))
  const documents = await written('08')
  if (official !== undefined) assert.deepEqual(await schemaErrors('camt.053.001.02', await written('02'), official), [])
  for (const folder of schemas) assert.deepEqual(await schemaErrors('camt.053.001.08', documents, folder), [])
  assert.match(documents[0] ?? '', /<TtlNtries><NbOfNtries>1<\/NbOfNtries><Sum>9999999999999999\.99<\/Sum><TtlNetNtry>/)
  assert.match(documents[1] ?? '', /<TtlNtries><NbOfNtries>2<\/NbOfNtries><\/TtlNtries>/)
})

test(
  'each file of a real bank is parsed, or refused with the line, and every file valid by its schema is parsed',
  { skip },
  async (context) => {
    const folder = join(samples ?? '', 'iso20022', 'files')
    const problems = new Map<string, string>()
    const byName = new Map<string, string[]>()
    const present = new Set(messagesIn(official ?? ownSchemas))
    const files = readdirSync(folder)
    assert.ok(files.length > 100)
    for (const file of files) {
      const path = join(folder, file)
      const name = /xsd:((?:pain|camt)\.\d{3}\.\d{3}\.\d{2})\b/.exec(readFileSync(path, 'latin1'))?.[1] ?? ''
      if (present.has(name)) byName.set(name, [...(byName.get(name) ?? []), file])
      try {
        const read = readerOf((await recogniseMessage(createReadStream(path)))?.kind)
        if (read === undefined) problems.set(file, 'is no message that is known')
        else await read(createReadStream(path))
      } catch (error) {
        assert.ok(error instanceof MessageProblem, `${file}: ${String(error)}`)
        problems.set(file, `${error.code}, line ${error.line}: ${error.message}`)
      }
    }
    let valid = 0
    for (const [name, some] of byName) {
      const errors = await schemaErrors(
        name,
        some.map((file) => readFileSync(join(folder, file), 'utf8')),
        official,
        'ISO',
      )
      const wrong = new Set(errors.flatMap((text) => /-(\d+)\.xml/.exec(text)?.[1] ?? []).map(Number))
      valid += some.length - wrong.size
      // Version 1 of account reports has other elements and is not supported.
      for (const [index, file] of some.entries())
        if (!wrong.has(index) && !name.endsWith('.01')) assert.equal(problems.get(file), undefined, file)
    }
    context.diagnostic(
      `${files.length} files: ${files.length - problems.size} are read, ${problems.size} refused; ${valid} are valid by their schema`,
    )
    for (const [file, problem] of problems) context.diagnostic(`${file}: ${problem}`)
  },
)
