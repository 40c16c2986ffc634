/** The operations of a partner on its subscriptions. */
import { type Static, webhooks as wire } from '@partner-payments/wire'
import { type Cursors, notFound, type Page, Refusal, refuseField } from '../../kernel/api/index.ts'
import { after, type Clock, newId, secondMs } from '../../kernel/index.ts'
import { type Database, inTransaction, type Tx } from '../../postgres/index.ts'
import * as endpointQueues from '../queue/store-endpoint-queues.ts'
import {
  readEvents,
  readText,
  readUrl,
  requireEvents,
  type SubscriptionStatus,
  type UrlRules,
  warningsFor,
} from './rules.ts'
import { type Secrets, newKeyFields } from './secrets.ts'
import * as recoveries from './store-history.ts'
import * as store from './store-subscriptions.ts'
import * as requeue from '../queue/store-queue.ts'

type SubscriptionsDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly cursors: Cursors
  readonly secrets: Secrets
  readonly urlRules: UrlRules
}
type CreateInput = Static<typeof wire.SubscriptionCreate>

const newSubscription = (input: CreateInput, urlRules: UrlRules, now: Date): store.SubscriptionRow => ({
  id: newId(),
  url: readUrl(input.url, urlRules),
  events: readEvents('events', input.events ?? [wire.allEvents]),
  extensionEvents: readEvents('extensionEvents', input.extensionEvents ?? []),
  description: input.description === undefined ? null : readText(input.description, '/description'),
  apiVersion: 2,
  ordered: input.ordered ?? false,
  signature: input.signature ?? 'v1',
  status: 'Enabled',
  disabledReason: null,
  disabledAt: null,
  createdAt: now,
  updatedAt: now,
})

export function createSubscriptions(deps: SubscriptionsDeps) {
  const { db, clock, cursors, secrets, urlRules } = deps
  const view = createSubscriptionView(clock, secrets)
  return {
    /**
     * Creates a subscription. Returns the signing secret (`v1`), which no other operation shows, or the public key (`v1a`).
     * Refuses: validation_failed (/url, /events), webhook_limit_reached.
     */
    create: async (partnerId: string, input: CreateInput, outerTx?: Tx) => {
      const now = clock.now()
      const row = newSubscription(input, urlRules, now)
      requireEvents(row)
      const key = await inTransaction(db, outerTx, async (tx) => {
        await store.ensurePartner(tx, partnerId)
        if (!(await store.incrementSubscriptionCount(tx, partnerId, wire.subscriptionsPerPartnerMax)))
          throw new Refusal(
            'webhook_limit_reached',
            `A partner has at most ${wire.subscriptionsPerPartnerMax} webhook subscriptions. Delete one first.`,
          )
        await store.insertSubscription(tx, partnerId, row)
        await endpointQueues.insertEndpointQueue(tx, partnerId, row.id)
        return secrets.add(tx, { partnerId, subscriptionId: row.id }, row.signature, now)
      })
      return { ...row, warnings: warningsFor(row), ...newKeyFields(key) }
    },

    list: async (partnerId: string, query: Static<typeof wire.SubscriptionQuery>): Promise<Page<Subscription>> => {
      const list = `${partnerId} subscriptions`
      const request = cursors.read(list, query)
      const rows = await store.listSubscriptions(db, partnerId, request.afterId, request.limit + 1)
      return cursors.page(list, request, await view.many(db, partnerId, rows))
    },

    /** Reads a subscription. Refuses: not_found. */
    get: async (partnerId: string, id: string): Promise<Subscription> =>
      view.one(db, partnerId, await loadSubscription(db, partnerId, id)),

    ...createSubscriptionUpdates({ db, clock, urlRules, view }),
    ...createSecretRotation({ db, clock, secrets }),

    /** Deletes a subscription with its secrets and its undelivered deliveries. Refuses: not_found. */
    remove: (partnerId: string, id: string): Promise<void> =>
      db.transaction(async (tx) => {
        const key = { partnerId, subscriptionId: id }
        const counted = await store.decrementSubscriptionCount(tx, partnerId)
        await endpointQueues.deleteEndpointQueue(tx, partnerId, id)
        if (!counted || !(await store.markDeleted(tx, partnerId, id, clock.now())))
          throw notFound('webhook subscription')
        await secrets.drop(tx, key)
        await recoveries.deleteRecoveries(tx, key)
      }),
  }
}

export type Subscriptions = ReturnType<typeof createSubscriptions>

// Rotates the signing secret of a subscription.

