/** The hosts on which pages are served. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Refusal } from '../kernel/api/index.ts'
import { newId } from '../kernel/index.ts'
import { hideFromPartnerHosts, createPageHosts } from './hosts.ts'

const [shop, other] = [newId(), newId()]
const publicUrl = 'https://api.example.com'
const pageUrls = new Map([
  [shop, 'https://pay.shop.example'],
  [other, 'https://pay.other.example:8443/base'],
])
const hosts = createPageHosts({ pageUrls, publicUrl })

test('the host of a partner shows only pages of that partner', () => {
  assert.equal(hosts.shows('pay.shop.example', shop), true)
  assert.equal(hosts.shows('PAY.Shop.Example', shop), true)
  assert.equal(hosts.shows('pay.shop.example', other), false)
  assert.equal(hosts.shows('pay.shop.example', newId()), false)
  assert.equal(hosts.shows('pay.shop.example', undefined), false)
  assert.equal(hosts.shows('pay.other.example:8443', other), true)
  assert.equal(hosts.shows('pay.other.example', other), false)
})

test('the host of the service shows every page, and a foreign host shows no page', () => {
  assert.equal(hosts.shows('api.example.com', shop), true)
  for (const foreign of ['evil.example', 'pay.shop.example.evil.example', '', undefined])
    assert.equal(hosts.shows(foreign, shop), false, String(foreign))
})

test('without partner hosts, every host shows every page', () => {
  const none = createPageHosts({ pageUrls: new Map(), publicUrl })
  assert.equal(none.shows('127.0.0.1:8080', shop), true)
  assert.equal(createPageHosts({ pageUrls, publicUrl: undefined }).shows('127.0.0.1:8080', shop), true)
})

test('the console is not found at the host of a partner', () => {
  const route = {
    method: 'GET',
    path: '/console',
    handle: () => ({ status: 200, headers: {}, body: 'console' }),
  } as const
  const site = hideFromPartnerHosts({ routes: [route], refused: route.handle }, hosts)
  const request = (host: string) => ({
    ...{ path: '/console', params: {}, query: '', headers: { host }, body: Buffer.alloc(0), ip: '', requestId: '' },
  })
  assert.throws(() => site.routes[0]?.handle(request('pay.shop.example')), Refusal)
  assert.deepEqual(site.routes[0]?.handle(request('localhost:8080')), route.handle())
})
