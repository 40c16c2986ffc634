/**
 * The audit log in a real browser: a person finds a record by its day, saves its proof and verifies it; and the access
 * of others.
 */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from '../support/browser.ts'
import { listAt, success, textAt } from '../support/client.ts'
import { check, main, press, useConsole } from '../support/console.ts'
import { useSharedService } from '../support/fixture.ts'
import { otherPartner } from '../support/service.ts'
import { until } from '../support/until.ts'
import { createBeneficiary, finalTransaction, payoutText } from '../support/world.ts'

const { service, person, open } = useConsole(await useSharedService())

test('an Admin finds a step of a payment and saves its proof, which verifies offline', async () => {
  const { page } = await person('Admin', 'Ann Admin')
  const payee = textAt(await createBeneficiary(service.client), 'id')
  success(await service.client.post('/v1/payouts/fiat', payoutText(payee, '5.00', { reference: 'Rent & <repairs>' })))
  await finalTransaction(service.client, 'Rent & <repairs>')
  await page.getByRole('link', { name: 'Audit log' }).click()
  assert.match(await main(page), /Create a beneficiary\s+Made/)
  assert.doesNotMatch(await main(page), /Settled/)
  await check(page)
  await page.selectOption('#kind', 'All')
  await press(page, 'Show')
  await check(page)
  const settled = page.locator('tbody tr').filter({ hasText: 'Settled' }).first()
  assert.match(await settled.innerText(), /The bank[^]*Steps of a payment[^]*Rent & <repairs>/)
  await settled.locator('a').first().click()
  const address = page.url()
  await check(page)
  await until('the head of the record is signed', async () => {
    await page.goto(`${address}?proof=1`)
    return (await main(page)).includes('The record is under a signed head')
  })
  await check(page)
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: 'Save the proof as a file' }).click(),
  ])
  assert.equal(file.suggestedFilename(), 'proof.json')
  const verified = execFileSync(process.execPath, ['scripts/verify-proof.ts', await file.path()], { encoding: 'utf8' })
  assert.match(verified, /Rent & <repairs>: \d+ records are under signed heads/)
  await page.goto(address)
  await page.getByRole('link', { name: 'Rent & <repairs>' }).click()
  assert.equal(await page.locator('h1').innerText(), 'Rent & <repairs>')
})

test('the audit log is paged and filtered by date, and an invalid date is reported at its field', async () => {
  const { page } = await person('Developer', 'Dan Developer')
  for (let count = 0; count < 25; count += 1) await createBeneficiary(service.client, { alias: `a${count}` })
  await open(page, 'audit?kind=All')
  const first = await page.locator('tbody th a').evaluateAll((links) => links.map((link) => String(link)))
  await page.getByRole('link', { name: 'Next page' }).click()
  const second = await page.locator('tbody th a').evaluateAll((links) => links.map((link) => String(link)))
  assert.ok(second.length > 0 && new Set([...first, ...second]).size === first.length + second.length)
  await check(page)
  await open(page, 'audit?createdFrom=2999-01-01')
  assert.match(await main(page), /Nothing matches these filters/)
  await check(page)
  await open(page, 'audit?createdFrom=2999-01-01&createdTo=2020-01-01')
  assert.match(await main(page), /There is a problem/)
  await check(page)
  await open(page, 'audit?createdFrom=yesterday')
  await page.locator('#createdFrom-error').waitFor()
  await page.setViewportSize({ width: 360, height: 800 })
  await open(page, 'audit/heads')
  assert.ok((await page.locator('tbody tr').count()) > 0)
  await check(page)
})

test('a record is not shown to another role or partner, and a wrong id finds none', async () => {
  const [record = {}] = listAt(success(await service.client.get('/v1/audit?limit=1')))
  const id = textAt(record, 'id')
  const foreign = await otherPartner(service)
  await createBeneficiary(foreign)
  const [theirs = {}] = listAt(success(await foreign.get('/v1/audit?limit=1')))
  const { page } = await person('Operator', 'Olga Operator')
  assert.equal(await page.getByRole('link', { name: 'Audit log' }).count(), 0)
  for (const path of ['audit', 'audit/heads', `audit/${id}`, `audit/${id}/proof`]) {
    assert.equal((await open(page, path))?.status(), 403, path)
    assert.match(await main(page), /users:read/)
  }
  const ann = await person('Admin', 'Ann Second')
  assert.equal((await open(ann.page, `audit/${id}`))?.status(), 200)
  for (const path of [
    `audit/${textAt(theirs, 'id')}`,
    'audit/nonsense',
    'audit/ffffffff-ffff-7fff-8fff-ffffffffffff',
    `audit/${id}/proof`,
  ])
    assert.equal((await open(ann.page, path))?.status(), 404, path)
})

test('an Admin sees who added a payee and its history, and the actions of one person', async () => {
  const { page } = await person('Admin', 'Amy Auditor')
  await open(page, 'payees/new')
  await page.fill('#name', 'Jean Bartik')
  await page.fill('#account', 'FR1420041010050500013M02606')
  await press(page, 'Check payee')
  await press(page, /^Save/)
  assert.match(await main(page), /Added by\s+Amy Auditor, /)
  await check(page)
  await page.getByRole('link', { name: 'History' }).click()
  assert.match(await main(page), /Amy Auditor\s+Create a beneficiary[^]*Made/)
  assert.equal(await page.locator('tbody tr').count(), 1)
  await check(page)
  await page.locator('tbody tr td a').first().click()
  assert.equal(await page.locator('h1').innerText(), 'Jean Bartik')
  await page.fill('#name', 'Betty Jean Bartik')
  await press(page, 'Save changes')
  assert.match(await main(page), /Last change\s+Amy Auditor, /)
  await page.getByRole('link', { name: 'History' }).click()
  assert.match(await main(page), /Amy Auditor\s+Update a beneficiary[^]*Amy Auditor\s+Create a beneficiary/)
  await open(page, 'audit')
  await page.selectOption('#actorId', { label: 'Amy Auditor' })
  await page.selectOption('#action', 'createBeneficiary')
  await press(page, 'Show')
  assert.equal(await page.locator('tbody tr').count(), 1)
  await page.selectOption('#kind', 'Read')
  await press(page, 'Show')
  assert.match(await main(page), /Nothing matches these filters/)
  await page.setViewportSize({ width: 390, height: 800 })
  await check(page)
})
