/** Payees and customers as files: the download, a dry run that shows the effect of each row, and the import. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import { test } from '../support/browser.ts'
import { listAt, success, textAt } from '../support/client.ts'
import { check, cookieOf, main, press, useConsole } from '../support/console.ts'
import { useSharedService } from '../support/fixture.ts'
import { pluck } from '../support/pluck.ts'

const { service, person, visit, open } = useConsole(await useSharedService(), ['400', '403', '404'])

const upload = (page: Page, ...lines: readonly string[]) =>
  page.setInputFiles('#file', { name: 'file.csv', mimeType: 'text/csv', buffer: Buffer.from(lines.join('\r\n')) })

async function downloaded(page: Page, link: string): Promise<readonly string[]> {
  const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name: link }).click()])
  return (await readFile(await file.path(), 'utf8')).trim().split('\r\n')
}

test('payees are created, changed, or refused by line, and importing the download again has no effect', async () => {
  const { context, page } = await person('Operator', 'Ann Operator')
  const before = success(
    await service.client.post('/v1/beneficiaries', {
      name: 'Old Name',
      iban: 'DE89370400440532013000',
      currency: 'EUR',
    }),
  )
  await open(page, 'payees')
  await check(page)
  await page.getByRole('link', { name: 'Import payees' }).click()
  await check(page)
  await upload(page, 'name,amount', 'Ada,5')
  await press(page, 'See what the file does')
  assert.match(await page.locator('#file-error').innerText(), /name, currency/)
  const file = [
    'id,name,alias,iban,sortCode,accountNumber,currency,streetName,city,addressCountry',
    `${textAt(before, 'id')},New Name,rent,,,,EUR,,Berlin,DE`,
    ',Émile Neu,,FR1420041010050500013M02606,,,EUR,,,',
    ',London Ltd,,,20-00-00,55779911,GBP,1 High St,London,GB',
    ',Wrong Co,,DE89370400440532013001,,,EUR,,,',
    ',Émile Neu,,FR14 2004 1010 0505 0001 3M02 606,,,EUR,,,',
    '019aa8c4-6e4f-7a12-8d3e-2b1c5f7a9e10,Lost Co,,,,,EUR,,,',
    `${textAt(before, 'id').toUpperCase()},Twice,,,,,EUR,,,`,
  ]
  await upload(page, ...file)
  await press(page, 'See what the file does')
  const shown = await main(page)
  assert.match(shown, /Nothing has changed yet[^]*To create\s+2[^]*To change\s+1[^]*Unchanged\s+0[^]*Refused\s+4/)
  assert.match(
    shown,
    /5\s+Wrong Co\s+Is refused[^]*6\s+Émile Neu\s+Is refused\s+The same as line 3[^]*7\s+Lost Co\s+Is refused\s+No entry has this id[^]*8\s+Twice\s+Is refused\s+The same as line 2/,
  )
  assert.match(shown, /2\s+New Name\s+Will be changed\s+Changes: name, alias, address/)
  await check(page)
  const payees = async () => listAt(success(await service.client.get('/v1/beneficiaries?limit=100')))
  assert.equal((await payees()).filter(({ name }) => name === 'Émile Neu').length, 0)
  const address = page.url()
  // Two at once apply it once.
  const value = (name: string) => page.locator(`form[action$="/apply"] input[name="${name}"]`).inputValue()
  const body = new URLSearchParams({ revision: await value('revision'), seen: await value('seen') })
  const headers = { cookie: await cookieOf(context), 'sec-fetch-site': 'same-origin' }
  const send = () => fetch(`${address}/apply`, { method: 'POST', redirect: 'manual', headers, body })
  await Promise.all([send(), send()])
  await page.goto(address)
  assert.match(await main(page), /The import is done: 2 created, 1 changed, 4 refused/)
  await check(page)
  const made = await payees()
  assert.equal(made.filter(({ name }) => name === 'Émile Neu').length, 1)
  const changed = made.find(({ id }) => id === before['id'])
  assert.deepEqual(
    [changed?.['name'], changed?.['alias'], changed?.['address']],
    ['New Name', 'rent', { city: 'Berlin', country: 'DE' }],
  )
  await open(page, 'payees')
  const list = await downloaded(page, 'Download as CSV')
  assert.match(list[0] ?? '', /^id,name,alias,iban,sortCode,routingNumber,accountNumber,/)
  assert.ok(list.some((line) => line.includes('London Ltd') && line.includes('200000') && line.includes('1 High St')))
  for (const again of [list, file.slice(0, 4)]) {
    await open(page, 'payees/import')
    await upload(page, ...again)
    await press(page, 'See what the file does')
    assert.match(await main(page), /To create\s+0[^]*To change\s+0[^]*Refused\s+0[^]*nothing to create or to change/)
  }
  const dev = await person('Developer', 'Dan Developer')
  assert.equal((await open(dev.page, 'payees/import'))?.status(), 403)
  assert.equal((await dev.page.goto(address))?.status(), 403)
})

test('an identifier makes a repeated import of customers harmless, and refusals are shown by line', async () => {
  const joined = await person('Operator', 'Bea Operator')
  const { page } = await visit({ locale: 'de', storageState: await joined.context.storageState() })
  await open(page, 'customers')
  await page.getByRole('link', { name: 'Kunden importieren' }).click()
  await check(page)
  const file = [
    'partnerCustomerIdentifier;email;customerType;fullName;dateOfBirth;city',
    'import-1;ada@example.com;Individual;Ada Lovelace;1990-12-10;London',
    'import-2;;Individual;Bo Beispiel;1990-13-45;',
    ';cy@example.com;Individual;Cy Ohne;;',
    'import-1;;;Doppelt;;',
  ]
  const taken = { partnerCustomerIdentifier: 'import-taken', email: 'taken@example.com' }
  const other = { partnerCustomerIdentifier: 'import-other', email: 'other@example.com' }
  success(await service.client.post('/v1/customers', taken))
  const id = textAt(success(await service.client.post('/v1/customers', other)), 'serviceId')
  await upload(page, 'id;partnerCustomerIdentifier', `${id};import-taken`)
  await press(page, 'Zeigen, was die Datei bewirkt')
  assert.match(await main(page), /2\s+import-taken\s+Wird abgelehnt\s+Ein anderer Kunde hat diese Kennung/)
  await open(page, 'customers/import')
  await upload(page, ...file)
  await press(page, 'Zeigen, was die Datei bewirkt')
  const shown = await main(page)
  assert.match(shown, /Anzulegen\s+1[^]*Zu ändern\s+0[^]*Abgelehnt\s+3/)
  assert.match(
    shown,
    /3\s+Bo Beispiel\s+Wird abgelehnt\s+Fehler: dateOfBirth[^]*4\s+Cy Ohne\s+Wird abgelehnt\s+Füllen Sie eine dieser Spalten aus[^]*5\s+Doppelt\s+Wird abgelehnt\s+Gleich wie Zeile 2/,
  )
  await press(page, '1 anlegen und 0 ändern')
  assert.match(await main(page), /Der Import ist fertig: 1 angelegt/)
  await check(page)
  await open(page, 'customers/import')
  await upload(page, file[0] ?? '', 'import-1;ada@example.com;Individual;Ada Lovelace;1990-12-10;Paris')
  await press(page, 'Zeigen, was die Datei bewirkt')
  assert.match(await main(page), /Zu ändern\s+1[^]*Ändert: city/)
  await press(page, '0 anlegen und 1 ändern')
  const found = listAt(success(await service.client.get('/v1/customers?partnerCustomerIdentifier=import-1')))
  assert.deepEqual(pluck(found, 'kyc'), [{ ...(found[0]?.['kyc'] as object), city: 'Paris' }])
  await open(page, 'customers')
  const list = await downloaded(page, 'Als CSV herunterladen')
  assert.ok(list.some((line) => line.includes('import-1;ada@example.com') && line.includes('Paris')))
})
