import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Records, startDnsServer } from '../../../../test/support/dns-server.ts'
import { okResponse, sendOnce, startTcpReceiver } from '../../../../test/support/exchange.ts'
import { createResolver } from './resolver.ts'

const zone = new Map<string, Records>()
let dns: Awaited<ReturnType<typeof startDnsServer>>
before(async () => {
  dns = await startDnsServer((name, type) => zone.get(`${name} ${type}`) ?? 'nxdomain')
})
after(() => dns.close())

const resolver = () => createResolver({ servers: [dns.server] })
const refusal = 'the endpoint has an address that is not public'

test('returns all IPv4 and IPv6 addresses, IPv4 first', async () => {
  zone.set('both.test A', ['93.184.216.34', '93.184.216.35']).set('both.test AAAA', ['2606:2800:220:1::1'])
  assert.deepEqual(await resolver()('both.test'), ['93.184.216.34', '93.184.216.35', '2606:2800:220:1::1'])
})

test('returns the addresses of one family when the query for the other fails or is empty', async () => {
  for (const [index, other] of ([[], 'nxdomain', 'servfail'] as const).entries()) {
    zone.set(`four${index}.test A`, ['93.184.216.34']).set(`four${index}.test AAAA`, other)
    zone.set(`six${index}.test A`, other).set(`six${index}.test AAAA`, ['2606:2800:220:1::1'])
    assert.deepEqual(await resolver()(`four${index}.test`), ['93.184.216.34'])
    assert.deepEqual(await resolver()(`six${index}.test`), ['2606:2800:220:1::1'])
  }
})

test('a name without addresses is ENOTFOUND, a failing name server is EAI_AGAIN', async () => {
  zone.set('empty.test A', []).set('empty.test AAAA', [])
  zone.set('broken.test A', 'servfail').set('broken.test AAAA', 'servfail')
  zone.set('half.test A', []).set('half.test AAAA', 'servfail')
  const code = (name: string) =>
    assert.rejects(resolver()(name), (error) => (error as { code?: string }).code === codes[name])
  const codes: Readonly<Record<string, string>> = {
    'nowhere.test': 'ENOTFOUND',
    'empty.test': 'ENOTFOUND',
    'broken.test': 'EAI_AGAIN',
    'half.test': 'EAI_AGAIN',
  }
  for (const name of Object.keys(codes)) await code(name)
})

test('concurrent lookups of a name share one query, and a later lookup queries again', async () => {
  zone.set('shared.test A', ['93.184.216.34'])
  const resolve = resolver()
  const queryCount = () => dns.queries.filter((each) => each === 'shared.test A').length
  await Promise.all(Array.from({ length: 20 }, () => resolve('shared.test')))
  assert.equal(queryCount(), 1)
  await resolve('shared.test')
  assert.equal(queryCount(), 2)
})

test('localhost resolves to loopback without a query', async () => {
  const before = dns.queries.length
  assert.deepEqual(await resolver()('localhost'), ['127.0.0.1', '::1'])
  assert.deepEqual(await resolver()('api.localhost'), ['127.0.0.1', '::1'])
  assert.equal(dns.queries.length, before)
})

test('a hundred names with unresponsive servers do not delay another name', async () => {
  zone.set('well.test A', ['93.184.216.34'])
  const resolve = resolver()
  const silent = Array.from({ length: 100 }, (_, index) => `silent${index}.test`)
  for (const name of silent) zone.set(`${name} A`, 'silent').set(`${name} AAAA`, 'silent')
  let ended = 0
  const waiting = silent.map((name) => resolve(name).catch(() => (ended += 1)))
  assert.deepEqual(await resolve('well.test'), ['93.184.216.34'])
  assert.equal(ended, 0, 'the other lookups are still under way')
  await Promise.all(waiting)
  assert.equal(ended, 100)
})

test('a name that alternates between allowed and private addresses is reached only at allowed ones', async () => {
  const receiver = await startTcpReceiver((socket) => socket.end(okResponse))
  try {
    const url = `http://flip.test:${receiver.port}/`
    const sendToFlip = () => sendOnce(url, { allowLoopback: true, resolve: resolver() })
    zone.set('flip.test A', ['127.0.0.1'])
    assert.equal((await sendToFlip()).status, 200)
    for (const records of [['10.0.0.1'], ['127.0.0.1', '10.0.0.1'], ['169.254.169.254'], ['100.100.100.200']]) {
      zone.set('flip.test A', records)
      assert.equal((await sendToFlip()).error, refusal, records.join())
    }
    zone.set('flip.test A', ['127.0.0.1']).set('flip.test AAAA', ['fd00::1'])
    assert.equal((await sendToFlip()).error, refusal, 'private only by IPv6')
    zone.set('flip.test AAAA', []).set('flip.test A', 'servfail')
    assert.equal((await sendToFlip()).error, 'the host name of the endpoint does not resolve at the moment')
    zone.set('flip.test A', 'nxdomain')
    assert.equal((await sendToFlip()).error, 'the host name of the endpoint does not resolve')
    zone.set('flip.test A', ['127.0.0.1'])
    assert.equal((await sendToFlip()).status, 200)
    assert.equal(receiver.connections(), 2)
  } finally {
    receiver.close()
  }
})
