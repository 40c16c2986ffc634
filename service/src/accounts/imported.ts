/**
 * Pools of IBANs from a bank's file: the operator imports them, new accounts are assigned IBANs from them, and a worker
 * warns when a pool is low.
 */
import { Refusal } from '../kernel/api/index.ts'
import { operatorPartnerId } from '../cases/index.ts'
import { after, assert, type Clock, dayMs, hourMs, type Log, newId } from '../kernel/index.ts'
import type { Database, Tx } from '../postgres/index.ts'
import { type Issuer, findIssuer } from './rules.ts'
import * as store from './store.ts'
import { ibanProblem, isBic } from '../rails/index.ts'

export type IbanFile = {
  /** Undefined: all partners share the pool. */
  readonly partnerId: string | undefined
  readonly pool: string
  readonly currency: string
  readonly connector: string | null
  readonly staff: string
  /** SHA-256. */
  readonly hash: string
  readonly lines: () => AsyncIterable<string>
  /** True: imports the valid lines and skips the others. False: an invalid line refuses the whole file. */
  readonly skipsBad: boolean
  /** Receives every invalid line, in pages. */
  readonly report: (lines: readonly BadLine[]) => Promise<void>
}

export type ImportResult = {
  readonly pool: string
  readonly country: string | null
  /** Number of lines that are not empty, without the header. */
  readonly lines: number
  readonly imported: number
  /** Number of invalid lines. */
  readonly bad: number
  /** True: the file was imported into this pool before, and nothing has changed. */
  readonly isRepetition: boolean
}

/** Thrown if the file has invalid lines, after all of them were reported. */
export class IbanFileProblem extends Error {
  readonly bad: number
  constructor(bad: number) {
    super(`${bad} wrong lines`)
    this.bad = bad
  }
}

export type PoolView = Omit<store.PoolCounts, 'partnerId'> & {
  /** Null: all partners share the pool. */
  readonly partnerId: string | null
  readonly daysLeft: number | null
  readonly isLow: boolean
}

export type PoolLevel = {
  readonly pool: string
  readonly currency: string
  readonly free: number
  /** Null: no IBAN of the pool was assigned recently. */
  readonly daysLeft: number | null
  readonly isLow: boolean
}

export type ImportedPools = {
  /**
   * Reads the file in pages, in one transaction. If there are invalid lines and `skipsBad` is false, throws
   * IbanFileProblem with their number and imports nothing. Refuses: validation_failed (the pool belongs to another
   * partner, or has another currency or connector).
   */
  readonly importFile: (tx: Tx, file: IbanFile) => Promise<ImportResult>
  /** Lists the pools by name. Reads all IBANs. */
  readonly list: (tx: Tx) => Promise<readonly PoolView[]>
  /**
   * Withdraws one free IBAN of a pool, or all. Returns the number of withdrawn IBANs. Refuses: not_found (the pool, or
   * the IBAN among its free ones), validation_failed (the pool belongs to another partner).
   */
  readonly withdraw: (
    tx: Tx,
    wanted: Pick<IbanFile, 'pool' | 'partnerId'> & { readonly iban: string | undefined },
  ) => Promise<number>
  /** Lists the pools with their number of free IBANs. Reads no IBANs. */
  readonly levels: () => Promise<readonly PoolLevel[]>
  /** Logs pools that are low, once an hour each. Returns 0, so that the worker's loop pauses. */
  readonly lookStep: (observe?: (levels: readonly PoolLevel[]) => void) => Promise<number>
}

export type ImportedPoolsDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly log: Log
  readonly issuers: readonly Issuer[]
  readonly poolCountries: readonly string[]
  readonly poolLevels: PoolLevels
}

/** Each page costs four statements. */
const linesPerPage = 5_000
const ibansPerWithdrawal = 10_000
const repeatedLogMs = hourMs

