import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { afterEach, test } from 'node:test'
import { type SigningKey, verifyingKeyText } from '@partner-payments/wire'
import { verifyWebhook, WebhookVerificationError } from '../../../../sdk/src/index.ts'
import {
  claimOf,
  connectionFree,
  exchangeOf,
  okAnswer,
  postBy,
  postOnce,
  sendBy,
  startPeer,
} from '../../../../test/support/exchange.ts'
import { until } from '../../../../test/support/until.ts'
import { randomBytes } from '../../kernel/index.ts'
import type { ExchangeOptions } from './exchange.ts'

const closing: (() => void)[] = []
afterEach(() => closing.splice(0).forEach((close) => close()))

async function receiver(...given: Parameters<typeof startPeer>) {
  const peer = await startPeer(...given)
  closing.push(peer.close)
  return peer
}

/** To a receiver of its own, that does as `serve` says. */
async function postTo(serve: Parameters<typeof startPeer>[0], options: Partial<ExchangeOptions> = {}, data?: string) {
  const peer = await receiver(serve)
  return { peer, ...(await postOnce(peer.url, { allowLoopback: true, ...options }, data)) }
}

const late = 'no complete answer within 200 ms'
const cut = 'the endpoint closed the connection before its answer was complete'

/** Writes until the other side has had enough, and counts what left. */
function pour(socket: Socket, chunk: Buffer, bytesMax: number): () => number {
  let taken = 0
  const more = () => {
    while (!socket.destroyed && taken < bytesMax) {
      taken += chunk.length
      if (!socket.write(chunk)) return void socket.once('drain', more)
    }
  }
  more()
  return () => taken
}

const gigabyte = 2 ** 30
/** What may lie in the buffers of two sockets, far from the gigabyte. */
const buffered = 16 * 2 ** 20

test('the request is a POST of exactly the envelope, and nothing of the answer is lost', async () => {
  let asked = ''
  const result = await postTo((socket, first) => {
    asked = first.toString()
    socket.end('HTTP/1.1 202 Accepted\r\nretry-after: 7\r\ncontent-length: 6\r\n\r\nth\u00e9y!')
  })
  const [head = '', body] = asked.split('\r\n\r\n')
  assert.match(body ?? '', /^\{"eventId":"[0-9a-f-]{36}","data":\{"reference":"R","status":"s"\}\}$/)
  assert.match(head, /^POST \/hook HTTP\/1\.1\r\n/)
  assert.match(head, new RegExp(`\\r\\ncontent-length: ${body?.length}`))
  const { status, responseBody, retryAfter, address, error } = result
  assert.deepEqual([status, responseBody, retryAfter, address, error], [202, 'th\u00e9y!', '7', '127.0.0.1', undefined])
})

test('a signature for each key, of either kind; each verifies by itself with its own key only', async () => {
  let asked = ''
  const peer = await receiver((socket, first) => {
    asked = first.toString()
    socket.end(okAnswer)
  })
  const keys: SigningKey[] = (['v1', 'v1a', 'v1', 'v1a'] as const).map((kind) => ({ kind, key: randomBytes(32) }))
  const exchange = exchangeOf({ allowLoopback: true })
  await postBy(exchange, { ...claimOf(peer.url), target: { url: peer.url, keys } })
  await exchange.close()
  const [head = '', body = ''] = asked.split('\r\n\r\n')
  const headers = new Headers(
    head
      .split('\r\n')
      .slice(1)
      .map((line) => line.split(': ') as [string, string]),
  )
  const signatures = headers.get('webhook-signature')?.split(' ') ?? []
  assert.deepEqual(
    signatures.map((signature) => signature.split(',')[0]),
    keys.map(({ kind }) => kind),
  )
  assert.equal(headers.get('webhook-id'), (JSON.parse(body) as { eventId: string }).eventId)
  for (const [index, key] of keys.entries()) {
    verifyWebhook(verifyingKeyText(key), headers, body)
    const others = new Headers(headers)
    others.set('webhook-signature', signatures.toSpliced(index, 1).join(' '))
    assert.throws(() => verifyWebhook(verifyingKeyText(key), others, body), WebhookVerificationError)
  }
})

