/** Changes a subscription, and makes its deliveries due again when it is enabled. */
import type { Static, webhooks as wire } from '@partner-payments/wire'
import { notFound, refuseField } from '../../api/index.ts'
import { type Clock, newId } from '../../kernel/index.ts'
import type { Database } from '../../postgres/index.ts'
import * as endpointQueues from '../queue/store-endpoint-queues.ts'
import * as requeue from '../queue/store-requeue.ts'
import { readEvents, readText, readUrl, requireEvents, type SubscriptionStatus, type UrlRules } from './rules.ts'
import * as store from './store-subscriptions.ts'
import type { Subscription, SubscriptionView } from './subscription-view.ts'

type Deps = {
  readonly db: Database
  readonly clock: Clock
  readonly urlRules: UrlRules
  readonly view: SubscriptionView
}
type Input = Static<typeof wire.SubscriptionUpdate>
type Changes = Partial<Pick<store.SubscriptionRow, 'url' | 'events' | 'extensionEvents' | 'description' | 'ordered'>>

/** Rows that one transaction makes due. An endpoint that was disabled for days can have far more. */
const makeDueRowsMax = 5000

/** Only fields that are present change. Refuses: validation_failed. */
function readChanges({ url, events, extensionEvents, description, ordered }: Input, urlRules: UrlRules): Changes {
  const changes: { -readonly [K in keyof Changes]: Changes[K] } = {}
  if (url !== undefined) changes.url = readUrl(url, urlRules)
  if (events !== undefined) changes.events = readEvents('events', events)
  if (extensionEvents !== undefined) changes.extensionEvents = readEvents('extensionEvents', extensionEvents)
  if (description === null) changes.description = null
  else if (description !== undefined) changes.description = readText(description, '/description')
  if (ordered !== undefined) changes.ordered = ordered
  return changes
}

/** A change of the status also sets the reason and the time. A disabled subscription keeps both when disabled again. */
function statusChanges(status: SubscriptionStatus | undefined, before: store.SubscriptionRow, now: Date) {
  if (status === undefined || (status === 'Disabled' && before.status === 'Disabled')) return {}
  return status === 'Enabled'
    ? { status, disabledReason: null, disabledAt: null }
    : ({ status, disabledReason: 'Partner', disabledAt: now } as const)
}

export function createSubscriptionUpdates({ db, clock, urlRules, view }: Deps) {
  const makeDue = (partnerId: string, subscriptionId: string): Promise<number> =>
    db.transaction(async (tx) => {
      const now = clock.now()
      if (!(await endpointQueues.wakeEndpointQueue(tx, partnerId, subscriptionId, now))) return 0
      return requeue.makeDue(tx, { partnerId, subscriptionId }, now, makeDueRowsMax)
    })

  /** Locks the rows of the partner, the endpoint queue and the subscription in this order, like all other transactions. */
  const change = (partnerId: string, id: string, input: Input): Promise<Subscription> => {
    const changes = readChanges(input, urlRules)
    return db.transaction(async (tx) => {
      const now = clock.now()
      // Waits for a fan-out that has read the old value of `ordered` and inserts rows by it.
      if (input.ordered !== undefined) await store.lockPartnerRow(tx, partnerId)
      await endpointQueues.wakeEndpointQueue(tx, partnerId, id, now)
      const before = await store.lockSubscription(tx, partnerId, id)
      if (before === undefined) throw notFound('webhook subscription')
      const row = { ...before, ...changes, ...statusChanges(input.status, before, now), updatedAt: now }
      requireEvents(row)
      // The failures of the previous URL do not count against a new one.
      if (input.status === 'Enabled' || row.url !== before.url)
        await endpointQueues.restartEndpointQueue(tx, partnerId, id, now)
      await store.updateSubscription(tx, partnerId, row, newId())
      return view.one(tx, partnerId, row)
    })
  }

  /**
   * Sets the fields that are present; a null description clears it. `status: Enabled` makes every undelivered delivery due
   * from the first step of the retry schedule, with slow start, even if the subscription was enabled before.
   * Refuses: validation_failed, not_found.
   */
  const update = async (partnerId: string, id: string, input: Input): Promise<Subscription> => {
    if (Object.values(input).every((field) => field === undefined))
      throw refuseField({
        pointer: '',
        code: 'required',
        message: 'must have at least one of url, events, extensionEvents, description, ordered and status',
      })
    const subscription = await change(partnerId, id, input)
    // Each batch is a transaction of its own. A repeated call continues where an interrupted one stopped.
    if (input.status === 'Enabled') while ((await makeDue(partnerId, id)) === makeDueRowsMax);
    return subscription
  }

  return {
    update,

    /** Enables a subscription, as an update to `Enabled` does. Refuses: not_found. */
    enable: (partnerId: string, id: string): Promise<Subscription> => update(partnerId, id, { status: 'Enabled' }),
  }
}
