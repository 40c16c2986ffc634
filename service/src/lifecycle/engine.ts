/**
 * Applies a batch of triggers in one transaction. It locks the payments, judges each trigger by the table of transitions,
 * and then has the module write all transitions together.
 */
import type { ErrorKey, EventName, TimelineStep, TransactionStatus } from '@partner-payments/wire'
import { assert, type Clock, partnerKey, present } from '../kernel/index.ts'
import { type BatcherOptions, createBatcher, type Tx } from '../postgres/index.ts'

type Key = { readonly partnerId: string; readonly id: string }

/**
 * False: nothing changed, because the trigger repeats what is recorded, or does not hold. `deferred`: the batch holds
 * an earlier trigger of the payment, or the implied earlier transition was made first; the caller repeats the trigger
 * once that is committed. Reports of a bank also: `early`, `contradiction` (`Unmoved`), and `unknown`: no such payment.
 */
export type Advanced = boolean | 'deferred' | 'early' | 'contradiction' | 'unknown'

type Payment = Key & { readonly status: string }
type Kinded<Kind extends string> = { readonly kind: Kind }

/** A transition of one payment, as the module writes it. */
export type Move<Row extends Payment, Trigger, Event extends EventName> = Found<Row['status'], Event> & {
  readonly row: Row
  readonly trigger: Trigger
  /** Actor that caused it. */
  readonly actor: Actor
}

type Parts<Row extends Payment, Trigger, Kind extends string, Event extends EventName, Refused = never> = {
  readonly clock: Clock
  readonly lifecycle: Lifecycle<Row['status'], Kind, Event>
  /** Locks the rows of all payments in one order, so that two batches cannot deadlock. */
  readonly lock: (tx: Tx, keys: readonly Key[]) => Promise<readonly Row[]>
  /** Derives the actor from the content of the trigger, not from its kind. */
  readonly actorOf: (trigger: Trigger) => Actor
  /** The kind of a trigger, if it depends on the payment. */
  readonly kindOf?: (row: Row, trigger: Trigger) => Kind
  /** Reports whether a report of the bank cannot be about this payment, whatever its status: another connector, another currency. */
  readonly isForeign?: (row: Row, trigger: Trigger) => boolean
  /** Reports whether a report of the bank has to wait for something other than a report: the bank is left to repeat it. */
  readonly isEarly?: (row: Row, trigger: Trigger) => boolean
  /** Reports whether the trigger still holds under the lock: its lease is not lost, its time has come. */
  readonly holds: (row: Row, trigger: Trigger, now: Date) => boolean
  /** Judges the transitions of a batch by further rows, which it locks. The refused ones are not written; their triggers get the answers. */
  readonly refusedOf?: (
    tx: Tx,
    moves: readonly Move<Row, Trigger, Event>[],
    now: Date,
  ) => Promise<ReadonlyMap<Move<Row, Trigger, Event>, Refused>>
  /** Writes with one statement for each table. The statement on the payments names the status that each row leaves. */
  readonly write: (tx: Tx, moves: readonly Move<Row, Trigger, Event>[], now: Date) => Promise<void>
}

export function createEngine<
  Row extends Payment,
  Trigger extends Kinded<Kind>,
  Kind extends string,
  Event extends EventName,
  Refused = never,
>(parts: Parts<Row, Trigger, Kind, Event, Refused>) {
  const { clock, lifecycle, lock, holds, write, actorOf } = parts
  return async (
    tx: Tx,
    batch: readonly { readonly key: Key; readonly trigger: Trigger }[],
  ): Promise<readonly (Advanced | Refused)[]> => {
    if (batch.length === 0) return []
    const rows = await lock(
      tx,
      batch.map(({ key }) => key),
    )
    const byKey = new Map(rows.map((row) => [partnerKey(row.partnerId, row.id), row]))
    // After the locks: no transition bears an earlier time than one that it waited for.
    const now = clock.now()
    const seen = new Set<string>()
    const moves = new Map<Trigger, Move<Row, Trigger, Event>>()
    const answers = batch.map(({ key: { partnerId, id }, trigger }): Advanced => {
      const key = partnerKey(partnerId, id)
      if (seen.has(key)) return 'deferred'
      seen.add(key)
      const found = byKey.get(key)
      if (found === undefined && actorOf(trigger) === 'bank') return 'unknown'
      const row = present(found, `no ${lifecycle.subject} ${id}`)
      if (!holds(row, trigger, now)) return false
      const move = judge(parts, row, trigger)
      if (typeof move === 'string') return move === 'repeat' ? false : move
      moves.set(trigger, move)
      return move.implied ? 'deferred' : true
    })
    if (moves.size === 0) return answers
    const refused = await parts.refusedOf?.(tx, [...moves.values()], now)
    const admitted = [...moves.values()].filter((move) => refused?.has(move) !== true)
    if (admitted.length > 0) await write(tx, admitted, now)
    return batch.map(({ key, trigger }, index) => {
      const move = moves.get(trigger)
      return (move && refused?.get(move)) ?? present(answers[index], `no answer for ${lifecycle.subject} ${key.id}`)
    })
  }
}

