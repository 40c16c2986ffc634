/** The desk in a real browser: two staff members join with passkeys and decide a case. */
import assert from 'node:assert/strict'
import { fileURLToPath } from 'node:url'
import { test } from '../support/browser.ts'
import { listAt, success, textAt } from '../support/client.ts'
import { createTestService, masterKeyText } from '../support/composition.ts'
import { check, inviteTo } from '../support/console.ts'
import { checkForms, postFrom, useDesk } from '../support/desk.ts'
import { isoAccount } from '../support/iso-books.ts'
import { pluck } from '../support/pluck.ts'
import { joinByPassword } from '../support/team.ts'
import { until } from '../support/until.ts'
import { operatorPartnerId } from '../../service/src/cases/index.ts'
import { dayMs, newId } from '../../service/src/kernel/index.ts'
import { createCustomer } from '../support/world.ts'

// The key of the composed services, which sign by a key of this database.
const { service, site, as, join, inGerman } = await useDesk({ MASTER_KEY: masterKeyText })

test('two people join with passkeys and decide a case, and the first cannot approve it', async () => {
  const inside = await createTestService({ url: service.databaseUrl, now: new Date(), bankAccounts: [isoAccount] })
  const today = inside.clock.now().toISOString().slice(0, 10)
  const { safeguarding, db } = inside
  await db.transaction((tx) =>
    safeguarding.designate(tx, { ...isoAccount, from: today, until: null, staff: 'Ada Lovelace' }),
  )
  const opened = await inside.cases.open({
    partnerId: service.credentials.partnerId,
    kind: 'unknown_payment',
    ...{ connector: 'sandbox', notificationId: 'desk', subject: 'desk', report: { kind: 'credit.booked' } },
    booked: { currency: 'EUR', amount: 1234n },
  })
  assert.equal(opened, true)
  const one = await join('Ada', 'finance', ['400'])
  await one.page.getByRole('link', { name: 'Safeguarding' }).click()
  await check(one.page)
  await safeguarding.compute(today)
  await inside.close()
  await one.page.reload()
  await check(one.page)
  const shownDay = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeZone: 'UTC' }).format(new Date(today))
  await one.page.getByRole('link', { name: shownDay }).first().click()
  await one.page.getByRole('heading', { name: `Safeguarding on ${shownDay} in EUR` }).waitFor()
  await one.page.getByText(`Missing, due for`).waitFor()
  await check(one.page)
  await one.page.goto(`${site}/desk/queue`)
  const two = await join('Grace', 'finance', ['400'])
  await check(one.page)
  await one.page.getByRole('link', { name: 'Payment that matches nothing' }).click()
  await check(one.page)
  await two.page.goto(one.page.url())
  await one.page.getByRole('button', { name: 'Take case' }).click()
  await one.page.getByText('Ada has the case.').waitFor()
  await two.page.getByRole('button', { name: 'Take case' }).click()
  assert.match(await two.page.locator('.summary').innerText(), /Ada has had it since [A-Z][a-z]{2} \d{1,2}, \d{4}/)
  await one.page.locator('#remark').fill('Asked the bank')
  await one.page.getByRole('button', { name: 'Add note' }).click()
  await one.page.getByRole('cell', { name: 'Asked the bank' }).waitFor()
  await check(one.page)
  await two.page.goto(`${site}/desk/queue?show=unowned`)
  assert.equal(await two.page.getByRole('link', { name: 'Payment that matches nothing' }).count(), 0)
  await one.page.goto(`${site}/desk/queue?show=mine`)
  await one.page.getByText('Asked the bank').waitFor()
  await check(one.page)
  await one.page.getByRole('link', { name: 'Payment that matches nothing' }).click()
  await one.page.getByRole('link', { name: 'Book as charges of the bank' }).click()
  await check(one.page)
  await one.page.locator('#propose-note').fill('Charge of the bank')
  await one.page.getByRole('button', { name: 'Propose: Book as charges of the bank' }).click()
  await one.page.getByText('You proposed: Book as charges of the bank. It waits for another person').waitFor()
  await one.page.getByText('Ada proposes: Book as charges of the bank.').waitFor()
  assert.equal(await one.page.getByRole('button', { name: /^Approve/ }).count(), 0, 'the first cannot approve it')
  assert.equal(await postFrom(one.page, `${new URL(one.page.url()).pathname}/approve`, { proposal: '' }), 400)
  await check(one.page)
  await two.page.goto(`${site}/desk/queue`)
  await two.page.getByText('Ada: Book as charges of the bank').waitFor()
  await two.page.goto(one.page.url())
  await two.page.getByRole('button', { name: 'Approve: Book as charges of the bank' }).click()
  await two.page.getByText('You approved it. The operator keeps the money as charges that came back.').waitFor()
  await two.page.getByText('Booked as charges, by Ada, approved by Grace.').waitFor()
  await check(two.page)
  await two.page.getByRole('button', { name: 'Sign out' }).click()
  await two.page.waitForURL(`${site}/desk/sign-in`)
  await check(two.page)
  await two.page.getByRole('button', { name: 'Sign in with a passkey' }).click()
  await two.page.waitForURL(`${site}/desk/queue`)
})

