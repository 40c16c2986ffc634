/**
 * An approver gets a mail, opens its link, signs in and approves, and no task is left. Each count on the home page
 * links to a list with exactly that many rows.
 */
import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { test } from '../support/browser.ts'
import { listAt, success, textAt } from '../support/client.ts'
import { check, press, useConsole } from '../support/console.ts'
import { useService } from '../support/fixture.ts'
import { mailedPath } from '../support/team.ts'
import { until } from '../support/until.ts'
import { createBeneficiary, payoutText } from '../support/world.ts'

const { service, site, person, open } = useConsole(await useService({ env: { INBOX_GATHER_SECONDS: '3' } }))
const rule = ['--partner', service.credentials.partnerId, '--currency', 'EUR', '--above', '100.00']
await service.operator('approval', 'set', ...rule, '--staff', 'Sam', '--note', 'two persons')

/**
 * Follows the link of each count on the home page, and compares the count with the rows of its list. Returns the
 * counts.
 */
async function followed(page: Page): Promise<readonly string[]> {
  await open(page, 'home')
  const links = await page.locator('.waiting a').evaluateAll((found) =>
    found.map((link) => ({
      href: (link as unknown as { href: string }).href,
      count: link.querySelector('.count')?.textContent ?? '',
    })),
  )
  for (const { href, count } of links) {
    await page.goto(href)
    assert.equal(await page.locator('main tbody tr').count(), Number(count), href)
  }
  return links.map(({ count }) => count)
}

test('an approver gets the mail, opens its link, signs in and approves, and no task is left', async () => {
  const { page, email } = await person('Operator', 'Bob Approver')
  const payee = textAt(await createBeneficiary(service.client, { name: 'Grace Hopper' }), 'id')
  success(await service.client.post('/v1/payouts/fiat', payoutText(payee, '1234.50')))
  success(await service.client.post('/v1/payouts/fiat', payoutText(payee, '250.00')))
  const [newest = {}, before = {}] = listAt(success(await service.client.get('/v1/payouts?limit=2')))
  assert.deepEqual(await followed(page), ['2'])
  await page.getByRole('button', { name: 'Sign out' }).click()
  const path = await until('a mail with a link to the inbox', async () => {
    const found = await mailedPath(service, email)
    return found.startsWith('/console/open') && found
  })
  await page.goto(site + path)
  await page.getByRole('button', { name: /passkey/i }).click()
  // The mail has both payouts, unless the machine was slow: then its link leads to the first one.
  await page.waitForURL(/\/console\/(?:inbox|payouts\/)/)
  await until('the inbox has both payouts', async () => {
    await open(page, 'inbox')
    return (await page.locator('main tbody tr').count()) === 2
  })
  await check(page)
  assert.match(await page.locator('.places .count').innerText(), /^2/)
  await page.getByRole('link', { name: /^Payout of 1,234\.50 EUR to Grace Hopper/ }).click()
  await page.waitForURL(`${site}/console/payouts/${textAt(before, 'id')}`)
  for (const id of [textAt(before, 'id'), textAt(newest, 'id')]) {
    await open(page, `payouts/${id}/approve`)
    await press(page, /^Approve /)
    await page.waitForURL(`${site}/console/payouts/${id}?done=approved`)
  }
  assert.deepEqual(await followed(page), [])
  await open(page, 'inbox')
  await page.getByText('Waits no longer').first().waitFor()
  await press(page, 'Mark all as read')
  assert.equal(await page.locator('.places .count').count(), 0)
  await open(page, 'notifications')
  await page.getByLabel('Approvals that wait for you').selectOption('no')
  await press(page, 'Save choices')
  await page.getByText('Your choices are saved.').waitFor()
  assert.equal(await page.getByLabel('Approvals that wait for you').inputValue(), 'no')
  await check(page)
})

test('a new person sees the counts of waiting tasks, and each count links to its list', async () => {
  const { page } = await person('Admin', 'Mary Maker')
  const payee = textAt(await createBeneficiary(service.client, { name: 'Grace Hopper' }), 'id')
  success(await service.client.post('/v1/payouts/fiat', payoutText(payee, '500.00')))
  assert.deepEqual(await followed(page), ['1'])
})

test('the requester of a payout sees that it was rejected, and by whom', async () => {
  const payee = textAt(await createBeneficiary(service.client, { name: 'Annie Easley' }), 'id')
  const [asker, approver] = [await person('Operator', 'Fay Asker'), await person('Operator', 'Rex Rejecter')]
  await open(asker.page, `payouts/new?beneficiaryId=${payee}&amount=700.00&reference=RE-7`)
  await press(asker.page, 'Preview')
  await press(asker.page, 'Ask for approval of 700.00 EUR')
  const path = new URL(asker.page.url()).pathname
  await approver.page.goto(`${site}${path}/approve`)
  await approver.page.getByText('Reject instead').click()
  await approver.page.getByLabel('Reason').fill('No such order')
  await press(approver.page, 'Reject payout')
  await approver.page.waitForURL(`${site}${path}?done=rejected`)
  const title = 'Payout of 700.00 EUR to Annie Easley was rejected: it is not sent'
  await until('the asker is told', async () => {
    await open(asker.page, 'inbox')
    return (await asker.page.getByRole('link', { name: title }).count()) === 1
  })
  assert.match(await asker.page.locator('main').innerText(), /was rejected[^]*RE-7[^]*By: Rex Rejecter/)
  await open(approver.page, 'inbox')
  assert.equal(await approver.page.getByRole('link', { name: title }).count(), 0)
})
