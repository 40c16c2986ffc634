/** The form of the code: lengths, the files of a room, tests that all run. */
import { basename } from 'node:path'
import { placeOf } from './places.ts'
import { type File, finding, type Finding, isTest, lineOf, matches, type Source } from './source.ts'

export const fileLinesMax = 400
export const functionLinesMax = 70
/** A file that is longer by design, how long it may grow, and why. */
const longFiles: Readonly<Record<string, number>> = {
  // One table of all operations is what makes an endpoint findable: it grows by a line for each fact of each operation.
  'wire/src/operations.ts': 800,
}

export function checkFileLength(files: readonly File[]): readonly Finding[] {
  return files.flatMap((file) => {
    const lines = file.text.trimEnd().split('\n').length
    const max = longFiles[file.path] ?? fileLinesMax
    return lines > max ? [finding(file, 0, `${lines} lines, ${max} at most`)] : []
  })
}

type Body = { readonly name: string; readonly start: number; readonly end: number }

/** Where the bracket at `open` closes. */
function closing(code: string, open: number): number {
  const pairs: Readonly<Record<string, string>> = { '(': ')', '{': '}', '[': ']' }
  const opener = code[open] ?? ''
  const closer = pairs[opener] ?? ''
  let depth = 0
  for (let i = open; i < code.length; i += 1) {
    if (code[i] === opener) depth += 1
    if (code[i] === closer) depth -= 1
    if (depth === 0) return i
  }
  return code.length
}

/** The brace that begins the body of a `function` whose parameters close at `at`: past a return type with braces. */
function bodyAfter(code: string, at: number): number | undefined {
  for (let i = at + 1; i < code.length; i += 1) {
    const char = code[i]
    if (char === ';') return undefined
    if (char === '(' || char === '[') i = closing(code, i)
    else if (char === '{') {
      if (!/(?:[:|&<,]|=>)\s*$/.test(code.slice(at + 1, i))) return i
      i = closing(code, i)
    }
  }
  return undefined
}

/** Functions and arrows with a body in braces. */
export function readFunctions(source: Source): readonly Body[] {
  const { code } = source
  const declared = [...code.matchAll(/\bfunction\b\s*\*?\s*(\w*)[^(]*\(/g)].flatMap((match): readonly Body[] => {
    const open = bodyAfter(code, closing(code, match.index + match[0].length - 1))
    return open === undefined ? [] : [{ name: match[1] ?? '', start: match.index, end: closing(code, open) }]
  })
  const arrows = [...code.matchAll(/=>\s*\{/g)].map((match): Body => {
    const before = code.slice(0, match.index)
    const names = [
      ...before.matchAll(/\b(?:function\s+(\w+)|(\w+)\s*[:=]\s*(?:async\s*)?(?:<[^>]*>\s*)?(?:\(|\w+\s*$))/g),
    ]
    const open = match.index + match[0].length - 1
    return { name: names.at(-1)?.slice(1).find(Boolean) ?? '', start: match.index, end: closing(code, open) }
  })
  return [...declared, ...arrows].toSorted((a, b) => a.start - b.start)
}

/**
 * A function's own lines: those of the functions within it count for them. A `createX(deps)` that holds the verbs of a
 * room as closures is as long as what it does itself.
 */
export function checkFunctionLength(sources: readonly Source[]): readonly Finding[] {
  return sources.flatMap((source) => {
    const bodies = readFunctions(source).map(({ name, start, end }) => ({
      name,
      start,
      first: lineOf(source.code, start),
      last: lineOf(source.code, end),
    }))
    return bodies.flatMap((body) => {
      const within = bodies.filter(({ start, last }) => start > body.start && last <= body.last && start !== body.start)
      const inner = new Set(within.flatMap(({ first, last }) => range(first + 1, last)))
      const own = range(body.first, body.last).filter((line) => !inner.has(line)).length
      const rule = `function ${body.name || 'without a name'} has ${own} lines of its own, ${functionLinesMax} at most`
      return own > functionLinesMax ? [finding(source, body.start, rule)] : []
    })
  })
}

const range = (first: number, last: number): readonly number[] =>
  Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => first + index)

/** Rooms without an operation group, and why. */
export const modulesWithoutGroup: Readonly<Record<string, string>> = {
  deposits: 'money that comes in has no operation of its own: banks and simulations cause it (docs/decisions/0007)',
}

/** Modules whose verbs and tables live in a folder of the core. */
const managementApis: ReadonlySet<string> = new Set(['webhooks'])

/** Every module has its files and a door that says what it owns. `tables` are the names of all tables. */
export function checkModules(
  sources: readonly Source[],
  tags: readonly string[],
  tables: readonly string[],
  isAssembled: boolean,
): readonly Finding[] {
  const rooms = new Map<string, Set<string>>()
  for (const { path } of sources) {
    const place = placeOf(path)
    if (place?.isModule) rooms.set(place.name, (rooms.get(place.name) ?? new Set()).add(basename(path)))
  }
  const found = [...rooms].flatMap(([room, files]) => {
    const isGroup = tags.includes(room)
    const needed = ['index.ts', ...(managementApis.has(room) ? [] : ['service.ts']), ...(isGroup ? ['routes.ts'] : [])]
    const at = `service/src/modules/${room}`
    const known = isGroup || room in modulesWithoutGroup
    return [
      ...needed.filter((file) => !files.has(file)).map((file) => `${at} the room has no ${file}`),
      ...(known ? [] : [`${at} the room is neither an operation group nor listed as without one`]),
    ]
  })
  // While rooms are being built one by one only what is there is judged.
  const missing = isAssembled ? [...tags, ...Object.keys(modulesWithoutGroup)].filter((name) => !rooms.has(name)) : []
  return [
    ...found,
    ...missing.map((name) => `service/src/modules/${name} the operation group has no room`),
    ...sources.flatMap((source) => interfaceFindings(source, tables)),
  ]
}

/** A door begins with a comment; that of an owner of tables names each of them. */
function interfaceFindings(source: Source, tables: readonly string[]): readonly Finding[] {
  const place = placeOf(source.path)
  if (!place || source.path !== `${place.home}/index.ts`) return []
  const header = /^\/\*\*[\s\S]*?\*\//.exec(source.text)?.[0]
  if (header === undefined) return [finding(source, 0, 'the door has no header comment')]
  if (place.isModule && header.split('\n').length < 3) return [finding(source, 0, "the room's header says too little")]
  const names = header.match(/\b\w+\.\w+\*?/g) ?? []
  return tables
    .filter((table) => table.startsWith(`${place.name}.`) && !names.some((name) => covers(name, table)))
    .map((table) => finding(source, 0, `the header does not name ${table}, which the place owns`))
}

/** `rails.sandbox_*` names every table that begins so. */
const covers = (name: string, table: string): boolean =>
  name.endsWith('*') ? table.startsWith(name.slice(0, -1)) : name === table

/** No test is left out, and none is alone. A condition may leave one out (`skip: !isLinux`), a constant may not. */
export function checkTests(sources: readonly Source[]): readonly Finding[] {
  const names = '(?:test|it|describe|suite)'
  const rule = 'every test runs'
  return sources
    .filter(isTest)
    .flatMap((source) => [
      ...matches(source, source.code, new RegExp(`\\b${names}\\s*\\.\\s*(?:only|skip|todo)\\b`, 'g'), rule),
      ...matches(source, source.code, /[{,]\s*(?:only|skip|todo)\s*:\s*(?:true\b|['"`])/g, rule),
      ...matches(source, source.code, /\b(?:t|context|ctx)\s*\.\s*(?:skip|todo)\s*\(/g, rule),
    ])
}
