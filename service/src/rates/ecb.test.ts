import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { readEcbSheet, sheetBytesMax } from './ecb.ts'
import { rateText } from './rate.ts'

const now = new Date('2026-11-20T16:00:00Z')

/** Sheet as the bank publishes it. */
const sheet = (
  rates = ['USD 1.0823', 'JPY 162.05', 'GBP 0.8532'],
  time = '2026-11-20',
) => `<?xml version="1.0" encoding="UTF-8"?>
<gesmes:Envelope xmlns:gesmes="http://www.gesmes.org/xml/2002-08-01" xmlns="http://www.ecb.int/vocabulary/2002-08-01/eurofxref">
	<gesmes:subject>Reference rates</gesmes:subject>
	<gesmes:Sender>
		<gesmes:name>European Central Bank</gesmes:name>
	</gesmes:Sender>
	<Cube>
		<Cube time='${time}'>
${rates.map((each) => `			<Cube currency='${each.split(' ')[0]}' rate='${each.split(' ')[1]}'/>`).join('\n')}
		</Cube>
	</Cube>
</gesmes:Envelope>`

test('a sheet has the time of its publication and the rates of our currencies', () => {
  const { asOf, quotes } = readEcbSheet(sheet(), now)
  assert.equal(asOf.toISOString(), '2026-11-20T14:00:00.000Z')
  assert.deepEqual(Object.keys(quotes), ['USD', 'GBP'])
  assert.equal(quotes.USD && rateText(quotes.USD), '1.0823')
})

test('a currency that the sheet lacks has no rate', () => {
  assert.equal(readEcbSheet(sheet(['USD 1.0823']), now).quotes.GBP, undefined)
})

test('every part of a sheet is refused', () => {
  const text = sheet()
  for (let length = 0; length < text.length; length += 1)
    assert.throws(() => readEcbSheet(text.slice(0, length), now), /no sheet of rates/, String(length))
})

suite('a source that lies is refused as a whole', () => {
  const lies: Readonly<Record<string, string>> = {
    'a rate of zero': sheet(['USD 0', 'GBP 0.85']),
    'a negative rate': sheet(['USD -1.08', 'GBP 0.85']),
    'a rate that is no number': sheet(['USD NaN', 'GBP 0.85']),
    'a rate beyond every number': sheet(['USD 1e400', 'GBP 0.85']),
    'a rate of a currency that we do not have': sheet(['USD 1.08', 'JPY 0']),
    'a currency twice': sheet(['USD 1.08', 'USD 1.09']),
    'a rate without a currency': sheet().replace("currency='USD' ", ''),
    'a currency without a rate': sheet().replace(" rate='1.0823'", ''),
    'no rates': sheet([]),
    'no date': sheet().replace(" time='2026-11-20'", ''),
    'two dates': sheet().replace('<Cube>', "<Cube time='2026-11-19'>"),
    'a date that is none': sheet(undefined, '2026-02-30'),
    'a date in another form': sheet(undefined, '20.11.2026'),
    'a date that has not come': sheet(undefined, '2026-11-22'),
    'a document type': sheet().replace('?>', '?><!DOCTYPE a [<!ENTITY b "c">]>'),
    'an entity': sheet(['USD &b;']),
    'an entity that grows': sheet().replace(
      '?>',
      `?><!DOCTYPE a [<!ENTITY b0 "x">${Array.from({ length: 20 }, (_, at) => `<!ENTITY b${at + 1} "&b${at};&b${at};">`).join('')}]>`,
    ),
    'a page of an error': '<!doctype html><html><body><h1>503 Service Unavailable</h1></body></html>',
    'a page without a document type': '<html><body>Service unavailable</body></html>',
    'a text': 'Service unavailable',
    nothing: '',
    'something behind the sheet': `${sheet()}<Cube/>`,
    JSON: '{"rates":{"USD":1.08}}',
    'too much': sheet(Array.from({ length: 3000 }, () => 'USD 1.08')),
    'too many elements': sheet().replace('<Cube>', `<Cube>${'<a/>'.repeat(600)}`),
    'deep nesting': sheet().replace('<Cube>', `<Cube>${'<a>'.repeat(20)}${'</a>'.repeat(20)}`),
    'a sheet longer than any': `${sheet()}${' '.repeat(sheetBytesMax)}`,
  }
  for (const [name, text] of Object.entries(lies))
    test(name, () => assert.throws(() => readEcbSheet(text, now), /no sheet of rates/))
})
