/** Every export, verb and problem code of the service is used by code that is not a test. */
import { finding, type Finding, isTest, type Source } from './source.ts'

/** Programs that Node starts by their path: their exports have no importer. */
const isProgram = ({ path }: Source): boolean => /(?:\/main|\/child|-child|\/thread)\.ts$/.test(path)
const isService = (source: Source): boolean => !isTest(source) && /^(?:service|wire)\/src\//.test(source.path)
/** Code that counts as a user: everything but tests and what only tests import. */
const isUser = (source: Source): boolean => !isTest(source) && !source.path.startsWith('test/')

const declaration = /^export\s+(?:async\s+)?(const|let|function\*?|class|type|interface)\s+(\w+)/gm
const occurrences = (code: string, name: string): number => code.match(new RegExp(`\\b${name}\\b`, 'g'))?.length ?? 0

/** The names that a source imports or re-exports, without aliases; `*` for a whole module. */
function importedNames(source: Source, reExports: boolean): readonly string[] {
  return source.imports.flatMap(({ names, at }) => {
    const start = source.code.lastIndexOf('\n', source.code.lastIndexOf('{', at)) + 1
    const isReExport = /^export\b/.test(source.code.slice(start)) || /^export\b/.test(names)
    if (isReExport !== reExports) return []
    return [...names.matchAll(/\b(?!type\b|as\b)(\w+)(?:\s+as\s+\w+)?/g)].map((match) => match[1] ?? '')
  })
}

/** Names that code reaches through a namespace: `store.insertPayouts`, `wire.Role`, `(await import('./desk.ts')).composeDesk`. */
const memberNames = (source: Source): readonly string[] =>
  [...source.code.matchAll(/(?:\b[a-z]\w*|\bawait import\([^()]*\)\))\.(\w+)/g)].map((match) => match[1] ?? '')

/**
 * An export is imported by a file that is not a test. Two kinds may stay without: a value that its own file uses and a
 * test looks at, and what names a part of an exported signature (types, and the constants of the contract in wire/).
 */
export function checkExports(sources: readonly Source[]): readonly Finding[] {
  const users = new Set(
    sources.filter(isUser).flatMap((source) => [...importedNames(source, false), ...memberNames(source)]),
  )
  const inTests = new Set(
    sources
      .filter((source) => !isUser(source))
      .flatMap((source) => [...importedNames(source, false), ...memberNames(source)]),
  )
  return sources
    .filter((source) => isService(source) && !isProgram(source))
    .flatMap((source) =>
      [...source.code.matchAll(declaration)].flatMap((match) => {
        const [, kind = '', name = ''] = match
        if (users.has(name)) return []
        const usedHere = occurrences(source.code, name) > 1
        const isPartOfSignature = kind === 'type' || kind === 'interface' || source.path.startsWith('wire/')
        if (usedHere && (isPartOfSignature || inTests.has(name))) return []
        const what = usedHere ? 'is exported and imported by nothing' : 'is used by tests only, or by nothing'
        return [finding(source, match.index, `${name} ${what}`)]
      }),
    )
}

/** The keys of the object that a `createX` function returns. Callbacks that a library calls (`onX`) are no verbs. */
function verbsOf(source: Source): readonly { readonly name: string; readonly at: number }[] {
  const returned = [...source.code.matchAll(/^ {2}return \{\n([\s\S]*?)^ {2}\}/gm)]
  return returned.flatMap((match) => {
    const around = [...source.code.slice(0, match.index).matchAll(/^(?:export\s+)?(?:async\s+)?function\s+(\w+)/gm)].at(
      -1,
    )
    if (!/^create[A-Z]/.test(around?.[1] ?? '')) return []
    return [...(match[1] ?? '').matchAll(/^ {4}(?:async\s+)?(\w+)(?=[:,(])/gm)]
      .map((key) => ({ name: key[1] ?? '', at: match.index }))
      .filter(({ name }) => !/^on[A-Z]/.test(name))
  })
}

/** A verb that a `createX` returns is called, or destructured, by code that is not a test. */
export function checkVerbs(sources: readonly Source[]): readonly Finding[] {
  const code = sources
    .filter(isUser)
    .map((source) => source.code)
    .join('\n')
  return sources.filter(isService).flatMap((source) =>
    verbsOf(source).flatMap(({ name, at }) => {
      const called = new RegExp(`\\.${name}\\b|\\{[^{}]*\\b${name}\\b[^{}]*\\}\\s*(?:=[^>=]|:|\\)|,)`).test(code)
      return called ? [] : [finding(source, at, `the verb ${name} is used by tests only, or by nothing`)]
    }),
  )
}

/** Every code of the catalogue of problems is raised somewhere in the service. */
export function checkProblemCodes(sources: readonly Source[], codes: readonly string[]): readonly string[] {
  const text = sources
    .filter((source) => isService(source) && !source.path.startsWith('wire/src/problems'))
    .map((source) => source.text)
    .join('\n')
  return codes.filter((code) => !text.includes(`'${code}'`)).map((code) => `the problem code ${code} is never raised`)
}
