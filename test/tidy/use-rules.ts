/** Every export, verb and problem code of the service is used by code that is not a test. */
import { dirname } from 'node:path'
import { placeOf, resolve } from './places.ts'
import { finding, type Finding, type Import, isTest, type Source } from './source.ts'

/** Programs that Node starts by their path: their exports have no importer. */
const isProgram = ({ path }: Source): boolean => /(?:\/main|\/child|-child|\/thread)\.ts$/.test(path)
const isService = (source: Source): boolean => !isTest(source) && /^(?:service|wire)\/src\//.test(source.path)
/** Code that counts as a user: everything but tests and what only tests import. */
const isUser = (source: Source): boolean => !isTest(source) && !source.path.startsWith('test/')

const declaration = /^export\s+(?:async\s+)?(const|let|function\*?|class|type|interface)\s+(\w+)/gm
const occurrences = (code: string, name: string): number => code.match(new RegExp(`\\b${name}\\b`, 'g'))?.length ?? 0

function isReExport({ code }: Source, { names, at }: Import): boolean {
  const start = code.lastIndexOf('\n', code.lastIndexOf('{', at)) + 1
  return /^export\b/.test(code.slice(start)) || /^export\b/.test(names)
}

/** The names of an import, without aliases. */
const namesIn = (names: string): readonly string[] =>
  [...names.matchAll(/\b(?!type\b|as\b)(\w+)(?:\s+as\s+\w+)?/g)].map((match) => match[1] ?? '')

/** The names that a source imports. */
const importedNames = (source: Source): readonly string[] =>
  source.imports.filter((each) => !isReExport(source, each)).flatMap(({ names }) => namesIn(names))

/** Names that code reaches through a namespace: `store.insertPayouts`, `wire.Role`, `(await import('./desk.ts')).composeDesk`. */
const memberNames = (source: Source): readonly string[] =>
  [...source.code.matchAll(/(?<=\b[a-z]\w*|\bawait \w+\([^()]*\)\))\.(\w+)/g)].map((match) => match[1] ?? '')

/**
 * An export is imported by a file that is not a test. Two kinds may stay without: a value that its own file uses and a
 * test looks at, and what names a part of an exported signature (types, and the constants of the contract in wire/).
 */
export function checkExports(sources: readonly Source[]): readonly Finding[] {
  const users = new Set(sources.filter(isUser).flatMap((source) => [...importedNames(source), ...memberNames(source)]))
  const inTests = new Set(
    sources.filter((source) => !isUser(source)).flatMap((source) => [...importedNames(source), ...memberNames(source)]),
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

/** True outside the folder of an `index.ts`. A place within that folder is outside. */
const isOutside = (path: string, index: string): boolean =>
  !path.startsWith(`${dirname(index)}/`) || placeOf(path)?.home !== placeOf(index)?.home

/** A name that an `index.ts` passes on is read outside its folder, if only by a test. */
export function checkPassedOn(sources: readonly Source[]): readonly Finding[] {
  const read = new Map<string, Set<string>>()
  for (const source of sources)
    for (const { from, names } of source.imports) {
      const index = resolve(source.path, from)
      if (index === undefined || !isOutside(source.path, index)) continue
      // Of a namespace, and of an import at run time, any word of the file may be a name.
      const found = /^\s*(?:\*|$)/.test(names) ? (source.code.match(/\w+/g) ?? []) : namesIn(names)
      read.set(index, new Set([...(read.get(index) ?? []), ...found]))
    }
  return sources
    .filter((source) => /^service\/src\/.*\/index\.ts$/.test(source.path))
    .flatMap((source) =>
      source.imports
        .filter((each) => isReExport(source, each))
        .flatMap(({ names, at }) =>
          namesIn(names.slice(names.lastIndexOf('{') + 1).replaceAll(/\w+\s+as\s+(?=\w)/g, ''))
            .filter((name) => !read.get(source.path)?.has(name))
            .map((name) => finding(source, at, `${name} is passed on and read by nothing outside the folder`)),
        ),
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
