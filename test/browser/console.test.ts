/**
 * The team's pages in a real browser, with an authenticator that the browser simulates: join, sign in, manage the team,
 * sign out, and the attacks on each. A blocked, failed or cross-origin request fails the test, and so does any finding
 * of axe.
 */
import assert from 'node:assert/strict'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { test } from '../support/browser.ts'
import { success, textAt } from '../support/client.ts'
import { addAuthenticator, check, inviteTo, joinByPasskey, useConsole } from '../support/console.ts'
import { useSharedService } from '../support/fixture.ts'
import { codeOf, joinByPassword, mailedPath, mailsIn, password, sendForm, sessionOf } from '../support/team.ts'
import { until } from '../support/until.ts'

const { service, site, visit } = useConsole(await useSharedService())

const partnerId = () => service.credentials.partnerId

const invite = (role: 'Admin' | 'Developer' | 'Operator', name?: string) => inviteTo(service, role, name)
const open = (options?: Parameters<Browser['newContext']>[0], expected: readonly string[] = []) =>
  visit(options, expected)

/** Counts the mails about a new device that an address has received. */
async function newDeviceMails(address: string): Promise<number> {
  const mails = await mailsIn(service, address)
  return mails.filter((mail) => mail.includes('Subject: New device signed in to')).length
}

/** The browser keeps its device cookie. Without it, the next sign-in causes a mail. */
async function checkDevice(context: BrowserContext, page: Page, address: string): Promise<void> {
  const deviceOf = async () => (await context.cookies()).find(({ name }) => name === '__Host-device')
  const known = await deviceOf()
  assert.ok(known)
  assert.deepEqual([known.httpOnly, known.secure, known.sameSite, known.path], [true, true, 'Lax', '/'])
  assert.ok(known.expires > Date.now() / 1000 + 364 * 86_400)
  assert.match(known.value, /^[\w-]{43}$/)
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.waitForURL(/\/console\/sign-in/)
  assert.equal((await deviceOf())?.value, known.value, 'signing out keeps it')
  await context.clearCookies({ name: '__Host-device' })
  await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
  await page.waitForURL(`${site}/console/home`)
  await until('the mail about the new device', async () => (await newDeviceMails(address)) === 1 || undefined)
  assert.notEqual((await deviceOf())?.value, known.value)
}

const heading = (page: Page) => page.locator('h1').innerText()

test('a person joins with a passkey, signs out and signs in with it, and an old cookie is refused', async () => {
  const address = await invite('Admin')
  const { context, page } = await open()
  await addAuthenticator(context, page)
  await page.goto(site + (await mailedPath(service, address)))
  assert.equal(await heading(page), 'Join Sandbox Partner')
  await check(page)
  await page.getByRole('button', { name: 'Create passkey and join' }).click()
  await page.waitForURL(`${site}/console/home`)
  assert.match(await page.locator('main').innerText(), /EUR\s+1,000,000\.00/)
  const plot = page.locator('.plot').filter({ hasText: 'EUR' })
  assert.match(
    (await plot.getByRole('img').getAttribute('aria-label')) ?? '',
    /^EUR: 0\.00 available on .*, 1,000,000\.00 on .*\. Highest 1,000,000\.00, lowest 0\.00\.$/,
  )
  await plot.locator('summary').click()
  assert.equal(await plot.getByRole('row').count(), 31)
  await check(page)
  const [cookie] = (await context.cookies()).filter(({ name }) => name === '__Host-session')
  assert.ok(cookie)
  assert.deepEqual([cookie.httpOnly, cookie.secure, cookie.sameSite, cookie.path], [true, true, 'Lax', '/'])
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.waitForURL(/\/console\/sign-in/)
  await check(page)
  const replayed = await fetch(`${service.baseUrl}/console/home`, {
    headers: { cookie: `__Host-session=${cookie.value}` },
    redirect: 'manual',
  })
  assert.equal(replayed.status, 303)
  assert.match(replayed.headers.get('location') ?? '', /^sign-in\?/)
  await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
  await page.waitForURL(`${site}/console/home`)
  assert.equal(await newDeviceMails(address), 0, 'the browser is known from joining')
  await checkDevice(context, page, address)
  const users = success(await service.client.get('/v1/users?role=Admin')) as {
    data: { email: string; factors: string[] }[]
  }
  assert.deepEqual(users.data.find(({ email }) => email === address)?.factors, ['passkey'])
})

