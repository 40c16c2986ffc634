/** The operations of a partner on its subscriptions. */
import { type Static, webhooks as wire } from '@partner-payments/wire'
import { type Cursors, notFound, type Page, Refusal } from '../../api/index.ts'
import { type Clock, newId } from '../../kernel/index.ts'
import { type Database, inTransaction, type Tx } from '../../postgres/index.ts'
import * as endpointQueues from '../queue/store-endpoint-queues.ts'
import { readEvents, readText, readUrl, requireEvents, type UrlRules, warningsFor } from './rules.ts'
import { createSecretRotation } from './secret-rotation.ts'
import { type Secrets, shownOf } from './secrets.ts'
import * as recoveries from './store-recoveries.ts'
import * as store from './store-subscriptions.ts'
import { createSubscriptionUpdates } from './subscription-updates.ts'
import { createSubscriptionView, loadSubscription, type Subscription } from './subscription-view.ts'

export type SubscriptionsDeps = {
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
     * Returns the signing secret (`v1`), which is shown only here, or the public key (`v1a`). Refuses: validation_failed
     * (/url, /events), webhook_limit_reached.
     */
    create: async (partnerId: string, input: CreateInput, outerTx?: Tx) => {
      const now = clock.now()
      const row = newSubscription(input, urlRules, now)
      requireEvents(row)
      const key = await inTransaction(db, outerTx, async (tx) => {
        await store.ensurePartner(tx, partnerId)
        if (!(await store.countSubscription(tx, partnerId, wire.subscriptionsPerPartnerMax)))
          throw new Refusal(
            'webhook_limit_reached',
            `A partner has at most ${wire.subscriptionsPerPartnerMax} webhook subscriptions. Delete one first.`,
          )
        await store.insertSubscription(tx, partnerId, row)
        await endpointQueues.insertEndpointQueue(tx, partnerId, row.id)
        return secrets.add(tx, { partnerId, subscriptionId: row.id }, row.signature, now)
      })
      return { ...row, warnings: warningsFor(row), ...shownOf(key) }
    },

    list: async (partnerId: string, query: Static<typeof wire.SubscriptionQuery>): Promise<Page<Subscription>> => {
      const list = `${partnerId} subscriptions`
      const request = cursors.read(list, query)
      const rows = await store.listSubscriptions(db, partnerId, request.afterId, request.limit + 1)
      return cursors.page(list, request, await view.many(db, partnerId, rows))
    },

    /** Refuses: not_found. */
    get: async (partnerId: string, id: string): Promise<Subscription> =>
      view.one(db, partnerId, await loadSubscription(db, partnerId, id)),

    ...createSubscriptionUpdates({ db, clock, urlRules, view }),
    ...createSecretRotation({ db, clock, secrets }),

    /** Drops the undelivered deliveries, and deletes the secrets at once. Refuses: not_found. */
    remove: (partnerId: string, id: string): Promise<void> =>
      db.transaction(async (tx) => {
        const key = { partnerId, subscriptionId: id }
        const counted = await store.uncountSubscription(tx, partnerId)
        await endpointQueues.deleteEndpointQueue(tx, partnerId, id)
        if (!counted || !(await store.markDeleted(tx, partnerId, id, clock.now())))
          throw notFound('webhook subscription')
        await secrets.drop(tx, key)
        await recoveries.deleteRecoveries(tx, key)
      }),
  }
}

export type Subscriptions = ReturnType<typeof createSubscriptions>
