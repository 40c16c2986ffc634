/** Payments as payers and banks write them, each with the reference that it is about: the oracle of tests. */
import { formatCreditorReference, type EntryDetail } from '../../service/src/iso20022/index.ts'
import type { Random } from './random.ts'

const base36 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ'
/** 16 random characters, as references of checkout sessions have; 14 in pounds. */
export const newReference = ({ number, pick }: Random): string =>
  formatCreditorReference(Array.from({ length: pick([16, 16, 14]) }, () => base36[number(36)]).join(''))

const words = [
  ...['Danke', 'Rechnung', 'Ref.: RF', 'Jan', 'von A B C D E', 'für März', 'RF18', 'RF12 3', '2026-11-24', '00', '97'],
  ...['Überweisung', 'Z', 'order #88', 'RF99ABC', 'Merci beaucoup', '/INV/1', 'R', 'F', '12,50 €'],
] as const
const separators = ['', ' ', '  ', '\u00a0', '-', ' - ', '/', '.', ': ', '\n', '\t', '\u202f', '\u200b', '_'] as const

/** The reference with the same sign between its groups, or between none. */
function written({ number, pick }: Random, reference: string): string {
  const sign = pick(['', '', ' ', '  ', '-', '\u00a0', '.', '\u2011'])
  const size = 2 + number(4)
  const grouped = reference.replaceAll(new RegExp(`(.{${size}})(?=.)`, 'g'), `$1${sign}`)
  return pick([grouped, grouped, grouped.toLowerCase(), grouped.charAt(0).toLowerCase() + grouped.slice(1)])
}

function beside(random: Random, text: string): string {
  const { number, pick } = random
  const more = () => {
    const count = number(3)
    return Array.from({ length: count }, () => (number(5) === 0 ? written(random, newReference(random)) : pick(words)))
  }
  const around = [
    ...more().map((word) => word + pick(separators)),
    text,
    ...more().map((word) => pick(separators) + word),
  ]
  return around.join('')
}

/** Lines of a length, as banks cut a text: a line may begin or end with a blank, or keep none. */
function lines({ number, pick }: Random, text: string): readonly string[] {
  const size = pick([27, 35, 70, 140, 9 + number(30)])
  const cut = Array.from({ length: Math.ceil(text.length / size) }, (_none, at) =>
    text.slice(at * size, (at + 1) * size),
  )
  const end = pick(['', '', ' '])
  return cut.map((line) => pick([line, line, line.trim()]) + end).filter((line) => line.trim() !== '')
}

const fields = [
  ...['text', 'text', 'text', 'structured', 'structured', 'additional', 'document', 'endToEnd', 'instruction'],
  ...['information', 'booking', 'own'],
] as const

export type GeneratedRemittance = {
  readonly reference: string
  readonly detail: Pick<EntryDetail, 'references' | 'remittance' | 'information'>
  /** AddtlNtryInf of the entry. */
  readonly information: string | undefined
}

/** Draws one of the references in one of the fields, with other texts beside it, none of which names another known one. */
export function remitted(random: Random, reference: string): GeneratedRemittance {
  const { number, pick } = random
  const field = pick(fields)
  const text = beside(random, written(random, reference))
  const other = () => (number(2) === 0 ? beside(random, pick(words)) : undefined)
  const given = (name: (typeof fields)[number], value: string): string | undefined =>
    field === name ? value : undefined
  const unstructured = lines(random, given('text', text) ?? other() ?? '')
  const additional = lines(random, given('additional', text) ?? '')
  const structured = {
    ...(field === 'structured' ? { creditorReference: pick([reference, written(random, reference)]) } : {}),
    // A bank that puts the reference of its own product into the structured element.
    ...(field !== 'structured' && number(8) === 0 ? { creditorReference: newReference(random) } : {}),
    ...(additional.length > 0 ? { additional } : {}),
    ...(field === 'document' ? { documents: [{ number: text }] } : {}),
  }
  const [payment, booking] = [given('information', text) ?? other(), given('booking', text) ?? other()]
  return {
    reference,
    detail: {
      references: {
        endToEndId:
          given('endToEnd', pick([reference, text])) ?? pick(['NOTPROVIDED', 'E2E-4711', newReference(random)]),
        ...(field === 'instruction' ? { instructionId: reference } : {}),
        ...(field === 'own' ? { others: [{ type: 'OTHR', reference }] } : {}),
      },
      remittance: {
        ...(unstructured.length > 0 ? { unstructured } : {}),
        ...(Object.keys(structured).length > 0 ? { structured: [structured] } : {}),
      },
      ...(payment === undefined ? {} : { information: payment }),
    },
    information: booking,
  }
}
