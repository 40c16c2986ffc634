/** Bulk payouts in a real browser: a file with problems, its preview, what was made of it; and what others see and do. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { noBrowser as skip } from '../support/browser.ts'
import { listAt, success, textAt } from '../support/client.ts'
import { check, cookieOf, main, press, useConsole } from '../support/console.ts'
import { useSharedService } from '../support/fixture.ts'
import { otherPartner } from '../support/service.ts'
import { until } from '../support/until.ts'
import { createBeneficiary } from '../support/world.ts'

const { service, site, person, open } = useConsole(await useSharedService(), ['400', '403', '404', '413'])

const head = 'beneficiaryId,amount,currency,reference'

async function upload(page: Page, ...lines: readonly string[]): Promise<void> {
  const buffer = Buffer.from([head, ...lines].join('\n'))
  await page.setInputFiles('#file', { name: 'payouts.csv', mimeType: 'text/csv', buffer })
  await press(page, 'Check file')
}

test('a person sees the problems of a file, corrects it, checks the sums and sends it', { skip }, async () => {
  const { page, close } = await person('Operator', 'Ann Operator')
  const payee = textAt(await createBeneficiary(service.client, { name: 'Ada & Söhne' }), 'id')
  const unknown = '019aa8c4-6e4f-7a12-8d3e-2b1c5f7a9e10'
  await page.getByRole('link', { name: 'Bulk payouts' }).click()
  assert.match(await main(page), /No bulk payout yet[^]*POST \/v1\/payouts\/bulk/)
  await check(page)
  await page.getByRole('link', { name: 'New bulk payout' }).click()
  await check(page)
  await upload(page, ...Array.from({ length: 10_000 }, (_each, at) => `${payee},"1,250.00",EUR,Invoice number ${at}`))
  assert.match(await page.locator('#file-error').innerText(), /10,000 problems/)
  assert.match(await main(page), /The first 100 of 10,000 problems[^]*2\s+amount\s+Not an amount/)
  assert.equal(await page.locator('tbody tr').count(), 100)
  await check(page)
  await upload(page, ...Array.from({ length: 1001 }, () => `${payee},1,EUR,`))
  assert.match(await page.locator('#file-error').innerText(), /1,001 payouts/)
  await upload(page)
  assert.match(await page.locator('#file-error').innerText(), /no payout/)
  await upload(page, `${payee},12.50,EUR,"Rent; <May>"`, `${payee},0.40,EUR,`, `${unknown},7,EUR,Lost`)
  assert.match(await main(page), /3[^]*19\.90 EUR[^]*Ada & Söhne\s+Rent; <May>[^]*No payee of yours/)
  await check(page)
  await page.setViewportSize({ width: 360, height: 800 })
  await check(page)
  await press(page, 'Send 3 payouts')
  const address = page.url().split('?')[0] ?? ''
  await until('the bulk has ended', async () => {
    await page.goto(address)
    return /Done/.test(await main(page))
  })
  assert.match(await main(page), /Accepted\s+2[^]*Refused\s+1[^]*Rent; <May>/)
  await check(page)
  await page.goto(`${address}?status=Refused`)
  assert.equal(await page.locator('tbody tr').count(), 1)
  assert.equal((await page.goto(`${address}?status=nope`))?.status(), 400)
  await page.locator('#status-error').waitFor()
  await close()
})

test(
  'a form that is sent twice pays once; another role, another site and another partner pay nothing',
  { skip },
  async () => {
    const { context, page, close } = await person('Operator', 'Bo Operator')
    const payee = textAt(await createBeneficiary(service.client), 'id')
    const body = () => {
      const form = new FormData()
      form.set('mode', 'AllOrNothing')
      form.set('idempotencyKey', 'bulk-sent-twice')
      form.set('file', `${head}\n${payee},3.33,EUR,Twice`)
      return form
    }
    const send = (cookie: string, from = 'same-origin') =>
      fetch(`${site}/console/bulk-payouts/new/send`, {
        ...{ method: 'POST', body: body(), redirect: 'manual', headers: { cookie, 'sec-fetch-site': from } },
      })
    const cookie = await cookieOf(context)
    const made = [await send(cookie), await send(cookie)].map((answer) => answer.headers.get('location'))
    assert.ok(made[0]?.endsWith('?done=created') && made[0] === made[1])
    const bulks = listAt(success(await service.client.get('/v1/payouts/bulk')))
    assert.equal(bulks.filter(({ idempotencyKey }) => idempotencyKey === 'bulk-sent-twice').length, 1)
    assert.equal((await send(cookie, 'cross-site')).status, 403)
    assert.ok([303, 403].includes((await send('')).status))
    const large = await fetch(`${site}/console/bulk-payouts/new/check`, {
      ...{ method: 'POST', body: 'x'.repeat(5 * 1024 * 1024), headers: { cookie, 'sec-fetch-site': 'same-origin' } },
    }).catch(() => undefined)
    assert.ok(large === undefined || large.status === 413)
    const foreign = await otherPartner(service)
    const theirs = { amount: 5, currency: 'EUR', beneficiaryId: textAt(await createBeneficiary(foreign), 'id') }
    const bulk = { mode: 'BestEffort', idempotencyKey: 'theirs', payouts: [{ ...theirs, idempotencyKey: 'theirs-1' }] }
    const id = textAt(success(await foreign.post('/v1/payouts/bulk', bulk)), 'id')
    for (const path of [`bulk-payouts/${id}`, 'bulk-payouts/nonsense'])
      assert.equal((await open(page, path))?.status(), 404, path)
    await close()
    const dev = await person('Developer', 'Dan Developer')
    assert.equal((await open(dev.page, 'bulk-payouts'))?.status(), 200)
    assert.equal((await open(dev.page, 'bulk-payouts/new'))?.status(), 403)
    assert.equal((await send(await cookieOf(dev.context))).status, 403)
    await dev.close()
  },
)
