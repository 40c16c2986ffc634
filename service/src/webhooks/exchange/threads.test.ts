import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import { type SigningKey, verifyingKeyText } from '@partner-payments/wire'
import { verifyWebhook } from '../../../../sdk/src/index.ts'
import { okResponse, requestTo, send, startTcpReceiver, trySend } from '../../../../test/support/exchange.ts'
import { crashingThread } from '../../../../test/support/crashing-thread.ts'
import { until } from '../../../../test/support/until.ts'
import { createManualClock } from '../../../../test/support/clock.ts'
import { createLog, randomBytes, systemClock } from '../../kernel/index.ts'
import type { Exchange } from './exchange.ts'
import { createThreads, type ThreadsOptions } from './exchange-thread.ts'

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

function threads({
  timeoutMs = 5000,
  ...options
}: Partial<ThreadsOptions> & { readonly timeoutMs?: number } = {}): Exchange {
  const settings = { allowLoopback: true, timeoutMs }
  const exchange = createThreads({ count: 1, clock: systemClock, log: createLog('silent'), settings, ...options })
  closing.push(exchange.close)
  return exchange
}

async function receiver(...options: Parameters<typeof startTcpReceiver>) {
  const started = await startTcpReceiver(...options)
  closing.push(started.close)
  return started
}

const eventOf = (reference: string) => `{"reference":"${reference}"}`
/** Responds to each request, which arrives in one piece. */
const respondingReceiver = (response = okResponse, requests: string[] = []) =>
  receiver((socket, first) => {
    const respond = (request: Buffer) => {
      requests.push(request.toString())
      socket.write(response)
    }
    respond(first)
    socket.on('data', respond)
  })

test('a thread signs with the keys of the subscription, and returns all of the response', async () => {
  const requests: string[] = []
  const response = 'HTTP/1.1 503 No\r\nretry-after: 7\r\ncontent-length: 6\r\n\r\nthéy!'
  const { url } = await respondingReceiver(response, requests)
  const keys: SigningKey[] = (['v1', 'v1a'] as const).map((kind) => ({ kind, key: randomBytes(32) }))
  const now = new Date('2026-01-02T03:04:05.678Z')
  const exchange = threads({ clock: createManualClock(now) })
  const { startedAt, durationMs, ...result } = await send(exchange, { ...requestTo(url), target: { url, keys } })
  assert.deepEqual(result, { status: 503, address: '127.0.0.1', responseBody: 'théy!', retryAfter: '7' })
  assert.ok(startedAt >= now && durationMs >= 0, 'measured by the clock of the engine')
  const nowSeconds = Math.floor(startedAt.getTime() / 1000)
  const [head = '', body = ''] = (requests[0] ?? '').split('\r\n\r\n')
  const lines = head.split('\r\n').slice(1)
  const headers = Object.fromEntries(lines.map((line) => line.split(': ') as [string, string]))
  for (const key of keys)
    assert.ok(verifyWebhook(verifyingKeyText(key), headers, body, { toleranceSeconds: 0, nowSeconds }))
})

test('a thread enforces the time limit, and reports why an endpoint could not be reached', async () => {
  const silent = await receiver(() => undefined)
  const exchange = threads({ timeoutMs: 200 })
  const { status, error } = await send(exchange, requestTo(silent.url))
  assert.deepEqual([status, error], [undefined, 'no complete response within 200 ms'])
  const gone = await receiver(() => undefined)
  gone.close()
  assert.equal((await send(exchange, requestTo(gone.url))).error, 'the endpoint refused the connection')
  assert.match((await send(exchange, requestTo('https://10.0.0.1/'))).error ?? '', /not public/)
})

test('one thread serves each origin, whatever the path', async () => {
  const peers = await Promise.all(Array.from({ length: 8 }, () => respondingReceiver()))
  const exchange = threads({ count: 4 })
  // Beside each other: on a slow machine a connection would otherwise be idle for too long between two paths.
  for (const path of ['a', 'b', 'c']) {
    const answers = await Promise.all(
      peers.map(({ port }) => send(exchange, requestTo(`http://127.0.0.1:${port}/${path}`))),
    )
    for (const { status } of answers) assert.equal(status, 200)
  }
  assert.deepEqual(
    peers.map((peer) => peer.connections()),
    peers.map(() => 1),
  )
})

test('each request reaches its own target when a thread has dropped earlier targets', async () => {
  const requests: string[] = []
  const { port } = await respondingReceiver(okResponse, requests)
  const exchange = threads({ targetsMax: 3 })
  const deliveries = Array.from({ length: 10 }, (_, at) => requestTo(`http://127.0.0.1:${port}/${at}`))
  for (const round of [deliveries, deliveries.toReversed()])
    for (const request of round) assert.equal((await send(exchange, request)).status, 200)
  const paths = deliveries.map((_, at) => `/${at}`)
  assert.deepEqual(
    requests.map((request) => request.split(' ')[1]),
    [...paths, ...paths.toReversed()],
  )
})

test('abandon ends all requests without a result, and later requests as well', async () => {
  const peer = await receiver(() => undefined)
  const exchange = threads()
  const sent = [1, 2, 3].map(() => trySend(exchange, requestTo(peer.url)))
  await until('under way', () => peer.open() === 3)
  exchange.abandon()
  assert.deepEqual(await Promise.all(sent), [undefined, undefined, undefined])
  assert.equal(await trySend(exchange, requestTo(peer.url)), undefined)
  await exchange.close()
  await until('the thread has ended and closed its connections', () => peer.open() === 0)
})

test('close leaves nothing that keeps the process alive', async () => {
  const ports = () => process.getActiveResourcesInfo().filter((name) => name === 'MessagePort').length
  const { url } = await respondingReceiver()
  const before = ports()
  const exchange = threads({ count: 2 })
  assert.equal((await send(exchange, requestTo(url))).status, 200)
  assert.ok(ports() > before)
  await exchange.close()
  assert.equal(ports(), before)
})

const failures = [
  { title: 'a thread that dies', message: 'CRASHES', timeoutMs: 5000 },
  { title: 'a thread that hangs', message: 'HANGS', timeoutMs: 300 },
]
for (const { title, message, timeoutMs } of failures)
  test(`${title} ends its requests without a result, and is replaced`, async () => {
    const silent = await receiver(() => undefined)
    const { url } = await respondingReceiver()
    // The margin is longer than the fatal request takes to arrive.
    const exchange = threads({ program: crashingThread(), timeoutMs, hangMarginMs: 1700 })
    const fatal = requestTo(silent.url, eventOf(message))
    const results = await Promise.all([requestTo(silent.url), fatal].map((request) => trySend(exchange, request)))
    assert.deepEqual(results, [undefined, undefined])
    // These requests wait for the replacement.
    const responses = await Promise.all([1, 2].map(() => send(exchange, requestTo(url))))
    assert.deepEqual(
      responses.map(({ status }) => status),
      [200, 200],
    )
  })
