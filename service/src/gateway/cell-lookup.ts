/**
 * Finds the cell that holds a partner. The router asks the operations ports of the cells and keeps each answer for
 * `freshMs`, so that a moved partner is found in its new cell after that time.
 */
import { Pool } from 'undici'
import { Unreachable } from '../api/index.ts'
import { type Clock, type Log, secondMs } from '../kernel/index.ts'

export type Cell = {
  readonly name: string
  /** URL of the cell's API. */
  readonly url: string
  /** URL of the cell's operations port. */
  readonly opsUrl: string
}

export type CellLookup = {
  /**
   * Undefined: every cell answers that it does not have the partner. Throws Unreachable if no cell has the partner and
   * one of them does not answer.
   */
  readonly find: (partnerId: string) => Promise<Cell | undefined>
  /** Reports whether each cell answers now. */
  readonly answering: () => Promise<Readonly<Record<string, boolean>>>
  readonly close: () => Promise<void>
}

/** The time for which a gateway keeps a credential. */
const freshMs = 2 * secondMs
/** Callers can invent keys: beyond this number the oldest entry is dropped. */
const lookupTimeoutMs = secondMs
/** Keys are easily invented: beyond it the entry that was read first is forgotten. */
const partnersKeptMax = 100_000
/** Lookups of invented keys wait for each other, and take few connections of a cell. */
const connectionsMax = 16

type Known = { readonly cell: Cell | undefined; readonly untilMs: number }
type Ask = (cell: Cell, path: string) => Promise<boolean>

export function createCellLookup(deps: {
  readonly cells: readonly Cell[]
  readonly clock: Clock
  readonly log: Log
}): CellLookup {
  const { cells, clock, log } = deps
  const { ask, close } = createAsk(cells)
  const known = new Map<string, Known>()
  const lookups = new Map<string, Promise<Cell | undefined>>()

  const keep = (partnerId: string, cell: Cell | undefined) => {
    known.delete(partnerId)
    known.set(partnerId, { cell, untilMs: clock.now().getTime() + freshMs })
    const [oldest] = known.size > partnersKeptMax ? known.keys() : []
    if (oldest !== undefined) known.delete(oldest)
    return cell
  }
  const lookUp = async (partnerId: string, last: Cell | undefined) => {
    try {
      return keep(partnerId, await findCell(cells, last, (cell) => ask(cell, `/partners/${partnerId}`)))
    } catch (error) {
      if (last === undefined) throw error
      log.debug(
        { err: error, partnerId, cell: last.name },
        'a cell does not answer; the partner stays in its last cell',
      )
      return keep(partnerId, last)
    }
  }
  return {
    find: async (partnerId) => {
      const last = known.get(partnerId)
      if (last !== undefined && last.untilMs > clock.now().getTime()) return last.cell
      const lookup =
        lookups.get(partnerId) ?? lookUp(partnerId, last?.cell).finally(() => void lookups.delete(partnerId))
      lookups.set(partnerId, lookup)
      return lookup
    },
    answering: async () => {
      const answers = await Promise.all(
        cells.map(async (cell) => {
          const answers = await ask(cell, '/healthz').catch(() => false)
          return [cell.name, answers] as const
        }),
      )
      return Object.fromEntries(answers)
    },
    close,
  }
}

/** Asks the last cell first: usually the partner is still there. Otherwise the first cell that has the partner counts. */
async function findCell(
  cells: readonly Cell[],
  last: Cell | undefined,
  has: (cell: Cell) => Promise<boolean>,
): Promise<Cell | undefined> {
  let failure: unknown
  const hasOrFails = async (cell: Cell) => {
    try {
      return await has(cell)
    } catch (error) {
      failure = error
      return false
    }
  }
  if (last !== undefined && (await hasOrFails(last))) return last
  const others = cells.filter((cell) => cell !== last)
  const found = await Promise.any(
    others.map(async (cell) => {
      if (!(await hasOrFails(cell))) throw new Error('the cell does not have the partner')
      return cell
    }),
  ).catch(() => undefined)
  if (found === undefined && failure !== undefined)
    throw new Unreachable('downstream_unreachable', 'no cell has the partner, and one does not answer', failure)
  return found
}

/** Asks operations ports. True: 200, false: 404. Rejects on any other answer and on a timeout. */
function createAsk(cells: readonly Cell[]): { readonly ask: Ask; readonly close: () => Promise<void> } {
  const timeouts = { headersTimeout: lookupTimeoutMs, bodyTimeout: lookupTimeoutMs }
  const poolOf = ({ opsUrl }: Cell) =>
    new Pool(opsUrl, { ...timeouts, connections: connectionsMax, connect: { timeout: lookupTimeoutMs } })
  const pools = new Map(cells.map((cell) => [cell, poolOf(cell)]))
  return {
    ask: async (cell, path) => {
      const pool = pools.get(cell)
      if (pool === undefined) return false
      // Undici measures each step. The signal also ends the wait for a connection.
      const signal = AbortSignal.timeout(lookupTimeoutMs)
      const { statusCode, body } = await pool.request({ method: 'GET', path, signal })
      await body.dump()
      if (statusCode !== 200 && statusCode !== 404) throw new Error(`cell ${cell.name} answers ${statusCode}`)
      return statusCode === 200
    },
    close: async () => {
      await Promise.all([...pools.values()].map((pool) => pool.destroy()))
    },
  }
}
