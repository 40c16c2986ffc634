/**
 * Reports in a real browser: a report is requested, downloaded and deleted, a schedule is saved; and the access of
 * others.
 */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { test } from '../support/browser.ts'
import { listAt, success, textAt } from '../support/client.ts'
import { check, cookieOf, main, press, useConsole } from '../support/console.ts'
import { useSharedService } from '../support/fixture.ts'
import { otherPartner } from '../support/service.ts'
import { sendForm } from '../support/team.ts'
import { until } from '../support/until.ts'

const { service, site, person, open } = useConsole(await useSharedService(), ['400', '403', '404', '409', '422'])

test('a person requests a statement, downloads its file and deletes it', async () => {
  const { page } = await person('Operator', 'Ann Operator')
  await page.getByRole('link', { name: 'Reports' }).click()
  assert.match(await main(page), /No report yet[^]*Ask for a report/)
  await check(page)
  await page.getByRole('link', { name: 'New report' }).click()
  await page.selectOption('#format', 'pdf')
  await page.fill('#from', '2026-11-01')
  await page.fill('#to', '2026-11-02')
  await press(page, 'Create report')
  await page.locator('#currency-error').waitFor()
  await check(page)
  await page.selectOption('#currency', 'EUR')
  await page.fill('#to', '2026-10-01')
  await press(page, 'Create report')
  assert.match(await main(page), /There is a problem/)
  await page.selectOption('#format', 'csv')
  await page.fill('#to', '2026-11-02')
  await press(page, 'Create report')
  const address = page.url()
  assert.match(await main(page), /Statement of the balance[^]*CSV/)
  await until('the report is ready', async () => {
    await page.goto(address)
    return (await page.getByRole('link', { name: 'Download' }).count()) > 0
  })
  await check(page)
  const [report = {}] = listAt(success(await service.client.get('/v1/reports')))
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: 'Download' }).click(),
  ])
  assert.match(file.suggestedFilename(), /\.csv$/)
  const bytes = await readFile(await file.path())
  assert.equal(createHash('sha256').update(bytes).digest('hex'), textAt(report, 'sha256'))
  await open(page, 'reports?status=Ready')
  await page.setViewportSize({ width: 360, height: 800 })
  await page.getByRole('link', { name: /^Download Statement/ }).waitFor()
  await check(page)
  await page.goto(address)
  await press(page, /^Delete report/)
  await page.getByRole('dialog').getByRole('button', { name: 'Delete report' }).click()
  await page.getByText('The report is deleted.').waitFor()
  assert.equal((await page.goto(address))?.status(), 404)
  assert.equal((await open(page, 'reports?status=nope'))?.status(), 400)
  await page.locator('#status-error').waitFor()
})

test('a person saves a schedule whose recipients are members of the team', async () => {
  const { page } = await person('Operator', 'Bo Operator')
  await open(page, 'reports/schedules')
  assert.match(await main(page), /No schedule yet/)
  await check(page)
  await page.getByRole('link', { name: 'New schedule' }).click()
  const own = await page.locator('#emails').inputValue()
  await page.fill('#emails', `${own}, stranger@example.com`)
  await page.fill('#timeZone', 'Mars/Base')
  await press(page, 'Create schedule')
  await page.locator('#timeZone-error').waitFor()
  await page.fill('#timeZone', 'Europe/Berlin')
  await press(page, 'Create schedule')
  await page.locator('#emails-error').waitFor()
  await check(page)
  await page.fill('#emails', own)
  await press(page, 'Create schedule')
  assert.match(await main(page), /The schedule is created[^]*Europe\/Berlin/)
  await check(page)
  await press(page, /^Delete schedule/)
  await page.getByRole('dialog').getByRole('button', { name: 'Delete schedule' }).click()
  assert.match(await main(page), /The schedule is deleted[^]*No schedule yet/)
})

test('a form submitted twice creates one report, and another role or partner can neither read nor create reports', async () => {
  const { context, page } = await person('Operator', 'Cy Operator')
  const cookie = await cookieOf(context)
  const fields = { kind: 'fees', format: 'csv', from: '2026-11-01', to: '2026-11-01', idempotencyKey: 'report-twice' }
  const send = (by: string) => sendForm(new URL(`${site}/console/reports/new`), fields, { cookie: by })
  const made = [await send(cookie), await send(cookie)].map((answer) => answer.headers.get('location'))
  assert.ok(made[0]?.endsWith('?done=created') && made[0] === made[1])
  const foreign = await otherPartner(service)
  const period = { from: '2026-11-01T00:00:00Z', to: '2026-11-02T00:00:00Z' }
  const theirs = success(await foreign.post('/v1/reports', { kind: 'fees', format: 'csv', ...period }))
  for (const path of [`reports/${textAt(theirs, 'id')}`, `reports/${textAt(theirs, 'id')}/content`, 'reports/nonsense'])
    assert.equal((await open(page, path))?.status(), 404, path)
  const dev = await person('Developer', 'Dan Developer')
  const path = made[0]?.split('?')[0] ?? ''
  assert.equal((await open(dev.page, `reports/${path}`))?.status(), 200)
  assert.equal((await open(dev.page, 'reports/new'))?.status(), 403)
  const dans = await cookieOf(dev.context)
  assert.equal((await send(dans)).status, 403)
  assert.equal((await sendForm(new URL(`${site}/console/reports/${path}/delete`), {}, { cookie: dans })).status, 403)
})
