/** The desk in a real browser: the sign-in of commands, changes by two people, staff, and the page of a partner. */
import assert from 'node:assert/strict'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { test } from '../support/browser.ts'
import type { JsonObject } from '../support/client.ts'
import { check, inviteTo, type Cookies, openPage, useBrowser } from '../support/console.ts'
import { checkForms, joinDesk, postFrom } from '../support/desk.ts'
import { useService } from '../support/fixture.ts'
import { pluck } from '../support/pluck.ts'
import { joinByPassword, mailsIn } from '../support/team.ts'
import { until } from '../support/until.ts'

const service = await useService({ env: { TWO_PERSONS: 'on' } })
const site = service.opsUrl.replace('127.0.0.1', 'localhost')
const browser = useBrowser()

/** The options with which commands act for the first admin. Empty until the admin has joined. */
let as: readonly string[] = []
/** The session of the first admin. */
let ofRosa: Cookies = []

const joinStaff = async (name: string, role: string, expected: readonly string[] = []) =>
  joinDesk({ service, browser: await browser(), site, as }, name, role, expected)

test('the first admin joins, and confirms the sign-in code of a command at the desk', async () => {
  const { page, context } = await joinStaff('Rosa', 'admin', ['400'])
  ofRosa = await context.cookies()
  await page.getByRole('link', { name: 'Commands' }).click()
  await page.getByText('No command is signed in for you').waitFor()
  await page.getByLabel('Code').fill('bcdf ghjk')
  await page.getByRole('button', { name: 'Look up code' }).click()
  await page.getByText('No command waits with this code').first().waitFor()
  await checkForms(page)
  const file = join(service.dataDir, 'rosa.token')
  const { runCommand } = await import('../../service/src/command.ts')
  const lines: string[] = []
  const signingIn = runCommand(['sign-in', '--token-file', file], async (line) => void lines.push(line), service.env)
  const [, link = ''] = /Open (\S+) and confirm/.exec(await until('the link', () => lines[0])) ?? []
  assert.ok(link.startsWith(`${site}/desk/device?code=`), link)
  await page.goto(link)
  await page.getByText(`@${hostname()} asked at`).waitFor()
  await checkForms(page)
  await page.getByRole('button', { name: 'Sign this command in' }).click()
  await page.getByText(`@${hostname()} is signed in.`).waitFor()
  await signingIn
  await check(page)
  as = ['--token-file', file]
  assert.equal((await service.operator('who', ...as))['signedIn'], 'Rosa')
  await page.goto(link)
  await page.getByText('No command waits with this code').first().waitFor()
})

test('two people change a limit: a command proposes it, and another person approves it at the desk', async () => {
  const { partnerId } = service.credentials
  const limit = ['limit', 'set', '--partner', partnerId, '--scope', 'partner', '--period', 'month', '--currency', 'EUR']
  const propose = (amount: string) =>
    service.operator(...limit, '--amount', amount, '--note', 'Contract <b>of May</b>', ...as)
  await propose('90000.00')
  const finn = await joinStaff('Fiona', 'finance')
  await finn.page.getByRole('link', { name: 'Changes' }).click()
  await finn.page.getByText('Contract <b>of May</b>').waitFor()
  await checkForms(finn.page)
  const reader = await joinStaff('Rita', 'support', ['403'])
  await reader.page.goto(`${site}/desk/changes`)
  await reader.page.getByText('Your role does not decide this change.').waitFor()
  const id = (await finn.page.locator('form[action$="/approve"]').getAttribute('action'))?.split('/').at(-2) ?? ''
  assert.equal(await postFrom(reader.page, `changes/${id}/approve`, {}), 403)
  await finn.page.getByRole('button', { name: 'Approve change' }).click()
  await finn.page.getByText('No change waits').waitFor()
  await checkForms(finn.page)
  const limits = (await service.operator('limit', 'list', '--partner', partnerId)) as unknown as readonly {
    amount: string
  }[]
  assert.deepEqual(pluck(limits, 'amount'), ['90000.00'])
  await propose('1.00')
  await finn.page.reload()
  await finn.page.getByRole('button', { name: 'Reject change' }).click()
  await finn.page.getByLabel('Note').fill('Not agreed')
  await finn.page.locator('dialog').getByRole('button', { name: 'Reject change' }).click()
  await finn.page.getByText('No change waits').waitFor()
  const german = await openPage(await browser(), site, { locale: 'de-DE' })
  await german.context.addCookies(await finn.context.cookies())
  for (const [page, heading] of [
    ['changes', 'Änderungen'],
    ['device', 'Befehle'],
  ] as const) {
    await german.page.goto(`${site}/desk/${page}`)
    await german.page.getByRole('heading', { name: heading, exact: true }).waitFor()
    await checkForms(german.page)
  }
})

