/**
 * Country rules at the desk in a real browser: errors at fields, a proposal, its approval by another person, and the
 * German page.
 */
import assert from 'node:assert/strict'
import { test } from '../support/browser.ts'
import { checkForms, postFrom, useDesk } from '../support/desk.ts'

const { site, join, inGerman } = await useDesk({ TWO_PERSONS: 'on' })

test('an invalid rule is reported at its field, and a rule is proposed, approved by a second person, and removed', async () => {
  const cora = await join('Cora', 'compliance', ['400'])
  const { page } = cora
  await page.getByRole('link', { name: 'Countries' }).click()
  await page.getByText('No country has a rule').waitFor()
  await checkForms(page)
  await page.getByLabel('Countries').fill('IR, ZZ')
  await page.getByLabel('Refuse').check()
  await page.getByLabel('Note').fill('Regulation 1 of 2026')
  await page.getByRole('button', { name: 'Change rules' }).click()
  await page.getByRole('alert').getByText('Fill in or choose: For.').waitFor()
  assert.equal(await page.getByLabel('Countries').inputValue(), 'IR, ZZ')
  assert.equal(await page.getByLabel('Refuse').isChecked(), true)
  await checkForms(page)
  await page.getByLabel('Payouts to accounts there').check()
  await page.getByRole('button', { name: 'Change rules' }).click()
  await page.getByRole('alert').getByText('There is no country ZZ').waitFor()
  assert.equal(await page.getByLabel('Countries').getAttribute('aria-invalid'), 'true')
  assert.equal(await page.getByLabel('Payouts to accounts there').isChecked(), true)
  await page.getByLabel('Countries').fill('ir, kp')
  await page.getByRole('button', { name: 'Change rules' }).click()
  await page.getByText('Another person has to approve').waitFor()
  await page.getByText('No country has a rule').waitFor()
  await page.getByText('Countries: ir, kp').waitFor()
  await checkForms(page)
  assert.equal(await page.getByRole('button', { name: /^Approve/ }).count(), 0, 'not by its author')

  const carl = await join('Carl', 'compliance', ['400'])
  await carl.page.goto(`${site}/desk/countries`)
  await carl.page.getByRole('button', { name: /^Approve/ }).click()
  await carl.page.waitForURL(({ href }) => href === `${site}/desk/changes?said=change%20approve`)
  await page.goto(`${site}/desk/countries`)
  await page.getByRole('rowheader', { name: 'Iran (IR)' }).waitFor()
  await page.getByRole('rowheader', { name: 'North Korea (KP)' }).waitFor()
  await checkForms(page)

  await page.getByLabel('Countries').fill('FR')
  await page.getByLabel('Payouts to accounts there').check()
  await page.getByLabel('Remove the rule').check()
  await page.getByLabel('Note').fill('Mistake')
  await page.getByRole('button', { name: 'Change rules' }).click()
  await page.getByRole('alert').getByText('No such rule: payouts of FR.').waitFor()
  await page.getByLabel('Countries').fill('KP')
  await page.getByRole('button', { name: 'Change rules' }).click()
  await page.getByText('Another person has to approve').waitFor()
  await carl.page.goto(`${site}/desk/countries`)
  await carl.page.getByRole('button', { name: /^Approve/ }).click()
  await carl.page.waitForURL(({ href }) => href === `${site}/desk/changes?said=change%20approve`)
  await page.goto(`${site}/desk/countries`)
  assert.equal(await page.getByRole('rowheader', { name: /KP/ }).count(), 0)
})

test('a role that does not change rules reads them in both languages, and its forms are refused', async () => {
  const sam = await join('Sam', 'support', ['400'])
  const { page } = sam
  await page.goto(`${site}/desk/countries`)
  await page.getByRole('rowheader', { name: 'Iran (IR)' }).waitFor()
  assert.equal(await page.locator('main form').count(), 0)
  const fields = { countries: 'FR', for: 'payouts', act: 'refuse', note: 'x' }
  assert.equal(await postFrom(page, `${site}/desk/countries`, fields), 400)
  const german = await inGerman(sam)
  await german.page.goto(`${site}/desk/countries`)
  await german.page.getByRole('heading', { name: 'Länder' }).waitFor()
  await german.page.getByRole('rowheader', { name: 'Iran (IR)' }).waitFor()
  await checkForms(german.page)
})
