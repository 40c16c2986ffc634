/**
 * What the tidy tests read: the files of the repository, and a small scanner of TypeScript that knows comments, strings,
 * templates and regular expressions. TypeScript 7 has no JavaScript API, and these rules need no more than this.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('../../', import.meta.url))

/** `path` is relative to the repository, with forward slashes. */
export type File = { readonly path: string; readonly text: string }
/** A rule that is broken: where, and which, in one line. */
export type Finding = string
export type Template = { readonly tag: string; readonly text: string; readonly at: number }
export type Import = { readonly from: string; readonly names: string; readonly at: number }
export type Source = File & {
  /** The text, as long as the original, with comments and the insides of strings blanked out. */
  readonly code: string
  /** Template literals; each hole stands as `${}`. */
  readonly templates: readonly Template[]
  readonly imports: readonly Import[]
}

const notOurs = new Set(['node_modules', '.git', '.data', 'generated'])

export function readFiles(extension: string, folder = ''): readonly File[] {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(extension))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)).replaceAll('\\', '/'))
    .filter((path) => !path.split('/').some((part) => notOurs.has(part)))
    .toSorted()
    .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }))
}

/** TypeScript of the project's own: every `.ts` outside what is generated. */
export const readSources = (): readonly Source[] => readFiles('.ts').map(scan)

/** Once the composition root is there, every room is, and the rules that speak of the whole house apply. */
export const isAssembled = (): boolean => existsSync(join(root, 'service/src/compose.ts'))

export const isTest = ({ path }: File): boolean => path.endsWith('.test.ts')

export function lineOf(text: string, at: number): number {
  return text.slice(0, at).split('\n').length
}

export function finding(file: File, at: number, rule: string): Finding {
  return `${file.path}:${lineOf(file.text, at)} ${rule}`
}

/** Every match of `pattern` in `text` (masked code, a statement), as findings in `file`. */
export function matches(file: File, text: string, pattern: RegExp, rule: string, offset = 0): readonly Finding[] {
  return [...text.matchAll(pattern)].map((match) => finding(file, offset + match.index, rule))
}

const blank = (text: string): string => text.replace(/[^\n]/g, ' ')

/** A slash begins a regular expression where a value may begin: after an operator, an opening bracket or a keyword. */
function beginsRegex(before: string): boolean {
  const trimmed = before.trimEnd()
  if (trimmed === '' || /[=(,:[!&|?{;+\-*%~^<>]$/.test(trimmed)) return true
  return /\b(?:return|typeof|case|in|of|do|else|void|delete|throw|await|yield)$/.test(trimmed)
}

function regexEnd(text: string, at: number): number {
  let inClass = false
  for (let i = at + 1; i < text.length && text[i] !== '\n'; i += 1) {
    if (text[i] === '\\') i += 1
    else if (text[i] === '[') inClass = true
    else if (text[i] === ']') inClass = false
    else if (text[i] === '/' && !inClass) return i + 1
  }
  return at + 1
}

function stringEnd(text: string, at: number): number {
  for (let i = at + 1; i < text.length; i += 1) {
    if (text[i] === '\\') i += 1
    else if (text[i] === text[at]) return i + 1
  }
  return text.length
}

type Open = { readonly tag: string; readonly at: number; text: string; depth: number }

export function scan({ path, text }: File): Source {
  let code = ''
  const templates: Template[] = []
  // Template literals that are open, innermost last; `depth` counts the braces of the hole that is being read.
  const open: Open[] = []

  /** Reads the characters of a template from `at` to its end or its next hole; answers where it stopped. */
  const readTemplate = (template: Open, at: number): number => {
    let i = at
    while (i < text.length && text[i] !== '`' && !text.startsWith('${', i)) i += text[i] === '\\' ? 2 : 1
    const chars = text.slice(at, i)
    template.text += chars
    if (text[i] === '`') {
      open.pop()
      templates.push({ tag: template.tag, text: template.text, at: template.at })
      code += `${blank(chars)}\``
      return i + 1
    }
    template.text += '${}'
    template.depth = 1
    code += `${blank(chars)}\${`
    return i + 2
  }

  let i = 0
  const skipTo = (end: number, masked: string) => {
    code += masked
    i = end
  }
  while (i < text.length) {
    const char = text[i] ?? ''
    const inner = open.at(-1)
    if (text.startsWith('//', i)) {
      const end = text.indexOf('\n', i)
      skipTo(end === -1 ? text.length : end, blank(text.slice(i, end === -1 ? undefined : end)))
    } else if (text.startsWith('/*', i)) {
      const end = text.indexOf('*/', i) + 2
      skipTo(end, blank(text.slice(i, end)))
    } else if (char === "'" || char === '"') {
      const end = stringEnd(text, i)
      skipTo(end, `${char}${blank(text.slice(i + 1, end - 1))}${char}`)
    } else if (char === '/' && beginsRegex(code)) {
      const end = regexEnd(text, i)
      skipTo(end, blank(text.slice(i, end)))
    } else if (char === '`') {
      const template = { tag: /(\w+)(?:<[^>]*>)?$/.exec(code)?.[1] ?? '', at: i, text: '', depth: 0 }
      open.push(template)
      code += '`'
      i = readTemplate(template, i + 1)
    } else {
      if (inner && char === '{') inner.depth += 1
      if (inner && char === '}') inner.depth -= 1
      code += char
      i += 1
      if (inner && char === '}' && inner.depth === 0) i = readTemplate(inner, i)
    }
  }
  return { path, text, code, templates, imports: readImports(text, code) }
}

/** Static, re-exporting, side-effect and dynamic imports, and `require`. A computed path is `?`. */
function readImports(text: string, code: string): readonly Import[] {
  const forms = [
    /\b(?:import|export)\b([^'"`;()]*?)\bfrom\s*(?=['"])/g,
    /\bimport\s*()(?=['"])/g,
    /\b(?:import|require)\s*\(\s*()/g,
  ]
  return forms.flatMap((form) =>
    [...code.matchAll(form)].map((match) => {
      const at = match.index + match[0].length
      const isLiteral = /['"]/.test(text[at] ?? '')
      return { from: isLiteral ? text.slice(at + 1, stringEnd(text, at) - 1) : '?', names: match[1] ?? '', at }
    }),
  )
}