test('an admin changes a role, removes a person, and reads as a partner, whose Admins get a mail', async () => {
  const { page, context } = await openPage(await browser(), site, {}, ['400'])
  await context.addCookies(ofRosa)
  const rob = await joinStaff('Rob', 'support')
  await page.goto(`${site}/desk/staff`)
  await checkForms(page)
  const row = page.getByRole('row', { name: /Rob/ })
  await row.getByRole('button', { name: 'Change role' }).click()
  const dialog = page.getByRole('dialog', { name: 'Change role: Rob' })
  await dialog.getByLabel('Role').selectOption('compliance')
  await dialog.getByLabel('Note').fill('Moves to compliance')
  await check(page)
  await dialog.getByRole('button', { name: 'Change role' }).click()
  await row.getByText('Compliance').waitFor()
  await rob.page.reload()
  await rob.page.getByText('Compliance').first().waitFor()
  await row.getByRole('button', { name: 'Remove' }).click()
  const removal = page.getByRole('dialog', { name: 'Remove: Rob' })
  await removal.getByLabel('Note').fill('Left the company')
  await removal.getByRole('button', { name: 'Remove' }).click()
  await row.waitFor({ state: 'detached' })
  await rob.page.goto(`${site}/desk/staff`)
  await rob.page.waitForURL(({ href }) => href === `${site}/desk/sign-in?next=staff`)
  await rob.close()
  await page.getByLabel('Partner ID').fill('no partner')
  await page.getByLabel('Reason, which the partner reads').fill('Ticket 7: a payout is missing')
  await page.getByRole('button', { name: 'Open support session' }).click()
  assert.match(await page.locator('.summary').innerText(), /Partner ID must be a UUID/)
  await joinByPassword(service, await inviteTo(service, 'Admin'))
  await page.getByLabel('Partner ID').fill(service.credentials.partnerId)
  await page.getByRole('button', { name: 'Open support session' }).click()
  await page.getByText('Another person has to approve this change').waitFor()
  await checkForms(page)
  const ines = await joinStaff('Ines', 'support')
  await ines.page.goto(`${site}/desk/changes`)
  await ines.page.getByRole('button', { name: 'Approve change' }).click()
  await ines.page.getByText('Approved by Ines. Rosa carries it out').waitFor()
  await checkForms(ines.page)
  await page.goto(`${site}/desk/changes`)
  await checkForms(page)
  await page.getByRole('button', { name: 'Run and show the result' }).click()
  await page.getByRole('heading', { name: 'Carry out change' }).waitFor()
  await checkForms(page)
  // Each part has a name, and is copied alone.
  const part = (name: string) =>
    page
      .locator('dl.facts > div')
      .filter({ has: page.locator('dt', { hasText: name }) })
      .locator('[data-copy]')
      .getAttribute('data-copy')
  const shown: JsonObject = {
    ...{ baseUrl: await part('Address of the API'), partnerId: await part('Partner ID') },
    ...{ apiKey: await part('API key'), apiSecret: await part('API secret') },
    ...{ privateKeyPem: await part('Private key'), serviceAccountId: await part('Service account ID') },
  }
  const reader = service.clientOf(shown)
  assert.equal((await reader.get('/v1/accounts')).status, 200)
  assert.equal((await reader.post('/v1/customers', { email: 'eve@example.com' })).status, 403)
  await until('the mail to the Admin', async () =>
    (await mailsIn(service)).some((mail) => /Rosa, who works for the operator[^]*Ticket 7: a payout/.test(mail)),
  )
  await page.goto(`${site}/desk/changes`)
  await page.getByText('No change waits').waitFor()
  const other = await openPage(await browser(), site)
  await other.context.addCookies(await ines.context.cookies())
  await ines.page.goto(`${site}/desk/device`)
  await ines.page.getByRole('heading', { name: 'Your sessions' }).waitFor()
  await checkForms(ines.page)
})

