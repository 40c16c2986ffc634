/**
 * What the tests of faults share: one setting for how far they go, endpoints that count what they are sent, and the
 * judgement that ends every case: each committed event received, none invented, every signature right, the sums right.
 */
import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { mock, type TestContext } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { Webhook } from 'standardwebhooks'
import { after as later, type Clock, newId, secondMs, systemClock } from '../../service/src/kernel/index.ts'
import { sql } from '../../service/src/postgres/index.ts'
import { until } from './until.ts'
import { type Endpoint, type Hooks, type Received, startEndpoint } from './webhooks.ts'
import { reconcile } from './reconcile.ts'

/** `npm run test:faults` asks for the long form; `npm test` runs the same code with smaller counts. */
export const isLong = process.env.FAULTS === 'long'
export const scaled = (short: number, long: number): number => (isLong ? long : short)

/** Guards against a hang; nothing is measured by it. */
const deliveredMsMax = scaled(30_000, 180_000)

/** As many attempts of an endpoint may be under way at once: `inFlightPerEndpointMax`. */
export const inFlightMax = 10

export type Post = Received & {
  /** By the endpoint's own clock. */
  readonly at: Date
  readonly accepted: boolean
}

export type Counter = Omit<Endpoint, 'received'> & { readonly posts: readonly Post[] }

export type CounterOptions = {
  /** True: it has done something else than to accept the event. `nth` counts from 1. */
  readonly fault?: (response: ServerResponse, nth: number, received: Received) => boolean
  readonly answerMs?: (nth: number) => number
  /** Another way to accept than an empty answer. */
  readonly accept?: (response: ServerResponse) => void
  /** `sender`: whatever the time is where the event comes from, as clocks are not what is judged. */
  readonly clock?: Clock | 'sender'
}

