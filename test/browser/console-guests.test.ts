/**
 * A guest of the webhook pages in a real browser: the link, the pages that the guest can open, and the end of the
 * access.
 */
import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { test } from '../support/browser.ts'
import { listAt, success, textAt } from '../support/client.ts'
import { check, cookieOf, main, press, useConsole } from '../support/console.ts'
import { useSharedService } from '../support/fixture.ts'
import { otherPartner } from '../support/service.ts'
import { mailedPath } from '../support/team.ts'

const { service, site, visit, person } = useConsole(await useSharedService())

const open = async (page: Page, path: string) => (await page.goto(`${site}/console/${path}`))?.status()
const endpoint = async () =>
  textAt(success(await service.client.post('/v1/webhooks', { url: 'https://example.com/hooks', events: ['*'] })), 'id')

const admin = (name = 'Ada Admin') => person('Admin', name)

let guests = 0
/** Mails a guest link from the page. Returns its path. */
async function mailLink(page: Page, access: 'read' | 'manage'): Promise<string> {
  const email = `guest-${++guests}@example.com`
  await open(page, 'webhooks')
  await page.getByRole('link', { name: 'Guests' }).click()
  await page.getByLabel('Name', { exact: true }).fill(`Gus Guest ${guests}`)
  await page.getByLabel('Email').fill(email)
  await page.selectOption('#access', access)
  await press(page, 'Mail the link')
  await page.getByText('The link is being mailed.').waitFor()
  return mailedPath(service, email)
}

async function enter(path: string) {
  const opened = await visit()
  await opened.page.goto(site + path)
  await press(opened.page, 'Open the webhook pages')
  await opened.page.waitForURL(`${site}/console/webhooks`)
  return opened
}

test('a guest link opens once, only by a click, and shows only the webhook pages', async () => {
  const maker = await admin()
  const id = await endpoint()
  await open(maker.page, 'webhooks/guests')
  assert.match(await main(maker.page), /No guest yet/)
  await check(maker.page)
  const path = await mailLink(maker.page, 'read')
  await check(maker.page)
  // A scanner of mails reads the link before the guest does.
  for (let at = 0; at < 3; at++) assert.equal((await fetch(service.baseUrl + path)).status, 200)
  const guest = await visit()
  await guest.page.goto(site + path)
  assert.match(await main(guest.page), /Ada Admin lets you in as Gus Guest/)
  await check(guest.page)
  await press(guest.page, 'Open the webhook pages')
  await guest.page.waitForURL(`${site}/console/webhooks`)
  await check(guest.page)
  const places = await guest.page.locator('nav.places a').allInnerTexts()
  assert.deepEqual(places.map((text) => text.trim()).toSorted(), ['Events', 'Webhooks'])
  for (const page of [`webhooks/${id}`, 'events']) assert.equal(await open(guest.page, page), 200)
  assert.equal(await guest.page.getByRole('button', { name: /test|secret|Delete/i }).count(), 0)
  await checkNoOther(guest.page, await cookieOf(guest.context), id)
  const again = await visit()
  assert.equal((await again.page.goto(site + path))?.status(), 404)
  await again.close()
  await open(maker.page, 'webhooks/guests')
  assert.match(await main(maker.page), /Gus Guest 1[^]*Signed in/)
  await press(maker.page, /^Revoke/)
  await maker.page.getByText('The link is revoked.').waitFor()
  await open(guest.page, 'webhooks')
  assert.match(guest.page.url(), /\/console\/sign-in/)
})

/** Pages and forms that a guest cannot use, including forms on the pages that the guest can open. */
async function checkNoOther(page: Page, cookie: string, id: string): Promise<void> {
  const others = ['home', 'transactions', 'payouts', 'customers', 'team', 'service-accounts', 'audit', 'sessions']
  for (const path of [...others, 'account', 'find?q=a', 'approvals', 'reports', 'simulations', 'webhooks/guests']) {
    const status = await open(page, path)
    assert.ok(status === 403 || status === 404, `${path}: ${status}`)
  }
  const headers = { cookie, 'sec-fetch-site': 'same-origin' }
  const forms = ['webhooks/new', `webhooks/${id}/rotate`, `webhooks/${id}/test`, `webhooks/${id}/delete`]
  for (const path of [...forms, 'team/invite', 'webhooks/guests', 'payouts/new', 'service-accounts/new']) {
    const options = { method: 'POST', headers, body: new URLSearchParams({}), redirect: 'manual' } as const
    const { status } = await fetch(`${service.baseUrl}/console/${path}`, options)
    assert.ok([403, 404, 405].includes(status), `${path}: ${status}`)
  }
}

test('a guest who manages webhooks rotates a secret, is logged with its inviter, and loses access when the inviter is removed', async () => {
  const id = await endpoint()
  const maker = await admin('Mia Maker')
  const guest = await enter(await mailLink(maker.page, 'manage'))
  await open(guest.page, `webhooks/${id}`)
  await check(guest.page)
  const headers = { cookie: await cookieOf(guest.context), 'sec-fetch-site': 'same-origin' }
  const rotate = `${service.baseUrl}/console/webhooks/${id}/rotate`
  const answer = await fetch(rotate, { method: 'POST', headers, body: new URLSearchParams({}) })
  assert.equal(answer.status, 200)
  const records = listAt(success(await service.client.get('/v1/audit?limit=50')), 'data')
  const rotated = records.find(({ action }) => action === 'rotateSecret')
  assert.match(JSON.stringify(rotated), /Gus Guest \d+ \(guest of Mia Maker\)/)
  const other = await otherPartner(service, 'Other Ltd')
  assert.deepEqual(listAt(success(await other.get('/v1/users/guest-links')), 'data'), [])
  const users = listAt(success(await service.client.get('/v1/users?limit=50')), 'data')
  const member = textAt(users.find(({ fullName }) => fullName === 'Mia Maker') ?? {}, 'userId')
  assert.equal((await service.client.delete(`/v1/users/${member}`)).status, 204)
  await open(guest.page, 'webhooks')
  assert.match(guest.page.url(), /\/console\/sign-in/)
})

test('only one of two simultaneous clicks opens the link, and signing out ends the session', async () => {
  const maker = await admin()
  const path = await mailLink(maker.page, 'read')
  const token = new URLSearchParams(path.split('?')[1]).get('token') ?? ''
  const click = () =>
    fetch(`${service.baseUrl}/console/guest`, {
      method: 'POST',
      headers: { 'sec-fetch-site': 'same-origin' },
      body: new URLSearchParams({ token }),
      redirect: 'manual',
    })
  const statuses = (await Promise.all([click(), click()])).map(({ status }) => status)
  assert.deepEqual(statuses.toSorted(), [303, 404])
  const guest = await enter(await mailLink(maker.page, 'read'))
  await guest.page.getByRole('button', { name: 'Sign out' }).click()
  await guest.page.waitForURL(/sign-in/)
  await open(guest.page, 'webhooks')
  assert.match(guest.page.url(), /\/console\/sign-in/)
})
