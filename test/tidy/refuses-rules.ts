/**
 * Compares what a comment says that a function refuses with the problem codes that the code behind it raises.
 *
 * It reads `Refuses: code (why), code.`, also `Refuses (400): code.`, above a function or a member of a type. It follows
 * names, not types, and leans to silence:
 * - A listed code is wrong only if nothing that the verb may reach names it. A method may be any of its name in the own
 *   folder and in those that the file imports, or in the whole service if those have none.
 * - A missing code is one that is thrown in the verb itself, or in a function of its folder that it calls by its plain name
 *   or through a namespace. Not seen: what other folders and injected parts raise, codes held in variables, functions that
 *   catch or that take a callback, and a verb whose name has several implementations.
 * - A list that points to another ("as `create`", "what the action refuses") is not asked for missing codes.
 * - Sentences without a code ("Refuses a cursor of another list") are no lists.
 */
import { basename, dirname, posix } from 'node:path'
import { type ProblemCode } from '@partner-payments/wire'
import { finding, type Finding, isTest, type Source } from './source.ts'

/** A named function, constant or property, with everything in it. Positions of its source; `end` is exclusive. */
type Unit = Definition & { readonly source: Source; readonly at: number; readonly end: number }
type Definition = { readonly name: string; readonly isFunction: boolean }
type List = {
  readonly source: Source
  readonly at: number
  readonly name: string
  readonly codes: readonly string[]
  /** Words in the form of a code that the catalogue does not have. */
  readonly unknown: readonly string[]
  readonly pointsElsewhere: boolean
  /** Position of the function, if the comment is above one and not above a member of a type. */
  readonly definedAt: number | undefined
}

const isService = (source: Source): boolean => !isTest(source) && source.path.startsWith('service/src/')
/** Parts that raise no refusal of a verb: the database, the clock and the like. */
const platform = new Set(['tx', 'db', 'clock', 'ids', 'random', 'log', 'Object', 'Math', 'Promise', 'JSON', 'Array'])
const builtIn = new Set(
  'map filter find has keys values entries match matchAll exec replace replaceAll join split slice push then catch test at some every includes concat for add delete toSorted reduce flatMap flat forEach log trim startsWith endsWith padStart set clear next now end write on once emit close toString text json from bind call apply resolve reject race all'.split(
    ' ',
  ),
)
const keywords = new Set(['if', 'for', 'while', 'switch', 'catch', 'return', 'function', 'case', 'default', 'else'])