export function createImportedPools(deps: ImportedPoolsDeps): ImportedPools {
  const { db, clock, log, poolLevels } = deps
  const since = () => after(clock.now(), -useDays * dayMs)
  const loggedAt = new Map<string, number>()
  const readLevels = async (): Promise<readonly PoolLevel[]> => {
    const now = clock.now()
    return (await store.listPoolLevels(db, since())).map((row) => ({
      pool: row.name,
      currency: row.currency,
      free: row.free,
      daysLeft: daysLeft(row, now),
      isLow: isLow(row, poolLevels, now),
    }))
  }
  const warn = (level: PoolLevel) => {
    const now = clock.now().getTime()
    if (!level.isLow) return void loggedAt.delete(level.pool)
    if (now - (loggedAt.get(level.pool) ?? -Infinity) < repeatedLogMs) return
    loggedAt.set(level.pool, now)
    log.warn(level, 'IBAN pool is low')
  }
  return {
    importFile: (tx, file) => importFile(deps, tx, file),
    list: async (tx) =>
      (await store.countPools(tx, since())).map((row) => ({
        ...row,
        partnerId: row.partnerId === operatorPartnerId ? null : row.partnerId,
        daysLeft: daysLeft(row, clock.now()),
        isLow: row.withdrawnAt === null && isLow(row, poolLevels, clock.now()),
      })),
    withdraw: (tx, wanted) => withdraw(tx, wanted, clock.now()),
    levels: readLevels,
    lookStep: async (observe) => {
      const levels = await readLevels()
      levels.forEach(warn)
      observe?.(levels)
      return 0
    },
  }
}

async function importFile(deps: ImportedPoolsDeps, tx: Tx, file: IbanFile): Promise<ImportResult> {
  const now = deps.clock.now()
  await store.lockImports(tx)
  const partnerId = file.partnerId ?? operatorPartnerId
  const known = await store.findPool(tx, file.pool)
  if (known !== undefined) {
    refuseDifferent(known, file)
    if ((await store.importedAt(tx, known, file.hash)) !== undefined)
      return { pool: file.pool, country: known.country, lines: 0, imported: 0, bad: 0, isRepetition: true }
  }
  const importId = newId()
  let country = known?.country ?? null
  let [number, lines, imported, bad] = [0, 0, 0, 0]
  const open = async (first: GoodLine) => {
    country ??= first.iban.slice(0, 2)
    const { currency, connector } = file
    await store.openPool(tx, { partnerId, name: file.pool, country, currency, connector, createdAt: now })
  }
  let isOpen = false
  const importPage = async (page: readonly (GoodLine | BadLine)[]) => {
    const first = page.find(isGood)
    if (first !== undefined && !isOpen) await open(first)
    isOpen ||= first !== undefined
    const checked = country === null ? page : await checkLines(deps, tx, page, { country, importId })
    const good = checked.filter(isGood)
    const wrong = checked.filter((each): each is BadLine => !isGood(each))
    const of = { partnerId, pool: file.pool, country: country ?? '', importId }
    if (good.length > 0)
      await store.insertImported(
        tx,
        good.map((each) => ({ ...of, ...each })),
      )
    if (wrong.length > 0) await file.report(wrong)
    ;[lines, imported, bad] = [lines + page.length, imported + good.length, bad + wrong.length]
  }
  let page: (GoodLine | BadLine)[] = []
  for await (const text of file.lines()) {
    number += 1
    const read = number === 1 && isHeader(text) ? undefined : readLine(text, number)
    if (read === undefined) continue
    page.push(read)
    if (page.length < linesPerPage) continue
    await importPage(page)
    page = []
  }
  if (page.length > 0) await importPage(page)
  if (bad > 0 && !file.skipsBad) throw new IbanFileProblem(bad)
  if (imported > 0)
    await store.insertImport(tx, {
      ...{ partnerId, id: importId, pool: file.pool, fileHash: file.hash },
      ...{ imported, skipped: bad, importedAt: now, importedBy: file.staff },
    })
  return { pool: file.pool, country, lines, imported, bad, isRepetition: false }
}

function refusePool(pool: string, detail: string): never {
  throw new Refusal('validation_failed', `The pool ${pool} ${detail}`)
}

function refuseOwner(known: store.PoolRow, { partnerId, pool }: Pick<IbanFile, 'pool' | 'partnerId'>): void {
  if (known.partnerId === (partnerId ?? operatorPartnerId)) return
  if (known.partnerId === operatorPartnerId) refusePool(pool, 'is shared by all partners.')
  refusePool(pool, `belongs to the partner ${known.partnerId}.`)
}

