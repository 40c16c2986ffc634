/** Limits of the gateway: admission, rates, turns. */
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { Refusal } from '../../kernel/api/index.ts'
import { createAdmissionControl } from './admission.ts'
import { createManualClock } from '../../../../test/support/clock.ts'
import { hourMs, newId, secondMs } from '../../kernel/index.ts'
import { createAddressLimiter, createRateLimiter, clientNetwork } from './rate.ts'
import { createTurnThrottle, limitPipelining } from './turns.ts'

const overloaded = (error: unknown) =>
  error instanceof Refusal && error.code === 'overloaded' && error.headers['retry-after'] === '1'

test('requests are admitted up to the maximum, and a second release of a request has no effect', () => {
  const { admit, isFull } = createAdmissionControl(2)
  const [releaseFirst, releaseSecond] = [admit(), admit()]
  assert.throws(admit, overloaded)
  assert.ok(isFull())
  releaseFirst()
  releaseFirst()
  const releaseThird = admit()
  assert.throws(admit, overloaded, 'the second release of a request frees nothing')
  releaseSecond()
  releaseThird()
  assert.ok(!isFull())
  admit()
  admit()
  assert.throws(admit, overloaded)
})

const caller = newId()
const limited = (error: unknown) => error instanceof Refusal && error.code === 'rate_limited'

test('requests are refused after the burst, and tokens refill with time', () => {
  const clock = createManualClock(new Date('2026-01-01T00:00:00Z'))
  const { take } = createRateLimiter({ clock, perSecond: 1, burst: 2 })
  take(caller)
  take(caller)
  assert.throws(() => take(caller), limited)
  clock.advance(secondMs)
  take(caller)
  assert.throws(() => take(caller), limited)
})

test('setting the clock back removes no tokens', () => {
  const clock = createManualClock(new Date('2026-01-01T12:00:00Z'))
  const { take } = createRateLimiter({ clock, perSecond: 1, burst: 2 })
  take(caller)
  clock.advance(-hourMs)
  take(caller)
  assert.throws(() => take(caller), limited)
  clock.advance(secondMs)
  take(caller)
})

test('a request takes all its tokens or none, and Retry-After states when enough are available', () => {
  const limiter = createRateLimiter({
    clock: createManualClock(new Date('2026-01-01T00:00:00Z')),
    perSecond: 10,
    burst: 100,
  })
  limiter.take(caller, 70)
  assert.throws(
    () => limiter.take(caller, 50),
    (error) => limited(error) && (error as Refusal).headers['retry-after'] === '2',
  )
  limiter.take(caller, 30)
  assert.equal(limiter.tryTake(caller), false)
})

test('a full table drops only the least recently used bucket', () => {
  const clock = createManualClock(new Date('2026-01-01T00:00:00Z'))
  const { tryTake } = createRateLimiter({ clock, perSecond: 1, burst: 1 })
  const crowd = (from: number, count: number) => {
    for (let index = from; index < from + count; index += 1) assert.ok(tryTake(`name ${index}`))
  }
  assert.ok(tryTake('first'))
  crowd(0, 60_000)
  assert.equal(tryTake('first'), false)
  crowd(60_000, 60_000)
  assert.equal(tryTake('first'), false, 'the bucket was used after most others')
  assert.equal(tryTake('name 119999'), false)
  assert.ok(tryTake('name 0'), 'the oldest is forgotten')
})

test('an IPv6 client is counted by its /64, in every spelling, and an IPv4 client by its address', () => {
  for (const [ip, name] of [
    ['203.0.113.7', '203.0.113.7'],
    ['::ffff:203.0.113.7', '203.0.113.7'],
    ['::ffff:cb00:7107', '203.0.113.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:0DB8:0001:0002::', '2001:db8:1:2::/64'],
    ['2001:db8:1:3::1', '2001:db8:1:3::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['', ''],
    ['not:an:address', 'not:an:address'],
  ] as const)
    assert.equal(clientNetwork(ip), name, ip)
  const limiter = createAddressLimiter({
    clock: createManualClock(new Date('2026-01-01T00:00:00Z')),
    perSecond: 1,
    burst: 1,
  })
  limiter.take('2001:db8:1:2::1')
  assert.throws(() => limiter.take('2001:db8:1:2:ffff::1'), limited)
  assert.equal(limiter.tryTake('2001:db8:1:2::2'), false)
  limiter.take('2001:db8:1:3::1')
})

const turnOfEventLoop = () => new Promise((resolve) => void setImmediate(resolve))

test('calls that arrive together proceed in order, a limited number in each turn of the event loop', async () => {
  const throttle = createTurnThrottle(2)
  const entered: number[] = []
  for (let n = 0; n < 5; n += 1) void throttle().then(() => entered.push(n))
  const seen: number[] = []
  for (let n = 0; n < 4; n += 1) {
    await turnOfEventLoop()
    seen.push(entered.length)
  }
  assert.deepEqual(seen, [2, 4, 5, 5])
  assert.deepEqual(entered, [0, 1, 2, 3, 4])
})

test('a call waits for the calls before it, and proceeds at once when no call is waiting', async () => {
  const throttle = createTurnThrottle(1)
  const entered: string[] = []
  const enter = (name: string) => throttle().then(() => entered.push(name))
  const [first, second] = [enter('first'), enter('second')]
  await first
  await Promise.all([enter('third'), second])
  assert.deepEqual(entered, ['first', 'second', 'third'])
  await enter('late')
  assert.equal(entered.at(-1), 'late')
})

async function openServer(t: TestContext, listener: RequestListener, unreadMsMax?: number): Promise<() => Socket> {
  const server = createServer(listener)
  limitPipelining(server, unreadMsMax)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.closeAllConnections())
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo
  return () => connect({ host: '127.0.0.1', port }).on('error', () => undefined)
}

