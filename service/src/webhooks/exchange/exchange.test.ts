/** One HTTP exchange, and calls to chosen hosts. */
import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { after, afterEach, suite, test } from 'node:test'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { setTimeout as pause } from 'node:timers/promises'
import { type SigningKey, verifyingKeyText } from '@partner-payments/wire'
import { verifyWebhook, WebhookVerificationError } from '../../../../sdk/src/index.ts'
import {
  connectionFree,
  exchangeOf,
  okResponse,
  receiversPem,
  requestTo,
  send,
  sendOnce,
  startTcpReceiver,
  trySend,
} from '../../../../test/support/exchange.ts'
import { until } from '../../../../test/support/until.ts'
import { AssertionFailure, newId, randomBytes, systemClock } from '../../kernel/index.ts'
import type { ExchangeOptions } from './exchange.ts'
import { createInterimFilter } from './guard.ts'
import { startDnsServer } from '../../../../test/support/dns-server.ts'
import { runAdmitted, Refusal } from '../../kernel/api/index.ts'
import {
  type HostCallKind,
  hostCallKinds,
  type ChosenHosts,
  createChosenHosts,
  concurrentCallsMax,
} from './chosen-hosts.ts'
import { createTxtResolver } from './resolver.ts'

const closing: (() => void)[] = []

