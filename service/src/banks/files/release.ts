/**
 * Takes files that were quarantined after all: their bank has used a message id again, or their sums differ, and two persons have decided that the
 * entries count. Entries that are known from elsewhere do not count twice, as in every message.
 */
import { Refusal } from '../../kernel/api/index.ts'
import { type Clock, derivedTimeId } from '../../kernel/index.ts'
import type { Tx } from '../../postgres/index.ts'
import type { BankDeps } from './deps.ts'
import { inspect } from './inspect.ts'
import type { Lease } from './lease.ts'
import { oddity, writeReports } from './reports.ts'
import type { Spool } from './spool.ts'
import * as store from './store-incoming.ts'
import type { Answers } from './take.ts'

/** Refuses: not_found, validation_failed (it has already been released). */
export const createReleaseFile =
  ({ clock }: { readonly clock: Clock }) =>
  async (tx: Tx, id: string): Promise<{ readonly connector: string; readonly fileName: string }> => {
    const row = await store.lockAside(tx, id)
    if (row === undefined || row.kind === null || row.messageId === null)
      throw new Refusal('not_found', 'The case is not about a file that was read and quarantined.')
    if (row.releasedAt !== null) throw new Refusal('validation_failed', 'The file has already been released.')
    await store.releaseAside(tx, id, clock.now())
    return { connector: row.connector, fileName: row.fileName }
  }

/** Takes the released files, and returns how many. Each step may be the last one before a kill: the next one continues. */
export function createTakeReleased(deps: BankDeps, spool: Spool, answers: Answers) {
  const { db, rules, clock, log } = deps
  return async (lease: Lease): Promise<number> => {
    const rows = await store.releasedFiles(db, rules.id)
    for (const row of rows) {
      await takeOne(lease, row)
      await store.endReleased(db, row.id, clock.now())
      log.info({ connector: rules.id, file: row.fileName }, 'bank file taken by decision')
    }
    return rows.length
  }

  async function takeOne(lease: Lease, row: store.AsideRow): Promise<void> {
    const spooled = await spool.again(row)
    if (spooled === undefined) return failed(row, 'the archive does not have it')
    try {
      const verdict = await inspect(spooled, rules, lease.keep, true)
      if (!('message' in verdict)) return await failed(row, verdict.refused.problem)
      const { message } = verdict
      const { fileName, sha256, receivedAt } = row
      // The bank may have used its message id for another message.
      const messageId = `${message.messageId} ${sha256.slice(0, 12)}`
      const named = {
        id: derivedTimeId(row.id, 'released'),
        connector: rules.id,
        kind: message.kind,
        messageId,
        fileName,
        sha256,
      }
      const made = {
        ...named,
        bytes: spooled.bytes,
        state: 'Taking',
        problem: null,
        receivedAt,
        takenAt: null,
      } as const
      await lease.transaction((tx) => store.insertMessage(tx, made))
      await answers({ lease, spooled }, made, message)
      await store.finishMessage(db, made.id, clock.now())
    } finally {
      await spool.drop(spooled)
    }
  }

  /** The case of the file is decided: what prevents the decision is another one. */
  async function failed({ id, fileName }: store.AsideRow, why: string): Promise<void> {
    const text = `The file ${fileName} was released and cannot be taken: ${why}`
    const report = oddity(
      { operatorId: deps.operatorId, connector: rules.id },
      'file_unreadable',
      text,
      [id, 'released'],
      id,
    )
    await db.transaction(async (tx) => writeReports(tx, rules.id, [report], clock.now()))
  }
}
