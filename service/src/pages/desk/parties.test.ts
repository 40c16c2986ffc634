/**
 * The pages of a partner, a customer, a payee and a payment over HTTP: real rows in both languages, links in both
 * directions, actions, notes, roles, and the log of who opened what.
 */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { listAt, success, textAt } from '../../../../test/support/client.ts'
import { createTestService, masterKeyText } from '../../../../test/support/composition.ts'
import { useService, untilEnd } from '../../../../test/support/fixture.ts'
import { staffAtDesk, type StaffRole } from '../../../../test/support/staff.ts'
import { createBeneficiary, createCustomer, ibans, payoutText } from '../../../../test/support/world.ts'
import { operatorPartnerId } from '../../cases/index.ts'
import { newId } from '../../kernel/index.ts'
import { sql } from '../../postgres/index.ts'

// The key of the composed services, which read what this one has sealed.
const service = await useService({ env: { MASTER_KEY: masterKeyText, TWO_PERSONS: 'on' } })
const { client } = service
const { partnerId } = service.credentials
const desk = { opsUrl: service.opsUrl, env: service.env, folder: service.dataDir }
const rosa = await staffAtDesk(desk, { name: 'Rosa', role: 'admin' })
const join = async (name: string, role: StaffRole) => (await staffAtDesk(desk, { name, role, by: rosa.as })).cookie
const lena = await join('Lena', 'compliance')
const finn = await join('Finn', 'finance')
const sam = await join('Sam', 'support')
const inside = untilEnd(await createTestService({ url: service.databaseUrl, now: new Date() }))
const { db } = inside

const kyc = { fullName: 'Hedy Lamarr', dateOfBirth: '1914-11-09', citizenshipCountryCode: 'AT', addressLine1: 'Ring 1' }
const identifier = `own-${newId()}`
const customerId = textAt(await createCustomer(client, { kyc, partnerCustomerIdentifier: identifier }), 'guid')
const payeeId = textAt(await createBeneficiary(client, { name: 'Grace Hopper', alias: 'Rent', customerId }), 'id')
const reference = `Invoice ${newId()}`
success(await client.post('/v1/payouts/fiat', payoutText(payeeId, '1234.50', { reference })))
const { json } = await client.get(`/v1/payouts?beneficiaryId=${payeeId}`)
const payoutId = textAt(listAt(json, 'data')[0] ?? {}, 'id')
const alertId = newId()
const ruleId = newId()
await db.run(sql`insert into monitoring.rules (id, version, name, kind, settings, made_by, made_at)
  values (${ruleId}, 1, 'Many small payments', 'velocity', '{}', 'Lena', ${new Date()})`)
await db.run(sql`insert into monitoring.alerts (partner_id, id, rule_id, version, subject_id, opened_at)
  values (${partnerId}, ${alertId}, ${ruleId}, 1, ${customerId}, ${new Date()})`)
await inside.cases.open({
  ...{ id: alertId, partnerId, kind: 'monitoring_alert', connector: 'monitoring', notificationId: alertId },
  ...{ subject: alertId, report: { kind: 'alert' }, booked: null },
})
await inside.cases.open({
  ...{ partnerId, kind: 'contradiction', connector: 'sandbox', notificationId: payoutId, subject: payoutId },
  ...{ report: { kind: 'test' }, booked: null },
})
const detail = {
  name: 'Hedy Lamarr',
  listedName: 'Hedi Lamar',
  reference: 'x',
  kind: 'person',
  births: [],
  programmes: [],
}
const sealedDetail = (id: string) =>
  inside.sealer.seal(JSON.stringify({ ...detail, isReordered: false, words: [] }), ['screening.hits', partnerId, id])
// An open case about another customer, and a decided case about this one.
const hitId = newId()
const clearedId = newId()
for (const [id, subjectId, status, decidedAt] of [
  [hitId, newId(), 'open', null],
  [clearedId, customerId, 'cleared', new Date()],
] as const)
  await db.run(sql`insert into screening.hits (partner_id, id, subject_kind, subject_id, role, source, entry_id, entry_digest, score, detail_sealed,
      status, cause, generation, opened_at, decided_at, decided_by)
    values (${partnerId}, ${id}, 'customer', ${subjectId}, 'fullName', 'un', 'x', 'x', 91, ${sealedDetail(id)}, ${status}, 'name', 1, ${new Date()},
      ${decidedAt}, ${decidedAt === null ? null : 'Lena'})`)

const customer = `customers/${partnerId}/${customerId}`
const payee = `payees/${partnerId}/${payeeId}`

