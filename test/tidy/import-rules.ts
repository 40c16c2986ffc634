/** Who may import whom: ranks, doors, cycles, packages. Source: docs/architecture.md, Ranks. */
import { packageOf, placeOf, type Rank, resolve } from './places.ts'
import { finding, type Finding, isTest, type Source } from './source.ts'

type Ranks = ReadonlyMap<string, Rank>

const isHouse = (source: Source): boolean => !isTest(source) && placeOf(source.path) !== undefined

/** Every place of the house stands in the table. */
export function checkPlaces(sources: readonly Source[], ranks: Ranks): readonly Finding[] {
  return sources.filter(isHouse).flatMap((source) => {
    const name = placeOf(source.path)?.name ?? ''
    return name === 'sdk' || ranks.has(name) ? [] : [finding(source, 0, `place ${name} has no rank in the table`)]
  })
}

/** A file imports only lower ranks or its own folder, and another folder only by its index.ts. */
export function checkRanksAndDoors(sources: readonly Source[], ranks: Ranks): readonly Finding[] {
  return sources.filter(isHouse).flatMap((source) =>
    source.imports.flatMap(({ from, at }) => {
      const target = resolve(source.path, from)
      if (target === undefined) return []
      const here = placeOf(source.path)
      const there = placeOf(target)
      if (there === undefined) return [finding(source, at, `the house imports ${target}, which is outside it`)]
      if (here === undefined || here.home === there.home) return []
      const found: Finding[] = []
      if (there.home !== target && target !== `${there.home}/index.ts`)
        found.push(finding(source, at, `${target}: another folder is entered by its index.ts only`))
      if (there.name === 'wire' && from.startsWith('.'))
        found.push(finding(source, at, 'the contract is imported as @partner-payments/wire'))
      return [...found, ...rankFinding(source, at, here.name, there.name, ranks)]
    }),
  )
}

function rankFinding(source: Source, at: number, here: string, there: string, ranks: Ranks): readonly Finding[] {
  // The client is written against the published contract and has no dependencies, types included.
  if (here === 'sdk' || there === 'sdk') return [finding(source, at, `${here} and ${there} share no code`)]
  const [low, high] = [ranks.get(there), ranks.get(here)]
  if (low === undefined || high === undefined) return []
  if (low.rank < high.rank || (low.rank === high.rank && low.order < high.order)) return []
  // Rank 0 holds two: the kernel speaks the words of the contract, never the other way round.
  if (here === 'kernel' && there === 'wire') return []
  return [finding(source, at, `${here} (rank ${high.rank}) imports ${there} (rank ${low.rank})`)]
}

/** The gateway has handlers, not rooms, and only the composition root sees rooms from outside the ranks of work. */
export function checkRoomsUnseen(sources: readonly Source[]): readonly Finding[] {
  const blind = new Set(['gateway', 'main', 'config'])
  return sources.filter(isHouse).flatMap((source) =>
    source.imports.flatMap(({ from, at }) => {
      const here = placeOf(source.path)?.name ?? ''
      const there = placeOf(resolve(source.path, from) ?? '')
      return there?.isRoom && blind.has(here) ? [finding(source, at, `${here} may not see room ${there.name}`)] : []
    }),
  )
}

/** No file reaches itself by imports, type imports included. Each cycle is named once. */
export function checkCycles(sources: readonly Source[]): readonly Finding[] {
  const byPath = new Map(sources.map((source) => [source.path, source]))
  const done = new Set<string>()
  const found: Finding[] = []
  const visit = (source: Source, trail: readonly string[]) => {
    if (trail.includes(source.path)) {
      const cycle = [...trail.slice(trail.indexOf(source.path)), source.path]
      found.push(finding(source, 0, `import cycle: ${cycle.join(' -> ')}`))
      return
    }
    if (done.has(source.path)) return
    for (const { from } of source.imports) {
      const next = byPath.get(resolve(source.path, from) ?? '')
      if (next) visit(next, [...trail, source.path])
    }
    done.add(source.path)
  }
  for (const source of sources) visit(source, [])
  return found
}

/** Who may use a package; `tests` are all test files and test/, scripts/, bench/, examples/. */
export const packageUsers: Readonly<Record<string, readonly string[]>> = {
  '@fastify/reply-from': ['gateway'],
  'fast-check': [],
  fastify: ['gateway'],
  'graphile-worker': [],
  'i18n-iso-countries': ['customers', 'beneficiaries', 'accounts'],
  ibantools: ['accounts', 'beneficiaries', 'rails'],
  'ipaddr.js': ['webhooks', 'delivery', 'gateway'],
  nodemailer: ['mail'],
  pg: ['postgres'],
  'pg-boss': [],
  pino: ['kernel'],
  'prom-client': ['operations'],
  'smtp-server': [],
  standardwebhooks: [],
  typebox: ['wire', 'gateway'],
  undici: ['gateway', 'delivery', 'rails'],
}
/** Outside the house `pg` serves only what makes databases and what measures them. */
const pgOutside = /^(?:test\/support|scripts|bench)\//
/** A computed import, and why it cannot be a literal. */
const computedImports: Readonly<Record<string, string>> = {
  'service/src/postgres/embedded-binaries.ts': 'the package of the platform that it runs on',
}
/** Places that reach no file, socket or process: they compute, or speak to the database by `postgres`. */
const isInner = (name: string, isRoom: boolean): boolean =>
  isRoom || ['wire', 'ledger', 'outbox', 'access', 'kernel'].includes(name)
const innerBuiltins = new Set(['node:crypto', 'node:util', 'node:async_hooks', 'node:buffer'])

export function checkPackages(sources: readonly Source[]): readonly Finding[] {
  return sources.flatMap((source) =>
    source.imports.flatMap(({ from, at }) => {
      const used = packageOf(from)
      const place = placeOf(source.path)
      if (used === undefined) return []
      if (used === 'pg' && !place && !pgOutside.test(source.path)) return [finding(source, at, 'pg is not used here')]
      if (isTest(source) || !place) return []
      if (used === '?')
        return source.path in computedImports ? [] : [finding(source, at, 'an import of a computed path')]
      if (used.startsWith('node:'))
        return isInner(place.name, place.isRoom) && !innerBuiltins.has(used)
          ? [finding(source, at, `${place.name} reaches no file, socket or process: ${used}`)]
          : []
      return packageUsers[used]?.includes(place.name)
        ? []
        : [finding(source, at, `${used} is not for ${place.name}: see packageUsers in test/tidy/import-rules.ts`)]
    }),
  )
}
