/**
 * Shared by the fault tests: the setting of short or long form, endpoints that record requests, and the final check. It
 * asserts that every committed event was received, no other event was, every signature verifies, and the sums balance.
 */
import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { mock, type TestContext } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { Webhook } from 'standardwebhooks'
import { after as later, type Clock, newId, secondMs, systemClock } from '../../service/src/kernel/index.ts'
import { sql } from '../../service/src/postgres/index.ts'
import { until } from './until.ts'
import { type Endpoint, type Hooks, type ReceivedWebhook, startEndpoint } from './webhooks.ts'
import { reconcile } from './reconcile.ts'

/** `npm run test:faults` runs the long form; `npm test` runs the same code with smaller counts. */
export const isLong = process.env.FAULTS === 'long'
export const scaled = (short: number, long: number): number => (isLong ? long : short)

/** Guards against a hang. No test measures it. */
const deliveredMsMax = scaled(120_000, 180_000)

/** The most concurrent attempts of one endpoint: `inFlightPerEndpointMax`. */
export const inFlightMax = 10

export type Post = ReceivedWebhook & {
  /** The time of arrival by the endpoint's clock. */
  readonly at: Date
  readonly accepted: boolean
}

export type Counter = Omit<Endpoint, 'received'> & { readonly posts: readonly Post[] }

export type CounterOptions = {
  /** Returns true if it handled the request itself, so that the event is not accepted. `nth` counts from 1. */
  readonly fault?: (response: ServerResponse, nth: number, received: ReceivedWebhook) => boolean
  readonly answerMs?: (nth: number) => number
  /** How to accept an event; by default with an empty answer. */
  readonly accept?: (response: ServerResponse) => void
  /** `sender`: take the time of the webhook-timestamp header, where clocks are not under test. */
  readonly clock?: Clock | 'sender'
}

/** The system clock with an offset that a test steps forward or back. */
export function createSteppedClock() {
  let offsetMs = 0
  return {
    now: () => later(systemClock.now(), offsetMs),
    step: (ms: number) => {
      offsetMs += ms
    },
    reset: () => {
      offsetMs = 0
    },
  }
}

export async function startCounter(options: CounterOptions = {}): Promise<Counter> {
  const { fault = () => false, answerMs = () => 0, clock = systemClock } = options
  const { accept = (response) => void response.end() } = options
  const posts: Post[] = []
  const endpoint = await startEndpoint((response, received) => {
    const nth = posts.length + 1
    const sentAt = new Date(Number(received.headers['webhook-timestamp']) * secondMs)
    const at = clock === 'sender' ? sentAt : clock.now()
    // Before the answer, so that a delivery that the service has recorded is always in `posts`.
    posts.push({ ...received, at, accepted: !fault(response, nth, received) })
    if (!posts[nth - 1]?.accepted) return
    const ms = answerMs(nth)
    if (ms === 0) accept(response)
    else setTimeout(() => accept(response), ms)
  })
  return { url: endpoint.url, close: endpoint.close, posts }
}

export type Hook = { readonly counter: Counter; readonly subscriptionId: string; readonly secrets: string[] }

export type SceneOptions = {
  /** An existing partner. Its earlier events do not count. */
  readonly partnerId?: string
  /** Emits an event of this reference. Resolves after the commit. */
  readonly act?: (reference: string) => Promise<unknown>
  readonly subscribe?: (url: string) => Promise<{ readonly id: string; readonly secret?: string }>
}

/** A partner whose endpoints subscribe to all events. */
export async function createScene(hooks: Hooks, counters: readonly Counter[], options: SceneOptions = {}) {
  const { partnerId = await hooks.addPartner() } = options
  const { act = (reference) => hooks.emit(partnerId, reference, 'Completed') } = options
  const { subscribe = (url) => hooks.webhooks.create(partnerId, { url, events: ['*'] }) } = options
  while ((await hooks.fanOut(partnerId)) > 0);
  const earlier = await hooks.db.rows<{ id: string }>(sql`select id from events.events where partner_id = ${partnerId}`)
  const endpoints: Hook[] = []
  for (const counter of counters) {
    const { id, secret = '' } = await subscribe(counter.url)
    endpoints.push({ counter, subscriptionId: id, secrets: [secret] })
  }
  /** References with an acknowledged commit. */
  const acknowledged = new Set<string>()
  const attempted = new Set<string>()
  const emitOne = async () => {
    const reference = newId()
    attempted.add(reference)
    await act(reference)
    acknowledged.add(reference)
  }
  const posts = () => endpoints.reduce((sum, { counter }) => sum + counter.posts.length, 0)
  return {
    hooks,
    partnerId,
    endpoints,
    acknowledged,
    attempted,
    earlier: earlier.map(({ id }) => id),
    emit: (events: number) => Promise.all(Array.from({ length: events }, emitOne)),
    /** Emits events that may fail, because the database may be unavailable. */
    tryEmit: (events: number) => Promise.allSettled(Array.from({ length: events }, emitOne)),
    /** Waits until ten more events have arrived. */
    more: () => {
      const before = posts()
      return until('more events arrive', () => posts() > before + 10)
    },
    delivered: () =>
      until(
        'everything is delivered',
        async () => {
          const row = await hooks.db.row<{ pending: bigint }>(
            sql`select count(*) as pending from events.pending where partner_id = ${partnerId}`,
          )
          const rows = await reconcile(hooks.db, partnerId)
          return row?.pending === 0n && rows.every(({ owed, delivered }) => owed === delivered)
        },
        deliveredMsMax,
      ),
  }
}

export type Scene = Awaited<ReturnType<typeof createScene>>