async function get(path: string, cookie = lena, language = 'en') {
  const answer = await fetch(new URL(`/desk/${path}`, service.opsUrl), {
    ...{ redirect: 'manual', headers: { cookie, 'accept-language': language } },
  })
  const text = await answer.text()
  return { status: answer.status, text, location: answer.headers.get('location') ?? '', headers: answer.headers }
}

async function post(path: string, fields: Readonly<Record<string, string>>, cookie = finn) {
  const answer = await fetch(new URL(`/desk/${path}`, service.opsUrl), {
    ...{ method: 'POST', redirect: 'manual', body: new URLSearchParams(fields) },
    headers: { cookie, origin: service.opsUrl, 'accept-language': 'en' },
  })
  return { status: answer.status, location: answer.headers.get('location') ?? '', text: await answer.text() }
}

/** Returns the visible text of a page. */
const words = (text: string): string =>
  text
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .replaceAll('&#39;', "'")
const shows = (text: string, ...expected: readonly string[]): void => {
  for (const each of expected)
    assert.ok(words(text).includes(each), `${each} is missing in: ${words(text).slice(0, 4000)}`)
}
const leads = (text: string, ...paths: readonly string[]): void => {
  for (const path of paths) assert.ok(text.includes(`${path}"`) || text.includes(`${path}&`), `no link to ${path}`)
}