suite('exchange', () => {
  afterEach(() => closing.splice(0).forEach((close) => close()))

  async function receiver(...options: Parameters<typeof startTcpReceiver>) {
    const started = await startTcpReceiver(...options)
    closing.push(started.close)
    return started
  }

  /** Sends one request to a new receiver that handles its connections by `serve`. */
  async function sendTo(
    serve: Parameters<typeof startTcpReceiver>[0],
    options: Partial<ExchangeOptions> = {},
    data?: string,
  ) {
    const target = await receiver(serve)
    return { target, ...(await sendOnce(target.url, { allowLoopback: true, ...options }, data)) }
  }

  const late = 'no complete response within 200 ms'
  const cut = 'the endpoint closed the connection before its response was complete'

  /** Writes until the connection closes or `bytesMax` is reached. Returns a function that counts the bytes written. */
  function pour(socket: Socket, chunk: Buffer, bytesMax: number): () => number {
    let written = 0
    const writeMore = () => {
      while (!socket.destroyed && written < bytesMax) {
        written += chunk.length
        if (!socket.write(chunk)) return void socket.once('drain', writeMore)
      }
    }
    writeMore()
    return () => written
  }

  const gigabyte = 2 ** 30
  /** More than the buffers of two sockets hold, and far less than a gigabyte. */
  const bufferedMax = 16 * 2 ** 20

  test('the request is a POST of exactly the envelope, and the result contains the whole response', async () => {
    let request = ''
    const result = await sendTo((socket, first) => {
      request = first.toString()
      socket.end('HTTP/1.1 202 Accepted\r\nretry-after: 7\r\ncontent-length: 6\r\n\r\nth\u00e9y!')
    })
    const [head = '', body] = request.split('\r\n\r\n')
    assert.match(body ?? '', /^\{"eventId":"[0-9a-f-]{36}","data":\{"reference":"R","status":"s"\}\}$/)
    assert.match(head, /^POST \/hook HTTP\/1\.1\r\n/)
    assert.match(head, /\r\nuser-agent: PartnerPayments-Webhooks\/2(?:\r\n|$)/)
    assert.match(head, new RegExp(`\\r\\ncontent-length: ${body?.length}`))
    const { status, responseBody, retryAfter, address, error } = result
    assert.deepEqual(
      [status, responseBody, retryAfter, address, error],
      [202, 'th\u00e9y!', '7', '127.0.0.1', undefined],
    )
  })

  test('each key of either kind adds a signature, which verifies only with that key', async () => {
    let request = ''
    const target = await receiver((socket, first) => {
      request = first.toString()
      socket.end(okResponse)
    })
    const keys: SigningKey[] = (['v1', 'v1a', 'v1', 'v1a'] as const).map((kind) => ({ kind, key: randomBytes(32) }))
    const exchange = exchangeOf({ allowLoopback: true })
    await send(exchange, { ...requestTo(target.url), target: { url: target.url, keys } })
    await exchange.close()
    const [head = '', body = ''] = request.split('\r\n\r\n')
    const headers = new Headers(
      head
        .split('\r\n')
        .slice(1)
        .map((line) => line.split(': ') as [string, string]),
    )
    const signatures = headers.get('webhook-signature')?.split(' ') ?? []
    assert.deepEqual(
      signatures.map((signature) => signature.split(',')[0]),
      keys.map(({ kind }) => kind),
    )
    assert.equal(headers.get('webhook-id'), (JSON.parse(body) as { eventId: string }).eventId)
    for (const [index, key] of keys.entries()) {
      verifyWebhook(verifyingKeyText(key), headers, body)
      const others = new Headers(headers)
      others.set('webhook-signature', signatures.toSpliced(index, 1).join(' '))
      assert.throws(() => verifyWebhook(verifyingKeyText(key), others, body), WebhookVerificationError)
    }
  })

  test('the time limit ends a response that stops at any point', async () => {
    const parts = [
      '',
      'HTTP/1.1 ',
      'HTTP/1.1 200 OK\r\ncontent-le',
      'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n',
      'HTTP/1.1 103 Early Hints\r\n\r\n',
    ]
    for (const part of parts) {
      const { error, status, target } = await sendTo((socket) => socket.write(part), { timeoutMs: 200 })
      assert.deepEqual([error, status], [late, part.endsWith('9\r\n\r\n') ? 200 : undefined], part)
      await until('the connection is closed', () => target.open() === 0)
    }
  })

  test('the time limit ends a connection without a TLS handshake', async () => {
    const silent = await receiver(() => undefined)
    const result = await sendOnce(silent.url.replace('http:', 'https:'), { allowLoopback: true, timeoutMs: 200 })
    assert.match(
      result.error ?? '',
      /^no complete response within 200 ms$|^the endpoint did not accept the connection in time$/,
    )
    await until('the connection is closed', () => silent.open() === 0)
  })

  test('the time limit ends a response that arrives byte by byte', async () => {
    for (const head of [
      'HTTP/1.1 200 OK\r\nx: ',
      'HTTP/1.1 200 OK\r\n\r\n',
      'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nffff;a=',
    ]) {
      const timers: NodeJS.Timeout[] = []
      const { error, target } = await sendTo(
        (socket) => {
          socket.write(head)
          timers.push(setInterval(() => socket.write('a'), 5))
        },
        { timeoutMs: 200 },
      )
      timers.forEach(clearInterval)
      assert.equal(error, late, head)
      await until('the connection is closed', () => target.open() === 0)
    }
  })

  test('of a gigabyte response, 64 KiB are read and 8 KiB kept, in any framing', async () => {
    const chunk = Buffer.alloc(65_536, 'x')
    const framed = Buffer.concat([Buffer.from('10000\r\n'), chunk, Buffer.from('\r\n')])
    for (const { head, part } of [
      { head: `content-length: ${gigabyte}`, part: chunk },
      { head: 'connection: close', part: chunk },
      { head: 'transfer-encoding: chunked', part: framed },
    ]) {
      let written = () => 0
      const { status, error, responseBody, target } = await sendTo((socket) => {
        socket.write(`HTTP/1.1 200 OK\r\n${head}\r\n\r\n`)
        written = pour(socket, part, gigabyte)
      })
      assert.deepEqual([status, error, responseBody], [200, undefined, 'x'.repeat(8192)], head)
      await until('the connection is closed', () => target.open() === 0)
      assert.ok(written() < bufferedMax, `${head}: ${written()} bytes left the receiver`)
    }
  })

  test('a gigabyte of headers or of invalid bytes is not read', async () => {
    const floods = [
      { reason: 'the response headers are too large', chunk: Buffer.from(`x: ${'y'.repeat(1020)}\r\n`) },
      { reason: 'the response is not valid HTTP', chunk: Buffer.alloc(65_536, '\u0000') },
    ]
    for (const { reason, chunk } of floods) {
      let written = () => 0
      const { status, error, target } = await sendTo((socket) => {
        if (reason.includes('headers')) socket.write('HTTP/1.1 200 OK\r\n')
        written = pour(socket, chunk, gigabyte)
      })
      assert.deepEqual([status, error], [undefined, reason])
      await until('the connection is closed', () => target.open() === 0)
      assert.ok(written() < bufferedMax, `${written()} bytes left the receiver`)
    }
  })

  test('a body in eight thousand chunks is kept whole', async () => {
    const pieces = 8000
    const { responseBody, error } = await sendTo((socket) => {
      socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n')
      for (let piece = 0; piece < pieces; piece += 1) socket.write('1\r\nz\r\n')
      socket.end('0\r\n\r\n')
    })
    assert.deepEqual([responseBody, error], ['z'.repeat(pieces), undefined])
  })

  test('an incomplete response is a failure that keeps the received part', async () => {
    const cases = [
      { response: '' },
      { response: 'HTTP/1.1 200 OK\r\ncont' },
      { response: 'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nten bytes.', status: 200, responseBody: 'ten bytes.' },
      {
        response: 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nfives\r\n',
        status: 200,
        responseBody: 'fives',
      },
    ]
    for (const { response, status, responseBody } of cases) {
      const result = await sendTo((socket) => socket.end(response))
      assert.deepEqual([result.status, result.responseBody, result.error], [status, responseBody, cut], response)
    }
  })

  test('invalid HTTP and an invalid chunk are failures; invalid text is replaced', async () => {
    for (const answer of [
      'SSH-2.0-OpenSSH_9.9\r\n',
      '<html>',
      'HTTP/9.9 200 OK\r\n\r\n',
      'HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n',
    ]) {
      const { error, status } = await sendTo((socket) => socket.end(answer))
      assert.deepEqual([error, status], ['the response is not valid HTTP', undefined], answer)
    }
    const chunk = await sendTo((socket) => socket.end('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n'))
    assert.deepEqual([chunk.error, chunk.status], ['the response is not valid HTTP', 200])
    const bytes = await sendTo((socket) => socket.end(Buffer.from('HTTP/1.1 200 OK\r\n\r\na\u0000\u00ff', 'latin1')))
    assert.equal(bytes.responseBody, 'a\uFFFD\uFFFD')
  })

  test('a redirect is returned and not followed', async () => {
    const target = await receiver((socket) => socket.end(okResponse))
    for (const status of [301, 302, 303, 307, 308]) {
      const result = await sendTo((socket) =>
        socket.end(`HTTP/1.1 ${status} Elsewhere\r\nlocation: ${target.url}\r\ncontent-length: 0\r\n\r\n`),
      )
      assert.deepEqual([result.status, result.error], [status, undefined])
    }
    assert.equal(target.connections(), 0)
  })

  /** Every interim status, unasked for (RFC 9110, section 15.2), in any number and with fields. */
  const interims = [
    'HTTP/1.1 100 Continue\r\n\r\n',
    'HTTP/1.1 100 \r\n\r\n',
    'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n',
    'HTTP/1.1 102 Processing\r\n\r\n',
    'HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n',
    'HTTP/1.1 199 Later\r\nx: HTTP/1.1 100 Continue\r\n\r\n',
  ]
  const finalText = 'HTTP/1.1 202 Accepted\r\ncontent-length: 22\r\n\r\nHTTP/1.1 100 Continue!'

  test('interim responses are skipped, including a `100 Continue` that was not requested', async () => {
    for (const interim of [...interims, interims.join(''), interims.join('').repeat(20)]) {
      const { status, error, responseBody } = await sendTo((socket) => socket.end(`${interim}${finalText}`))
      assert.deepEqual([status, error, responseBody], [202, undefined, 'HTTP/1.1 100 Continue!'], interim)
    }
  })

  test('interim responses are skipped wherever their bytes are cut, and over TLS', async () => {
    const bytes = Buffer.from(`${interims.slice(0, 3).join('')}${finalText}`)
    const cutAt = Array.from({ length: bytes.length - 1 }, (_, at) => at + 1)
    for (const step of [1, 7]) {
      const inPieces = async (socket: Socket) => {
        for (let at = 0; at < bytes.length; at += step) {
          socket.write(bytes.subarray(at, at + step))
          await connectionFree()
        }
      }
      const { status, error } = await sendTo((socket) => void inPieces(socket))
      assert.deepEqual([status, error], [202, undefined])
    }
    for (const at of cutAt) {
      const filter = createInterimFilter()
      const parts = [Buffer.from(bytes.subarray(0, at)), Buffer.from(bytes.subarray(at))]
      parts.forEach(filter.pass)
      const read = Buffer.concat(parts).toString()
      assert.equal(read.match(/^HTTP\/1\.[01] 103/gm)?.length, 3, `cut at ${at}`)
      assert.ok(read.endsWith(finalText), `cut at ${at}`)
    }
    const tls = await receiver((socket) => socket.end(`${interims[0]}${okResponse}`), { tls: true })
    setDefaultCACertificates([...getCACertificates(), receiversPem])
    const { status, error } = await sendOnce(tls.url, { allowLoopback: true })
    assert.deepEqual([status, error], [200, undefined])
  })

  test('a connection with interim responses is used again, and the next answer is read from its beginning', async () => {
    const target = await receiver((socket) => {
      socket.write(`${interims[0]}${okResponse}`)
      socket.on('data', () => socket.write(`${interims[0]}${interims[2]}${okResponse}`))
    })
    const exchange = exchangeOf({ allowLoopback: true })
    for (let round = 0; round < 3; round += 1) {
      const { status, error } = await send(exchange, requestTo(target.url))
      assert.deepEqual([status, error], [200, undefined])
      await connectionFree()
    }
    await exchange.close()
    assert.equal(target.connections(), 1)
  })

  test('interim responses without a final response end at the time limit, or with the connection, and the reason says so', async () => {
    for (const interim of interims) {
      const silent = await sendTo((socket) => socket.write(interim), { timeoutMs: 200 })
      assert.deepEqual([silent.error, silent.status], [late, undefined], interim)
      const closed = await sendTo((socket) => socket.end(interim))
      assert.deepEqual([closed.error, closed.status], [cut, undefined], interim)
    }
  })

  test('an event of 64 KiB is sent, and a larger one is not', async () => {
    const envelopeBytes = '{"eventId":"","data":}'.length + 36
    const fits = `"${'x'.repeat(65_536 - envelopeBytes - 2)}"`
    const serve = (socket: Socket, first: Buffer) => {
      let bytes = first.length - first.indexOf('\r\n\r\n') - 4
      const count = (more: Buffer) => {
        bytes += more.length
        if (bytes === 65_536) socket.end(okResponse)
      }
      socket.on('data', count)
      count(Buffer.alloc(0))
    }
    assert.equal((await sendTo(serve, {}, fits)).status, 200)
    const { error, target } = await sendTo(serve, {}, `${fits} `)
    assert.deepEqual([error, target.connections()], ['the event has more than 65536 bytes', 0])
  })

  test('abandon ends all requests without a result, and later requests as well', async () => {
    const target = await receiver(() => undefined)
    const exchange = exchangeOf({ allowLoopback: true })
    const sent = [1, 2, 3].map(() => trySend(exchange, requestTo(target.url)))
    await until('under way', () => target.open() === 3)
    exchange.abandon()
    assert.deepEqual(await Promise.all(sent), [undefined, undefined, undefined])
    assert.equal(await trySend(exchange, requestTo(target.url)), undefined)
    await until('the connections are closed', () => target.open() === 0)
    await exchange.close()
  })

  test('close ends requests in progress, even during a lookup', async () => {
    const exchange = exchangeOf({ resolve: () => new Promise(() => undefined), timeoutMs: 300 })
    const result = send(exchange, requestTo('https://hooks.test/'))
    await exchange.close()
    assert.ok((await result).error)
  })

  test('a connection is reused after any complete response', async () => {
    const answers = [okResponse, 'HTTP/1.1 500 No\r\ncontent-length: 4\r\n\r\noops', okResponse]
    const target = await receiver((socket) => {
      const answer = () => socket.write(answers.shift() ?? '')
      answer()
      socket.on('data', answer)
    })
    const exchange = exchangeOf({ allowLoopback: true })
    const statuses: unknown[] = []
    for (let turn = 0; turn < 3; turn += 1) {
      statuses.push((await send(exchange, requestTo(target.url))).status)
      await connectionFree()
    }
    await exchange.close()
    assert.deepEqual([statuses, target.connections()], [[200, 500, 200], 1])
  })
})

