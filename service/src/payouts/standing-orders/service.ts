/** The operations of standing orders, and the worker that creates their payouts. */
import { type BodyOf, type QueryOf, standingOrders as wire } from '@partner-payments/wire'
import {
  type Caller,
  type Cursors,
  notFound,
  type Page,
  parseAmount,
  parseCurrency,
  Refusal,
  type Sums,
  sumRowsRead,
  capSums,
} from '../../kernel/api/index.ts'
import {
  after,
  type Clock,
  type Log,
  minuteMs,
  newId,
  nilId,
  partnerKey,
  present,
  toJsonAmount,
} from '../../kernel/index.ts'
import {
  type BatchPosition,
  groupByShard,
  createBatcher,
  type Database,
  erasePersonal,
  inTransaction,
  type Tx,
} from '../../postgres/index.ts'
import {
  type Acceptance,
  findOwnIbans,
  toValidationInput,
  type BatchData,
  type PayoutOutcome,
  type PayoutCall,
  type Payouts,
  type PayoutsDeps,
  requireSupportedCurrency,
  validatePayout,
} from '../index.ts'
import {
  activateOrder,
  toPayoutCall,
  endOrder,
  type DateResult,
  givenUpResult,
  createdResult,
  pauseOrder,
  schedulePosition,
  refusedResult,
  orderSchedule,
  skippedResult,
  orderTask,
} from './rules.ts'
import { type Occurrence, occurrencesFrom, occurrenceSince, parseSchedule } from './schedule.ts'
import * as store from './store.ts'
import type { EventOutbox, EventPayload } from '../../events/index.ts'
import type { FactQueue } from '../../inbox/index.ts'
import type { ChooseConnector } from '../../rails/index.ts'
import type { Beneficiaries } from '../../parties/beneficiaries/index.ts'
import type { Customers } from '../../parties/customers/index.ts'
import { defineJob, type Job } from '../../postgres/jobs/index.ts'

/** `customerId`: the customer of the payee. Null: the payee belongs to the partner, or was deleted. */
type OwnedOrder = store.OrderRow & { readonly customerId: string | null }

export type StandingOrders = {
  /**
   * Creates an order, whose payouts workers create. Refuses: validation_failed (amount, currency, schedule), not_found
   * (beneficiaryId), currency_not_supported, beneficiary_currency_mismatch, beneficiary_not_payable,
   * country_not_supported, possible_duplicate, standing_order_limit_reached.
   */
  readonly create: (caller: Caller, body: BodyOf<'createStandingOrder'>, ip: string, tx?: Tx) => Promise<OwnedOrder>
  /** Reads an order. Refuses: not_found. */
  readonly get: (partnerId: string, id: string) => Promise<store.OrderRow>
  /** Reads orders with the names of their payees. Undefined: the payee was deleted. */
  readonly byIds: (
    tx: Tx,
    partnerId: string,
    ids: readonly string[],
  ) => Promise<readonly (store.OrderRow & { readonly payee: string | undefined })[]>
  /** Lists orders, newest first. Refuses: validation_failed (cursor). */
  readonly list: (partnerId: string, query: QueryOf<'listStandingOrders'>) => Promise<Page<store.OrderRow>>
  /** Sums at most `sumRowsMax` orders. */
  readonly sums: (partnerId: string, query: QueryOf<'sumStandingOrders'>) => Promise<Sums>
  /** Lists executions, newest first. Refuses: not_found, validation_failed (cursor). */
  readonly executions: (
    partnerId: string,
    id: string,
    query: QueryOf<'listStandingOrderExecutions'>,
  ) => Promise<Page<store.ExecutionRow>>
  /** Pauses an order. Refuses: not_found, standing_order_ended. */
  readonly pause: (partnerId: string, id: string) => Promise<OwnedOrder>
  /** Resumes an order. Refuses: not_found, standing_order_ended, standing_order_limit_reached. */
  readonly resume: (partnerId: string, id: string) => Promise<OwnedOrder>
  /** Cancels an order. Refuses: not_found, standing_order_ended. */
  readonly cancel: (partnerId: string, id: string) => Promise<OwnedOrder>
  /**
   * Ends the orders to payees of an erased customer, and erases their texts, in the caller's transaction. Called before
   * the balance is locked, in the order of the workers' locks.
   */
  readonly eraseOrders: (tx: Tx, partnerId: string, beneficiaryIds: readonly string[], now: Date) => Promise<void>
  /** Lists the next dates of an order: none if it has ended. */
  readonly datesAhead: (order: store.OrderRow) => readonly Occurrence[]
  /** Creates payouts of due orders. Returns the number of processed orders. */
  readonly step: () => Promise<number>
}