test('a passkey signature signs in exactly once, only at its partner, and not if it is altered', async () => {
  const { context, page } = await open()
  await addAuthenticator(context, page)
  await joinByPasskey(service, page, await invite('Operator'))
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.waitForURL(/\/console\/sign-in/)
  const sent = page.waitForRequest((request) => request.url().endsWith('/sign-in/passkey'))
  await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
  const fields = Object.fromEntries(new URLSearchParams((await sent).postData() ?? ''))
  await page.waitForURL(`${site}/console/home`)
  const target = new URL('/console/sign-in/passkey', service.baseUrl)
  assert.equal((await sendForm(target, fields)).status, 400, 'again')
  const other = textAt(await service.operator('partner', 'create', '--name', 'Other Partner'), 'partnerId')
  assert.equal((await sendForm(target, { ...fields, partner: other })).status, 400, 'another partner')
  const answer = JSON.parse(fields['credential'] ?? '{}') as { id: string; response: Record<string, string> }
  const swapped = (change: object) => ({ ...fields, credential: JSON.stringify({ ...answer, ...change }) })
  for (const change of [
    { id: 'AAAA', rawId: 'AAAA' },
    { response: { ...answer.response, signature: 'AAAA' } },
    { response: {} },
    { response: { ...answer.response, clientDataJSON: 'e30' } },
  ])
    assert.equal((await sendForm(target, swapped(change))).status, 400, JSON.stringify(change))
  for (const credential of ['', '{', 'null', '[]', '"x"'])
    assert.equal((await sendForm(target, { ...fields, credential })).status, 400, credential)
})

test('a person cannot join with an authenticator that does not verify its user', async () => {
  const address = await invite('Operator')
  const { context, page } = await open()
  await addAuthenticator(context, page, false)
  await page.goto(site + (await mailedPath(service, address)))
  await page.getByRole('button', { name: 'Create passkey and join' }).click()
  await page.getByText('The browser stopped waiting').waitFor()
  assert.equal(
    (await context.cookies()).some(({ name }) => name === '__Host-session'),
    false,
  )
})

test('without JavaScript a person joins with a password, and sees ten recovery codes exactly once', async () => {
  const address = await invite('Developer')
  const { page } = await open({ javaScriptEnabled: false, viewport: { width: 360, height: 700 } }, ['400'])
  await page.goto(site + (await mailedPath(service, address)))
  const secret = (await page.locator('#secret').innerText()).replaceAll(' ', '')
  const send = async (chosen: string, code: string) => {
    await page.locator('#password').fill(chosen)
    await page.locator('#code').fill(code)
    await page.getByRole('button', { name: 'Set password and join' }).click()
  }
  await send('password1234', codeOf(secret))
  assert.match(await page.locator('.summary').innerText(), /easy to guess/)
  assert.equal((await page.locator('#secret').innerText()).replaceAll(' ', ''), secret)
  await send(password, '000000')
  assert.match(await page.locator('.summary').innerText(), /code is not right/)
  await send(password, codeOf(secret))
  assert.equal(await heading(page), 'Your recovery codes')
  const codes = (await page.locator('main').innerText()).match(/\b[a-z2-9]{4}(?:-[a-z2-9]{4}){3}\b/g) ?? []
  assert.equal(new Set(codes).size, 10)
  await page.getByRole('link', { name: 'Continue' }).click()
  assert.equal(page.url(), `${site}/console/home`)
  await page.goto(`${site}/console/`)
  assert.equal(page.url(), `${site}/console/home`)
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.locator('#email').fill(address)
  await page.locator('#password').fill(password)
  await page.locator('#code').fill(codes[0] ?? '')
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  assert.equal(page.url(), `${site}/console/home`)
})

