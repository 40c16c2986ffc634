/**
 * Listens to notifications of other processes on a connection of its own, and opens it again when it is lost. Notifications are hints:
 * those sent meanwhile are lost, and a pooler in transaction mode passes none.
 */
import pg from 'pg'
import type { Log } from '../kernel/index.ts'
import { classify } from './errors.ts'

/** The delays before the database is tried again: 0.5, 1, 2 ... 10 s. */
const firstRetryMs = 500
const retryMsMax = 10_000

export type Listener = {
  readonly received: (payload: string) => void
  /** The connection is open, again or for the first time: notifications before it may be lost. */
  readonly connected: () => void
}
export type Listen = (channel: string, listener: Listener) => { readonly stop: () => Promise<void> }

export const createListen =
  ({
    url,
    log,
    connectTimeoutMs,
  }: {
    readonly url: string
    readonly log: Log
    readonly connectTimeoutMs: number
  }): Listen =>
  (channel, listener) => {
    let client: pg.Client | undefined
    let timer: NodeJS.Timeout | undefined
    let stopped = false
    let retries = 0

    const lost = (lostClient: pg.Client, error?: unknown) => {
      if (stopped || client !== lostClient) return
      client = undefined
      lostClient.end().catch(() => undefined)
      const err = error === undefined ? {} : { err: classify(error) }
      if (retries === 0) log.warn({ ...err, channel }, 'notifications of other processes lost; reconnecting')
      timer = setTimeout(() => void open(), Math.min(retryMsMax, firstRetryMs * 2 ** Math.min(retries, 10)))
      retries += 1
    }
    const open = async () => {
      const opened = new pg.Client({
        connectionString: url,
        connectionTimeoutMillis: connectTimeoutMs,
        application_name: 'partner-payments-listen',
        keepAlive: true,
      })
      client = opened
      opened.on('error', (error) => lost(opened, error))
      opened.on('end', () => lost(opened))
      opened.on('notification', ({ payload = '' }) => listener.received(payload))
      try {
        await opened.connect()
        await opened.query(`listen ${pg.escapeIdentifier(channel)}`)
        retries = 0
        if (!stopped) listener.connected()
      } catch (error) {
        lost(opened, error)
      }
    }
    void open()
    return {
      stop: async () => {
        stopped = true
        clearTimeout(timer)
        await client?.end().catch(() => undefined)
      },
    }
  }
