/**
 * The pages of payments and customers in a real browser: a payee is saved and paid, the payment found, a pending
 * payment cancelled, a customer managed; and attempts by a person without permission, another partner and a repeated
 * form.
 */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from '../support/browser.ts'
import { listAt, success, textAt } from '../support/client.ts'
import { check, inviteTo, main, openPage, press, useConsole } from '../support/console.ts'
import { useSharedService } from '../support/fixture.ts'
import { otherPartner } from '../support/service.ts'
import { until } from '../support/until.ts'
import { joinByPassword, sendForm } from '../support/team.ts'
import { balanceOf, createBeneficiary, createCustomer, finalTransaction, ibans, payoutText } from '../support/world.ts'

const { service, site, person, open, browser } = useConsole(await useSharedService(), ['400', '403', '404', '409'])
const rule = ['--partner', service.credentials.partnerId, '--currency', 'EUR', '--above', '1000.00']
await service.operator('approval', 'set', ...rule, '--staff', 'Sam', '--note', 'two persons')

test('a person saves a payee, previews and sends a payout, and finds its transaction', async () => {
  const { context, page } = await person('Operator', 'Ann Maker')
  await page.getByRole('link', { name: 'Payees' }).click()
  await check(page)
  await page.getByRole('link', { name: 'New payee' }).click()
  await page.fill('#name', 'Jean Bartik')
  await page.fill('#account', 'FR14 2004 1010 0505 0001 3M02 607')
  await press(page, 'Check payee')
  assert.match(await main(page), /not a valid account/)
  assert.equal(await page.locator('#name').inputValue(), 'Jean Bartik')
  await page.fill('#account', ibans.FR)
  await press(page, 'Check payee')
  assert.match(await main(page), /Is this the right payee\?[^]*FR14 2004 1010 0505 0001 3M02 606/)
  await check(page)
  await press(page, 'Change')
  await page.fill('#alias', 'bank')
  await press(page, 'Check payee')
  await press(page, /^Save/)
  assert.match(await main(page), /The payee is saved[^]*Jean Bartik[^]*bank/)
  await check(page)
  await page.getByRole('link', { name: 'New payout' }).click()
  await page.fill('#amount', '1,250')
  await press(page, 'Preview')
  assert.match(await main(page), /without grouping/)
  await page.fill('#amount', '12,50')
  await page.fill('#reference', 'Rent / November 100%')
  await press(page, 'Preview')
  assert.match(await main(page), /12\.50 EUR\s+Jean Bartik[^]*Enough money\s+Passed/)
  await check(page)
  await press(page, 'Send 12.50 EUR')
  assert.match(await main(page), /The payout is accepted[^]*Requested by\s+Ann Maker/)
  await check(page)
  await finalTransaction(service.client, 'Rent / November 100%')
  await page.getByRole('link', { name: 'Open the transaction' }).click()
  assert.match(await main(page), /Rent \/ November 100%[^]*Completed[^]*Settled by the bank/)
  await check(page)
  await page.getByRole('link', { name: 'Show the proof' }).click()
  assert.match(await main(page), /Records of this transaction/)
  await page.getByRole('link', { name: 'Transactions', exact: true }).click()
  await page.fill('#referencePrefix', 'Rent')
  await press(page, 'Show')
  assert.equal(await page.locator('tbody tr').count(), 1)
  await check(page)
  await page.getByRole('link', { name: 'Clear filters' }).click()
  await page.getByRole('link', { name: 'Rent / November 100%' }).click()
  await page.getByRole('link', { name: 'Open the payout' }).click()
  assert.equal(await page.locator('h1').innerText(), 'Jean Bartik')
  const confirmation = page.getByRole('link', { name: 'Confirmation as PDF' })
  const [pdf] = await Promise.all([page.waitForEvent('download'), confirmation.click()])
  assert.equal((await readFile(await pdf.path())).subarray(0, 5).toString(), '%PDF-')
  const other = await context.newPage()
  await other.goto(page.url())
  await page.getByText('Request recall').first().click()
  await page.selectOption('#reason', 'FRAD')
  await page.fill('#text', 'The invoice was forged.')
  await press(page, 'Request recall')
  assert.match(await main(page), /The recall is requested[^]*Fraud[^]*Ann Maker/)
  await check(page)
  // The sandbox bank may have sent the money back by now.
  await other.getByText('Request recall').first().click()
  await press(other, 'Request recall')
  assert.match(await main(other), /has an open or accepted recall|Only a completed payout can be recalled/)
})

