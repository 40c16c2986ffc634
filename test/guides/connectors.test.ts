/** The guide to connectors agrees with the port and with the example that it explains. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { callTimeoutMsMax } from '../../service/src/rails/index.ts'

const root = new URL('../../', import.meta.url)
const read = (path: string) => readFileSync(new URL(path, root), 'utf8')
const guide = read('docs/guides/connectors.md')

test('each step of the guide refers to functions of the example', () => {
  const [, steps = ''] = /^## Write it$([\s\S]*?)^## /m.exec(guide) ?? []
  const names = [...steps.matchAll(/^- \*\*[^*]+\*\* \(([^)]+)\)/gm)].flatMap(
    ([, list = '']) => list.match(/\w+/g) ?? [],
  )
  assert.ok(names.length >= 8, names.join())
  const example = read('examples/connector/connector.ts')
  for (const name of names) assert.match(example, new RegExp(`\\b${name}\\b\\s*[:=(]`), name)
})

test('the guide states the longest time of a call', () => {
  assert.match(guide, new RegExp(`At most ${callTimeoutMsMax.toLocaleString('en')}`))
})
