/**
 * The baseline: version 0.1.0 makes with its first migrations the schema that 179 migrations before it had made. A database
 * that has exactly those goes on without a change of its schema: the baseline is recorded as applied. Their rows stay, so
 * that processes of the version before stay ready and may start again. Decision 0143.
 */
import { createHash } from 'node:crypto'

/** The numbers of the baseline go on behind those before it. */
const first = 301
export const baselineLast = 330

export const isBaseline = (number: number): boolean => number >= first && number <= baselineLast
export const isBeforeBaseline = (number: number): boolean => number < first

export type Applied = { readonly number: number; readonly name: string; readonly checksum: string }

/**
 * Digests of all migrations before the baseline: the texts for PostgreSQL and those for Citus, each with one of the two texts
 * that 0046 has had.
 */
const digests: ReadonlySet<string> = new Set([
  '2989999ecb2197f0f961c89596950164ee0d81aac767e0783f21d330e4fed1d6',
  '01f2cb89caae7f705f30b3d558b1910202642faead3c76b0501b38e81fc781df',
  'f37d2015ac1ded2081f38875019bed7f8e71725ae6d516037408c798b16c611e',
  'a4872b24aa3cf613ea60f59bea75310b0030523ab15cfc19a5ce52abf5344b43',
])

/** True if these are all migrations before the baseline, with their names and texts. */
export function completesVersionBefore(applied: readonly Applied[]): boolean {
  const lines = applied
    .toSorted((a, b) => a.number - b.number)
    .map((row) => `${row.number} ${row.name} ${row.checksum}`)
  return digests.has(createHash('sha256').update(lines.join('\n')).digest('hex'))
}

export const versionBeforeMissing =
  'the database is older than version 0.1.0 can upgrade, and nothing was changed: start commit 69df0e16 with MIGRATE_CONTRACT=on once, then this version'
