/** The verbs of a partner's subscriptions, as its routes use them. */
import { type Static, webhooks as wire } from '@partner-payments/wire'
import { type Cursors, notFound, type Page, Refusal, refuseField } from '../../api/index.ts'
import { after, type Clock, newId, secondMs } from '../../kernel/index.ts'
import type { Database, Tx } from '../../postgres/index.ts'
import { readEvents, readText, readUrl, type SubscriptionStatus, type UrlRules, warningsFor } from './rules.ts'
import { type Secrets, shownOf } from './secrets.ts'
import * as queue from '../queue/store-endpoint-queues.ts'
import * as requeue from '../queue/store-requeue.ts'
import * as recoveries from './store-recoveries.ts'
import * as store from './store-subscriptions.ts'

export type Subscription = store.SubscriptionRow & {
  /** Of `v1a` only. */
  readonly publicKey?: string
  readonly warnings: readonly string[]
}

export type SubscriptionsDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly cursors: Cursors
  readonly secrets: Secrets
  readonly urlRules: UrlRules
}

/** What one transaction makes due again: an endpoint that was away for days is owed more than one statement should touch. */
const makeDueRowsMax = 5000

export async function loadSubscription(tx: Tx, partnerId: string, id: string): Promise<store.SubscriptionRow> {
  const row = await store.subscriptionById(tx, partnerId, id)
  if (row === undefined) throw notFound('webhook subscription')
  return row
}

/** What a change of the status writes beside it. */
function statusChange(status: SubscriptionStatus | undefined, before: store.SubscriptionRow, now: Date) {
  if (status === undefined || (status === 'Disabled' && before.status === 'Disabled')) return {}
  return status === 'Enabled'
    ? { status, disabledReason: null, disabledAt: null }
    : ({ status, disabledReason: 'Partner', disabledAt: now } as const)
}

