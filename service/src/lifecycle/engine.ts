/** Applies a batch of triggers in one transaction. */
import type { ErrorKey, EventName, TimelineStep, TransactionStatus } from '@partner-payments/wire'
import { assert, type Clock, partnerKey, present, type RowKey } from '../kernel/index.ts'
import { type BatcherOptions, createBatcher, type Tx } from '../postgres/index.ts'

/**
 * Effect of a trigger in a batch. True: the status changed. False: the trigger repeats what is recorded, or its
 * condition no longer holds. `deferred`: the caller must repeat the trigger after the commit. Bank reports can also be
 * `early` or a `contradiction` (`ReportMeaning`), or `unknown`: no such payment.
 */
export type TriggerOutcome = boolean | 'deferred' | 'early' | 'contradiction' | 'unknown'

type Payment = RowKey & { readonly status: string }
type WithKind<Kind extends string> = { readonly kind: Kind }

/** Transition of one payment, for the module to write. */
export type PaymentTransition<Row extends Payment, Trigger, Event extends EventName> = FoundTransition<
  Row['status'],
  Event
> & {
  readonly row: Row
  readonly trigger: Trigger
  /** Actor that caused the transition. */
  readonly actor: Actor
}

type EngineDeps<Row extends Payment, Trigger, Kind extends string, Event extends EventName, Refused = never> = {
  readonly clock: Clock
  readonly lifecycle: Lifecycle<Row['status'], Kind, Event>
  /** Locks the rows of all payments in the same order, so that two batches cannot deadlock. */
  readonly lock: (tx: Tx, keys: readonly RowKey[]) => Promise<readonly Row[]>
  /** Derives the actor from the content of the trigger, not from its kind. */
  readonly actorOf: (trigger: Trigger) => Actor
  /** The kind of a trigger, if it depends on the payment. */
  readonly kindOf?: (row: Row, trigger: Trigger) => Kind
  /** Reports whether a bank report cannot be about this payment in any status: it has another connector or currency. */
  readonly isForeign?: (row: Row, trigger: Trigger) => boolean
  /** Reports whether a bank report must wait for an event that is not a bank report. The bank must then repeat it. */
  readonly isEarly?: (row: Row, trigger: Trigger) => boolean
  /** Reports whether the trigger still holds under the lock: the worker has its lease, or the time has come. */
  readonly holds: (row: Row, trigger: Trigger, now: Date) => boolean
  /**
   * Locks and reads further rows, and returns the outcome of each refused transition. Refused transitions are not
   * written.
   */
  readonly findRefused?: (
    tx: Tx,
    moves: readonly PaymentTransition<Row, Trigger, Event>[],
    now: Date,
  ) => Promise<ReadonlyMap<PaymentTransition<Row, Trigger, Event>, Refused>>
  /** Writes with one statement for each table. The statement on payments compares the previous status of each row. */
  readonly write: (tx: Tx, moves: readonly PaymentTransition<Row, Trigger, Event>[], now: Date) => Promise<void>
}

export function createEngine<
  Row extends Payment,
  Trigger extends WithKind<Kind>,
  Kind extends string,
  Event extends EventName,
  Refused = never,
