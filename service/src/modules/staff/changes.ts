/** Changes of the operator's rules that wait for a second person: proposed, approved or rejected, carried out once. */
import { notFound, Refusal } from '../../api/index.ts'
import { after, type Clock, newId } from '../../kernel/index.ts'
import type { Tx } from '../../postgres/index.ts'
import { changeMs, type StaffRole } from './rules.ts'
import * as store from './store.ts'
import * as stored from './store-changes.ts'
import { twoOfStaff } from './two-persons.ts'

export type StaffChange = stored.ChangeRow
/** The second person of a change. */
export type SecondPerson = { readonly id: string; readonly fullName: string }

/** Reports whether a role may run a command. */
export type MayRun = (command: string, role: StaffRole) => boolean

export type StaffChanges = {
  readonly propose: (
    tx: Tx,
    by: SecondPerson,
    change: { readonly command: string; readonly options: Readonly<Record<string, unknown>> },
  ) => Promise<StaffChange>
  /** Refuses: not_found. */
  readonly get: (tx: Tx, id: string) => Promise<StaffChange>
  /** A change that `by` may approve. Refuses: not_found, validation_failed (decided, over, or by the same person). */
  readonly approvable: (tx: Tx, id: string, by: SecondPerson, mayRun: MayRun) => Promise<StaffChange>
  /** Changes that are not carried out, rejected or over, oldest first. */
  readonly waiting: (tx: Tx, rowsMax: number) => Promise<readonly StaffChange[]>
  /** Approves what its proposer carries out. Refuses: not_found, validation_failed (decided, over, or by the same person). */
  readonly approve: (tx: Tx, id: string, by: SecondPerson, mayRun: MayRun) => Promise<StaffChange>
  /** The proposer withdraws it, or another person rejects it. Refuses: not_found, validation_failed (decided or over). */
  readonly reject: (tx: Tx, id: string, by: SecondPerson, reason: string) => Promise<StaffChange>
  /**
   * Notes, in the transaction of the change, that it is carried out: with the approval of `by`, who is another person, or with the earlier
   * approval. So it is carried out once, and both persons may run the command at this moment. Refuses: not_found, validation_failed.
   */
  readonly carryOut: (tx: Tx, id: string, by: SecondPerson, mayRun: MayRun) => Promise<void>
  /** How many accounts could approve a change of staff. */
  readonly admins: (tx: Tx) => Promise<number>
}

export function createStaffChanges({ clock }: { readonly clock: Clock }): StaffChanges {
  const waiting = async (read: Promise<StaffChange | undefined>) => {
    const row = await read
    if (row === undefined) throw notFound('change')
    if (row.doneAt !== null) throw new Refusal('validation_failed', 'The change was carried out.')
    if (row.approved === false)
      throw new Refusal('validation_failed', `The change was rejected by ${row.decidedByName}.`)
    if (row.expiresAt <= clock.now())
      throw new Refusal('validation_failed', 'The change has waited for too long: propose it again.')
    return row
  }
  const lock = (tx: Tx, id: string) => waiting(stored.lockChange(tx, id))
  const judge = (tx: Tx, row: StaffChange, by: SecondPerson, mayRun: MayRun) => {
    const author = { id: row.proposedBy, name: row.proposedByName }
    const two = twoOfStaff((role) => mayRun(row.command, role))
    return two(tx, author, { id: by.id, name: by.fullName })
  }
  const refuseOne = async (...given: Parameters<typeof judge>) => {
    const not = await judge(...given)
    if (not !== undefined) throw new Refusal('validation_failed', not.why)
  }
  const refuseApprover = async (tx: Tx, row: StaffChange, by: SecondPerson, mayRun: MayRun) => {
    if (row.proposedBy === by.id)
      throw new Refusal('validation_failed', 'Another person must approve the change, because you proposed it.')
    await refuseOne(tx, row, by, mayRun)
    if (row.approved !== true || row.decidedBy === null) return
    // The approval of who may no longer approve does not count: another person gives one.
    const before = { id: row.decidedBy, fullName: row.decidedByName ?? '' }
    if ((await judge(tx, row, before, mayRun)) === undefined)
      throw new Refusal('validation_failed', `The change was approved by ${row.decidedByName}.`)
  }
  const approve = async (tx: Tx, row: StaffChange, by: SecondPerson, mayRun: MayRun) => {
    await refuseApprover(tx, row, by, mayRun)
    const decided = { by: by.id, byName: by.fullName, approved: true, reason: null, now: clock.now() }
    await stored.decideChange(tx, row.id, decided)
  }
  return {
    propose: async (tx, by, { command, options }) => {
      const now = clock.now()
      const row = {
        ...{ id: newId(), command, options: JSON.stringify(options), proposedBy: by.id, proposedByName: by.fullName },
        ...{ proposedAt: now, expiresAt: after(now, changeMs) },
      }
      await stored.insertChange(tx, row)
      return {
        ...row,
        ...{ decidedBy: null, decidedByName: null, decidedAt: null, approved: null, reason: null, doneAt: null },
      }
    },
    get: async (tx, id) => {
      const row = await stored.changeById(tx, id)
      if (row === undefined) throw notFound('change')
      return row
    },
    approvable: async (tx, id, by, mayRun) => {
      const row = await waiting(stored.changeById(tx, id))
      await refuseApprover(tx, row, by, mayRun)
      return row
    },
    waiting: (tx, rowsMax) => stored.waitingChanges(tx, clock.now(), rowsMax),
    approve: async (tx, id, by, mayRun) => {
      const row = await lock(tx, id)
      await approve(tx, row, by, mayRun)
      return row
    },
    reject: async (tx, id, by, reason) => {
      const row = await lock(tx, id)
      await stored.decideChange(tx, id, { by: by.id, byName: by.fullName, approved: false, reason, now: clock.now() })
      return row
    },
    carryOut: async (tx, id, by, mayRun) => {
      const row = await lock(tx, id)
      if (row.approved !== true || row.decidedBy !== by.id) await approve(tx, row, by, mayRun)
      else await refuseOne(tx, row, by, mayRun)
      await stored.recordDone(tx, id, clock.now())
    },
    admins: async (tx) => (await store.accounts(tx)).filter(({ role }) => role === 'admin').length,
  }
}