test('a person saves and pays a payee by sort code and account number, and by routing number', async () => {
  const { page } = await person('Operator', 'Ann Islander')
  for (const [currency, wrong, account] of [
    ['GBP', '20-00-00 55', '20-00-00 55779911'],
    ['USD', '021000022 123456789', '021000021 123456789'],
  ] as const) {
    await open(page, 'payees/new')
    await page.fill('#name', `Kay McNulty ${currency}`)
    await page.fill('#currency', currency)
    await page.fill('#account', wrong)
    await press(page, 'Check payee')
    assert.match(await main(page), new RegExp(`City[^]*Payments in ${currency} to this account need it`))
    await check(page)
    await page.fill('#city', 'Philadelphia')
    await page.fill('#country', 'us')
    await press(page, 'Check payee')
    assert.match(await main(page), /Address of the payee[^]*Philadelphia, US/)
    await press(page, /^Save/)
    assert.match(await main(page), /not a valid account/)
    await check(page)
    await page.fill('#account', account)
    await press(page, 'Check payee')
    assert.match(await main(page), new RegExp(`Is this the right payee\\?[^]*${account}`))
    await press(page, /^Save/)
    assert.match(
      await main(page),
      new RegExp(`The payee is saved[^]*${account}[^]*Only names of accounts with an IBAN`),
    )
    assert.match(await main(page), /Address of the payee[^]*Philadelphia, US/)
    assert.equal(await page.getByRole('button', { name: 'Verify' }).count(), 0)
    await check(page)
    await page.getByRole('link', { name: 'New payout' }).click()
    await page.fill('#amount', '7.50')
    await page.fill('#reference', `Rent in ${currency}`)
    await press(page, 'Preview')
    await press(page, `Send 7.50 ${currency}`)
    assert.match(await main(page), new RegExp(`The payout is accepted[^]*${account}`))
    await finalTransaction(service.client, `Rent in ${currency}`)
    await page.getByRole('link', { name: 'Open the transaction' }).click()
    assert.match(await main(page), new RegExp(account))
  }
})

test('a payout above the limit waits for another person, and its creator can cancel it', async () => {
  const payeeId = textAt(await createBeneficiary(service.client), 'id')
  const ann = await person('Operator', 'Ann Second')
  const { page } = ann
  await open(page, `payouts/new?beneficiaryId=${payeeId}&amount=2000`)
  await press(page, 'Preview')
  await press(page, 'Ask for approval of 2,000.00 EUR')
  assert.match(await main(page), /You made this payout/)
  assert.equal(await page.getByRole('link', { name: 'Review and approve' }).count(), 0)
  const path = new URL(page.url()).pathname
  const bob = await person('Operator', 'Bob Second')
  await bob.page.getByRole('link', { name: /Payouts to approve/ }).click()
  assert.match(await main(bob.page), /Grace Hopper/)
  await check(bob.page)
  await bob.page.getByRole('link', { name: 'Grace Hopper' }).first().click()
  await bob.page.getByRole('link', { name: 'Review and approve' }).click()
  assert.equal(new URL(bob.page.url()).pathname, `${path}/approve`)
  for (const [tab, count] of [
    ['mine', 0],
    ['made', 1],
    ['waiting', 1],
  ] as const) {
    await open(page, `payouts?tab=${tab}`)
    assert.equal(await page.locator('tbody tr').count(), count, tab)
    await check(page)
  }
  await page.goto(site + path)
  await press(page, 'Cancel payout')
  await check(page)
  await page.locator('dialog').getByRole('button', { name: 'Cancel payout' }).click()
  assert.match(await main(page), /The payout is cancelled[^]*Cancelled/)
  await page.getByRole('link', { name: 'Pay again' }).click()
  assert.equal(await page.locator('#amount').inputValue(), '2000.00')
})

