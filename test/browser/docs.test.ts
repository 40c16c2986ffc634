/** `/docs` in a real browser with its Content-Security-Policy. Blocked and failed requests fail the test. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { eventNames, operationIds, operations, tags } from '@partner-payments/wire'
import chromium from '@sparticuz/chromium'
import { chromium as playwright } from 'playwright-core'
import { docsAssets } from '../../service/src/gateway/docs/assets.ts'

/** The package contains a binary for Linux on x64 only. */
const skip = process.platform !== 'linux' || process.arch !== 'x64' ? 'no browser for this platform' : false

async function serveDocs() {
  const assets = new Map((await docsAssets({ sandbox: true, simulations: true })).map((asset) => [asset.path, asset]))
  const server = createServer((request, response) => {
    const asset = assets.get(request.url ?? '')
    if (asset === undefined) return void response.writeHead(404).end()
    response.writeHead(200, { 'content-type': asset.contentType, ...asset.headers }).end(asset.body)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return { server, origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

test(
  '200 to /docs: it shows every operation and event, violates no policy and calls no other host',
  { skip },
  async () => {
    const { server, origin } = await serveDocs()
    const browser = await playwright.launch({
      args: chromium.args.filter((flag) => flag !== '--disable-web-security'),
      executablePath: await chromium.executablePath(),
      headless: true,
    })
    try {
      const page = await browser.newPage()
      const failures: string[] = []
      const requests: string[] = []
      page.on('console', (message) => void (message.type() === 'error' && failures.push(message.text())))
      page.on('pageerror', (error) => void failures.push(String(error)))
      page.on('requestfailed', (request) => void failures.push(`failed: ${request.url()}`))
      page.on('request', (request) => void requests.push(request.url()))
      await page.goto(`${origin}/docs`)
      const shown = page.locator('.opblock')
      await shown.nth(operationIds.length + eventNames.length - 1).waitFor()
      assert.equal(await shown.count(), operationIds.length + eventNames.length)
      assert.equal((await page.locator('.opblock-tag').count()) >= tags.length, true)
      for (const id of operationIds) {
        const line = page.locator(`#operations-${operations[id].tag}-${id}`)
        assert.match(await line.innerText(), new RegExp(operations[id].method), id)
      }
      await page.locator('#operations-payouts-createFiatPayout .opblock-summary-control').click()
      await page.getByText('insufficient_funds').first().waitFor()
      assert.equal(await page.getByRole('button', { name: 'Try it out' }).count(), 0, 'a browser cannot sign')
      assert.match(await page.locator('.info').innerText(), /canonical string/)
      assert.deepEqual(failures, [])
      assert.ok(requests.length >= 5)
      for (const url of requests) assert.ok(url.startsWith(`${origin}/`) || url.startsWith('data:'), url)
    } finally {
      await browser.close()
      server.close()
    }
  },
)
