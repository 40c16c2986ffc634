import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { createManualClock } from '../../../../test/support/clock.ts'
import type { PublicRoute } from '../../kernel/api/index.ts'
import { createLog } from '../../kernel/index.ts'
import { createClientAddress } from './client-address.ts'
import { createSiteListener } from './site-listener.ts'

test('the address is the first one that no trusted proxy has, and nothing further out counts', () => {
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

test('without proxies the header is not read', () => {
  for (const proxies of [undefined, []])
    assert.equal(createClientAddress(proxies)('127.0.0.1', '203.0.113.7'), '127.0.0.1')
})

test('pages behind a named proxy get the address of the client, and each client has its own rate', async () => {
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
