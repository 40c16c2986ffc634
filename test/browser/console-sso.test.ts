/**
 * Single sign-on of a team in a real browser: an Admin configures the OpenID Connect provider, and people connect, join
 * and sign in with it.
 */
import assert from 'node:assert/strict'
import { test } from '../support/browser.ts'
import {
  addAuthenticator,
  type Cookies,
  inviteTo,
  joinByPasskey,
  openBesideProvider,
  useConsole,
} from '../support/console.ts'
import { checkForms } from '../support/desk.ts'
import { untilEnd, useService } from '../support/fixture.ts'
import { providerClient, signInAtProvider, startIdentityProvider } from '../support/identity-provider.ts'
import { mailedPath } from '../support/team.ts'

/** The session of an Admin. */
let ofAnn: Cookies = []
const provider = untilEnd(await startIdentityProvider())
const { service, site, browser } = useConsole(await useService({ env: { WEBHOOK_HTTP: 'on' } }))

const open = async (expected: readonly string[] = []) => openBesideProvider(await browser(), site, provider, expected)

test('an Admin configures the provider, proves the domain and connects their own account', async () => {
  const admin = await inviteTo(service, 'Admin', 'Ann Admin')
  const ann = await open(['400'])
  await addAuthenticator(ann.context, ann.page)
  await joinByPasskey(service, ann.page, admin)
  await ann.page.goto(`${site}/console/team`)
  await ann.page.getByRole('link', { name: 'Single sign-on' }).click()
  await checkForms(ann.page)
  const fill = async (fields: Readonly<Record<string, string>>) => {
    for (const [label, value] of Object.entries(fields)) await ann.page.getByLabel(label, { exact: true }).fill(value)
    await ann.page.getByRole('button', { name: 'Save', exact: true }).click()
  }
  const { clientId, clientSecret } = providerClient
  const given = { 'Client ID': clientId, 'Client secret': clientSecret, 'Email domain': 'acme.example' }
  await fill({ ...given, Issuer: 'no address' })
  await ann.page.getByText('Enter an absolute https URL without a query.').first().waitFor()
  await checkForms(ann.page)
  const roles = {
    'Claim with roles or groups (optional)': 'groups',
    'Values that give the role Operator (optional)': 'ops, payments',
  }
  await fill({ ...given, ...roles, Issuer: provider.issuer })
  await ann.page.getByText('The single sign-on is saved.').waitFor()
  await checkForms(ann.page)
  const redirect = /\S+\/console\/sso\/\S+/.exec(await ann.page.locator('main').innerText())?.[0] ?? ''
  assert.ok(redirect.startsWith(`${site}/console/sso/`), redirect)
  provider.allow([redirect])
  await ann.page.getByRole('button', { name: 'Prove the domain' }).click()
  await ann.page.getByText('The domain is proved.').waitFor()
  await checkForms(ann.page)

  provider.people.set('ann', { email: 'ann@acme.example', email_verified: true, groups: ['ops'] })
  await ann.page.goto(`${site}/console/account`)
  await ann.page.getByRole('button', { name: 'Connect single sign-on' }).click()
  await signInAtProvider(ann.page, 'ann')
  await ann.page.getByRole('heading', { name: 'Single sign-on is connected.' }).waitFor()
  await checkForms(ann.page)
  await ann.page.getByRole('link', { name: 'Continue' }).click()
  await ann.page.getByText('Your account is connected with the provider since').waitFor()
  await checkForms(ann.page)
  ofAnn = await ann.context.cookies()
})

test('a colleague with an address in the proved domain needs no invitation, and a claim sets the role', async () => {
  provider.people.set('zoe', { name: 'Zoe', email: 'zoe@acme.example', email_verified: true, groups: ['ops'] })
  const zoe = await open(['403'])
  await zoe.page.goto(`${site}/console/sign-in?partner=${service.credentials.partnerId}`)
  await checkForms(zoe.page)
  await zoe.page.getByRole('link', { name: 'Continue with single sign-on' }).click()
  await signInAtProvider(zoe.page, 'zoe')
  await zoe.page.waitForURL(`${site}/console/home`)
  await zoe.page.getByRole('button', { name: 'Sign out' }).click()
  await zoe.page.waitForURL(/\/console\/sign-in/)
  await zoe.page.getByRole('link', { name: 'Continue with single sign-on' }).click()
  await zoe.page.waitForURL(`${site}/console/home`)
  await zoe.page.goto(`${site}/console/team/single-sign-on`)
  await zoe.page.getByRole('heading', { name: 'You cannot open this page' }).waitFor()
})

test('a provider callback is refused in a browser that did not start the sign-in', async () => {
  const stranger = await open(['403'])
  await stranger.page.goto(`${site}/console/sso/${service.credentials.partnerId}?code=x&state=y`)
  await stranger.page.getByText('This sign-in took too long').waitFor()
  await checkForms(stranger.page)
})

test('an invitation is valid only for the invited address', async () => {
  const invited = await inviteTo(service, 'Developer', 'Max')
  provider.people.set('max', { email: invited, email_verified: true, groups: ['ops'] })
  provider.people.set('mallory', { email: 'mallory@acme.example', email_verified: true, groups: ['ops'] })
  for (const login of ['mallory', 'max']) {
    const person = await open(['403'])
    await person.page.goto(site + (await mailedPath(service, invited)))
    await checkForms(person.page)
    await person.page.getByRole('link', { name: 'Join with single sign-on' }).click()
    await signInAtProvider(person.page, login)
    if (login === 'max') await person.page.waitForURL(`${site}/console/home`)
    else {
      await person.page.getByText('does not name the email address that was invited').waitFor()
      await checkForms(person.page)
    }
    await person.close()
  }
})

test('an Admin removes the provider, and no person can sign in with it', async () => {
  const ann = await open()
  await ann.context.addCookies(ofAnn)
  await ann.page.goto(`${site}/console/team/single-sign-on`)
  await ann.page.getByRole('button', { name: 'Remove single sign-on' }).click()
  await checkForms(ann.page)
  await ann.page.getByRole('dialog').getByRole('button', { name: 'Remove single sign-on' }).click()
  await ann.page.getByText('The single sign-on is removed.').waitFor()
  const late = await open(['403'])
  await late.page.goto(`${site}/console/sign-in/sso?partner=${service.credentials.partnerId}`)
  await late.page.getByText('Single sign-on is not set up here.').waitFor()
})
