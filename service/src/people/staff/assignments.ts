/**
 * Owners and notes of what waits besides cases, by the rules of cases: an owner decides nothing, an assignment names the owner that its author
 * saw, and each step is in the history. An assignment ends when the thing no longer waits.
 */
import { Refusal } from '../../kernel/api/index.ts'
import { ownedMeanwhile } from '../../cases/index.ts'
import { defineJob, type Job } from '../../postgres/jobs/index.ts'
import { type Clock, minuteMs, newId } from '../../kernel/index.ts'
import type { Database, Tx } from '../../postgres/index.ts'
import * as store from './store.ts'

/** Asks about things, by `thingName`. */
type Asked = (keys: readonly store.ThingKey[]) => Promise<ReadonlySet<string>>
export type AskWaiting = {
  /** Returns those that still wait for a person. */
  readonly stillWaiting: Asked
  /** Returns those that no longer wait, as far as this process can know. */
  readonly over: Asked
}

export const thingName = ({ partnerId, kind, subject }: store.ThingKey): string => `${partnerId} ${kind} ${subject}`

type Person = { readonly id: string; readonly fullName: string }

type Assigning = store.ThingKey & {
  readonly by: Person
  /** Null: it has no owner again. */
  readonly owner: Person | null
  /** The owner that the person saw. Null: none. */
  readonly seen: string | null
}

export type Assignments = {
  /** Refuses (validation_failed) what no longer waits. Called before the transaction of `assign` and `remark`. */
  readonly requireWaiting: (key: store.ThingKey) => Promise<void>
  /** Refuses: validation_failed (it has another owner than the one seen). */
  readonly assign: (tx: Tx, assigning: Assigning) => Promise<store.Assignment>
  /** Adds a note to the history. */
  readonly remark: (
    tx: Tx,
    remark: store.ThingKey & { readonly by: Person; readonly note: string },
  ) => Promise<store.Assignment>
  /** The open assignments of some things. */
  readonly of: typeof store.assignmentsOf
  /** Lists what a person looks into and what still waits, oldest first. */
  readonly ownedBy: (ownerId: string) => Promise<readonly store.Assignment[]>
  /** The newest steps about a thing, oldest first. */
  readonly stepsOf: (key: store.ThingKey) => Promise<readonly store.Step[]>
  /** Ends the assignments of things that no longer wait. Returns 0, so that its job rests. */
  readonly endStep: () => Promise<number>
}

type Deps = { readonly db: Database; readonly clock: Clock; readonly waiting: AskWaiting }

const ownedMax = 200
const stepsShownMax = 100
const endedPerPageMax = 500

export function createAssignments({ db, clock, waiting: asked }: Deps): Assignments {
  const open = async (tx: Tx, key: store.ThingKey): Promise<store.Assignment> => {
    const row = await store.openAndLock(tx, key, { id: newId(), now: clock.now() })
    if (row === undefined) throw noLonger()
    return row
  }
  return {
    requireWaiting: async (key) => {
      if (!(await asked.stillWaiting([key])).has(thingName(key))) throw noLonger()
    },
    assign: async (tx, { by, owner, seen, ...key }) => {
      const row = await open(tx, key)
      if (row.ownerId !== seen) throw ownedMeanwhile('it', row)
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
    of: store.assignmentsOf,
    ownedBy: async (ownerId) => {
      const rows = await store.assignmentsOwnedBy(db, ownerId, ownedMax)
      const waiting = await asked.stillWaiting(rows)
      return rows.filter((row) => waiting.has(thingName(row)))
    },
    stepsOf: (key) => store.stepsOf(db, key, stepsShownMax),
    endStep: createEndStep({ db, clock, waiting: asked }),
  }
}

/** Reads all of them at each run. They are as many as people of staff look into. */
const createEndStep =
  ({ db, clock, waiting }: Deps) =>
  async (): Promise<number> => {
    let afterId: string | null = null
    for (;;) {
      const rows: readonly store.Assignment[] = await store.openAssignments(db, afterId, endedPerPageMax)
      const over = await waiting.over(rows)
      for (const row of rows.filter((each) => over.has(thingName(each))))
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

const noLonger = () => new Refusal('validation_failed', 'It no longer waits for a person.')
