/** The place of a file in the service, and the layers of docs/architecture.md. */
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { root } from './source.ts'

export type Place = {
  /** A folder below `service/src`, or a part of one that has an interface of its own: `kernel`, `parties/customers`, `edge/gateway`, `app/compose`, `wire`, ... */
  readonly name: string
  /** The folder that other folders import by its `index.ts`; for a lone file, the file itself. */
  readonly home: string
  /** True for a folder with verbs and tables, which reaches nothing but the database. */
  readonly isModule: boolean
}

/** Places whose subject, and so the PostgreSQL schema and the label of their statements, has another name than the folder. */
const subjects: Readonly<Record<string, string>> = {
  'audit/api': 'audit-log',
  'banks/conformance': 'rails',
  'banks/files': 'rails',
  'banks/internal': 'rails',
  'banks/sandbox': 'rails',
  'chains/evm': 'rails',
  'parties/identity-port': 'identity',
  'parties/payee-check': 'verification',
  'payouts/bulk': 'bulk-payouts',
  'payouts/controls': 'payout-controls',
  'people/sign-in': 'sign_in',
  'requests/api': 'request-log',
  'simulations/identity-provider': 'rails',
  webhooks: 'delivery',
  'webhooks/api': 'webhooks',
}

/** The PostgreSQL schema of a place, and the first word of the labels of its statements. */
export const schemaOf = ({ name }: Pick<Place, 'name'>): string => subjects[name] ?? name.split('/').at(-1) ?? name

/** Undefined: outside the service (tests, scripts, examples). */
export function placeOf(path: string): Place | undefined {
  const part = /^service\/src\/(app\/[^/]+?)(?:\.test)?\.ts$/.exec(path)
  if (part) return { name: part[1] ?? '', home: path, isModule: false }
  const folder = /^service\/src\/(([^/]+)(?:\/[^/]+)?)\//.exec(path)
  if (folder) {
    const [, both = '', first = ''] = folder
    const name = layerNames().has(both) ? both : first
    return { name, home: `service/src/${name}`, isModule: layerNames().get(name) === 'modules' }
  }
  const file = /^service\/src\/([^/]+)\.ts$/.exec(path)
  if (file) return { name: file[1] ?? '', home: path, isModule: false }
  const workspace = /^((wire|sdk)\/src)\//.exec(path)
  if (workspace) return { name: workspace[2] ?? '', home: workspace[1] ?? '', isModule: false }
  return undefined
}

let known: ReadonlyMap<string, string> | undefined
/** The name of the layer of each place. */
function layerNames(): ReadonlyMap<string, string> {
  if (known === undefined) {
    const { layerOf, names } = readLayers()
    known = new Map([...layerOf].map(([name, layer]) => [name, names[layer] ?? '']))
  }
  return known
}

/** The folder below `service/src` that contains a place. */
export const topOf = (name: string): string => name.split('/')[0] ?? name

/** The folder, below `service/src`, of the module that has the operations of a group. */
export function folderOfGroup(group: string): string {
  const places = [...layerNames()].filter(([name, layer]) => layer === 'modules' && schemaOf({ name }) === group)
  return places[0]?.[0] ?? group
}

/** The file that an import leads to, or undefined for a package. */
export function resolve(from: string, specifier: string): string | undefined {
  if (specifier.startsWith('.')) return join(dirname(from), specifier).replaceAll('\\', '/')
  const workspace = /^@partner-payments\/(wire|sdk)$/.exec(specifier)
  return workspace ? `${workspace[1]}/src/index.ts` : undefined
}

/** The package of an import: `@scope/name`, `name` or `node:name`; undefined for a file. */
export function packageOf(specifier: string): string | undefined {
  if (specifier.startsWith('.') || specifier.startsWith('@partner-payments/')) return undefined
  return /^(?:@[^/]+\/[^/]+|[^/]+)/.exec(specifier)?.[0]
}

/** The tables of a schema that other folders own than the one with its name. They keep the names that migrations gave them. */
const owners: Readonly<Record<string, readonly string[]>> = {
  'bulk-payouts': ['payouts.bulks', 'payouts.bulk_items'],
  'identity-checks': ['customers.identity_erasures', 'customers.identity_verifications'],
  'payout-controls': [
    'payouts.approval_rules',
    'payouts.cooling_offs',
    'payouts.fee_rules',
    'payouts.limit_counters',
    'payouts.limits',
  ],
  recalls: ['payouts.recalls'],
  'standing-orders': ['payouts.standing_executions', 'payouts.standing_order_turns', 'payouts.standing_orders'],
}
const ownersOfTables = new Map(
  Object.entries(owners).flatMap(([place, tables]) => tables.map((table) => [table, place])),
)

/** The place that owns a table: as listed above, otherwise the one with the name of its schema. */
export const ownerOf = (table: string): string => ownersOfTables.get(table) ?? table.slice(0, table.indexOf('.'))

export type Layers = {
  /** The layer of each place, the lowest is 0. */
  readonly layerOf: ReadonlyMap<string, number>
  readonly names: readonly string[]
  /** Imports within a layer: a place, and the places of its own layer that it may import. */
  readonly edges: ReadonlyMap<string, ReadonlySet<string>>
}

const namesIn = (cell = '') => [...cell.matchAll(/`([\w/-]+)`/g)].map((match) => match[1] ?? '')

/** The two tables below the heading "Layers": the layers, lowest first, and the imports within a layer. */
export function readLayers(text = readFileSync(join(root, 'docs/architecture.md'), 'utf8')): Layers {
  const section = text.split(/^## /m).find((part) => part.startsWith('Layers')) ?? ''
  const [layerTable = '', edgeTable = ''] = section.split(/^### /m)
  const rows = (table: string) => [...table.matchAll(/^\| *([^|]+?) *\|([^|]*)\|/gm)].slice(2)
  const layers = rows(layerTable)
  return {
    names: layers.map((row) => (row[1] ?? '').replaceAll('*', '')),
    layerOf: new Map(layers.flatMap((row, index) => namesIn(row[2]).map((name) => [name, index] as const))),
    edges: new Map(rows(edgeTable).flatMap((row) => namesIn(row[1]).map((name) => [name, new Set(namesIn(row[2]))]))),
  }
}
