/** The blind index of names (docs/decisions/0050-names-by-keyed-prefixes.md). */
import { createPartnerTurns } from '../../postgres/jobs/index.ts'
import { type Clock, present, randomBytes, type Sealer } from '../../kernel/index.ts'
import type { Database, Tx } from '../../postgres/index.ts'
import type { KycFields } from './rules.ts'
import * as store from './store.ts'
import { nameKeyContext } from './sealed.ts'
import { createHmac } from 'node:crypto'
import anyAscii from 'any-ascii'
import { refuseField } from '../../kernel/api/index.ts'

export type NameIndex = {
  /** Computes the tokens of the names in `kyc`. The first call of a partner creates its key in the same transaction. */
  readonly computeTokens: (tx: Tx, partnerId: string, kyc: KycFields) => Promise<readonly string[]>
  /** Computes the token of a normalised prefix. Undefined: the partner does not have a key, and thus no customers with names. */
  readonly computeToken: (tx: Tx, partnerId: string, prefix: string) => Promise<string | undefined>
  /** Writes the changed tokens. The caller has locked the customer. */
  readonly replace: (
    tx: Tx,
    partnerId: string,
    customerId: string,
    change: { readonly before: readonly string[]; readonly after: readonly string[] },
  ) => Promise<void>
}

const keyBytes = 32

export function createNameIndex({ clock, sealer }: { readonly clock: Clock; readonly sealer: Sealer }): NameIndex {
  const open = (partnerId: string, keySealed: Uint8Array) =>
    Buffer.from(sealer.open(keySealed, nameKeyContext(partnerId)), 'base64')

  /**
   * Reads the key from the database, never from memory, because the transaction that created a cached key may have rolled
   * back.
   */
  const keyOf = async (tx: Tx, partnerId: string) => {
    const known = await store.nameKey(tx, partnerId)
    if (known) return open(partnerId, known)
    const key = randomBytes(keyBytes).toString('base64')
    await store.insertNameKey(tx, partnerId, sealer.seal(key, nameKeyContext(partnerId)), clock.now())
    return open(partnerId, present(await store.nameKey(tx, partnerId), `no name key for partner ${partnerId}`))
  }

  return {
    computeTokens: async (tx, partnerId, kyc) => {
      const prefixes = customerPrefixes(kyc)
      if (prefixes.length === 0) return []
      const key = await keyOf(tx, partnerId)
      return [...new Set(prefixes.map((prefix) => nameToken(key, prefix)))]
    },
    computeToken: async (tx, partnerId, prefix) => {
      const keySealed = await store.nameKey(tx, partnerId)
      return keySealed && nameToken(open(partnerId, keySealed), prefix)
    },
    replace: async (tx, partnerId, customerId, { before, after }) => {
      const [earlier, later] = [new Set(before), new Set(after)]
      const removed = before.filter((token) => !later.has(token))
      const added = after.filter((token) => !earlier.has(token))
      if (removed.length > 0) await store.deleteTokens(tx, partnerId, customerId, removed)
      if (added.length > 0) await store.insertTokens(tx, partnerId, customerId, added)
    },
  }
}

const customersPerStepMax = 100

/**
 * Creates the step that indexes names of customers that are not in the index: older ones, and those that a process of an earlier
 * version wrote. It returns how many. `kycOf` returns empty KYC if it cannot be read.
 */
export function createNameIndexStep(deps: {
  readonly db: Database
  readonly index: NameIndex
  readonly kycOf: (partnerId: string, row: store.UnindexedRow) => KycFields
}): () => Promise<number> {
  const { db, index, kycOf } = deps

  const indexSome = (partnerId: string) =>
    db.transaction(async (tx) => {
      const rows = await store.claimNamesDue(tx, partnerId, customersPerStepMax)
      for (const row of rows) {
        const after = await index.computeTokens(tx, partnerId, kycOf(partnerId, row))
        await index.replace(tx, partnerId, row.id, { before: row.nameTokens ?? [], after })
        await store.markIndexed(tx, partnerId, row.id, after)
      }
      return rows.length
    })

  return createPartnerTurns((afterId) => store.partnerWithNamesDue(db, afterId), indexSome)
}

// Pure: normalised names and their prefixes, by which lists search. Those of customers are hashed under the partner's key.

const indexedNames = ['fullName', 'legalName', 'tradingName'] as const satisfies readonly (keyof KycFields)[]

/** A search by one letter would return many of the customers. */
const prefixCharsMin = 2
/** A longer search compares only this many characters, because each further one would add a row for each word of each name. */
const prefixCharsMax = 12
/** Maximum number of indexed words of a name, which limits the rows of a customer. */
const wordsMax = 8

/** Reduces a name to lower-case Latin letters without marks, digits and single spaces: `Müller-Østby` becomes `muller ostby`. */
export const normaliseName = (name: string): string =>
  anyAscii(name)
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, ' ')
    .trim()

/** Lists all prefixes by which a search finds a customer: the beginnings of its names, from each word on. */
export function customerPrefixes(kyc: KycFields): readonly string[] {
  return [...new Set(indexedNames.flatMap((field) => namePrefixes(kyc[field] ?? '')))]
}

/** Lists the beginnings of a name, from each word on. */
export function namePrefixes(given: string): readonly string[] {
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

/** Computes the index key of a search. Undefined: the text has fewer than two letters or digits. */
export function searchedPrefix(text: string): string | undefined {
  const prefix = normaliseName(text).slice(0, prefixCharsMax).trimEnd()
  return prefix.length < prefixCharsMin ? undefined : prefix
}

/** Computes the index key of the query parameter `namePrefix`. Refuses: validation_failed. */
export function readNamePrefix(text: string): string {
  const prefix = searchedPrefix(text)
  if (prefix !== undefined) return prefix
  throw refuseField({
    pointer: '/query/namePrefix',
    code: 'out_of_range',
    message: `must have at least ${prefixCharsMin} letters or digits`,
  })
}

/** Returns the first 64 bits of HMAC-SHA-256, as a signed decimal number. Among 100 million prefixes a collision has a chance of 1 in 4,000. */
export const nameToken = (key: Uint8Array, prefix: string): string =>
  createHmac('sha256', key).update(prefix, 'utf8').digest().readBigInt64BE().toString()
