/**
 * Tracks whether the database accepts writes. It refuses them when its disk is full, or when an operator has made it read only.
 * While it refuses, a probe writes as a request would, so that the recovery is detected without a request.
 */
import type pg from 'pg'
import type { Log } from '../kernel/index.ts'

const probeMs = 500
/** Extends a file by more than a small rest of free space, and leaves nothing. */
const probeStatement = `
  begin;
  set local temp_tablespaces = '';
  create temporary table write_probe on commit drop as select generate_series(1, 20000) as number;
  rollback`

export type Writes = {
  /** Reason why the database refuses writes. Undefined: it accepts them. */
  readonly problem: () => string | undefined
  /** Reports a refused write. */
  readonly refused: (reason: string) => void
  /** Calls `listener` at every refused write. */
  readonly onRefused: (listener: (reason: string) => void) => void
  readonly close: () => void
}

export function createWrites(pool: pg.Pool, log: Log): Writes {
  const listeners: ((reason: string) => void)[] = []
  let problem: string | undefined
  let timer: NodeJS.Timeout | undefined

  const probeLater = () => {
    timer = setTimeout(() => void probe(), probeMs)
    timer.unref()
  }
  const probe = async () => {
    const client = await pool.connect().catch(() => undefined)
    const accepted = client !== undefined && (await succeeds(client.query(probeStatement)))
    // A connection that was opened while the setting was read only may stay read only.
    client?.release(!accepted)
    if (!accepted) return probeLater()
    problem = undefined
    log.warn('the database accepts writes again')
  }
  return {
    problem: () => problem,
    refused: (reason) => {
      for (const listener of listeners) listener(reason)
      if (problem !== undefined) return
      problem = reason
      log.error({ reason }, 'the database refuses writes')
      probeLater()
    },
    onRefused: (listener) => void listeners.push(listener),
    close: () => clearTimeout(timer),
  }
}

const succeeds = (sending: Promise<unknown>): Promise<boolean> =>
  sending.then(
    () => true,
    () => false,
  )
