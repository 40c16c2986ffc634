/** Samples of banks in the encodings that banks of Central Europe use: each is read as in UTF-8. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { chunks, reportParts } from '../../../scripts/iso-documents.ts'
import { recognise } from './index.ts'

/** The bytes of a text in an encoding of one byte a character. */
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

/** Names with letters of the encoding; those of ISO-8859-2 have other bytes in windows-1250. */
const names: Readonly<Record<string, string>> = {
  'windows-1250': 'Žižkovská „Šance“ Łódź €',
  'ISO-8859-2': 'Žižkovská Šance Łódź Őrség ľ ť',
  'ISO-8859-15': 'Škoda Žďár'.replace('ďá', 'dá'),
  'windows-1252': 'Müller “Söhne” €',
}

for (const [encoding, name] of Object.entries(names))
  test(`a statement in ${encoding} is read as the same in UTF-8`, async () => {
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
    assert.equal((await recognise(chunks(bytes)))?.kind, 'camt.053')
  })

test('bytes of windows-1250 that are declared as ISO-8859-2 are refused where they differ, not guessed', async () => {
  const text = body.replace(/<(\w*:?)Nm>[^<]*</, '<$1Nm>Š<')
  await assert.rejects(reportParts(chunks(encoded(declared('ISO-8859-2', text), 'windows-1250'))), { code: 'encoding' })
})
