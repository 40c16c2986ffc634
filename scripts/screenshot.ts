/**
 * Takes the pictures of README.md and of the guides, from a running service. Run it with `node scripts/screenshot.ts` after a visible
 * change of a page.
 */
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import { launchBrowser, noBrowser } from '../test/support/browser.ts'
import { success, textAt } from '../test/support/client.ts'
import { addAuthenticator, inviteTo, joinByPasskey, openPage, siteOf } from '../test/support/console.ts'
import { joinDesk } from '../test/support/desk.ts'
import { startTestService } from '../test/support/service.ts'
import { staffAtDesk } from '../test/support/staff.ts'
import { createBeneficiary, finalTransaction, payoutText } from '../test/support/world.ts'

if (noBrowser !== false) throw new Error(`no browser: ${noBrowser}`)
const service = await startTestService()
const browser = await launchBrowser()
const payees = ['Grace Hopper', 'Lamarr Studios GmbH', 'Katherine Johnson', 'Bletchley Office Supplies Ltd']
const amounts = ['1250.00', '89.90', '12400.00', '420.00', '7800.50', '64.20']
const viewport = { width: 1320, height: 860 }

async function take(page: Page, name: string): Promise<void> {
  const path = fileURLToPath(new URL(`../docs/images/${name}.png`, import.meta.url))
  await page.screenshot({ path })
  console.log(`wrote ${path}`)
}

async function pay(): Promise<void> {
  const rule = ['--partner', service.credentials.partnerId, '--currency', 'EUR', '--above', '5000.00']
  await service.operator('approval', 'set', ...rule, '--staff', 'Sam', '--note', 'two persons')
  const ids: string[] = []
  for (const name of payees) ids.push(textAt(await createBeneficiary(service.client, { name }), 'id'))
  for (const [index, amount] of amounts.entries()) {
    const body = payoutText(ids[index % ids.length] ?? '', amount, { reference: `INV-${1040 + index}` })
    const { status, reference } = success(await service.client.post('/v1/payouts/fiat', body))
    if (status === 'Pending') await finalTransaction(service.client, String(reference))
  }
}

async function consolePages(): Promise<void> {
  const site = siteOf(service)
  const { context, page } = await openPage(browser, site, { viewport })
  await addAuthenticator(context, page)
  await joinByPasskey(service, page, await inviteTo(service, 'Admin', 'Joan Clarke'))
  await page.goto(`${site}/console/payouts`)
  await take(page, 'console')
  await page.getByRole('link', { name: 'Katherine Johnson' }).first().click()
  await page.getByRole('link', { name: 'Review and approve' }).click()
  await take(page, 'approval')
  await page.goto(`${site}/console/payees`)
  await page.getByRole('link', { name: 'Pay Grace Hopper' }).click()
  await page.locator('#amount').fill('7500.00')
  await page.locator('#reference').fill('INV-1046')
  await page.getByRole('button', { name: 'Preview' }).click()
  await take(page, 'preview')
}

async function deskPages(): Promise<void> {
  const site = service.opsUrl.replace('127.0.0.1', 'localhost')
  const { as } = await staffAtDesk(
    { opsUrl: site, env: service.env, folder: service.dataDir },
    { name: 'Rosa', role: 'admin' },
  )
  const { page } = await joinDesk({ service, browser, site, as }, 'Ada', 'finance', [])
  await page.setViewportSize(viewport)
  await page.goto(`${site}/desk/find`)
  await page.getByLabel('What do you look for?').fill('INV-1044')
  await page.getByRole('button', { name: 'Find' }).click()
  await take(page, 'desk')
}

try {
  await pay()
  await consolePages()
  await deskPages()
} finally {
  await browser.close()
  await service.dispose()
}