const get = (path: string) => `GET /${path} HTTP/1.1\r\nHost: a\r\n\r\n`
const paths = (count: number) => Array.from({ length: count }, (_, index) => String(index))

const last = 'GET /last HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'

/** Reads until the server closes the connection. */
async function readAll(socket: Socket): Promise<string> {
  let received = ''
  socket.on('data', (bytes) => (received += bytes.toString('latin1')))
  await once(socket, 'close')
  return received
}
const bodies = (received: string) => [...received.matchAll(/\r\n\r\n<(\w+)>/g)].map((match) => match[1])

test('pipelined requests of a connection are handled one after another, each after the previous answer', async (t) => {
  const count = 3000
  let inProgress = 0
  let most = 0
  const open = await openServer(t, ({ url }, answer) => {
    inProgress += 1
    most = Math.max(most, inProgress)
    answer.once('finish', () => (inProgress -= 1))
    setImmediate(() => answer.end(`<${url?.slice(1)}>`))
  })
  const socket = open()
  socket.write(paths(count).map(get).join('') + last)
  assert.deepEqual(bodies(await readAll(socket)), [...paths(count), 'last'])
  // A head whose last byte is in the next packet arrives together with the one behind it.
  assert.ok(most <= 2, `${most} at once`)
})

test('bodies of pipelined requests arrive complete, however the bytes are split', async (t) => {
  const text = 'a\r\n\r\nb'.repeat(500)
  const got: string[] = []
  const open = await openServer(t, (request, answer) => {
    let body = ''
    request.on('data', (bytes: Buffer) => (body += bytes.toString('latin1')))
    request.on('end', () => {
      if (body !== '') got.push(body)
      answer.end()
    })
  })
  const one = `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${text.length}\r\n\r\n${text}`
  const chunked = `POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`
  const bytes = Buffer.from((one + chunked).repeat(5) + last)
  for (const step of [1009, bytes.length]) {
    const socket = open()
    await once(socket, 'connect')
    socket.setNoDelay()
    for (let at = 0; at < bytes.length; at += step)
      await new Promise((resolve) => socket.write(bytes.subarray(at, at + step), resolve))
    await readAll(socket)
    assert.deepEqual(
      got.splice(0),
      Array.from({ length: 10 }, () => text),
    )
  }
})

test('no request is handled while an answer is unread, and the connection is closed', async (t) => {
  const body = Buffer.alloc(64 * 1024 * 1024)
  let begun = 0
  const closed = Promise.withResolvers<void>()
  const open = await openServer(
    t,
    ({ socket }, answer) => {
      begun += 1
      socket.once('close', () => closed.resolve())
      answer.end(body)
    },
    50,
  )
  const socket = open()
  socket.pause()
  socket.write(get('0').repeat(1000))
  await closed.promise
  assert.equal(begun, 1)
  socket.destroy()
})

test('the time limit of unread answers does not apply to slow answers', async (t) => {
  const first = Promise.withResolvers<void>()
  const open = await openServer(t, ({ url, socket }, answer) => {
    if (url === '/0') answer.once('close', first.resolve).end('<0>')
    else void first.promise.then(() => answer.setHeader('connection', 'close').end(`<${socket.timeout}>`))
  })
  const socket = open()
  // The last byte of the first head comes with the second: both are in progress.
  socket.write(get('0').slice(0, -1))
  socket.write(`\n${get('1')}`)
  assert.deepEqual(bodies(await readAll(socket)), ['0', '0'])
})

test('other connections are answered while one sends thousands of requests', async (t) => {
  let ofFlood = 0
  const open = await openServer(t, ({ url }, answer) => {
    if (url === '/flood') ofFlood += 1
    answer.end(String(ofFlood))
  })
  const floods = Array.from({ length: 10 }, () => {
    const socket = open()
    socket.write(get('flood').repeat(5000))
    return socket.resume()
  })
  await Promise.all(floods.map((socket) => once(socket, 'connect')))
  const socket = open()
  socket.write(get('partner'))
  const [bytes] = (await once(socket, 'data')) as [Buffer]
  assert.ok(Number(bytes.toString('latin1').split('\r\n\r\n')[1]) < 50_000)
  for (const each of [...floods, socket]) each.destroy()
})