test('on the page of a partner a block takes effect at once, a limit waits, and a wrong amount is kept in its form', async () => {
  const { partnerId } = service.credentials
  const nina = await joinStaff('Nina', 'finance', ['400', '403', '404'])
  const { page } = nina
  await page.getByRole('link', { name: 'Partners' }).click()
  await page.getByRole('link', { name: 'Sandbox Partner' }).waitFor()
  await checkForms(page)
  await page.getByLabel('Partner ID').fill('nothing')
  await page.getByRole('button', { name: 'Open by partner ID' }).click()
  await page.getByText('There is no such page').first().waitFor()
  await page.goto(`${site}/desk/partners`)
  await page.getByLabel('Partner ID').fill(partnerId)
  await page.getByRole('button', { name: 'Open by partner ID' }).click()
  await page.getByRole('heading', { name: 'Sandbox Partner' }).waitFor()
  await page.getByText('At sandbox').first().waitFor()
  await checkForms(page)
  const form = (name: string) => page.locator('details').filter({ has: page.locator('summary', { hasText: name }) })
  await form('Set limit').locator('summary').click()
  await form('Set limit').getByLabel('Amount').fill('a lot')
  await form('Set limit').getByLabel('Note').fill('Contract of June')
  await checkForms(page)
  await form('Set limit').getByRole('button', { name: 'Set limit' }).click()
  assert.match(await page.locator('.summary').innerText(), /Amount must be an amount such as 1000.00/)
  assert.equal(await form('Set limit').getByLabel('Note').inputValue(), 'Contract of June')
  await checkForms(page)
  await form('Set limit').getByLabel('Amount').fill('77.00')
  await form('Set limit').getByRole('button', { name: 'Set limit' }).click()
  await page.getByText('Another person has to approve this change').waitFor()
  assert.equal(await page.getByText('77.00').count(), 1, 'only the change that waits has it')
  await form('Block account').locator('summary').click()
  await form('Block account').getByLabel('Currency').selectOption('GBP')
  await form('Block account').getByLabel('Reason').selectOption('Fraud')
  await form('Block account').getByLabel('Note').fill('Suspected mule')
  await form('Block account').getByRole('button', { name: 'Block account' }).click()
  await page.getByText('The account is blocked.').waitFor()
  await page.getByRole('cell', { name: 'Blocked' }).first().waitFor()
  await checkForms(page)
  const other = { command: 'staff remove', note: 'x' }
  const status = await postFrom(page, `${new URL(page.url()).pathname}/change`, other)
  assert.equal(status, 404, 'only the commands of the page are run')
  const lars = await joinStaff('Lars', 'finance')
  await lars.page.goto(`${site}/desk/changes`)
  await lars.page.getByRole('button', { name: 'Approve change' }).click()
  await lars.page.getByText('No change waits').waitFor()
  await page.goto(`${site}/desk/partners/${partnerId}`)
  await page.getByRole('cell', { name: '77.00' }).first().waitFor()
  await page
    .getByRole('row', { name: /77\.00/ })
    .getByRole('button', { name: 'Remove The partner' })
    .click()
  await page.getByRole('dialog').getByLabel('Note').fill('Ended')
  await check(page)
  await page.getByRole('dialog').getByRole('button', { name: 'Remove limit' }).click()
  await page.getByText('Another person has to approve this change').waitFor()
  const reader = await joinStaff('Rosi', 'support')
  await reader.page.goto(`${site}/desk/partners/${partnerId}`)
  await reader.page.getByRole('heading', { name: 'Limits' }).first().waitFor()
  assert.deepEqual(await reader.page.locator('main details > summary').allInnerTexts(), ['Let an Admin in again'])
  const german = await openPage(await browser(), site, { locale: 'de-DE' })
  await german.context.addCookies(await nina.context.cookies())
  await german.page.goto(`${site}/desk/partners/${partnerId}`)
  await german.page.getByRole('heading', { name: 'Gebühren' }).first().waitFor()
  await checkForms(german.page)
})

test('an option that takes a list is shown as checkboxes, and the change shows the chosen labels', async () => {
  const { partnerId } = service.credentials
  const olga = await joinStaff('Olga', 'compliance', ['400'])
  const { page } = olga
  const boxes = page.getByRole('group', { name: 'Allowed' })
  await page.goto(`${site}/desk/act?${new URLSearchParams({ command: 'gate set', partner: partnerId }).toString()}`)
  await page.getByLabel('State').selectOption('Incomplete')
  await boxes.getByLabel('Receive money').check()
  await boxes.getByLabel('Nothing').check()
  await page.getByLabel('Note').fill('Policy of June')
  await page.getByLabel(/Largest balances/).fill('EUR=x')
  await page.locator('#sure').check()
  await checkForms(page)
  await page.locator('main form button[type="submit"]').click()
  assert.match(await page.locator('.summary').innerText(), /none is none of them/)
  assert.equal(await boxes.getByLabel('Receive money').isChecked(), true, 'what was chosen is kept')
  await boxes.getByLabel('Nothing').uncheck()
  await boxes.getByLabel('Pay', { exact: true }).check()
  await page.getByLabel(/Largest balances/).fill('EUR=150.00')
  await page.locator('#sure').check()
  await page.locator('main form button[type="submit"]').click()
  await page.waitForURL(/waits=gate/)
  await page.goto(`${site}/desk/changes`)
  await page.getByText('Allowed: Receive money,Pay').waitFor()
})

test('the link in a mail opens the page at once for a signed-in person, and after the sign-in for others', async () => {
  const petra = await joinStaff('Petra', 'finance', ['400', '404'])
  const { page } = petra
  const to = `hits`
  await page.goto(`${site}/desk/open?to=${to}`)
  await page.waitForURL(`${site}/desk/${to}`)
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.waitForURL(`${site}/desk/sign-in`)
  await page.goto(`${site}/desk/open?to=${to}`)
  await page.waitForURL(`${site}/desk/sign-in?next=${to}`)
  await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
  await page.waitForURL(`${site}/desk/${to}`)
  await page.goto(`${site}/desk/open?to=${encodeURIComponent('//evil.example')}`)
  await page.waitForURL(`${site}/desk/queue`)
})
