/** The verbs of standing orders. Workers make the payouts (work.ts). */
import { type BodyOf, type QueryOf, standingOrders as wire } from '@partner-payments/wire'
import { type Caller, notFound, type Page, readAmount, readCurrency, Refusal } from '../../api/index.ts'
import { newId } from '../../kernel/index.ts'
import { erasePersonal, inTransaction, type Tx } from '../../postgres/index.ts'
import { findOwnIbans, judgedOf, requirePaidBy, validate } from '../payouts/index.ts'
import type { StandingOrdersDeps } from './deps.ts'
import { appendEnded } from './events.ts'
import { active, callOf, ended, paused, positionOf, scheduleOf } from './rules.ts'
import { type Occurrence, occurrencesFrom, occurrenceSince, readSchedule } from './schedule.ts'
import * as store from './store.ts'
import { personalOrders } from './store-personal.ts'
import { createOrdersStep } from './work.ts'

export type StandingOrders = {
  /**
   * Creates an order, whose payouts workers make. Refuses: validation_failed (amount, currency, schedule), not_found
   * (beneficiaryId), currency_not_supported, beneficiary_currency_mismatch, beneficiary_not_payable, standing_order_limit_reached.
   */
  readonly create: (
    caller: Caller,
    body: BodyOf<'createStandingOrder'>,
    ip: string,
    tx?: Tx,
  ) => Promise<store.OrderRow & { readonly customerId: string | null }>
  /** Refuses: not_found. */
  readonly get: (partnerId: string, id: string) => Promise<store.OrderRow>
  /** Newest first. Refuses: validation_failed (cursor). */
  readonly list: (partnerId: string, query: QueryOf<'listStandingOrders'>) => Promise<Page<store.OrderRow>>
  /** Newest first. Refuses: not_found, validation_failed (cursor). */
  readonly executions: (
    partnerId: string,
    id: string,
    query: QueryOf<'listStandingOrderExecutions'>,
  ) => Promise<Page<store.ExecutionRow>>
  /** Refuses: not_found, standing_order_ended. */
  readonly pause: (partnerId: string, id: string) => Promise<store.OrderRow>
  /** Refuses: not_found, standing_order_ended, standing_order_limit_reached. */
  readonly resume: (partnerId: string, id: string) => Promise<store.OrderRow>
  /** Refuses: not_found, standing_order_ended. */
  readonly cancel: (partnerId: string, id: string) => Promise<store.OrderRow>
  /**
   * Ends the orders of the payees of an erased customer, and erases their texts. Called before the balance is locked,
   * in the order of the workers' locks. Joins the transaction.
   */
  readonly eraseOf: (tx: Tx, partnerId: string, beneficiaryIds: readonly string[], now: Date) => Promise<void>
  /** The next dates of an order. None if it has ended. */
  readonly datesAhead: (order: store.OrderRow) => readonly Occurrence[]
  /** Makes payouts of orders that are due. Returns how many orders it has moved on. */
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
    eraseOf: async (tx, partnerId, beneficiaryIds, now) => {
      const orders = await store.lockOrdersOf(tx, partnerId, beneficiaryIds)
      await erasePersonal(
        tx,
        personalOrders,
        partnerId,
        orders.map(({ id }) => id),
      )
      const running = orders.filter(({ endReason }) => endReason === null)
      if (running.length === 0) return
      for (const { id, retryUntil } of running)
        if (retryUntil !== null) await store.skipRetrying(tx, partnerId, id, now)
      const rows = running.map((order) => ({ ...ended(order, 'BeneficiaryDeleted', now), reference: null }))
      store.updateOrders(tx, rows)
      appendEnded(deps.eventOutbox, tx, rows, now)
    },
    get,
    list: async (partnerId, query) => {
      const list = `standing-orders:${partnerId}`
      const request = cursors.read(list, query)
      return cursors.page(list, request, await store.listOrders(db, partnerId, query.status ?? null, request))
    },
    executions: async (partnerId, id, query) => {
      await get(partnerId, id)
      const list = `standing-executions:${partnerId}:${id}`
      const request = cursors.read(list, query)
      return cursors.page(list, request, await store.listExecutions(db, partnerId, id, request))
    },
    datesAhead: (order) => {
      const schedule = scheduleOf(order)
      if (order.status === 'Ended') return []
      if (order.status === 'Active') return occurrencesFrom(schedule, positionOf(order), wire.datesAheadMax)
      const next = occurrenceSince(schedule, positionOf(order), clock.now())
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
}: StandingOrdersDeps): StandingOrders['create'] {
  return async (caller, body, ip, outerTx) => {
    const { partnerId, serviceAccountId: accountId, name: accountName } = caller
    const now = clock.now()
    const currency = readCurrency(body.currency)
    requirePaidBy('createStandingOrder', currency)
    const amount = readAmount(body.amount, currency)
    const { schedule, occurrence } = readSchedule(body.schedule, currency, now)
    const order: store.OrderRow = {
      partnerId,
      id: newId(),
      beneficiaryId: body.beneficiaryId.toLowerCase(),
      amount,
      reference: body.reference ?? null,
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
      const call = callOf(order)
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
      const { customerId } = validate(judgedOf(call, chooseConnector, found, () => firstDay))
      // The customer's erasure waits, and then finds the answer that is stored under an Idempotency-Key.
      if (customerId !== null) await customers.hold(tx, partnerId, customerId, '/beneficiaryId')
      await requirePlace(tx, partnerId, ordersMax, '/schedule')
      await store.insertOrder(tx, order)
      return { ...order, customerId }
    })
  }
}

