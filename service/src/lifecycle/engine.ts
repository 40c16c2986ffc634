/**
 * Applies a batch of triggers in one transaction. It locks the payments, judges each trigger by the table of transitions,
 * and then has the module write all transitions together.
 */
import type { EventName } from '@partner-payments/wire'
import { assert, type Clock, partnerKey, present } from '../kernel/index.ts'
import type { Tx } from '../postgres/index.ts'
import { type Actor, type Found, type Lifecycle, transitionOn, type Unmoved, unmovedBy } from './table.ts'

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
      const row = present(found, `a ${lifecycle.subject} that a trigger names exists`)
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
    return batch.map(({ trigger }, index) => {
      const move = moves.get(trigger)
      return (move && refused?.get(move)) ?? present(answers[index], 'each trigger has an answer')
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
