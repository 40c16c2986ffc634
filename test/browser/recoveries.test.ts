/** Recoveries of a sign-in in a real browser: by another Admin, and by two staff members. */
import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { createLog } from '../../service/src/kernel/index.ts'
import { createDatabase, sql } from '../../service/src/postgres/index.ts'
import { test } from '../support/browser.ts'
import { addAuthenticator, check, inviteTo, joinByPasskey, openPage, siteOf, useBrowser } from '../support/console.ts'
import { checkForms, joinDesk } from '../support/desk.ts'
import { useService } from '../support/fixture.ts'
import { mailedPath } from '../support/team.ts'
import { until } from '../support/until.ts'

const service = await useService()
const browser = useBrowser()

async function joined(role: 'Admin' | 'Operator', fullName: string, expected: readonly string[] = []) {
  const address = await inviteTo(service, role, fullName)
  const opened = await openPage(await browser(), siteOf(service), {}, expected)
  await addAuthenticator(opened.context, opened.page)
  await joinByPasskey(service, opened.page, address)
  return { ...opened, address }
}

/** Returns the newest link to a path that was mailed to an address. */
const linkTo = (address: string, path: string) =>
  until(`a link to ${path}`, async () => {
    const link = await mailedPath(service, address)
    return link.startsWith(`${path}?`) ? link : undefined
  })

/** Opens the link on a new device and sets a passkey. */
async function recover(link: string) {
  const opened = await openPage(await browser(), siteOf(service), {}, ['404'])
  const { page } = opened
  await addAuthenticator(opened.context, page)
  await page.goto(siteOf(service) + link)
  await checkForms(page)
  await page.getByRole('button', { name: 'Create passkey and sign in' }).click()
  await page.waitForURL('**/console/home')
  await page.goto(siteOf(service) + link)
  await page.getByText('This link is not valid').first().waitFor()
  await opened.close()
}

const atSignIn = async (page: Page) => {
  await page.goto(`${siteOf(service)}/console/team`)
  return page.url().includes('/sign-in')
}

test('an Admin resets a colleague, who is signed out and sets a new passkey with the link', async () => {
  const ada = await joined('Admin', 'Ada Admin')
  const alan = await joined('Operator', 'Alan Operator')
  const { page } = ada
  await page.goto(`${siteOf(service)}/console/team`)
  await page.getByRole('button', { name: 'Reset' }).first().click()
  const dialog = page.getByRole('dialog', { name: 'Reset the sign-in of Alan Operator' })
  await dialog.waitFor()
  await checkForms(page)
  await dialog.getByRole('button', { name: 'Reset sign-in' }).click()
  await page.getByText('The sign-in was reset').waitFor()
  await check(page)
  assert.equal(await atSignIn(alan.page), true)
  await recover(await linkTo(alan.address, '/console/recover'))
})

test('two staff members recover an Admin: the first attempt is cancelled by mail, the second succeeds', async () => {
  const joan = await joined('Admin', 'Joan Locked')
  const site = service.opsUrl.replace('127.0.0.1', 'localhost')
  const desk = async (as: readonly string[]) => ({ service, browser: await browser(), site, as })
  const rosa = await joinDesk(await desk([]), 'Rosa', 'admin')
  // One admin alone invites the next one.
  const file = `${service.dataDir}/rosa.token`
  const { runCommand } = await import('../../service/src/command.ts')
  const lines: string[] = []
  const signingIn = runCommand(['sign-in', '--token-file', file], async (line) => void lines.push(line), service.env)
  const [, link = ''] = /Open (\S+) and confirm/.exec(await until('the link', () => lines[0])) ?? []
  await rosa.page.goto(link)
  await rosa.page.getByRole('button', { name: 'Sign this command in' }).click()
  await signingIn
  const sam = await joinDesk(await desk(['--token-file', file]), 'Sam', 'support')
  const begin = async () => {
    const { page } = sam
    await page.goto(`${site}/desk/partners/${service.credentials.partnerId}`)
    await page.getByText('Let an Admin in again').first().click()
    const form = page.locator('form:has(input[name="identified-by"])')
    await form.getByLabel('Address of the Admin').fill(joan.address)
    await form.getByLabel('How you have identified the person').fill('Video call with passport')
    await form.getByLabel('Note').fill('Lost phone')
    await form.getByRole('button', { name: 'Let an Admin in again' }).click()
    await page.getByText('Another person has to approve this change').waitFor()
    await rosa.page.goto(`${site}/desk/changes`)
    await rosa.page.getByText('Video call with passport').waitFor()
    await rosa.page.getByRole('button', { name: 'Approve change' }).click()
    await rosa.page.getByText('No change waits').waitFor()
  }
  await begin()
  await sam.page.reload()
  await checkForms(sam.page)
  const cancelled = await openPage(await browser(), siteOf(service))
  await cancelled.page.goto(siteOf(service) + (await linkTo(joan.address, '/console/recover/cancel')))
  await cancelled.page.getByText('Lost phone').waitFor()
  await checkForms(cancelled.page)
  await cancelled.page.getByRole('button', { name: 'Cancel recovery' }).click()
  await cancelled.page.getByText('The recovery is cancelled').first().waitFor()
  await check(cancelled.page)
  await cancelled.close()
  await begin()
  const db = createDatabase({ url: service.databaseUrl, connectionsMax: 1, log: createLog('silent') })
  await db.run(sql`update users.recoveries set due_at = now() where status = 'Waiting'`)
  await db.close()
  assert.equal(await atSignIn(joan.page), false, 'the earlier sign-in holds until the link is used')
  await recover(await linkTo(joan.address, '/console/recover'))
  assert.equal(await atSignIn(joan.page), true)
})
