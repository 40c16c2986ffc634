/** Saved views, the file of a list and the search for an IBAN in a real browser. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import { test } from '../support/browser.ts'
import { listAt, success, textAt } from '../support/client.ts'
import { check, main, press, useConsole } from '../support/console.ts'
import { useSharedService } from '../support/fixture.ts'
import { otherPartner } from '../support/service.ts'
import { createBeneficiary, createCustomer, ibans, payoutText } from '../support/world.ts'

const { service, site, person, open } = useConsole(await useSharedService())

const views = (page: Page) => page.getByRole('navigation', { name: 'Saved views' })

async function save(page: Page, name: string, who: 'own' | 'team'): Promise<void> {
  await page.getByText('Save this view', { exact: true }).first().click()
  await page.fill('#view-name', name)
  await page.selectOption('#view-who', who)
  await press(page, 'Save this view')
}

test('a person saves, opens, renames and deletes a view, and the team sees a shared view', async () => {
  const [ann, bob] = [
    await person('Operator', 'Ann Owner', { acceptDownloads: true }),
    await person('Operator', 'Bob Reader', { acceptDownloads: true }),
  ]
  await open(ann.page, 'transactions')
  assert.equal(await ann.page.getByText('Save this view').count(), 0, 'a list without filters has none to save')
  await open(ann.page, 'transactions?status=Pending&currency=EUR&cursor=')
  await check(ann.page)
  await save(ann.page, '  ', 'own')
  assert.match(await main(ann.page), /Enter a name of 1 to 60 characters/)
  await check(ann.page)
  await ann.page.fill('#view-name', 'Open <euros>')
  await press(ann.page, 'Save this view')
  assert.match(ann.page.url(), /transactions\?status=Pending&currency=EUR$/)
  await check(ann.page)
  await open(ann.page, 'transactions?status=Completed')
  await save(ann.page, 'Done', 'team')
  await open(bob.page, 'transactions')
  assert.equal((await views(bob.page).innerText()).trim(), 'Done (shared)')
  await views(bob.page).getByRole('link').click()
  await bob.page.waitForURL(/transactions\?status=Completed$/)
  assert.equal(await bob.page.getByText('Change this view').count(), 0, 'another person may not change it')
  await open(ann.page, 'transactions')
  await views(ann.page).getByRole('link', { name: 'Open <euros>' }).click()
  await ann.page.getByText('Change this view').click()
  await ann.page.fill('#view-name', 'Euros')
  await press(ann.page, 'Rename')
  await views(ann.page).getByRole('link', { name: 'Euros' }).waitFor()
  await ann.page.getByText('Change this view').click()
  await press(ann.page, 'Delete view')
  await ann.page.waitForURL(/\/console\/transactions$/)
  assert.equal((await views(ann.page).innerText()).trim(), 'Done (shared)')
  await open(ann.page, 'transactions?status=Gone')
  await save(ann.page, 'Old', 'own')
  assert.match(await main(ann.page), /The saved view “Old” has a filter that is no longer valid/)
  await check(ann.page)
})

test("the filtered transactions are downloaded as CSV, without formulas and without another partner's data", async () => {
  const { page } = await person('Operator', 'Cara Clerk', { acceptDownloads: true })
  const payee = textAt(await createBeneficiary(service.client), 'id')
  for (const reference of ['=1+1', 'Rent, "May"'])
    success(await service.client.post('/v1/payouts/fiat', payoutText(payee, '5.00', { reference })))
  await open(page, 'transactions?category=Withdrawal')
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: 'Download these transactions as CSV' }).click(),
  ])
  const lines = (await readFile(await download.path(), 'utf8')).split('\r\n')
  assert.match(lines[0] ?? '', /^\ufeffYour reference,Our reference,End-to-end id,Order number,Kind,/)
  assert.deepEqual(
    lines.slice(1).map((line) => line.split(/,[^,]*,,Payout,/)[0]),
    ['"Rent, ""May""","Rent, ""May"""', "'=1+1,'=1+1", ''],
  )
  assert.ok(lines[1]?.includes(`,${ibans.DE},`))
  await open(page, 'payouts')
  const [payouts] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: 'Download these payouts as CSV' }).click(),
  ])
  assert.match(await readFile(await payouts.path(), 'utf8'), /^\ufeffYour reference,Our reference,[^]*Grace Hopper/)
  assert.equal((await open(page, 'exports/transactions.csv?status=Nonsense'))?.status(), 400)
  await check(page)
})

test('the search finds the payee of an IBAN, and no payee of another partner', async () => {
  const { page } = await person('Operator', 'Finn Finder', { acceptDownloads: true })
  const other = await otherPartner(service, 'Other Ltd')
  const foreign = { name: 'Foreign Payee', currency: 'EUR', iban: ibans.FR }
  success(await other.post('/v1/beneficiaries', foreign))
  const own = textAt(success(await service.client.post('/v1/beneficiaries', { ...foreign, name: 'Own Payee' })), 'id')
  for (const text of [ibans.FR, ibans.FR.toLowerCase(), ibans.FR.replaceAll(/(.{4})/g, '$1 ')]) {
    await open(page, `find?q=${encodeURIComponent(text)}`)
    assert.equal(page.url(), `${site}/console/payees/${own}`)
  }
})

test('the search finds the customer of an IBAN, even after the account was closed, and no customer of another partner', async () => {
  const { client } = service
  const { page } = await person('Operator', 'Fred Finder', { acceptDownloads: true })
  const [customer, another] = [await createCustomer(client), await createCustomer(client)]
  const guid = textAt(customer, 'guid')
  const iban = textAt(success(await client.post(`/v1/customers/${guid}/account`)), 'iban')
  const found = async (by: typeof client, query: string) =>
    listAt(success(await by.get(`/v1/customers?${query}`))).map((one) => one.guid)
  const spaced = encodeURIComponent(iban.toLowerCase().replaceAll(/(.{4})/g, '$1 '))
  assert.deepEqual(await found(client, `iban=${spaced}`), [guid])
  assert.deepEqual(await found(client, `iban=${iban}&serviceId=${textAt(another, 'serviceId')}`), [])
  assert.deepEqual(await found(client, `iban=${ibans.FR}`), [])
  assert.deepEqual(await found(await otherPartner(service, 'Further Ltd'), `iban=${iban}`), [])
  for (const state of ['open', 'closed']) {
    await open(page, `find?q=${iban}`)
    assert.equal(page.url(), `${site}/console/customers/${guid}`, state)
    const of = ['--partner', service.credentials.partnerId, '--customer', guid]
    if (state === 'open')
      await service.operator('account', 'close', ...of, '--reason', 'CustomerRequest', '--staff', 'Sam', '--yes')
  }
})