test('a person creates, corrects and erases a customer, whose fields are verified', async () => {
  const { page } = await person('Operator', 'Carol Clerk')
  await page.getByRole('link', { name: 'Customers', exact: true }).click()
  await page.getByRole('link', { name: 'New customer' }).click()
  await check(page)
  await page.fill('#email', 'ada@b')
  await page.fill('#fullName', 'Ada "Countess" Lovelace')
  await page.fill('#mobilePhone', '12345')
  await press(page, 'Create customer')
  assert.match(await main(page), /complete email address/)
  assert.equal(await page.locator('#fullName').inputValue(), 'Ada "Countess" Lovelace')
  await page.fill('#email', 'ada@example.com')
  await press(page, 'Create customer')
  assert.match(await main(page), /The customer is created[^]*Mobile phone\s+Invalid\s+12345/)
  await check(page)
  await press(page, 'Open account')
  assert.match(await main(page), /The account is open[^]*DE\s+DE\d\d /)
  await page.getByRole('link', { name: 'Edit' }).click()
  await page.fill('#mobilePhone', '')
  await press(page, 'Save changes')
  assert.match(await main(page), /Mobile phone: 12345 → –/)
  await open(page, 'customers?namePrefix=countess')
  await page.getByRole('link', { name: 'Ada "Countess" Lovelace' }).click()
  await press(page, /^Erase customer/)
  await page.locator('dialog').getByRole('button', { name: 'Erase customer' }).click()
  assert.match(await main(page), /The customer is erased/)
  await open(page, 'customers?namePrefix=countess')
  assert.match(await main(page), /Nothing matches these filters/)
  await check(page)
})

test('without JavaScript the menu opens on a phone, and every page fits its width', async () => {
  const { cookie } = await joinByPassword(service, await inviteTo(service, 'Admin'))
  const options = { javaScriptEnabled: false, viewport: { width: 360, height: 700 }, extraHTTPHeaders: { cookie } }
  const { page } = await openPage(await browser(), site, options)
  await open(page, 'home')
  for (const name of ['Transactions', 'Payouts', 'Payees', 'Customers']) {
    await page.getByRole('button', { name: 'Menu' }).click()
    await page.getByRole('link', { name, exact: true }).click()
    assert.equal(await page.locator('h1').innerText(), name)
    const { width } = (await page.locator('main').boundingBox()) ?? {}
    assert.ok(width !== undefined && width <= 360, name)
  }
})

test('a person who may only read sees no forms and cannot send any; foreign ids and bad filters are refused', async () => {
  const { cookie } = await joinByPassword(service, await inviteTo(service, 'Developer', 'Dora Reader'))
  const url = (path: string) => new URL(`/console/${path}`, service.baseUrl)
  const read = async (path: string) => {
    const answer = await fetch(url(path), { headers: { cookie }, redirect: 'manual' })
    return [answer.status, await answer.text()] as const
  }
  const payeeId = textAt(await createBeneficiary(service.client), 'id')
  const customerId = textAt(await createCustomer(service.client), 'guid')
  const held = success(await service.client.post('/v1/payouts/fiat', payoutText(payeeId, '1500.00')))
  const [payout] = listAt(success(await service.client.get(`/v1/payouts?beneficiaryId=${payeeId}`)))
  const payoutId = textAt(payout ?? {}, 'id')
  assert.equal(held.status, 'PendingApproval')
  const before = await balanceOf(service.client)
  for (const path of [
    'payouts',
    `payouts/${payoutId}`,
    'payees',
    `payees/${payeeId}`,
    'customers',
    `customers/${customerId}`,
  ]) {
    const [status, text] = await read(path)
    assert.equal(status, 200, path)
    const posts = [...text.matchAll(/<form method="post" action="([^"]*)"/g)].map(([, action]) => action)
    assert.deepEqual([...new Set(posts.map((action) => action?.replaceAll('../', '')))], ['sign-out'], path)
  }
  for (const path of ['payouts/new', 'payees/new', 'customers/new', `customers/${customerId}/edit`]) {
    const [status, text] = await read(path)
    assert.equal(status, 403, path)
    assert.match(text, /needs the permission \w+:write/)
  }
  const draft = { beneficiaryId: payeeId, amount: '5', idempotencyKey: 'reader' }
  for (const [path, fields] of [
    ['payouts/new/send', draft],
    ['payouts/new/preview', draft],
    [`payouts/${payoutId}/cancel`, {}],
    [`payouts/${payoutId}/recall`, { reason: 'DUPL' }],
    ['payees/new/save', { name: 'Eve', account: ibans.NL, currency: 'EUR' }],
    [`payees/${payeeId}/change`, { name: 'Eve' }],
    [`payees/${payeeId}/delete`, {}],
    ['customers/new', { email: 'eve@example.com' }],
    [`customers/${customerId}/edit`, { email: 'eve@example.com' }],
    [`customers/${customerId}/account`, {}],
    [`customers/${customerId}/erase`, {}],
  ] as const)
    assert.equal((await sendForm(url(path), fields, { cookie })).status, 403, path)
  assert.deepEqual(await balanceOf(service.client), before)
  const other = textAt(await createBeneficiary(await otherPartner(service)), 'id')
  const missing = '00000000-0000-7000-8000-000000000000'
  for (const path of [
    ...[other, missing, 'x', '%00', '%ff'].map((id) => `payees/${id}`),
    ...[missing, 'x'].flatMap((id) => [`payouts/${id}`, `customers/${id}`, `transactions/${id}`]),
  ])
    assert.ok([400, 404].includes((await read(path))[0]), path)
  for (const query of ['status=x', 'amountMin=1', 'createdFrom=x', 'cursor=x', 'customerId=x', 'currency=%00'])
    assert.equal((await read(`transactions?${query}`))[0], 400, query)
  for (const query of ['unknown=1', 'status=&currency=', 'status=Pending&status=Failed', 'tab=x'])
    assert.equal((await read(`payouts?${query}`))[0], 200, query)
})