test('a person with a password adds a passkey, signs in with it, and sets a new password', async () => {
  const address = await invite('Operator')
  const { context, page } = await open({}, ['400'])
  await addAuthenticator(context, page)
  await page.goto(site + (await mailedPath(service, address)))
  const joiningSecret = (await page.locator('#secret').innerText()).replaceAll(' ', '')
  await page.locator('#password').fill(password)
  await page.locator('#code').fill(codeOf(joiningSecret))
  await page.getByRole('button', { name: 'Set password and join' }).click()
  await page.getByRole('link', { name: 'Continue' }).click()
  await page.getByRole('link', { name: 'Sign-in' }).click()
  await check(page)
  await page.getByRole('button', { name: 'Add a passkey' }).click()
  await page.getByText('The passkey was added.').waitFor()
  await check(page)
  await page.getByRole('link', { name: 'Change password and authenticator app' }).click()
  await check(page)
  const secret = (await page.locator('#secret').innerText()).replaceAll(' ', '')
  assert.notEqual(secret, joiningSecret)
  await page.locator('#password').fill('granite-fern-17-harbour')
  await page.locator('#code').fill(codeOf(secret))
  await page.getByRole('button', { name: 'Set password' }).click()
  assert.equal(await heading(page), 'Your recovery codes')
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
  await page.waitForURL(`${site}/console/home`)
  await page.getByRole('link', { name: 'Sign-in' }).click()
  await page.getByRole('button', { name: 'Remove' }).click()
  await page.getByText('The passkey was removed.').waitFor()
})

test('an Admin invites, changes a role, removes and revokes, and the removed person is signed out at once', async () => {
  const admin = await open({}, ['400'])
  await addAuthenticator(admin.context, admin.page)
  await joinByPasskey(service, admin.page, await invite('Admin', 'Grace Hopper'))
  const { page } = admin
  await page.getByRole('link', { name: 'Team' }).click()
  await check(page)
  const [first, second] = ['one', 'two'].map((name) => `${name}.${Date.now()}@example.com`) as [string, string]
  for (const email of [first, second]) {
    await page.locator('#invite-email').fill(email)
    await page.locator('#invite-name').fill('Ada Lovelace')
    await page.locator('form.invite input[name=role][value=Operator]').check()
    await page.getByRole('button', { name: 'Send invitation' }).click()
    await page.getByText(email).first().waitFor()
  }
  await page.getByRole('button', { name: `Revoke ${second}` }).click()
  await page.getByText(second).waitFor({ state: 'detached' })
  const { cookie } = await joinByPassword(service, first)
  const home = () => fetch(`${service.baseUrl}/console/home`, { headers: { cookie }, redirect: 'manual' })
  const team = () => fetch(`${service.baseUrl}/console/team`, { headers: { cookie }, redirect: 'manual' })
  assert.deepEqual([(await home()).status, (await team()).status], [200, 403])
  await page.reload()
  const users = success(await service.client.get('/v1/users')) as { data: { email: string; userId: string }[] }
  const id = users.data.find(({ email }) => email === first)?.userId ?? ''
  const act = async (form: string, fields: Record<string, string>, by = cookie) =>
    sendForm(new URL(`/console/team/${form}`, service.baseUrl), fields, { cookie: by })
  for (const [form, fields] of [
    ['invite', { email: 'eve@example.com', fullName: 'Eve', role: 'Admin' }],
    ['role', { id, role: 'Admin' }],
    ['remove', { id }],
  ] as const)
    assert.equal((await act(form, fields)).status, 403, `${form} by an Operator`)
  const [session] = (await admin.context.cookies()).filter(({ name }) => name === '__Host-session')
  const byAdmin = `__Host-session=${session?.value}`
  assert.equal((await act('role', { id, role: 'Developer' }, byAdmin)).status, 303)
  assert.equal((await team()).status, 200, 'a Developer reads the team')
  assert.equal((await act('role', { id, role: 'Boss' }, byAdmin)).status, 400)
  assert.equal((await act('remove', { id }, byAdmin)).status, 303)
  assert.equal((await home()).status, 303)
})

