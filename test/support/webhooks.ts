/** The module `webhooks` on a database of its own, a way to make events happen, and endpoints on loopback that record. */
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { createCursors } from '../../service/src/api/index.ts'
import { createManualClock } from './clock.ts'
import { type Clock, createLog, createSealer, newId, randomBytes } from '../../service/src/kernel/index.ts'
import { createEventOutbox } from '../../service/src/events/index.ts'
import { createDatabase, sql, type Tx } from '../../service/src/postgres/index.ts'
import {
  createDeliveryEngine,
  createEndpointAlerts,
  type DeliveryEngineDeps,
} from '../../service/src/delivery/index.ts'
import { createMailQueue } from '../../service/src/mail/index.ts'
import { createTestDatabase } from './postgres.ts'

export const statusChanged = 'transaction.status.changed'

export async function createHooks(
  options: Partial<Pick<DeliveryEngineDeps, 'retryDelaysMs' | 'urlRules' | 'limits' | 'sharded'>> & {
    readonly url?: string
    readonly key?: Uint8Array
    readonly now?: Date
    /** Instead of one that stands still. */
    readonly clock?: Clock
    readonly queryTimeoutMs?: number
  } = {},
) {
  const { url: given, key = randomBytes(32), now = new Date(), clock: givenClock, queryTimeoutMs, ...rules } = options
  const own = given === undefined ? await createTestDatabase() : undefined
  const url = own?.url ?? given ?? ''
  const log = createLog('silent')
  const timeouts =
    queryTimeoutMs === undefined
      ? {}
      : { queryTimeoutMs, connectTimeoutMs: queryTimeoutMs, idleInTransactionMsMax: queryTimeoutMs }
  const db = createDatabase({ url, connectionsMax: 8, log, ...timeouts })
  const manual = createManualClock(now)
  const clock = { ...manual, now: () => (givenClock ?? manual).now() }
  const eventOutbox = createEventOutbox()
  const sealer = createSealer([key])
  const alerts = createEndpointAlerts({
    mail: createMailQueue({ clock, sealer }),
    log,
    membersWithRoles: async () => [{ fullName: 'Ada Lovelace', email: 'ada@example.com' }],
  })
  const webhooks = createDeliveryEngine({
    db,
    clock,
    eventOutbox,
    sealer,
    alerts,
    cursors: createCursors(key),
    urlRules: { allowHttpLoopback: true },
    ...rules,
  })

  const addPartner = async () => {
    const id = newId()
    await db.run(sql`insert into access.partners (id, name, created_at) values (${id}, 'Test', ${clock.now()})`)
    return id
  }

  /** Events of one reference, in order; `status` tells them apart. */
  const emitIn = (tx: Tx, partnerId: string, reference: string, ...statuses: readonly string[]) => {
    for (const status of statuses.length > 0 ? statuses : ['Completed'])
      eventOutbox.append(tx, partnerId, statusChanged, clock.now(), {
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

  /** In one transaction. */
  const emit = (partnerId: string, reference: string, ...statuses: readonly string[]) =>
    db.transaction(async (tx) => emitIn(tx, partnerId, reference, ...statuses))

  /** Answers how many events it took. */
  const fanOut = async (partnerId: string, eventsMax = 1000) =>
    (await db.transaction((tx) => webhooks.fanOut(tx, [partnerId], eventsMax))).events

  const close = async () => {
    await db.close()
    await own?.drop()
  }
  return { url, key, db, clock, log, eventOutbox, alerts, webhooks, addPartner, emit, emitIn, fanOut, close }
}

export type Hooks = Awaited<ReturnType<typeof createHooks>>

export type Received = {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
  readonly eventId: string
  readonly reference: string
  readonly status: string
}

export type Endpoint = {
  readonly url: string
  readonly received: readonly Received[]
  readonly close: () => Promise<void>
}

type Respond = (response: ServerResponse, received: Received, request: IncomingMessage) => void

/** An HTTP server on loopback; `respond` answers each request once its body is there. */
export async function startEndpoint(respond: Respond = (response) => response.end()): Promise<Endpoint> {
  const received: Received[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString('utf8')
      const { eventId, data } = JSON.parse(body) as { eventId: string; data: { reference: string; status: string } }
      const { reference, status } = data
      const one = { path: request.url ?? '', headers: request.headers, body, eventId, reference, status }
      received.push(one)
      respond(response, one, request)
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

const untilMsMax = 15_000

/** Polls until `condition` holds; fails with its name when it does not in time. */
export async function until(name: string, condition: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + untilMsMax
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`not in time: ${name}`)
    await pause(5)
  }
}
