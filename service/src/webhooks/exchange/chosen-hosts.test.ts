/** Every kind of call to a chosen host, against hosts that are silent, slow, endless or forbidden: each keeps to its budget, and to its partner. */
import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { after, suite, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { startDnsServer } from '../../../../test/support/dns-server.ts'
import { okResponse, startTcpReceiver } from '../../../../test/support/exchange.ts'
import { until } from '../../../../test/support/until.ts'
import { admitted, Refusal } from '../../kernel/api/index.ts'
import { AssertionFailure, newId, randomBytes, systemClock } from '../../kernel/index.ts'
import { type ChosenCall, chosenCalls, type ChosenHosts, createChosenHosts, placesMax } from './chosen-hosts.ts'
import { createTxtResolver } from './resolver.ts'

const closing: (() => void)[] = []
after(() => closing.splice(0).forEach((close) => close()))

async function hostOf(serve: (socket: Socket) => unknown) {
  const host = await startTcpReceiver((socket) => void serve(socket))
  closing.push(host.close)
  return host
}
const silent = () => hostOf(() => undefined)
const open = () => createChosenHosts({ clock: systemClock, allowLoopback: true })

const get = { method: 'GET', headers: {} }
/** A call of each kind, as its caller makes it. */
const make: Readonly<Record<ChosenCall, (hosts: ChosenHosts, partnerId: string, url: string) => Promise<unknown>>> = {
  signOn: (hosts, partnerId, url) =>
    hosts.call('signOn', partnerId, new URL(url).host, async () => (await hosts.fetch(url, get)).status),
  domainRecord: (hosts, partnerId, url) => hosts.resolveTxt(partnerId, `${new URL(url).port}.example.com`),
  webhookTest: async (hosts, partnerId, url) => {
    const keys = [{ kind: 'v1', key: randomBytes(32) }] as const
    const { status, error } = await hosts.sendTest({ partnerId, url, keys, eventId: newId(), data: '{}', headers: {} })
    if (error !== undefined) throw new Error(error)
    return status
  },
}
const kinds = Object.keys(chosenCalls) as ChosenCall[]
const isRefused = (kind: ChosenCall) => (error: unknown) =>
  error instanceof Refusal && error.code === chosenCalls[kind].refusedAs && Number(error.headers['retry-after']) >= 1

/** Hosts for which the test gives name servers that never answer. */
async function withSilentNames() {
  const dns = await startDnsServer(() => 'silent')
  closing.push(() => dns.close())
  const resolveTxt = createTxtResolver({ servers: [dns.server] })
  return createChosenHosts({ clock: systemClock, allowLoopback: true, resolveTxt })
}

suite('calls to chosen hosts', { concurrency: true }, () => {
  test('each kind of call has a budget, and no call is made inside shared admission', async () => {
    const hosts = open()
    const host = await hostOf((socket) => socket.end(okResponse))
    assert.deepEqual(kinds.toSorted(), Object.keys(make).toSorted())
    for (const kind of kinds) {
      const { ofPartnerMax, timeoutMs } = chosenCalls[kind]
      assert.ok(
        ofPartnerMax * 8 <= placesMax && timeoutMs < 20_000,
        `${kind}: eight partners leave places to the others`,
      )
      await assert.rejects(
        admitted({}, () => make[kind](hosts, newId(), host.url)),
        AssertionFailure,
        kind,
      )
    }
    assert.equal(host.connections(), 0)
    await assert.rejects(hosts.fetch(host.url, get), AssertionFailure, 'a request outside of a call')
    assert.equal(await admitted({ callsChosenHost: true }, () => make.signOn(hosts, newId(), host.url)), 200)
  })

  for (const kind of kinds)
    test(`${kind}: silent hosts of a partner take its places only, and the next calls are refused at once`, async () => {
      const hosts = kind === 'domainRecord' ? await withSilentNames() : open()
      const host = await silent()
      const [partner, other] = [newId(), newId()]
      const { ofPartnerMax } = chosenCalls[kind]
      const waiting = Array.from({ length: ofPartnerMax }, () => make[kind](hosts, partner, host.url))
      const outcomes = Promise.allSettled(waiting)
      for (let round = 0; round < 20; round += 1)
        await assert.rejects(make[kind](hosts, partner, host.url), isRefused(kind))
      // Another name of the same partner takes the same places; another kind and another partner have their own.
      const elsewhere = await silent()
      await assert.rejects(make[kind](hosts, partner, elsewhere.url), isRefused(kind))
      const good = await hostOf((socket) => socket.end(okResponse))
      const otherKind = kind === 'signOn' ? 'webhookTest' : 'signOn'
      assert.equal(await make[otherKind](hosts, partner, good.url), 200)
      assert.equal(await make.signOn(hosts, other, good.url), 200)
      for (const outcome of await outcomes) {
        assert.equal(outcome.status, 'rejected')
        assert.ok(!isRefused(kind)(outcome.reason), 'a call that was made waits for its host')
      }
      assert.ok(host.connections() <= ofPartnerMax)
      assert.equal(await make.signOn(hosts, partner, good.url), 200)
    })

  test('a host that was slow too often rests, for its partner only, and is tried again by one call', async () => {
    const hosts = open()
    let isSilent = true
    const host = await hostOf((socket) => isSilent || socket.end(okResponse))
    const [partner, other] = [newId(), newId()]
    await Promise.allSettled(Array.from({ length: 8 }, () => make.signOn(hosts, partner, host.url)))
    const before = host.connections()
    await assert.rejects(make.signOn(hosts, partner, host.url), isRefused('signOn'))
    assert.equal(host.connections(), before, 'a host that rests is not called')
    isSilent = false
    assert.equal(await make.signOn(hosts, other, host.url), 200, 'the host of another partner')
    await until('the host is tried again', async () => {
      const tried = await Promise.allSettled([1, 2, 3].map(() => make.signOn(hosts, partner, host.url)))
      return tried.filter(({ status }) => status === 'fulfilled').length === 1
    })
    assert.deepEqual(await Promise.all([1, 2].map(() => make.signOn(hosts, partner, host.url))), [200, 200])
  })

  test('an endpoint whose tests were slow too often rests', async () => {
    const resolve = async () => {
      await pause(2100)
      throw Object.assign(new Error('the host name does not resolve'), { code: 'EAI_AGAIN' })
    }
    const hosts = createChosenHosts({ clock: systemClock, allowLoopback: true, resolve })
    const partner = newId()
    const round = () =>
      Promise.allSettled([1, 2, 3, 4].map(() => make.webhookTest(hosts, partner, 'https://hooks.example.com/')))
    const [first, second] = [await round(), await round()]
    for (const outcome of [...first, ...second])
      assert.ok(outcome.status === 'rejected' && !isRefused('webhookTest')(outcome.reason))
    await assert.rejects(make.webhookTest(hosts, partner, 'https://hooks.example.com/'), isRefused('webhookTest'))
  })

  test('hosts that fail at once never rest: a wrong answer keeps no person from signing in', async () => {
    const hosts = open()
    const partner = newId()
    const host = await hostOf((socket) => socket.destroy())
    for (let round = 0; round < 20; round += 1)
      await assert.rejects(make.signOn(hosts, partner, host.url), (error) => !isRefused('signOn')(error))
  })

  test('many hosts of many partners together take no more than all places', async () => {
    const hosts = open()
    const host = await silent()
    const partners = Array.from({ length: placesMax / chosenCalls.signOn.ofPartnerMax }, () => newId())
    const waiting = partners.flatMap((partner) =>
      Array.from({ length: chosenCalls.signOn.ofPartnerMax }, () => make.signOn(hosts, partner, host.url)),
    )
    const outcomes = Promise.allSettled(waiting)
    await assert.rejects(make.signOn(hosts, newId(), host.url), isRefused('signOn'))
    await outcomes
    const good = await hostOf((socket) => socket.end(okResponse))
    assert.equal(await make.signOn(hosts, newId(), good.url), 200)
  })

  test('a slow drip and an endless answer end, and a redirect is not followed', async () => {
    const hosts = open()
    const timers: NodeJS.Timeout[] = []
    closing.push(() => timers.forEach(clearInterval))
    const drip = await hostOf((socket) => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n')
      timers.push(setInterval(() => socket.write('a'), 20))
    })
    const endless = await hostOf((socket) => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n')
      const write = () => {
        while (!socket.destroyed && socket.write('x'.repeat(65_536)));
        if (!socket.destroyed) socket.once('drain', write)
      }
      write()
    })
    const target = await hostOf((socket) => socket.end(okResponse))
    const redirect = await hostOf((socket) =>
      socket.end(`HTTP/1.1 302 Found\r\nlocation: ${target.url}\r\ncontent-length: 0\r\n\r\n`),
    )
    await assert.rejects(make.signOn(hosts, newId(), drip.url))
    await assert.rejects(make.signOn(hosts, newId(), endless.url), TypeError)
    assert.equal(await make.signOn(hosts, newId(), redirect.url), 302)
    assert.equal(target.connections(), 0)
    await until('the connections are closed', () => drip.open() + endless.open() === 0)
  })

  test('a request of a call reads on after a `100 Continue`', async () => {
    const host = await hostOf((socket) => socket.end(`HTTP/1.1 100 Continue\r\n\r\n${okResponse}`))
    for (const isTrusted of [false, true]) {
      const hosts = createChosenHosts({ clock: systemClock, allowLoopback: true, isTrusted })
      assert.equal(await make.signOn(hosts, newId(), host.url), 200)
    }
  })

  test('in production no call reaches an address that is not public', async () => {
    const hosts = createChosenHosts({ clock: systemClock, allowLoopback: false })
    const host = await silent()
    for (const url of [
      host.url,
      'https://10.0.0.1/',
      'https://169.254.169.254/',
      'https://[::1]/',
      'https://localhost/',
    ])
      for (const kind of ['signOn', 'webhookTest'] as const) await assert.rejects(make[kind](hosts, newId(), url), kind)
    assert.equal(host.connections(), 0)
  })
})
