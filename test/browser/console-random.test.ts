/** Random clicks and hostile input: no page fails, no script fails, and a role cannot change what it must not. */
import assert from 'node:assert/strict'
import type { Locator, Page } from 'playwright-core'
import { test } from '../support/browser.ts'
import { listAt, success } from '../support/client.ts'
import { addAuthenticator, inviteTo, joinByPasskey, openPage, siteOf, useConsole } from '../support/console.ts'
import { useService } from '../support/fixture.ts'
import { runOperator } from '../support/operator.ts'
import { createRandom, type Random } from '../support/random.ts'
import { createBeneficiary, createCustomer, payoutText } from '../support/world.ts'

/** Number of steps. Other seeds and more steps take other paths. */
const [stepsMax, seed] = [25, 465_287]

const { service, browser } = useConsole(await useService())
const { id } = await createBeneficiary(service.client)
for (const amount of ['10.00', '20.00']) await service.client.post('/v1/payouts/fiat', payoutText(String(id), amount))
await createCustomer(service.client)

const texts = [
  `"><img src=x onerror=alert(1)>`,
  '0',
  '-1.00',
  '1e9',
  'DE89370400440532013000',
  'ada@example.com',
  '🦊\u0000\u202e',
  ' ',
]

/** Fills the visible fields, then follows a link or presses a button, except the one that signs out. */
async function step(page: Page, random: Random): Promise<string> {
  const { pick, chance } = random
  for (const input of await page.locator('main input:visible').all()) {
    // The page may have gone meanwhile.
    const type = await input.getAttribute('type', { timeout: 500 }).catch(() => 'gone')
    if (['text', 'email', 'password', 'search'].includes(type ?? 'text') && chance(0.7))
      await input.fill(pick(texts).replaceAll('\u0000', ''), { timeout: 1000 }).catch(() => undefined)
  }
  const choices = await page.locator('a:visible, summary:visible, button:visible').all()
  const chosen = pick<Locator | undefined>(choices)
  const name = (await chosen?.textContent({ timeout: 500 }).catch(() => '')) ?? ''
  if (/sign out/i.test(name)) return 'sign out, not pressed'
  await chosen?.click({ timeout: 1500, noWaitAfter: true }).catch(() => undefined)
  await page.waitForLoadState('load').catch(() => undefined)
  return name.trim()
}

async function walk(address: string): Promise<void> {
  const site = siteOf(service)
  // A page that refuses a form or a person answers 400 to 409; the browser says so in its console.
  const { context, page, close } = await openPage(await browser(), site, {}, ['status of 4'])
  await addAuthenticator(context, page)
  await joinByPasskey(service, page, address)
  const failed: string[] = []
  const visited: string[] = []
  page.on('response', (answer) => {
    if (answer.status() >= 500) failed.push(`${answer.status()} ${answer.request().method()} ${answer.url()}`)
  })
  page.on('dialog', (dialog) => {
    failed.push(`a script ran: ${dialog.message()}`)
    void dialog.dismiss()
  })
  const random = createRandom(seed)
  for (let steps = 0; steps < stepsMax; steps++) {
    visited.push(await step(page, random))
    const isLost = !page.url().startsWith(`${site}/console/`) || random.chance(0.05)
    // A click that still loads, or downloads a file, ends this navigation: then the walk goes on where it is.
    if (isLost) await page.goto(`${site}/console/home`).catch(() => undefined)
  }
  assert.deepEqual(failed, [], visited.join(' > '))
  await close()
}

/** Returns the ids of all objects that a Developer may not create or remove. */
async function ids(): Promise<string> {
  const paths = ['payouts', 'beneficiaries', 'customers', 'transactions', 'users/invitations']
  const lists = await Promise.all(paths.map((path) => service.client.get(`/v1/${path}?limit=100`)))
  const named = lists.map((answer) =>
    listAt(success(answer)).map((row) => row.id ?? row.guid ?? row.reference ?? row.inviteId),
  )
  return JSON.stringify(named)
}

test('a Developer who clicks at random changes no money, payee, customer or invitation', async () => {
  const address = await inviteTo(service, 'Developer')
  const before = await ids()
  await walk(address)
  assert.equal(await ids(), before)
})

for (const role of ['Admin', 'Operator'] as const)
  test(`pages and scripts withstand random clicks of an ${role}, and the ledger balances`, async () => {
    await walk(await inviteTo(service, role))
    const { code, stdout, stderr } = await runOperator(['ledger', 'check'], service.env)
    assert.equal(code, 0, stdout + stderr)
  })
