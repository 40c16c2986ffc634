import assert from 'node:assert/strict'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { test } from 'node:test'
import { createServer as createTlsServer } from 'node:tls'
import {
  requestTo,
  connectionFree,
  exchangeOf,
  okResponse,
  send,
  sendOnce,
  startTcpReceiver,
} from '../../../../test/support/exchange.ts'
import { startEndpoint } from '../../../../test/support/webhooks.ts'
import type { Resolve } from '../index.ts'

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

test('private addresses stay forbidden when loopback is allowed', async () => {
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

test('errors name the cause and no address', async () => {
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
