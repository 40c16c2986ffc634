/** Lists in the three formats are read whole, or refused. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { MessageProblem, type ProblemCode } from '../../iso20022/index.ts'
import { readSanctionsList } from './read.ts'

const sample = (name: string) => readFile(new URL(`../samples/${name}.xml`, import.meta.url), 'utf8')

/** Chunks of a few bytes cut tags and characters. */
async function* chunks(text: string, bytesMax = 7): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text)
  for (let from = 0; from < bytes.length; from += bytesMax) yield bytes.subarray(from, from + bytesMax)
}
const read = (text: string) => readSanctionsList(chunks(text))

test('the UN list has individuals and entities with their aliases', async () => {
  const { source, publishedAt, hash, entries } = await read(await sample('un'))
  assert.deepEqual([source, publishedAt.toISOString()], ['un', '2026-01-05T00:00:01.000Z'])
  assert.match(hash, /^[0-9a-f]{64}$/)
  assert.deepEqual(entries[0], {
    id: '9100001',
    reference: 'XXi.001',
    kind: 'person',
    names: [
      { text: 'Borislav Tremurov', quality: 'primary' },
      { text: 'Борислав Тремуров', quality: 'good' },
      { text: 'Boris Tremuroff', quality: 'good' },
      { text: 'B. Tremurov', quality: 'good' },
      { text: 'Borko', quality: 'weak' },
    ],
    births: ['1961-04-12', 'circa 1962', '1963 to 1964'],
    programmes: ['Invented-1'],
    countries: ['BG', 'IR', 'Nowhere'],
    documents: [{ type: 'Passport', number: 'ZZ0000001', country: 'BG' }],
    addresses: ['1 Invented Street, Tehran, Iran (Islamic Republic of)'],
  })
  assert.deepEqual(
    entries.map(({ id, kind, names: [name] }) => [id, kind, name?.text]),
    [
      ['9100001', 'person', 'Borislav Tremurov'],
      ['9100002', 'person', 'Qadir Yusuf al-Zhabari'],
      ['9200001', 'organisation', 'ORVANDAR & SONS SHIPPING COMPANY'],
    ],
  )
})

test('the EU list has whole names, or their parts', async () => {
  const { source, publishedAt, entries } = await read(await sample('eu'))
  assert.deepEqual([source, publishedAt.toISOString()], ['eu', '2026-01-06T13:11:02.000Z'])
  assert.deepEqual(entries, [
    {
      id: '9001',
      reference: 'EU.9001.1',
      kind: 'person',
      names: [
        { text: 'Milivoj Drakšić', quality: 'primary' },
        { text: 'Miljko Draksic', quality: 'good' },
        { text: 'Mile', quality: 'weak' },
      ],
      births: ['1970-02-28', 'circa 1971'],
      programmes: ['XXA'],
      countries: ['RS'],
      documents: [{ type: 'National passport', number: 'ZZ0000002', country: 'RS' }],
      addresses: ['2 Invented Street, 11000, Belgrade'],
    },
    {
      id: '9002',
      reference: 'EU.9002.7',
      kind: 'organisation',
      names: [{ text: 'Falzin Petroleum JSC', quality: 'primary' }],
      births: [],
      programmes: ['XXB'],
      countries: [],
      documents: [],
      addresses: [],
    },
  ])
})

test("OFAC's list has persons, organisations, ships and aircraft", async () => {
  const { source, publishedAt, entries } = await read(await sample('ofac'))
  assert.deepEqual([source, publishedAt.toISOString()], ['ofac', '2026-01-07T00:00:00.000Z'])
  assert.deepEqual(
    entries.map(({ id, kind, names, births, programmes }) => [
      id,
      kind,
      names.map(({ text }) => text),
      births,
      programmes,
    ]),
    [
      ['99001', 'person', ['Hadi Mehrab KASHVAND', 'Haadi KASHWAND', 'HADI'], ['07 Oct 1954'], ['XXX', 'XXY']],
      ['99002', 'organisation', ['VELMORA AIRLINES'], [], ['XXX']],
      ['99003', 'other', ['NORTHERN VELMORA'], [], []],
    ],
  )
  // Without an address there is no field, so that the digests of older versions stay.
  assert.deepEqual(
    entries.map((entry) => ('wallets' in entry ? entry.wallets : 'none')),
    ['none', ['0x00000000000000000000000000000000000Ba5Ed'], 'none'],
  )
  assert.deepEqual(
    entries.map((entry) => entry.craft),
    [undefined, undefined, { kind: 'vessel', imoNumbers: ['9999993'] }],
  )
})

test('a number of a vessel that is none, and one of an organisation, are left out; an aircraft has no number', async () => {
  const text = await sample('ofac')
  const crafts = async (changed: string) => {
    assert.notEqual(changed, text)
    return (await read(changed)).entries.flatMap(({ craft }) => craft ?? [])
  }
  assert.deepEqual(await crafts(text.replace('IMO 9999993', 'IMO 9999994')), [{ kind: 'vessel', imoNumbers: [] }])
  assert.deepEqual(await crafts(text.replace('VELMORA 1', 'IMO 9999993')), [
    { kind: 'vessel', imoNumbers: ['9999993'] },
  ])
  const aircraft = text.replace('>Vessel<', '>Aircraft<').replace('IMO 9999993', 'XX-1')
  assert.deepEqual(await crafts(aircraft), [{ kind: 'aircraft', imoNumbers: [] }])
})

const refusals: readonly (readonly [
  title: string,
  list: string,
  change: (text: string) => string,
  code: ProblemCode,
])[] = [
  ['a cut file', 'un', (text) => text.slice(0, -30), 'not_whole'],
  ['no record', 'eu', (text) => text.replace(/<sanctionEntity[\s\S]*<\/sanctionEntity>/, ''), 'not_in_schema'],
  ['another number of records than it says', 'ofac', (text) => text.replace('>3<', '>4<'), 'not_whole'],
  ['a record without a name', 'eu', (text) => text.replace(/<nameAlias wholeName="Falzin[^>]*>/, ''), 'not_in_schema'],
  ['a record without a key', 'un', (text) => text.replace('<DATAID>9100002</DATAID>', ''), 'not_in_schema'],
  ['a key twice', 'un', (text) => text.replace('9100002', '9100001'), 'not_in_schema'],
  ['no time of publication', 'eu', (text) => text.replace(/generationDate="[^"]*"/, ''), 'not_in_schema'],
  ['a time that is none', 'ofac', (text) => text.replace('01/07/2026', '13/45/2026'), 'not_in_schema'],
  ['a kind of record that is not known', 'un', (text) => text.replaceAll('ENTITY>', 'GROUP>'), 'not_in_schema'],
  ['a part that is not known', 'un', (text) => text.replaceAll('ENTITIES>', 'constructor>'), 'not_in_schema'],
  ['a document type', 'eu', (text) => text.replace('<export', '<!DOCTYPE export><export'), 'doctype'],
  ['another document', 'eu', () => '<Document/>', 'unknown_message'],
  ['no document', 'eu', () => '', 'not_whole'],
]

for (const [title, list, change, code] of refusals)
  test(`a list with ${title} is refused`, async () => {
    const text = await sample(list)
    const changed = change(text)
    assert.notEqual(changed, text)
    await assert.rejects(read(changed), (error: unknown) => {
      assert(error instanceof MessageProblem)
      assert.equal(error.code, code, error.message)
      return true
    })
  })
