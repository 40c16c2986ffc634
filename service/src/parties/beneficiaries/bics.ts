/** Loads the BIC directory, and completes and checks the BICs of accounts with it. */
import { createHash } from 'node:crypto'
import { refuseFields } from '../../kernel/api/index.ts'
import { type Clock, nilId } from '../../kernel/index.ts'
import type { Database, Tx } from '../../postgres/index.ts'
import { listBankCodes, bicContradiction, type BicEntry, parseBicFile } from './bic-file.ts'
import * as store from './store-bics.ts'

export type LoadedDirectory = store.DirectoryRow & {
  /** True if the file is the directory that was loaded last. Nothing changes then. */
  readonly isRepetition: boolean
}

export type BicDirectory = {
  /** Replaces the whole directory, and calls `recorded` in the same transaction. Throws BicFileError. */
  readonly load: (text: string, staff: string, recorded?: (tx: Tx) => Promise<void>) => Promise<LoadedDirectory>
  /** Reads the current directory. Undefined: none was loaded. */
  readonly current: (tx: Tx) => Promise<store.DirectoryRow | undefined>
  /**
   * Sets the directory's BIC for every beneficiary of a partner for which the partner did not give a BIC, or removes it if
   * the directory no longer lists the bank. Returns how many it changed. May be repeated.
   */
  readonly completeAll: (partnerId: string) => Promise<number>
}

/** The BIC of an account. `bicCompletedAt`: when the directory completed it. Null: the partner gave the BIC, or there is none. */
export type CheckedBic = { readonly bic: string | null; readonly bicCompletedAt: Date | null }

const rowsPerPage = 1000

export function createBicDirectory({ db, clock }: { readonly db: Database; readonly clock: Clock }): BicDirectory {
  return {
    load: async (text, staff, recorded) => {
      const entries = parseBicFile(text)
      const hash = createHash('sha256').update(text).digest('hex')
      return db.transaction(async (tx) => {
        const loaded = await load(tx, entries, { hash, loadedBy: staff, loadedAt: clock.now() })
        await recorded?.(tx)
        return loaded
      })
    },
    current: store.currentDirectory,
    completeAll: async (partnerId) => {
      let changed = 0
      for (let afterId: string | undefined = nilId; afterId !== undefined;) {
        const from: string = afterId
        const page = await db.transaction((tx) => completePage(tx, partnerId, from, clock.now()))
        changed += page.changed
        afterId = page.lastId
      }
      return changed
    },
  }
}

type LoadRecord = Pick<store.DirectoryRow, 'hash' | 'loadedBy' | 'loadedAt'>

async function load(tx: Tx, entries: readonly BicEntry[], about: LoadRecord): Promise<LoadedDirectory> {
  await store.lockDirectories(tx)
  const before = await store.currentDirectory(tx)
  if (before?.hash === about.hash) return { ...before, isRepetition: true }
  const version = (before?.version ?? 0) + 1
  const known = new Map((await store.currentBics(tx)).map((entry) => [bicKey(entry), entry]))
  const keys = new Set(entries.map(bicKey))
  const removed = [...known.values()].filter((entry) => !keys.has(bicKey(entry)))
  const added = entries.filter((entry) => !known.has(bicKey(entry)))
  const changed = entries.filter((entry) => {
    const earlier = known.get(bicKey(entry))
    return earlier !== undefined && (earlier.bic !== entry.bic || earlier.name !== entry.name)
  })
  for (const page of splitPages([...removed, ...changed])) await store.endBics(tx, page, version)
  for (const page of splitPages([...added, ...changed])) await store.insertBics(tx, page, version)
  const counts = { added: added.length, changed: changed.length, removed: removed.length }
  const row = { ...about, version, entries: entries.length, ...counts }
  await store.insertDirectory(tx, row)
  return { ...row, isRepetition: false }
}

const bicKey = ({ country, bankCode }: Pick<BicEntry, 'country' | 'bankCode'>): string => `${country} ${bankCode}`

const splitPages = (entries: readonly BicEntry[]): readonly (readonly BicEntry[])[] =>
  Array.from({ length: Math.ceil(entries.length / rowsPerPage) }, (_, page) =>
    entries.slice(page * rowsPerPage, (page + 1) * rowsPerPage),
  )

async function completePage(
  tx: Tx,
  partnerId: string,
  afterId: string,
  now: Date,
): Promise<{ readonly changed: number; readonly lastId: string | undefined }> {
  const rows = await store.lockCompletable(tx, partnerId, afterId, rowsPerPage)
  const bicOf = await knownBics(
    tx,
    rows.map(({ iban }) => iban),
  )
  const changed = rows
    .map((row) => ({ ...row, bic: bicOf(row.iban) ?? null }))
    .filter(({ bic }, index) => bic !== rows[index]?.bic)
  if (changed.length > 0) await store.completeBics(tx, partnerId, changed, now)
  return { changed: changed.length, lastId: rows.length < rowsPerPage ? undefined : rows.at(-1)?.id }
}

/** Reads the directory's BIC for each of these IBANs. An entry of the branch takes precedence over one of the bank. */
async function knownBics(tx: Tx, ibans: readonly string[]): Promise<(iban: string) => string | undefined> {
  const bicKeys = (iban: string) => listBankCodes(iban).map((bankCode) => ({ country: iban.slice(0, 2), bankCode }))
  const keys = new Map(ibans.flatMap(bicKeys).map((key) => [bicKey(key), key]))
  if (keys.size === 0) return () => undefined
  const bics = new Map((await store.bicsOf(tx, [...keys.values()])).map((entry) => [bicKey(entry), entry.bic]))
  return (iban) =>
    bicKeys(iban)
      .map((key) => bics.get(bicKey(key)))
      .find((bic) => bic !== undefined)
}

/**
 * Refuses (400) a BIC that contradicts the IBAN or the directory. Completes an absent BIC if the directory lists the bank. Without a
 * directory only the country is checked.
 */
export async function checkBic(
  tx: Tx,
  { iban, bic }: { readonly iban: string | null; readonly bic: string | null },
  now: Date,
): Promise<CheckedBic> {
  if (iban === null) return { bic, bicCompletedAt: null }
  return resolveBic({ iban, bic }, await readKnownBics(tx, [iban]), now)
}

/** Reads the directory's BIC of each IBAN, in two statements. Without a directory every BIC is unknown. */
export async function readKnownBics(tx: Tx, ibans: readonly string[]): Promise<(iban: string) => string | undefined> {
  return (await store.currentDirectory(tx)) === undefined ? () => undefined : knownBics(tx, ibans)
}

/** Refuses (400) a BIC that contradicts the IBAN or the directory, and completes an absent one. */
export function resolveBic(
  { iban, bic }: { readonly iban: string | null; readonly bic: string | null },
  bicOf: (iban: string) => string | undefined,
  now: Date,
): CheckedBic {
  if (iban === null) return { bic, bicCompletedAt: null }
  const known = bicOf(iban)
  if (bic === null) return known === undefined ? { bic, bicCompletedAt: null } : { bic: known, bicCompletedAt: now }
  const error = bicContradiction(iban, bic, known)
  refuseFields(error === undefined ? [] : [error])
  return { bic, bicCompletedAt: null }
}
