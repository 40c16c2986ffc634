/** Reading of requests and sending of answers. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { type AddressInfo, Socket } from 'node:net'
import { test } from 'node:test'
import { PassThrough, type Readable, Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createManualClock } from '../../../../test/support/clock.ts'
import { type PublicRoute, Refusal } from '../../kernel/api/index.ts'
import { createLog } from '../../kernel/index.ts'
import { createClientAddress, createSiteListener } from './site-listener.ts'
import { createBodyBuffer, createIncomingRequests } from './incoming.ts'
import { findJsonFault } from './json.ts'
import { audienceHandler } from './server.ts'
import { createRefusalBudget } from './rate.ts'
import { createStreamReply } from './operation.ts'

test("the client's address is the nearest one that is not a trusted proxy, and entries further out are ignored", () => {
  const addressOf = createClientAddress(['10.0.0.0/8', '2001:db8::1'])
  for (const [remote, forwarded, expected] of [
    ['10.0.0.1', '203.0.113.7', '203.0.113.7'],
    ['::ffff:10.0.0.1', '203.0.113.7', '203.0.113.7'],
    ['2001:db8::1', '198.51.100.9, 203.0.113.7, 10.0.0.2', '203.0.113.7'],
    ['10.0.0.1', '10.0.0.3, 10.0.0.2', '10.0.0.3'],
    ['10.0.0.1', undefined, '10.0.0.1'],
    ['10.0.0.1', '', '10.0.0.1'],
    ['10.0.0.1', '203.0.113.7, unknown', '10.0.0.1'],
    ['10.0.0.1', ['198.51.100.9', '203.0.113.7'], '203.0.113.7'],
    ['203.0.113.8', '198.51.100.9', '203.0.113.8'],
    ['', '198.51.100.9', ''],
  ] as const)
    assert.equal(addressOf(remote, forwarded), expected, `${remote} ${String(forwarded)}`)
})

test('X-Forwarded-For is ignored if no proxies are trusted', () => {
  for (const proxies of [undefined, []])
    assert.equal(createClientAddress(proxies)('127.0.0.1', '203.0.113.7'), '127.0.0.1')
})

test('pages behind a trusted proxy get the address of the client, and each client has its own rate', async () => {
  const seen: string[] = []
  const show: PublicRoute = {
    method: 'GET',
    path: '/desk',
    handle: ({ ip }) => {
      seen.push(ip)
      return { status: 200, headers: {}, body: '' }
    },
  }
  const site = {
    routes: [show],
    refused: (_request: unknown, { status }: { status: number }) => ({ status, headers: {}, body: '' }),
  }
  const clock = createManualClock(new Date('2026-11-24T08:00:00Z'))
  const common = { site, clock, log: createLog('silent'), requestTimeoutMs: 5000, pageRate: { perSecond: 1, burst: 2 } }
  const server = createServer(
    createSiteListener({ ...common, trustedProxies: ['127.0.0.1'], strictTransport: 'max-age=5' }),
  )
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const ask = async (client: string) => {
    const answer = await fetch(`http://127.0.0.1:${port}/desk`, { headers: { 'x-forwarded-for': client } })
    assert.equal(answer.headers.get('strict-transport-security'), 'max-age=5')
    return answer.status
  }
  const first = [await ask('203.0.113.7'), await ask('203.0.113.7'), await ask('203.0.113.7')]
  assert.deepEqual([first, await ask('203.0.113.8')], [[200, 200, 429], 200])
  assert.deepEqual(seen, ['203.0.113.7', '203.0.113.7', '203.0.113.8'])
  server.close()
  server.closeAllConnections()
})

const limits = {
  bodyBytesMax: 1024,
  bodyTimeoutMs: 60_000,
  unauthenticatedBytesMax: 2048,
  unauthenticatedConnectionsMax: 3,
}

const newSocket = () => new PassThrough() as unknown as Socket
function newMessage(socket: Socket): IncomingMessage & PassThrough {
  return Object.assign(new PassThrough(), { socket, headers: { 'transfer-encoding': 'chunked' } }) as never
}
const refusedAs = (code: string) => (error: unknown) => error instanceof Refusal && error.code === code
const turnOfEventLoop = () => new Promise((resolve) => void setImmediate(resolve))

test('a body that arrives byte by byte uses at most twice its size in memory, and none after its release', () => {
  const bytesMax = 256 * 1024
  let held = 0
  let heldMax = 0
  const body = createBodyBuffer(bytesMax, (bytes) => {
    held += bytes
    heldMax = Math.max(heldMax, held)
  })
  for (let index = 0; index < bytesMax; index += 1) {
    body.append(Buffer.of(index % 251))
    assert.ok(held <= 2 * (index + 1))
  }
  assert.equal(heldMax, bytesMax)
  const bytes = body.take()
  assert.ok(bytes.length === bytesMax && bytes.every((byte, index) => byte === index % 251))
  body.release()
  assert.equal(held, 0)
})

test('503 to the oldest incomplete bodies when they hold too many bytes together, and the newest completes', async () => {
  const incoming = createIncomingRequests({ ...limits, unauthenticatedConnectionsMax: 100 })
  const messages = [1, 2, 3, 4].map(() => newMessage(newSocket()))
  for (const { socket } of messages) incoming.open(socket)
  const bodies = messages.map((message) => incoming.read(message))
  const refused = bodies.slice(0, 2).map((body) => assert.rejects(body, refusedAs('overloaded')))
  for (const message of messages) {
    message.write(Buffer.alloc(900))
    await turnOfEventLoop()
  }
  await Promise.all(refused)
  for (const message of messages.slice(2)) message.end(Buffer.alloc(24))
  for (const body of bodies.slice(2)) assert.equal((await body).length, 924)
})

test('beyond the limit the oldest connection is closed, unless its signature is being verified', () => {
  const incoming = createIncomingRequests(limits)
  const [first, second, ...others] = [1, 2, 3, 4, 5, 6].map(newSocket) as [Socket, Socket, ...Socket[]]
  incoming.open(first)
  incoming.open(second)
  const endProtection = incoming.protect(first)
  for (const socket of others) incoming.open(socket)
  assert.deepEqual(
    [first, second, ...others].map((socket) => socket.destroyed),
    [false, true, true, true, false, false],
  )
  endProtection()
})

test('a connection with a verified signature is not closed, but its incomplete bodies count towards the limit', async () => {
  const incoming = createIncomingRequests(limits)
  const partner = newSocket()
  incoming.open(partner)
  incoming.verified(partner)
  for (let count = 0; count < 10; count += 1) incoming.open(newSocket())
  assert.equal(partner.destroyed, false)
  const message = newMessage(partner)
  const body = assert.rejects(incoming.read(message), refusedAs('overloaded'))
  for (let count = 0; count < 10; count += 1) incoming.open(newSocket())
  await body
})

test('408 when the body is not complete in time', async () => {
  const incoming = createIncomingRequests({ ...limits, bodyTimeoutMs: 20 })
  const message = newMessage(newSocket())
  incoming.open(message.socket)
  await assert.rejects(incoming.read(message), refusedAs('request_timeout'))
})

const faultOf = (text: string) => {
  const fault = findJsonFault(text)
  return fault && `${fault.line}:${fault.column} ${fault.expected}`
}

test('a JSON fault has its line, column and the expected token', () => {
  const cases = [
    { text: '', fault: '1:1 a value' },
    { text: '{', fault: '1:2 a field name in double quotes or "}"' },
    { text: '{"a":}', fault: '1:6 a value' },
    { text: '{"a" 1}', fault: '1:6 ":"' },
    { text: '{"a":1,}', fault: '1:8 a field name in double quotes' },
    { text: "{'a':1}", fault: '1:2 a field name in double quotes or "}"' },
    { text: '{"a":01}', fault: '1:6 a value' },
    { text: '{"a":NaN}', fault: '1:6 a value' },
    { text: '{"a":[1 2]}', fault: '1:9 "," or "]"' },
    { text: '{"a":[1,]}', fault: '1:9 a value' },
    { text: '{"a":[}', fault: '1:7 a value or "]"' },
    { text: '{"a":1', fault: '1:7 "," or "}"' },
    { text: '{}x', fault: '1:3 the end of the body' },
    { text: '{\n  "a": 1,\n  b: 2\n}', fault: '3:3 a field name in double quotes' },
    { text: '{"a":"\\x"}', fault: '1:7 the end of a string, without control characters and with valid escapes' },
    { text: '{"a":"b\n"}', fault: '1:8 the end of a string, without control characters and with valid escapes' },
  ]
  for (const { text, fault } of cases) assert.equal(faultOf(text), fault, text)
})

test('valid JSON has no fault', () => {
  const valid = ['{}', ' [] ', '0', '-1.5e+3', 'null', '"\\u0041\\n\u{1f680}"', '{"a":[1,{"b":true}],"c":"\\""}\n']
  for (const text of valid) {
    JSON.parse(text)
    assert.equal(faultOf(text), undefined, text)
  }
})

test('a body of 256 KiB is scanned in less than a second of processor time', () => {
  const started = process.cpuUsage()
  for (const text of [
    `"${'\\n'.repeat(130_000)}`,
    '['.repeat(262_144),
    `[${'1,'.repeat(131_000)}`,
    `"${'a'.repeat(262_000)}`,
  ])
    assert.ok(findJsonFault(text))
  assert.ok(process.cpuUsage(started).user < 1_000_000)
})

const signed = () => Promise.resolve(undefined)

test('an operation is handled with the authentication of its audience', () => {
  assert.equal(audienceHandler({ signed }, 'getCustomer', 'signed'), signed)
})

test('an operation whose audience has no authentication is not served', () => {
  for (const audience of ['public', 'session', 'staff'] as const)
    assert.throws(() => audienceHandler({ signed }, 'listCases', audience), /listCases .* authenticates: /)
})

const start = new Date('2026-01-01T00:00:00Z')

test('beyond 1,000 refusals at once and 20 a second, connections of that address alone are closed after a delay', () => {
  const clock = createManualClock(start)
  const refusals = createRefusalBudget(clock)
  const count = (times: number, ip: string) =>
    Array.from({ length: times }, () => refusals.count(new Socket(), ip)).filter(
      ({ isLast, delayMs }) => isLast && delayMs > 0,
    ).length
  assert.equal(count(1005, '192.0.2.1'), 5)
  assert.equal(count(1000, '192.0.2.2'), 0)
  clock.advance(1000)
  assert.equal(count(25, '192.0.2.1'), 5)
})

test('a connection closes with its 100th refusal', () => {
  const refusals = createRefusalBudget(createManualClock(start))
  const socket = new Socket()
  const closed = Array.from({ length: 101 }, (_, index) => refusals.count(socket, `192.0.2.${index}`).isLast)
  assert.deepEqual([closed.indexOf(true), closed.lastIndexOf(false)], [99, 98])
})

const file = { mediaType: 'application/jsonl', fileName: 'x.jsonl' }

/** Waits for `close`. Node's `once` would reject if an error comes first. */
const closeOf = (body: Readable) => new Promise<void>((resolve) => void body.once('close', resolve))