function judge<Row extends Payment, Trigger extends Kinded<Kind>, Kind extends string, Event extends EventName>(
  { lifecycle, actorOf, kindOf, isForeign, isEarly }: Omit<Parts<Row, Trigger, Kind, Event>, 'refusedOf'>,
  row: Row,
  trigger: Trigger,
): Move<Row, Trigger, Event> | Unmoved {
  const { subject } = lifecycle
  const actor = actorOf(trigger)
  const kind = kindOf?.(row, trigger) ?? trigger.kind
  if (isForeign?.(row, trigger)) return 'contradiction'
  if (isEarly?.(row, trigger)) return 'early'
  const found = transitionOn(lifecycle, row.status, kind)
  if (found === undefined) {
    // Other actors learn of a payment late or twice. A worker that holds the lease knows the status, because it has
    // written it.
    assert(actor !== 'worker', `${subject} ${row.id} is ${row.status}: its worker reports ${kind}`)
    return actor === 'bank' ? unmovedBy(lifecycle, row.status, kind) : 'repeat'
  }
  assert(found.transition.by.includes(actor), `${found.name} of ${subject} ${row.id} is not caused by: ${actor}`)
  return { ...found, row, trigger, actor }
}

// The form of a table of transitions: everything that a change of status writes, and who may cause it.

/** `worker`: under its lease. `bank`: by a notification. `time`: a time has passed. */
export type Actor = 'partner' | 'worker' | 'bank' | 'time' | 'operator'

/**
 * Effect of a transition on the money. `post` and `release` end the reserve. `credit` moves money to the balance.
 * `refund` brings posted money back by a new transaction.
 */
type LedgerEffect = 'reserve' | 'post' | 'release' | 'credit' | 'refund'

/** One row of a table. */
export type Transition<Status extends string = string, Event extends EventName = EventName> = {
  /** Empty: the payment begins with this transition. */
  readonly from: readonly Status[]
  readonly to: Status
  /** The cause in plain words, for the page of lifecycles. */
  readonly cause: string
  readonly by: readonly Actor[]
  /** The triggers that make the transition. */
  readonly on: readonly string[]
  /** Triggers that prove it, and that are then applied once more to the status that it leads to. */
  readonly impliedBy?: readonly string[]
  readonly ledger?: LedgerEffect
  /** The steps that the timeline of the transaction gets. */
  readonly steps: readonly TimelineStep[]
  /** The final status of the transaction. */
  readonly concludes?: Exclude<TransactionStatus, 'Pending'>
  /** `transaction.status.changed` follows each conclusion, and no row lists it. */
  readonly event?: Event
  /** Only if it is the same for every trigger. */
  readonly errorKey?: ErrorKey
}

type Transitions<Status extends string> = Readonly<Record<string, Transition<Status>>>

/**
 * Meaning of a bank report in a status that it does not change. `repeat`: nothing new. `early`: an earlier report is
 * still missing, and the bank has to repeat this one. `contradiction`: it fits no recorded state.
 */
type Unmoved = 'repeat' | 'early' | 'contradiction'

/** Statuses by trigger. A pair in neither list is a contradiction. */
type Reports<Status extends string> = Readonly<
  Record<Exclude<Unmoved, 'contradiction'>, Readonly<Record<string, readonly Status[]>>>
>

/** Transition that a trigger causes in a status. */
type Found<Status extends string = string, Event extends EventName = EventName> = {
  readonly name: string
  readonly transition: Transition<Status, Event>
  readonly implied: boolean
}

export type Lifecycle<
  Status extends string = string,
  Trigger extends string = string,
  Event extends EventName = EventName,
> = {
  readonly subject: string
  /** Every status of the contract, including those that no transition leads to. */
  readonly statuses: readonly Status[]
  readonly triggers: readonly Trigger[]
  readonly transitions: Readonly<Record<string, Transition<Status, Event>>>
  readonly found: ReadonlyMap<string, Found<Status, Event>>
  readonly reports: Reports<Status>
}

/** The triggers and the events that a table names. */
type TriggerIn<T extends Transitions<string>> = T[keyof T]['on'][number]
type EventIn<T extends Transitions<string>> = Extract<T[keyof T], { readonly event: EventName }>['event']

const keyOf = (status: string, trigger: string) => `${status} ${trigger}`