test('a form submitted twice, or concurrently, creates one payout, one payee and one customer', async () => {
  const { cookie } = await joinByPassword(service, await inviteTo(service, 'Operator', 'Dan Double'))
  const send = (path: string, fields: Record<string, string>) =>
    sendForm(new URL(`/console/${path}`, service.baseUrl), fields, { cookie })
  const idOf = async (answer: Response) => (answer.headers.get('location') ?? '').split('/').at(-1)
  const payeeId = textAt(await createBeneficiary(service.client), 'id')
  const reference = 'Invoice 7'
  for (const [path, fields] of [
    ['payouts/new/send', { beneficiaryId: payeeId, amount: '5.00', reference, idempotencyKey: 'double-payout' }],
    ['payees/new/save', { name: 'Twice', account: ibans.NL, currency: 'eur', idempotencyKey: 'double-payee' }],
    ['customers/new', { fullName: 'Twice', customerType: 'Individual', idempotencyKey: 'double-customer' }],
  ] as const) {
    const first = await send(path, fields)
    assert.equal(first.status, 303, path)
    const again = await Promise.all([send(path, fields), send(path, fields)])
    for (const answer of again) assert.equal(await idOf(answer), await idOf(first), path)
  }
  const { data } = success(await service.client.get(`/v1/payouts?beneficiaryId=${payeeId}`)) as { data: unknown[] }
  assert.equal(data.length, 1)
  const changed = { beneficiaryId: payeeId, amount: '6.00', reference, idempotencyKey: 'double-payout' }
  const refused = await send('payouts/new/send', changed)
  assert.equal(refused.status, 400)
  assert.match(await refused.text(), /sent before with other values[^]*value="6.00"/)
  const foreign = await sendForm(new URL('/console/payouts/new/send', service.baseUrl), changed, {
    cookie,
    'sec-fetch-site': 'cross-site',
  })
  assert.equal(foreign.status, 403)
})

test('a person starts an identity verification, opens the page of the provider and sees the result', async () => {
  const customer = textAt(await createCustomer(service.client), 'guid')
  const { page } = await person('Operator', 'Ivy Identity')
  await open(page, `customers/${customer}`)
  assert.match(await main(page), /No document was checked yet/)
  await page.getByText('Start a verification').first().click()
  await check(page)
  await press(page, 'Start a verification')
  await until('the page of the provider can be opened', async () => {
    await page.reload()
    return (await page.getByRole('link', { name: 'Open the page' }).count()) > 0
  })
  await check(page)
  const url = await page.getByRole('link', { name: 'Open the page' }).getAttribute('href')
  // The customer's browser: pages of the console lead to no other site.
  const visit = await (await browser()).newPage()
  await visit.goto(String(url))
  assert.match(await main(visit), /Simulated identity check[^]*Ada Lovelace/)
  await check(visit)
  await visit.getByRole('button', { name: 'Decline: the name differs' }).click()
  assert.match(await main(visit), /Declined[^]*has decided/)
  await check(visit)
  await visit.close()
  await until('the console shows what was found', async () => {
    await open(page, `customers/${customer}`)
    return /Declined[^]*other data[^]*Full name: differs/.test(await main(page))
  })
  assert.match(await main(page), /The identity provider read another value/)
  await check(page)
})
