/** The delivery engine on a test database, test events, and endpoints on loopback that record requests. */
import { createFactQueue } from '../../service/src/inbox/index.ts'
import assert from 'node:assert/strict'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createCursors } from '../../service/src/kernel/api/index.ts'
import { createManualClock } from './clock.ts'
import { type Clock, createLog, createSealer, newId, randomBytes } from '../../service/src/kernel/index.ts'
import { createEventOutbox, type EventOutbox } from '../../service/src/events/index.ts'
import { createDatabase, sql, type Tx } from '../../service/src/postgres/index.ts'
import {
  createDeliveryEngine,
  createEndpointAlerts,
  type DeliveryEngineDeps,
} from '../../service/src/webhooks/index.ts'
import { createAudit } from '../../service/src/audit/index.ts'
import { createIdempotency } from '../../service/src/idempotency/index.ts'
import { createMailQueue } from '../../service/src/mail/index.ts'
import { createTestDatabase } from './postgres.ts'
import { reconcile } from './reconcile.ts'
import { checkSharding, testsSharded } from './sharded.ts'

export const statusChanged = 'transaction.status.changed'

export type HooksOptions = Partial<Pick<DeliveryEngineDeps, 'retryDelaysMs' | 'urlRules' | 'limits'>> & {
  readonly sharded?: boolean
  /** An existing database. Default: a new one. */
  readonly url?: string
  readonly key?: Uint8Array
  readonly now?: Date
  /** Default: a manual clock. */
  readonly clock?: Clock
  readonly queryTimeoutMs?: number
  /** Stands around the event outbox, for example to delay one of its reads. */
  readonly aroundEventOutbox?: (eventOutbox: EventOutbox) => EventOutbox
}

/** Appends one event per status, in order, with the same reference. */
function appendEvents(
  eventOutbox: EventOutbox,
  tx: Tx,
  event: { readonly partnerId: string; readonly reference: string; readonly occurredAt: Date },
  statuses: readonly string[],
): void {
  const { partnerId, reference, occurredAt } = event
  for (const status of statuses.length > 0 ? statuses : ['Completed'])
    eventOutbox.append(tx, partnerId, statusChanged, occurredAt, {
      amount: 10,
      currency: 'EUR',
      customFields: null,
      idempotencyKey: null,
      reference,
      websiteReference: null,
      customerGuid: null,
      originatingTransactionReference: null,
      partnerGuid: partnerId,
      status,
      transactionHash: null,
      transactionType: 'PartnerWithdraw',
    })
}

export async function createHooks(options: HooksOptions = {}) {
  const { url: existingUrl, key = randomBytes(32), now = new Date(), clock: realClock, ...rest } = options
  const {
    queryTimeoutMs: ms,
    sharded = testsSharded,
    aroundEventOutbox = (eventOutbox: EventOutbox) => eventOutbox,
    ...rules
  } = rest
  const testDatabase = existingUrl === undefined ? await createTestDatabase() : undefined
  const url = testDatabase?.url ?? existingUrl ?? ''
  const log = createLog('silent')
  const timeouts = ms === undefined ? {} : { queryTimeoutMs: ms, connectTimeoutMs: ms, idleInTransactionMsMax: ms }
  const plain = createDatabase({ url, connectionsMax: 8, log, sharded, ...timeouts })
  const { db, verify } = sharded ? checkSharding(plain) : { db: plain, verify: async () => undefined }
  const manualClock = createManualClock(now)
  const clock = { ...manualClock, now: () => (realClock ?? manualClock).now() }
  const eventOutbox = aroundEventOutbox(createEventOutbox())
  const sealer = createSealer([key])
  const alerts = createEndpointAlerts({
    mail: createMailQueue({ clock, sealer }),
    facts: createFactQueue({ clock }),
    invitedWithRoles: async () => [{ fullName: 'Ada Lovelace', email: 'ada@example.com' }],
  })
  const cursors = createCursors(key)
  const idempotency = createIdempotency({ db, clock, sealer, audit: createAudit({ db, clock, cursors, sealer }) })
  const urlRules = { allowHttpLoopback: true }
  const webhooks = createDeliveryEngine({ db, clock, eventOutbox, sealer, alerts, cursors, urlRules, ...rules })

  const addPartner = async () => {
    const id = newId()
    await db.run(sql`insert into access.partners (id, name, created_at) values (${id}, 'Test', ${clock.now()})`)
    return id
  }
  const emitIn = (tx: Tx, partnerId: string, reference: string, ...statuses: readonly string[]) =>
    appendEvents(eventOutbox, tx, { partnerId, reference, occurredAt: clock.now() }, statuses)
  /** Commits the events in one transaction. */
  const emit = (partnerId: string, reference: string, ...statuses: readonly string[]) =>
    db.transaction(async (tx) => emitIn(tx, partnerId, reference, ...statuses))
  /** Returns how many events it fanned out. */
  const fanOut = async (partnerId: string, eventsMax = 1000) =>
    (await db.transaction((tx) => webhooks.fanOut(tx, [partnerId], eventsMax))).events
  const close = async () => {
    try {
      await verify()
    } finally {
      await db.close()
    }
    await testDatabase?.drop()
  }
  return {
    url,
    key,
    db,
    clock,
    log,
    eventOutbox,
    alerts,
    webhooks,
    idempotency,
    addPartner,
    emit,
    emitIn,
    fanOut,
    close,
  }
}

export type Hooks = Awaited<ReturnType<typeof createHooks>>

/** The reconciled counts of one subscription. Fails unless `owed` is the sum of the others. */
export async function reconciledCounts(
  { db }: Pick<Hooks, 'db'>,
  { partnerId, subscriptionId }: { readonly partnerId: string; readonly subscriptionId: string },
) {
  const rows = await reconcile(db, partnerId)
  const row = rows.find((candidate) => candidate.subscriptionId === subscriptionId)
  assert.ok(row)
  const { owed, delivered, pending, held } = row
  assert.equal(delivered + pending + held, owed)
  return { owed: Number(owed), delivered: Number(delivered), pending: Number(pending), held: Number(held) }
}

export type ReceivedWebhook = {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
  readonly eventId: string
  readonly reference: string
  readonly status: string
}

export type Endpoint = {
  readonly url: string
  readonly received: readonly ReceivedWebhook[]
  readonly close: () => Promise<void>
}

type Respond = (response: ServerResponse, received: ReceivedWebhook, request: IncomingMessage) => void

/** Starts an HTTP server on loopback. Calls `respond` for each request when its body is complete. */
export async function startEndpoint(respond: Respond = (response) => response.end()): Promise<Endpoint> {
  const received: ReceivedWebhook[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString('utf8')
      const { eventId, data } = JSON.parse(body) as { eventId: string; data: { reference: string; status: string } }
      const { reference, status } = data
      const delivery = { path: request.url ?? '', headers: request.headers, body, eventId, reference, status }
      received.push(delivery)
      respond(response, delivery, request)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/hook?from=partner`,
    received,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
