import assert from 'node:assert/strict'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { test } from 'node:test'
import { createServer as createTlsServer } from 'node:tls'
import { startEndpoint } from '../../../test/support/webhooks.ts'
import { newId, randomBytes, systemClock } from '../kernel/index.ts'
import { createExchange, type ExchangeOptions } from './exchange.ts'
import type { Resolve } from './guard.ts'

const nobody: Resolve = async () => {
  throw Object.assign(new Error('getaddrinfo ENOTFOUND'), { code: 'ENOTFOUND' })
}

/** One POST to `url` through the guard. */
async function post(url: string, options: Partial<ExchangeOptions> = {}) {
  const exchange = createExchange({
    clock: systemClock,
    allowLoopback: false,
    resolve: nobody,
    timeoutMs: 2000,
    ...options,
  })
  const ids = { partnerId: newId(), subscriptionId: newId(), deliveryId: newId(), leaseId: newId(), eventId: newId() }
  const data = '{"reference":"R","status":"s"}'
  try {
    return await exchange.post(
      { ...ids, url, keys: [{ kind: 'v1', key: randomBytes(32) }], data },
      new AbortController().signal,
    )
  } finally {
    await exchange.close()
  }
}

const refusal = 'the endpoint has an address that may not be called'

/** A port of loopback, and how many connections ever reached it. */
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

test('no literal that is not public is connected to, however it is spelled', async () => {
  const listener = await startListener()
  try {
    for (const host of [
      '127.0.0.1',
      '2130706433',
      '0x7f.1',
      '0177.1',
      '127.1',
      '0.0.0.0',
      '[::1]',
      '[::ffff:127.0.0.1]',
      '[::ffff:10.0.0.1]',
      '[::127.0.0.1]',
      '[64:ff9b::7f00:1]',
      '[2002:7f00:1::]',
      '169.254.169.254',
      '[fd00:ec2::254]',
      '10.0.0.1',
    ]) {
      const { error, status } = await post(`http://${host}:${listener.port}/`)
      assert.deepEqual([error, status], [refusal, undefined], host)
    }
    assert.equal(listener.connections(), 0)
  } finally {
    listener.close()
  }
})

test('no name is connected to that resolves to an address that is not public, not even beside a public one', async () => {
  const listener = await startListener()
  try {
    for (const addresses of [
      ['127.0.0.1'],
      ['10.1.2.3'],
      ['::1'],
      ['93.184.216.34', '127.0.0.1'],
      ['64:ff9b::7f00:1'],
      [],
    ]) {
      const { error } = await post(`http://hooks.test:${listener.port}/`, { resolve: async () => addresses })
      assert.equal(error, refusal, addresses.join())
    }
    assert.equal(listener.connections(), 0)
  } finally {
    listener.close()
  }
})

test('a private address stays refused where loopback is allowed', async () => {
  const { error } = await post('http://hooks.test/', { allowLoopback: true, resolve: async () => ['10.1.2.3'] })
  assert.equal(error, refusal)
})

test('the name is resolved once, and the connection is made to the address that was judged', async () => {
  const endpoint = await startEndpoint()
  let lookups = 0
  const resolve: Resolve = async () => {
    lookups += 1
    return lookups === 1 ? ['127.0.0.1'] : ['10.1.2.3']
  }
  try {
    const { port } = new URL(endpoint.url)
    const result = await post(`http://hooks.test:${port}/a`, { allowLoopback: true, resolve })
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
    const result = await post(`http://hooks.test:${port}/`, { allowLoopback: true, resolve })
    assert.deepEqual([result.status, result.address], [200, '127.0.0.1'])
  } finally {
    await endpoint.close()
  }
})

test('over TLS the server is asked for the name, though the connection is pinned to an address', async () => {
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
    const result = await post(`https://hooks.test:${port}/`, { allowLoopback: true, resolve })
    assert.equal(result.status, undefined)
    assert.ok(result.error)
    assert.deepEqual(names, ['hooks.test'])
  } finally {
    server.close()
  }
})

test('an error tells the partner why, and names no address', async () => {
  const gone = await startListener()
  gone.close()
  const closed = await post(`http://hooks.test:${gone.port}/`, {
    allowLoopback: true,
    resolve: async () => ['127.0.0.1'],
  })
  assert.equal(closed.error, 'the endpoint refused the connection')
  assert.equal((await post('http://hooks.test/')).error, 'the name of the endpoint does not resolve')
})

test('a resolver that never answers ends with the exchange', async () => {
  const { error } = await post('http://hooks.test/', { timeoutMs: 100, resolve: () => new Promise(() => undefined) })
  assert.ok(error === 'no complete answer within 100 ms' || error?.endsWith('does not resolve at the moment'))
})