test('the time limit is on the whole: an endpoint that hangs after any part of its answer', async () => {
  const parts = [
    '',
    'HTTP/1.1 ',
    'HTTP/1.1 200 OK\r\ncontent-le',
    'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n',
    'HTTP/1.1 103 Early Hints\r\n\r\n',
  ]
  for (const part of parts) {
    const { error, status, peer } = await postTo((socket) => socket.write(part), { timeoutMs: 200 })
    assert.deepEqual([error, status], [late, part.endsWith('9\r\n\r\n') ? 200 : undefined], part)
    await until('the connection is closed', () => peer.open() === 0)
  }
})

test('the time limit is on the whole: an endpoint that takes the connection and not the request, or no TLS', async () => {
  const deaf = await receiver(() => undefined)
  const result = await postOnce(deaf.url.replace('http:', 'https:'), { allowLoopback: true, timeoutMs: 200 })
  assert.match(
    result.error ?? '',
    /^no complete answer within 200 ms$|^the endpoint did not accept the connection in time$/,
  )
  await until('the connection is closed', () => deaf.open() === 0)
})

test('a byte at a time, of the headers or of the body, is no way around the time limit', async () => {
  for (const head of [
    'HTTP/1.1 200 OK\r\nx: ',
    'HTTP/1.1 200 OK\r\n\r\n',
    'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nffff;a=',
  ]) {
    const timers: NodeJS.Timeout[] = []
    const { error, peer } = await postTo(
      (socket) => {
        socket.write(head)
        timers.push(setInterval(() => socket.write('a'), 5))
      },
      { timeoutMs: 200 },
    )
    timers.forEach(clearInterval)
    assert.equal(error, late, head)
    await until('the connection is closed', () => peer.open() === 0)
  }
})

test('of a gigabyte 64 KiB are read and 8 KiB kept, however it is framed', async () => {
  const chunk = Buffer.alloc(65_536, 'x')
  const framed = Buffer.concat([Buffer.from('10000\r\n'), chunk, Buffer.from('\r\n')])
  for (const [head, part] of [
    [`content-length: ${gigabyte}`, chunk],
    ['connection: close', chunk],
    ['transfer-encoding: chunked', framed],
  ] as const) {
    let taken = () => 0
    const { status, error, responseBody, peer } = await postTo((socket) => {
      socket.write(`HTTP/1.1 200 OK\r\n${head}\r\n\r\n`)
      taken = pour(socket, part, gigabyte)
    })
    assert.deepEqual([status, error, responseBody], [200, undefined, 'x'.repeat(8192)], head)
    await until('the connection is closed', () => peer.open() === 0)
    assert.ok(taken() < buffered, `${head}: ${taken()} bytes left the receiver`)
  }
})

test('a gigabyte of headers, of garbage, or of answers that are not final, is not read either', async () => {
  const pouring: readonly (readonly [string, Buffer])[] = [
    ['the headers of the answer are too large', Buffer.from(`x: ${'y'.repeat(1020)}\r\n`)],
    ['the answer is not valid HTTP', Buffer.alloc(65_536, '\u0000')],
  ]
  for (const [reason, chunk] of pouring) {
    let taken = () => 0
    const { status, error, peer } = await postTo((socket) => {
      if (reason.includes('headers')) socket.write('HTTP/1.1 200 OK\r\n')
      taken = pour(socket, chunk, gigabyte)
    })
    assert.deepEqual([status, error], [undefined, reason])
    await until('the connection is closed', () => peer.open() === 0)
    assert.ok(taken() < buffered, `${taken()} bytes left the receiver`)
  }
})

test('a body in eight thousand pieces is kept whole, and costs what it weighs', async () => {
  const pieces = 8000
  const { responseBody, error } = await postTo((socket) => {
    socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n')
    for (let piece = 0; piece < pieces; piece += 1) socket.write('1\r\nz\r\n')
    socket.end('0\r\n\r\n')
  })
  assert.deepEqual([responseBody, error], ['z'.repeat(pieces), undefined])
})

test('an answer that is cut off is a failure that keeps what came', async () => {
  for (const [answer, status, responseBody] of [
    ['', undefined, undefined],
    ['HTTP/1.1 200 OK\r\ncont', undefined, undefined],
    ['HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nten bytes.', 200, 'ten bytes.'],
    ['HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nfives\r\n', 200, 'fives'],
  ] as const) {
    const result = await postTo((socket) => socket.end(answer))
    assert.deepEqual([result.status, result.responseBody, result.error], [status, responseBody, cut], answer)
  }
})

