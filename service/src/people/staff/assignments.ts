/**
 * Owners and notes of queue items other than cases, by the same rules as cases: owners do not decide, a change of the
 * owner states the previous owner that its author saw, and the history has each step. An assignment ends when the item
 * no longer waits.
 */
import { Refusal } from '../../kernel/api/index.ts'
import { ownerConflict } from '../../cases/index.ts'
import { defineJob, type Job } from '../../postgres/jobs/index.ts'
import { type Clock, minuteMs, newId } from '../../kernel/index.ts'
import type { Database, Tx } from '../../postgres/index.ts'
import * as store from './store.ts'

/** Checks items of the queue. The returned sets have the texts of `queueItemName`. */
export type WaitingChecks = {
  /** Returns the items that still wait for a person. */
  readonly stillWaiting: (keys: readonly store.QueueItemKey[]) => Promise<ReadonlySet<string>>
  /** Returns the items that no longer wait, as far as this process can know. */
  readonly over: (keys: readonly store.QueueItemKey[]) => Promise<ReadonlySet<string>>
}

export const queueItemName = ({ partnerId, kind, subject }: store.QueueItemKey): string =>
  `${partnerId} ${kind} ${subject}`

type Person = { readonly id: string; readonly fullName: string }

type AssignmentRequest = store.QueueItemKey & {
  readonly by: Person
  /** Null removes the owner. */
  readonly owner: Person | null
  /** The owner on the page that the person saw. Null: none. */
  readonly seen: string | null
}

export type Assignments = {
  /** Checks that the item still waits, before the transaction of `assign` and `remark`. Refuses: validation_failed. */
  readonly requireWaiting: (key: store.QueueItemKey) => Promise<void>
  /** Sets or removes the owner. Refuses: validation_failed (another person has become the owner). */
  readonly assign: (tx: Tx, request: AssignmentRequest) => Promise<store.Assignment>
  /** Adds a note to the history. */
  readonly remark: (
    tx: Tx,
    remark: store.QueueItemKey & { readonly by: Person; readonly note: string },
  ) => Promise<store.Assignment>
  /** Reads the open assignments of items. */
  readonly of: typeof store.findAssignments
  /** Lists the waiting items that a person owns, oldest first. */
  readonly ownedBy: (ownerId: string) => Promise<readonly store.Assignment[]>
  /** Lists the newest steps of an item, oldest first. */
  readonly stepsOf: (key: store.QueueItemKey) => Promise<readonly store.AssignmentStep[]>
  /** Ends the assignments of items that no longer wait. Returns 0, so the job waits for its next run. */
  readonly endStep: () => Promise<number>
}

type Deps = { readonly db: Database; readonly clock: Clock; readonly waiting: WaitingChecks }

const ownedMax = 200
const stepsShownMax = 100
const endedPerPageMax = 500

export function createAssignments({ db, clock, waiting: checks }: Deps): Assignments {
  const open = async (tx: Tx, key: store.QueueItemKey): Promise<store.Assignment> => {
    const row = await store.openAndLock(tx, key, { id: newId(), now: clock.now() })
    if (row === undefined) throw noLongerWaiting()
    return row
  }
  return {
    requireWaiting: async (key) => {
      if (!(await checks.stillWaiting([key])).has(queueItemName(key))) throw noLongerWaiting()
    },
    assign: async (tx, { by, owner, seen, ...key }) => {
      const row = await open(tx, key)
      if (row.ownerId !== seen) throw ownerConflict('it', row)
      if (row.ownerId === (owner?.id ?? null)) return row
      const at = clock.now()
      const ownedSince = owner && at
      const changed = { ...row, ownerId: owner?.id ?? null, ownerName: owner?.fullName ?? null, ownedSince }
      await store.updateAssignment(tx, changed)
      const kind = owner === null ? 'handed_back' : owner.id === by.id ? 'taken' : 'given'
      const note = kind === 'given' ? `to ${owner?.fullName}` : ''
      await store.appendStep(tx, row, { kind, actor: by.fullName, note, at })
      return changed
    },
    remark: async (tx, { by, note, ...key }) => {
      const row = await open(tx, key)
      const changed = { ...row, lastNote: note }
      await store.updateAssignment(tx, changed)
      await store.appendStep(tx, row, { kind: 'remarked', actor: by.fullName, note, at: clock.now() })
      return changed
    },
    of: store.findAssignments,
    ownedBy: async (ownerId) => {
      const rows = await store.assignmentsOwnedBy(db, ownerId, ownedMax)
      const waiting = await checks.stillWaiting(rows)
      return rows.filter((row) => waiting.has(queueItemName(row)))
    },
    stepsOf: (key) => store.assignmentSteps(db, key, stepsShownMax),
    endStep: createEndStep({ db, clock, waiting: checks }),
  }
}

/** Reads all open assignments at each run. There are only as many as staff work on. */
const createEndStep =
  ({ db, clock, waiting }: Deps) =>
  async (): Promise<number> => {
    let afterId: string | null = null
    for (;;) {
      const rows: readonly store.Assignment[] = await store.openAssignments(db, afterId, endedPerPageMax)
      const over = await waiting.over(rows)
      for (const row of rows.filter((each) => over.has(queueItemName(each))))
        await db.transaction(async (tx) => {
          const at = clock.now()
          if ((await store.endAssignment(tx, row, at)) === 1)
            await store.appendStep(tx, row, { kind: 'ended', actor: 'service', note: '', at })
        })
      const last = rows.at(-1)
      if (rows.length < endedPerPageMax || last === undefined) return 0
      afterId = last.id
    }
  }

export const assignmentsJob = ({ endStep }: Pick<Assignments, 'endStep'>): Job =>
  defineJob({ name: 'staff.assignments', everyMs: minuteMs, run: endStep })

const noLongerWaiting = () => new Refusal('validation_failed', 'The item no longer waits for a person.')
