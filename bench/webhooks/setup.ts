/** Sets up a service database with partners and subscriptions to the bench's endpoints. Commits events by the event outbox. */
import { createFactQueue } from '../../service/src/inbox/index.ts'
import { setTimeout as sleep } from 'node:timers/promises'
import { createAccess } from '../../service/src/access/index.ts'
import { readConfig } from '../../service/src/app/config.ts'
import { createCursors } from '../../service/src/kernel/api/index.ts'
import { createLog, createSealer, deriveKey, systemClock } from '../../service/src/kernel/index.ts'
import { createEventOutbox } from '../../service/src/events/index.ts'
import { createDatabase, type Database } from '../../service/src/postgres/index.ts'
import { createDeliveryEngine, createEndpointAlerts } from '../../service/src/webhooks/index.ts'
import { createMailQueue } from '../../service/src/mail/index.ts'
import { serviceEnv } from '../children.ts'
import { dataOf, eventType, newReference } from './events.ts'
import type { Endpoints } from './receivers.ts'

export type Subscription = {
  readonly endpoint: number
  readonly partnerId: string
  readonly subscriptionId: string
  readonly secret: string
  readonly healthy: boolean
}
export type Setup = {
  readonly databaseUrl: string
  readonly endpoints: Endpoints
  /** Endpoints in their order, grouped by partner. */
  readonly subscriptions: readonly Subscription[]
  readonly partnerIds: readonly string[]
  readonly committed: Map<string, number>
  /** Commits events in one transaction. Returns their references, and when the commit was sent. */
  readonly commit: (events: number) => Promise<{ readonly references: readonly string[]; readonly atMs: number }>
  /** Deliveries to healthy endpoints that the next `events` events cause. Partners get events in turn. */
  readonly healthyDeliveries: (events: number) => number
  readonly close: () => Promise<void>
}

const eventsPerStatement = 2000
/** A clock that all processes of a machine share. */
export const nowMs = () => Number(process.hrtime.bigint()) / 1e6

export type SetupOptions = {
  readonly databaseUrl: string
  readonly dataDir: string
  readonly endpoints: Endpoints
  /** Consecutive endpoints of each partner. */
  readonly perPartner: number
  /** Only this many partners get new events. */
  readonly active?: number
  /** Existing partners. Default: new ones. */
  readonly partnerIds?: readonly string[]
}

export async function createSetup(options: SetupOptions): Promise<Setup> {
  const { databaseUrl, dataDir, endpoints } = options
  const config = readConfig({}, serviceEnv(databaseUrl, dataDir))
  const db = createDatabase({ url: databaseUrl, connectionsMax: 6, log: createLog(config.LOG_LEVEL) })
  const subscriptions = await subscribe(db, config, options)
  const partnerIds = [...new Set(subscriptions.map(({ partnerId }) => partnerId))]
  const active = options.active ?? partnerIds.length
  const committed = new Map<string, number>()
  const eventOutbox = createEventOutbox()
  const healthy = partnerIds.map(
    (partnerId) => subscriptions.filter((each) => each.partnerId === partnerId && each.healthy).length,
  )
  let last = 0
  return {
    databaseUrl,
    endpoints,
    subscriptions,
    partnerIds,
    committed,
    healthyDeliveries: (events) =>
      Array.from({ length: events }, (_, at) => healthy[(last + at) % active] ?? 0).reduce(add, 0),
    commit: async (count) => {
      const occurredAt = systemClock.now()
      const events = Array.from({ length: count }, () => {
        const partnerId = partnerIds[last++ % active] ?? ''
        return { partnerId, type: eventType, occurredAt, data: dataOf(newReference()) } as const
      })
      const atMs = await db.transaction((tx) => {
        for (let at = 0; at < count; at += eventsPerStatement)
          eventOutbox.appendMany(tx, events.slice(at, at + eventsPerStatement))
        return Promise.resolve(nowMs())
      })
      for (const { partnerId } of events) committed.set(partnerId, (committed.get(partnerId) ?? 0) + 1)
      return { references: events.map(({ data }) => data.reference), atMs }
    },
    close: db.close,
  }
}

const add = (sum: number, value: number) => sum + value

/** Creates subscriptions like the API does. */
async function subscribe(
  db: Database,
  config: ReturnType<typeof readConfig>,
  { endpoints, perPartner, partnerIds }: SetupOptions,
): Promise<readonly Subscription[]> {
  const [masterKey] = config.MASTER_KEY
  if (masterKey === undefined) throw new Error('MASTER_KEY is missing')
  const sealer = createSealer(config.MASTER_KEY)
  const access = createAccess({ db, clock: systemClock, sealer })
  const webhooks = createDeliveryEngine({
    db,
    clock: systemClock,
    sealer,
    cursors: createCursors(deriveKey(masterKey, 'cursors')),
    eventOutbox: createEventOutbox(),
    urlRules: { allowHttpLoopback: true },
    alerts: createEndpointAlerts({
      mail: createMailQueue({ clock: systemClock, sealer }),
      facts: createFactQueue({ clock: systemClock }),
      invitedWithRoles: async () => [],
    }),
  })
  const subscriptions: Subscription[] = []
  let partnerId = ''
  for (const [endpoint, url] of endpoints.urls.entries()) {
    if (endpoint % perPartner === 0)
      partnerId =
        partnerIds?.[endpoint / perPartner] ??
        (await db.transaction((tx) => access.createPartner(tx, `Bench ${endpoint}`)))
    const { id, secret } = await webhooks.create(partnerId, { url, events: [eventType] })
    if (secret === undefined) throw new Error('a v1 subscription has a secret')
    subscriptions.push({ endpoint, partnerId, subscriptionId: id, secret, healthy: endpoints.kinds[endpoint] === 'ok' })
  }
  return subscriptions
}

const waitMsMax = 180_000
export async function until(name: string, condition: () => Promise<boolean>, everyMs = 25): Promise<void> {
  const begun = performance.now()
  while (!(await condition())) {
    if (performance.now() - begun > waitMsMax) throw new Error(`${name}: not within ${waitMsMax / 1000} s`)
    await sleep(everyMs)
  }
}
