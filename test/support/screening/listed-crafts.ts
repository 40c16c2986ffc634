/** The vessels and aircraft of OFAC's SDN.CSV and ALT.CSV, which are not in the repository: their numbers are in the remarks. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'csv-parse/sync'
import type { Craft, ListedName } from '../../../service/src/screening/lists/entry.ts'
import { readImoNumber } from '../../../service/src/screening/lists/imo.ts'

export type ListedCraft = { readonly craft: Craft; readonly names: readonly ListedName[] }

const rowsOf = (path: string): string[][] =>
  parse(readFileSync(path).toString('latin1').replaceAll('\u001a', ''), { relax_column_count: true, trim: true })

export function readListedCrafts(folder: string): readonly ListedCraft[] {
  const aliases = Map.groupBy(rowsOf(join(folder, 'ofac-alt.csv')), ([id]) => id)
  return rowsOf(join(folder, 'ofac-sdn.csv')).flatMap((row): readonly ListedCraft[] => {
    const [id = '', name = '', kind] = row
    if (kind !== 'vessel' && kind !== 'aircraft') return []
    const texts = new Set([name, ...(aliases.get(id) ?? []).map((alias) => alias[3] ?? '')])
    const numbers = [...(row.at(-1) ?? '').matchAll(/IMO \d{7}/g)].flatMap(([text]) => readImoNumber(text) ?? [])
    return [
      {
        craft: { kind, imoNumbers: [...new Set(numbers)] },
        names: [...texts].map((text) => ({ text, quality: 'good' })),
      },
    ]
  })
}
