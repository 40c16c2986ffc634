/** Reading of lists in each format: completely or not at all. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { suite, test } from 'node:test'
import { MessageProblem, type ProblemCode } from '../../iso20022/index.ts'
import { readSanctionsList } from './read.ts'
import { pepSource } from './entry.ts'
import { readPepList } from './peps.ts'

/** Yields chunks of a few bytes, which cut tags and characters. */
async function* chunks(text: string, bytesMax = 7): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text)
  for (let from = 0; from < bytes.length; from += bytesMax) yield bytes.subarray(from, from + bytesMax)
}
const sample = (name: string) => readFile(new URL(`../samples/${name}`, import.meta.url), 'utf8')
const advanced = await sample('ofac-advanced.xml')
const peps = await sample('peps.csv')

suite('sanctions lists', () => {
  const read = (text: string) => readSanctionsList(chunks(text))

  test('the UN list has individuals and entities with their aliases', async () => {
    const { source, publishedAt, hash, entries } = await read(await sample('un.xml'))
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

  test('the EU list has whole names or parts of names', async () => {
    const { source, publishedAt, entries } = await read(await sample('eu.xml'))
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

  test("OFAC's list has people, organisations, ships and aircraft", async () => {
    const { source, publishedAt, entries } = await read(await sample('ofac.xml'))
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
    // The field is absent without addresses, so that the digests of earlier versions stay.
    assert.deepEqual(
      entries.map((entry) => ('wallets' in entry ? entry.wallets : 'none')),
      ['none', ['0x00000000000000000000000000000000000Ba5Ed'], 'none'],
    )
    assert.deepEqual(
      entries.map((entry) => entry.craft),
      [undefined, undefined, { kind: 'vessel', imoNumbers: ['9999993'] }],
    )
  })

  test('invalid vessel numbers and numbers of organisations are left out, and aircraft do not have numbers', async () => {
    const text = await sample('ofac.xml')
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
    ['a number of records other than stated', 'ofac', (text) => text.replace('>3<', '>4<'), 'not_whole'],
    [
      'a record without a name',
      'eu',
      (text) => text.replace(/<nameAlias wholeName="Falzin[^>]*>/, ''),
      'not_in_schema',
    ],
    ['a record without a key', 'un', (text) => text.replace('<DATAID>9100002</DATAID>', ''), 'not_in_schema'],
    ['a key twice', 'un', (text) => text.replace('9100002', '9100001'), 'not_in_schema'],
    ['no publication time', 'eu', (text) => text.replace(/generationDate="[^"]*"/, ''), 'not_in_schema'],
    ['an invalid time', 'ofac', (text) => text.replace('01/07/2026', '13/45/2026'), 'not_in_schema'],
    ['an unknown kind of record', 'un', (text) => text.replaceAll('ENTITY>', 'GROUP>'), 'not_in_schema'],
    ['an unknown part', 'un', (text) => text.replaceAll('ENTITIES>', 'constructor>'), 'not_in_schema'],
    ['a document type', 'eu', (text) => text.replace('<export', '<!DOCTYPE export><export'), 'doctype'],
    ['another document', 'eu', () => '<Document/>', 'unknown_message'],
    ['no document', 'eu', () => '', 'not_whole'],
  ]

  for (const [title, list, change, code] of refusals)
    test(`a list with ${title} is refused`, async () => {
      const text = await sample(`${list}.xml`)
      const changed = change(text)
      assert.notEqual(changed, text)
      await assert.rejects(read(changed), (error: unknown) => {
        assert(error instanceof MessageProblem)
        assert.equal(error.code, code, error.message)
        return true
      })
    })
})

suite('SDN_ADVANCED.XML', () => {
  const read = (text: string, bytesMax?: number) => readSanctionsList(chunks(text, bytesMax))

  /** Changes a text of the sample. Fails if the sample does not contain it, so that the test cannot pass by accident. */
  function changed(from: string | RegExp, to: string): string {
    const text = advanced.replace(from, to)
    assert.notEqual(text, advanced)
    return text
  }

  const refused = (text: string, problem: RegExp, code = 'not_in_schema') =>
    assert.rejects(read(text, 4096), (error: unknown) => {
      assert.ok(error instanceof MessageProblem, String(error))
      assert.equal(error.code, code)
      assert.match(error.message, problem)
      assert.ok(error.line >= 1)
      return true
    })

  test('names have their parts in order, the primary one first, with the original script', async () => {
    const { source, publishedAt, entries } = await read(advanced)
    assert.deepEqual([source, publishedAt.toISOString()], ['ofac', '2026-01-07T00:00:00.000Z'])
    assert.deepEqual(entries[0], {
      id: '99001',
      reference: '99001',
      kind: 'person',
      names: [
        { text: 'Hadi Mehrab KASHVAND', quality: 'primary' },
        { text: 'کشوند هادی', quality: 'good' },
        { text: 'Haadi KASHWAND', quality: 'good' },
        { text: 'HADI', quality: 'weak' },
      ],
      births: ['07 Oct 1954'],
      programmes: ['XXX', 'XXY'],
      countries: ['IR', 'KP', 'SY'],
      documents: [{ type: 'Passport', number: 'X0000000', country: 'IR' }],
      addresses: ['3 Invented Street, Damascus, Syria'],
    })
  })

  test('both files of OFAC have the same keys, kinds, births and programmes', async () => {
    const [simple, full] = await Promise.all([read(await sample('ofac.xml')), read(advanced)])
    const latin = /^[\u0020-\u024f]+$/
    assert.deepEqual(
      full.entries.map(({ names, ...entry }) => ({ ...entry, names: names.filter(({ text }) => latin.test(text)) })),
      simple.entries.map(({ names, ...entry }) => ({ ...entry, names })),
    )
  })

  const day = (year: number, month?: number, dayOfMonth?: number) =>
    `<Year>${year}</Year>${month === undefined ? '' : `<Month>${month}</Month>`}${dayOfMonth === undefined ? '' : `<Day>${dayOfMonth}</Day>`}`
  const period = (from: string, to: string | undefined, isApproximate = false) =>
    `<DatePeriod><Start Approximate="${isApproximate}"><From>${from}</From></Start>${to === undefined ? '' : `<End><To>${to}</To></End>`}</DatePeriod>`
  const births: readonly (readonly [shown: string, period: string])[] = [
    ['1954', period(day(1954, 1, 1), day(1954, 12, 31))],
    ['1954', period(day(1954), undefined)],
    ['Feb 1956', period(day(1956, 2, 1), day(1956, 2, 29))],
    ['Feb 1955', period(day(1955, 2), undefined)],
    ['circa 1948', period(day(1948, 1, 1), day(1948, 12, 31), true)],
    ['1955 to 1957', period(day(1955, 1, 1), day(1957, 12, 31))],
    ['26 Sep 1946 to 07 Dec 1946', period(day(1946, 9, 26), day(1946, 12, 7))],
  ]
  for (const [shown, xml] of births)
    test(`a date of birth is formatted as in SDN.XML: ${shown} for ${xml.replaceAll(/<[^>]*>/g, ' ').trim()}`, async () => {
      const { entries } = await read(changed(/<DatePeriod CalendarTypeID="1" [\s\S]*?<\/DatePeriod>/, xml), 4096)
      assert.deepEqual(entries[0]?.births, [shown])
    })

  test('the name of a party of an unknown type is compared, and that of a ship is not', async () => {
    const { entries } = await read(changed('>Entity<', '>Other Entity<'), 4096)
    assert.deepEqual(
      entries.map(({ kind }) => kind),
      ['person', 'organisation', 'other'],
    )
  })

  test('an IMO number belongs to the party that the identity of its document refers to, and only to vessels and aircraft', async () => {
    const craftsOf = async (text: string) => (await read(text, 4096)).entries.map(({ craft }) => craft)
    const none = { kind: 'vessel', imoNumbers: [] }
    assert.deepEqual(await craftsOf(changed('IdentityID="7003"><ID', 'IdentityID="7002"><ID')), [
      undefined,
      undefined,
      none,
    ])
    assert.deepEqual(await craftsOf(changed('>IMO 9999993<', '>IMO 9999994<')), [undefined, undefined, none])
    const aircraft = changed('>Vessel</PartySubType>', '>Aircraft</PartySubType>').replace('>IMO 9999993<', '>MSN 1<')
    assert.deepEqual(await craftsOf(aircraft), [undefined, undefined, { kind: 'aircraft', imoNumbers: [] }])
    assert.deepEqual(await craftsOf(changed('>Vessel</PartySubType>', '>Train</PartySubType>')), [
      undefined,
      undefined,
      undefined,
    ])
  })

  const wrong: readonly (readonly [title: string, from: string | RegExp, to: string, problem: RegExp])[] = [
    ['a later version', 'Version="3"', 'Version="4"', /version of the format is "4"/],
    ['no version', 'Version="3" ', '', /version of the format is ""/],
    ['a missing type of party', 'PartySubTypeID="4"', 'PartySubTypeID="7"', /PartySubType "7"/],
    ['a type of party with a missing own type', 'PartyTypeID="1"', 'PartyTypeID="9"', /PartyType "9"/],
    ['a part of a name in no group', 'NamePartGroupID="601"', 'NamePartGroupID="999"', /group "999"/],
    ['a missing type of name part', 'NamePartTypeID="1520"', 'NamePartTypeID="1"', /NamePartType "1"/],
    ['a missing script', 'ScriptID="215"', 'ScriptID="1"', /Script "1"/],
    ['a missing feature', 'FeatureTypeID="8"', 'FeatureTypeID="80"', /FeatureType "80"/],
    ['a sanction of a missing party', 'ProfileID="99003"', 'ProfileID="99004"', /profile "99004"/],
    ['a missing list', 'ListID="1550"', 'ListID="1"', /List "1"/],
    ['a measure of a missing type', 'SanctionsTypeID="1705"', 'SanctionsTypeID="2"', /SanctionsType "2"/],
    ['a profile twice', 'Profile ID="99002"', 'Profile ID="99001"', /"99001" stands in the file twice/],
    [
      'a party twice',
      'DistinctParty FixedRef="99002"',
      'DistinctParty FixedRef="99001"',
      /99001 stands in the list twice/,
    ],
    [
      'a party without sanctions',
      /<SanctionsEntry ID="3"[\s\S]*?<\/SanctionsEntry>/,
      '',
      /99003 is not on the SDN List/,
    ],
    [
      'a party of another list',
      'ID="3" ProfileID="99003" ListID="1550"',
      'ID="3" ProfileID="99003" ListID="1551"',
      /99003/,
    ],
    ['a party without a name', />NORTHERN VELMORA</, '><', /99003 has no name/],
    ['a birth without a year', '<Year>1954</Year>', '', /From has no year/],
    ['a birth in an invalid month', '<Month>10</Month>', '<Month>13</Month>', /Month is "13"/],
    ['no date of issue', /<DateOfIssue[\s\S]*?<\/DateOfIssue>/, '', /when it was published/],
    ['an unknown part', /<ProfileRelationships>|<\/ProfileRelationships>/g, '', /ProfileRelationship/],
  ]
  for (const [title, from, to, problem] of wrong)
    test(`a file with ${title} is refused`, () => refused(changed(from, to), problem))

  test('a truncated file is refused, wherever it ends', async () => {
    for (let end = 100; end < advanced.trimEnd().length; end += 997)
      await assert.rejects(read(advanced.slice(0, end), 4096), MessageProblem)
  })

  test('many places are accepted because they are not kept in memory, and a party beyond the limit of a record is refused', async () => {
    const places = '<Location ID="1"><LocationCountry CountryID="11000"/></Location>'.repeat(30_000)
    const { entries } = await read(changed('</Locations>', `${places}</Locations>`), 65_536)
    assert.equal(entries.length, 3)
    const comments = '<Comment/>'.repeat(20_001)
    await refused(changed('<Comment/>', comments), /more than 20000 elements/, 'too_large')
  })
})

suite('politically exposed persons', () => {
  async function* chunks(bytes: Uint8Array, bytesMax: number): AsyncGenerator<Uint8Array> {
    for (let from = 0; from < bytes.length; from += bytesMax) yield bytes.subarray(from, from + bytesMax)
  }
  const readBytes = (bytes: Uint8Array, bytesMax = 7) => readPepList(chunks(bytes, bytesMax), 'pep:invented')
  const read = (text: string) => readBytes(Buffer.from(text))

  test('a list has people with aliases, and single words are weak, except in Japanese characters', async () => {
    const { source, publishedAt, hash, entries } = await read(peps)
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

  test('columns may be in any order among others, and lines may end with CR LF', async () => {
    const text =
      'last_seen,dataset,x,countries,birth_date,aliases,name,schema,id\r\n2022-07-25 06:13:21,D,"a,\n""b""",se,,,Ott Varlund,Person,1\r\n'
    const { publishedAt, entries } = await read(text)
    assert.equal(publishedAt.toISOString(), '2022-07-25T06:13:21.000Z')
    assert.deepEqual(
      entries.map(({ id, names }) => [id, names[0]?.text]),
      [['1', 'Ott Varlund']],
    )
  })

  const [head = '', first = ''] = peps.split('\n')
  const refusals: readonly (readonly [title: string, text: string, problem: RegExp, code?: string])[] = [
    ['no records', `${head}\n`, /no records/],
    ['no column of names', peps.replace('"name"', '"caption"'), /has no column name: use targets.simple.csv/],
    [
      'another number of fields',
      peps.replace('"Person","Drenko"', '"Drenko"'),
      /a record has 15 fields, and the first line 16/,
    ],
    ['a record without a key', peps.replace('"xx-pep-1"', '""'), /a record has no key/],
    ['a key twice', `${peps}${first}\n`, /xx-pep-1 stands in the list twice/],
    ['a record without a name', peps.replace('"Drenko","Drenko Zavratnik"', '"",""'), /xx-pep-2 has no name/],
    ['no time', peps.replace('2026-01-08T04:00:05', 'today'), /last_seen is "today"/],
    ['a quote within a field', peps.replace('"Varlund, ', '"Var"lund, '), /a quote stands within a field/],
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

  test('a file truncated within a record is refused, wherever it ends', async () => {
    const bytes = Buffer.from(peps)
    const ends = [...bytes.keys()].filter((index) => bytes[index] === 10)
    for (let end = head.length + 2; end < bytes.length; end += 1)
      if (!ends.includes(end - 1)) await assert.rejects(readBytes(bytes.subarray(0, end), 4096), MessageProblem)
  })

  test('only valid list names are accepted', () => {
    assert.equal(pepSource('eu_cor-2'), 'pep:eu_cor-2')
    for (const name of ['', 'EU', 'a b', '-a', 'a'.repeat(41), '%']) assert.equal(pepSource(name), undefined, name)
  })
})
