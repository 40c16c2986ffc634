/**
 * Damaged messages: bytes flipped, cut, doubled and removed. Each is refused or read; a read message has the amounts of
 * the file, as another parser finds them. The seed makes a failure repeatable.
 */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import sax from 'sax'
import { chunks, reportParts } from '../../../scripts/iso-documents.ts'
import {
  MessageProblem,
  readPain001,
  readRecall,
  readRecallAnswer,
  readStatusReport,
  recogniseMessage,
} from './index.ts'

const folder = new URL('samples/', import.meta.url)
const samples = readdirSync(folder)
  .filter((name) => !name.includes('latin1'))
  .map((name) => ({ name, bytes: readFileSync(new URL(name, folder)) }))
const mutationsOfEach = 80

/** mulberry32 */
function generator(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}

const signs = Buffer.from(`<>&"'/=-.,0123456789 ABCcyEUR;x\n\u0001`)
type Mutation = (bytes: Buffer, random: (below: number) => number) => Buffer
const mutations: Readonly<Record<string, Mutation>> = {
  'a bit': (bytes, random) => {
    const copy = Buffer.from(bytes)
    const at = random(copy.length)
    copy[at] = (copy[at] ?? 0) ^ (1 << random(8))
    return copy
  },
  'a sign': (bytes, random) => {
    const copy = Buffer.from(bytes)
    copy[random(copy.length)] = signs[random(signs.length)] ?? 0
    return copy
  },
  'a digit of an amount': (bytes, random) => {
    const text = bytes.toString()
    const found = [...text.matchAll(/(?<=Amt Ccy=['"][A-Z]{3}['"]>)[\d.]+/g)]
    const match = found[random(Math.max(1, found.length))]
    if (match === undefined) return bytes
    const at = match.index + random(match[0].length)
    return Buffer.from(text.slice(0, at) + String.fromCharCode(signs[random(signs.length)] ?? 0) + text.slice(at + 1))
  },
  'a cut': (bytes, random) => bytes.subarray(0, random(bytes.length)),
  'a part doubled': (bytes, random) => {
    const [from, length] = [random(bytes.length), random(200)]
    return Buffer.concat([bytes.subarray(0, from + length), bytes.subarray(from)])
  },
  'a part removed': (bytes, random) => {
    const from = random(bytes.length)
    return Buffer.concat([bytes.subarray(0, from), bytes.subarray(from + random(100))])
  },
  'an element removed or doubled': (bytes, random) => {
    const text = bytes.toString()
    const found = [...text.matchAll(/<([\w:]+)[^<>]*>[^<>]*<\/\1>/g)]
    const match = found[random(Math.max(1, found.length))]
    if (match === undefined) return bytes
    const twice = random(2) === 0 ? match[0] + match[0] : ''
    return Buffer.from(text.slice(0, match.index) + twice + text.slice(match.index + match[0].length))
  },
}

/** Reads the amount of each entry (Amt below Ntry, in the namespace of the document) with another parser. */
function amountsBySax(text: string): readonly string[] {
  const parser = sax.parser(true, { xmlns: true })
  const found: string[] = []
  let ofEntry: string[] = []
  const open: string[] = []
  let namespace = ''
  let written = ''
  parser.onerror = (error) => {
    throw error
  }
  parser.onopentag = (tag) => {
    const { local, uri, attributes } = tag as sax.QualifiedTag
    if (local === 'Document') namespace = uri
    open.push(uri === namespace ? local : '')
    written = `${attributes['Ccy']?.value ?? ''} `
  }
  parser.ontext = parser.oncdata = (some) => {
    written += some
  }
  parser.onclosetag = () => {
    const isRead = !open.includes('SplmtryData')
    if (open.slice(-2).join('/') === 'Ntry/Amt' && isRead) ofEntry.push(written)
    if (open.at(-1) === 'Ntry' && isRead) {
      found.push(ofEntry.join())
      ofEntry = []
    }
    open.pop()
  }
  parser.write(text).close()
  return found
}

/** Splits `EUR 12.5` into currency and plain decimal. */
const plain = (amount: string): string =>
  amount
    .replace(/\s+/g, ' ')
    .trim()
    .replace(/ \+?0*(?=\d)/, ' ')
    .replace(/ \.(?=\d)/, ' 0.')
    .replace(/\.0*$|(?<=\.\d*[1-9])0+$/, '')
const ours = (minor: bigint): string => `${minor / 100n}.${(minor % 100n).toString().padStart(2, '0')}`

/** Undefined: only this entry is unreadable. */
type AmountRead = string | undefined

const readers = [readPain001, readStatusReport, readRecall, readRecallAnswer]
async function readAny(bytes: Buffer): Promise<readonly AmountRead[] | undefined> {
  const kind = (await recogniseMessage(chunks(bytes)).catch(() => undefined))?.kind
  if (!kind?.startsWith('camt.05') || kind === 'camt.055' || kind === 'camt.056') {
    for (const read of readers)
      await read(chunks(bytes)).catch((error: unknown) => assert.ok(error instanceof MessageProblem, String(error)))
    return undefined
  }
  try {
    const parts = await reportParts(chunks(bytes, 1000))
    return parts.flatMap((part) => {
      if (part.kind !== 'entry') return []
      const { problem, amount } = part.entry
      const text = amount.minor === null ? amount.text : ours(amount.minor)
      return [problem === undefined ? plain(`${amount.currency} ${text}`) : undefined]
    })
  } catch (error) {
    assert.ok(error instanceof MessageProblem, String(error))
    return undefined
  }
}

for (const [title, mutate] of Object.entries(mutations))
  test(`${title}: a damaged message is refused, or its readable amounts are as written`, async () => {
    const random = generator(18)
    let readCount = 0
    for (const { name, bytes } of samples)
      for (let run = 0; run < mutationsOfEach; run += 1) {
        const damaged = mutate(bytes, random)
        const amounts = await readAny(damaged)
        if (amounts === undefined) continue
        readCount += 1
        const text = damaged.toString().replace(/^\ufeff/, '')
        const expected = amountsBySax(text).map(plain)
        const known = expected.map((amount, at) => (amounts[at] === undefined ? undefined : amount))
        assert.deepEqual(amounts, known, `${name}, run ${run}: ${text}`)
      }
    if (title !== 'a cut') assert.ok(readCount > 10, `only ${readCount} damaged messages were read`)
  })