/** The machine's clock, which somebody puts forward or back. */
export function createSteppedClock() {
  let offsetMs = 0
  return {
    now: () => later(systemClock.now(), offsetMs),
    step: (ms: number) => {
      offsetMs += ms
    },
    /** The right time again. */
    mend: () => {
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
    // Before it answers: whoever judges the posts must not find one missing that is on record.
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
  /** One who is there already; what happened to him before is none of this scene. */
  readonly partnerId?: string
  /** Has an event of this reference happen, and resolves when that is committed. */
  readonly act?: (reference: string) => Promise<unknown>
  readonly subscribe?: (url: string) => Promise<{ readonly id: string; readonly secret?: string }>
}

/** A partner whose endpoints want everything. */
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
  /** References whose commit was acknowledged. */
  const acknowledged = new Set<string>()
  const attempted = new Set<string>()
  const emitOne = async () => {
    const reference = newId()
    attempted.add(reference)
    await act(reference)
    acknowledged.add(reference)
  }
  return {
    ...{ hooks, partnerId, endpoints, acknowledged, attempted },
    earlier: earlier.map(({ id }) => id),
    emit: (events: number) => Promise.all(Array.from({ length: events }, emitOne)),
    /** Ones that may fail: the database may be away. */
    tryEmit: (events: number) => Promise.allSettled(Array.from({ length: events }, emitOne)),
    posts: () => endpoints.reduce((sum, { counter }) => sum + counter.posts.length, 0),
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

/** So many hands act, through whatever happens, until they are told to stop; `restMs` sets their pace. */
export function keepActing(t: TestContext, scene: Scene, harness: number, restMs = 0) {
  let stopped = false
  const hand = async () => {
    while (!stopped) {
      const [outcome] = await scene.tryEmit(1)
      if (outcome?.status === 'rejected') await pause(20)
      else if (restMs > 0) await pause(restMs)
    }
  }
  const acting = Promise.all(Array.from({ length: harness }, hand))
  // Also where the test has failed before it came to that.
  t.after(() => {
    stopped = true
  })
  return {
    stop: async () => {
      stopped = true
      await acting
    },
  }
}

/** By the stock library, at the time of the endpoint: it refuses what is five minutes old. */
export function verifyAt(at: Date, secret: string, post: Received): void {
  mock.timers.enable({ apis: ['Date'], now: at })
  try {
    new Webhook(secret).verify(post.body, post.headers as Record<string, string>)
  } finally {
    mock.timers.reset()
  }
}

function verify(post: Post, secrets: readonly string[]): void {
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
  readonly owed: number
  readonly received: number
  readonly distinct: number
  readonly duplicates: number
  readonly refused: number
}

type Committed = { readonly id: string; readonly reference: string; readonly data: string }
type Made = { readonly subscriptionId: string; readonly eventId: string; readonly wireEventId: string }

function judgePosts({ counter, subscriptionId, secrets }: Hook, events: readonly Committed[], made: readonly Made[]) {
  const dataOf = new Map(events.map(({ id, data }) => [id, data]))
  const own = made.filter((row) => row.subscriptionId === subscriptionId)
  const bodies = new Map(
    own.map(({ eventId, wireEventId }) => [wireEventId, `{"eventId":"${wireEventId}","data":${dataOf.get(eventId)}}`]),
  )
  assert.equal(own.length, events.length, 'on record as delivered: every committed event, once')
  for (const post of counter.posts) {
    assert.equal(post.body, bodies.get(post.eventId), 'none invented; the same bytes and the same eventId each time')
    assert.equal(post.headers['webhook-id'], post.eventId)
    verify(post, secrets)
  }
  const accepted = counter.posts.filter((post) => post.accepted)
  const distinct = new Set(accepted.map((post) => post.eventId))
  assert.deepEqual([...distinct].toSorted(), [...bodies.keys()].toSorted(), 'every committed event received')
  return { received: accepted.length, distinct: distinct.size, refused: counter.posts.length - accepted.length }
}

export type JudgeOptions = {
  readonly duplicatesMax: number
  /** Nothing may have been committed at all. */
  readonly mayBeNone?: boolean
}

/** Judges all that came of the scene, prints the counts, and answers them. What else is told is printed with them. */
export async function judge(
  t: TestContext,
  scene: Scene,
  { duplicatesMax, mayBeNone, ...told }: JudgeOptions & { readonly [count: string]: number | boolean },
): Promise<Counts> {
  const { hooks, partnerId, endpoints, acknowledged, attempted } = scene
  const events = await hooks.db.rows<Committed>(
    sql`select id, reference, data from events.events
      where partner_id = ${partnerId} and not id = any(${scene.earlier}::uuid[])`,
  )
  const made = await hooks.db.rows<Made>(sql`
    select subscription_id, event_id, wire_event_id from delivery.deliveries where partner_id = ${partnerId}`)
  const references = new Set(events.map((event) => event.reference))
  for (const reference of acknowledged) assert.ok(references.has(reference), `${reference} was acknowledged`)
  for (const reference of references) assert.ok(attempted.has(reference), `${reference} was never attempted`)
  const judged = endpoints.map((hook) => judgePosts(hook, events, made))
  const total = (of: (one: (typeof judged)[number]) => number) => judged.reduce((sum, one) => sum + of(one), 0)
  const owed = BigInt(events.length)
  for (const row of await reconcile(hooks.db, partnerId))
    assert.deepEqual([row.owed, row.delivered, row.pending, row.held], [owed, owed, 0n, 0n], 'the sums')
  const [received, distinct, refused] = [
    total((one) => one.received),
    total((one) => one.distinct),
    total((one) => one.refused),
  ]
  const counts = {
    ...{ committed: events.length, owed: events.length * endpoints.length, received, distinct },
    ...{ duplicates: received - distinct, refused },
  }
  const unacknowledged = {
    unacknowledged: attempted.size - acknowledged.size,
    'of those committed': references.size - acknowledged.size,
  }
  print(t, { ...counts, ...(attempted.size > acknowledged.size ? unacknowledged : {}), ...told })
  assert.ok(events.length > 0 || mayBeNone === true, 'nothing was committed')
  assert.ok(counts.duplicates <= duplicatesMax, `${counts.duplicates} duplicates, ${duplicatesMax} may be`)
  return counts
}

export function print(t: TestContext, counts: { readonly [count: string]: number | boolean }): void {
  const text = Object.entries(counts).map(([name, count]) => `${count} ${name}`)
  t.diagnostic(`${text.join(', ')}${isLong ? '' : ' (short form)'}`)
}
