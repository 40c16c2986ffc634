/**
 * Scans for due work on a sharded database. A statement that reads all shards fails as a whole if one of them does not
 * answer. Then the scan reads partner by partner for a while, and leaves out the partners that cannot be read.
 */
import { type Log, secondMs } from '../kernel/index.ts'
import type { Sql } from './sql.ts'
import type { Tx } from './tx.ts'

/** How long scans read partner by partner after one has failed as a whole, and how long a failed partner is left out. */
const partnerByPartnerMs = 10 * secondMs
const readsMax = 4

type ScanDeps = { readonly tx: Tx; readonly partnerIds: Sql; readonly log: Log }

export function createScan({ tx, partnerIds, log }: ScanDeps): Pick<Tx, 'rows' | 'row'> {
  let partnerByPartnerUntilMs = -Infinity
  const leftOutUntilMs = new Map<string, number>()

  const readPartner = async <T extends object>(partnerId: string, statement: Sql): Promise<readonly T[]> => {
    if ((leftOutUntilMs.get(partnerId) ?? -Infinity) > performance.now()) return []
    try {
      const rows = await tx.rows<T>(statement)
      leftOutUntilMs.delete(partnerId)
      return rows
    } catch (error) {
      leftOutUntilMs.set(partnerId, performance.now() + partnerByPartnerMs)
      log.error({ err: error, partnerId }, 'partner left out of a scan: its shard does not answer')
      return []
    }
  }

  const readPartners = async <T extends object>(ofPartner: (partnerId: string) => Sql): Promise<readonly T[]> => {
    const ids = (await tx.rows<{ readonly id: string }>(partnerIds)).map(({ id }) => id)
    const found: T[] = []
    for (let at = 0; at < ids.length; at += readsMax) {
      const reads = ids.slice(at, at + readsMax).map((id) => readPartner<T>(id, ofPartner(id)))
      found.push(...(await Promise.all(reads)).flat())
    }
    return found
  }

  const rows = async <T extends object>(statement: Sql): Promise<readonly T[]> => {
    const ofPartner = statement.scan?.ofPartner
    if (ofPartner === undefined) return tx.rows<T>(statement)
    if (partnerByPartnerUntilMs > performance.now()) return readPartners<T>(ofPartner)
    try {
      return await tx.rows<T>(statement)
    } catch (error) {
      log.error({ err: error, scan: statement.scan?.reason }, 'scan over all shards failed; reading partner by partner')
      partnerByPartnerUntilMs = performance.now() + partnerByPartnerMs
      return readPartners<T>(ofPartner)
    }
  }

  return { rows, row: async <T extends object>(statement: Sql) => (await rows<T>(statement))[0] }
}

/** Partners in the order of their ids. `complete`: no further partner follows the last one. */
export type PartnerPage = { readonly partnerIds: readonly string[]; readonly complete: boolean }

/** Rows that a look for partners reads at most: a partner with many rows is found without reading all of them. */
const rowsPerLookMax = 200

/** The partners of the first rows of `scan`, which lists a row per piece of work in the order of the partners. */
export async function firstPartners(tx: Tx, partnersMax: number, scan: (rowsMax: number) => Sql): Promise<PartnerPage> {
  const rows = await tx.rows<{ readonly partnerId: string }>(scan(rowsPerLookMax))
  const partnerIds = [...new Set(rows.map((row) => row.partnerId))]
  const complete = rows.length < rowsPerLookMax && partnerIds.length <= partnersMax
  return { partnerIds: partnerIds.slice(0, partnersMax), complete }
}
