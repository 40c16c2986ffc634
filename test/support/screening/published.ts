/**
 * The published lists in SAMPLES_DIR, which are not in the repository: the list of the UN, and OFAC's SDN.CSV with ALT.CSV. The CSV is read
 * here alone: the service loads OFAC's XML, which the samples do not have.
 */
import { createReadStream, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'csv-parse/sync'
import { readSanctionsList } from '../../../service/src/screening/index.ts'
import {
  type Craft,
  entryFacts,
  type ListEntry,
  type ListSource,
  listedNames,
  readOfacBirthCountry,
  readImoNumber,
} from '../../../service/src/screening/lists/entry.ts'
import { samplesFolder } from '../samples.ts'

export type PublishedEntry = ListEntry & { readonly source: ListSource }

const folder = join(samplesFolder ?? '', 'sanctions')
/** Says in words why a test has no published lists; false: it has them. */
export const withoutPublished: string | false =
  samplesFolder === undefined || !existsSync(folder) ? 'SAMPLES_DIR does not name the published lists' : false

const rowsOf = (name: string): string[][] =>
  parse(readFileSync(join(folder, name)).toString('latin1').replaceAll('\u001a', ''), {
    relax_column_count: true,
    trim: true,
  })

/** `FAMILY, Given` of a person as people write it. */
function personName(text: string): string {
  const [family = '', ...given] = text.split(',')
  return `${given.join(' ')} ${family}`.trim()
}

const kinds: Readonly<Record<string, ListEntry['kind']>> = { individual: 'person', '-0-': 'organisation' }

/** The remarks have the facts of a person: `DOB 15 Mar 1971; POB Cairo, Egypt; nationality Egypt; Passport A1 (Egypt)`. */
function factsIn(remarks: string) {
  const said = remarks.split(';').map((part) =>
    part
      .trim()
      .replace(/^alt\. /, '')
      .replace(/\.$/, ''),
  )
  const after = (word: string) =>
    said.filter((part) => part.startsWith(`${word} `)).map((part) => part.slice(word.length + 1))
  const documents = said.flatMap((part) => {
    const [, type = '', number = '', country = ''] =
      /^(Passport|National ID No\.|Cedula No\.|C\.U\.R\.P\.|D\.N\.I\.) (\S+)(?: \(([^)]*)\))?/.exec(part) ?? []
    return number === '' ? [] : [{ type, number, country }]
  })
  const countries = [...after('nationality'), ...after('citizen'), ...after('POB').map(readOfacBirthCountry)]
  return { births: after('DOB'), facts: entryFacts({ countries, documents, addresses: [] }) }
}

function readOfac(): readonly PublishedEntry[] {
  const aliases = Map.groupBy(rowsOf('ofac-alt.csv'), ([id]) => id)
  return rowsOf('ofac-sdn.csv').flatMap((row): readonly PublishedEntry[] => {
    const [id = '', name = '', type = '', programme = ''] = row
    if (id === '' || name === '') return []
    const kind = kinds[type] ?? 'other'
    const texts = [name, ...(aliases.get(id) ?? []).map((alias) => alias[3] ?? '')]
    const remarks = row.at(-1) ?? ''
    const { births, facts } = factsIn(remarks)
    return [
      {
        source: 'ofac',
        id,
        reference: id,
        kind,
        names: listedNames(texts.map((text) => ({ text: kind === 'person' ? personName(text) : text, isWeak: false }))),
        births,
        programmes: [programme],
        ...(kind === 'other' ? craftIn(type, remarks) : {}),
        ...facts,
      },
    ]
  })
}

function craftIn(type: string, remarks: string): { readonly craft?: Craft } {
  if (type !== 'vessel' && type !== 'aircraft') return {}
  const numbers = [...remarks.matchAll(/IMO \d{7}/g)].flatMap(([text]) => readImoNumber(text) ?? [])
  return { craft: { kind: type, imoNumbers: [...new Set(numbers)] } }
}

/** The entries of both lists. */
export async function readPublished(): Promise<readonly PublishedEntry[]> {
  const { entries } = await readSanctionsList(createReadStream(join(folder, 'un-consolidated.xml')))
  return [...readOfac(), ...entries.map((entry) => ({ ...entry, source: 'un' as const }))]
}
