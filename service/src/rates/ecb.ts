/**
 * Reads the daily reference rates of the European Central Bank (eurofxref-daily.xml): `Cube[@time]` with a
 * `Cube[@currency @rate]` for each currency. Anything else is refused as a whole, because a partial sheet is useless.
 */
import sax from 'sax'
import { dayMs, hourMs, isCurrency } from '../kernel/index.ts'
import type { RateSheet } from './port.ts'
import { type Rate, readRate } from './rate.ts'

/** A daily sheet has about 2 KiB and 40 elements, four deep. */
export const sheetBytesMax = 64 * 1024
const elementsMax = 500
const depthMax = 10

/** The bank publishes at about 16:00 in Frankfurt: 14:00 UTC in summer, an hour later in winter. */
const publishedAfterMs = 14 * hourMs
/** A sheet with a future date is a mistake of the source. */
const aheadMaxMs = dayMs

const dateForm = /^\d{4}-\d{2}-\d{2}$/
const currencyForm = /^[A-Z]{3,5}$/

const refuse = (reason: string): never => {
  throw new Error(`no sheet of rates: ${reason}`)
}

export function readEcbSheet(text: string, now: Date): RateSheet {
  const found = { times: [] as string[], rates: new Map<string, Rate>() }
  parse(text, (attributes) => take(found, attributes))
  const [time, ...others] = found.times
  if (time === undefined || others.length > 0 || !dateForm.test(time)) return refuse('it has not exactly one date')
  const day = Date.parse(`${time}T00:00:00Z`)
  if (Number.isNaN(day) || !new Date(day).toISOString().startsWith(time)) return refuse(`${time} is not a date`)
  if (day > now.getTime() + aheadMaxMs) return refuse(`${time} has not come yet`)
  if (found.rates.size === 0) return refuse('it has no rates')
  const own = [...found.rates].filter(([currency]) => isCurrency(currency) && currency !== 'EUR')
  return { asOf: new Date(day + publishedAfterMs), quotes: Object.fromEntries(own) }
}

type Attributes = Readonly<Record<string, string>>

function take(
  found: { readonly times: string[]; readonly rates: Map<string, Rate> },
  { time, currency, rate }: Attributes,
): void {
  if (time !== undefined) found.times.push(time)
  if (currency === undefined && rate === undefined) return
  if (currency === undefined || !currencyForm.test(currency)) refuse('a rate has no currency')
  const read = readRate(rate ?? '')
  if (currency !== undefined && read !== undefined && !found.rates.has(currency)) found.rates.set(currency, read)
  else refuse(`the rate of ${currency} is invalid or repeated`)
}

/**
 * Calls `onCube` for each `Cube`. Refuses features that no sheet has: a document type, deep nesting, many elements,
 * broken XML.
 */
function parse(text: string, onCube: (attributes: Attributes) => void): void {
  if (text.length > sheetBytesMax) refuse('it is too long')
  const parser = sax.parser(true)
  let elements = 0
  let depth = 0
  let root = ''
  parser.onerror = () => refuse('it is not well-formed XML')
  // A document type could define entities, which grow without bound.
  parser.ondoctype = () => refuse('it has a document type')
  parser.onopentag = ({ name, attributes }) => {
    const local = name.replace(/^[^:]*:/, '')
    if (elements === 0) root = local
    // The parser accepts several roots, and an unclosed one.
    else if (depth === 0) refuse('it has several roots')
    elements += 1
    depth += 1
    if (elements > elementsMax || depth > depthMax) refuse('it has too many elements')
    if (local === 'Cube') onCube(attributes as Attributes)
  }
  parser.onclosetag = () => {
    depth -= 1
  }
  parser.write(text).close()
  if (depth > 0) refuse('it ends too early')
  if (root !== 'Envelope') refuse('it is not an envelope of rates')
}