type Changes = Pick<StandingOrders, 'pause' | 'resume' | 'cancel'>

/** Each change locks the order, as the worker does: a payout is made before the change, or not at all. */
function createChanges({ db, clock, eventOutbox, ordersMax }: StandingOrdersDeps): Changes {
  const change = (
    partnerId: string,
    id: string,
    changed: (order: store.OrderRow, now: Date) => store.OrderRow,
  ): Promise<store.OrderRow> =>
    db.transaction(async (tx) => {
      const order = await store.lockOrder(tx, partnerId, id)
      if (order === undefined) throw notFound('standing order')
      const now = clock.now()
      const row = changed(order, now)
      if (row === order) return order
      if (row.status === 'Active') await requirePlace(tx, partnerId, ordersMax, '')
      if (order.retryUntil !== null) await store.skipRetrying(tx, partnerId, id, now)
      store.updateOrders(tx, [row])
      appendEnded(eventOutbox, tx, [row], now)
      return row
    })
  return {
    pause: (partnerId, id) =>
      change(partnerId, id, (order, now) => (requireOpen(order).status === 'Paused' ? order : paused(order, now))),
    resume: (partnerId, id) =>
      change(partnerId, id, (order, now) =>
        requireOpen(order).status === 'Active'
          ? order
          : active(order, occurrenceSince(scheduleOf(order), positionOf(order), now), now),
      ),
    cancel: (partnerId, id) =>
      change(partnerId, id, (order, now) =>
        order.endReason === 'Cancelled' ? order : ended(requireOpen(order), 'Cancelled', now),
      ),
  }
}

/**
 * Checks whether one more order may be active. Requests of a partner run one at a time from here to their commit. A
 * worker only ends orders, so that it needs no lock. Refuses: standing_order_limit_reached.
 */
async function requirePlace(tx: Tx, partnerId: string, max: number, pointer: string): Promise<void> {
  await store.lockTurn(tx, partnerId)
  if ((await store.countActive(tx, partnerId, max)) < max) return
  const message = `the partner has ${max} active standing orders`
  throw new Refusal('standing_order_limit_reached', undefined, {
    errors: [{ pointer, code: 'out_of_range', message }],
  })
}

/** Refuses: standing_order_ended. */
function requireOpen(order: store.OrderRow): store.OrderRow {
  if (order.endReason === null) return order
  throw new Refusal('standing_order_ended', `The standing order has ended: ${order.endReason}. Create a new one.`)
}
