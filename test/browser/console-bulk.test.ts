/** Bulk payouts in a real browser: from the template to the file with the results; and the access of others. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import { test } from '../support/browser.ts'
import { listAt, success, textAt } from '../support/client.ts'
import { check, cookieOf, main, press, useConsole } from '../support/console.ts'
import { useSharedService } from '../support/fixture.ts'
import { pain001Text } from '../support/pain001.ts'
import { otherPartner } from '../support/service.ts'
import { until } from '../support/until.ts'
import { createBeneficiary } from '../support/world.ts'

const { service, site, person, visit, open } = useConsole(await useSharedService(), ['400', '403', '404', '413'])

const upload = (page: Page, text: string, encoding: 'utf8' | 'latin1' = 'utf8', name = 'payouts.csv') =>
  page.setInputFiles('#file', { name, mimeType: 'text/csv', buffer: Buffer.from(text, encoding) })

/** Returns the text of the file that a link downloads. */
async function downloaded(page: Page, link: string): Promise<string> {
  const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name: link }).click()])
  return readFile(await file.path(), 'utf8')
}

const ended = async (page: Page, address: string) => {
  await until('the bulk has ended', async () => {
    await page.goto(address)
    return /Done|Fertig/.test(await main(page))
  })
}

test('a finance user sends a bulk: template, Excel file, corrections, new payees, sending, results', async () => {
  const { page } = await person('Operator', 'Ann Operator')
  const saved = textAt(
    await createBeneficiary(service.client, { name: 'Ada & Söhne', iban: 'DE89370400440532013000', alias: 'Miete' }),
    'name',
  )
  await page.getByRole('link', { name: 'Bulk payouts' }).click()
  assert.match(await main(page), /No bulk payout yet/)
  assert.doesNotMatch(await main(page), /\/v1\//)
  await page.getByRole('link', { name: 'New bulk payout' }).click()
  await check(page)
  const template = await downloaded(page, 'Download the template (CSV)')
  assert.match(template, /^\uFEFFName,IBAN,Amount,Currency,Reference,Saved payee,/)
  await upload(page, 'PK\u0003\u0004', 'latin1', 'payouts.xlsx')
  await press(page, 'Check file')
  assert.match(await page.locator('#file-error').innerText(), /Save as.*CSV UTF-8/)
  // As Excel on Windows writes it in German: Windows-1252, semicolons, decimal commas.
  const rows = [
    'Name;IBAN;Betrag;Währung;Verwendungszweck;Gespeicherter Empfänger',
    ';;1.250,00;EUR;Rechnung 7;Miete',
    'Ada und Tochter;DE89 3704 0044 0532 0130 00;12,50;EUR;"Rent; <May>";',
    'Émile Neu;FR1420041010050500013M02606;0,40;EUR;;',
    'Wrong Co;DE89370400440532013001;1.234;EUR;;',
    ';;5;EUR;;Unknown Co',
    ';;;;;',
  ]
  await upload(page, `${rows.join('\r\n')}\r\n`, 'latin1')
  await press(page, 'Check file')
  assert.match(page.url(), /\/bulk-payouts\/drafts\/[0-9a-f-]{36}$/)
  const draft = page.url()
  assert.match(
    await main(page),
    /Lines to correct: 3[^]*Line 3[^]*called "Ada & Söhne"[^]*Line 5[^]*check digits do not fit[^]*Line 6[^]*None of your payees/,
  )
  assert.match(await main(page), /New payees: 1[^]*Émile Neu[^]*FR14 2004 1010/)
  assert.match(await main(page), /Correct the lines above/)
  assert.equal(await page.getByRole('button', { name: /^Send/ }).count(), 0)
  await check(page)
  await page.setViewportSize({ width: 360, height: 800 })
  await check(page)
  await page.setViewportSize({ width: 1280, height: 900 })
  const wrong = await downloaded(page, 'Download the wrong lines (CSV)')
  assert.match(wrong, /Wrong Co,DE89370400440532013001,1\.234,EUR[^]*check digits/)
  await page
    .getByLabel('Payee', { exact: true })
    .selectOption({ label: `My payee ${saved}, DE89 3704 0044 0532 0130 00` })
  const line5 = page.locator('#line-5')
  await line5.getByLabel('IBAN').fill('GB33BUKB20201555555555')
  await line5.getByLabel('Amount').fill('1.234,00')
  await page.locator('#line-6').getByLabel('Leave this line out').check()
  await press(page, 'Save and check again')
  assert.match(await main(page), /Your corrections are saved[^]*2,496\.90 EUR/)
  assert.match(await main(page), /New payees: 2[^]*Wrong Co/)
  await press(page, /Verify .* with the banks/)
  assert.doesNotMatch(await main(page), /Not verified yet/)
  await check(page)
  await press(page, 'Send 4 payouts')
  assert.match(await main(page), /The bulk is sent/)
  const address = page.url().split('?')[0] ?? ''
  await ended(page, address)
  assert.match(await main(page), /Accepted\s+4[^]*Refused\s+0[^]*Ada & Söhne\s+DE89 3704[^]*Rechnung 7/)
  await check(page)
  const results = await downloaded(page, 'Download the results (CSV)')
  assert.match(
    results,
    /^\uFEFFNumber,Payee,Account,Amount,Currency,Your reference,Status,Problem,Transaction\r\n1,Ada & Söhne,DE89 3704 0044 0532 0130 00,1250\.00,EUR,Rechnung 7,/,
  )
  assert.equal(results.trim().split('\r\n').length, 5)
  // The file that was sent leads to its bulk.
  await page.goto(draft)
  assert.equal(page.url(), address)
  const payees = listAt(success(await service.client.get('/v1/beneficiaries?namePrefix=Emile')))
  assert.equal(payees.length, 1)
  await page.goto(`${address}?status=Refused`)
  assert.equal(await page.locator('tbody tr').count(), 0)
  assert.equal((await page.goto(`${address}?status=nope`))?.status(), 400)
  await page.locator('#status-error').waitFor()
})

test('a file that was sent before needs a confirmation, and refused payouts can be sent again', async () => {
  const { page } = await person('Operator', 'Eve Operator')
  const twice = textAt(await createBeneficiary(service.client, { name: 'Twice GmbH', alias: 'Zweimal' }), 'id')
  const paid = {
    amount: 1250,
    currency: 'EUR',
    beneficiaryId: twice,
    idempotencyKey: 'rent-9',
    reference: 'Rechnung 9',
  }
  const first = { mode: 'BestEffort', idempotencyKey: 'rent', payouts: [paid] }
  const earlier = textAt(success(await service.client.post('/v1/payouts/bulk', first)), 'id')
  await ended(page, `${site}/console/bulk-payouts/${earlier}`)
  await open(page, 'bulk-payouts/new')
  await upload(page, `Saved payee,Amount,Currency,Reference\r\nZweimal,"1,250.00",EUR,RECHNUNG-9\r\n`)
  await press(page, 'Check file')
  assert.match(await main(page), /May have been paid before: 1[^]*was sent before, by [^]*Paid on [^]*Rechnung 9/)
  await check(page)
  assert.ok(await page.getByRole('checkbox', { name: /Pay also what may have been paid before/ }).isVisible())
  await page.evaluate("document.querySelector('#again').required = false")
  await press(page, 'Send 1 payout')
  assert.match(await page.locator('#again-error').innerText(), /Tick the box/)
  await page.getByRole('checkbox', { name: /Pay also what may have been paid before/ }).check()
  await press(page, 'Send 1 payout')
  assert.match(await main(page), /The bulk is sent/)

  // What was refused begins again, corrected or not.
  const payee = textAt(await createBeneficiary(service.client, { name: 'Large Ltd' }), 'id')
  const payout = (amount: number) => ({
    amount,
    currency: 'EUR',
    beneficiaryId: payee,
    idempotencyKey: `large-${amount}`,
    endToEndId: `E2E-${amount}`,
  })
  const bulk = { mode: 'BestEffort', idempotencyKey: 'large', payouts: [payout(0.5), payout(9999999)] }
  const id = textAt(success(await service.client.post('/v1/payouts/bulk', bulk)), 'id')
  await ended(page, `${site}/console/bulk-payouts/${id}`)
  await press(page, 'Correct and send what was not made (1)')
  assert.match(await main(page), /9,999,999\.00 EUR[^]*are missing[^]*Large Ltd/)
  assert.match(await main(page), /E2E-9999999/)
})

test('the pages are German for a German reader, and a corrected file keeps the correct lines', async () => {
  const joined = await person('Operator', 'Bea Operator')
  const { page } = await visit({ locale: 'de', storageState: await joined.context.storageState() })
  await createBeneficiary(service.client, { name: 'Vermieterin GmbH' })
  await open(page, 'bulk-payouts/new')
  assert.match(
    await downloaded(page, 'Vorlage herunterladen (CSV)'),
    /^\uFEFFName des Empfängers;IBAN;Betrag;Währung;Verwendungszweck;/,
  )
  const head = 'Gespeicherter Empfänger;Betrag;Währung;Verwendungszweck'
  await upload(page, `\uFEFF${head}\r\nVermieterin GmbH;7,77;EUR;A\r\nVermieterin GmbH;1,23E+05;EUR;B\r\n`)
  await press(page, 'Datei prüfen')
  assert.match(await main(page), /Zeilen zu berichtigen: 1[^]*Die Tabelle hat den Betrag gekürzt/)
  await check(page)
  await upload(page, `${head}\r\nVermieterin GmbH;8,88;EUR;B\r\n`)
  await press(page, 'Falsche Zeilen ersetzen')
  assert.match(await main(page), /Die richtigen Zeilen sind geblieben[^]*16,65 EUR/)
  await press(page, '2 Auszahlungen senden')
  const address = page.url().split('?')[0] ?? ''
  await ended(page, address)
  assert.match(await downloaded(page, 'Ergebnisse herunterladen (CSV)'), /1;Vermieterin GmbH;[^;]*;"7,77";EUR;A;/)
})

test('two concurrent submissions create one bulk, and another role, person, site or partner cannot send it', async () => {
  const { context, page } = await person('Operator', 'Bo Operator')
  await createBeneficiary(service.client, { name: 'Twice Ltd' })
  const begin = async () => {
    await open(page, 'bulk-payouts/new')
    await upload(page, `payee,amount,currency,reference\nTwice Ltd,3.33,EUR,Twice ${Math.random()}`)
    await press(page, 'Check file')
    const value = (name: string) => page.locator(`form[action$="/send"] input[name="${name}"]`).inputValue()
    return { url: page.url(), revision: await value('revision'), seen: await value('seen') }
  }
  const draft = await begin()
  const send = (cookie: string, from = 'same-origin', changed: object = {}) =>
    fetch(`${draft.url}/send`, {
      ...{ method: 'POST', redirect: 'manual', headers: { cookie, 'sec-fetch-site': from } },
      body: new URLSearchParams({ revision: draft.revision, seen: draft.seen, again: 'yes', ...changed }),
    })
  const cookie = await cookieOf(context)
  assert.equal((await send(cookie, 'cross-site')).status, 403)
  assert.equal((await send('')).status, 303)
  assert.equal((await send(cookie, 'same-origin', { seen: 'x' })).status, 400)
  assert.equal((await send(cookie, 'same-origin', { revision: '2' })).status, 400)
  const bulks = async () => listAt(success(await service.client.get('/v1/payouts/bulk?limit=100'))).length
  const before = await bulks()
  const answers = await Promise.all([send(cookie), send(cookie), send(cookie)])
  const places = answers.flatMap((answer) => answer.headers.get('location') ?? [])
  assert.ok(places.length > 0 && answers.every(({ status }) => status === 303 || status === 400))
  const later = (await send(cookie)).headers.get('location')
  assert.equal(await bulks(), before + 1)
  assert.ok(
    places.every((place) => place.includes(later ?? 'none')),
    `${places.join()} ${later}`,
  )
  // A process that ended before its answer: the payee is saved, or the bulk is made.
  const half = await begin()
  const key = half.url.split('/').at(-1) ?? ''
  const payee = textAt(await createBeneficiary(service.client, { name: 'Made Before' }), 'id')
  const made = { mode: 'BestEffort', idempotencyKey: key }
  const payout = { amount: 3.33, currency: 'EUR', beneficiaryId: payee, idempotencyKey: `${key}-2` }
  const bulkId = textAt(success(await service.client.post('/v1/payouts/bulk', { ...made, payouts: [payout] })), 'id')
  await page.goto(half.url)
  assert.ok(page.url().endsWith(`/bulk-payouts/${bulkId}`), page.url())
  const large = await fetch(`${site}/console/bulk-payouts/new`, {
    ...{ method: 'POST', body: 'x'.repeat(5 * 1024 * 1024), headers: { cookie, 'sec-fetch-site': 'same-origin' } },
  }).catch(() => undefined)
  assert.ok(large === undefined || large.status === 413)
  const mine = await begin()
  const foreign = await otherPartner(service)
  const theirs = { amount: 5, currency: 'EUR', beneficiaryId: textAt(await createBeneficiary(foreign), 'id') }
  const bulk = { mode: 'BestEffort', idempotencyKey: 'theirs', payouts: [{ ...theirs, idempotencyKey: 'theirs-1' }] }
  const id = textAt(success(await foreign.post('/v1/payouts/bulk', bulk)), 'id')
  for (const path of [`bulk-payouts/${id}`, 'bulk-payouts/nonsense', `bulk-payouts/drafts/${id}`])
    assert.equal((await open(page, path))?.status(), 404, path)
  const other = await person('Operator', 'Cy Operator')
  assert.equal((await other.page.goto(mine.url))?.status(), 404)
  const dev = await person('Developer', 'Dan Developer')
  assert.equal((await open(dev.page, 'bulk-payouts'))?.status(), 200)
  assert.equal((await open(dev.page, 'bulk-payouts/new'))?.status(), 403)
  assert.equal((await send(await cookieOf(dev.context))).status, 403)
})

test('a pain.001 is checked, corrected and sent like a spreadsheet file', async () => {
  const { page } = await person('Operator', 'Di Operator')
  await createBeneficiary(service.client, { name: 'Saved GmbH', iban: 'NL91ABNA0417164300' })
  const payments = [
    { minor: 12_50n, iban: 'NL91ABNA0417164300', creditor: { name: 'Saved GmbH' }, text: 'Rechnung 41' },
    { minor: 7_00n, iban: 'BE68539007547034', creditor: { name: 'Neuer Lieferant' }, text: 'Rechnung 42' },
  ]
  const uploadXml = async (text: string) => {
    await open(page, 'bulk-payouts/new')
    await page.setInputFiles('#file', { name: 'zahllauf.xml', mimeType: 'text/xml', buffer: Buffer.from(text) })
    await press(page, 'Check file')
  }
  await uploadXml(pain001Text('RUN-7', payments).slice(0, 900))
  assert.match(await page.locator('#file-error').innerText(), /cannot be taken as a pain\.001[^]*Line \d+/)
  const [first, second] = payments
  await uploadXml(pain001Text('RUN-7', [first, { ...second, purpose: 'SALA' }] as never))
  assert.match(await main(page), /ask for something that a payout does not do: 1[^]*2\s+It has a purpose code/)
  await check(page)
  await uploadXml(pain001Text('RUN-7', [first, { ...second, iban: 'BE68539007547035' }] as never))
  assert.match(await main(page), /From the pain\.001 RUN-7[^]*Lines to correct: 1[^]*check digits do not fit/)
  assert.equal(await page.locator('#file').count(), 0)
  await check(page)
  await page.locator('#line-2').getByLabel('IBAN').fill('BE68539007547034')
  await press(page, 'Save and check again')
  assert.match(await main(page), /New payees: 1[^]*Neuer Lieferant[^]*E2E-2/)
  await check(page)
  await press(page, 'Send 2 payouts')
  const address = page.url().split('?')[0] ?? ''
  await ended(page, address)
  assert.match(await main(page), /zahllauf\.xml[^]*Saved GmbH[^]*Rechnung 41[^]*Neuer Lieferant[^]*Rechnung 42/)
  const items = listAt(success(await service.client.get(`/v1/payouts/bulk/${address.split('/').at(-1)}/items`)))
  assert.deepEqual(
    items.map((item) => textAt(item, 'endToEndId')),
    ['E2E-1', 'E2E-2'],
  )
  await open(page, 'bulk-payouts')
  assert.match(await main(page), /zahllauf\.xml/)
  await uploadXml(pain001Text('RUN-8', payments))
  assert.match(await main(page), /This file was sent before, by Di Operator/)
})
