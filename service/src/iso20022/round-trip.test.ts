/** Written messages are valid by the schema, and are read unchanged. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { chunks, messages } from '../../../scripts/iso-documents.ts'
import { schemaErrors } from '../../../test/support/iso-schemas.ts'
import { recognise } from './index.ts'

const numRuns = 150
const seed = 18

for (const [title, arbitrary] of Object.entries(messages)) {
  test(`${title}: every value is read as it was written, in chunks of any length`, async () => {
    await fc.assert(
      fc.asyncProperty(arbitrary, fc.integer({ min: 1, max: 200 }), async ({ value, xml, read, name }, length) => {
        const bytes = Buffer.from(xml)
        assert.deepEqual(await read(chunks(bytes)), value)
        assert.deepEqual(await read(chunks(bytes, length)), value)
        assert.deepEqual(await recognise(chunks(bytes, length)), { kind: name.slice(0, 8), version: name.slice(-2) })
      }),
      { numRuns, seed },
    )
  })

  test(`${title}: what is written is valid by our schema`, async () => {
    const written = fc.sample(arbitrary, { numRuns, seed })
    for (const name of new Set(written.map((message) => message.name))) {
      const documents = written.filter((message) => message.name === name).map(({ xml }) => xml)
      assert.deepEqual(await schemaErrors(name, documents), [])
      const [first = ''] = documents
      assert.notDeepEqual(await schemaErrors(name, [first.replace(/<(MsgId|Id)>/, '<Unknown/><$1>')]), [])
    }
  })
}
