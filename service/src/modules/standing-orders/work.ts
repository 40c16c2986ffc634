/**
 * Makes the payouts of standing orders that are due. One transaction accepts the payouts of many orders and moves the orders to
 * their next dates, so that a kill leaves either both or neither. It locks each order, and skips those that another worker
 * holds: an order that was cancelled before has no further payout.
 */
import { Refusal } from '../../api/index.ts'
import { after, minuteMs, nilId, present } from '../../kernel/index.ts'
import { type BatchPosition, createBatcher, type Tx } from '../../postgres/index.ts'
import type { Acceptance, LookedUp, Outcome, PayoutCall } from '../payouts/index.ts'
import type { StandingOrdersDeps } from './deps.ts'
import { appendExecuted } from './events.ts'
import { callOf, type Executed, givenUp, made, refused, skipped, taskOf } from './rules.ts'
import * as store from './store.ts'

/**
 * Orders of one transaction, as many as payouts of a batch: also if each is of another partner, as on the first of a
 * month.
 */
const ordersPerStepMax = 128
/** A group with many orders is found without reading all of them. */
const rowsPerLookMax = 200
/** An order that fails for an unknown reason is put back for this time, so that it does not delay the others. */
const putBackMs = minuteMs
const start: store.DueGroup = { partnerId: nilId, dueAt: new Date(0) }

/** The calls of the orders of a batch, and the data to accept them. */
type Asked = { readonly calls: ReadonlyMap<store.OrderRow, PayoutCall>; readonly found: LookedUp | undefined }

/** Makes payouts of orders that are due, of many partners in turn. Returns how many orders it has moved on. */
export function createOrdersStep(deps: StandingOrdersDeps): () => Promise<number> {
  const { db, clock, log } = deps
  const nextGroups = createGroups(deps)
  const execute = createExecute(deps)
  return async () => {
    const orders = await readDue(deps, await nextGroups())
    const results = await Promise.allSettled(orders.map(execute))
    let moved = 0
    for (const [index, order] of orders.entries()) {
      const result = present(results[index], 'each order has a result')
      if (result.status === 'fulfilled') moved += result.value ? 1 : 0
      else {
        const { partnerId, id: orderId } = order
        log.error({ err: result.reason as unknown, partnerId, orderId }, 'standing order postponed; will retry')
        await store.putBackOrder(db, order, after(clock.now(), putBackMs))
      }
    }
    return moved
  }
}

/** Each step continues after the groups of the step before, so that a partner with many orders delays no other. */
function createGroups({ db, clock }: StandingOrdersDeps): () => Promise<readonly store.DueGroup[]> {
  let last = start
  const look = async (from: store.DueGroup) => {
    const rows = await store.dueGroups(db, clock.now(), from, rowsPerLookMax)
    const groups = new Map(rows.map((row) => [`${row.dueAt.getTime()} ${row.partnerId}`, row]))
    return [...groups.values()].slice(0, ordersPerStepMax)
  }
  return async () => {
    const ahead = await look(last)
    const groups = ahead.length === 0 && last !== start ? await look(start) : ahead
    last = groups.at(-1) ?? start
    return groups
  }
}

/** One statement for all groups; on a sharded database one for each partner. */
async function readDue(
  { db }: Pick<StandingOrdersDeps, 'db'>,
  groups: readonly store.DueGroup[],
): Promise<readonly store.OrderRow[]> {
  if (groups.length === 0) return []
  const ordersMax = Math.floor(ordersPerStepMax / groups.length)
  const parts = db.sharded ? [...Map.groupBy(groups, ({ partnerId }) => partnerId).values()] : [groups]
  return (await Promise.all(parts.map((part) => store.dueOrders(db, part, ordersMax)))).flat()
}

/** True: the order has moved on. False: another worker has it, or it has changed since it was read. */
function createExecute(deps: StandingOrdersDeps): (order: store.OrderRow) => Promise<boolean> {
  const { db, clock } = deps
  const { read, work } = deps.payouts.acceptance()
  return createBatcher<store.OrderRow, boolean, Asked>({
    db,
    callsMax: ordersPerStepMax,
    batchesMax: 1,
    partnerOf: ({ partnerId }) => partnerId,
    read: async (tx, orders) => {
      const now = clock.now()
      const tried = orders.filter((order) => taskOf(order, now) === 'try')
      const calls = new Map(tried.map((order) => [order, callOf(order)]))
      return { calls, found: calls.size === 0 ? undefined : await read(tx, [...calls.values()]) }
    },
    work: async (tx, orders, asked, position) => {
      const held = await stillDue(tx, orders)
      if (held.size === 0) return orders.map(() => false)
      const tried = orders.filter((order) => held.has(order) && asked.calls.has(order))
      const calls = tried.map((order) => present(asked.calls.get(order), 'the order has a call'))
      const outcomes = await accept(work, tx, calls, asked.found, position)
      const byOrder = new Map(tried.map((order, index) => [order, present(outcomes[index], 'a call has an outcome')]))
      const now = clock.now()
      const untried = [...held].filter((order) => !byOrder.has(order))
      const executed = [
        ...[...byOrder].flatMap(([order, outcome]) => judged(order, outcome, now)),
        ...(await notTried(tx, untried, now)),
      ]
      if (executed.length > 0) record(deps, tx, executed, now)
      const moved = new Set(executed.map(({ order }) => order.id))
      return orders.map((order) => held.has(order) && moved.has(order.id))
    },
  })
}

const accept = async (
  work: Acceptance['work'],
  tx: Tx,
  calls: readonly PayoutCall[],
  found: LookedUp | undefined,
  position: BatchPosition | undefined,
): Promise<readonly Outcome[]> => (found === undefined || calls.length === 0 ? [] : work(tx, calls, found, position))

/** Locked orders that are unchanged since they were read. */
async function stillDue(tx: Tx, orders: readonly store.OrderRow[]): Promise<ReadonlySet<store.OrderRow>> {
  const locked = new Map((await store.lockOrders(tx, orders)).map((order) => [order.id, order]))
  return new Set(
    orders.filter(({ id, dueAt, nextIndex }) => {
      const now = locked.get(id)
      return now !== undefined && now.nextIndex === nextIndex && now.dueAt?.getTime() === dueAt?.getTime()
    }),
  )
}

/** Undefined: the call must be submitted again, so that the order stays due. */
function judged(order: store.OrderRow, outcome: Outcome, now: Date): readonly Executed[] {
  if (outcome === 'resubmit') return []
  return [outcome instanceof Refusal ? refused(order, outcome, now) : made(order, outcome.payout, now)]
}

async function notTried(tx: Tx, orders: readonly store.OrderRow[], now: Date): Promise<readonly Executed[]> {
  const late = orders.filter((order) => order.retryUntil === null)
  const over = orders.filter((order) => order.retryUntil !== null)
  const retrying = over.length === 0 ? [] : await store.retryingOf(tx, over)
  const byOrder = new Map(retrying.map((execution) => [execution.orderId, execution]))
  return [
    ...late.map((order) => skipped(order, now)),
    ...over.map((order) => givenUp(order, present(byOrder.get(order.id), 'it is being tried again'), now)),
  ]
}

function record({ eventOutbox }: StandingOrdersDeps, tx: Tx, executed: readonly Executed[], now: Date): void {
  store.writeExecutions(
    tx,
    executed.map(({ execution }) => execution),
  )
  store.updateOrders(
    tx,
    executed.map(({ order }) => order),
  )
  appendExecuted(eventOutbox, tx, executed, now)
}
