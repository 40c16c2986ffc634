import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Columns, writeCsv, exportRowsMax } from './list-export.ts'

type Row = { readonly name: string; readonly amount: string; readonly at: string }
const columns: Columns<Row> = [
  ['Name', ({ name }) => name],
  ['Amount', ({ amount }) => ({ amount })],
  ['Created (UTC)', ({ at }) => ({ at })],
  ['Note', () => undefined],
]
const row = { name: 'Grace', amount: '1250.50', at: '2026-11-29T08:07:06.500Z' }
const pageOf = (count: number, nextCursor: string | null, given: Row = row) => ({
  data: Array.from({ length: count }, () => given),
  nextCursor,
})
const linesOf = (text: string | undefined) => text?.trimEnd().split('\r\n') ?? []

test('a file has every page up to the limit, and more rows are refused before all are read', async () => {
  const cursors: (string | undefined)[] = []
  const read = (pages: number, rows: number) => async (cursor: string | undefined) => {
    cursors.push(cursor)
    const at = Number(cursor ?? 0) + 1
    return pageOf(rows, at < pages ? String(at) : null)
  }
  const whole = await writeCsv('en', columns, read(exportRowsMax / 100, 100))
  assert.equal(linesOf(whole).length, exportRowsMax + 1)
  cursors.length = 0
  assert.equal(await writeCsv('en', columns, read(1_000_000, 100)), undefined)
  assert.equal(cursors.length, exportRowsMax / 100 + 1)
  assert.equal(linesOf(await writeCsv('en', columns, read(1, 0))).length, 1)
})

test('the export ends at an empty page, even if it has a cursor', async () => {
  let reads = 0
  const text = await writeCsv('en', columns, async () => pageOf(reads++ === 0 ? 2 : 0, 'more'))
  assert.equal(reads, 2)
  assert.equal(linesOf(text).length, 3)
})

test('a spreadsheet in the same language reads amounts and times', async () => {
  const read = async () => pageOf(1, null)
  assert.deepEqual(linesOf(await writeCsv('en', columns, read)), [
    '\ufeffName,Amount,Created (UTC),Note',
    'Grace,1250.50,2026-11-29 08:07:06,',
  ])
  assert.deepEqual(linesOf(await writeCsv('de', columns, read)), [
    '\ufeffName;Amount;Created (UTC);Note',
    'Grace;1250,50;2026-11-29 08:07:06;',
  ])
})

test('a name that a spreadsheet would run is disarmed, and a name with separators is quoted, in both languages', async () => {
  for (const language of ['en', 'de'] as const)
    for (const [name, cell] of [
      ['=HYPERLINK("x")', `"'=HYPERLINK(""x"")"`],
      ['+49 30', "'+49 30"],
      ['a;=1', `"a;'=1"`],
      ['Müller, GmbH', '"Müller, GmbH"'],
    ] as const) {
      const [, line = ''] = linesOf(await writeCsv(language, columns, async () => pageOf(1, null, { ...row, name })))
      assert.ok(line.startsWith(`${cell}${language === 'de' ? ';' : ','}`), line)
    }
})