test('garbage, an upgrade and a wrong chunk are failures; text is kept as text', async () => {
  for (const answer of [
    'SSH-2.0-OpenSSH_9.9\r\n',
    '<html>',
    'HTTP/9.9 200 OK\r\n\r\n',
    'HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n',
  ]) {
    const { error, status } = await postTo((socket) => socket.end(answer))
    assert.deepEqual([error, status], ['the answer is not valid HTTP', undefined], answer)
  }
  const upgrade = await postTo((socket) =>
    socket.end('HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'),
  )
  assert.ok(upgrade.error)
  const chunk = await postTo((socket) => socket.end('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n'))
  assert.deepEqual([chunk.error, chunk.status], ['the answer is not valid HTTP', 200])
  const bytes = await postTo((socket) => socket.end(Buffer.from('HTTP/1.1 200 OK\r\n\r\na\u0000\u00ff', 'latin1')))
  assert.equal(bytes.responseBody, 'a\uFFFD\uFFFD')
})

test('a redirect is answered as it is, and not followed', async () => {
  const target = await receiver((socket) => socket.end(okAnswer))
  for (const status of [301, 302, 303, 307, 308]) {
    const result = await postTo((socket) =>
      socket.end(`HTTP/1.1 ${status} Elsewhere\r\nlocation: ${target.url}\r\ncontent-length: 0\r\n\r\n`),
    )
    assert.deepEqual([result.status, result.error], [status, undefined])
  }
  assert.equal(target.connections(), 0)
})

test('an answer that is not final is waited past', async () => {
  const { status, error } = await postTo((socket) =>
    socket.end(`HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n${okAnswer}`),
  )
  assert.deepEqual([status, error], [200, undefined])
})

test('an event of more than 64 KiB is not sent, and one of that size is', async () => {
  const envelopeBytes = '{"eventId":"","data":}'.length + 36
  const fits = `"${'x'.repeat(65_536 - envelopeBytes - 2)}"`
  const serve = (socket: Socket, first: Buffer) => {
    let bytes = first.length - first.indexOf('\r\n\r\n') - 4
    const count = (more: Buffer) => {
      bytes += more.length
      if (bytes === 65_536) socket.end(okAnswer)
    }
    socket.on('data', count)
    count(Buffer.alloc(0))
  }
  assert.equal((await postTo(serve, {}, fits)).status, 200)
  const { error, peer } = await postTo(serve, {}, `${fits} `)
  assert.deepEqual([error, peer.connections()], ['the event has more than 65536 bytes', 0])
})

test('abandoned, it ends at once without a word, and so does whatever is sent after', async () => {
  const peer = await receiver(() => undefined)
  const exchange = exchangeOf({ allowLoopback: true })
  const sent = [1, 2, 3].map(() => sendBy(exchange, claimOf(peer.url)))
  await until('under way', () => peer.open() === 3)
  exchange.abandon()
  assert.deepEqual(await Promise.all(sent), [undefined, undefined, undefined])
  assert.equal(await sendBy(exchange, claimOf(peer.url)), undefined)
  await until('their connections are closed', () => peer.open() === 0)
  await exchange.close()
})

test('closing ends what is under way, even a look-up', async () => {
  const exchange = exchangeOf({ resolve: () => new Promise(() => undefined), timeoutMs: 300 })
  const post = postBy(exchange, claimOf('https://hooks.test/'))
  await exchange.close()
  assert.ok((await post).error)
})

test('a connection is used again after an answer of any kind that was read to its end', async () => {
  const answers = [okAnswer, 'HTTP/1.1 500 No\r\ncontent-length: 4\r\n\r\noops', okAnswer]
  const peer = await receiver((socket) => {
    const answer = () => socket.write(answers.shift() ?? '')
    answer()
    socket.on('data', answer)
  })
  const exchange = exchangeOf({ allowLoopback: true })
  const statuses: unknown[] = []
  for (let turn = 0; turn < 3; turn += 1) {
    statuses.push((await postBy(exchange, claimOf(peer.url))).status)
    await connectionFree()
  }
  await exchange.close()
  assert.deepEqual([statuses, peer.connections()], [[200, 500, 200], 1])
})
