import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Records, startDnsServer } from '../../../../test/support/dns-server.ts'
import { okAnswer, postOnce, startPeer } from '../../../../test/support/exchange.ts'
import { createResolver } from './resolver.ts'

const zone = new Map<string, Records>()
let dns: Awaited<ReturnType<typeof startDnsServer>>
before(async () => {
  dns = await startDnsServer((name, type) => zone.get(`${name} ${type}`) ?? 'nxdomain')
})
after(() => dns.close())

const resolver = () => createResolver({ servers: [dns.server] })
const refusal = 'the endpoint has an address that may not be called'

test('every address of either kind is answered, IPv4 first', async () => {
  zone.set('both.test A', ['93.184.216.34', '93.184.216.35']).set('both.test AAAA', ['2606:2800:220:1::1'])
  assert.deepEqual(await resolver()('both.test'), ['93.184.216.34', '93.184.216.35', '2606:2800:220:1::1'])
})

test('a name with addresses of one kind has those, whatever becomes of the question for the other', async () => {
  for (const [index, other] of ([[], 'nxdomain', 'servfail'] as const).entries()) {
    zone.set(`four${index}.test A`, ['93.184.216.34']).set(`four${index}.test AAAA`, other)
    zone.set(`six${index}.test A`, other).set(`six${index}.test AAAA`, ['2606:2800:220:1::1'])
    assert.deepEqual(await resolver()(`four${index}.test`), ['93.184.216.34'])
    assert.deepEqual(await resolver()(`six${index}.test`), ['2606:2800:220:1::1'])
  }
})

test('a name that is not there is told from one that cannot be told now', async () => {
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

test('connections that begin together share one question, and the next one asks again', async () => {
  zone.set('shared.test A', ['93.184.216.34'])
  const resolve = resolver()
  const asked = () => dns.asked.filter((each) => each === 'shared.test A').length
  await Promise.all(Array.from({ length: 20 }, () => resolve('shared.test')))
  assert.equal(asked(), 1)
  await resolve('shared.test')
  assert.equal(asked(), 2)
})

test('localhost is loopback without a question to anybody', async () => {
  const before = dns.asked.length
  assert.deepEqual(await resolver()('localhost'), ['127.0.0.1', '::1'])
  assert.deepEqual(await resolver()('api.localhost'), ['127.0.0.1', '::1'])
  assert.equal(dns.asked.length, before)
})

test('a hundred names whose servers are silent do not hold up another', async () => {
  zone.set('well.test A', ['93.184.216.34'])
  const resolve = resolver()
  const silent = Array.from({ length: 100 }, (_, index) => `silent${index}.test`)
  for (const name of silent) zone.set(`${name} A`, 'silent').set(`${name} AAAA`, 'silent')
  let ended = 0
  const waiting = silent.map((name) => resolve(name).catch(() => (ended += 1)))
  assert.deepEqual(await resolve('well.test'), ['93.184.216.34'])
  assert.equal(ended, 0, 'they are still waited for')
  await Promise.all(waiting)
  assert.equal(ended, 100)
})

test('a name that flips between public and private is reached only while it is what it should be', async () => {
  const peer = await startPeer((socket) => socket.end(okAnswer))
  try {
    const url = `http://flip.test:${peer.port}/`
    const post = () => postOnce(url, { allowLoopback: true, resolve: resolver() })
    zone.set('flip.test A', ['127.0.0.1'])
    assert.equal((await post()).status, 200)
    for (const records of [['10.0.0.1'], ['127.0.0.1', '10.0.0.1'], ['169.254.169.254'], ['100.100.100.200']]) {
      zone.set('flip.test A', records)
      assert.equal((await post()).error, refusal, records.join())
    }
    zone.set('flip.test A', ['127.0.0.1']).set('flip.test AAAA', ['fd00::1'])
    assert.equal((await post()).error, refusal, 'private by IPv6 alone')
    zone.set('flip.test AAAA', []).set('flip.test A', 'servfail')
    assert.equal((await post()).error, 'the name of the endpoint does not resolve at the moment')
    zone.set('flip.test A', 'nxdomain')
    assert.equal((await post()).error, 'the name of the endpoint does not resolve')
    zone.set('flip.test A', ['127.0.0.1'])
    assert.equal((await post()).status, 200)
    assert.equal(peer.connections(), 2)
  } finally {
    peer.close()
  }
})
