/** Joins the fenced code blocks of one language in a guide into one program. */
import { readFileSync } from 'node:fs'

const fence = /^```(\w+)\n([\s\S]*?)^```$/gm

export type Program = { readonly text: string; readonly blocks: number }

export function programOf(file: URL, language: string): Program {
  const blocks = [...readFileSync(file, 'utf8').matchAll(fence)]
    .filter(([, name]) => name === language)
    .map(([, , code]) => code ?? '')
  return { text: blocks.join('\n'), blocks: blocks.length }
}