test('compliance decides screening hits, a high score needs two people, and finance reads the hits', async () => {
  const list = fileURLToPath(new URL('../../service/src/screening/samples/un.xml', import.meta.url))
  await service.operator('screening', 'load', '--from', list, ...as)
  await createCustomer(service.client, { kyc: { fullName: 'Borislav Tremurov' } })
  await until('the customer is a hit', async () => {
    const { openHits } = await service.operator('screening', 'status')
    return Number(openHits) === 1
  })
  const lena = await join('Lena', 'compliance', ['400'])
  const finn = await join('Finn', 'finance', ['403'])
  await finn.page.getByRole('link', { name: 'Screening', exact: true }).click()
  await check(finn.page)
  await finn.page.getByRole('link', { name: 'Borislav Tremurov' }).click()
  await finn.page.getByText('Your role does not decide this kind. Compliance, Admin do.').waitFor()
  const address = finn.page.url()
  const deciding = { outcome: 'clear', disposition: 'birth_differs', note: 'x' }
  assert.equal(await postFrom(finn.page, `${address}/decide`, deciding), 403)
  await lena.page.goto(address)
  await check(lena.page)
  await lena.page.getByLabel('Clear').check()
  assert.equal(await lena.page.locator('#disposition option').count(), 9, 'no finding about a country')
  await lena.page.locator('#disposition').selectOption('data_agree')
  await lena.page.locator('#note').fill('Born in another year')
  await lena.page.getByRole('button', { name: 'Decide hit' }).click()
  await lena.page.getByRole('alert').getByText('It has to fit the outcome').waitFor()
  assert.equal(await lena.page.locator('#note').inputValue(), 'Born in another year')
  await check(lena.page)
  await lena.page.locator('#disposition').selectOption('birth_differs')
  await lena.page.getByRole('button', { name: 'Decide hit' }).click()
  await lena.page.getByText('You proposed: Clear. It waits for another person who decides hits.').waitFor()
  await lena.page.getByText('Lena proposes: Clear').waitFor()
  await lena.page.goto(`${site}/desk/hits`)
  await lena.page.getByText('Lena: Clear').waitFor()
  await lena.page.goto(address)
  await lena.page.getByLabel('Clear').check()
  await lena.page.locator('#disposition').selectOption('birth_differs')
  await lena.page.locator('#note').fill('Again')
  await lena.page.getByRole('button', { name: 'Decide hit' }).click()
  assert.match(await lena.page.locator('.summary').innerText(), /another person must approve it/)
  const mia = await join('Mia', 'compliance')
  await mia.page.goto(address)
  await mia.page.getByLabel('Clear').check()
  await mia.page.locator('#disposition').selectOption('document_differs')
  await mia.page.locator('#note').fill('Agreed')
  await mia.page.getByRole('button', { name: 'Decide hit' }).click()
  await mia.page.getByText('Lena, approved by Mia').waitFor()
  assert.equal(
    await mia.page.getByText('Other person: a number of a document differs').count(),
    3,
    'fact, history, and the choice of the form',
  )
  await check(mia.page)
  await mia.page.goto(`${site}/desk/hits`)
  await mia.page.getByText('No hit is open').waitFor()
})

test('every role reads the overdue reviews, page by page, on a narrow and a wide screen, light and dark', async () => {
  const long = 14 * 31
  const inside = await createTestService({
    url: service.databaseUrl,
    now: new Date(Date.now() - long * dayMs),
    bankAccounts: [isoAccount],
  })
  const { partnerId } = service.credentials
  const sam = await join('Sam', 'support')
  await sam.page.goto(`${site}/desk/reviews`)
  await sam.page.getByText('No review is overdue').waitFor()
  await check(sam.page)
  for (let n = 0; n < 51; n++) {
    const { id } = await inside.customers.create(partnerId, { email: `overdue-${n}@example.com` })
    const review = { partnerId, customerRef: id, risk: 'high', staff: `Reviewer ${n}` } as const
    await inside.db.transaction((tx) => inside.customers.reviews.set(tx, review))
  }
  const { id: later } = await inside.customers.create(partnerId, { email: 'not-due@example.com' })
  const notDue = { partnerId, customerRef: later, risk: 'low', staff: 'Reviewer of another day' } as const
  await inside.db.transaction((tx) => inside.customers.reviews.set(tx, notDue))
  await inside.close()
  await sam.page.getByRole('link', { name: 'Reviews' }).click()
  await sam.page.getByRole('table').waitFor()
  const reviewers = new Set<string>()
  const read = async () => {
    const cells = await sam.page.locator('tbody tr td:last-child').allInnerTexts()
    for (const cell of cells) reviewers.add(cell.trim())
    return cells.length
  }
  assert.equal(await read(), 50)
  await checkForms(sam.page)
  await sam.page.getByRole('link', { name: 'Next page' }).click()
  await sam.page.waitForURL(/reviews\?due=/)
  assert.equal(await read(), 1)
  assert.equal(reviewers.size, 51)
  assert.ok(!reviewers.has('Reviewer of another day'))
  const german = await inGerman(sam)
  await german.page.goto(`${site}/desk/reviews`)
  await german.page.getByRole('heading', { name: 'Überprüfungen' }).waitFor()
  await check(german.page)
})

