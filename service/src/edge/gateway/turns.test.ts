import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { test, type TestContext } from 'node:test'
import { takeTurns } from './turns.ts'

async function openServer(t: TestContext, listener: RequestListener, unreadMsMax?: number): Promise<() => Socket> {
  const server = createServer(listener)
  takeTurns(server, unreadMsMax)
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

/** Reads until the server closes. */
async function readAll(socket: Socket): Promise<string> {
  let received = ''
  socket.on('data', (bytes) => (received += bytes.toString('latin1')))
  await once(socket, 'close')
  return received
}
const bodies = (received: string) => [...received.matchAll(/\r\n\r\n<(\w+)>/g)].map((match) => match[1])

test('pipelined requests of a connection begin one after another, each after the answer before it', async (t) => {
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

test('bodies between pipelined requests arrive whole, however the bytes are cut', async (t) => {
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

test('nothing begins behind an answer that is not read, and its connection is closed', async (t) => {
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

test('an answer that takes its time has no time limit of an unread one', async (t) => {
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

test('another connection is answered while one sends thousands of requests', async (t) => {
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
