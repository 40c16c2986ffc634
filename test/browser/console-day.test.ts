/**
 * A full day of a team in real browsers: the first Admin joins by the link that `npm start` prints and invites a
 * colleague; the colleague adds a payee and creates a payout, the Admin approves it with a passkey, and the proof
 * verifies offline.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { test } from '../support/browser.ts'
import { listAt, success, textAt } from '../support/client.ts'
import { addAuthenticator, check, joinByPasskey, openPage, siteOf, useConsole } from '../support/console.ts'
import { useService } from '../support/fixture.ts'
import { until } from '../support/until.ts'
import { ibans } from '../support/world.ts'

const { service, browser } = useConsole(await useService())

type BrowserPage = Awaited<ReturnType<typeof openPage>>

/** The first Admin joins by the link that the service has printed. */
async function joinFirst({ context, page }: BrowserPage, link: string): Promise<void> {
  await addAuthenticator(context, page)
  await page.goto(link)
  await check(page)
  await page.getByLabel('Full name').fill('Ann Admin')
  await page.getByLabel('Email').fill('ann@example.com')
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByRole('button', { name: 'Create passkey and join' }).click()
  await page.waitForURL(/\/console\/home$/)
  assert.equal((await fetch(link)).status, 404, 'the link has made its Admin')
}

async function inviteColleague({ page }: BrowserPage): Promise<void> {
  await page.getByRole('link', { name: 'Team' }).click()
  await page.locator('#invite-email').fill('bob@example.com')
  await page.locator('#invite-name').fill('Bob Builder')
  await page.locator('form.invite input[name=role][value=Operator]').check()
  await page.getByRole('button', { name: 'Send invitation' }).click()
}

/** Saves a payee and creates a payout that needs approval. Returns the path of the payout's page, and its id. */
async function askForPayout(
  { page }: BrowserPage,
  site: string,
): Promise<{ readonly path: string; readonly id: string }> {
  await page.goto(`${site}/console/payees/new`)
  await page.locator('#name').fill('Grace Hopper')
  await page.locator('#account').fill(ibans.DE)
  await page.locator('#currency').fill('EUR')
  await page.locator('button[type=submit].primary').click()
  await page.locator('form[action$="payees/new/save"] button.primary').click()
  await page.goto(`${site}/console/payees`)
  await page.getByRole('link', { name: 'Pay Grace Hopper' }).click()
  await page.locator('#amount').fill('2500.00')
  await page.locator('#reference').fill('INV-77')
  await page.getByRole('button', { name: 'Preview' }).click()
  await check(page)
  await page.getByRole('button', { name: /^Ask for approval of 2,500\.00/ }).click()
  const [payout = {}] = listAt(success(await service.client.get('/v1/payouts?status=PendingApproval')))
  const id = textAt(payout, 'id')
  await page.goto(`${site}/console/payouts/${id}/approve`)
  assert.match(await page.locator('main').innerText(), /Another person must approve it/)
  return { path: `payouts/${id}`, id }
}

async function search({ page }: BrowserPage, site: string, id: string): Promise<void> {
  await page.keyboard.press('/')
  await page.keyboard.type('INV-7')
  await page.keyboard.press('Enter')
  await page.waitForURL(`${site}/console/transactions/INV-77`)
  await page.goto(`${site}/console/find?q=${id}`)
  assert.equal(page.url(), `${site}/console/payouts/${id}`)
  await page.goto(`${site}/console/find?q=nothing-like-this`)
  assert.match(await page.locator('main').innerText(), /Nothing was found/)
  await check(page)
}

/** Verifies the proof of the payment with the command, which uses no network. */
async function verified(): Promise<string> {
  const proof = await until('the approval is under a signed head', async () => {
    const answer = success(await service.client.get('/v1/transactions/INV-77/proof'))
    return answer.pending === 0 && JSON.stringify(answer).includes('approvePayout') && answer
  })
  const folder = await mkdtemp(join(tmpdir(), 'partner-payments-day-'))
  const file = join(folder, 'proof.json')
  await writeFile(file, JSON.stringify(proof))
  const { stdout } = await promisify(execFile)(process.execPath, ['scripts/verify-proof.ts', file])
  await rm(folder, { recursive: true })
  return stdout
}

test('two people join, pay and approve, and the proof of the payment verifies', async () => {
  const site = siteOf(service)
  const rule = ['--partner', service.credentials.partnerId, '--currency', 'EUR', '--above', '100.00', '--passkey']
  await service.operator('approval', 'set', ...rule, '--staff', 'Sam', '--note', 'two persons')
  const link = await until('the link is printed', async () => /http:\S+first-admin\S+/.exec(service.output())?.[0])
  const ann = await openPage(await browser(), site)
  await joinFirst(ann, link)
  await inviteColleague(ann)
  // The page that refuses one's own payout answers 403.
  const bob = await openPage(await browser(), site, {}, ['403'])
  await addAuthenticator(bob.context, bob.page)
  await joinByPasskey(service, bob.page, 'bob@example.com')
  const { path, id } = await askForPayout(bob, site)

  await ann.page.goto(`${site}/console/home`)
  await ann.page.getByRole('link', { name: /to approve/ }).click()
  await ann.page.getByRole('link', { name: 'Grace Hopper' }).click()
  await ann.page.getByRole('link', { name: 'Review and approve' }).click()
  await ann.page.getByRole('button', { name: 'Approve 2,500.00 EUR' }).click()
  await ann.page.waitForURL(`${site}/console/${path}?done=approved`)
  assert.match(
    await ann.page.locator('main').innerText(),
    /You have approved the payout[\s\S]*Approved[\s\S]*Ann Admin/,
  )
  await check(ann.page)
  await search(ann, site, id)
  assert.match(await verified(), /approved by Ann Admin: 2500\.00 EUR to .*; by a passkey of http:\/\/localhost:/)
})
