/** A support session in a real browser: from the link to its end. */
import assert from 'node:assert/strict'
import { test } from '../support/browser.ts'
import { check, openPage, siteOf, useBrowser } from '../support/console.ts'
import { useService } from '../support/fixture.ts'

const service = await useService()
const browser = useBrowser()

test('staff open the console with the link, read, and end the session', async () => {
  const words = ['--partner', service.credentials.partnerId, '--staff', 'Sam Staff', '--note', 'Ticket 7']
  const { pathname, search } = new URL(String((await service.operator('impersonate', ...words))['consoleUrl']))
  const opened = await openPage(await browser(), siteOf(service), {})
  const { page } = opened
  await page.goto(siteOf(service) + pathname + search)
  await check(page)
  await page.getByRole('button', { name: 'Open console' }).click()
  await page.waitForURL('**/console/home')
  const band = page.getByText('Support session of Sam Staff. Reason: Ticket 7.')
  await band.waitFor()
  await check(page)
  await page.setViewportSize({ width: 360, height: 800 })
  await check(page)
  await page.screenshot({ path: `${service.dataDir}/support-360.png` })
  await page.goto(`${siteOf(service)}/console/sessions`)
  await page.getByRole('heading', { name: 'Support sessions' }).waitFor()
  await check(page)
  await page.setViewportSize({ width: 1280, height: 800 })
  await page.goto(`${siteOf(service)}/console/team`)
  await band.waitFor()
  await page.getByRole('button', { name: 'End support session' }).click()
  await page.waitForURL('**/console/sign-in*')
  await page.goto(`${siteOf(service)}/console/home`)
  assert.match(page.url(), /sign-in/)
})
