import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { csvCell, csvCellOrAmount } from './csv-cell.ts'

/** The text of a cell as a reader of RFC 4180 has it. */
const read = (cell: string) => (cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell)
const formulaStart = /^[\s"']*[=+\-@\uff1d\uff0b\uff0d\uff20]/

test('no cell is a formula, whatever separates cells, and a text is only ever given apostrophes', () => {
  const part = fc.oneof(
    fc.constantFrom('', '=', '+', '-', '@', '\t', '\r', '\n', ';', '"', "'", ' =', '\uff1d'),
    fc.string(),
  )
  fc.assert(
    fc.property(fc.array(part, { maxLength: 6 }), (parts) => {
      const text = parts.join('')
      const shown = read(csvCell(text))
      assert.ok(!/^[\t\r\n]/.test(shown), JSON.stringify(shown))
      for (const cell of shown.split(/[;\t\r\n]/))
        assert.ok(!/^[=+\-@\uff1d\uff0b\uff0d\uff20]/.test(cell), JSON.stringify(shown))
      assert.equal(shown.replaceAll("'", ''), text.replaceAll("'", ''))
      if (!formulaStart.test(text) && !/[;\t\r\n]/.test(text)) assert.equal(shown, text)
    }),
  )
})

test('a cell is quoted where a comma, a semicolon, a tab, a quote or a line end is', () => {
  for (const [text, cell] of [
    ['Rent', 'Rent'],
    ['Rent, May', '"Rent, May"'],
    ['say "hi"', '"say ""hi"""'],
    ['a;b', '"a;b"'],
    ['a\tb', '"a\tb"'],
    ['=1+1', "'=1+1"],
    ['Invoice;=HYPERLINK("x")', '"Invoice;\'=HYPERLINK(""x"")"'],
    ['Invoice\n@x', '"Invoice\n\'@x"'],
    ['Invoice\t "-2', '"Invoice\t ""\'-2"'],
    ['a-b=c', 'a-b=c'],
  ] as const)
    assert.equal(csvCell(text), cell)
  assert.deepEqual(['-5.00', '-5.00x', '-', '+5'].map(csvCellOrAmount), ['-5.00', "'-5.00x", "'-", "'+5"])
})