export function createSubscriptions({ db, clock, cursors, secrets, urlRules }: SubscriptionsDeps) {
  const seen = async (tx: Tx, partnerId: string, rows: readonly store.SubscriptionRow[]): Promise<Subscription[]> => {
    const signing = rows.filter((row) => row.signature === 'v1a')
    const keys = signing.map((row) => ({ partnerId, subscriptionId: row.id }))
    const publicKeys = await secrets.publicKeys(tx, keys, clock.now())
    return rows.map((row) => {
      const publicKey = publicKeys.get(row.id)
      return { ...row, warnings: warningsFor(row.events), ...(publicKey === undefined ? {} : { publicKey }) }
    })
  }
  const seenOne = async (tx: Tx, partnerId: string, row: store.SubscriptionRow): Promise<Subscription> =>
    (await seen(tx, partnerId, [row]))[0] as Subscription

  const makeDue = (partnerId: string, subscriptionId: string): Promise<number> =>
    db.transaction(async (tx) => {
      const now = clock.now()
      if (!(await queue.wakeEndpointQueue(tx, partnerId, subscriptionId, now))) return 0
      return requeue.makeDue(tx, { partnerId, subscriptionId }, now, makeDueRowsMax)
    })

  /** What is given is set. The partner's row is locked before the endpoint queue's, and that before the subscription's, as everywhere. */
  const change = (partnerId: string, id: string, input: Static<typeof wire.SubscriptionUpdate>) => {
    const { url, events, description, ordered } = input
    const changes = {
      ...(url === undefined ? {} : { url: readUrl(url, urlRules) }),
      ...(events === undefined ? {} : { events: readEvents(events) }),
      ...(description === undefined
        ? {}
        : { description: description === null ? null : readText(description, '/description') }),
      ...(ordered === undefined ? {} : { ordered }),
    }
    return db.transaction(async (tx) => {
      const now = clock.now()
      // No fan-out is under way that has read the other rule, and puts rows into the queue by it.
      if (ordered !== undefined) await store.lockPartnerRow(tx, partnerId)
      await queue.wakeEndpointQueue(tx, partnerId, id, now)
      const before = await store.lockSubscription(tx, partnerId, id)
      if (before === undefined) throw notFound('webhook subscription')
      const row = { ...before, ...changes, ...statusChange(input.status, before, now), updatedAt: now }
      // What the endpoint of before did is not held against another one.
      if (input.status === 'Enabled' || row.url !== before.url) await queue.restartEndpointQueue(tx, partnerId, id, now)
      await store.updateSubscription(tx, partnerId, row, newId())
      return seenOne(tx, partnerId, row)
    })
  }

  const update = async (
    partnerId: string,
    id: string,
    input: Static<typeof wire.SubscriptionUpdate>,
  ): Promise<Subscription> => {
    if (Object.values(input).every((field) => field === undefined))
      throw refuseField({ pointer: '', code: 'required', message: 'at least one field is required' })
    const row = await change(partnerId, id, input)
    // In steps of their own: each is complete by itself, and a repeated call goes on where this one was cut off.
    if (input.status === 'Enabled') while ((await makeDue(partnerId, id)) === makeDueRowsMax);
    return row
  }

  return {
    /**
     * Answers the signing secret (`v1`), this once, or the public key (`v1a`). Refuses: validation_failed (/url,
     * /events), webhook_limit_reached.
     */
    create: async (partnerId: string, input: Static<typeof wire.SubscriptionCreate>) => {
      const now = clock.now()
      const row: store.SubscriptionRow = {
        id: newId(),
        url: readUrl(input.url, urlRules),
        events: readEvents(input.events),
        description: input.description === undefined ? null : readText(input.description, '/description'),
        apiVersion: 2,
        ordered: input.ordered ?? false,
        signature: input.signature ?? 'v1',
        status: 'Enabled',
        disabledReason: null,
        disabledAt: null,
        createdAt: now,
        updatedAt: now,
      }
      const key = await db.transaction(async (tx) => {
        await store.ensurePartner(tx, partnerId)
        if (!(await store.countSubscription(tx, partnerId, wire.subscriptionsPerPartnerMax)))
          throw new Refusal(
            'webhook_limit_reached',
            `A partner has ${wire.subscriptionsPerPartnerMax} endpoints at most.`,
          )
        await store.insertSubscription(tx, partnerId, row)
        await queue.insertEndpointQueue(tx, partnerId, row.id)
        return secrets.add(tx, { partnerId, subscriptionId: row.id }, row.signature, now)
      })
      return { ...row, warnings: warningsFor(row.events), ...shownOf(key) }
    },

    list: async (partnerId: string, query: Static<typeof wire.SubscriptionQuery>): Promise<Page<Subscription>> => {
      const list = `${partnerId} subscriptions`
      const request = cursors.read(list, query)
      const rows = await store.listSubscriptions(db, partnerId, request.afterId, request.limit + 1)
      return cursors.page(list, request, await seen(db, partnerId, rows))
    },

    /** Refuses: not_found. */
    get: async (partnerId: string, id: string): Promise<Subscription> =>
      seenOne(db, partnerId, await loadSubscription(db, partnerId, id)),

    /**
     * What is given is set; a null description clears it. `status: Enabled` makes everything owed due again, from the
     * first step of the retry schedule, whether or not the subscription was disabled, and few at once to begin with.
     * Refuses: validation_failed, not_found.
     */
    update,

    /** The same as an update to `Enabled`. Refuses: not_found. */
    enable: (partnerId: string, id: string): Promise<Subscription> => update(partnerId, id, { status: 'Enabled' }),

    /**
     * A new secret signs from now on; those before it sign as well for the overlap. Two rotations at once are two
     * rotations, and both secrets sign. Refuses: not_found, webhook_secret_limit_reached.
     */
    rotateSecret: (partnerId: string, id: string, input: Static<typeof wire.SecretRotate> = {}) =>
      db.transaction(async (tx) => {
        const now = clock.now()
        // Whoever holds the endpoint queue hears of it and reads the keys again, however much it has in memory.
        await queue.wakeEndpointQueue(tx, partnerId, id, now)
        const row = await store.lockSubscription(tx, partnerId, id)
        if (row === undefined) throw notFound('webhook subscription')
        const overlapUntil = after(now, (input.overlapSeconds ?? wire.overlapSecondsDefault) * secondMs)
        const signature = input.signature ?? row.signature
        const rotation = { kind: signature, endsAt: overlapUntil, now }
        const key = await secrets.rotate(tx, { partnerId, subscriptionId: id }, rotation)
        if (key === undefined)
          throw new Refusal(
            'webhook_secret_limit_reached',
            `${wire.activeSecretsMax} secrets sign at once at most: wait until one ends, or rotate with overlapSeconds 0.`,
          )
        await store.updateSubscription(tx, partnerId, { ...row, signature, updatedAt: now }, newId())
        return { id, signature, createdAt: now, overlapUntil, ...shownOf(key) }
      }),

    /** What it is still owed is dropped; its secrets are gone at once. Refuses: not_found. */
    remove: (partnerId: string, id: string): Promise<void> =>
      db.transaction(async (tx) => {
        const key = { partnerId, subscriptionId: id }
        const counted = await store.uncountSubscription(tx, partnerId)
        await queue.deleteEndpointQueue(tx, partnerId, id)
        if (!counted || !(await store.markDeleted(tx, partnerId, id, clock.now())))
          throw notFound('webhook subscription')
        await secrets.drop(tx, key)
        await recoveries.deleteRecoveries(tx, key)
      }),
  }
}

export type Subscriptions = ReturnType<typeof createSubscriptions>
