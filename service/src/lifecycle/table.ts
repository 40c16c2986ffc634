/** The form of a table of transitions: everything that a change of status writes, and who may cause it. */
import type { ErrorKey, EventName, TimelineStep, TransactionStatus } from '@partner-payments/wire'
import { assert } from '../kernel/index.ts'

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
export type Unmoved = 'repeat' | 'early' | 'contradiction'

/** Statuses by trigger. A pair in neither list is a contradiction. */
type Reports<Status extends string> = Readonly<
  Record<Exclude<Unmoved, 'contradiction'>, Readonly<Record<string, readonly Status[]>>>
>

/** Transition that a trigger causes in a status. */
export type Found<Status extends string = string, Event extends EventName = EventName> = {
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
