/** People of a partner's team in a real browser, whose authenticator the browser simulates. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { type JsonObject, success, textAt } from './client.ts'
import type { TestService } from './service.ts'
import { mailedPath } from './team.ts'
import { invitee } from './world.ts'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** Browsers make passkeys for `localhost` and for no IP address. */
export const siteOf = ({ baseUrl }: TestService): string => baseUrl.replace('127.0.0.1', 'localhost')

/** Invites a person, and returns the address. */
export async function inviteTo(
  { client }: TestService,
  role: 'Admin' | 'Developer' | 'Operator',
  fullName = 'Joan Clarke',
): Promise<string> {
  const person: JsonObject = { ...invitee(), role, fullName }
  success(await client.post('/v1/users/invitations', { invitations: [person] }))
  return textAt(person, 'email')
}

export type OpenedPage = {
  readonly context: BrowserContext
  readonly page: Page
  /** Fails the test if a policy blocked something, or a request failed or left the origin. */
  readonly close: () => Promise<void>
}

/** Opens a browser of a person. `expected`: texts of failures that the test causes. */
export async function openPage(
  browser: Browser,
  site: string,
  options: Parameters<Browser['newContext']>[0] = {},
  expected: readonly string[] = [],
): Promise<OpenedPage> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, locale: 'en', ...options })
  const page = await context.newPage()
  const failures: string[] = []
  page.on('console', (message) => void (message.type() === 'error' && failures.push(message.text())))
  page.on('pageerror', (error) => void failures.push(String(error)))
  page.on('request', (request) => {
    if (!request.url().startsWith(`${site}/`) && !request.url().startsWith('data:')) failures.push(request.url())
  })
  await page.addInitScript(
    "addEventListener('securitypolicyviolation', (event) => console.error('blocked: ' + event.blockedURI))",
  )
  const close = async () => {
    assert.deepEqual(
      failures.filter((failure) => !expected.some((text) => failure.includes(text))),
      [],
    )
    await context.close()
  }
  return { context, page, close }
}

/** Adds an authenticator that verifies its user, or cannot. */
export async function addAuthenticator(context: BrowserContext, page: Page, isUserVerified = true): Promise<void> {
  const session = await context.newCDPSession(page)
  await session.send('WebAuthn.enable')
  const options = { protocol: 'ctap2', transport: 'internal', hasResidentKey: true, hasUserVerification: true } as const
  await session.send('WebAuthn.addVirtualAuthenticator', {
    options: { ...options, isUserVerified, automaticPresenceSimulation: true },
  })
}

/** Fails with every finding of axe on the page. */
export async function check(page: Page): Promise<void> {
  await page.evaluate(axe)
  const findings = (await page.evaluate(`axe.run({ resultTypes: ['violations'] }).then(({ violations }) =>
    violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html).join(' | ')))`)) as string[]
  assert.deepEqual(findings, [], page.url())
}

/** Accepts an invitation with a passkey, and ends on the home page. */
export async function joinByPasskey(service: TestService, page: Page, address: string): Promise<void> {
  const site = siteOf(service)
  await page.goto(site + (await mailedPath(service, address)))
  await page.getByRole('button', { name: 'Create passkey and join' }).click()
  await page.waitForURL(`${site}/console/home`)
}

/** The cookie of the person's session. */
export async function cookieOf(context: BrowserContext): Promise<string> {
  const [cookie] = (await context.cookies()).filter(({ name }) => name === '__Host-session')
  return `__Host-session=${cookie?.value ?? ''}`
}
