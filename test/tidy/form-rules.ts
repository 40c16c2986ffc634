/** The form of the code: lengths, the files of a module, tests that all run. */
import { basename } from 'node:path'
import { folderOfGroup, ownerOf, type Place, placeOf, schemaOf } from './places.ts'
import { type File, finding, type Finding, isTest, lineOf, matches, type Source } from './source.ts'

export const fileLinesMax = 600
export const functionLinesMax = 100

export function checkFileLength(files: readonly File[]): readonly Finding[] {
  return files.flatMap((file) => {
    const lines = file.text.trimEnd().split('\n').length
    return lines > fileLinesMax ? [finding(file, 0, `${lines} lines, ${fileLinesMax} at most`)] : []
  })
}

type Body = { readonly name: string; readonly start: number; readonly end: number }

/** The position of the bracket that closes the one at `open`. */
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
 * Each function counts the lines that are its own: those of the functions inside it count by themselves. Counted with
 * them, a limit made people move literals into spreads. Suites of tests are lists, not functions.
 */
export function checkFunctionLength(sources: readonly Source[]): readonly Finding[] {
  return sources.flatMap((source) => {
    const functions = readFunctions(source)
    return functions.flatMap((body) => {
      const lines = ownLines(source, body, functions)
      const isList =
        isTest(source) &&
        /\b(?:suite|describe)\s*\([^)]*,?\s*(?:async\s*)?\(\)\s*$/.test(source.code.slice(0, body.start))
      if (lines <= functionLinesMax || isList) return []
      const rule = `function ${body.name || 'without a name'} has ${lines} lines, ${functionLinesMax} at most`
      return [finding(source, body.start, rule)]
    })
  })
}

/** The lines of a body without the inner lines of the functions in it. */
function ownLines(source: Source, { start, end }: Body, functions: readonly Body[]): number {
  const first = lineOf(source.code, start)
  const last = lineOf(source.code, end)
  const inner = new Set<number>()
  for (const other of functions) {
    if (other.start <= start || other.end >= end) continue
    const from = lineOf(source.code, other.start) + 1
    for (let line = from; line < lineOf(source.code, other.end); line += 1) inner.add(line)
  }
  return last - first + 1 - inner.size
}

/** Modules without an operation group of their own, and why. */
export const modulesWithoutGroup: Readonly<Record<string, string>> = {
  'audit/api': 'its operations are in the group `users`',
  'requests/api': 'its operations are in the group `requests`',
  'payouts/bulk': 'its operations are in the group `payouts`',
  deposits: 'no operation creates a deposit: banks and simulations cause them (docs/decisions/0007)',
  'parties/identity-checks': 'its operations are in the group `identity`',
  monitoring: 'it is for the operator: its rules and alerts are not told to partners (docs/decisions/0094)',
  'payouts/controls': 'its operations are in the group `payouts`',
  'payouts/recalls': 'its operations are in the group `payouts`',
  'reports/decisions': 'it is for the operator: a command and a page of the desk',
  'reports/safeguarding':
    'it is for the operator and its auditor: commands and pages of the desk (docs/decisions/0089)',
  'people/staff': 'its people work for the operator: the API is for partners (docs/decisions/0084)',
  'payouts/standing-orders': 'its operations are in the group `payouts`',
}

/** Modules whose verbs and tables live in a folder of the core. */
const managementApis: ReadonlySet<string> = new Set(['audit/api', 'requests/api', 'webhooks/api'])

/** Every module has its files and an index.ts whose header names the tables it owns. `tables` are the names of all tables. */
export function checkModules(
  sources: readonly Source[],
  tags: readonly string[],
  tables: readonly string[],
  isAssembled: boolean,
): readonly Finding[] {
  const modules = new Map<string, Set<string>>()
  for (const { path } of sources) {
    const place = placeOf(path)
    if (place?.isModule) modules.set(place.name, (modules.get(place.name) ?? new Set()).add(basename(path)))
  }
  const found = [...modules].flatMap(([module, files]) => {
    const isGroup = tags.some((tag) => folderOfGroup(tag) === module)
    const needed = [
      'index.ts',
      ...(managementApis.has(module) ? [] : ['service.ts']),
      ...(isGroup ? ['routes.ts'] : []),
    ]
    const at = `service/src/${module}`
    const known = isGroup || module in modulesWithoutGroup
    return [
      ...needed.filter((file) => !files.has(file)).map((file) => `${at} the module has no ${file}`),
      ...(known ? [] : [`${at} the module is neither an operation group nor listed as without one`]),
    ]
  })
  // Without a composition root there is no complete list of modules yet.
  const missing = isAssembled
    ? [...tags.map(folderOfGroup), ...Object.keys(modulesWithoutGroup)].filter((name) => !modules.has(name))
    : []
  return [
    ...found,
    ...missing.map((name) => `service/src/${name} the operation group has no module`),
    ...sources.flatMap((source) => interfaceFindings(source, tables)),
  ]
}

/** A public interface begins with a comment; if the place owns tables, the comment names each of them. */
function interfaceFindings(source: Source, tables: readonly string[]): readonly Finding[] {
  const place = placeOf(source.path)
  if (!place || source.path !== `${place.home}/index.ts`) return []
  const header = /^\/\*\*[\s\S]*?\*\//.exec(source.text)?.[0]
  if (header === undefined) return [finding(source, 0, 'the public interface has no header comment')]
  if (place.isModule && header.split('\n').length < 3)
    return [finding(source, 0, "the module's header says too little")]
  const names = header.match(/\b\w+\.\w+\*?/g) ?? []
  return tables
    .filter(
      (table) => ownerOf(table) === schemaOf(place) && isOwner(place) && !names.some((name) => covers(name, table)),
    )
    .map((table) => finding(source, 0, `the header does not name ${table}, which the place owns`))
}

/** The tables of all connectors are in the schema of their port, which names none of them. */
const isOwner = (place: Place): boolean => schemaOf(place) !== 'rails' || place.name === 'rails'

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

/** Limits that the contract names, written as numbers. */
const limitAsNumber = /(?:maxlength="|charsMax: )(?:70|140|254|2048)\b/g

/** Finds forms whose limits are not those of the contract: a number stays when the contract changes. */
export const checkFormLimits = (files: readonly File[]): readonly Finding[] =>
  files
    .filter((file) => file.path.startsWith('service/src/pages/') && !isTest(file))
    .flatMap((file) =>
      [...file.text.matchAll(limitAsNumber)].map((found) =>
        finding(file, found.index, `${found[0]}: take the limit from the contract`),
      ),
    )