test('every role finds a payout by its reference and its case, in both languages, on a narrow and a wide screen, light and dark', async () => {
  const account = { iban: 'DE89370400440532013000', currency: 'EUR', name: 'Grace Hopper' }
  const beneficiaryId = textAt(success(await service.client.post('/v1/beneficiaries', account)), 'id')
  const reference = `find-${newId()}`
  const body = { amount: 12.5, currency: 'EUR', beneficiaryId, idempotencyKey: newId(), reference }
  success(await service.client.post('/v1/payouts/fiat', body))
  const { json } = await service.client.get(`/v1/payouts?idempotencyKey=${body.idempotencyKey}`)
  const payoutId = textAt(listAt(json, 'data')[0] ?? {}, 'id')
  const inside = await createTestService({ url: service.databaseUrl, now: new Date() })
  const { partnerId } = service.credentials
  const about = { connector: 'sandbox', notificationId: reference, subject: reference, report: { kind: 'test' } }
  await inside.cases.open({
    partnerId,
    kind: 'unknown_payment',
    ...about,
    booked: { currency: 'EUR', amount: 1250n },
  })
  const fay = await join('Fay', 'support', ['400'])
  await fay.page.getByRole('link', { name: 'Find', exact: true }).click()
  await check(fay.page)
  const find = async (text: string) => {
    await fay.page.locator('#q').fill(text)
    await fay.page.getByRole('button', { name: 'Find', exact: true }).click()
  }
  await find('   ')
  await fay.page.getByRole('alert').getByText('Type 1 to 140 characters.').waitFor()
  await check(fay.page)
  await find('nothing has this reference')
  await fay.page.getByText('Nothing was found').waitFor()
  await find(reference)
  await fay.page.getByRole('heading', { name: 'Payouts' }).waitFor()
  assert.equal(new URL(fay.page.url()).search, '')
  assert.equal(await fay.page.locator(`code[title="${payoutId}"]`).count(), 1)
  for (const colorScheme of ['light', 'dark'] as const)
    for (const width of [360, 1280]) {
      await fay.page.emulateMedia({ colorScheme })
      await fay.page.setViewportSize({ width, height: 800 })
      await check(fay.page)
      assert.equal(await fay.page.evaluate('document.documentElement.scrollWidth > innerWidth'), false, `${width}`)
    }
  await fay.page.getByRole('link', { name: 'Open case' }).click()
  await fay.page.getByRole('heading', { name: 'Payment that matches nothing' }).waitFor()
  const german = await inGerman(fay)
  await german.page.goto(`${site}/desk/find`)
  await german.page.locator('#q').fill(reference)
  await german.page.getByRole('button', { name: 'Suchen' }).click()
  await german.page.getByRole('heading', { name: 'Auszahlungen' }).waitFor()
  await check(german.page)
  const { data } = await inside.audit.list(operatorPartnerId, {})
  await inside.close()
  const searches = data.filter(({ action, actor }) => action === 'staff find' && actor.name === 'Fay')
  const withPayout = { by: 'text', payouts: [`${partnerId}/${payoutId}`], customers: [], deposits: [], payees: [] }
  const withNothing = { by: 'text', payouts: [], customers: [], deposits: [], payees: [] }
  assert.deepEqual(pluck(searches, 'details'), [withPayout, withPayout, withNothing])
})

test("a session of a partner's team cannot open the desk, a session of staff cannot open the console, and the API has no desk", async () => {
  const { cookie } = await joinByPassword(service, await inviteTo(service, 'Admin'))
  const value = cookie.slice(cookie.indexOf('=') + 1)
  const ask = (url: string, given: string) => fetch(url, { headers: { cookie: given }, redirect: 'manual' })
  const desk = `${service.opsUrl}/desk/queue`
  for (const given of [cookie, `__Host-staff=${value}`]) assert.equal((await ask(desk, given)).status, 303)
  const staff = await join('Joan', 'support')
  const [own] = (await staff.context.cookies()).filter(({ name }) => name === '__Host-staff')
  assert.ok(own)
  assert.deepEqual([own.httpOnly, own.secure, own.sameSite], [true, true, 'Strict'])
  assert.equal((await ask(desk, `__Host-staff=${own.value}`)).status, 200)
  assert.equal((await ask(`${service.baseUrl}/console/home`, `__Host-session=${own.value}`)).status, 303)
  assert.equal((await ask(`${service.baseUrl}/desk/queue`, `__Host-staff=${own.value}`)).status, 404)
})
