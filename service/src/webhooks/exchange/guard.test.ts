/** The guard of addresses, the resolver and the proxy. */
import assert from 'node:assert/strict'
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net'
import { after, afterEach, suite, test } from 'node:test'
import { createServer as createTlsServer, getCACertificates, setDefaultCACertificates } from 'node:tls'
import { createServer as createHttpServer, type IncomingMessage, type Server } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import {
  connectionFree,
  exchangeOf,
  okResponse,
  publicAddress,
  receiversPem,
  requestTo,
  send,
  sendOnce,
  startTcpReceiver,
  type TcpReceiver,
} from '../../../../test/support/exchange.ts'
import { startEndpoint } from '../../../../test/support/webhooks.ts'
import type { Resolve } from '../index.ts'
import { type Records, startDnsServer } from '../../../../test/support/dns-server.ts'
import { createResolver } from './resolver.ts'
import { until } from '../../../../test/support/until.ts'
import { readProxy } from './proxy.ts'

const refusal = 'the endpoint has an address that is not public'

/** Listens on loopback, closes every connection and counts them. */
async function startListener() {
  let connections = 0
  const server = createTcpServer((socket) => {
    connections += 1
    socket.destroy()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return { port, connections: () => connections, close: () => server.close() }
}

const words = (text: string): readonly string[] => text.trim().split(/\s+/)

/** Addresses of each forbidden range, and many spellings of loopback. */
const literals = words(`
  127.0.0.1 2130706433 0x7f.1 0x7f000001 0177.1 0177.0.0.01 017700000001 127.1 127.0.1 127.0.0.1.
  %31%32%37.0.0.1 １２７.0.0.1 127。0。0。1
  0 0.0.0.0 0x0 0x0a000001 012.1 10.0.0.1 172.16.0.1 192.168.0.1 100.64.0.1 100.100.100.200 169.254.169.254
  168.63.129.16 192.0.0.192 192.0.2.1 192.88.99.1 198.18.0.1 198.51.100.1 203.0.113.1 224.0.0.1 240.0.0.1
  255.255.255.255
  [::] [::1] [0:0:0:0:0:0:0:1] [::127.0.0.1] [::ffff:127.0.0.1] [::ffff:7f00:1] [::ffff:10.0.0.1]
  [0:0:0:0:0:ffff:a9fe:a9fe] [::ffff:0:127.0.0.1] [64:ff9b::7f00:1] [64:ff9b::10.0.0.1] [64:ff9b:1::a00:1]
  [2002:7f00:1::] [2002:a00:1::1] [2001:0:7f00:1::] [2001::1] [fe80::1] [febf::1] [fec0::1] [fc00::1]
  [fd00:ec2::254] [ff02::1] [100::1] [2001:db8::1] [3fff::1] [5f00::1] [2001:2::1] [2001:20::1] [4000::1]
`)

test('address literals that are not public get no connection, in any spelling', async () => {
  const listener = await startListener()
  try {
    for (const host of literals) {
      for (const protocol of ['http', 'https']) {
        const { error, status } = await sendOnce(`${protocol}://${host}:${listener.port}/`)
        assert.deepEqual([error, status], [refusal, undefined], host)
      }
    }
    assert.equal(listener.connections(), 0)
  } finally {
    listener.close()
  }
})

test('a name with any address that is not public gets no connection', async () => {
  const listener = await startListener()
  try {
    for (const addresses of [
      ['127.0.0.1'],
      ['10.1.2.3'],
      ['::1'],
      ['93.184.216.34', '127.0.0.1'],
      ['93.184.216.34', '93.184.216.35', '2606:2800:220:1::1', '::ffff:10.0.0.1'],
      ['64:ff9b::7f00:1'],
      ['fe80::1%lo'],
      ['2606:2800:220:1::1%lo'],
      ['not an address'],
      [''],
      [],
    ]) {
      const { error } = await sendOnce(`https://hooks.test:${listener.port}/`, { resolve: async () => addresses })
      assert.equal(error, refusal, addresses.join())
    }
    assert.equal(listener.connections(), 0)
  } finally {
    listener.close()
  }
})

test('a URL cannot contain an IPv6 zone', () => {
  for (const text of ['https://[fe80::1%25lo]/', 'https://[fe80::1%lo]/']) assert.throws(() => new URL(text), TypeError)
})

test('a public address requires https, also when loopback is allowed', async () => {
  const mustUseHttps = 'the endpoint must use https'
  const resolve: Resolve = async () => ['93.184.216.34']
  for (const allowLoopback of [false, true]) {
    assert.equal((await sendOnce('http://93.184.216.34/', { allowLoopback })).error, mustUseHttps)
    assert.equal((await sendOnce('http://hooks.test/', { allowLoopback, resolve })).error, mustUseHttps)
  }
  const both: Resolve = async () => ['127.0.0.1', '93.184.216.34']
  assert.equal((await sendOnce('http://hooks.test/', { allowLoopback: true, resolve: both })).error, mustUseHttps)
})

test('private addresses remain forbidden when loopback is allowed', async () => {
  const { error } = await sendOnce('http://hooks.test/', { allowLoopback: true, resolve: async () => ['10.1.2.3'] })
  assert.equal(error, refusal)
})

test('the name is resolved once, and the connection goes to the checked address', async () => {
  const endpoint = await startEndpoint()
  let lookups = 0
  const resolve: Resolve = async () => {
    lookups += 1
    return lookups === 1 ? ['127.0.0.1'] : ['10.1.2.3']
  }
  try {
    const { port } = new URL(endpoint.url)
    const result = await sendOnce(`http://hooks.test:${port}/a`, { allowLoopback: true, resolve })
    assert.deepEqual([result.status, result.address, lookups], [200, '127.0.0.1', 1])
    assert.equal(endpoint.received[0]?.headers.host, `hooks.test:${port}`)
  } finally {
    await endpoint.close()
  }
})

test('a dead first address leaves time for the next', async () => {
  const endpoint = await startEndpoint()
  try {
    const { port } = new URL(endpoint.url)
    // The endpoint listens on 127.0.0.1 alone.
    const resolve: Resolve = async () => ['::1', '127.0.0.2', '127.0.0.1']
    const result = await sendOnce(`http://hooks.test:${port}/`, { allowLoopback: true, resolve })
    assert.deepEqual([result.status, result.address], [200, '127.0.0.1'])
  } finally {
    await endpoint.close()
  }
})

test('TLS sends the host name although the connection is made by address', async () => {
  const names: string[] = []
  const server = createTlsServer({
    SNICallback: (name, done) => {
      names.push(name)
      done(new Error('no certificate'))
    },
  })
  server.on('tlsClientError', () => undefined)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  try {
    const { port } = server.address() as AddressInfo
    const resolve: Resolve = async () => ['127.0.0.1']
    const result = await sendOnce(`https://hooks.test:${port}/`, { allowLoopback: true, resolve })
    assert.equal(result.status, undefined)
    assert.ok(result.error)
    assert.deepEqual(names, ['hooks.test'])
  } finally {
    server.close()
  }
})

test('errors state the cause but no address', async () => {
  const gone = await startListener()
  gone.close()
  const closed = await sendOnce(`http://hooks.test:${gone.port}/`, {
    allowLoopback: true,
    resolve: async () => ['127.0.0.1'],
  })
  assert.equal(closed.error, 'the endpoint refused the connection')
  assert.equal((await sendOnce('https://hooks.test/')).error, 'the host name of the endpoint does not resolve')
})

test('a resolver that never answers ends with the time limit', async () => {
  const { error } = await sendOnce('https://hooks.test/', {
    timeoutMs: 100,
    resolve: () => new Promise(() => undefined),
  })
  assert.ok(error === 'no complete response within 100 ms' || error?.endsWith('does not resolve at the moment'))
})

test('a connection is reused; a new one is checked again, so that a name that became private is not reached', async () => {
  const names: string[] = ['127.0.0.1']
  let lookups = 0
  const resolve: Resolve = async () => {
    lookups += 1
    return names
  }
  const receiver = await startTcpReceiver((socket) => {
    socket.write(okResponse)
    socket.on('data', () => socket.end(okResponse.replace('\r\n', '\r\nconnection: close\r\n')))
  })
  const exchange = exchangeOf({ allowLoopback: true, resolve })
  const url = `http://hooks.test:${receiver.port}/`
  try {
    assert.equal((await send(exchange, requestTo(url))).status, 200)
    names.push('10.1.2.3')
    await connectionFree()
    assert.equal((await send(exchange, requestTo(url))).status, 200, 'the open connection stays at its checked address')
    assert.deepEqual([lookups, receiver.connections()], [1, 1])
    await connectionFree()
    const third = await send(exchange, requestTo(url))
    assert.deepEqual([third.error, third.status], [refusal, undefined])
    assert.deepEqual([lookups, receiver.connections()], [2, 1])
  } finally {
    await exchange.close()
    receiver.close()
  }
})

test('at most three addresses of a name are tried', async () => {
  const receiver = await startTcpReceiver((socket) => socket.end(okResponse))
  try {
    const dead = ['127.0.0.2', '127.0.0.3', '127.0.0.4']
    const url = `http://hooks.test:${receiver.port}/`
    const sendAmong = (addresses: readonly string[]) =>
      sendOnce(url, { allowLoopback: true, resolve: async () => addresses })
    assert.equal((await sendAmong([...dead.slice(1), '127.0.0.1'])).status, 200)
    assert.equal((await sendAmong([...dead, '127.0.0.1'])).error, 'the endpoint refused the connection')
  } finally {
    receiver.close()
  }
})

suite('resolver', async () => {
  const zone = new Map<string, Records>()
  const dns = await startDnsServer((name, type) => zone.get(`${name} ${type}`) ?? 'nxdomain')
  after(() => dns.close())

  const resolver = () => createResolver({ servers: [dns.server] })

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

  test('a name that alternates between allowed and private addresses is reached only at allowed addresses', async () => {
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
})

suite('proxy', () => {
  const usualCertificates = getCACertificates('default')
  setDefaultCACertificates([...usualCertificates, receiversPem])
  after(() => setDefaultCACertificates(usualCertificates))

  const closing: (() => void)[] = []
  afterEach(() => closing.splice(0).forEach((close) => close()))

  const toPublic: Resolve = async () => [publicAddress]
  const noTunnel = 'the egress proxy of this service could not connect to the endpoint'

  type Tunnel = { readonly authority: string; readonly authorization: string | undefined }

  /** A forward proxy. It connects `publicAddress` to `target`, because a test cannot listen at that address. */
  async function startProxy(
    target: TcpReceiver | undefined,
    {
      tls = false,
      refuse = 0,
      head = '',
      silent = false,
    }: { readonly tls?: boolean; readonly refuse?: number; readonly head?: string; readonly silent?: boolean } = {},
  ) {
    const tunnels: Tunnel[] = []
    const open = new Set<Socket>()
    const server: Server = tls ? createHttpsServer({ key: receiversPem, cert: receiversPem }) : createHttpServer()
    server.on('connection', (socket: Socket) => {
      open.add(socket)
      socket.once('close', () => open.delete(socket))
      socket.on('error', () => undefined)
    })
    server.on('connect', (request: IncomingMessage, client: Socket) => {
      tunnels.push({ authority: request.url ?? '', authorization: request.headers['proxy-authorization'] })
      client.on('error', () => undefined)
      if (silent) return void client.resume().once('end', () => client.destroy())
      if (refuse !== 0 || target === undefined) return void client.end(`HTTP/1.1 ${refuse} No\r\n\r\n`)
      const onward = connect(target.port, '127.0.0.1', () => {
        client.write(`HTTP/1.1 200 Connected\r\n\r\n${head}`)
        onward.pipe(client).pipe(onward)
      })
      onward.on('error', () => client.destroy())
      client.once('close', () => onward.destroy())
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    closing.push(() => {
      server.close()
      open.forEach((socket) => socket.destroy())
    })
    const url = (credentials = '') => `${tls ? 'https' : 'http'}://${credentials}127.0.0.1:${port}`
    return { tunnels: tunnels as readonly Tunnel[], open: () => open.size, url, proxy: readProxy(url()) }
  }

  async function startReceiver(
    serve: Parameters<typeof startTcpReceiver>[0] = (socket) => socket.end(okResponse),
    tls = true,
  ) {
    const peer = await startTcpReceiver(serve, { tls })
    closing.push(peer.close)
    return peer
  }

  for (const tls of [false, true])
    test(`${tls ? 'an https' : 'an http'} proxy gets the checked address, and TLS uses the host name`, async () => {
      let request = ''
      const receiver = await startReceiver((socket, first) => {
        request = first.toString()
        socket.end(okResponse)
      })
      const { tunnels, proxy } = await startProxy(receiver, { tls })
      const result = await sendOnce('https://hooks.test/a?b=1', { proxy, resolve: toPublic })
      assert.deepEqual([result.status, result.error, result.address], [200, undefined, publicAddress])
      assert.deepEqual(tunnels, [{ authority: `${publicAddress}:443`, authorization: undefined }])
      assert.match(request, /^POST \/a\?b=1 HTTP\/1\.1\r\nhost: hooks\.test\r\n/)
    })

  test('the certificate is verified against the host name through a proxy', async () => {
    const { proxy, open } = await startProxy(await startReceiver())
    const result = await sendOnce('https://other.test/', { proxy, resolve: toPublic })
    assert.equal(result.error, 'the certificate of the endpoint is for another name')
    await until('no tunnel stays open', () => open() === 0)
  })

  test('the proxy gets the decoded credentials, and the endpoint does not', async () => {
    let request = ''
    const receiver = await startReceiver((socket, first) => {
      request = first.toString()
      socket.end(okResponse)
    })
    const { tunnels, url } = await startProxy(receiver)
    await sendOnce('https://hooks.test:8443/', { proxy: readProxy(url('us%3Aer:p%40ss@')), resolve: toPublic })
    const authorization = `Basic ${Buffer.from('us:er:p@ss').toString('base64')}`
    assert.deepEqual(tunnels, [{ authority: `${publicAddress}:8443`, authorization }])
    assert.doesNotMatch(request, /proxy|authorization/i)
  })

  test('the proxy gets no request for forbidden addresses, in literals or behind names', async () => {
    const { tunnels, proxy } = await startProxy(await startReceiver())
    for (const host of ['10.0.0.1', '0xa9fea9fe', '[::ffff:10.0.0.1]', '[64:ff9b::a00:1]', '127.0.0.1']) {
      const result = await sendOnce(`https://${host}/`, { proxy })
      assert.equal(result.error, 'the endpoint has an address that is not public', host)
    }
    for (const addresses of [['10.0.0.1'], [publicAddress, '192.168.0.1'], ['fe80::1%1'], []]) {
      const result = await sendOnce('https://hooks.test/', { proxy, resolve: async () => addresses })
      assert.equal(result.error, 'the endpoint has an address that is not public', addresses.join())
    }
    const plain = await sendOnce('http://hooks.test/', { proxy, resolve: toPublic })
    assert.equal(plain.error, 'the endpoint must use https')
    assert.deepEqual(tunnels, [])
  })

  test('the proxy gets an address literal unchanged, IPv6 in brackets', async () => {
    const { tunnels, proxy } = await startProxy(undefined, { refuse: 502 })
    await sendOnce('https://93.184.216.34/', { proxy })
    await sendOnce('https://[2606:2800:220:1::1]:444/', { proxy })
    assert.deepEqual(
      tunnels.map(({ authority }) => authority),
      ['93.184.216.34:443', '[2606:2800:220:1::1]:444'],
    )
  })

  test('requests to loopback bypass the proxy', async () => {
    const receiver = await startReceiver(undefined, false)
    const { tunnels, proxy } = await startProxy(receiver)
    const result = await sendOnce(receiver.url, { proxy, allowLoopback: true })
    assert.deepEqual([result.status, tunnels.length], [200, 0])
  })

  test('a proxy that refuses, is absent, is silent or sends first fails the attempt and leaves nothing open', async () => {
    const receiver = await startReceiver()
    const proxies = [
      await startProxy(receiver, { refuse: 407 }),
      await startProxy(receiver, { refuse: 302 }),
      await startProxy(receiver, { head: 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n' }),
    ]
    for (const { proxy, open } of proxies) {
      const result = await sendOnce('https://hooks.test/', { proxy, resolve: toPublic })
      assert.deepEqual([result.error, result.status], [noTunnel, undefined])
      await until('closed', () => open() === 0)
    }
    const gone = await startReceiver()
    gone.close()
    const absent = readProxy(`http://127.0.0.1:${gone.port}`)
    assert.equal((await sendOnce('https://hooks.test/', { proxy: absent, resolve: toPublic })).error, noTunnel)
    const silent = await startProxy(receiver, { silent: true })
    const late = await sendOnce('https://hooks.test/', { proxy: silent.proxy, resolve: toPublic, timeoutMs: 300 })
    assert.match(late.error ?? '', /^the egress proxy of this service|^no complete response within 300 ms$/)
    await until('closed', () => silent.open() === 0)
    assert.equal(receiver.connections(), 0)
  })

  test('a proxy that does not speak HTTP fails the attempt', async () => {
    const garbage = await startReceiver((socket) => socket.end('SSH-2.0-OpenSSH_9.9\r\n'), false)
    const proxy = readProxy(`http://127.0.0.1:${garbage.port}`)
    assert.equal((await sendOnce('https://hooks.test/', { proxy, resolve: toPublic })).error, noTunnel)
  })

  test('the next address is tried when the proxy cannot reach the first', async () => {
    const receiver = await startReceiver()
    let tries = 0
    const server = createHttpServer()
    server.on('connect', (_request, client: Socket) => {
      tries += 1
      if (tries === 1) return void client.end('HTTP/1.1 502 No\r\n\r\n')
      const onward = connect(receiver.port, '127.0.0.1', () => {
        client.write('HTTP/1.1 200 Connected\r\n\r\n')
        onward.pipe(client).pipe(onward)
      })
      client.on('error', () => undefined)
      onward.on('error', () => undefined)
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    closing.push(() => server.close())
    const proxy = readProxy(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    const resolve: Resolve = async () => ['93.184.216.35', publicAddress]
    const result = await sendOnce('https://hooks.test/', { proxy, resolve })
    assert.deepEqual([result.status, result.address, tries], [200, publicAddress, 2])
  })

  test('a proxy URL contains only protocol, host, port and credentials', () => {
    const at = { protocol: 'http:', host: 'proxy.test', port: 80 }
    assert.deepEqual(readProxy('http://proxy.test'), at)
    assert.deepEqual(readProxy('http://proxy.test:3128/'), { ...at, port: 3128 })
    assert.deepEqual(readProxy('https://proxy.test'), { ...at, protocol: 'https:', port: 443 })
    assert.deepEqual(readProxy('http://[::1]:3128'), { ...at, host: '::1', port: 3128 })
    assert.deepEqual(readProxy('http://u@proxy.test'), { ...at, authorization: 'Basic dTo=' })
    for (const text of [
      '',
      'proxy.test:3128',
      'socks5://proxy.test',
      'http://proxy.test/x',
      'http://proxy.test/?a',
      'http://u:%ff@proxy.test',
      'http://proxy.test/#a',
    ])
      assert.equal(readProxy(text), undefined, text)
  })
})