function source(parts: number, fail?: Error) {
  const state = { made: 0, ended: false, closed: 0 }
  async function* read() {
    try {
      for (; state.made < parts;) {
        state.made += 1
        yield Buffer.alloc(64 * 1024, 'x')
      }
      if (fail) throw fail
    } finally {
      state.ended = true
    }
  }
  return { state, stream: { ...file, read, closed: () => void (state.closed += 1) } }
}

test('a part of a stream is produced when the reader has consumed the previous part', async () => {
  const { state, stream } = source(50)
  let taken = 0
  let ahead = 0
  const reader = new Writable({
    highWaterMark: 1,
    write: (_chunk, _encoding, done) => {
      taken += 1
      ahead = Math.max(ahead, state.made - taken)
      setImmediate(done)
    },
  })
  await pipeline(createStreamReply(stream).body, reader)
  assert.equal(taken, 50)
  assert.ok(ahead <= 2, `${ahead} parts were made ahead of the reader`)
  assert.deepEqual([state.ended, state.closed], [true, 1])
})

test('a disconnect of the client ends the source and calls `closed` once', async () => {
  const { state, stream } = source(50)
  const { body } = createStreamReply(stream)
  await once(body, 'readable')
  body.read()
  body.destroy()
  await once(body, 'close')
  assert.ok(state.made < 5)
  assert.equal(state.closed, 1)
})

test('a client that does not read is disconnected, and an answer that is never sent is destroyed', async () => {
  for (const isRead of [true, false]) {
    const { state, stream } = source(50)
    const { body } = createStreamReply(stream, 5)
    if (isRead) body.read(0)
    await closeOf(body)
    assert.ok(body.destroyed && state.made < 5)
    assert.equal(state.closed, 1)
  }
})

test('an error of the source breaks the stream', async () => {
  const { state, stream } = source(3, new Error('the database is away'))
  const sink = new Writable({ write: (_chunk, _encoding, done) => done() })
  await assert.rejects(pipeline(createStreamReply(stream).body, sink), /the database is away/)
  assert.equal(state.closed, 1)
})
