/**
 * Possible duplicates of payments, in a real browser: the person is warned and confirms with a checkbox to pay again;
 * the approver sees the invoice number, the note and the earlier payment; a payment for a later day is scheduled.
 */
import assert from 'node:assert/strict'
import { test } from '../support/browser.ts'
import { listAt, success, textAt } from '../support/client.ts'
import { check, cookieOf, main, press, useConsole } from '../support/console.ts'
import { useSharedService } from '../support/fixture.ts'
import { sendForm } from '../support/team.ts'
import { createBeneficiary } from '../support/world.ts'

const { service, site, person, open } = useConsole(await useSharedService(), ['400', '422'])
const rule = ['--partner', service.credentials.partnerId, '--currency', 'EUR', '--above', '1000.00']
await service.operator('approval', 'set', ...rule, '--staff', 'Sam', '--note', 'two persons')

const payoutsOf = async (payeeId: string) =>
  listAt(success(await service.client.get(`/v1/payouts?beneficiaryId=${payeeId}`)))

test('a second payment of an invoice needs a confirmation, and the approver sees the warning and the reason', async () => {
  const payeeId = textAt(await createBeneficiary(service.client, { name: 'Müller GmbH' }), 'id')
  const { page } = await person('Operator', 'Ann Payer')
  const fillForm = async (reference: string) => {
    await open(page, `payouts/new?beneficiaryId=${payeeId}`)
    await page.fill('#amount', '1200')
    await page.fill('#reference', reference)
    await page.fill('#note', 'Anna has checked it by phone.')
    await press(page, 'Preview')
  }
  await fillForm('INV-2026-0815')
  assert.match(await main(page), /Not a duplicate of an earlier payment\s+Passed/)
  assert.equal(await page.locator('#again').count(), 0)
  await press(page, 'Ask for approval of 1,200.00 EUR')
  assert.match(await main(page), /waits for the approval of a second person, and then goes to the bank/)
  assert.match(await main(page), /Note for colleagues\s+Anna has checked it by phone\.\s+Written by\s+Ann Payer/)
  const first = new URL(page.url()).pathname

  await fillForm('inv 2026/0815')
  assert.match(await main(page), /May repeat an earlier payment[^]*INV-2026-0815[^]*Account, amount and reference/)
  assert.doesNotMatch(await main(page), /onDuplicate/)
  await check(page)
  const link = await page.getByRole('link', { name: 'INV-2026-0815' }).getAttribute('href')
  assert.equal(new URL(link ?? '', page.url()).pathname, first)
  const sentence = page.getByLabel('Pay Müller GmbH 1,200.00 EUR again')
  // The browser does not send the form without the yes. Neither does the server take it.
  await page.evaluate("document.querySelector('#again').required = false")
  await press(page, 'Ask for approval of 1,200.00 EUR')
  assert.match(await main(page), /tick the sentence if you mean to pay again/)
  assert.equal((await payoutsOf(payeeId)).length, 1)
  await check(page)
  await sentence.check()
  await press(page, 'Ask for approval of 1,200.00 EUR')
  assert.match(await main(page), /The payout is accepted[^]*May repeat an earlier payment[^]*INV-2026-0815/)
  assert.equal((await payoutsOf(payeeId)).length, 2)
  await check(page)
  const second = new URL(page.url()).pathname

  const bob = await person('Operator', 'Bob Approver')
  await bob.page.goto(`${site}${second}/approve`)
  assert.match(await main(bob.page), /1,200\.00 EUR[^]*Müller GmbH[^]*inv 2026\/0815[^]*Anna has checked it by phone/)
  assert.match(await main(bob.page), /May repeat an earlier payment[^]*INV-2026-0815/)
  await check(bob.page)
  await bob.page.getByText('Reject instead').click()
  await bob.page.fill('#reason', 'Paid already')
  await press(bob.page, 'Reject payout')
  assert.match(await main(bob.page), /You have rejected the payout[^]*its money is available again/)
  await bob.page.getByText('Change the note').click()
  await bob.page.fill('#note', 'Bob: the first one stays.')
  await press(bob.page, 'Save note')
  assert.match(await main(bob.page), /The note is saved[^]*Bob: the first one stays\.\s+Written by\s+Bob Approver/)
  await check(bob.page)
})