export function createLifecycle<const Status extends string, const T extends Transitions<Status>>(table: {
  readonly subject: string
  readonly statuses: readonly Status[]
  readonly transitions: T
  readonly reports?: Reports<Status>
}): Lifecycle<Status, TriggerIn<T>, EventIn<T>> {
  const transitions = table.transitions as Readonly<Record<string, Transition<Status, EventIn<T>>>>
  const found = new Map<string, Found<Status, EventIn<T>>>()
  for (const [name, transition] of Object.entries(transitions)) {
    const causes = [
      ...transition.on.map((trigger) => ({ trigger, implied: false })),
      ...(transition.impliedBy ?? []).map((trigger) => ({ trigger, implied: true })),
    ]
    for (const status of transition.from)
      for (const { trigger, implied } of causes) {
        const key = keyOf(status, trigger)
        assert(!found.has(key), `${table.subject}: two transitions leave ${status} on ${trigger}`)
        found.set(key, { name, transition, implied })
      }
  }
  const { reports = { repeat: {}, early: {} } } = table
  for (const [meaning, byTrigger] of Object.entries(reports))
    for (const [trigger, statuses] of Object.entries(byTrigger))
      for (const status of statuses)
        assert(
          !found.has(keyOf(status, trigger)),
          `${table.subject}: ${trigger} in ${status} is both a transition and: ${meaning}`,
        )
  const triggers = [...new Set(Object.values(transitions).flatMap(({ on }) => on as readonly TriggerIn<T>[]))]
  return { ...table, transitions, triggers, found, reports }
}

export type EventOf<L extends Lifecycle> = L extends Lifecycle<string, string, infer Event> ? Event : never

/** Undefined: the trigger changes nothing in this status. */
export const transitionOn = <Status extends string, Trigger extends string, Event extends EventName>(
  { found }: Lifecycle<Status, Trigger, Event>,
  status: NoInfer<Status>,
  trigger: NoInfer<Trigger>,
): Found<Status, Event> | undefined => found.get(keyOf(status, trigger))

/** Classifies a bank report that causes no transition. */
export function unmovedBy<Status extends string>(
  { reports }: Pick<Lifecycle<Status>, 'reports'>,
  status: NoInfer<Status>,
  trigger: string,
): Unmoved {
  if (reports.repeat[trigger]?.includes(status)) return 'repeat'
  return reports.early[trigger]?.includes(status) ? 'early' : 'contradiction'
}

/** How long payments have stood in a status that is not final. */
/** A payment in a status that is not final. */
export type Unfinished = {
  readonly partnerId: string
  readonly id: string
  readonly status: string
  /** Null: the payment has none yet. */
  readonly connector: string | null
  readonly since: Date
}

/** The oldest payment in a status, over all partners. Null: there is none. `limitMs`: the permitted age. */
export type OldestUnfinished = {
  readonly subject: string
  readonly status: string
  readonly limitMs: number
  readonly ageMs: number
  readonly oldest: Unfinished | null
}

/** The oldest of `rows` in each status that has a limit. */
export function oldestOf<Status extends string>(
  subject: string,
  limitsMs: Readonly<Record<Status, number>>,
  rows: readonly Unfinished[],
  now: Date,
): readonly OldestUnfinished[] {
  return (Object.keys(limitsMs) as Status[]).map((status): OldestUnfinished => {
    const [oldest = null] = rows
      .filter((row) => row.status === status)
      .toSorted((a, b) => a.since.getTime() - b.since.getTime())
    const ageMs = oldest === null ? 0 : Math.max(0, now.getTime() - oldest.since.getTime())
    return { subject, status, limitMs: limitsMs[status], ageMs, oldest }
  })
}

// Triggers that arrive at the same time share a transaction.

/** A batch of 128 spent a tenth of its time on planning and round trips. */
const triggersPerBatchMax = 512
/** A batch locks the balances last, so a second batch can run until then. */
const batchesUnderWayMax = 2

export type Applied = Exclude<Advanced, 'deferred'>

/** Returns the effect of the trigger. Repeats a deferred trigger in a later batch. */
export function applyInBatches<Trigger extends { readonly partnerId: string }, Read = undefined>(
  options: Pick<BatcherOptions<Trigger, Advanced, Read>, 'db' | 'read' | 'work'>,
): (trigger: Trigger) => Promise<Applied> {
  const inBatch = createBatcher({
    ...options,
    callsMax: triggersPerBatchMax,
    batchesMax: batchesUnderWayMax,
    partnerOf: ({ partnerId }: Trigger) => partnerId,
    // On small tables the planner would choose sequential scans, and a cached plan would keep them as the tables grow.
    byIndex: true,
  })
  return async (trigger) => {
    for (;;) {
      const advanced = await inBatch(trigger)
      if (advanced !== 'deferred') return advanced
    }
  }
}
