/** Strangers behind a proxy with TLS: what they may ask for together, how their addresses are counted, and what browsers are told. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { staticBytesRate } from '../../service/src/edge/gateway/static-pages.ts'
import { success } from '../support/client.ts'
import { useService } from '../support/fixture.ts'

const burst = 10
const service = await useService({
  env: { PUBLIC_URL: 'https://pay.example.com', TRUSTED_PROXIES: '127.0.0.1', PAGE_RATE_PER_SECOND: '1' },
})

const load = (path: string, address: string, encoding = 'br') =>
  fetch(`${service.baseUrl}${path}`, {
    headers: { 'x-forwarded-for': address, 'accept-encoding': encoding },
    redirect: 'manual',
  })

test('every response tells browsers to use only https, because PUBLIC_URL does', async () => {
  for (const [path, status] of [
    ['/docs', 200],
    ['/', 302],
    ['/console/sign-in', 200],
    ['/checkout/unknown', 404],
    ['/nope', 404],
    ['/v1/accounts', 401],
  ] as const) {
    const answer = await load(path, '203.0.113.1')
    await answer.arrayBuffer()
    assert.deepEqual(
      [answer.status, answer.headers.get('strict-transport-security')],
      [status, 'max-age=31536000'],
      path,
    )
  }
  const signed = await service.client.get('/v1/accounts')
  success(signed)
  assert.equal(signed.headers['strict-transport-security'], 'max-age=31536000')
  const desk = await fetch(`${service.opsUrl}/desk/sign-in`)
  assert.deepEqual([desk.status, desk.headers.get('strict-transport-security')], [200, null], 'DESK_URL is not https')
})

test('an IPv6 client is counted by its /64, and an IPv4 client by its address', async () => {
  const statusesOf = async (addressOf: (index: number) => string) => {
    const all = await Promise.all(Array.from({ length: 3 * burst }, (_, index) => load('/docs', addressOf(index))))
    return new Set(all.map(({ status }) => status))
  }
  assert.deepEqual(await statusesOf((index) => `2001:db8:1:2:${index.toString(16)}::1`), new Set([200, 429]))
  assert.deepEqual(await statusesOf((index) => `2001:db8:2:${index.toString(16)}::1`), new Set([200]))
  assert.deepEqual(await statusesOf((index) => `198.51.100.${index}`), new Set([200]))
})

test('unauthenticated clients from many addresses share one byte budget for the documentation, and other clients are not affected', async () => {
  const whole = await load('/openapi.json', '203.0.113.2', 'identity')
  const { length } = Buffer.from(await whole.arrayBuffer())
  // Twelve times as many as the budget has, so that what comes back meanwhile is not enough.
  const addresses = Array.from(
    { length: Math.ceil((12 * staticBytesRate.burst) / length / burst) },
    (_, at) => `192.0.2.${at}`,
  )
  const counts = new Map<number, number>()
  const ask = async (address: string) => {
    const answer = await load('/openapi.json', address, 'identity')
    if (answer.status === 503) assert.ok(Number(answer.headers.get('retry-after')) >= 1)
    await answer.arrayBuffer()
    counts.set(answer.status, (counts.get(answer.status) ?? 0) + 1)
  }
  await Promise.all(addresses.flatMap((address) => Array.from({ length: burst }, () => ask(address))))
  assert.deepEqual([...counts.keys()].toSorted(), [200, 503])
  success(await service.client.get('/v1/accounts'))
  assert.equal((await load('/console/sign-in', '203.0.113.3')).status, 200)
})
