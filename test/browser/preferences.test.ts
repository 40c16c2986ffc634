/**
 * The language and the time zone of the pages: set by links and a form, without JavaScript, and stored in the browser.
 */
import assert from 'node:assert/strict'
import { test } from '../support/browser.ts'
import { check, useConsole } from '../support/console.ts'
import { useSharedService } from '../support/fixture.ts'
import { createCustomer } from '../support/world.ts'

const { service, client, site, visit, person, open } = useConsole(await useSharedService())

const lang = 'document.documentElement.lang'

test('a link in the footer changes the language, and the language is kept', async () => {
  await createCustomer(client)
  const { page } = await person('Admin', 'Joan Clarke', { locale: 'en-GB' })
  await open(page, 'customers?namePrefix=Ada')
  await page.getByRole('navigation', { name: 'Languages' }).getByRole('link', { name: 'Deutsch' }).click()
  await page.waitForURL(`${site}/console/customers?namePrefix=Ada`)
  assert.equal(await page.evaluate(lang), 'de')
  await open(page, 'payouts')
  assert.equal(await page.locator('h1').innerText(), 'Auszahlungen')
  await check(page)
  await page.getByRole('button', { name: 'Abmelden' }).click()
  await page.waitForURL(/\/console\/sign-in/)
  assert.equal(await page.evaluate(lang), 'de', 'also before the sign-in')
})

test("on the page of a refused form, the language link leads to the form's own page", async () => {
  const { page } = await person('Admin')
  await open(page, 'team')
  await page.evaluate("document.querySelector('main form.invite').noValidate = true")
  await page.locator('main form.invite button[type=submit]').click()
  await page.waitForURL(`${site}/console/team/invite`)
  await page.getByRole('navigation', { name: 'Languages' }).getByRole('link', { name: 'Deutsch' }).click()
  await page.waitForURL(`${site}/console/team`)
  assert.equal(await page.evaluate(lang), 'de')
})

test('times are in the zone of the browser, then in the zone that a person chooses', async () => {
  const options = { locale: 'en-GB', timezoneId: 'Asia/Kolkata' }
  const { page } = await person('Admin', 'Joan Clarke', options)
  await open(page, 'sessions')
  const shown = page.locator('main time').first()
  const at = new Date((await shown.getAttribute('datetime')) ?? '')
  const words = (timeZone: string) =>
    new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short', timeZone }).format(at)
  assert.equal(await shown.innerText(), words('Asia/Kolkata'))
  assert.equal(await shown.getAttribute('title'), `${words('UTC')} UTC`)
  assert.equal(await shown.getAttribute('data-local'), null, 'the service writes it, and no script changes it')
  await page
    .getByRole('link', { name: 'Times: Asia/Calcutta' })
    .or(page.getByRole('link', { name: 'Times: Asia/Kolkata' }))
    .click()
  await check(page)
  await page.getByLabel('Show times in').selectOption('America/New_York')
  await page.getByRole('button', { name: 'Save time zone' }).click()
  await page.waitForURL(`${site}/console/sessions`)
  assert.equal(await shown.innerText(), words('America/New_York'))
})

test('a forged zone or language changes nothing, and no link leaves the site', async () => {
  const { page, context } = await visit({}, ['404'])
  await context.addCookies(
    [
      ['__Host-zone', '%00<script>'],
      ['__Host-language', 'xx'],
      ['__Host-browser-zone', 'Mars/Base'],
    ].map(([name = '', value = '']) => ({ ...{ name, value, domain: 'localhost', path: '/', secure: true } })),
  )
  await page.goto(`${site}/console/sign-in`)
  assert.equal(await page.evaluate(lang), 'en')
  for (const next of ['https://evil.example/', '//evil.example', '../../v1', 'no-such-page']) {
    const answer = await fetch(`${service.baseUrl}/console/language/de?next=${encodeURIComponent(next)}`, {
      redirect: 'manual',
    })
    assert.deepEqual([answer.status, answer.headers.get('location')], [303, '../home'], next)
  }
  const unknown = await fetch(`${service.baseUrl}/console/language/xx?next=payouts`, { redirect: 'manual' })
  assert.deepEqual([unknown.headers.get('location'), unknown.headers.getSetCookie()], ['../payouts', []])
})
