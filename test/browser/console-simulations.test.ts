/** The simulations of the sandbox in a real browser: their results, refused input, and roles without the permission. */
import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { test } from '../support/browser.ts'
import { success, textAt } from '../support/client.ts'
import { check, main, useConsole } from '../support/console.ts'
import { useSharedService } from '../support/fixture.ts'
import { createCustomer, finalTransaction } from '../support/world.ts'

const { service, person, open } = useConsole(await useSharedService())

const run = (page: Page) => page.getByRole('button', { name: 'Simulate' }).click()

test('a developer simulates a deposit and a transfer, and reverses the transfer', async () => {
  const { page } = await person('Developer', 'Dee Developer')
  const customer = textAt(await createCustomer(service.client), 'guid')
  const iban = textAt(success(await service.client.post(`/v1/customers/${customer}/account`)), 'iban')
  await page.getByRole('link', { name: 'Simulations' }).click()
  await check(page)
  await page.getByRole('link', { name: 'Deposit', exact: true }).click()
  await check(page)
  await page.fill('#customerId', 'unknown')
  await page.fill('#amount', '1,250.00')
  await run(page)
  assert.match(await page.locator('#amount-error').innerText(), /without grouping/)
  assert.equal(await page.locator('#customerId').inputValue(), 'unknown')
  await check(page)
  await page.fill('#amount', '12.345')
  await page.fill('#customerId', customer)
  await run(page)
  assert.match(await page.locator('#amount-error').innerText(), /decimal places/)
  await page.fill('#amount', '12,34')
  await run(page)
  await page.getByText('The simulation has begun.').waitFor()
  await check(page)
  await page.getByRole('link', { name: 'Open the transaction' }).click()
  const reference = await page.locator('h1').innerText()
  assert.equal(String((await finalTransaction(service.client, reference)).amount), '12.34')
  await open(page, 'simulations/credit')
  await page.fill('#iban', iban)
  await page.fill('#amount', '7')
  await run(page)
  await page.getByRole('link', { name: 'Reverse this transfer' }).click()
  assert.match(await page.locator('#creditId').inputValue(), /^[0-9a-f-]{36}$/)
  await run(page)
  await page.getByText('The simulation has begun.').waitFor()
  await check(page)
})

test('an unknown object, a wrong choice and a wrong number are refused at their fields', async () => {
  const { page } = await person('Developer', 'Don Developer')
  await open(page, 'simulations/reversal')
  await page.fill('#creditId', '019aa8c4-6e4f-7a12-8d3e-2b1c5f7a9e10')
  await run(page)
  assert.match(await page.locator('#creditId-error').innerText(), /nothing with this id/)
  await page.fill('#creditId', 'a/../b')
  await run(page)
  await page.locator('#creditId-error').waitFor()
  await open(page, 'simulations/blocks')
  await page.fill('#count', '1e2')
  await run(page)
  await page.locator('#count-error').waitFor()
  await page.fill('#count', '65')
  await run(page)
  await page.locator('#count-error').waitFor()
  await page.fill('#count', '1')
  await run(page)
  await page.getByText('The simulation has begun.').waitFor()
  await open(page, 'simulations/rate')
  await page.fill('#base', 'EUR')
  await page.fill('#rate', '1.25')
  await run(page)
  assert.match(await main(page), /There is a problem/)
  await page.fill('#quote', 'USD')
  await run(page)
  await page.getByText('The simulation has begun.').waitFor()
  await page.setViewportSize({ width: 360, height: 800 })
  await check(page)
  assert.equal((await open(page, 'simulations/nothing'))?.status(), 404)
})

test('a role without the permission cannot open simulations', async () => {
  const { page } = await person('Operator', 'Ole Operator')
  assert.equal(await page.getByRole('link', { name: 'Simulations' }).count(), 0)
  for (const path of ['simulations', 'simulations/deposit']) {
    assert.equal((await open(page, path))?.status(), 403)
    assert.match(await main(page), /simulations:write/)
  }
})
