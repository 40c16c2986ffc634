/** Changes of the operator's rules that wait for a second person: proposed, approved or rejected, carried out once. */
import { notFound, Refusal } from '../../api/index.ts'
import { after, type Clock, newId } from '../../kernel/index.ts'
import type { Tx } from '../../postgres/index.ts'
import { changeMs } from './rules.ts'
import * as store from './store.ts'
import * as stored from './store-changes.ts'

export type StaffChange = stored.ChangeRow
/** The second person of a change. */
export type SecondPerson = { readonly id: string; readonly fullName: string }

export type StaffChanges = {
  readonly propose: (
    tx: Tx,
    by: SecondPerson,
    change: { readonly command: string; readonly options: Readonly<Record<string, unknown>> },
  ) => Promise<StaffChange>
  /** Refuses: not_found. */
  readonly get: (tx: Tx, id: string) => Promise<StaffChange>
  /** A change that `by` may approve. Refuses: not_found, validation_failed (decided, over, or by the same person). */
  readonly approvable: (tx: Tx, id: string, by: SecondPerson) => Promise<StaffChange>
  /** Changes that are not carried out, rejected or over, oldest first. */
  readonly waiting: (tx: Tx, rowsMax: number) => Promise<readonly StaffChange[]>
  /** Approves what its proposer carries out. Refuses: not_found, validation_failed (decided, over, or by the same person). */
  readonly approve: (tx: Tx, id: string, by: SecondPerson) => Promise<StaffChange>
  /** The proposer withdraws it, or another person rejects it. Refuses: not_found, validation_failed (decided or over). */
  readonly reject: (tx: Tx, id: string, by: SecondPerson, reason: string) => Promise<StaffChange>
  /**
   * Notes, in the transaction of the change, that it is carried out: with the approval of `by`, who is another person, or with the earlier
   * approval. So it is carried out once. Refuses: not_found, validation_failed, permission_denied (an account was removed).
   */
  readonly carryOut: (tx: Tx, id: string, by: SecondPerson) => Promise<void>
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
  const refuseApprover = (row: StaffChange, by: SecondPerson) => {
    if (row.approved === true)
      throw new Refusal('validation_failed', `The change was approved by ${row.decidedByName}.`)
    if (row.proposedBy === by.id)
      throw new Refusal('validation_failed', 'Another person must approve the change, because you proposed it.')
  }
  const approve = async (tx: Tx, row: StaffChange, by: SecondPerson) => {
    refuseApprover(row, by)
    const decided = { by: by.id, byName: by.fullName, approved: true, reason: null, now: clock.now() }
    await stored.decideChange(tx, row.id, decided)
    // Both persons are staff at this moment.
    for (const id of [row.proposedBy, by.id].toSorted())
      if ((await store.holdAccount(tx, id)) === undefined)
        throw new Refusal('permission_denied', 'The account of a person who decided this change was removed.')
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
    approvable: async (tx, id, by) => {
      const row = await waiting(stored.changeById(tx, id))
      refuseApprover(row, by)
      return row
    },
    waiting: (tx, rowsMax) => stored.waitingChanges(tx, clock.now(), rowsMax),
    approve: async (tx, id, by) => {
      const row = await lock(tx, id)
      await approve(tx, row, by)
      return row
    },
    reject: async (tx, id, by, reason) => {
      const row = await lock(tx, id)
      await stored.decideChange(tx, id, { by: by.id, byName: by.fullName, approved: false, reason, now: clock.now() })
      return row
    },
    carryOut: async (tx, id, by) => {
      const row = await lock(tx, id)
      if (row.approved !== true) await approve(tx, row, by)
      await stored.recordDone(tx, id, clock.now())
    },
    admins: async (tx) => (await store.accounts(tx)).filter(({ role }) => role === 'admin').length,
  }
}