function createSecretRotation({ db, clock, secrets }: Pick<SubscriptionsDeps, 'db' | 'clock' | 'secrets'>) {
  return {
    /**
     * Issues a new secret. The previous secrets also sign until the overlap ends. Two concurrent rotations issue two
     * secrets, and both sign. Refuses: not_found, webhook_secret_limit_reached.
     */
    rotateSecret: (partnerId: string, id: string, input: Static<typeof wire.SecretRotate> = {}, outerTx?: Tx) =>
      inTransaction(db, outerTx, async (tx) => {
        const now = clock.now()
        // The worker that holds the endpoint queue reads the keys again.
        await endpointQueues.wakeEndpointQueue(tx, partnerId, id, now)
        const row = await store.lockSubscription(tx, partnerId, id)
        if (row === undefined) throw notFound('webhook subscription')
        const overlapUntil = after(now, (input.overlapSeconds ?? wire.overlapSecondsDefault) * secondMs)
        const signature = input.signature ?? row.signature
        const rotation = { kind: signature, endsAt: overlapUntil, now }
        const key = await secrets.rotate(tx, { partnerId, subscriptionId: id }, rotation)
        if (key === undefined)
          throw new Refusal(
            'webhook_secret_limit_reached',
            `A subscription has at most ${wire.activeSecretsMax} valid secrets. ` +
              'Wait until one expires, or rotate with overlapSeconds 0.',
          )
        await store.updateSubscription(tx, partnerId, { ...row, signature, updatedAt: now }, newId())
        return { id, signature, createdAt: now, overlapUntil, ...newKeyFields(key) }
      }),
  }
}

// Changes a subscription, and makes its deliveries due again when it is enabled.

type SubscriptionUpdateDeps = Pick<SubscriptionsDeps, 'db' | 'clock' | 'urlRules'> & { readonly view: SubscriptionView }
type Input = Static<typeof wire.SubscriptionUpdate>
type Changes = Partial<Pick<store.SubscriptionRow, 'url' | 'events' | 'extensionEvents' | 'description' | 'ordered'>>

/** Rows that one transaction makes due. An endpoint that was disabled for days can have far more. */
const makeDueRowsMax = 5000

/** Reads the changes: only present fields change. Refuses: validation_failed. */
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

/** Sets the status with its reason and time. A subscription that is already disabled keeps both. */
function statusChanges(status: SubscriptionStatus | undefined, before: store.SubscriptionRow, now: Date) {
  if (status === undefined || (status === 'Disabled' && before.status === 'Disabled')) return {}
  return status === 'Enabled'
    ? { status, disabledReason: null, disabledAt: null }
    : ({ status, disabledReason: 'Partner', disabledAt: now } as const)
}

function createSubscriptionUpdates({ db, clock, urlRules, view }: SubscriptionUpdateDeps) {
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

// Loads subscriptions and adds the fields that are computed for the partner.

export type Subscription = store.SubscriptionRow & {
  /** Present if the signature is `v1a`. */
  readonly publicKey?: string
  readonly warnings: readonly string[]
}

/** Reads a subscription. Refuses: not_found. */
export async function loadSubscription(tx: Tx, partnerId: string, id: string): Promise<store.SubscriptionRow> {
  const row = await store.subscriptionById(tx, partnerId, id)
  if (row === undefined) throw notFound('webhook subscription')
  return row
}

type SubscriptionView = {
  readonly one: (tx: Tx, partnerId: string, row: store.SubscriptionRow) => Promise<Subscription>
  readonly many: (tx: Tx, partnerId: string, rows: readonly store.SubscriptionRow[]) => Promise<Subscription[]>
}

/** Requires `overlapSeconds` 0, because the unreadable key would otherwise remain active during the overlap. */
const unreadableKeyWarning =
  'The signing key cannot be decrypted, so deliveries wait. Rotate the secret with `overlapSeconds` 0.'

function createSubscriptionView(clock: Clock, secrets: Secrets): SubscriptionView {
  const many: SubscriptionView['many'] = async (tx, partnerId, rows) => {
    const keys = rows.filter((row) => row.signature === 'v1a').map((row) => ({ partnerId, subscriptionId: row.id }))
    const { found, unreadable } = await secrets.publicKeys(tx, keys, clock.now())
    return rows.map((row) => {
      const publicKey = found.get(row.id)
      const warnings = [...warningsFor(row), ...(unreadable.has(row.id) ? [unreadableKeyWarning] : [])]
      const subscription = { ...row, warnings }
      return publicKey === undefined ? subscription : { ...subscription, publicKey }
    })
  }
  return {
    many,
    one: async (tx, partnerId, row) => (await many(tx, partnerId, [row]))[0] as Subscription,
  }
}