function refuseDifferent(known: store.PoolRow, file: IbanFile): void {
  const { pool, currency, connector } = file
  refuseOwner(known, file)
  if (known.currency !== currency) refusePool(pool, `has the currency ${known.currency}.`)
  if (connector !== null && known.connector !== connector)
    refusePool(pool, `has ${known.connector === null ? 'no connector' : `the connector ${known.connector}`}.`)
}

const isGood = (line: GoodLine | BadLine): line is GoodLine => !('reason' in line)

/** Checks the valid lines of a page against the database and the other lines of the file. */
async function checkLines(
  { issuers, poolCountries }: ImportedPoolsDeps,
  tx: Tx,
  page: readonly (GoodLine | BadLine)[],
  of: { readonly country: string; readonly importId: string },
): Promise<readonly (GoodLine | BadLine)[]> {
  const ibans = page.filter(isGood).map(({ iban }) => iban)
  const known = new Map((await store.findPooledIbans(tx, ibans)).map((row) => [row.iban, row]))
  const issued = new Set(await store.findIssuedIbans(tx, ibans))
  const ranges = issuers.filter(({ country }) => !poolCountries.includes(country))
  const seen = new Map<string, number>()
  const whyBad = ({ iban }: GoodLine): Pick<BadLine, 'reason' | 'detail'> | undefined => {
    const inPool = known.get(iban)
    const earlier = seen.get(iban) ?? (inPool?.importId === of.importId ? inPool.line : undefined)
    if (!iban.startsWith(of.country))
      return { reason: 'wrong_country', detail: `The pool contains only IBANs of ${of.country}.` }
    if (earlier !== undefined) return { reason: 'double_in_file', detail: `Line ${earlier} has the same IBAN.` }
    if (inPool !== undefined)
      return { reason: 'double_in_database', detail: `The pool ${inPool.pool} has this IBAN from an earlier import.` }
    if (issued.has(iban)) return { reason: 'double_in_database', detail: 'An account has or had this IBAN.' }
    if (findIssuer(ranges, iban) !== undefined)
      return {
        reason: 'issued_by_range',
        detail: `IBAN_ISSUERS already issues IBANs with this bank code, because IBAN_POOLS does not list ${of.country}.`,
      }
    return undefined
  }
  return page.map((each) => {
    if (!isGood(each)) return each
    const why = whyBad(each)
    if (why !== undefined) return { line: each.line, iban: each.iban, ...why }
    seen.set(each.iban, each.line)
    return each
  })
}

async function withdraw(tx: Tx, wanted: Parameters<ImportedPools['withdraw']>[1], now: Date): Promise<number> {
  const { pool: name, iban } = wanted
  const pool = await store.findPool(tx, name)
  if (pool === undefined) throw new Refusal('not_found', `No such pool: ${name}.`)
  refuseOwner(pool, wanted)
  let withdrawn = 0
  for (let behind = ''; ;) {
    const page = { after: behind, iban: iban ?? null, rowsMax: ibansPerWithdrawal }
    const ibans = await store.withdrawFreeIbans(tx, pool, page, now)
    withdrawn += ibans.length
    if (ibans.length < ibansPerWithdrawal) break
    behind = ibans.toSorted().at(-1) ?? ''
  }
  if (iban !== undefined && withdrawn === 0) throw new Refusal('not_found', `No such free IBAN in the pool ${name}.`)
  if (iban === undefined) await store.markWithdrawn(tx, pool, now)
  return withdrawn
}

/** Assigns a free IBAN, first from the partner's own pools, then from shared pools. Refuses: iban_pool_exhausted. */
export async function allocateIban(
  tx: Tx,
  partnerId: string,
  country: string,
  now: Date,
): Promise<{ readonly iban: string; readonly bic: string | null }> {
  assert(partnerId !== operatorPartnerId, 'an IBAN was requested for the operator')
  const taken =
    (await store.allocateImportedIban(tx, partnerId, country, partnerId, now)) ??
    (await store.allocateImportedIban(tx, operatorPartnerId, country, partnerId, now))
  if (taken === undefined) throw new Refusal('iban_pool_exhausted', `No IBAN is left in ${country}.`)
  return taken
}

/** Quarantines the IBANs of a closed account. IBANs that are in no pool are not changed. */
export async function quarantineIbans(tx: Tx, partnerId: string, ibans: readonly string[], now: Date): Promise<void> {
  if (ibans.length === 0) return
  for (const ownerId of [partnerId, operatorPartnerId])
    await store.quarantineImportedIbans(tx, ownerId, partnerId, ibans, now)
}