export function createStandingOrders(deps: StandingOrdersDeps): StandingOrders {
  const { db, clock, cursors } = deps
  const get = async (partnerId: string, id: string) => {
    const row = await store.orderById(db, partnerId, id)
    if (row === undefined) throw notFound('standing order')
    return row
  }
  return {
    ...createChanges(deps),
    create: createCreate(deps),
    eraseOrders: async (tx, partnerId, beneficiaryIds, now) => {
      const orders = await store.lockOrdersOfPayees(tx, partnerId, beneficiaryIds)
      await erasePersonal(
        tx,
        store.personalOrders,
        partnerId,
        orders.map(({ id }) => id),
      )
      const running = orders.filter(({ endReason }) => endReason === null)
      if (running.length === 0) return
      for (const { id, retryUntil } of running) if (retryUntil !== null) await store.endRetries(tx, partnerId, id, now)
      const rows = running.map((order) => ({ ...endOrder(order, 'BeneficiaryDeleted', now), reference: null }))
      store.updateOrders(tx, rows)
      appendEnded(deps.eventOutbox, tx, rows, now)
    },
    get,
    byIds: async (tx, partnerId, ids) => {
      if (ids.length === 0) return []
      const orders = await store.ordersByIds(tx, partnerId, ids)
      const payees = await deps.beneficiaries.payeesByIds(
        tx,
        orders.map(({ beneficiaryId: id }) => ({ partnerId, id })),
      )
      return orders.map((order) => ({ ...order, payee: payees.get(partnerKey(partnerId, order.beneficiaryId))?.name }))
    },
    list: async (partnerId, query) => {
      const list = `standing-orders:${partnerId}`
      const request = cursors.read(list, query)
      return cursors.page(list, request, await store.listOrders(db, partnerId, query.status ?? null, request))
    },
    sums: async (partnerId, { status }) => capSums(await store.sumOrders(db, partnerId, status ?? null, sumRowsRead)),
    executions: async (partnerId, id, query) => {
      await get(partnerId, id)
      const list = `standing-executions:${partnerId}:${id}`
      const request = cursors.read(list, query)
      return cursors.page(list, request, await store.listExecutions(db, partnerId, id, request))
    },
    datesAhead: (order) => {
      const schedule = orderSchedule(order)
      if (order.status === 'Ended') return []
      if (order.status === 'Active') return occurrencesFrom(schedule, schedulePosition(order), wire.datesAheadMax)
      const next = occurrenceSince(schedule, schedulePosition(order), clock.now())
      return next === undefined ? [] : occurrencesFrom(schedule, next, wire.datesAheadMax)
    },
    step: createOrdersStep(deps),
  }
}

