/** The pages of a partner, its customers and payees in a real browser, opened by links and changed by buttons. */
import assert from 'node:assert/strict'
import { test } from '../support/browser.ts'
import { success, textAt } from '../support/client.ts'
import { check } from '../support/console.ts'
import { checkForms, useDesk } from '../support/desk.ts'
import { createBeneficiary, createCustomer, payoutText } from '../support/world.ts'
import { newId } from '../../service/src/kernel/index.ts'

const { service, site, join, inGerman } = await useDesk()
const { client } = service
const { partnerId } = service.credentials

test('support opens a partner, follows to a customer, a payee, a payment and back, and writes a note', async () => {
  const customerId = textAt(await createCustomer(client, { kyc: { fullName: 'Hedy Lamarr' } }), 'guid')
  const payeeId = textAt(await createBeneficiary(client, { name: 'Grace Hopper', customerId }), 'id')
  const reference = `Rent ${newId().slice(-6)}`
  success(await client.post('/v1/payouts/fiat', payoutText(payeeId, '1234.50', { reference })))
  const { page, context } = await join('Sam', 'support')
  await page.getByRole('link', { name: 'Partners' }).click()
  await page.locator('tbody a').first().click()
  await page.getByRole('heading', { name: 'Customers', exact: true }).waitFor()
  await checkForms(page)
  await page.getByLabel('Name, email address').fill('lamarr')
  await page.getByRole('button', { name: 'Search' }).click()
  await check(page)
  await page.getByRole('link', { name: 'Hedy Lamarr' }).click()
  await page.getByRole('heading', { name: 'Hedy Lamarr', level: 1 }).waitFor()
  await checkForms(page)
  await page.locator('#note').fill('Asked where the money is')
  await page.getByRole('button', { name: 'Add note' }).click()
  await page.getByText('The note is added.').waitFor()
  await page.getByRole('cell', { name: 'Asked where the money is' }).waitFor()
  await page.getByRole('link', { name: 'Grace Hopper' }).click()
  await page.getByRole('heading', { name: 'Grace Hopper', level: 1 }).waitFor()
  await checkForms(page)
  await page.getByRole('link', { name: reference }).click()
  await page.getByRole('heading', { name: `Payout ${reference}` }).waitFor()
  await check(page)
  await page.getByRole('link', { name: 'Customer', exact: true }).first().click()
  await page.getByRole('heading', { name: 'Hedy Lamarr', level: 1 }).waitFor()
  await page.locator('.strip a').first().click()
  await page.waitForURL(`${site}/desk/partners/${partnerId}`)
  const german = await inGerman({ context })
  await german.page.goto(`${site}/desk/customers/${partnerId}/${customerId}`)
  await german.page.getByRole('heading', { name: 'Was der Kunde darf' }).waitFor()
  await german.page.getByText('1.234,50').first().waitFor()
  await checkForms(german.page)
})

test('finance uses a button instead of a typed command, and reads the result as a sentence', async () => {
  const payeeId = textAt(await createBeneficiary(client, { name: 'Joan Clarke' }), 'id')
  const { page } = await join('Finn', 'finance')
  await page.goto(`${site}/desk/payees/${partnerId}/${payeeId}`)
  await page.getByRole('link', { name: 'Set limit' }).click()
  await page.getByRole('heading', { name: 'Set limit' }).waitFor()
  await checkForms(page)
  assert.equal(await page.locator('input[name="beneficiary"]').inputValue(), payeeId)
  await page.locator('#period').selectOption('day')
  await page.locator('#amount').fill('7500.00')
  await page.locator('#note').fill('Agreed with the bank')
  await page.getByRole('button', { name: 'Set limit' }).click()
  await page.waitForURL(/payees\/.*said=limit/)
  await page.getByText('The limit is set. It holds for the next payout.').waitFor()
  await page.getByText('7,500.00').first().waitFor()
  await checkForms(page)
  await page.goto(`${site}/desk/safeguarding`)
  await page.getByRole('link', { name: 'Designate account' }).click()
  await page.getByRole('heading', { name: 'Designate account' }).waitFor()
  await check(page)
  await page.goto(`${site}/desk/numbers`)
  await page.getByRole('heading', { name: 'Numbers' }).waitFor()
  await checkForms(page)
})

test('compliance reads the figures and downloads them', async () => {
  const { page } = await join('Lena', 'compliance')
  await page.getByRole('link', { name: 'Numbers' }).click()
  await checkForms(page)
  await page.locator('#months').selectOption('24')
  await page.getByRole('button', { name: 'Show' }).click()
  await page.waitForURL(/months=24/)
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: 'Download as CSV' }).click(),
  ])
  assert.match(download.suggestedFilename(), /^decisions-\d{4}-\d\d-\d\d\.csv$/)
})
