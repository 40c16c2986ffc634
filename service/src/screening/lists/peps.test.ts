/** Lists of politically exposed persons are read whole, or refused. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { MessageProblem } from '../../iso20022/index.ts'
import { pepSource } from './entry.ts'
import { readPepList } from './peps.ts'

const sample = await readFile(new URL('../samples/peps.csv', import.meta.url), 'utf8')

async function* chunks(bytes: Uint8Array, bytesMax: number): AsyncGenerator<Uint8Array> {
  for (let from = 0; from < bytes.length; from += bytesMax) yield bytes.subarray(from, from + bytesMax)
}
const readBytes = (bytes: Uint8Array, bytesMax = 7) => readPepList(chunks(bytes, bytesMax), 'pep:invented')
const read = (text: string) => readBytes(Buffer.from(text))

test('a list has persons with their aliases; a single word is weak, and names in Japanese characters are not', async () => {
  const { source, publishedAt, hash, entries } = await read(sample)
  assert.deepEqual([source, publishedAt.toISOString()], ['pep:invented', '2026-01-08T04:00:05.000Z'])
  assert.match(hash, /^[0-9a-f]{64}$/)
  assert.deepEqual(entries, [
    {
      id: 'xx-pep-1',
      reference: 'xx-pep-1',
      kind: 'person',
      names: [
        { text: 'Varlund, Ottilie', quality: 'primary' },
        { text: 'Ottilie "Otti" Varlund', quality: 'good' },
        { text: 'Оттилия Варлунд', quality: 'good' },
        { text: 'Otti', quality: 'weak' },
      ],
      births: ['1968-03-09'],
      programmes: ['Invented members of parliament', 'SE', 'NO'],
      countries: ['NO', 'SE'],
      documents: [],
      addresses: [],
    },
    {
      id: 'xx-pep-2',
      reference: 'xx-pep-2',
      kind: 'person',
      names: [
        { text: 'Drenko Zavratnik', quality: 'primary' },
        { text: 'Drenko', quality: 'weak' },
      ],
      births: ['1959', '1960-01-01'],
      programmes: ['Invented ministers', 'Invented mayors', 'SI'],
      countries: ['SI'],
      documents: [],
      addresses: [],
    },
    {
      id: 'xx-pep-3',
      reference: 'xx-pep-3',
      kind: 'person',
      names: [
        { text: '柳井沢 太一', quality: 'primary' },
        { text: '柳井沢太一', quality: 'good' },
      ],
      births: [],
      programmes: ['Invented members of parliament', 'JP'],
      countries: ['JP'],
      documents: [],
      addresses: [],
    },
  ])
})

test('columns may stand in another order, with others between them, and lines may end with two characters', async () => {
  const text =
    'last_seen,dataset,x,countries,birth_date,aliases,name,schema,id\r\n2022-07-25 06:13:21,D,"a,\n""b""",se,,,Ott Varlund,Person,1\r\n'
  const { publishedAt, entries } = await read(text)
  assert.equal(publishedAt.toISOString(), '2022-07-25T06:13:21.000Z')
  assert.deepEqual(
    entries.map(({ id, names }) => [id, names[0]?.text]),
    [['1', 'Ott Varlund']],
  )
})

const [head = '', first = ''] = sample.split('\n')
const refusals: readonly (readonly [title: string, text: string, problem: RegExp, code?: string])[] = [
  ['no records', `${head}\n`, /no records/],
  ['no column of names', sample.replace('"name"', '"caption"'), /has no column name: use targets.simple.csv/],
  [
    'another number of fields',
    sample.replace('"Person","Drenko"', '"Drenko"'),
    /a record has 15 fields, and the first line 16/,
  ],
  ['a record without a key', sample.replace('"xx-pep-1"', '""'), /a record has no key/],
  ['a key twice', `${sample}${first}\n`, /xx-pep-1 stands in the list twice/],
  ['a record without a name', sample.replace('"Drenko","Drenko Zavratnik"', '"",""'), /xx-pep-2 has no name/],
  ['no time', sample.replace('2026-01-08T04:00:05', 'today'), /last_seen is "today"/],
  ['a quote within a field', sample.replace('"Varlund, ', '"Var"lund, '), /a quote stands within a field/],
  ['the form of another list', '<CONSOLIDATED_LIST></CONSOLIDATED_LIST>\n', /has no column/],
]
for (const [title, text, problem, code = 'not_in_schema'] of refusals)
  test(`a file with ${title} is refused, with the line`, async () => {
    await assert.rejects(read(text), (error: unknown) => {
      assert.ok(error instanceof MessageProblem, String(error))
      assert.equal(error.code, code)
      assert.match(error.message, problem)
      assert.ok(error.line >= 1)
      return true
    })
  })

test('a file that is cut within a record is refused wherever it is cut', async () => {
  const bytes = Buffer.from(sample)
  const ends = [...bytes.keys()].filter((index) => bytes[index] === 10)
  for (let end = head.length + 2; end < bytes.length; end += 1)
    if (!ends.includes(end - 1)) await assert.rejects(readBytes(bytes.subarray(0, end), 4096), MessageProblem)
})

test('the name of a list has a form', () => {
  assert.equal(pepSource('eu_cor-2'), 'pep:eu_cor-2')
  for (const name of ['', 'EU', 'a b', '-a', 'a'.repeat(41), '%']) assert.equal(pepSource(name), undefined, name)
})
