/** The verbs of a partner's subscriptions, as its routes use them. */
import { type Static, webhooks as wire } from '@partner-payments/wire'
import { type Clock, type Cursors, newId, notFound, type Page, Refusal, refuseField } from '../../kernel/index.ts'
import type { Database, Tx } from '../../postgres/index.ts'
import * as queue from './store-deliveries.ts'
import { readText, readUrl, statusesStored, statusSeen, type UrlRules, warningsFor } from './rules.ts'
import type { Secrets } from './secrets.ts'
import * as store from './store.ts'

export type Subscription = store.SubscriptionRow & { readonly warnings: readonly string[] }
export type Delivery = queue.DeliveryRow & { readonly attempts: readonly queue.AttemptRow[] }

export type SubscriptionsDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly secrets: Pick<Secrets, 'add'>
  readonly cursors: Cursors
  readonly urlRules: UrlRules
}

/** What one transaction makes due again: an endpoint that was away for days is owed more than one statement should touch. */
const makeDueRowsMax = 5000

const seen = (row: store.SubscriptionRow): Subscription => ({ ...row, warnings: warningsFor(row.events) })

export function createSubscriptions({ db, clock, secrets, cursors, urlRules }: SubscriptionsDeps) {
  const load = async (tx: Tx, partnerId: string, id: string) => {
    const row = await store.subscriptionById(tx, partnerId, id)
    if (row === undefined) throw notFound('webhook subscription')
    return row
  }

  const readEvents = (events: readonly string[]) => events.map((name, index) => readText(name, `/events/${index}`))

  return {
    /**
     * Answers the signing secret, this once. Refuses: validation_failed (/url), webhook_limit_reached.
     */
    create: async (partnerId: string, input: Static<typeof wire.SubscriptionCreate>) => {
      const row = {
        id: newId(),
        url: readUrl(input.url, urlRules),
        events: readEvents(input.events),
        description: input.description === undefined ? null : readText(input.description, '/description'),
        status: 'Enabled',
        createdAt: clock.now(),
      } as const
      const secret = await db.transaction(async (tx) => {
        await store.ensurePartner(tx, partnerId)
        if (!(await store.countSubscription(tx, partnerId, wire.subscriptionsPerPartnerMax)))
          throw new Refusal(
            'webhook_limit_reached',
            `A partner has ${wire.subscriptionsPerPartnerMax} endpoints at most.`,
          )
        await store.insertSubscription(tx, partnerId, row)
        await queue.insertLane(tx, partnerId, row.id)
        return secrets.add(tx, { partnerId, subscriptionId: row.id }, row.createdAt)
      })
      return { ...seen({ ...row, updatedAt: row.createdAt }), secret }
    },

    list: async (partnerId: string, query: Static<typeof wire.SubscriptionQuery>): Promise<Page<Subscription>> => {
      const list = `${partnerId} subscriptions`
      const request = cursors.read(list, query)
      const rows = await store.listSubscriptions(db, partnerId, request.afterId, request.limit + 1)
      return cursors.page(list, request, rows.map(seen))
    },

    /** Refuses: not_found. */
    get: async (partnerId: string, id: string): Promise<Subscription> => seen(await load(db, partnerId, id)),

    /**
     * What is given is set; a null description clears it. `status: Enabled` makes everything owed due again, from the
     * first step of the retry schedule, whether or not the subscription was disabled. Refuses: validation_failed, not_found.
     */
    update: async (
      partnerId: string,
      id: string,
      input: Static<typeof wire.SubscriptionUpdate>,
    ): Promise<Subscription> => {
      const { url, events, description, status } = input
      if ([url, events, description, status].every((field) => field === undefined))
        throw refuseField({ pointer: '', code: 'required', message: 'at least one field is required' })
      const changes = {
        ...(url === undefined ? {} : { url: readUrl(url, urlRules) }),
        ...(events === undefined ? {} : { events: readEvents(events) }),
        ...(description === undefined
          ? {}
          : { description: description === null ? null : readText(description, '/description') }),
        ...(status === undefined ? {} : { status }),
      }
      const row = await db.transaction(async (tx) => {
        const now = clock.now()
        if (status === 'Enabled') await queue.restartLane(tx, partnerId, id, now)
        else await queue.wakeLane(tx, partnerId, id, now)
        const before = await store.lockSubscription(tx, partnerId, id)
        if (before === undefined) throw notFound('webhook subscription')
        const after = { ...before, ...changes, updatedAt: now }
        await store.updateSubscription(tx, partnerId, after)
        return after
      })
      // In steps of their own: each is complete by itself, and a repeated call goes on where this one was cut off.
      if (status === 'Enabled') while ((await makeDue(partnerId, id)) === makeDueRowsMax);
      return seen(row)
    },

    /** What it is still owed is dropped. Refuses: not_found. */
    remove: (partnerId: string, id: string): Promise<void> =>
      db.transaction(async (tx) => {
        const counted = await store.uncountSubscription(tx, partnerId)
        await queue.deleteLane(tx, partnerId, id)
        if (!counted || !(await store.markDeleted(tx, partnerId, id, clock.now())))
          throw notFound('webhook subscription')
      }),

    /** Refuses: not_found. */
    deliveries: async (
      partnerId: string,
      id: string,
      query: Static<typeof wire.DeliveryQuery>,
    ): Promise<Page<Delivery>> => {
      const { status } = await load(db, partnerId, id)
      const list = `${partnerId} deliveries of ${id}`
      const request = cursors.read(list, query)
      const wanted = query.status === undefined ? wire.deliveryStatuses : statusesStored(query.status, status)
      const key = { partnerId, subscriptionId: id }
      const rows = await queue.listDeliveries(db, key, wanted, request.afterId, request.limit + 1)
      const page = cursors.page(list, request, rows)
      const attempts = Map.groupBy(
        await queue.attemptsOf(
          db,
          key,
          page.data.map((row) => row.id),
        ),
        (attempt) => attempt.deliveryId,
      )
      const data = page.data.map((row) => {
        const statusNow = statusSeen(row.status, status)
        const nextAttemptAt = statusNow === 'Pending' ? row.nextAttemptAt : null
        return { ...row, status: statusNow, nextAttemptAt, attempts: attempts.get(row.id) ?? [] }
      })
      return { ...page, data }
    },
  }

  function makeDue(partnerId: string, subscriptionId: string): Promise<number> {
    return db.transaction(async (tx) => {
      const now = clock.now()
      if (!(await queue.wakeLane(tx, partnerId, subscriptionId, now))) return 0
      return queue.makeDue(tx, { partnerId, subscriptionId }, now, makeDueRowsMax)
    })
  }
}

export type Subscriptions = ReturnType<typeof createSubscriptions>
