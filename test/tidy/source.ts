/**
 * The files of the repository for the tidy tests, and a small scanner of TypeScript that recognises comments, strings,
 * templates and regular expressions. TypeScript 7 has no JavaScript API, and these rules need no more.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('../../', import.meta.url))

/** `path` is relative to the repository, with forward slashes. */
export type File = { readonly path: string; readonly text: string }
/** A broken rule: file, line and rule, in one line. */
export type Finding = string
/** Positions in a text; `end` is exclusive. */
export type Range = { readonly at: number; readonly end: number }
export type Template = Range & {
  readonly tag: string
  /** The text; each hole is written as `${}`. */
  readonly text: string
  /** The expressions of its holes, in order. */
  readonly holes: readonly Range[]
}
export type Import = { readonly from: string; readonly names: string; readonly at: number }
export type Source = File & {
  /** The text with comments and the contents of strings replaced by spaces, so that positions stay the same. */
  readonly code: string
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

/** The project's TypeScript files, without generated ones. */
export const readSources = (): readonly Source[] => readFiles('.ts').map(scan)

/** Rules about the whole service apply once its composition root exists. */
export const isAssembled = (): boolean => existsSync(join(root, 'service/src/app/compose.ts'))

export const isTest = ({ path }: File): boolean => path.endsWith('.test.ts')

export function lineOf(text: string, at: number): number {
  return text.slice(0, at).split('\n').length
}

export function finding(file: File, at: number, rule: string): Finding {
  return `${file.path}:${lineOf(file.text, at)} ${rule}`
}

/** One finding in `file` for each match of `pattern` in `text` (masked code or a statement). */
export function matches(file: File, text: string, pattern: RegExp, rule: string, offset = 0): readonly Finding[] {
  return [...text.matchAll(pattern)].map((match) => finding(file, offset + match.index, rule))
}

const blank = (text: string): string => text.replace(/[^\n]/g, ' ')

/** A slash begins a regular expression after an operator, an opening bracket or a keyword. */
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

type Open = { readonly tag: string; readonly at: number; text: string; depth: number; holes: Range[]; holeAt: number }

export function scan({ path, text }: File): Source {
  let code = ''
  const templates: Template[] = []
  // Open template literals, innermost last. `depth` counts the open braces of the current hole.
  const open: Open[] = []

  /** Reads the characters of a template from `at` to its end or its next hole. Returns where it stopped. */
  const readTemplate = (template: Open, at: number): number => {
    let i = at
    while (i < text.length && text[i] !== '`' && !text.startsWith('${', i)) i += text[i] === '\\' ? 2 : 1
    const chars = text.slice(at, i)
    template.text += chars
    if (text[i] === '`') {
      open.pop()
      const { tag, at: from, holes } = template
      templates.push({ tag, text: template.text, at: from, end: i + 1, holes })
      code += `${blank(chars)}\``
      return i + 1
    }
    template.text += '${}'
    template.depth = 1
    template.holeAt = i + 2
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
      const tag = /(\w+)(?:<[^>]*>)?$/.exec(code)?.[1] ?? ''
      const template: Open = { tag, at: i, text: '', depth: 0, holes: [], holeAt: i }
      open.push(template)
      code += '`'
      i = readTemplate(template, i + 1)
    } else {
      if (inner && char === '{') inner.depth += 1
      if (inner && char === '}') inner.depth -= 1
      code += char
      i += 1
      if (inner && char === '}' && inner.depth === 0) {
        inner.holes.push({ at: inner.holeAt, end: i - 1 })
        i = readTemplate(inner, i)
      }
    }
  }
  return { path, text, code, templates, imports: readImports(text, code) }
}

/** Static, re-exporting, side-effect and dynamic imports, and `require`. The path of a computed import is `?`. */
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