function createCreate({
  db,
  clock,
  beneficiaries,
  chooseConnector,
  ownIbans,
  ordersMax,
  customers,
  screening,
  payouts,
}: StandingOrdersDeps): StandingOrders['create'] {
  return async (caller, body, ip, outerTx) => {
    const { partnerId, serviceAccountId: accountId, name: accountName } = caller
    const now = clock.now()
    const currency = parseCurrency(body.currency)
    requireSupportedCurrency('createStandingOrder', currency)
    const amount = parseAmount(body.amount, currency)
    const { schedule, occurrence } = parseSchedule(body.schedule, currency, now)
    const order: store.OrderRow = {
      partnerId,
      id: newId(),
      beneficiaryId: body.beneficiaryId.toLowerCase(),
      amount,
      reference: body.reference ?? null,
      note: body.note ?? null,
      refusesDuplicates: body.onDuplicate === 'Refuse',
      ...schedule,
      status: 'Active',
      endReason: null,
      nextIndex: occurrence.index,
      nextNumber: occurrence.number,
      dueAt: occurrence.executesAt,
      retryUntil: null,
      attempts: 0,
      payoutsMade: 0,
      accountId,
      accountName,
      ipAddress: ip,
      createdAt: now,
      updatedAt: now,
      endedAt: null,
    }
    return inTransaction(db, outerTx, async (tx) => {
      const call = toPayoutCall(order)
      const payees = await beneficiaries.payeesByIds(tx, [{ partnerId, id: order.beneficiaryId }])
      const own = await findOwnIbans(ownIbans, tx, [call], payees)
      const countryRules = await screening.countries.recent(tx)
      const unread = {
        customers: new Map(),
        balances: { accounts: new Map() },
        payers: new Map(),
        unproved: new Set<never>(),
      }
      const found = { beneficiaries: payees, ...unread, countryRules, ownIbans: own }
      const firstDay = order.dueAt?.toISOString().slice(0, 'YYYY-MM-DD'.length) ?? ''
      const { customerId, creditor } = validatePayout(toValidationInput(call, chooseConnector, found, () => firstDay))
      // First lock of all, as in the acceptance of payouts.
      if (body.onDuplicate === 'Refuse' || body.onDuplicate === 'RefuseFirst') {
        const { reference } = order
        const payment = { account: creditor.account, amount, currency, reference }
        await payouts.refuseRepeated(tx, partnerId, payment, occurrence.executesAt)
      }
      // An erasure of the customer waits, and then finds the answer that is stored under an Idempotency-Key.
      if (customerId !== null) await customers.hold(tx, partnerId, customerId, '/beneficiaryId')
      await requireFreeOrder(tx, partnerId, ordersMax, '/schedule')
      await store.insertOrder(tx, order)
      return { ...order, customerId }
    })
  }
}

type Changes = Pick<StandingOrders, 'pause' | 'resume' | 'cancel'>

/** Creates the operations that change an order. Each locks the order, as the worker does: a payout is created before the change or not at all. */
function createChanges({ db, clock, eventOutbox, ordersMax, beneficiaries }: StandingOrdersDeps): Changes {
  const ownedOf = async (tx: Tx, order: store.OrderRow): Promise<OwnedOrder> => {
    const key = { partnerId: order.partnerId, id: order.beneficiaryId }
    const payee = (await beneficiaries.payeesByIds(tx, [key])).get(partnerKey(key.partnerId, key.id))
    return { ...order, customerId: payee?.customerId ?? null }
  }
  const change = (
    partnerId: string,
    id: string,
    changed: (order: store.OrderRow, now: Date) => store.OrderRow,
  ): Promise<OwnedOrder> =>
    db.transaction(async (tx) => {
      const order = await store.lockStandingOrder(tx, partnerId, id)
      if (order === undefined) throw notFound('standing order')
      const now = clock.now()
      const row = changed(order, now)
      if (row === order) return ownedOf(tx, order)
      if (row.status === 'Active') await requireFreeOrder(tx, partnerId, ordersMax, '')
      if (order.retryUntil !== null) await store.endRetries(tx, partnerId, id, now)
      store.updateOrders(tx, [row])
      appendEnded(eventOutbox, tx, [row], now)
      return ownedOf(tx, row)
    })
  return {
    pause: (partnerId, id) =>
      change(partnerId, id, (order, now) => (requireOpen(order).status === 'Paused' ? order : pauseOrder(order, now))),
    resume: (partnerId, id) =>
      change(partnerId, id, (order, now) =>
        requireOpen(order).status === 'Active'
          ? order
          : activateOrder(order, occurrenceSince(orderSchedule(order), schedulePosition(order), now), now),
      ),
    cancel: (partnerId, id) =>
      change(partnerId, id, (order, now) =>
        order.endReason === 'Cancelled' ? order : endOrder(requireOpen(order), 'Cancelled', now),
      ),
  }
}

