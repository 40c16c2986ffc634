/** The digest of a line: finds the same payment in earlier bulks. Pure. */
import { createHash } from 'node:crypto'
import type { Minor } from '../../kernel/index.ts'
import { comparable } from '../index.ts'

type Line = {
  readonly beneficiaryId: string
  readonly amount: Minor
  readonly currency: string
  readonly reference: string | null
}

/**
 * Case, blanks and punctuation of a reference do not count. With 64 bits two different lines of a million agree with a chance of 3 in
 * 100 million.
 */
export function lineDigest({ beneficiaryId, amount, currency, reference }: Line): bigint {
  const text = JSON.stringify([beneficiaryId.toLowerCase(), String(amount), currency, comparable(reference)])
  return createHash('sha256').update(text).digest().readBigInt64BE()
}
