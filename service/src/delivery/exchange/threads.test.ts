import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import { type SigningKey, verifyingKeyText } from '@partner-payments/wire'
import { verifyWebhook } from '../../../../sdk/src/index.ts'
import { claimOf, okAnswer, postBy, sendBy, startPeer } from '../../../../test/support/exchange.ts'
import { crashingThread } from '../../../../test/support/crashing-thread.ts'
import { until } from '../../../../test/support/until.ts'
import { createLog, createManualClock, randomBytes, systemClock } from '../../kernel/index.ts'
import type { Exchange } from './exchange.ts'
import { createThreads, type ThreadsOptions } from './threads.ts'

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

function threads({
  timeoutMs = 5000,
  ...options
}: Partial<ThreadsOptions> & { readonly timeoutMs?: number } = {}): Exchange {
  const given = { allowLoopback: true, timeoutMs }
  const exchange = createThreads({ count: 1, clock: systemClock, log: createLog('silent'), given, ...options })
  closing.push(exchange.close)
  return exchange
}

async function receiver(...given: Parameters<typeof startPeer>) {
  const peer = await startPeer(...given)
  closing.push(peer.close)
  return peer
}

const eventOf = (reference: string) => `{"reference":"${reference}"}`
/** Sees every request whole, and answers. */
const answering = (answer = okAnswer, seen: string[] = []) =>
  receiver((socket, first) => {
    const take = (request: Buffer) => {
      seen.push(request.toString())
      socket.write(answer)
    }
    take(first)
    socket.on('data', take)
  })

test('a thread signs as the subscription asks for, and tells all of what came back', async () => {
  const seen: string[] = []
  const answer = 'HTTP/1.1 503 No\r\nretry-after: 7\r\ncontent-length: 6\r\n\r\nthéy!'
  const { url } = await answering(answer, seen)
  const keys: SigningKey[] = (['v1', 'v1a'] as const).map((kind) => ({ kind, key: randomBytes(32) }))
  const now = new Date('2026-01-02T03:04:05.678Z')
  const exchange = threads({ clock: createManualClock(now) })
  const { startedAt, durationMs, ...result } = await postBy(exchange, { ...claimOf(url), target: { url, keys } })
  assert.deepEqual(result, { status: 503, address: '127.0.0.1', responseBody: 'théy!', retryAfter: '7' })
  assert.ok(startedAt >= now && durationMs >= 0, 'by the clock of the engine')
  const nowSeconds = Math.floor(startedAt.getTime() / 1000)
  const [head = '', body = ''] = (seen[0] ?? '').split('\r\n\r\n')
  const lines = head.split('\r\n').slice(1)
  const headers = Object.fromEntries(lines.map((line) => line.split(': ') as [string, string]))
  for (const key of keys)
    assert.ok(verifyWebhook(verifyingKeyText(key), headers, body, { toleranceSeconds: 0, nowSeconds }))
})

test('the time of an exchange ends in the thread, and an endpoint that is not there is told of', async () => {
  const silent = await receiver(() => undefined)
  const exchange = threads({ timeoutMs: 200 })
  const { status, error } = await postBy(exchange, claimOf(silent.url))
  assert.deepEqual([status, error], [undefined, 'no complete answer within 200 ms'])
  const gone = await receiver(() => undefined)
  gone.close()
  assert.equal((await postBy(exchange, claimOf(gone.url))).error, 'the endpoint refused the connection')
  assert.match((await postBy(exchange, claimOf('https://10.0.0.1/'))).error ?? '', /may not be called/)
})

test('an origin is called by one thread only, whatever the path; others work beside it', async () => {
  const peers = await Promise.all(Array.from({ length: 8 }, () => answering()))
  const exchange = threads({ count: 4 })
  for (const path of ['a', 'b', 'c'])
    for (const { port } of peers)
      assert.equal((await postBy(exchange, claimOf(`http://127.0.0.1:${port}/${path}`))).status, 200)
  assert.deepEqual(
    peers.map((peer) => peer.connections()),
    peers.map(() => 1),
  )
})

test('more targets than a thread remembers: each request goes to its own all the same', async () => {
  const seen: string[] = []
  const { port } = await answering(okAnswer, seen)
  const exchange = threads({ targetsMax: 3 })
  const requests = Array.from({ length: 10 }, (_, at) => claimOf(`http://127.0.0.1:${port}/${at}`))
  for (const round of [requests, requests.toReversed()])
    for (const request of round) assert.equal((await postBy(exchange, request)).status, 200)
  const paths = requests.map((_, at) => `/${at}`)
  assert.deepEqual(
    seen.map((request) => request.split(' ')[1]),
    [...paths, ...paths.toReversed()],
  )
})

test('abandoned, all ends at once without a word, and so does whatever is sent after', async () => {
  const peer = await receiver(() => undefined)
  const exchange = threads()
  const sent = [1, 2, 3].map(() => sendBy(exchange, claimOf(peer.url)))
  await until('under way', () => peer.open() === 3)
  exchange.abandon()
  assert.deepEqual(await Promise.all(sent), [undefined, undefined, undefined])
  assert.equal(await sendBy(exchange, claimOf(peer.url)), undefined)
  await exchange.close()
  await until('the thread has gone, and its connections with it', () => peer.open() === 0)
})

test('closed, it leaves nothing that keeps a process alive', async () => {
  const ports = () => process.getActiveResourcesInfo().filter((name) => name === 'MessagePort').length
  const { url } = await answering()
  const before = ports()
  const exchange = threads({ count: 2 })
  assert.equal((await postBy(exchange, claimOf(url))).status, 200)
  assert.ok(ports() > before)
  await exchange.close()
  assert.equal(ports(), before)
})

for (const [how, timeoutMs] of [
  ['CRASHES', 5000],
  ['HANGS', 300],
] as const)
  test(`a thread that ${how.toLowerCase()}: all that it had ends without a word, and another takes its place`, async () => {
    const silent = await receiver(() => undefined)
    const { url } = await answering()
    const exchange = threads({ program: crashingThread(), timeoutMs, graceMs: 1700 })
    // The first may wait for its answer for longer than the fatal one takes to come.
    const sent = [claimOf(silent.url), claimOf(silent.url, eventOf(how))].map((claim) => sendBy(exchange, claim))
    // Sent while there is no thread, they wait for the next.
    const after = Promise.all(sent).then((ends) => {
      assert.deepEqual(ends, [undefined, undefined])
      return Promise.all([1, 2].map(() => postBy(exchange, claimOf(url))))
    })
    assert.deepEqual(
      (await after).map(({ status }) => status),
      [200, 200],
    )
  })