/** The end of what begins on line `first`: the formatter indents what belongs to it, and closes it at its own depth. */
function endLine(lines: readonly string[], first: number): number {
  const depthOf = (line: string): number => /^ */.exec(line)?.[0].length ?? 0
  const depth = depthOf(lines[first] ?? '')
  let last = first
  for (let at = first + 1; at < lines.length; at += 1) {
    const line = lines[at] ?? ''
    if (line.trim() === '') continue
    if (depthOf(line) < depth || (depthOf(line) === depth && !/^[)}\]>]/.test(line.trim()))) break
    last = at
    if (depthOf(line) === depth && !/(?:[{([<,|&]|=>|=)$/.test(line.trimEnd())) break
  }
  return last
}

function unitsOf(source: Source): readonly Unit[] {
  const lines = source.code.split('\n')
  const starts: number[] = []
  let sum = 0
  for (const line of lines) {
    starts.push(sum)
    sum += line.length + 1
  }
  return lines.flatMap((line, index): readonly Unit[] => {
    const defined = definedBy(line)
    if (defined.length === 0) return []
    const last = endLine(lines, index)
    const end = (starts[last] ?? 0) + (lines[last] ?? '').length
    return defined.map((names) => ({ source, at: starts[index] ?? 0, end, ...names }))
  })
}

/** The definitions of a line: a function, a constant, a method, or properties that hold a function, a name or a call. */
function definedBy(line: string): readonly Definition[] {
  if (/^\s*(?:readonly|import|type|export type|export interface|interface)\b/.test(line)) return []
  const made = /^\s*(?:export\s+)?(?:(?:async\s+)?function\s*\*?|class)\s*(\w+)/.exec(line)?.[1]
  if (made !== undefined) return [{ name: made, isFunction: true }]
  const [, constant, value = ''] = /^\s*(?:export\s+)?(?:const|let)\s+(\w+)\b(.*)/.exec(line) ?? []
  if (constant !== undefined) return [{ name: constant, isFunction: /=\s*(?:async\b|\(|<|\w+\s*=>|$)/.test(value) }]
  const taken = /^\s*(?:export\s+)?const\s+\{([^}]*)\}\s*=.*\(/.exec(line)?.[1]
  if (taken !== undefined)
    return [...taken.matchAll(/(\w+)(?=\s*(?:,|$))/g)].map((match) => ({ name: match[1] ?? '', isFunction: false }))
  const method = /^\s*(?:async\s+)?(\w+)\(.*\{$/.exec(line)?.[1]
  if (method !== undefined) return keywords.has(method) ? [] : [{ name: method, isFunction: true }]
  return [
    ...line.matchAll(/(?:^\s*|[{,]\s*)(\w+):(?:(\s+(?:async\b|\(|<|\w+\s*=>)|$)|\s+[a-z][\w.]*(?:[,(]|$| \}))/g),
  ].map((match) => ({ name: match[1] ?? '', isFunction: match[2] !== undefined }))
}

/** The lists of a source. `codes`: the catalogue. */
function listsOf(source: Source, codes: ReadonlySet<string>): readonly List[] {
  return [...source.text.matchAll(/\/\*\*[\s\S]*?\*\//g)].flatMap((comment): readonly List[] => {
    const text = comment[0].replace(/\s*\n\s*\*(?!\/) ?/g, ' ').replace(/\*\/$/, '')
    const list = /\bRefuses(?: \([^)]*\))?(?: with the codes of|:)[\s\S]*/.exec(text)?.[0]
    if (list === undefined) return []
    const words = [...list.replace(/`[^`]*`/g, '').matchAll(/(?<![\w/])[a-z]+(?:_[a-z]+)*(?!\w)/g)].map(
      (match) => match[0],
    )
    const named = words.filter((word) => codes.has(word))
    const unknown = words.filter((word) => word.includes('_') && !codes.has(word))
    if (named.length === 0 && unknown.length === 0) return []
    const after = comment.index + comment[0].length
    const next =
      /^\s*(?:\/\/[^\n]*\n\s*)*(readonly\s+)?(?:export\s+)?(?:(?:async\s+)?function\s*\*?\s*|const\s+)?(\w+)/.exec(
        source.text.slice(after),
      )
    const isMember = next?.[1] !== undefined
    const lineStart = source.text.indexOf('\n', after) + 1
    return [
      {
        source,
        at: comment.index,
        name: next?.[2] ?? '',
        codes: [...new Set(named)],
        unknown: [...new Set(unknown)],
        pointsElsewhere: /\b(?:as|of) `|\b(?:what|see|also as|as the|as it|codes of)\b/i.test(
          list.replace(/\([^)]*\)/g, ''),
        ),
        definedAt: isMember ? undefined : lineStart,
      },
    ]
  })
}

const folderOf = (path: string): string => dirname(path)

/** Functions whose calls cannot raise a code, though a reader of the names sees it. The test asks whether each is still needed. */
export const safeCalls: readonly { readonly of: string; readonly code: ProblemCode; readonly because: string }[] = [
  { of: 'people/users/entrances.ts permitJoin', code: 'permission_denied', because: 'it asks whyNot first' },
  { of: 'people/users/single-sign-on.ts permitProvider', code: 'permission_denied', because: 'the role is mapped' },
  { of: 'people/users/service.ts invitationOf', code: 'permission_denied', because: 'the operator may' },
  {
    of: 'payouts/standing-orders/service.ts pause',
    code: 'standing_order_limit_reached',
    because: 'only for `Active`',
  },
  {
    of: 'payouts/standing-orders/service.ts cancel',
    code: 'standing_order_limit_reached',
    because: 'only for `Active`',
  },
  { of: 'screening/lists.ts remove', code: 'validation_failed', because: 'it passes the time of the loaded list' },
  { of: 'webhooks/management/subscriptions.ts enable', code: 'validation_failed', because: 'it passes a status alone' },
]

/** Codes of a verb that come as data: the engine of lifecycles, or a batch, hands the refusal on. */
export const handedOn: typeof safeCalls = [
  { of: 'payouts/accept.ts answerExceeding', code: 'limit_exceeded', because: 'the counters made the refusal' },
]
const placeOf = ({ source, name }: Pick<Unit, 'source' | 'name'>): string =>
  `${source.path.slice('service/src/'.length)} ${name}`

export type Index = {
  readonly lists: readonly List[]
  readonly listsByName: ReadonlyMap<string, readonly List[]>
  readonly units: ReadonlyMap<string, readonly Unit[]>
  readonly codes: ReadonlySet<string>
  readonly importsOf: ReadonlyMap<string, FileImports>
}
/** The imports of a file: names by the path of their file, namespaces, and the folders. */
type FileImports = {
  readonly names: ReadonlyMap<string, string>
  readonly spaces: ReadonlyMap<string, string>
  readonly folders: ReadonlySet<string>
}

function importedBy(source: Source): FileImports {
  const names = new Map<string, string>()
  const spaces = new Map<string, string>()
  const folders = new Set([folderOf(source.path)])
  for (const { from, names: text } of source.imports) {
    const isOwn = from.startsWith('.')
    const path = isOwn ? posix.join(folderOf(source.path), from) : from
    if (isOwn) folders.add(folderOf(path))
    const space = /\*\s+as\s+(\w+)/.exec(text)?.[1]
    if (space !== undefined) spaces.set(space, path)
    else
      for (const [, name = '', alias] of text.matchAll(/\b(?!type\b|as\b)(\w+)(?:\s+as\s+(\w+))?/g))
        names.set(alias ?? name, path)
  }
  return { names, spaces, folders }
}

export function readLists(sources: readonly Source[], codes: readonly string[]): Index {
  const known = new Set(codes)
  const service = sources.filter(isService)
  const units = Map.groupBy(service.flatMap(unitsOf), ({ name }) => name)
  const importsOf = new Map(service.map((source) => [source.path, importedBy(source)]))
  const lists = service.flatMap((source) => listsOf(source, known))
  return { lists, listsByName: Map.groupBy(lists, ({ name }) => name), units, codes: known, importsOf }
}

const isInside = (inner: Unit, outer: Unit): boolean =>
  inner !== outer &&
  inner.source === outer.source &&
  inner.at >= outer.at &&
  inner.end <= outer.end &&
  (inner.at > outer.at || inner.end < outer.end)

const textOf = ({ source, at, end }: Unit): string => source.text.slice(at, end)
const codeOf = ({ source, at, end }: Unit): string => source.code.slice(at, end)

const manyUnits = 8
/** Pages, the gateway and commands call verbs; verbs never call them. */
const upper = /^service\/src\/(?:pages|operator|edge|app)\//
const isAbove = (unit: Unit, from: Unit): boolean => upper.test(unit.source.path) && !upper.test(from.source.path)

/** Answers what a name may mean at a place of the code. */
function createResolver({ units, importsOf }: Index) {
  const bySource = Map.groupBy([...units.values()].flat(), ({ source }) => source.path)
  const parents = new Map<Unit, Unit | undefined>()
  const parentOf = (unit: Unit): Unit | undefined => {
    if (!parents.has(unit)) {
      const around = (bySource.get(unit.source.path) ?? []).filter((other) => isInside(unit, other))
      parents.set(unit, around.toSorted((a, b) => a.end - a.at - (b.end - b.at))[0])
    }
    return parents.get(unit)
  }
  const isVisible = (unit: Unit, from: Unit): boolean => {
    const parent = parentOf(unit)
    return parent === undefined || parent === from || isInside(from, parent)
  }

  /** Every unit that a name may mean; too many rather than too few. */
  const every = (from: Unit, { name, receiver, isCalled }: Use): readonly Unit[] => {
    const all = (units.get(name) ?? []).filter(({ isFunction }) => isFunction || isCalled || receiver === undefined)
    if (all.length === 0) return []
    const { names, spaces, folders } = importsOf.get(from.source.path) ?? importedBy(from.source)
    const at = (path: string | undefined) => all.filter(({ source }) => source.path === path)
    // An `index.ts` passes on names of its folder and of those below.
    const imported = (path: string) => {
      const found = at(path)
      return found.length > 0 ? found : all.filter(({ source }) => source.path.startsWith(`${folderOf(path)}/`))
    }
    // A name of many units says nothing about which one is meant: then those of the own folder.
    const fewOrOwn = (found: readonly Unit[]) => {
      const below = found.filter((unit) => !isAbove(unit, from))
      return below.length <= manyUnits
        ? below
        : below.filter(({ source }) => folderOf(source.path) === folderOf(from.source.path))
    }
    const own = at(from.source.path)
    if (receiver === undefined) {
      const path = names.get(name)
      if (path !== undefined) return imported(path)
      const visible = own.filter((unit) => isVisible(unit, from))
      // A function that a parameter carries may have its name elsewhere in the file.
      if (own.length > 0) return visible.length > 0 || !isCalled ? visible : own
      return isCalled ? fewOrOwn(all) : []
    }
    const space = spaces.get(receiver)
    if (space !== undefined) return imported(space)
    if (platform.has(receiver)) return []
    // `const reads = createReads(deps)`, then `reads.get`.
    const makers = (units.get(receiver) ?? [])
      .filter((unit) => unit.source === from.source && !unit.isFunction && isVisible(unit, from))
      .flatMap((unit) => /\b(create[A-Z]\w*)\(/.exec(codeOf(unit))?.[1] ?? [])
    const made = makers.flatMap((maker) => imported(names.get(maker) ?? from.source.path))
    if (made.length > 0) return made
    if (!isCalled) return []
    // `customers.get`: the folder of that name, if it has one.
    const near = all.filter(({ source }) => folders.has(folderOf(source.path)))
    const named = near.filter(({ source }) => basename(folderOf(source.path)) === receiver)
    if (named.length > 0) return named
    // `cursors.read`: a part is named after the function that creates it.
    const created = (units.get(`create${receiver[0]?.toUpperCase()}${receiver.slice(1)}`) ?? []).map(
      ({ source }) => source,
    )
    const parts = all.filter(({ source }) => created.includes(source))
    if (parts.length > 0) return parts
    if (builtIn.has(name)) return []
    return fewOrOwn(near.length > 0 ? near : all)
  }

  /** The one function that a plain call means, if it is in the folder of the caller. */
  const one = (from: Unit, name: string, receiver: string | undefined): Unit | undefined => {
    const all = units.get(name) ?? []
    const { names, spaces } = importsOf.get(from.source.path) ?? importedBy(from.source)
    const path = receiver === undefined ? (names.get(name) ?? from.source.path) : spaces.get(receiver)
    const found = all.filter(
      (unit) =>
        unit.source.path === path && (path === from.source.path ? isVisible(unit, from) : parentOf(unit) === undefined),
    )
    return found.length === 1 ? found[0] : undefined
  }
  return { every, one }
}

/** A name in code, with what stands before its dot. */
type Use = { readonly name: string; readonly receiver: string | undefined; readonly isCalled: boolean }
type Resolver = ReturnType<typeof createResolver>

/** The codes that anything names that these units may reach. */
function reached(start: readonly Unit[], { every }: Resolver, { codes, listsByName }: Index, cache: Map<Unit, Step>) {
  const home = folderOf(start[0]?.source.path ?? '')
  const found = new Set<string>()
  const seen = new Set(start)
  for (const unit of seen) {
    // The list of a verb of another folder is checked by itself.
    const told = (listsByName.get(unit.name) ?? []).filter(
      ({ source }) => folderOf(source.path) === folderOf(unit.source.path),
    )
    if (folderOf(unit.source.path) !== home && told.length > 0) {
      for (const list of told) for (const code of list.codes) found.add(code)
      if (!told.some(({ pointsElsewhere }) => pointsElsewhere)) continue
    }
    let step = cache.get(unit)
    if (step === undefined) {
      const named = [...textOf(unit).matchAll(/'([a-z_]+)'|\b([a-z]+_[a-z_]+):/g)].map(
        (match) => match[1] ?? match[2] ?? '',
      )
      const uses = new Map<string, Use>()
      const code = codeOf(unit)
      for (const { 0: whole, 1: name = '', 2: call, index: at } of code.matchAll(
        /\b([A-Za-z]\w*)\b(?!:\s)(\s*[(<])?/g,
      )) {
        const receiver = /(\w*)[)\]]?[?!]?\.\s*$/.exec(code.slice(Math.max(0, at - 40), at))?.[1]
        uses.set(`${receiver}.${whole}`, { receiver, name, isCalled: call !== undefined })
      }
      step = {
        codes: named.filter((code) => codes.has(code)),
        next: [...new Set([...uses.values()].flatMap((use) => every(unit, use)))],
      }
      cache.set(unit, step)
    }
    for (const code of step.codes) found.add(code)
    for (const next of step.next) seen.add(next)
  }
  return found
}
type Step = { readonly codes: readonly string[]; readonly next: readonly Unit[] }

const verbUnits = ({ units }: Index, list: List): readonly Unit[] => {
  const all = units.get(list.name) ?? []
  if (list.definedAt !== undefined)
    return all.filter(({ source, at }) => source === list.source && at === list.definedAt)
  const here = all.filter(({ source }) => source === list.source)
  return here.length > 0 ? here : all
}

/** Codes that a list has and nothing behind the verb names, and words that are no codes. */
export function checkListed(index: Index, allowed = handedOn): readonly Finding[] {
  const resolver = createResolver(index)
  const cache = new Map<Unit, Step>()
  return index.lists.flatMap((list): readonly Finding[] => {
    const wrong = list.unknown.map((word) =>
      finding(list.source, list.at, `${list.name} lists ${word}, which is no code`),
    )
    const start = verbUnits(index, list)
    if (start.length === 0) return wrong
    const raised = reached(start, resolver, index, cache)
    return [
      ...wrong,
      ...list.codes
        .filter((code) => !raised.has(code) && !allowed.some((each) => each.of === placeOf(list) && each.code === code))
        .map((code) => finding(list.source, list.at, `${list.name} lists ${code}, which nothing behind it raises`)),
    ]
  })
}

/** The text of the arguments of a call whose bracket opens before `at`. */
function argumentsAt(unit: Unit, at: number): string {
  let depth = 1
  let end = unit.at + at
  for (; end < unit.end && depth > 0; end += 1) {
    const char = unit.source.code[end] ?? ''
    if ('([{'.includes(char)) depth += 1
    if (')]}'.includes(char)) depth -= 1
  }
  return unit.source.text.slice(unit.at + at, end)
}

/** The codes that a function throws or, as `returned`, makes refusals of. */
function thrownBy(unit: Unit, index: Index, resolver: Resolver, returned = false): readonly string[] {
  const word = returned ? '(?:return|=>|[?:]|throw)' : 'throw'
  return [...codeOf(unit).matchAll(new RegExp(`${word}\\s+(new\\s+)?(?:(\\w+)\\.)?(\\w+)\\(`, 'g'))].flatMap(
    (match) => {
      const [whole, , receiver, name = ''] = match
      const given = [...argumentsAt(unit, match.index + whole.length).matchAll(/'(\w+)'/g)]
        .map((literal) => literal[1] ?? '')
        .filter((code) => index.codes.has(code))
      if (name === 'Refusal') return given.slice(0, 1)
      if (name === 'refuseField') return given.length > 0 ? given.slice(-1) : ['validation_failed']
      if (name === 'notFound') return ['not_found']
      const made = returned ? undefined : resolver.one(unit, name, receiver)
      return made === undefined ? [] : thrownBy(made, index, resolver, true)
    },
  )
}

/** Codes that a verb throws, or a function of its folder that it calls, and the list does not have. */
export function checkMissing(index: Index, allowed = safeCalls): readonly Finding[] {
  const resolver = createResolver(index)
  return index.lists.flatMap((list): readonly Finding[] => {
    const [verb, ...others] = verbUnits(index, list).filter(
      ({ source }) => folderOf(source.path) === folderOf(list.source.path),
    )
    if (list.pointsElsewhere || verb === undefined || others.length > 0) return []
    const missing = new Map<string, Unit>()
    // By the codes that cannot be raised on the way: a function may be called in two ways.
    const seen = new Map<string, { readonly unit: Unit; readonly safe: readonly string[] }>()
    const visit = (unit: Unit, before: readonly string[]) => {
      const own = allowed.filter(({ of }) => of === placeOf(unit)).map(({ code }) => code)
      const safe = [...new Set([...before, ...own])].toSorted()
      const key = `${unit.source.path}:${unit.at}:${unit.name}:${safe.join()}`
      if (!seen.has(key)) seen.set(key, { unit, safe })
    }
    visit(verb, [])
    for (const { unit, safe } of seen.values()) {
      const code = codeOf(unit)
      if (/\bcatch\b/.test(code)) continue
      for (const thrown of thrownBy(unit, index, resolver))
        if (!list.codes.includes(thrown) && !safe.includes(thrown)) missing.set(thrown, unit)
      for (const [, receiver, name = ''] of code.matchAll(/(?<![\w.])(?<!\b(?:new|throw)\s)(?:(\w+)\.)?(\w+)\(/g)) {
        const called = /^create[A-Z]/.test(name) ? undefined : resolver.one(unit, name, receiver)
        if (called !== undefined && folderOf(called.source.path) === folderOf(verb.source.path)) visit(called, safe)
      }
    }
    return [...missing].map(([code, unit]) =>
      finding(list.source, list.at, `${list.name} does not list ${code}, which ${unit.name} throws`),
    )
  })
}