/** Emits events from concurrent loops until stopped, and continues after failures. `pauseMs` sets the pace. */
export function keepEmitting(t: TestContext, scene: Scene, loops: number, pauseMs = 0) {
  let stopped = false
  const loop = async () => {
    while (!stopped) {
      const [outcome] = await scene.tryEmit(1)
      if (outcome?.status === 'rejected') await pause(20)
      else if (pauseMs > 0) await pause(pauseMs)
    }
  }
  const running = Promise.all(Array.from({ length: loops }, loop))
  // The test may fail before it calls `stop`.
  t.after(() => {
    stopped = true
  })
  return {
    stop: async () => {
      stopped = true
      await running
    },
  }
}

/** Verifies with the standard library at the endpoint's time; the library refuses a timestamp older than five minutes. */
export function verifyAt(at: Date, secret: string, post: ReceivedWebhook): void {
  mock.timers.enable({ apis: ['Date'], now: at })
  try {
    new Webhook(secret).verify(post.body, post.headers as Record<string, string>)
  } finally {
    mock.timers.reset()
  }
}

function verifySignature(post: Post, secrets: readonly string[]): void {
  const failures = secrets.flatMap((secret) => {
    try {
      verifyAt(post.at, secret, post)
      return []
    } catch (error) {
      return [error]
    }
  })
  assert.ok(failures.length < secrets.length, `no secret verifies ${post.eventId}: ${String(failures[0])}`)
}

export type Counts = {
  readonly committed: number
  readonly expected: number
  readonly received: number
  readonly distinct: number
  readonly duplicates: number
  readonly refused: number
}

type CommittedEvent = { readonly id: string; readonly reference: string; readonly data: string }
type Delivery = { readonly subscriptionId: string; readonly eventId: string; readonly wireEventId: string }

function verifyPosts(
  { counter, subscriptionId, secrets }: Hook,
  events: readonly CommittedEvent[],
  deliveries: readonly Delivery[],
) {
  const dataOf = new Map(events.map(({ id, data }) => [id, data]))
  const own = deliveries.filter((row) => row.subscriptionId === subscriptionId)
  const bodies = new Map(
    own.map(({ eventId, wireEventId }) => [wireEventId, `{"eventId":"${wireEventId}","data":${dataOf.get(eventId)}}`]),
  )
  assert.equal(own.length, events.length, 'the service recorded one delivery of every committed event')
  for (const post of counter.posts) {
    assert.equal(
      post.body,
      bodies.get(post.eventId),
      'no unknown event, and the same bytes and eventId at every attempt',
    )
    assert.equal(post.headers['webhook-id'], post.eventId)
    verifySignature(post, secrets)
  }
  const accepted = counter.posts.filter((post) => post.accepted)
  const distinct = new Set(accepted.map((post) => post.eventId))
  assert.deepEqual(
    [...distinct].toSorted(),
    [...bodies.keys()].toSorted(),
    'the endpoint received every committed event',
  )
  return { received: accepted.length, distinct: distinct.size, refused: counter.posts.length - accepted.length }
}

export type VerifyOptions = {
  readonly duplicatesMax: number
  /** True if the case may end without a committed event. */
  readonly mayBeEmpty?: boolean
}

/** Verifies everything that the scene committed and received. Prints and returns the counts; prints `extra` with them. */
export async function verifyScene(
  t: TestContext,
  scene: Scene,
  { duplicatesMax, mayBeEmpty, ...extra }: VerifyOptions & { readonly [count: string]: number | boolean },
): Promise<Counts> {
  const { hooks, partnerId, endpoints, acknowledged, attempted } = scene
  const events = await hooks.db.rows<CommittedEvent>(
    sql`select id, reference, data from events.events
      where partner_id = ${partnerId} and not id = any(${scene.earlier}::uuid[])`,
  )
  const deliveries = await hooks.db.rows<Delivery>(sql`
    select subscription_id, event_id, wire_event_id from delivery.deliveries where partner_id = ${partnerId}`)
  const references = new Set(events.map((event) => event.reference))
  for (const reference of acknowledged) assert.ok(references.has(reference), `${reference} was acknowledged`)
  for (const reference of references) assert.ok(attempted.has(reference), `${reference} was never attempted`)
  const verified = endpoints.map((hook) => verifyPosts(hook, events, deliveries))
  const total = (of: (one: (typeof verified)[number]) => number) => verified.reduce((sum, one) => sum + of(one), 0)
  const owed = BigInt(events.length)
  for (const row of await reconcile(hooks.db, partnerId))
    assert.deepEqual(
      { owed: row.owed, delivered: row.delivered, pending: row.pending, held: row.held },
      { owed, delivered: owed, pending: 0n, held: 0n },
      'the sums balance',
    )
  const received = total((one) => one.received)
  const distinct = total((one) => one.distinct)
  const counts = {
    committed: events.length,
    expected: events.length * endpoints.length,
    received,
    distinct,
    duplicates: received - distinct,
    refused: total((one) => one.refused),
  }
  const unacknowledged = {
    unacknowledged: attempted.size - acknowledged.size,
    'committed without acknowledgement': references.size - acknowledged.size,
  }
  printCounts(t, { ...counts, ...(attempted.size > acknowledged.size ? unacknowledged : {}), ...extra })
  assert.ok(events.length > 0 || mayBeEmpty === true, 'nothing was committed')
  assert.ok(counts.duplicates <= duplicatesMax, `${counts.duplicates} duplicates, ${duplicatesMax} at most`)
  return counts
}

export function printCounts(t: TestContext, counts: { readonly [count: string]: number | boolean }): void {
  const text = Object.entries(counts).map(([name, count]) => `${count} ${name}`)
  t.diagnostic(`${text.join(', ')}${isLong ? '' : ' (short form)'}`)
}
