/**
 * `node bench/checkout-page.ts`: the payment page on a slow connection (1.6 Mbit/s, 150 ms), against a page with one word from a
 * bare HTTP server in the same rounds; then what the live status of open pages costs. Needs the browser of the tests.
 */
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { Agent, type IncomingMessage, createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Browser } from 'playwright-core'
import { launchBrowser } from '../test/support/browser.ts'
import { success, textAt } from '../test/support/client.ts'
import { startTestService } from '../test/support/service.ts'

const rounds = 9
const slow = { offline: false, latency: 150, downloadThroughput: (1.6e6 / 8) | 0, uploadThroughput: (750e3 / 8) | 0 }
const polls = { connections: 16, seconds: 5 }
const say = (line: string) => console.log(line)
const median = (values: readonly number[]) => values.toSorted((left, right) => left - right)[values.length >> 1] ?? 0

type Load = { readonly bytes: number; readonly firstPaintMs: number; readonly requests: number }

async function load(browser: Browser, url: string): Promise<Load> {
  const context = await browser.newContext({ viewport: { width: 390, height: 844 } })
  const page = await context.newPage()
  const session = await context.newCDPSession(page)
  let bytes = 0
  let requests = 0
  session.on('Network.loadingFinished', ({ encodedDataLength }) => {
    bytes += encodedDataLength
    requests += 1
  })
  await session.send('Network.enable')
  await session.send('Network.emulateNetworkConditions', slow)
  await page.goto(url, { waitUntil: 'load' })
  const firstPaintMs = (await page.evaluate(`new Promise((resolve) => {
    new PerformanceObserver((list) => {
      const paint = list.getEntries().find(({ name }) => name === 'first-contentful-paint')
      if (paint) resolve(paint.startTime)
    }).observe({ type: 'paint', buffered: true })
  })`)) as number
  await context.close()
  return { bytes, firstPaintMs, requests }
}

async function get(url: string, headers: Readonly<Record<string, string>>): Promise<number> {
  const [answer] = (await once(request(url, { headers, agent }).end(), 'response')) as [IncomingMessage]
  await answer.toArray()
  return answer.statusCode ?? 0
}
const agent = new Agent({ keepAlive: true, maxSockets: polls.connections })

/** Requests a second of `connections` clients that ask one after the other. */
async function rateOf(url: string, headers: Readonly<Record<string, string>>, status: number): Promise<number> {
  const end = performance.now() + polls.seconds * 1000
  let answered = 0
  const client = async () => {
    while (performance.now() < end) {
      const given = await get(url, headers)
      if (given !== status) throw new Error(`${url} answers ${given}`)
      answered += 1
    }
  }
  await Promise.all(Array.from({ length: polls.connections }, client))
  return answered / polls.seconds
}

const service = await startTestService({ env: { PAGE_RATE_PER_SECOND: '1000000' } })
const bare = createServer((_request, response) => {
  response.setHeader('content-type', 'text/html')
  response.end('<!doctype html><title>a</title><link rel="icon" href="data:,"><p>word')
}).listen(0, '127.0.0.1')
await once(bare, 'listening')
const bareUrl = `http://127.0.0.1:${(bare.address() as AddressInfo).port}/`
const order = { amount: 49.9, currency: 'EUR', idempotencyKey: randomUUID(), customer: { email: 'ada@example.com' } }
const url = textAt(success(await service.client.post('/v1/checkout/sessions', order)), 'url')
const browser = await launchBrowser()
const loads: { ours: Load; empty: Load }[] = []
for (let round = 0; round <= rounds; round += 1) {
  const pair = { empty: await load(browser, bareUrl), ours: await load(browser, url) }
  // The first round warms up.
  if (round > 0) loads.push(pair)
}
await browser.close()
const ours = median(loads.map((pair) => pair.ours.firstPaintMs))
const empty = median(loads.map((pair) => pair.empty.firstPaintMs))
const ratios = loads.map((pair) => pair.ours.firstPaintMs / pair.empty.firstPaintMs)
say(
  `bytes with headers: ${loads[0]?.ours.bytes} in ${loads[0]?.ours.requests} requests; a page with one word: ${loads[0]?.empty.bytes}`,
)
say(`first paint, median of ${rounds}: ${ours.toFixed(0)} ms; a page with one word: ${empty.toFixed(0)} ms`)
say(
  `ratio, median: ${median(ratios).toFixed(2)} (${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)})`,
)

const state = await (await fetch(`${url}/status`)).text()
const known = { 'if-none-match': `"${(JSON.parse(state) as { state: string }).state}"` }
for (const _round of [1, 2]) {
  const [asked, bareRate, whole] = [
    await rateOf(`${url}/status`, known, 304),
    await rateOf(bareUrl, {}, 200),
    await rateOf(url, { 'accept-encoding': 'br' }, 200),
  ]
  say(
    `status a second: ${asked.toFixed(0)}; bare server: ${bareRate.toFixed(0)}; ratio ${(asked / bareRate).toFixed(2)}; whole pages: ${whole.toFixed(0)}`,
  )
  say(
    `10,000 open pages ask ${(10_000 / 15).toFixed(0)} a second after two minutes: ${((10_000 / 15 / asked) * 100).toFixed(0)} % of that`,
  )
}
agent.destroy()
bare.close()
await service.dispose()