suite('pages of a partner and its people', () => {
  test('the page of a partner links to its customers, payees, payments, cases, hits and alerts, and groups amounts', async () => {
    const { status, text } = await get(`partners/${partnerId}`)
    assert.equal(status, 200)
    shows(
      text,
      'Hedy Lamarr',
      'Rent',
      '1,234.50 EUR',
      'Report that contradicts a payment',
      'Many small payments',
      'Open cases',
    )
    leads(
      text,
      customer,
      payee,
      `hits/${partnerId}/${hitId}`,
      `cases/${partnerId}/${alertId}`,
      `${partnerId}/customers`,
    )
    leads(text, `${partnerId}/payees`, `${partnerId}/payments`, `${partnerId}/cases`, `${partnerId}/hits`)
    assert.doesNotMatch(words(text), /npm run|settlement\.| false | true /)
  })

  test('the page of a customer shows and links to all data about the customer, in both languages', async () => {
    const { text } = await get(customer)
    shows(text, 'Hedy Lamarr', 'Nov 9, 1914', 'Austria (AT)', identifier, '1,234.50 EUR', 'It was never reviewed.')
    shows(
      text,
      'Report that contradicts a payment',
      'Alert of monitoring',
      'Many small payments',
      'UN',
      '91',
      'Customer',
    )
    leads(
      text,
      `partners/${partnerId}`,
      payee,
      `hits/${partnerId}/${clearedId}`,
      `cases/${partnerId}/${alertId}`,
      `rules/${ruleId}`,
    )
    const german = await get(customer, lena, 'de')
    shows(
      german.text,
      '1.234,50 EUR',
      '09.11.1914',
      'Österreich (AT)',
      'Meldung, die einer Zahlung widerspricht',
      'Überprüfung eintragen',
    )
    const { text: payments } = await get(`partners/${partnerId}/payments?customer=${customerId}`)
    shows(payments, reference, '1,234.50 EUR', 'Payout')
    leads(payments, customer)
  })

  test('the page of a payee shows its account, customer, payments and hits, with links', async () => {
    const { text } = await get(payee)
    shows(text, 'Grace Hopper', 'DE89 3704 0044 0532 0130 00', 'Germany (DE)', 'Rent', '1,234.50 EUR')
    shows(text, 'Name and account were not compared yet.', 'No cooling-off holds')
    leads(text, customer, `partners/${partnerId}`)
    const { text: german } = await get(payee, lena, 'de')
    shows(german, '1.234,50 EUR', 'Deutschland (DE)', 'Keine Wartezeit gilt')
  })

  test('a removed payee keeps its page without actions, and the search links to it', async () => {
    const iban = 'BE68539007547034'
    const { id } = await inside.beneficiaries.create(partnerId, { iban, currency: 'EUR', name: 'Emmy Noether' })
    await inside.beneficiaries.remove(partnerId, id)
    const path = `payees/${partnerId}/${id}`
    leads((await post('find', { q: iban }, sam)).text, path)
    const { text } = await get(path, finn)
    assert.match((await get(payee, finn)).text, /act\?command=/)
    shows(text, 'Emmy Noether', 'BE68 5390 0754 7034', 'The partner has removed this payee.')
    assert.doesNotMatch(text, /act\?command=|No cooling-off holds/)
    shows((await get(path, lena, 'de')).text, 'Der Partner hat diesen Empfänger gelöscht.')
  })

  test('a payout has a page of its own with links to partner, customer and payee, and other payments a shared one', async () => {
    const to = await get(`payment?partner=${partnerId}&reference=${encodeURIComponent(reference)}`)
    assert.equal(to.status, 303)
    assert.match(to.location, new RegExp(`payouts/${partnerId}/${payoutId}$`))
    const { status, text } = await get(`payouts/${partnerId}/${payoutId}`)
    assert.equal(status, 200, words(text))
    leads(text, customer, payee, `partners/${partnerId}`)
    shows(text, '1,234.50 EUR', 'Report that contradicts a payment')
    const deposit = success(
      await client.post('/v1/simulations/deposits', {
        customerId,
        amount: 77.7,
        currency: 'EUR',
        outcome: 'completed',
      }),
    )
    const paid = await get(`payment?partner=${partnerId}&reference=${textAt(deposit, 'reference')}`, sam)
    assert.equal(paid.status, 200)
    shows(paid.text, 'Deposit', '77.70 EUR', 'Hedy Lamarr', 'Timeline')
    leads(paid.text, customer, `partners/${partnerId}`)
  })

  test('404 for an object of another partner, and for an invalid id', async () => {
    for (const path of [
      `customers/${partnerId}/${newId()}`,
      `customers/${newId()}/${customerId}`,
      `payees/${partnerId}/${newId()}`,
      `partners/${newId()}`,
      'customers/x/y',
      `partners/${partnerId}/payments?customer=x`,
      `payment?partner=${partnerId}&reference=none`,
      `payment?partner=x&reference=x`,
      'act?command=ledger%20check',
      'act?command=key%20reseal',
      'act?command=screening%20load',
      'act?command=case%20approve',
      'act',
    ])
      assert.equal((await get(path)).status, 404, path)
  })

  test("only compliance and admins see identity data; every role sees the name and the partner's identifier", async () => {
    for (const [cookie, sees] of [
      [lena, true],
      [rosa.cookie, true],
      [finn, false],
      [sam, false],
    ] as const) {
      const { text } = await get(customer, cookie)
      shows(text, 'Hedy Lamarr', identifier)
      assert.equal(words(text).includes('1914'), sees)
      assert.equal(words(text).includes('Ring 1'), sees)
    }
  })

  test("the operator's audit log records who opened which page and list", async () => {
    const mia = await join('Mia', 'support')
    for (const path of [customer, payee, `partners/${partnerId}`, `partners/${partnerId}/customers`])
      await get(path, mia)
    const { data } = await inside.audit.list(operatorPartnerId, { limit: '100' })
    const own = data.filter(({ actor }) => actor.name === 'Mia')
    const opened = (action: string) => JSON.stringify(own.find((record) => record.action === action)?.details)
    assert.match(opened('staff customer'), new RegExp(`${partnerId}/${customerId}`))
    assert.match(opened('staff payee'), new RegExp(`${partnerId}/${payeeId}`))
    assert.match(opened('staff customers'), new RegExp(`${partnerId}/${customerId}`))
    assert.match(opened('staff partner'), new RegExp(partnerId))
    assert.doesNotMatch(JSON.stringify(own), /Lamarr/)
  })

  test('a customer is found by a part of the name, the identifier and the address; a payee by name and IBAN', async () => {
    for (const q of ['lamarr', 'Hed', identifier]) {
      const { text } = await post(`partners/${partnerId}/customers`, { q }, sam)
      leads(text, customer)
    }
    shows((await post(`partners/${partnerId}/customers`, { q: 'Nobody Known' }, sam)).text, 'Nothing matches')
    for (const q of ['grace', ibans.DE.toLowerCase(), 'DE89 3704 0044 0532 0130 00'])
      leads((await post(`partners/${partnerId}/payees`, { q }, sam)).text, payee)
    shows((await post(`partners/${partnerId}/payees`, { q: 'zz' }, sam)).text, 'Nothing matches')
  })

  test('paging through a list shows each row exactly once', async () => {
    const made = new Set<string>()
    for (let n = 0; n < 55; n++)
      made.add(textAt(await createCustomer(client, { kyc: { fullName: `Page Person ${n}` } }), 'guid'))
    const seen: string[] = []
    let path = `partners/${partnerId}/customers`
    for (;;) {
      const { text } = await get(path)
      seen.push(...[...text.matchAll(/customers\/[0-9a-f-]{36}\/([0-9a-f-]{36})"/g)].map(([, id]) => id ?? ''))
      const next = /href="([^"]*cursor=[^"]*)"/.exec(text)?.[1]
      if (next === undefined) break
      path = next.replaceAll('&amp;', '&').replace(/^(?:\.\.\/)+/, '')
    }
    assert.equal(seen.length, new Set(seen).size)
    for (const id of made) assert.ok(seen.includes(id))
  })
})

suite('actions', () => {
  const limit = { command: 'limit set', partner: partnerId, scope: 'beneficiary', beneficiary: payeeId, period: 'day' }

  test('the form of an action has the options of its page; a second person approves the change, and the page shows the result', async () => {
    const { text } = await get(payee, finn)
    const href = /href="[^"]*(act\?command=limit%20set[^"]*)"/.exec(text)?.[1]?.replaceAll('&amp;', '&') ?? ''
    const form = await get(href, finn)
    shows(form.text, 'Set limit')
    assert.match(form.text, new RegExp(`name="partner" value="${partnerId}"`))
    assert.match(form.text, new RegExp(`name="beneficiary" value="${payeeId}"`))
    assert.doesNotMatch(form.text, /<input id="(?:customer|beneficiary|partner)"/)
    leads(form.text, payee)
    const fields = { ...limit, currency: 'EUR', amount: '5000.00', note: 'Agreed with the bank', back: payee }
    const sent = await post('act', fields)
    assert.equal(sent.status, 303, words(sent.text))
    assert.match(sent.location, new RegExp(`${payee}\\?waits=limit%20set$`))
    shows((await get(`${payee}?waits=limit%20set`, finn)).text, 'Set limit: Another person has to approve this change')
    const changes = await get('changes', rosa.cookie)
    shows(changes.text, 'Set limit', 'In each: Day', 'Amount: 5000.00')
    const id = /changes\/([0-9a-f-]{36})\/approve/.exec(changes.text)?.[1] ?? ''
    const approved = await post(`changes/${id}/approve`, {}, rosa.cookie)
    assert.match(approved.location, /changes\?said=change%20approve$/)
    shows((await get('changes?said=change%20approve', rosa.cookie)).text, 'The change is approved.')
    shows((await get(payee, finn)).text, 'Limits of this payee', '5,000.00 EUR', 'Day')
  })

  test('a refused form keeps its input, a note is required, and a wrong role is refused', async () => {
    const wrong = await post('act', { ...limit, currency: 'EUR', amount: 'much', note: 'x', back: payee })
    assert.equal(wrong.status, 400)
    assert.match(wrong.text, /value="much"/)
    const unsaid = await post('act', { ...limit, currency: 'EUR', amount: '1.00', note: ' ', back: payee })
    assert.equal(unsaid.status, 400)
    assert.equal(
      (await post('act', { ...limit, currency: 'EUR', amount: '1.00', note: 'x', back: payee }, sam)).status,
      403,
    )
    assert.equal((await get(`act?command=limit%20set&partner=${partnerId}&back=queue`, sam)).status, 403)
    assert.equal((await post('act', { command: 'ledger check', note: 'x' })).status, 404)
  })

  test('an action that removes access asks for confirmation, takes effect at once, and has a message', async () => {
    const block = {
      command: 'account block',
      partner: partnerId,
      customer: customerId,
      reason: 'Fraud',
      direction: 'outbound',
    }
    const fields = { ...block, note: 'Call of the bank', back: customer }
    assert.equal((await post('act', fields, lena)).status, 400)
    const done = await post('act', { ...fields, sure: 'yes' }, lena)
    assert.match(done.location, new RegExp(`${customer}\\?said=account%20block$`))
    const { text } = await get(`${customer}?said=account%20block`)
    shows(
      text,
      'The account is blocked. Its waiting payouts are being cancelled.',
      'Pays nothing',
      'Fraud',
      'Call of the bank',
    )
  })

  test('a review is recorded on the page of the customer', async () => {
    const fields = {
      command: 'review set',
      partner: partnerId,
      customer: customerId,
      risk: 'high',
      note: 'Yearly',
      back: customer,
    }
    assert.match((await post('act', fields, lena)).location, /said=review%20set$/)
    shows((await get(`${customer}?said=review%20set`)).text, 'The review of today is recorded.', 'High', 'Lena')
  })

  test('an action redirects only to pages of the desk', async () => {
    for (const back of [
      'https://evil.example',
      '//evil.example',
      '/desk',
      'javascript:alert(1)',
      '../../x',
      'x'.repeat(500),
    ]) {
      const fields = { command: 'review set', partner: partnerId, customer: customerId, risk: 'low', note: 'x', back }
      const { status, location } = await post('act', fields, lena)
      assert.equal(status, 303)
      assert.match(location, /^(?:\.\.\/)*queue\?said=/, back)
    }
  })

  test('a button adds a partner, and the page shows the parts of its first credential once, not as JSON', async () => {
    shows((await get('partners', rosa.cookie)).text, 'Add partner')
    const { status, text } = await post(
      'act',
      { command: 'partner create', name: 'New Shop', note: 'Contract 7', back: 'partners' },
      rosa.cookie,
    )
    assert.equal(status, 200)
    shows(text, 'The partner is added.', 'API key', 'API secret', 'This is shown once.')
    assert.doesNotMatch(words(text), /[{}]|apiSecret/)
    assert.doesNotMatch(words((await get('partners', finn)).text), /Add partner/)
  })

  test('a runbook offers the actions that it names', async () => {
    const { text } = await get('runbooks/bank-files', finn)
    shows(text, 'What you can do at the desk', 'Undo match of a credit')
  })
})

suite('notes', () => {
  test('staff see notes about partners, customers and payees with their authors, and notes never change', async () => {
    for (const [kind, id, path] of [
      ['partner', partnerId, `partners/${partnerId}`],
      ['customer', customerId, customer],
      ['payee', payeeId, payee],
    ] as const) {
      const note = `Called about ${kind}`
      const sent = await post('notes', { kind, partner: partnerId, id, note }, sam)
      assert.match(sent.location, new RegExp(`${path}\\?noted$`))
      shows((await get(`${path}?noted`)).text, 'The note is added.', note, 'Sam')
    }
    const { data } = await inside.audit.list(operatorPartnerId, { limit: '100' })
    assert.ok(data.some(({ action }) => action === 'operator note add'))
    assert.doesNotMatch(JSON.stringify(data), /Called about/)
  })

  test('empty and long notes are refused, and so are notes about objects of another partner', async () => {
    const about = { kind: 'customer', partner: partnerId, id: customerId }
    assert.equal((await post('notes', { ...about, note: '  ' }, sam)).status, 400)
    const long = await post('notes', { ...about, note: 'x'.repeat(501) }, sam)
    assert.equal(long.status, 400)
    assert.ok(long.text.includes('x'.repeat(501)))
    for (const wrong of [
      { id: newId() },
      { kind: 'hit' },
      { partner: newId() },
      { kind: 'partner' },
      { kind: 'payee' },
    ])
      assert.equal((await post('notes', { ...about, ...wrong, note: 'x' }, sam)).status, 404, JSON.stringify(wrong))
  })
})

test('every navigation item opens for each role that has it', async () => {
  for (const cookie of [rosa.cookie, lena, finn, sam]) {
    const { text } = await get('partners', cookie)
    const [nav = ''] = /<nav class="places".*?<\/nav>/s.exec(text) ?? []
    const places = [...nav.matchAll(/href="(?:\.\.\/)*([a-z]+)"/g)].map(([, place]) => place ?? '')
    assert.ok(places.length > 12, places.join())
    for (const place of places) {
      const { status, text: shown } = await get(place, cookie)
      assert.equal(status, 200, `${place}: ${words(shown)} ${service.output().slice(-2000)}`)
    }
  }
})

suite('figures', () => {
  test('compliance reads and downloads all figures, finance reads figures about money, and support reads no figures', async () => {
    const page = await get('numbers?months=3')
    assert.equal(page.status, 200)
    shows(
      page.text,
      'Open now, by age in days',
      'Screening hit',
      'Alert of monitoring',
      'Report that contradicts a payment',
    )
    shows((await get('numbers', lena, 'de')).text, 'Jetzt offen, nach Alter in Tagen', 'Treffer der Prüfung')
    const file = await get('numbers/file?months=3')
    assert.match(file.headers.get('content-type') ?? '', /^text\/csv/)
    assert.match(file.headers.get('content-disposition') ?? '', /attachment; filename="decisions-\d{4}-\d\d-\d\d\.csv"/)
    assert.match(file.text, /open,,screening_hit,,,0-1,\d+/)
    const printed = await service.operator('monitoring', 'numbers', '--months', '3')
    assert.ok(JSON.stringify(printed).includes('"kind":"screening_hit"'))
    const money = await get('numbers', finn)
    shows(money.text, 'Report that contradicts a payment')
    assert.doesNotMatch(words(money.text), /Screening hit|Alert of monitoring/)
    assert.doesNotMatch((await get('numbers/file', finn)).text, /screening_hit|monitoring_alert/)
    assert.equal((await get('numbers', sam)).status, 403)
    assert.equal((await get('numbers/file', sam)).status, 403)
    assert.doesNotMatch(words((await get('queue', sam)).text), / Numbers /)
  })
})
