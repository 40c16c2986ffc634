/**
 * Reads the body as strict JSON: valid UTF-8, no duplicate field, bounded nesting, exact numbers, and no text that
 * PostgreSQL or a receiver cannot store (NUL, unpaired surrogates). Adds the checks that `JSON.parse` does not make.
 */
import { parseJsonExactly } from '@partner-payments/wire'
import { refuseField, Refusal } from '../../kernel/api/index.ts'
import { findJsonFault } from './json-position.ts'
import { escapePointer } from './pointer.ts'

const nestingMax = 32

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** Refuses (400): malformed_json, duplicate_key, nesting_too_deep, validation_failed (a character that is not allowed). */
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

/** The index of the closing quote, or of the last character if there is none. */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at += 1) {
    const char = text.charCodeAt(at)
    if (char === 0x5c /* \ */) at += 1
    else if (char === 0x22) return at
  }
  return text.length - 1
}

/** The decoded name: `"a"` and `"\u0061"` are the same name. */
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
      // A name with such a character cannot be part of a pointer: the pointer leads to its parent.
      if (key.includes('\u0000') || !key.isWellFormed()) checkCharacters(key, pointer)
      checkCharacters(item, `${pointer}/${escapePointer(key)}`)
    }
  }
}
