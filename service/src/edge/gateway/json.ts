/**
 * Reads the body as strict JSON: valid UTF-8, no duplicate field, bounded nesting, exact numbers, and no text that
 * PostgreSQL or a receiver cannot store (NUL, unpaired surrogates). Adds the checks that `JSON.parse` does not make.
 */
import { parseJsonExactly } from '@partner-payments/wire'
import { Refusal, refuseField } from '../../kernel/api/index.ts'

const nestingMax = 32

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** Parses JSON. Refuses (400): malformed_json, duplicate_key, nesting_too_deep, validation_failed (a character that is not allowed). */
export function readJson(bytes: Uint8Array): unknown {
  let text: string
  try {
    text = utf8.decode(bytes)
  } catch {
    throw new Refusal('malformed_json', 'The body is not valid UTF-8.')
  }
  scan(text)
  let value: unknown
  try {
    value = parseJsonExactly(text)
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    throw notJson(text)
  }
  checkCharacters(value, '')
  return value
}

function notJson(text: string): Refusal {
  const fault = findJsonFault(text)
  if (fault === undefined) return new Refusal('malformed_json')
  const { line, column, expected } = fault
  return new Refusal(
    'malformed_json',
    `The body is not valid JSON at line ${line}, column ${column}: expected ${expected}.`,
  )
}

type Level = { readonly keys: Set<string> | undefined; at: string | number }

/** Checks nesting and duplicate names in one pass over the tokens. `JSON.parse` finds invalid JSON afterwards. */
function scan(text: string): void {
  const levels: Level[] = []
  let expectsKey = false
  const pointer = () => levels.map((level) => `/${escapePointer(String(level.at))}`).join('')
  for (let at = 0; at < text.length; at += 1) {
    const char = text.charCodeAt(at)
    const level = levels.at(-1)
    if (char === 0x22 /* " */) {
      const end = endOfString(text, at)
      if (expectsKey && level?.keys) {
        level.at = keyText(text.slice(at, end + 1))
        if (level.keys.has(level.at))
          throw refuseField(
            { pointer: pointer(), code: 'duplicate_key', message: 'appears more than once' },
            'duplicate_key',
          )
        level.keys.add(level.at)
        expectsKey = false
      }
      at = end
    } else if (char === 0x7b /* { */ || char === 0x5b /* [ */) {
      if (levels.length === nestingMax)
        throw refuseField(
          { pointer: pointer(), code: 'out_of_range', message: `is nested more than ${nestingMax} levels deep` },
          'nesting_too_deep',
        )
      levels.push(char === 0x7b ? { keys: new Set(), at: '' } : { keys: undefined, at: 0 })
      expectsKey = char === 0x7b
    } else if (char === 0x7d /* } */ || char === 0x5d /* ] */) {
      levels.pop()
      expectsKey = false
    } else if (char === 0x2c /* , */ && level) {
      if (level.keys) expectsKey = true
      else level.at = Number(level.at) + 1
    }
  }
}

/** Returns the index of the closing quote, or of the last character if there is none. */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at += 1) {
    const char = text.charCodeAt(at)
    if (char === 0x5c /* \ */) at += 1
    else if (char === 0x22) return at
  }
  return text.length - 1
}

/** Decodes a field name: `"a"` and `"\u0061"` are the same name. */
function keyText(token: string): string {
  try {
    return String(JSON.parse(token))
  } catch {
    return token
  }
}

function checkCharacters(value: unknown, pointer: string): void {
  if (typeof value === 'string') {
    const code = 'invalid_character'
    if (value.includes('\u0000')) throw refuseField({ pointer, code, message: 'contains a NUL character' })
    if (!value.isWellFormed()) throw refuseField({ pointer, code, message: 'contains an unpaired surrogate' })
  } else if (Array.isArray(value)) {
    value.forEach((item, index) => checkCharacters(item, `${pointer}/${index}`))
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, item] of Object.entries(value)) {
      // Such a name cannot be part of a pointer, so the pointer is that of its parent.
      if (key.includes('\u0000') || !key.isWellFormed()) checkCharacters(key, pointer)
      checkCharacters(item, `${pointer}/${escapePointer(key)}`)
    }
  }
}

/**
 * Finds the position at which a text is no longer valid JSON (RFC 8259). Runs only after `JSON.parse` has refused the
 * text.
 */

type JsonFault = {
  readonly line: number
  /** Column, from 1, in UTF-16 code units. */
  readonly column: number
  readonly expected: string
}

const whiteSpace = /[ \t\n\r]*/y
const scalar = /(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)(?![\w.+-])/y
/** Matches a string up to the first character that is not allowed in it. */
const stringStart = /"[ !#-[\]-\u{10ffff}]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[ !#-[\]-\u{10ffff}]*)*/uy

type ParserState = 'value' | 'first item' | 'name' | 'first name' | 'colon' | 'after'
const expectations: Readonly<Record<Exclude<ParserState, 'after'>, string>> = {
  value: 'a value',
  'first item': 'a value or "]"',
  name: 'a field name in double quotes',
  'first name': 'a field name in double quotes or "}"',
  colon: '":"',
}

export function findJsonFault(text: string): JsonFault | undefined {
  const closers: ('}' | ']')[] = []
  let state = 'value' as ParserState
  let at = 0
  const skip = (pattern: RegExp): boolean => {
    pattern.lastIndex = at
    const found = pattern.test(text)
    if (found) at = pattern.lastIndex
    return found
  }
  const fault = (expected: string): JsonFault => {
    const lines = text.slice(0, at).split('\n')
    return { line: lines.length, column: (lines.at(-1)?.length ?? 0) + 1, expected }
  }
  /** Consumes one token. If the token is not valid here, returns a description of the expected one. */
  const step = (): string | undefined => {
    const char = text.charAt(at)
    const closer = closers.at(-1)
    if (state === 'after') {
      if (char === ',' && closer !== undefined) state = closer === '}' ? 'name' : 'value'
      else if (char !== '' && char === closer) closers.pop()
      else return closer === undefined ? 'the end of the body' : `"," or "${closer}"`
    } else if (state === 'colon') {
      if (char !== ':') return expectations.colon
      state = 'value'
    } else if (char === '"') {
      skip(stringStart)
      if (text.charAt(at) !== '"') return 'the end of a string, without control characters and with valid escapes'
      state = state === 'name' || state === 'first name' ? 'colon' : 'after'
    } else if ((state === 'first name' && char === '}') || (state === 'first item' && char === ']')) {
      closers.pop()
      state = 'after'
    } else if (state === 'name' || state === 'first name') {
      return expectations[state]
    } else if (char === '{' || char === '[') {
      closers.push(char === '{' ? '}' : ']')
      state = char === '{' ? 'first name' : 'first item'
    } else if (skip(scalar)) {
      state = 'after'
      return undefined
    } else return expectations[state]
    at += 1
    return undefined
  }
  for (;;) {
    skip(whiteSpace)
    if (at >= text.length && state === 'after' && closers.length === 0) return undefined
    const expected = step()
    if (expected !== undefined) return fault(expected)
  }
}

// JSON pointers (RFC 6901).

/** Escapes a field name for use in a pointer. */
export const escapePointer = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1')

/** Finds the value at a pointer. Undefined: there is none. */
export function valueAt(root: unknown, pointer: string): unknown {
  return pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce<unknown>((value, name) => (value as Record<string, unknown> | undefined)?.[name], root)
}