/**
 * Checks whether one more order may be active. Serialises the requests of a partner until their commit. A worker only
 * ends orders, so it needs no lock. Refuses: standing_order_limit_reached.
 */
async function requireFreeOrder(tx: Tx, partnerId: string, max: number, pointer: string): Promise<void> {
  await store.lockActivation(tx, partnerId)
  if ((await store.countActiveOrders(tx, partnerId, max)) < max) return
  const message = `the partner has ${max} active standing orders`
  throw new Refusal('standing_order_limit_reached', undefined, {
    errors: [{ pointer, code: 'out_of_range', message }],
  })
}

/** Checks that the order has not ended. Refuses: standing_order_ended. */
function requireOpen(order: store.OrderRow): store.OrderRow {
  if (order.endReason === null) return order
  throw new Refusal('standing_order_ended', `The standing order has ended: ${order.endReason}. Create a new one.`)
}

// Creates the payouts of due standing orders. One transaction accepts the payouts of many orders and moves the orders
// to their next dates, so that both are committed or neither. It locks each order, and skips orders that another worker
// holds: a cancelled order has no further payout.

/**
 * Orders of one transaction: as many as payouts of a batch, even if each belongs to another partner, as on the first of
 * a month.
 */
const ordersPerStepMax = 128
/** A search for due groups stops after this many rows, so that it does not read all orders of a large group. */
const rowsPerLookMax = 200
/** An order that fails for an unknown reason is postponed by this time, so that it does not delay the others. */
const postponeMs = minuteMs
const start: store.DueGroup = { partnerId: nilId, dueAt: new Date(0) }

/** Calls for the orders of a batch, and the data to accept them. */
type OrderCalls = { readonly calls: ReadonlyMap<store.OrderRow, PayoutCall>; readonly found: BatchData | undefined }

/** Creates payouts of due orders, of many partners in turn. Returns the number of processed orders. */
function createOrdersStep(deps: StandingOrdersDeps): () => Promise<number> {
  const { db, clock, log } = deps
  const nextGroups = createGroups(deps)
  const execute = createExecute(deps)
  return async () => {
    const orders = await readDue(deps, await nextGroups())
    const results = await Promise.allSettled(orders.map(execute))
    let moved = 0
    for (const [index, order] of orders.entries()) {
      const result = present(results[index], `no result for standing order ${order.id}`)
      if (result.status === 'fulfilled') moved += result.value ? 1 : 0
      else {
        const { partnerId, id: orderId } = order
        log.error({ err: result.reason as unknown, partnerId, orderId }, 'standing order postponed; will retry')
        await store.postponeOrder(db, order, after(clock.now(), postponeMs))
      }
    }
    return moved
  }
}

/** Creates the step that finds due groups. It continues after the previous step's groups, so no partner delays others. */
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

/** Reads due orders with one statement for all groups; on a sharded database one for each partner. */
async function readDue(
  { db }: Pick<StandingOrdersDeps, 'db'>,
  groups: readonly store.DueGroup[],
): Promise<readonly store.OrderRow[]> {
  if (groups.length === 0) return []
  const ordersMax = Math.floor(ordersPerStepMax / groups.length)
  return (await Promise.all(groupByShard(db, groups).map((part) => store.dueOrders(db, part, ordersMax)))).flat()
}

/**
 * Creates the function that processes a due order. It returns false if another worker has locked the order, or the
 * order has changed since it was read.
 */
