/** The queue of the desk in a real browser: items with owner and notes, and the page of connectors. */
import assert from 'node:assert/strict'
import { fileURLToPath } from 'node:url'
import { newId } from '../../service/src/kernel/index.ts'
import { sql } from '../../service/src/postgres/index.ts'
import { test } from '../support/browser.ts'
import { listAt, success, textAt } from '../support/client.ts'
import { createTestService, masterKeyText } from '../support/composition.ts'
import { check } from '../support/console.ts'
import { checkForms, useDesk } from '../support/desk.ts'
import { until } from '../support/until.ts'
import { createBeneficiary, createCustomer, payoutText } from '../support/world.ts'

const { service, site, as, join, inGerman } = await useDesk({ MASTER_KEY: masterKeyText })

test('a person takes a hit from the queue, a second person sees its owner, and the decision removes it', async () => {
  const list = fileURLToPath(new URL('../../service/src/screening/samples/un.xml', import.meta.url))
  await service.operator('screening', 'load', '--from', list, ...as)
  await createCustomer(service.client, { kyc: { fullName: 'Borislav Tremurov' } })
  await until(
    'the customer is a hit',
    async () => Number((await service.operator('screening', 'status'))['openHits']) === 1,
  )
  const [ada, lena] = [await join('Ada', 'support', ['400']), await join('Lena', 'compliance', ['400'])]
  await ada.page.goto(`${site}/desk/queue?show=unowned`)
  await check(ada.page)
  await ada.page.getByRole('link', { name: 'Screening hit' }).click()
  await lena.page.goto(ada.page.url())
  await check(lena.page)
  await ada.page.getByRole('button', { name: 'Take', exact: true }).click()
  await ada.page.getByText('Ada has it.').waitFor()
  await checkForms(ada.page)
  await lena.page.getByRole('button', { name: 'Take', exact: true }).click()
  assert.match(await lena.page.locator('.summary').innerText(), /Ada has had it since [A-Z][a-z]{2} \d{1,2}, \d{4}/)
  await check(lena.page)
  await ada.page.locator('#remark').fill('Asked for the passport')
  await ada.page.getByRole('button', { name: 'Add note' }).click()
  await ada.page.getByRole('cell', { name: 'Asked for the passport' }).waitFor()
  await ada.page.goto(`${site}/desk/queue?show=mine`)
  await ada.page.getByRole('cell', { name: 'Asked for the passport' }).waitFor()
  await ada.page.setViewportSize({ width: 360, height: 800 })
  await check(ada.page)
  await lena.page.goto(`${site}/desk/queue?show=unowned`)
  assert.equal(await lena.page.getByRole('link', { name: 'Screening hit' }).count(), 0)
  await lena.page.goto(`${site}/desk/hits`)
  await lena.page.getByRole('cell', { name: 'Ada', exact: true }).waitFor()
  const inside = await createTestService({ url: service.databaseUrl, now: new Date() })
  const [hit] = await inside.screening.openHits(undefined, 1)
  for (const staff of ['Lena', 'Rosa'])
    await inside.db
      .transaction((tx) =>
        inside.screening.decide(tx, {
          ...{
            partnerId: hit?.partnerId ?? '',
            id: hit?.id ?? '',
            outcome: 'clear',
            disposition: 'birth_differs',
            staff,
            note: 'Another person',
          },
        }),
      )
      .catch(() => undefined)
  await inside.close()
  await ada.page.goto(`${site}/desk/queue?show=mine`)
  await ada.page.getByRole('heading', { name: 'Queue' }).waitFor()
  assert.equal(await ada.page.getByRole('link', { name: 'Screening hit' }).count(), 0)
})

test('a recall without an answer can get an owner, and connectors have a page, in both languages', async () => {
  const payee = await createBeneficiary(service.client, { name: 'Grace <Hopper>' })
  const { reference } = success(await service.client.post('/v1/payouts/fiat', payoutText(textAt(payee, 'id'), '10.00')))
  const paid = async () =>
    listAt(success(await service.client.get(`/v1/payouts?reference=${String(reference)}`)))[0] ?? {}
  await until('the payout is settled', async () => textAt(await paid(), 'status') === 'Completed')
  const id = textAt(await paid(), 'id')
  const inside = await createTestService({ url: service.databaseUrl, now: new Date() })
  const { partnerId } = service.credentials
  // A recall whose answer did not come in time.
  await inside.db
    .run(sql`insert into payouts.recalls (partner_id, id, payout_id, transaction_id, payout_reference, connector,
      instruction_id, amount, currency, reason, status, requested_by, requested_name, requested_at, request_due_on, sent_at,
      answer_due_on, answer_due_at, expired_at, attempts, updated_at)
    select partner_id, ${newId()}::uuid, id, transaction_id, reference, connector, id, amount, currency, 'FRAD', 'Expired', ${newId()}::uuid,
      'Partner', now(), current_date, now(), current_date, now(), now(), 1, now()
    from payouts.payouts where partner_id = ${partnerId} and id = ${id}`)
  await inside.close()
  const { page, context } = await join('Grace', 'finance')
  await until('the look is new', async () => {
    await page.goto(`${site}/desk/queue`)
    return (await page.getByRole('link', { name: 'Recall not answered in time' }).count()) === 1
  })
  await page.getByRole('link', { name: 'A recall is not answered' }).click()
  await page.getByRole('heading', { name: 'A recall that is not answered' }).waitFor()
  await page.goBack()
  await page.getByRole('link', { name: 'Recall not answered in time' }).click()
  await page.getByRole('button', { name: 'Take', exact: true }).click()
  await page.getByText('Grace has it.').waitFor()
  assert.match(page.url(), new RegExp(`/desk/payouts/${partnerId}/${id}$`))
  await check(page)
  await page.getByRole('link', { name: 'Connectors' }).click()
  await page.getByRole('heading', { name: 'sandbox', exact: true }).waitFor()
  assert.match(
    await page.locator('main').innerText(),
    /sandbox[^]*Works[^]*Last successful exchange[^]*Breaker[^]*Closed/,
  )
  await checkForms(page)
  await page.goto(`${site}/desk/waiting?kind=pool&partner=${partnerId}&id=ing+EUR`)
  await page.getByText('This no longer waits for a person.').waitFor()
  await check(page)
  const german = await inGerman({ context }, ['404'])
  for (const [path, name] of [
    ['queue', 'Aufgaben'],
    ['connectors', 'Anbindungen'],
  ] as const) {
    await german.page.goto(`${site}/desk/${path}`)
    await german.page.getByRole('heading', { name, exact: true }).waitFor()
    await check(german.page)
  }
  for (const query of ['', 'kind=pool', `kind=payout&partner=${partnerId}&id=x`, `kind=x&partner=${partnerId}&id=y`])
    assert.equal((await german.page.goto(`${site}/desk/waiting?${query}`))?.status(), 404)
})
