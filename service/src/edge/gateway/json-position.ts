/** Finds where a text stops being JSON (RFC 8259). Runs only after `JSON.parse` has refused the text. */

export type JsonFault = {
  /** Line, from 1. */
  readonly line: number
  /** Column, from 1, in UTF-16 code units. */
  readonly column: number
  readonly expected: string
}

const whiteSpace = /[ \t\n\r]*/y
const scalar = /(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)(?![\w.+-])/y
/** A string up to the first character that it must not contain. */
const stringStart = /"[ !#-[\]-\u{10ffff}]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[ !#-[\]-\u{10ffff}]*)*/uy

type State = 'value' | 'first item' | 'name' | 'first name' | 'colon' | 'after'
const expectations: Readonly<Record<Exclude<State, 'after'>, string>> = {
  value: 'a value',
  'first item': 'a value or "]"',
  name: 'a field name in double quotes',
  'first name': 'a field name in double quotes or "}"',
  colon: '":"',
}

export function findJsonFault(text: string): JsonFault | undefined {
  const closers: ('}' | ']')[] = []
  let state = 'value' as State
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
  /** Reads one token. Returns what was expected if it does not fit. */
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
