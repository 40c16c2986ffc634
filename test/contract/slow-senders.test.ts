/** Clients that send slowly and have no valid signature: bounds of time and memory, while partners are served. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { success } from '../support/client.ts'
import { useService } from '../support/fixture.ts'
import { forgedHead, openSender, type SlowSender } from '../support/slow-sender.ts'
import { until } from '../support/until.ts'

const connectionsMax = 100
const bytesMax = 262_144
const service = await useService({
  env: {
    HEADERS_TIMEOUT_MS: '1500',
    BODY_TIMEOUT_MS: '3000',
    UNAUTHENTICATED_CONNECTIONS_MAX: String(connectionsMax),
    UNAUTHENTICATED_BYTES_MAX: String(bytesMax),
  },
})
const { client } = service
const senders: SlowSender[] = []
after(async () => {
  for (const { socket } of senders) socket.destroy()
})
const open = (text: string): SlowSender => {
  const sender = openSender(service.baseUrl, text)
  senders.push(sender)
  return sender
}
const count = (pattern: RegExp, among: readonly SlowSender[]) =>
  among.filter(({ received }) => pattern.test(received())).length

test('408 when the headers do not arrive in time', async () => {
  const sender = open('GET /v1/accounts HTTP/1.1\r\nHost: localhost\r\nX-Slow: ')
  await sender.closed
  assert.match(sender.received(), /^HTTP\/1\.1 408 /)
  assert.match(sender.received(), /"code":"request_timeout"/)
})

test('408 when a body that is sent byte by byte is not complete in time, and the connection ends', async () => {
  const sender = open(forgedHead(1000))
  const timer = setInterval(() => sender.socket.write('x'), 20)
  await sender.closed
  clearInterval(timer)
  assert.match(sender.received(), /^HTTP\/1\.1 408 /)
  assert.match(sender.received(), /"code":"request_timeout"/)
  assert.match(sender.received(), /^connection: close/im)
})

test('503 to the oldest incomplete bodies beyond the limit of bytes, and 200 to a partner meanwhile', async () => {
  const partBytes = 16_384
  const slow = Array.from({ length: 60 }, () => open(forgedHead(partBytes + 1) + 'x'.repeat(partBytes)))
  const refusedMin = slow.length - bytesMax / partBytes
  await until('the oldest bodies are refused', () => count(/^HTTP\/1\.1 503 /, slow) >= refusedMin)
  assert.ok(count(/"code":"overloaded"/, slow) >= refusedMin)
  assert.ok(count(/^retry-after: \d/im, slow) >= refusedMin)
  success(await client.post('/v1/customers', { email: 'prompt@example.com', customerType: 'Individual' }))
  assert.ok(count(/^HTTP/, slow) < slow.length, 'the newest bodies still wait')
})

test('the oldest connections without a signature are closed beyond the limit, and 200 to a partner meanwhile', async () => {
  const slow = Array.from({ length: 3 * connectionsMax }, () => open('GET /v1/accounts HTTP/1.1\r\nX-Slow: '))
  let closed = 0
  for (const sender of slow) void sender.closed.then(() => (closed += 1))
  await until('connections are closed', () => closed >= 2 * connectionsMax)
  for (let round = 0; round < 5; round += 1) success(await client.get('/v1/accounts'))
})

test('200 to a partner whose connections stay open, after all slow senders are gone', async () => {
  await until('the slow senders are gone', () => senders.every(({ socket }) => socket.destroyed))
  success(await client.get('/v1/accounts'))
})