test('a person can end other sessions, and forms from other sites, long bodies and foreign ids have no effect', async () => {
  const address = await invite('Operator')
  const { cookie, secret } = await joinByPassword(service, address)
  const url = (path: string) => new URL(path, service.baseUrl)
  const signIn = (fields: Record<string, string> = {}, headers: Record<string, string> = {}) =>
    sendForm(
      url('/console/sign-in/password'),
      { partner: partnerId(), email: address, password, code: codeOf(secret, Date.now() + 30_000), ...fields },
      headers,
    )
  assert.equal((await signIn({}, { 'sec-fetch-site': 'cross-site' })).status, 403)
  assert.equal((await signIn({ next: '//evil.example' })).headers.get('location'), '../home')
  const read = (by: string) => fetch(url('/console/sessions'), { headers: { cookie: by }, redirect: 'manual' })
  const page = await (await read(cookie)).text()
  assert.ok(page.includes('node'), 'the browser of each session')
  const cross = await sendForm(url('/console/sessions/end-others'), {}, { cookie, 'sec-fetch-site': 'same-site' })
  assert.equal(cross.status, 403)
  assert.equal((await sendForm(url('/console/sessions/end'), { id: `${partnerId()}` }, { cookie })).status, 303)
  assert.equal((await read(cookie)).status, 200)
  assert.equal((await sendForm(url('/console/sessions/end-others'), {}, { cookie })).status, 303)
  const headers = (await read(cookie)).headers
  assert.match(headers.get('content-security-policy') ?? '', /default-src 'none'.*frame-ancestors 'none'/)
  assert.match(headers.get('cache-control') ?? '', /no-store/)
  const long = await sendForm(url('/console/sign-in/password'), { email: 'x'.repeat(20_000) }).catch(() => undefined)
  assert.ok(long === undefined || long.status === 413)
})

test('sign-in is refused alike for an unknown address, a wrong password and a wrong code, and links are only mailed', async () => {
  const address = await invite('Operator')
  await joinByPassword(service, address)
  const texts = []
  for (const fields of [
    { email: 'nobody@example.com', password, code: '123456' },
    { email: address, password: `${password}x`, code: '123456' },
    { email: address, password, code: '123456' },
  ]) {
    const answer = await sendForm(new URL('/console/sign-in/password', service.baseUrl), {
      partner: partnerId(),
      ...fields,
    })
    assert.equal(answer.status, 400)
    assert.equal(sessionOf(answer), '')
    const text = await answer.text()
    texts.push(/<div[^>]*role="alert"[\s\S]*?<\/div>/.exec(text)?.[0] ?? text)
  }
  assert.equal(new Set(texts).size, 1)
  const find = (email: string) => sendForm(new URL('/console/sign-in/find', service.baseUrl), { email })
  const [known, unknown] = [await find(address), await find('nobody@example.com')]
  assert.equal(await known.text(), await unknown.text())
})

test('a used or invented link responds with 404 and a page that says so, also in German', async () => {
  const address = await invite('Operator')
  const path = await mailedPath(service, address)
  await joinByPassword(service, address)
  const { page } = await open({ locale: 'de' }, ['404'])
  for (const each of [path, '/console/join', '/console/join?token=%25', '/console/nothing']) {
    const answer = await page.goto(site + each)
    assert.equal(answer?.status(), 404, each)
  }
  await page.goto(site + path)
  assert.equal(await heading(page), 'Dieser Link ist ungültig')
  await check(page)
})
