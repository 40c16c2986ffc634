/** People of a partner's team in a real browser, whose authenticator the browser simulates. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { getTestContext } from 'node:test'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { launchBrowser } from './browser.ts'
import { atEnd } from './fixture.ts'
import { type JsonObject, success, textAt } from './client.ts'
import type { SharedService } from './service.ts'
import { mailedPath } from './team.ts'
import { invitee } from './world.ts'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** Browsers make passkeys for `localhost` and for no IP address. */
export const siteOf = ({ baseUrl }: SharedService): string => baseUrl.replace('127.0.0.1', 'localhost')

/** Invites a person, and returns the address. */
export async function inviteTo(
  { client }: SharedService,
  role: 'Admin' | 'Developer' | 'Operator',
  fullName = 'Joan Clarke',
): Promise<string> {
  const person: JsonObject = { ...invitee(), role, fullName }
  success(await client.post('/v1/users/invitations', { invitations: [person] }))
  return textAt(person, 'email')
}

/** Cookies of a session. */
export type Cookies = Awaited<ReturnType<BrowserContext['cookies']>>
export type OpenedPage = {
  readonly context: BrowserContext
  readonly page: Page
  /** Fails the test if a policy blocked something, or a request failed or left the origin. A page that is left open closes with its test. */
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
  if (getTestContext() !== undefined) atEnd(close)
  return { context, page, close }
}

/** Opens a browser of a person who signs in at a provider, whose page asks for a font of another site, which is answered without one. */
export async function openBesideProvider(
  browser: Browser,
  site: string,
  { issuer }: { readonly issuer: string },
  expected: readonly string[] = [],
): Promise<OpenedPage> {
  const fonts = 'https://fonts.googleapis.com/'
  const opened = await openPage(browser, site, {}, [`${issuer}/`, fonts, ...expected])
  await opened.context.route(`${fonts}**`, (route) => route.fulfill({ contentType: 'text/css', body: '' }))
  return opened
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

/**
 * The form of a page: elements and attributes, one row for equal rows, without the words and numbers in them, and what its styles depend on.
 * Two pages of one form have the same findings.
 */
const form = `(() => {
  const copy = document.documentElement.cloneNode(true)
  const texts = document.createTreeWalker(copy, NodeFilter.SHOW_TEXT)
  while (texts.nextNode()) {
    const { data, parentNode } = texts.currentNode
    if (data.trim() !== '' && parentNode.nodeName !== 'STYLE') texts.currentNode.data = 'x'
  }
  const html = copy.outerHTML.replace(/[0-9a-f-]*\\d[0-9a-f-]*/g, '0').replace(/(<tr\\b[^]*?<\\/tr>)(?:\\s*\\1)+/g, '$1')
  return [innerWidth, matchMedia('(prefers-color-scheme: dark)').matches, html].join(' ')
})()`
const checkedForms = new Set<string>()

/** Fails with every finding of axe on the page. A form that this process has checked is not checked again. */
export async function check(page: Page): Promise<void> {
  const formOfPage = String(await page.evaluate(form))
  if (checkedForms.has(formOfPage)) return
  await page.evaluate(axe)
  const findings = (await page.evaluate(`axe.run({ resultTypes: ['violations'] }).then(({ violations }) =>
    violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html).join(' | ')))`)) as string[]
  assert.deepEqual(findings, [], page.url())
  checkedForms.add(formOfPage)
}

/** Accepts an invitation with a passkey, and ends on the home page. */
export async function joinByPasskey(service: SharedService, page: Page, address: string): Promise<void> {
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

/** The text of the main part of a page. */
export const main = (page: Page): Promise<string> => page.locator('main').innerText()

/** Presses a button of the main part, and waits until the page that it leads to is parsed: `count` does not wait for rows. */
export async function press(page: Page, name: string | RegExp): Promise<void> {
  await page.locator('main').getByRole('button', { name }).click()
  await page.waitForLoadState('domcontentloaded')
}

/** Statuses with which the console refuses, which the browser reports as failures. */
const refusals = ['400', '403', '404']
type Role = Parameters<typeof inviteTo>[1]

/** Launches the browser on first use, so that a file whose tests are skipped needs none. Closes it at the end. */
export function useBrowser(): () => Promise<Browser> {
  let launched: Promise<Browser> | undefined
  atEnd(async () => (await launched)?.close())
  return () => (launched ??= launchBrowser())
}

/** The console of a service, in browsers of people. `expected`: texts of failures that the tests cause. */
export function useConsole<S extends SharedService>(service: S, expected: readonly string[] = refusals) {
  const browser = useBrowser()
  const site = siteOf(service)
  /** Opens a browser without a session. */
  const visit = async (options: Parameters<typeof openPage>[2] = {}, failures = expected) =>
    openPage(await browser(), site, options, failures)
  /** A new person of the team, who has joined with a passkey and is signed in. */
  const person = async (role: Role, name = 'Joan Clarke', options: Parameters<typeof openPage>[2] = {}) => {
    const opened = await visit(options)
    const email = await inviteTo(service, role, name)
    await addAuthenticator(opened.context, opened.page)
    await joinByPasskey(service, opened.page, email)
    return { ...opened, email }
  }
  const open = (page: Page, path: string) => page.goto(`${site}/console/${path}`)
  return { service, client: service.client, site, browser, visit, person, open }
}