/** Reports whether an IBAN is in a pool, assigned or not. */
export const isInImportedPool = async (tx: Tx, iban: string): Promise<boolean> =>
  (await store.findPooledIbans(tx, [iban])).length > 0

// Pure: checks a line of a bank's file of IBANs, and decides when a pool is low.

type BadReason =
  | 'not_an_iban'
  | 'unknown_country'
  | 'structure'
  | 'check_digits'
  | 'wrong_country'
  | 'bic'
  | 'too_many_cells'
  | 'double_in_file'
  | 'double_in_database'
  | 'issued_by_range'

export type BadLine = {
  /** Line number, from 1. */
  readonly line: number
  readonly iban: string
  readonly reason: BadReason
  readonly detail: string
}
type GoodLine = { readonly line: number; readonly iban: string; readonly bic: string | null }

export const poolNamePattern = /^[a-z0-9][a-z0-9-]{0,31}$/

/** Maximum characters of a line's first cell in a report. No IBAN with its BIC is longer. */
const shownCharsMax = 64

const splitCells = (text: string): readonly string[] =>
  text.split(/[,;]/).map((cell) =>
    cell
      .trim()
      .replace(/^"(.*)"$/, '$1')
      .trim(),
  )

/** Reports whether the first line of a file is a header. */
const isHeader = (text: string): boolean => /^iban(,bic)?$/i.test(splitCells(text).join())

/**
 * Parses a line. Undefined: the line is empty. Accepts IBANs in groups of four, as banks print them, but not lower case
 * or other separators.
 */
function readLine(text: string, line: number): GoodLine | BadLine | undefined {
  if (text.trim() === '') return undefined
  const [first = '', second = '', ...others] = splitCells(text)
  const iban = first.replaceAll(' ', '')
  const bad = (reason: BadReason, detail: string): BadLine => ({
    line,
    iban: iban.slice(0, shownCharsMax),
    reason,
    detail,
  })
  if (others.length > 0) return bad('too_many_cells', 'A line has an IBAN and at most a BIC.')
  if (!/^[A-Z]{2}\d{2}[A-Z0-9]{1,30}$/.test(iban))
    return bad('not_an_iban', 'An IBAN has two capital letters, two check digits, then capital letters and digits.')
  const problem = ibanProblem(iban)
  if (problem !== undefined) return bad(...findBadReason(iban.slice(0, 2), problem))
  if (second !== '' && !isBic(second)) return bad('bic', 'The second cell is not a BIC (ISO 9362).')
  return { line, iban, bic: second === '' ? null : second }
}

function findBadReason(
  country: string,
  problem: NonNullable<ReturnType<typeof ibanProblem>>,
): readonly [reason: BadReason, detail: string] {
  switch (problem) {
    case 'country':
      return ['unknown_country', `${country} has no IBANs (ISO 13616).`]
    case 'length':
      return ['structure', `The length is not that of an IBAN of ${country}.`]
    case 'structure':
      return ['structure', `The letters and digits are not those of an IBAN of ${country}.`]
    case 'checkDigits':
      return ['check_digits', 'The check digits are wrong.']
  }
}

/** Period from which the rate of assignments of a pool is estimated. */
const useDays = 30

type PoolUse = {
  readonly free: number
  /** Number of IBANs assigned in the last `useDays` days. */
  readonly givenLately: number
  readonly createdAt: Date
}

/**
 * Estimates in how many days the pool will be empty, by the IBANs assigned in the last 30 days or since its creation.
 * Null: none was assigned.
 */
function daysLeft({ free, givenLately, createdAt }: PoolUse, now: Date): number | null {
  if (givenLately === 0) return null
  const days = Math.min(useDays, Math.max(1, (now.getTime() - createdAt.getTime()) / dayMs))
  return Math.floor(free / (givenLately / days))
}

/** Limits below which a pool is low: IBAN_POOL_FREE_MIN and IBAN_POOL_DAYS_MIN. */
type PoolLevels = { readonly freeMin: number; readonly daysMin: number }

function isLow(use: PoolUse, { freeMin, daysMin }: PoolLevels, now: Date): boolean {
  const days = daysLeft(use, now)
  return use.free < freeMin || (days !== null && days < daysMin)
}
