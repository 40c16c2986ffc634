/** Checks that every page of the console passes, on the text of the page. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { brotliCompressSync } from 'node:zlib'
import { type ConsoleLanguage, consoleLanguages, consoleTexts } from '../../service/src/pages/kit/language.ts'
import type { ConsoleView } from '../../service/src/pages/kit/frame.ts'

/** A text that would run a script if a page did not escape it. */
export const evil = `"><img src=x onerror="alert('1')">&`

export const viewOf = (language: ConsoleLanguage, given: Partial<ConsoleView> = {}): ConsoleView => ({
  language,
  t: consoleTexts[language],
  sandbox: true,
  root: '../',
  css: 'console.0123.css',
  js: 'console.0123.js',
  brand: {},
  languageLinks: consoleLanguages.map((each) => ({ language: each, href: `?lang=${each}` })),
  ...given,
})

export const all = (text: string, pattern: RegExp): readonly string[] =>
  [...text.matchAll(pattern)].map((match) => match[1] ?? '')

/** The elements of a name, each as its attributes. */
export const tags = (page: string, name: string): readonly string[] => all(page, new RegExp(`<${name}\\b([^>]*)>`, 'g'))
export const attribute = (tag: string, name: string): string | undefined =>
  new RegExp(`\\b${name}="([^"]*)"`).exec(tag)?.[1]

type Words = { readonly [key: string]: string | readonly string[] | Words }

/** Every text of a catalogue, by its path. */
export const textsIn = (words: Words | readonly string[], path = ''): ReadonlyMap<string, string> =>
  new Map(
    Object.entries<string | readonly string[] | Words>(words).flatMap(([key, each]) =>
      typeof each === 'string' ? [[path + key, each] as const] : [...textsIn(each, `${path}${key}.`)],
    ),
  )

/** Checks that both catalogues have the same texts, with the same placeholders. Returns the texts that are not translated. */
export function checkTranslated(english: Words, german: Words): readonly string[] {
  const [texts, translated] = [textsIn(english), textsIn(german)]
  assert.deepEqual([...translated.keys()], [...texts.keys()])
  for (const [key, text] of texts) {
    assert.notEqual(translated.get(key)?.trim(), '', key)
    assert.deepEqual(placeholders(translated.get(key) ?? ''), placeholders(text), key)
  }
  return [...texts].flatMap(([key, text]) => (translated.get(key) === text ? [key] : []))
}

const placeholders = (text: string) => new Set(text.match(/\{\w+\}/g) ?? [])

export function checkEscaped(name: string, page: string): void {
  assert.ok(!/<img(?! src="\.\.\/)/.test(page), name)
  assert.ok(!/ style=| on\w+=/.test(page.replaceAll(/onerror=\\?&quot;/g, '')), name)
  assert.ok(!/<script(?! type="module" src=")/.test(page), name)
  assert.ok(!/undefined|\[object|NaN|\{\w+\}<\//.test(page.replaceAll('{id}/account', '')), name)
}

/** Returns the number of fields. */
export function checkLabels(name: string, page: string): number {
  const ids = all(page, /\bid="([^"]*)"/g)
  assert.deepEqual(ids, [...new Set(ids)], `${name}: an id is used once`)
  const labels = new Set(tags(page, 'label').map((tag) => attribute(tag, 'for')))
  const inputs = tags(page, 'input').filter((tag) => attribute(tag, 'type') !== 'hidden')
  const fields = [...inputs, ...tags(page, 'select'), ...tags(page, 'textarea')]
  for (const field of fields) assert.ok(labels.has(attribute(field, 'id')), `${name}: ${field}`)
  const references = all(page, /\b(?:aria-describedby|aria-labelledby|popovertarget)="([^"]*)"/g)
  for (const id of references.flatMap((text) => text.split(' '))) assert.ok(ids.includes(id), `${name}: ${id}`)
  for (const href of all(page, /href="#([^"]*)"/g)) assert.ok(ids.includes(href), `${name}: #${href}`)
  return fields.length
}

/** Checks links, headings, captions, scopes and language. */
export function checkStructure(name: string, page: string): void {
  const addresses = all(page, /\b(?:href|src|action|formaction)="([^"]*)"/g)
  for (const address of addresses) assert.ok(!/^(?:\/|\w+:(?!,))/.test(address), `${name}: ${address}`)
  for (const action of tags(page, 'form').map((tag) => attribute(tag, 'action')))
    assert.ok(action?.startsWith('../') || name === 'design', `${name}: ${action}`)
  assert.equal(tags(page, 'h1').length, 1, name)
  assert.equal(tags(page, 'table').length, tags(page, 'caption').length, name)
  for (const tag of tags(page, 'th')) assert.ok(attribute(tag, 'scope'), `${name}: ${tag}`)
  assert.match(page, /<a class="skip" href="#main">/)
  assert.match(page, /<html lang="(?:en|de)">/)
}

/**
 * Checks that a page says nothing that only developers read: calls of the API, commands, marks of code, values as JSON. The answer of the API
 * in a closed section is for who opens it.
 */
export function checkPlain(name: string, page: string): void {
  const text = page
    .replaceAll(/<details class="raw">[^]*?<\/details>/g, '')
    .replaceAll(/<(?:title|input|option)[^>]*>/g, '')
    .replaceAll(/<[^>]*>/g, '\n')
  for (const word of [
    /\/v1\//,
    /\bnpm run\b/,
    /`/,
    /^\s*(?:true|false|null)\s*$/m,
    /^\s*[{[]&quot;/m,
    /\bsettlement\.\w+/,
  ])
    assert.ok(!word.test(text), `${name}: ${word.exec(text)?.[0]}`)
}

const assetBytes = ['console.css', 'console.js']
  .map((name) => readFileSync(new URL(`../../service/src/pages/browser/${name}`, import.meta.url)))
  .reduce((sum, file) => sum + brotliCompressSync(file).length, 0)

export function checkSize(name: string, page: string): void {
  const bytes = assetBytes + brotliCompressSync(page).length
  // Far less than 60 KB: a limit near what it is, so that a page that grows is seen.
  assert.ok(bytes < 16_000, `${name}: ${bytes} bytes`)
}

/** Checks a page for a person who is not a developer. Returns the number of fields. */
export function checkPage(name: string, page: string): number {
  checkEscaped(name, page)
  checkStructure(name, page)
  checkPlain(name, page)
  checkSize(name, page)
  return checkLabels(name, page)
}
