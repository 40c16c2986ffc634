import assert from 'node:assert/strict'
import { createServer as createHttpServer, type IncomingMessage, type Server } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { after, afterEach, before, test } from 'node:test'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import {
  okResponse,
  type TcpReceiver,
  sendOnce,
  publicAddress,
  receiversPem,
  startTcpReceiver,
} from '../../../../test/support/exchange.ts'
import { until } from '../../../../test/support/until.ts'
import type { Resolve } from '../index.ts'
import { readProxy } from './proxy.ts'

const usualCertificates = getCACertificates('default')
before(() => setDefaultCACertificates([...usualCertificates, receiversPem]))
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
