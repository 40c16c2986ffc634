import assert from 'node:assert/strict'
import { type IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { Refusal } from '../../kernel/api/index.ts'
import { createBodyBuffer } from './body.ts'
import { createIncoming } from './incoming.ts'

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

test('a body that arrives byte by byte holds at most twice its bytes, and nothing after the end', () => {
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
  const incoming = createIncoming({ ...limits, unauthenticatedConnectionsMax: 100 })
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

test('the connection that has waited longest is closed beyond the bound, except while its signature is verified', () => {
  const incoming = createIncoming(limits)
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

test('a connection with a verified signature is not closed, and its incomplete bodies count', async () => {
  const incoming = createIncoming(limits)
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
  const incoming = createIncoming({ ...limits, bodyTimeoutMs: 20 })
  const message = newMessage(newSocket())
  incoming.open(message.socket)
  await assert.rejects(incoming.read(message), refusedAs('request_timeout'))
})