function createExecute(deps: StandingOrdersDeps): (order: store.OrderRow) => Promise<boolean> {
  const { db, clock } = deps
  const { read, work } = deps.payouts.acceptance()
  return createBatcher<store.OrderRow, boolean, OrderCalls>({
    db,
    callsMax: ordersPerStepMax,
    batchesMax: 1,
    partnerOf: ({ partnerId }) => partnerId,
    read: async (tx, orders) => {
      const now = clock.now()
      const tried = orders.filter((order) => orderTask(order, now) === 'try')
      const calls = new Map(tried.map((order) => [order, toPayoutCall(order)]))
      return { calls, found: calls.size === 0 ? undefined : await read(tx, [...calls.values()]) }
    },
    work: async (tx, orders, asked, position) => {
      const held = await findUnchanged(tx, orders)
      if (held.size === 0) return orders.map(() => false)
      const tried = orders.filter((order) => held.has(order) && asked.calls.has(order))
      const calls = tried.map((order) => present(asked.calls.get(order), `no call for standing order ${order.id}`))
      const outcomes = await accept(work, tx, calls, asked.found, position)
      const byOrder = new Map(
        tried.map((order, index) => [order, present(outcomes[index], `no outcome for standing order ${order.id}`)]),
      )
      const now = clock.now()
      const untried = [...held].filter((order) => !byOrder.has(order))
      const executed = [
        ...[...byOrder].flatMap(([order, outcome]) => executeOutcome(order, outcome, now)),
        ...(await executeWithoutPayout(tx, untried, now)),
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
  found: BatchData | undefined,
  position: BatchPosition | undefined,
): Promise<readonly PayoutOutcome[]> =>
  found === undefined || calls.length === 0 ? [] : work(tx, calls, found, position)

/** Finds locked orders that are unchanged since they were read. */
async function findUnchanged(tx: Tx, orders: readonly store.OrderRow[]): Promise<ReadonlySet<store.OrderRow>> {
  const locked = new Map((await store.lockOrders(tx, orders)).map((order) => [order.id, order]))
  return new Set(
    orders.filter(({ id, dueAt, nextIndex }) => {
      const now = locked.get(id)
      return now !== undefined && now.nextIndex === nextIndex && now.dueAt?.getTime() === dueAt?.getTime()
    }),
  )
}

/** Returns the outcome of a date. Undefined: the call must be submitted again, and the order stays due. */
function executeOutcome(order: store.OrderRow, outcome: PayoutOutcome, now: Date): readonly DateResult[] {
  if (outcome === 'resubmit') return []
  return [outcome instanceof Refusal ? refusedResult(order, outcome, now) : createdResult(order, outcome.payout, now)]
}

async function executeWithoutPayout(
  tx: Tx,
  orders: readonly store.OrderRow[],
  now: Date,
): Promise<readonly DateResult[]> {
  const late = orders.filter((order) => order.retryUntil === null)
  const over = orders.filter((order) => order.retryUntil !== null)
  const retrying = over.length === 0 ? [] : await store.retryingExecutions(tx, over)
  const byOrder = new Map(retrying.map((execution) => [execution.orderId, execution]))
  return [
    ...late.map((order) => skippedResult(order, now)),
    ...over.map((order) =>
      givenUpResult(order, present(byOrder.get(order.id), `no execution to retry for standing order ${order.id}`), now),
    ),
  ]
}

function record({ eventOutbox, facts }: StandingOrdersDeps, tx: Tx, executed: readonly DateResult[], now: Date): void {
  store.writeExecutions(
    tx,
    executed.map(({ execution }) => execution),
  )
  store.updateOrders(
    tx,
    executed.map(({ order }) => order),
  )
  appendExecuted(eventOutbox, tx, executed, now)
  notifyOfFailures(facts, tx, executed)
}

/** Notifies the team of each unpaid date: a refused duplicate leaves no other trace. */
function notifyOfFailures(facts: FactQueue, tx: Tx, executed: readonly DateResult[]): void {
  const over = executed.filter(({ execution: { status } }) => status === 'Failed' || status === 'Skipped')
  facts.append(
    tx,
    over.map(({ order: { partnerId, id: subject }, execution: { occursOn, problemCode } }) => ({
      ...{ partnerId, subject, occasion: `${subject} ${occursOn}` },
      type: problemCode === 'possible_duplicate' ? ('order.repeats' as const) : ('order.failed' as const),
    })),
  )
}

type StandingOrdersDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly log: Log
  readonly cursors: Cursors
  readonly eventOutbox: EventOutbox
  readonly facts: FactQueue
  readonly beneficiaries: Pick<Beneficiaries, 'payeesByIds'>
  readonly customers: Pick<Customers, 'hold'>
  readonly payouts: Pick<Payouts, 'acceptance' | 'refuseRepeated'>
  readonly chooseConnector: ChooseConnector
  readonly ownIbans: PayoutsDeps['ownIbans']
  readonly screening: Pick<PayoutsDeps['screening'], 'countries'>
  /** The setting STANDING_ORDERS_MAX. */
  readonly ordersMax: number
}

const common = ({ id, amount, currency, beneficiaryId, reference }: store.OrderRow) => ({
  amount: toJsonAmount(amount, currency),
  currency,
  customFields: null,
  idempotencyKey: null,
  reference: id,
  websiteReference: reference,
  beneficiaryId,
})

const toFailedEvent = ({ order, execution }: DateResult): EventPayload<'standing.order.failed'> => ({
  ...common(order),
  date: execution.occursOn,
  nextAttemptAt: execution.status === 'Retrying' && order.dueAt !== null ? order.dueAt.toISOString() : null,
  problemCode: execution.problemCode,
  problemDetail: execution.problemDetail,
  status: execution.status,
})

const toEndedEvent = (order: store.OrderRow): EventPayload<'standing.order.ended'> => ({
  ...common(order),
  endReason: order.endReason ?? 'Completed',
})

/** Appends an event for each failed date: at its first refused attempt and at its end. A created payout has its own events. */
function appendExecuted(eventOutbox: EventOutbox, tx: Tx, executed: readonly DateResult[], now: Date): void {
  const told = executed.filter(
    ({ execution: { status, attempts } }) => status !== 'Made' && !(status === 'Retrying' && attempts > 1),
  )
  eventOutbox.appendMany(
    tx,
    told.map((each) => ({
      partnerId: each.order.partnerId,
      type: 'standing.order.failed' as const,
      occurredAt: now,
      data: toFailedEvent(each),
    })),
  )
  appendEnded(
    eventOutbox,
    tx,
    executed.map(({ order }) => order),
    now,
  )
}

/** Appends the event of each order that has ended. */
function appendEnded(eventOutbox: EventOutbox, tx: Tx, orders: readonly store.OrderRow[], now: Date): void {
  eventOutbox.appendMany(
    tx,
    orders
      .filter(({ status }) => status === 'Ended')
      .map((order) => ({
        partnerId: order.partnerId,
        type: 'standing.order.ended' as const,
        occurredAt: now,
        data: toEndedEvent(order),
      })),
  )
}

export const ordersJob = ({ step }: Pick<StandingOrders, 'step'>): Job =>
  defineJob({ name: 'payouts.orders', due: store.ordersDue, run: step, age: { queue: 'standing_orders' } })

// The next payouts of standing orders, for payments that may repeat them.

export const createScheduledPayouts =
  ({
    beneficiaries,
  }: {
    readonly beneficiaries: Pick<Beneficiaries, 'findHolders'>
  }): PayoutsDeps['scheduledPayouts'] =>
  async (tx, partnerId, payments) => {
    // IBANs are stored in upper case, and addresses of wallets in lower case.
    const accounts = payments.flatMap(({ account }) => [account, account.toUpperCase(), account.toLowerCase()])
    const holders = await beneficiaries.findHolders(tx, partnerId, [...new Set(accounts)])
    if (holders.length === 0) return []
    const holderOf = new Map(holders.map((holder) => [holder.id, holder]))
    const amounts = [...new Set(payments.map(({ amount }) => amount))]
    const orders = await store.findOrdersByPayment(tx, partnerId, [...holderOf.keys()], amounts)
    return orders.flatMap(({ beneficiaryId, dueAt, id, reference, amount, currency, createdAt }) => {
      const holder = holderOf.get(beneficiaryId)
      if (holder === undefined || dueAt === null) return []
      const { name: creditorName, account: creditorAccount } = holder
      return [{ id, reference, amount, currency, creditorName, creditorAccount, dueAt, createdAt }]
    })
  }
