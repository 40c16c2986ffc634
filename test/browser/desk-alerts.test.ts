/**
 * Monitoring alerts at the desk in a real browser: compliance opens an alert and refuses its payouts, a second person
 * approves, and the money is available again.
 */
import assert from 'node:assert/strict'
import { test } from '../support/browser.ts'
import { listAt, success, textAt } from '../support/client.ts'
import { createTestService, masterKeyText } from '../support/composition.ts'
import { check } from '../support/console.ts'
import { checkForms, postFrom, useDesk } from '../support/desk.ts'
import { until } from '../support/until.ts'
import { balanceOf, createBeneficiary, payoutText } from '../support/world.ts'
import { readRule } from '../../service/src/monitoring/index.ts'

const { service, site, as, join, inGerman } = await useDesk({ MASTER_KEY: masterKeyText })

const payouts = async () => listAt(success(await service.client.get('/v1/payouts?limit=100')))
const statuses = async () => new Set((await payouts()).map((each) => textAt(each, 'status')))

test('compliance refuses the 6 payouts of an alert, another person approves, and the money is released', async () => {
  const [lena, mia] = [await join('Lena', 'compliance', ['400']), await join('Mia', 'compliance', ['400'])]
  const finn = await join('Finn', 'finance', ['403'])
  const inside = await createTestService({ url: service.databaseUrl, now: new Date() })
  const { db, monitoring } = inside
  const { partnerId } = service.credentials
  const rule = {
    name: 'Many at once',
    currency: 'EUR',
    kind: 'velocity',
    direction: 'Outward',
    hours: 24,
    sum: '1.00',
  }
  const draft = readRule(JSON.stringify({ ...rule, when: 'before' }))
  const { id: ruleId } = await db.transaction((tx) => monitoring.setRule(tx, { draft, staff: 'Lena' }))
  await monitoring.backtest({ id: ruleId, from: '2026-01-01', until: '2026-01-02', staff: 'Lena' })
  for (const staff of ['Lena', 'Mia']) await db.transaction((tx) => monitoring.turnOn(tx, { id: ruleId, staff }))
  const available = async () => (await balanceOf(service.client)).available
  const before = await available()
  const payee = textAt(await createBeneficiary(service.client, { name: 'Grace <Hopper>' }), 'id')
  for (let nth = 0; nth < 6; nth += 1)
    success(await service.client.post('/v1/payouts/fiat', payoutText(payee, '10.00')))
  const alertOf = async () => (await monitoring.alerts(db, partnerId, '00000000-0000-0000-0000-000000000000', 10))[0]
  await until('the alert holds six payouts', async () => {
    const alert = await alertOf()
    return alert !== undefined && (await monitoring.payoutStanding(db, partnerId, alert.id)).waiting === 6n
  })

  await finn.page.goto(`${site}/desk/queue?decidable=yes`)
  await finn.page.getByRole('heading', { name: 'Queue' }).waitFor()
  assert.equal(
    await finn.page.getByRole('link', { name: 'Alert of monitoring' }).count(),
    0,
    'finance decides no alert',
  )
  await lena.page.goto(`${site}/desk/queue?decidable=yes`)
  await lena.page.getByText('Many at once').first().waitFor()
  await lena.page.getByRole('link', { name: 'Alert of monitoring', exact: true }).click()
  await lena.page.getByRole('heading', { name: 'Alert of monitoring' }).waitFor()
  await lena.page.getByText('Held for the decision: 6 payouts, 60.00 EUR.').waitFor()
  assert.match(await lena.page.locator('main').innerText(), /Money\s+60\.00 EUR/)
  await lena.page.getByRole('link', { name: 'Many at once' }).waitFor()
  const owners = await lena.page.getByLabel('New owner').locator('option').allInnerTexts()
  assert.ok(owners.includes('Finn, Finance'), owners.join('; '))
  await checkForms(lena.page)
  const address = lena.page.url()
  await finn.page.goto(address)
  await finn.page.getByText('Your role does not decide this kind. Compliance, Admin do.').waitFor()
  const refusing = { action: 'refuse', disposition: 'fraud', note: 'x' }
  assert.equal(await postFrom(finn.page, `${address}/propose`, refusing), 403)

  // A held payout names the rule that holds it, and leads back.
  await lena.page.getByRole('table').first().getByRole('link').first().click()
  await lena.page.getByRole('link', { name: 'Alert of the rule: Many at once' }).waitFor()
  await check(lena.page)
  await lena.page.getByRole('link', { name: 'Alert of the rule: Many at once' }).click()
  await lena.page.waitForURL(address)

  await lena.page.getByRole('link', { name: 'Refuse the 6 payouts and return the money' }).click()
  await checkForms(lena.page)
  await lena.page.locator('#propose-note').fill('The payee says it never knew the customer')
  await lena.page.getByRole('button', { name: 'Propose: Refuse the 6 payouts and return the money' }).click()
  await lena.page.getByRole('alert').getByText('State what you found').waitFor()
  assert.equal(await lena.page.locator('#propose-note').inputValue(), 'The payee says it never knew the customer')
  await lena.page.locator('#disposition').selectOption('fraud')
  await lena.page.getByRole('button', { name: 'Propose: Refuse the 6 payouts and return the money' }).click()
  await lena.page
    .getByText('You proposed: Refuse the 6 payouts and return the money. It waits for another person')
    .waitFor()
  assert.deepEqual(await statuses(), new Set(['Pending']), 'one person stops nothing')

  await mia.page.goto(`${site}/desk/queue`)
  await mia.page.getByText('Lena: Refuse what waits and return the money').waitFor()
  await mia.page.goto(address)
  await mia.page.getByText('Fraud against the payer or the customer').waitFor()
  await checkForms(mia.page)
  await mia.page.getByRole('button', { name: 'Approve: Refuse the 6 payouts and return the money' }).click()
  await mia.page.getByText('You approved it.').waitFor()
  await mia.page.getByText('Refused, by Lena, approved by Mia').waitFor()
  assert.equal(await mia.page.getByRole('table', { name: 'What is held' }).count(), 0)
  await until('the payouts have failed', async () => {
    const found = await statuses()
    return found.size === 1 && found.has('Failed')
  })
  assert.equal(await available(), before, 'the money is back')
  assert.equal((await inside.cases.byId(db, partnerId, address.split('/').at(-1) ?? ''))?.disposition, 'fraud')
  const german = await inGerman(mia)
  await german.page.goto(address)
  await german.page.getByRole('heading', { name: 'Alarm einer Regel' }).waitFor()
  await german.page.getByText('Abgelehnt, durch Lena, freigegeben von Mia').waitFor()
  await german.page.getByText('Gestoppte Auszahlungen: 6.').waitFor()
  assert.equal(await german.page.getByText(/approved by|Payouts stopped/).count(), 0)
  await checkForms(german.page)
})

