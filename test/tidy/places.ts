/** Where a file lives in the house, and the table of ranks, read from docs/architecture.md. */
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { root } from './source.ts'

export type Place = {
  /** `kernel`, `payouts`, `gateway`, `compose`, `wire`, `sdk`, ... */
  readonly name: string
  /** The folder that one enters by its `index.ts`; for a lone file, the file itself. */
  readonly home: string
  readonly isRoom: boolean
}

/** Undefined: outside the house (tests, scripts, examples). */
export function placeOf(path: string): Place | undefined {
  const room = /^(service\/src\/rooms\/([^/]+))\//.exec(path)
  if (room) return { name: room[2] ?? '', home: room[1] ?? '', isRoom: true }
  const folder = /^(service\/src\/([^/]+))\//.exec(path)
  if (folder) return { name: folder[2] ?? '', home: folder[1] ?? '', isRoom: false }
  const file = /^service\/src\/([^/]+)\.ts$/.exec(path)
  if (file) return { name: file[1] ?? '', home: path, isRoom: false }
  const workspace = /^((wire|sdk)\/src)\//.exec(path)
  if (workspace) return { name: workspace[2] ?? '', home: workspace[1] ?? '', isRoom: false }
  return undefined
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

/** `order` tells the places of one row apart where the row says "then": the later may import the earlier. */
export type Rank = { readonly rank: number; readonly order: number }

export function readRanks(text = readFileSync(join(root, 'docs/architecture.md'), 'utf8')): ReadonlyMap<string, Rank> {
  const section = text.split(/^## /m).find((part) => part.startsWith('Ranks')) ?? ''
  const rows = section.matchAll(/^\| *(\d+) *\|([^|]*)\|/gm)
  return new Map(
    [...rows].flatMap(([, rank, cell = '']) => {
      const names = [...cell.matchAll(/`(\w+)`/g)].map((match) => match[1] ?? '')
      const isOrdered = /\bthen\b/.test(cell)
      return names.map((name, index) => [name, { rank: Number(rank), order: isOrdered ? index : 0 }] as const)
    }),
  )
}
