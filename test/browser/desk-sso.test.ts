/** Staff join, connect and sign in with a real OpenID Connect provider, in a real browser. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from '../support/browser.ts'
import { textAt } from '../support/client.ts'
import { addAuthenticator, openBesideProvider, useBrowser } from '../support/console.ts'
import { checkForms } from '../support/desk.ts'
import { untilEnd, useFolder, useService } from '../support/fixture.ts'
import { providerClient, signInAtProvider, startIdentityProvider } from '../support/identity-provider.ts'

const secretFile = join(await useFolder(), 'secret')
await writeFile(secretFile, providerClient.clientSecret)
const provider = untilEnd(await startIdentityProvider())
const { clientId } = providerClient
const STAFF_SSO = JSON.stringify({ issuer: provider.issuer, clientId, clientSecretFile: secretFile })
const service = await useService({ env: { STAFF_SSO } })
const site = service.opsUrl.replace('127.0.0.1', 'localhost')
provider.allow([`${site}/desk/sso`])
// Both before the first joins: from then on commands sign in.
const invite = async (name: string, role: string) => {
  const email = `${name.toLowerCase()}@example.com`
  return textAt(await service.operator('staff', 'invite', '--email', email, '--name', name, '--role', role), 'link')
}
const links = { ann: await invite('Ann', 'admin'), bo: await invite('Bo', 'finance') }
const browser = useBrowser()
const open = async (expected: readonly string[] = []) => openBesideProvider(await browser(), site, provider, expected)

test('a person joins with the provider and signs in again, and another person sees that no account is connected', async () => {
  provider.people.set('ann', { email: 'ann@example.com', email_verified: true })
  const { page } = await open(['403'])
  await page.goto(links.ann)
  await checkForms(page)
  await page.getByRole('link', { name: 'Join with single sign-on' }).click()
  await signInAtProvider(page, 'ann')
  await page.waitForURL(`${site}/desk/queue`)
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.waitForURL(`${site}/desk/sign-in`)
  await checkForms(page)
  await page.getByRole('link', { name: 'Continue with single sign-on' }).click()
  await page.waitForURL(`${site}/desk/queue`)
  await page.goto(`${site}/desk/staff`)
  await page.getByRole('cell', { name: 'Single sign-on' }).waitFor()
  provider.people.set('eve', { email: 'ann@example.com', email_verified: true })
  const eve = await open(['403'])
  await eve.page.goto(`${site}/desk/sign-in`)
  await eve.page.getByRole('link', { name: 'Continue with single sign-on' }).click()
  await signInAtProvider(eve.page, 'eve')
  await eve.page.getByText('No account here is connected').waitFor()
  await checkForms(eve.page)
  // The way back does not work again, nor without the cookie of the browser that asked.
  await eve.page.reload()
  await eve.page.getByRole('heading', { name: 'Single sign-on failed' }).waitFor()
  await eve.page.goto(`${site}/desk/sso?code=x&state=y`)
  await eve.page.getByText('took too long').waitFor()
})

test('a person with a passkey connects their provider account at the desk', async () => {
  const { page, context } = await open()
  await addAuthenticator(context, page)
  await page.goto(links.bo)
  await page.getByRole('button', { name: 'Create passkey and join' }).click()
  await page.waitForURL(`${site}/desk/queue`)
  provider.people.set('bo', { email: 'bo@other.example.com' })
  await page.goto(`${site}/desk/device`)
  await page.getByRole('button', { name: 'Connect single sign-on' }).click()
  await signInAtProvider(page, 'bo')
  await page.getByRole('heading', { name: 'Single sign-on is connected.' }).waitFor()
  await checkForms(page)
  await page.getByRole('link', { name: 'Continue' }).click()
  await page.getByText('Your account is connected with the provider since').waitFor()
  await checkForms(page)
})
