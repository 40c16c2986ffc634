/**
 * Takes the picture of README.md: the API reference of a running service at the operation that creates a payout. Run it with
 * `node scripts/screenshot.ts` after a visible change of the reference.
 */
import { fileURLToPath } from 'node:url'
import { launchBrowser, noBrowser } from '../test/support/browser.ts'
import { startTestService } from '../test/support/service.ts'

if (noBrowser !== false) throw new Error(`no browser: ${noBrowser}`)
const service = await startTestService()
const browser = await launchBrowser()
try {
  const page = await browser.newPage({ viewport: { width: 1120, height: 700 }, locale: 'en' })
  page.setDefaultTimeout(180_000)
  await page.goto(`${service.baseUrl}/docs#/payouts/createFiatPayout`, { waitUntil: 'domcontentloaded' })
  // The link opens the operation.
  await page.locator('#operations-payouts-createFiatPayout .opblock-body').waitFor()
  await page.locator('#operations-payouts-createFiatPayout').scrollIntoViewIfNeeded()
  await page.evaluate("document.querySelector('#operations-payouts-createFiatPayout').scrollIntoView()")
  const path = fileURLToPath(new URL('../docs/images/reference.png', import.meta.url))
  await page.screenshot({ path })
  console.log(`wrote ${path}`)
} finally {
  await browser.close()
  await service.dispose()
}