test('two admins give a kind to another role, which then decides it, and the log records both', async () => {
  const [rosa, ivo] = [await join('Ruth', 'admin', ['400']), await join('Ivo', 'admin')]
  await rosa.page.goto(`${site}/desk/deciders`)
  await checkForms(rosa.page)
  await rosa.page.getByRole('link', { name: 'Change Alert of monitoring' }).click()
  await rosa.page.getByLabel('Finance', { exact: true }).check()
  await rosa.page.locator('#note').fill('Finance covers for compliance')
  await rosa.page.getByRole('button', { name: 'Propose the change' }).click()
  await rosa.page.getByText('You proposed the change.').waitFor()
  await check(rosa.page)
  const rolesOf = async () => {
    const rows = (await service.operator('decider', 'list')) as unknown as readonly { kind: string; roles: unknown }[]
    return rows.find(({ kind }) => kind === 'monitoring_alert')?.roles
  }
  assert.deepEqual(await rolesOf(), ['compliance', 'admin'])
  await ivo.page.goto(`${site}/desk/changes`)
  await ivo.page.getByRole('button', { name: 'Approve change' }).click()
  await until('the table has changed', async () => String(await rolesOf()) === 'compliance,finance,admin')
  await ivo.page.goto(`${site}/desk/deciders`)
  await ivo.page.getByText('Ruth,').waitFor()
  assert.ok(as.length > 0)
})
