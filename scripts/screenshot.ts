/**
 * Takes the picture of README.md: the payouts of a partner in the console. Run it with `node scripts/screenshot.ts` after a visible
 * change of the page.
 */
import { fileURLToPath } from 'node:url'
import { launchBrowser, noBrowser } from '../test/support/browser.ts'
import { success, textAt } from '../test/support/client.ts'
import { addAuthenticator, inviteTo, joinByPasskey, openPage, siteOf } from '../test/support/console.ts'
import { startTestService } from '../test/support/service.ts'
import { createBeneficiary, finalTransaction, payoutText } from '../test/support/world.ts'

if (noBrowser !== false) throw new Error(`no browser: ${noBrowser}`)
const service = await startTestService()
const browser = await launchBrowser()
const payees = ['Grace Hopper', 'Lamarr Studios GmbH', 'Katherine Johnson', 'Bletchley Office Supplies Ltd']
const amounts = ['1250.00', '89.90', '12400.00', '420.00', '7800.50', '64.20']
try {
  const rule = ['--partner', service.credentials.partnerId, '--currency', 'EUR', '--above', '5000.00']
  await service.operator('approval', 'set', ...rule, '--staff', 'Sam', '--note', 'two persons')
  const ids: string[] = []
  for (const name of payees) ids.push(textAt(await createBeneficiary(service.client, { name }), 'id'))
  for (const [index, amount] of amounts.entries()) {
    const body = payoutText(ids[index % ids.length] ?? '', amount, { reference: `INV-${1040 + index}` })
    const { status, reference } = success(await service.client.post('/v1/payouts/fiat', body))
    if (status === 'Pending') await finalTransaction(service.client, String(reference))
  }
  const site = siteOf(service)
  const { context, page } = await openPage(browser, site, { viewport: { width: 1320, height: 860 } })
  await addAuthenticator(context, page)
  await joinByPasskey(service, page, await inviteTo(service, 'Admin', 'Joan Clarke'))
  await page.goto(`${site}/console/payouts`)
  const path = fileURLToPath(new URL('../docs/images/console.png', import.meta.url))
  await page.screenshot({ path })
  console.log(`wrote ${path}`)
} finally {
  await browser.close()
  await service.dispose()
}
