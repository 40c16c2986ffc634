/** Joins the fenced code blocks of one language in a guide into one program. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'

const fence = /^```(\w+)\n([\s\S]*?)^```$/gm

/** Requires that the guide has `count` blocks: one without its language would be left out. */
export function programOf(file: URL, language: string, count: number): string {
  const blocks = [...readFileSync(file, 'utf8').matchAll(fence)]
    .filter(([, name]) => name === language)
    .map(([, , code]) => code ?? '')
  assert.equal(blocks.length, count)
  return blocks.join('\n')
}