>(parts: EngineDeps<Row, Trigger, Kind, Event, Refused>) {
  const { clock, lifecycle, lock, holds, write, actorOf } = parts
  return async (
    tx: Tx,
    batch: readonly { readonly key: RowKey; readonly trigger: Trigger }[],
  ): Promise<readonly (TriggerOutcome | Refused)[]> => {
    if (batch.length === 0) return []
    const rows = await lock(
      tx,
      batch.map(({ key }) => key),
    )
    const byKey = new Map(rows.map((row) => [partnerKey(row.partnerId, row.id), row]))
    // Read after the locks: a transition that waited for another one must not have an earlier time.
    const now = clock.now()
    const seen = new Set<string>()
    const moves = new Map<Trigger, PaymentTransition<Row, Trigger, Event>>()
    const answers = batch.map(({ key: { partnerId, id }, trigger }): TriggerOutcome => {
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
    const refused = await parts.findRefused?.(tx, [...moves.values()], now)
    const admitted = [...moves.values()].filter((move) => refused?.has(move) !== true)
    if (admitted.length > 0) await write(tx, admitted, now)
    return batch.map(({ key, trigger }, index) => {
      const move = moves.get(trigger)
      return (move && refused?.get(move)) ?? present(answers[index], `no answer for ${lifecycle.subject} ${key.id}`)
    })
  }
}

function judge<Row extends Payment, Trigger extends WithKind<Kind>, Kind extends string, Event extends EventName>(
  { lifecycle, actorOf, kindOf, isForeign, isEarly }: Omit<EngineDeps<Row, Trigger, Kind, Event>, 'findRefused'>,
  row: Row,
  trigger: Trigger,
): PaymentTransition<Row, Trigger, Event> | ReportMeaning {
  const { subject } = lifecycle
  const actor = actorOf(trigger)
  const kind = kindOf?.(row, trigger) ?? trigger.kind
  if (isForeign?.(row, trigger)) return 'contradiction'
  if (isEarly?.(row, trigger)) return 'early'
  const found = findTransition(lifecycle, row.status, kind)
  if (found === undefined) {
    // Other actors may report late or twice. The worker that holds the lease has written the status itself.
    assert(actor !== 'worker', `${subject} ${row.id} is ${row.status}: its worker reports ${kind}`)
    return actor === 'bank' ? classifyReport(lifecycle, row.status, kind) : 'repeat'
  }
  assert(found.transition.by.includes(actor), `${found.name} of ${subject} ${row.id} is not caused by: ${actor}`)
  return { ...found, row, trigger, actor }
}

/** `worker`: under its lease. `bank`: by a notification. `time`: an expiry. */
export type Actor = 'partner' | 'worker' | 'bank' | 'time' | 'operator'

/**
 * Effect of a transition on the money. `post` and `release` end the reserve. `credit` moves money to the balance.
 * `refund` returns posted money by a new transaction.
 */
type LedgerEffect = 'reserve' | 'post' | 'release' | 'credit' | 'refund'

export type Transition<Status extends string = string, Event extends EventName = EventName> = {
  /** Empty: the transition creates the payment. */
  readonly from: readonly Status[]
  readonly to: Status
  /** Cause in plain words, for the documentation page of lifecycles. */
  readonly cause: string
  readonly by: readonly Actor[]
  /** Triggers that cause the transition. */
  readonly on: readonly string[]
  /** Later triggers that prove the transition. The engine applies them again to the new status. */
  readonly impliedBy?: readonly string[]
  readonly ledger?: LedgerEffect
  /** Steps that the transition adds to the timeline of the transaction. */
  readonly steps: readonly TimelineStep[]
  /** Final status of the transaction, if the transition ends it. */
  readonly concludes?: Exclude<TransactionStatus, 'Pending'>
  /** Every conclusion also emits `transaction.status.changed`, which no row lists. */
  readonly event?: Event
  /** Set only if every trigger of the transition has the same error key. */
  readonly errorKey?: ErrorKey
}

type Transitions<Status extends string> = Readonly<Record<string, Transition<Status>>>

/**
 * Meaning of a bank report that causes no transition. `repeat`: it is already recorded. `early`: an earlier report is
 * missing, and the bank must repeat this one. `contradiction`: it fits no recorded state.
 */
type ReportMeaning = 'repeat' | 'early' | 'contradiction'

/** Statuses by trigger. A pair of trigger and status that is in neither list is a contradiction. */
type Reports<Status extends string> = Readonly<
  Record<Exclude<ReportMeaning, 'contradiction'>, Readonly<Record<string, readonly Status[]>>>
>

type FoundTransition<Status extends string = string, Event extends EventName = EventName> = {
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
  /** All statuses of the contract, including those that no transition reaches. */
  readonly statuses: readonly Status[]
  readonly triggers: readonly Trigger[]
  readonly transitions: Readonly<Record<string, Transition<Status, Event>>>
  readonly found: ReadonlyMap<string, FoundTransition<Status, Event>>
  readonly reports: Reports<Status>
}

type TriggerNames<T extends Transitions<string>> = T[keyof T]['on'][number]
type EventNames<T extends Transitions<string>> = Extract<T[keyof T], { readonly event: EventName }>['event']

const keyOf = (status: string, trigger: string) => `${status} ${trigger}`

export function createLifecycle<const Status extends string, const T extends Transitions<Status>>(table: {
  readonly subject: string
  readonly statuses: readonly Status[]
  readonly transitions: T
  readonly reports?: Reports<Status>
}): Lifecycle<Status, TriggerNames<T>, EventNames<T>> {
  const transitions = table.transitions as Readonly<Record<string, Transition<Status, EventNames<T>>>>
  const found = new Map<string, FoundTransition<Status, EventNames<T>>>()
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
  const triggers = [...new Set(Object.values(transitions).flatMap(({ on }) => on as readonly TriggerNames<T>[]))]
  return { ...table, transitions, triggers, found, reports }
}

export type EventOf<L extends Lifecycle> = L extends Lifecycle<string, string, infer Event> ? Event : never

/** Finds the transition that a trigger causes in a status. Undefined: none. */
export const findTransition = <Status extends string, Trigger extends string, Event extends EventName>(
  { found }: Lifecycle<Status, Trigger, Event>,
  status: NoInfer<Status>,
  trigger: NoInfer<Trigger>,
): FoundTransition<Status, Event> | undefined => found.get(keyOf(status, trigger))

/** Classifies a bank report that causes no transition. */
export function classifyReport<Status extends string>(
  { reports }: Pick<Lifecycle<Status>, 'reports'>,
  status: NoInfer<Status>,
  trigger: string,
): ReportMeaning {
  if (reports.repeat[trigger]?.includes(status)) return 'repeat'
  return reports.early[trigger]?.includes(status) ? 'early' : 'contradiction'
}

/** A payment in a status that is not final. */
export type UnfinishedPayment = {
  readonly partnerId: string
  readonly id: string
  readonly status: string
  /** Null: the payment has no connector yet. */
  readonly connector: string | null
  readonly since: Date
}

/** The oldest payment in a status, across all partners. Null: no payment has the status. `limitMs`: the permitted age. */
export type OldestUnfinishedPayment = {
  readonly subject: string
  readonly status: string
  readonly limitMs: number
  readonly ageMs: number
  readonly oldest: UnfinishedPayment | null
}

/** Finds the oldest row in each status that has a limit. */
export function oldestByStatus<Status extends string>(
  subject: string,
  limitsMs: Readonly<Record<Status, number>>,
  rows: readonly UnfinishedPayment[],
  now: Date,
): readonly OldestUnfinishedPayment[] {
  return (Object.keys(limitsMs) as Status[]).map((status): OldestUnfinishedPayment => {
    const [oldest = null] = rows
      .filter((row) => row.status === status)
      .toSorted((a, b) => a.since.getTime() - b.since.getTime())
    const ageMs = oldest === null ? 0 : Math.max(0, now.getTime() - oldest.since.getTime())
    return { subject, status, limitMs: limitsMs[status], ageMs, oldest }
  })
}

// Triggers that arrive at the same time share a transaction.

/** Maximum triggers of a batch. In batches of 128, planning and round trips took a tenth of the time. */
const triggersPerBatchMax = 512
/** Maximum batches at the same time. A batch locks the balances last, so a second batch can run until then. */
const batchesUnderWayMax = 2

export type AppliedOutcome = Exclude<TriggerOutcome, 'deferred'>

/** Creates a function that applies a trigger in a shared transaction. Repeats a deferred trigger in a later batch. */
export function applyInBatches<Trigger extends { readonly partnerId: string }, Read = undefined>(
  options: Pick<BatcherOptions<Trigger, TriggerOutcome, Read>, 'db' | 'read' | 'work'>,
): (trigger: Trigger) => Promise<AppliedOutcome> {
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
