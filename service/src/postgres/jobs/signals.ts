/**
 * Wakes jobs of other processes. A process without jobs announces the tables that its commits have written; those with jobs listen. No
 * notification is sent within a transaction of money, because its commit would take a lock of the whole database.
 */
import { type Database, sql } from '../index.ts'
import type { RunningJobs } from './runtime.ts'

const channel = 'jobs'
/** Commits within this time share one notification. */
const collectMs = 10

/** Announces commits that write these tables, until `stop`. */
export function announceWrites(db: Database, tables: ReadonlySet<string>): { readonly stop: () => Promise<void> } {
  const collected = new Set<string>()
  let timer: NodeJS.Timeout | undefined
  let sending: Promise<unknown> = Promise.resolve()

  const send = () => {
    timer = undefined
    const payload = [...collected].join(',')
    collected.clear()
    if (payload === '') return
    // A lost notification costs a poll. It need not be durable.
    const statement = sql`/* jobs.send */ select pg_notify(${channel}, ${payload})`
    sending = Promise.all([sending, db.unflushed.run(statement).catch(() => undefined)])
  }
  const unsubscribe = db.onWritten((written) => {
    for (const table of written) if (tables.has(table)) collected.add(table)
    if (collected.size > 0) timer ??= setTimeout(send, collectMs)
  })
  return {
    stop: async () => {
      unsubscribe()
      clearTimeout(timer)
      send()
      await sending
    },
  }
}

/** Wakes the jobs of this process after commits of others, until `stop`. */
export const listenForWrites = (
  db: Database,
  { wakeReaders, wakeAll }: Pick<RunningJobs, 'wakeReaders' | 'wakeAll'>,
): { readonly stop: () => Promise<void> } =>
  db.listen(channel, { received: (payload) => wakeReaders(payload.split(',')), connected: wakeAll })
