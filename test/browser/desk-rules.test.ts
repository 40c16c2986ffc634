/** Monitoring rules at the desk in a real browser: created with a form, backtested, turned on and off by two people. */
import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { test } from '../support/browser.ts'
import { checkForms, postFrom, useDesk } from '../support/desk.ts'
import { until } from '../support/until.ts'

const { site, join, inGerman } = await useDesk()

const flip = async (page: Page, name: 'Turn on' | 'Turn off', note: string) => {
  await page.getByRole('button', { name }).first().click()
  const dialog = page.getByRole('dialog', { name })
  await dialog.getByLabel('Note').fill(note)
  await dialog.getByRole('button', { name }).click()
}

/** Runs a backtest from the page of the rule, and waits for its result there. */
async function tryOnThePast(page: Page, id: string): Promise<void> {
  await page.getByLabel('First day (UTC)').fill('2026-01-31')
  await page.getByLabel('Last day (UTC)').fill('2026-01-01')
  await page.getByRole('button', { name: 'Run backtest' }).click()
  await page.getByRole('alert').getByText('until must not be before from').waitFor()
  assert.equal(await page.getByLabel('First day (UTC)').inputValue(), '2026-01-31')
  await checkForms(page)
  await page.getByLabel('First day (UTC)').fill('2026-01-01')
  await page.getByLabel('Last day (UTC)').fill('2026-01-31')
  await page.getByRole('button', { name: 'Run backtest' }).click()
  await page.waitForURL(`${site}/desk/rules/${id}`)
  await until('the backtest has ended', async () => {
    await page.goto(`${site}/desk/rules/${id}`)
    return (await page.getByRole('rowheader', { name: 'Jan 1, 2026 – Jan 31, 2026' }).count()) === 1
  })
  await checkForms(page)
}

test('an invalid rule is reported at its field, and a saved rule is backtested and turned on and off by two people', async () => {
  const cora = await join('Cora', 'compliance', ['400'])
  const { page } = cora
  await page.getByRole('link', { name: 'Rules' }).click()
  await page.getByText('No rule yet').waitFor()
  await checkForms(page)
  await page.getByRole('link', { name: 'Structuring' }).click()
  assert.equal(await page.getByLabel('Number of payers').count(), 0, 'only the fields of the kind')
  await page.getByLabel('Name').fill('Just under <b>1,000</b>')
  await page.getByLabel('Currency').fill('EUR')
  await page.getByLabel('Direction').selectOption('Outward')
  await page.getByLabel('Hours of the window').fill('many')
  await page.getByLabel('Number of payments').fill('3')
  await page.getByLabel('Threshold').fill('1.000')
  await page.getByRole('button', { name: 'Save rule' }).click()
  await page.getByRole('alert').getByText('Hours of the window must be a whole number').waitFor()
  assert.equal(await page.getByLabel('Hours of the window').inputValue(), 'many')
  assert.equal(await page.getByLabel('Hours of the window').getAttribute('aria-invalid'), 'true')
  await checkForms(page)
  await page.getByLabel('Hours of the window').fill('72')
  await page.getByRole('button', { name: 'Save rule' }).click()
  await page.getByRole('alert').getByText('Threshold: write an amount such as 5000.00').waitFor()
  assert.deepEqual(await page.locator('#rule-severity option').allInnerTexts(), ['Low', 'Medium', 'High'])
  assert.equal(await page.getByLabel('Severity').inputValue(), 'medium')
  // As a German writes it.
  await page.getByLabel('Threshold').fill('1.000,00')
  await page.getByRole('button', { name: 'Save rule' }).click()
  await page.getByRole('heading', { name: 'Just under <b>1,000</b>' }).waitFor()
  await page.getByText('1,000.00 EUR').waitFor()
  await checkForms(page)
  const id = new URL(page.url()).pathname.split('/').at(-1) ?? ''

  await flip(page, 'Turn on', 'Risk assessment of May')
  await page
    .getByRole('alert')
    .getByText(/backtest/)
    .waitFor()
  await tryOnThePast(page, id)
  await flip(page, 'Turn on', 'Risk assessment of May')
  await page.getByText('Cora has proposed to turn it on').waitFor()
  await flip(page, 'Turn on', 'Once more')
  await page.getByRole('alert').waitFor()

  const carl = await join('Carl', 'compliance', ['400'])
  await carl.page.goto(`${site}/desk/rules/${id}`)
  await checkForms(carl.page)
  await flip(carl.page, 'Turn on', 'Agreed')
  await carl.page.locator('.strip').getByText('On', { exact: true }).waitFor()
  assert.equal(await carl.page.getByRole('button', { name: 'Turn on' }).count(), 0)

  await page.goto(`${site}/desk/rules/${id}`)
  assert.equal(await page.getByLabel('Threshold').inputValue(), '1000.00')
  await page.getByLabel('Number of payments').fill('5')
  await page.getByRole('button', { name: 'Save version' }).click()
  await page.locator('.strip').getByText('Draft').waitFor()
  // The page of the colleague still shows version 1.
  await carl.page.getByRole('button', { name: 'Save version' }).click()
  await carl.page.getByRole('alert').getByText('Read version 2 first').waitFor()
  await page.goto(`${site}/desk/rules`)
  await page.getByText('Version 1 is on').waitFor()
  await checkForms(page)
  await page.getByRole('link', { name: /^Just under/ }).click()
  await flip(page, 'Turn off', 'Replaced')
  await page.getByText('Cora has proposed to turn it off').waitFor()
  await carl.page.goto(`${site}/desk/rules/${id}`)
  await flip(carl.page, 'Turn off', 'Agreed')
  await carl.page.locator('td').getByText('Off', { exact: true }).waitFor()
})

test('a role that does not decide reads the rules without forms, in both languages', async () => {
  const sam = await join('Sam', 'support', ['400', '404'])
  const { page } = sam
  await page.goto(`${site}/desk/rules`)
  await page.getByRole('link', { name: /^Just under/ }).click()
  await page.getByRole('heading', { name: 'Versions' }).waitFor()
  assert.equal(await page.locator('main form').count(), 0)
  const post = (path: string) => postFrom(page, `${site}/desk/rules${path}`, { note: 'x' })
  const id = new URL(page.url()).pathname.split('/').at(-1) ?? ''
  assert.deepEqual([await post(''), await post(`/${id}/off`), await post('/nope/on')], [400, 400, 404])
  const german = await inGerman(sam)
  await german.page.goto(`${site}/desk/rules/${id}`)
  await german.page.getByRole('heading', { name: 'Rückprüfungen' }).waitFor()
  await checkForms(german.page)
})
