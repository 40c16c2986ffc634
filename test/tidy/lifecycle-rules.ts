/** Only the engine of lifecycles changes the status of a payment. Source: docs/architecture.md, How a payment moves. */
import { placeOf, resolve } from './places.ts'
import { finding, type Finding, isTest, type Source } from './source.ts'
import { readStatements } from './statements.ts'

/** The tables whose status has a table of transitions, by the module that states it. */
export const lifecycleTables: Readonly<Record<string, string>> = {
  deposits: 'deposits.deposits',
  payouts: 'payouts.payouts',
  'payouts/recalls': 'payouts.recalls',
}
const engineFile = 'service/src/lifecycle/index.ts'
const isService = (source: Source): boolean => !isTest(source) && source.path.startsWith('service/src/')
const withoutComments = (sql: string): string => sql.replace(/\/\*[\s\S]*?\*\//g, '')

type Write = { readonly source: Source; readonly at: number; readonly name: string; readonly table: string } & (
  | { readonly kind: 'insert'; readonly mayUpdate: boolean }
  | { readonly kind: 'update'; readonly namesOldStatus: boolean }
)

/** A set that names the column `status` unqualified, or that this rule cannot read. */
const setsStatus = (set: string): boolean => /(?<![.\w])status\b/i.test(set) || /(?:^|,)\s*\$\{\}/.test(set)

/** The statements that write a status: every insert, and each update that sets it. */
function writesIn(source: Source): readonly Write[] {
  return readStatements(source).flatMap(({ at, name, text }): readonly Write[] => {
    const statement = withoutComments(text)
    return Object.values(lifecycleTables).flatMap((table): readonly Write[] => {
      const named = table.replace('.', '\\.')
      if (new RegExp(`\\binsert\\s+into\\s+${named}\\b`, 'i').test(statement))
        return [{ source, at, name, table, kind: 'insert', mayUpdate: /\bdo\s+update\b/i.test(statement) }]
      const update = new RegExp(
        `\\bupdate\\s+(?:only\\s+)?${named}\\b[^]*?\\bset\\b([^]*?)(?=\\bfrom\\b|\\bwhere\\b|$)([^]*)`,
        'i',
      )
      const [, set = '', rest = ''] = update.exec(statement) ?? []
      const namesOldStatus = /\bwhere\b[^]*\bstatus\s*=\s*(?:\w+\.from_status\b|\$\{\})/i.test(rest)
      return setsStatus(set) ? [{ source, at, name, table, kind: 'update', namesOldStatus }] : []
    })
  })
}

const usesEngine = (source: Source): boolean =>
  source.imports.some(({ from, names }) => resolve(source.path, from) === engineFile && /\bcreateEngine\b/.test(names))

/** The files, apart from the one that declares it, that name a function; and this one if it names it twice. */
function callersOf({ source, name }: Write, sources: readonly Source[]): readonly Source[] {
  const word = new RegExp(`\\b${name}\\b`, 'g')
  return sources.filter((each) => (each.code.match(word)?.length ?? 0) > (each === source ? 1 : 0))
}

/**
 * One statement for each table inserts the first status. Every other statement that writes a status names the status that
 * each row leaves, and only a file that makes an engine of lifecycles calls it.
 */
export function checkStatusWrites(sources: readonly Source[]): readonly Finding[] {
  const service = sources.filter(isService)
  const inserted = new Set<string>()
  return service.flatMap(writesIn).flatMap((write): readonly Finding[] => {
    const { source, at, name, table } = write
    const say = (rule: string) => finding(source, at, `${name} writes the status of ${table}: ${rule}`)
    if (write.kind === 'insert') {
      const isSecond = inserted.has(table)
      inserted.add(table)
      return [
        ...(isSecond ? [say('another statement inserts it')] : []),
        ...(write.mayUpdate ? [say('an insert does not change it')] : []),
      ]
    }
    return [
      ...(write.namesOldStatus ? [] : [say('it does not say status = given.from_status')]),
      ...callersOf(write, service)
        .filter((caller) => !usesEngine(caller))
        .map((caller) => say(`${caller.path} calls it without the engine of lifecycles`)),
    ]
  })
}

/** Every module that makes a table of transitions is in the list above, and the other way round. */
export function checkLifecycleTables(sources: readonly Source[]): readonly Finding[] {
  const makers = sources.filter(
    (source) => isService(source) && placeOf(source.path)?.isModule && /\bcreateLifecycle\(/.test(source.code),
  )
  const names = new Set(makers.map(({ path }) => placeOf(path)?.name ?? ''))
  return [
    ...makers
      .filter(({ path }) => !((placeOf(path)?.name ?? '') in lifecycleTables))
      .map((source) => finding(source, 0, 'its table is not in lifecycleTables of test/tidy/lifecycle-rules.ts')),
    ...Object.keys(lifecycleTables)
      .filter((name) => !names.has(name))
      .map((name) => `${name} makes no table of transitions`),
  ]
}

/** The number of statements that the rule has read. */
export const countStatusWrites = (sources: readonly Source[]): number =>
  sources.filter(isService).flatMap(writesIn).length
