/** Names as lists search them: normalised, by prefix, and for customers hashed under the partner's key. Pure. */
import { createHmac } from 'node:crypto'
import anyAscii from 'any-ascii'
import { refuseField } from '../../kernel/api/index.ts'
import type { KycFields } from './rules.ts'

const indexedNames = ['fullName', 'legalName', 'tradingName'] as const satisfies readonly (keyof KycFields)[]

/** A search by one letter would return a large part of all customers. */
const prefixCharsMin = 2
/** A longer search compares this many characters: each further one would be one more row for each word of each name. */
const prefixCharsMax = 12
/** Limit of the indexed words of one name. Bounds the rows of a customer. */
const wordsMax = 8

/** Latin letters without marks, in lower case, and digits; everything else is one space: `Müller-Østby` is `muller ostby`. */
export const normaliseName = (name: string): string =>
  anyAscii(name)
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, ' ')
    .trim()

/** Every text by which a search finds a customer: the beginnings of its names, from each word on. */
export function prefixesOf(kyc: KycFields): readonly string[] {
  return [...new Set(indexedNames.flatMap((field) => prefixesOfName(kyc[field] ?? '')))]
}

/** The beginnings of a name, from each word on. */
export function prefixesOfName(given: string): readonly string[] {
  const words = normaliseName(given).split(' ')
  const prefixes = words.slice(0, wordsMax).flatMap((_, at) => {
    const from = words.slice(at).join(' ')
    const lengths = Math.min(prefixCharsMax, from.length) - prefixCharsMin + 1
    return (
      Array.from({ length: Math.max(lengths, 0) }, (_length, more) => from.slice(0, prefixCharsMin + more))
        // "ada " finds the same as "ada".
        .filter((prefix) => !prefix.endsWith(' '))
    )
  })
  return [...new Set(prefixes)]
}

/** Index key of a search for `text`. Undefined: fewer than two letters or digits. */
export function searchedPrefix(text: string): string | undefined {
  const prefix = normaliseName(text).slice(0, prefixCharsMax).trimEnd()
  return prefix.length < prefixCharsMin ? undefined : prefix
}

/** Index key of the query parameter `namePrefix`. Refuses: validation_failed. */
export function readNamePrefix(text: string): string {
  const prefix = searchedPrefix(text)
  if (prefix !== undefined) return prefix
  throw refuseField({
    pointer: '/query/namePrefix',
    code: 'out_of_range',
    message: `must have at least ${prefixCharsMin} letters or digits`,
  })
}

/** The first 64 bits of HMAC-SHA-256, as a signed decimal number. Of 100 million prefixes, two are equal with 1 in 4,000. */
export const nameToken = (key: Uint8Array, prefix: string): string =>
  createHmac('sha256', key).update(prefix, 'utf8').digest().readBigInt64BE().toString()
