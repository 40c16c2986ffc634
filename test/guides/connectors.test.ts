/** The code of the connector guide is the code of the example. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { callTimeoutMsMax } from '../../service/src/rails/index.ts'

const root = new URL('../../', import.meta.url)
const guide = readFileSync(new URL('docs/guides/connectors.md', root), 'utf8')

test('each block of code stands in the file that it names', () => {
  const fences = guide.match(/^```ts$/gm) ?? []
  const blocks = [...guide.matchAll(/^<!-- (\S+) -->\n```ts\n([\s\S]*?)^```$/gm)]
  assert.equal(blocks.length, fences.length, 'each block names its file')
  assert.equal(blocks.length, 10)
  for (const [, path = '', code = ''] of blocks)
    assert.ok(readFileSync(new URL(path, root), 'utf8').includes(code), `${path} has no longer:\n${code}`)
})

test('the guide states the longest time of a call', () => {
  assert.match(guide, new RegExp(`At most ${callTimeoutMsMax.toLocaleString('en')}`))
})