suite('chosen hosts', () => {
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
  const make: Readonly<Record<HostCallKind, (hosts: ChosenHosts, partnerId: string, url: string) => Promise<unknown>>> =
    {
      signOn: (hosts, partnerId, url) =>
        hosts.call('signOn', partnerId, new URL(url).host, async () => (await hosts.fetch(url, get)).status),
      domainRecord: (hosts, partnerId, url) => hosts.resolveTxt(partnerId, `${new URL(url).port}.example.com`),
      webhookTest: async (hosts, partnerId, url) => {
        const keys = [{ kind: 'v1', key: randomBytes(32) }] as const
        const { status, error } = await hosts.sendTest({
          partnerId,
          url,
          keys,
          eventId: newId(),
          data: '{}',
          headers: {},
        })
        if (error !== undefined) throw new Error(error)
        return status
      },
    }
  const kinds = Object.keys(hostCallKinds) as HostCallKind[]
  const isRefused = (kind: HostCallKind) => (error: unknown) =>
    error instanceof Refusal &&
    error.code === hostCallKinds[kind].refusedAs &&
    Number(error.headers['retry-after']) >= 1

  /** Hosts for which the test gives name servers that never answer. */
  async function withSilentNames() {
    const dns = await startDnsServer(() => 'silent')
    closing.push(() => dns.close())
    const resolveTxt = createTxtResolver({ servers: [dns.server] })
    return createChosenHosts({ clock: systemClock, allowLoopback: true, resolveTxt })
  }

  suite('calls to chosen hosts', { concurrency: true }, () => {
    test('each kind of call has a limit per partner, and no call is made inside shared admission', async () => {
      const hosts = open()
      const host = await hostOf((socket) => socket.end(okResponse))
      assert.deepEqual(kinds.toSorted(), Object.keys(make).toSorted())
      for (const kind of kinds) {
        const { perPartnerMax, timeoutMs } = hostCallKinds[kind]
        assert.ok(
          perPartnerMax * 8 <= concurrentCallsMax && timeoutMs < 20_000,
          `${kind}: eight partners leave places to the others`,
        )
        await assert.rejects(
          runAdmitted({}, () => make[kind](hosts, newId(), host.url)),
          AssertionFailure,
          kind,
        )
      }
      assert.equal(host.connections(), 0)
      await assert.rejects(hosts.fetch(host.url, get), AssertionFailure, 'a request outside of a call')
      assert.equal(await runAdmitted({ callsChosenHost: true }, () => make.signOn(hosts, newId(), host.url)), 200)
    })

    for (const kind of kinds)
      test(`${kind}: unresponsive hosts of a partner use up only its own limit, and further calls fail immediately`, async () => {
        const hosts = kind === 'domainRecord' ? await withSilentNames() : open()
        const host = await silent()
        const [partner, other] = [newId(), newId()]
        const { perPartnerMax } = hostCallKinds[kind]
        const waiting = Array.from({ length: perPartnerMax }, () => make[kind](hosts, partner, host.url))
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
        assert.ok(host.connections() <= perPartnerMax)
        assert.equal(await make.signOn(hosts, partner, good.url), 200)
      })

    test('a host that was slow too often is refused, for its partner only, until one call succeeds', async () => {
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

    test('an endpoint whose tests were slow too often is refused', async () => {
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

    test('hosts that fail at once are never refused: a wrong answer does not block sign-ins', async () => {
      const hosts = open()
      const partner = newId()
      const host = await hostOf((socket) => socket.destroy())
      for (let round = 0; round < 20; round += 1)
        await assert.rejects(make.signOn(hosts, partner, host.url), (error) => !isRefused('signOn')(error))
    })

    test('many hosts of many partners never exceed the total limit of calls', async () => {
      const hosts = open()
      const host = await silent()
      const partners = Array.from({ length: concurrentCallsMax / hostCallKinds.signOn.perPartnerMax }, () => newId())
      const waiting = partners.flatMap((partner) =>
        Array.from({ length: hostCallKinds.signOn.perPartnerMax }, () => make.signOn(hosts, partner, host.url)),
      )
      const outcomes = Promise.allSettled(waiting)
      await assert.rejects(make.signOn(hosts, newId(), host.url), isRefused('signOn'))
      await outcomes
      const good = await hostOf((socket) => socket.end(okResponse))
      assert.equal(await make.signOn(hosts, newId(), good.url), 200)
    })

    test('slow and endless responses are ended, and redirects are not followed', async () => {
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

    test('a call continues to read after a `100 Continue`', async () => {
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
        for (const kind of ['signOn', 'webhookTest'] as const)
          await assert.rejects(make[kind](hosts, newId(), url), kind)
      assert.equal(host.connections(), 0)
    })
  })
})
