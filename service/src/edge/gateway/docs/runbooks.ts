/** The runbooks of the repository, rendered for the operator's desk. */
import { readFile } from 'node:fs/promises'
import { posix } from 'node:path'
import { renderMarkdown } from './markdown.ts'

const folder = new URL('../../../../../docs/', import.meta.url)
const nameForm = /^(?:alerts\/)?[A-Za-z][A-Za-z-]*$/

/** The file of a runbook. Runbooks lead to the page of operations, which is beside their folder. */
const fileOf = (name: string): string => (name === 'operations' ? 'operations.md' : `runbooks/${name}.md`)

/** Leads from one runbook to another. A link to any other document becomes plain text. */
const linkFrom = (name: string) => (href: string) => {
  const [path = '', anchor] = href.split('#')
  const target = posix.join(posix.dirname(fileOf(name)), path)
  const other = target === 'operations.md' ? 'operations' : /^runbooks\/(?<name>.+)\.md$/.exec(target)?.groups?.['name']
  if (other === undefined || !nameForm.test(other)) return undefined
  const link = posix.relative(posix.dirname(name), other)
  return anchor === undefined ? link : `${link}#${anchor}`
}

/** `name`: as `bank-files` or `alerts/PaymentsCaseOpen`. Undefined: there is none. */
export async function findRunbook(name: string) {
  if (!nameForm.test(name)) return undefined
  const text = await readFile(new URL(fileOf(name), folder), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
  })
  if (text === undefined) return undefined
  const { html, headings } = renderMarkdown(text, linkFrom(name))
  return { title: headings[0]?.text ?? name, body: { html } }
}