test('the same page is shown in German', async () => {
  const payeeId = textAt(await createBeneficiary(service.client, { name: 'Söhne KG' }), 'id')
  const { page, context } = await person('Operator', 'Gerd Zahler')
  const cookie = await cookieOf(context)
  const fields = {
    beneficiaryId: payeeId,
    amount: '31.70',
    reference: 'RE-1',
    note: '',
    payOn: '',
    idempotencyKey: 'de-1',
  }
  assert.equal((await sendForm(new URL('/console/payouts/new/send', service.baseUrl), fields, { cookie })).status, 303)
  const again = { ...fields, idempotencyKey: 'de-2' }
  const german = { cookie, 'accept-language': 'de' }
  const answer = await sendForm(new URL('/console/payouts/new/send', service.baseUrl), again, german)
  assert.equal(answer.status, 400)
  const text = await answer.text()
  assert.match(text, /Söhne KG noch einmal 31,70 EUR zahlen/)
  assert.match(
    text,
    /kreuzen Sie den Satz an[^]*Wiederholt vielleicht eine frühere Zahlung[^]*Konto, Betrag und Verwendungszweck/,
  )
  assert.match(text, /Wiederholt keine frühere Zahlung[^]*Bitte prüfen/)
  assert.equal((await payoutsOf(payeeId)).length, 1)
  await page.goto('about:blank')
})

test('a payment for a later day is scheduled, and the page states how to stop it', async () => {
  const payeeId = textAt(await createBeneficiary(service.client, { name: 'Landlord & Co' }), 'id')
  const { page } = await person('Operator', 'Lara Later')
  const year = new Date().getUTCFullYear() + 1
  const february = new Temporal.PlainDate(year, 2, 1)
  const saturday = february.add({ days: 6 - (february.dayOfWeek % 7) })
  // Banks are closed on the day that is typed.
  const monday = `Feb ${saturday.day + 2}, ${year}`
  await open(page, `payouts/new?beneficiaryId=${payeeId}&amount=950&reference=RENT-1`)
  await page.fill('#payOn', '2020-01-01')
  await page.fill('#note', 'For January.')
  await press(page, 'Preview')
  assert.match(await main(page), /Choose today or a later day/)
  assert.equal(await page.locator('#note').inputValue(), 'For January.')
  await page.fill('#payOn', saturday.toString())
  await press(page, 'Preview')
  assert.match(await main(page), new RegExp(`is made on ${monday}[^]*Pay on\\s+${monday}`))
  await check(page)
  await press(page, `Pay 950.00 EUR on ${monday}`)
  assert.match(await main(page), new RegExp(`Landlord & Co will be paid 950\\.00 EUR on ${monday}[^]*cancel the order`))
  assert.match(await main(page), /RENT-1[^]*For January\./)
  assert.equal((await payoutsOf(payeeId)).length, 0)
  await check(page)
  const order = new URL(page.url()).pathname
  // The invoice waits for its day: who pays it now, or schedules it again, is warned.
  const warned = new RegExp(`May repeat an earlier payment[^]*RENT-1[^]*Account, amount and reference[^]*Will be paid`)
  for (const [payOn, button] of [
    ['', 'Send 950.00 EUR'],
    [`${year}-06-01`, `Pay 950.00 EUR on Jun 1, ${year}`],
  ] as const) {
    await open(page, `payouts/new?beneficiaryId=${payeeId}&amount=950&reference=rent%201`)
    await page.fill('#payOn', payOn)
    await press(page, 'Preview')
    assert.match(await main(page), warned)
    const link = await page.getByRole('link', { name: 'RENT-1' }).getAttribute('href')
    assert.equal(new URL(link ?? '', page.url()).pathname, order)
    await check(page)
    await page.evaluate("document.querySelector('#again').required = false")
    await press(page, button)
    assert.match(await main(page), /tick the sentence if you mean to pay again/)
  }
  await open(page, `standing-orders/new?beneficiaryId=${payeeId}&amount=950&reference=RENT-1`)
  await page.fill('#startsOn', `${year}-04-01`)
  await press(page, 'Create standing order')
  assert.match(await main(page), warned)
  assert.equal(await page.locator('#startsOn').inputValue(), `${year}-04-01`)
  await check(page)
  await page.getByLabel('Pay Landlord & Co 950 EUR again').check()
  await press(page, 'Create standing order')
  assert.match(await main(page), /The standing order is created/)
  await page.goto(`${site}${order}`)
  await press(page, /^Cancel order/)
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel order' }).click()
  assert.match(await main(page), /The standing order is cancelled/)
})
