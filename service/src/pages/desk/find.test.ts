/** The search of the desk: each kind of key, across partners, with a limited number of results. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import {
  addPartner,
  createTestService,
  ip,
  pay,
  type Service,
  type TestPartner,
} from '../../../../test/support/composition.ts'
import { rawNumber } from '@partner-payments/wire'
import { pain001Text } from '../../../../test/support/pain001.ts'
import { newId, present } from '../../kernel/index.ts'
import { sql } from '../../postgres/index.ts'
import { search, type SearchResult, readSearch } from './find.ts'

let service: Service
let one: TestPartner
let two: TestPartner
before(async () => {
  service = await createTestService({ now: new Date('2026-11-24T08:00:00Z') })
  one = await addPartner(service, 1_000_000_00n)
  two = await addPartner(service, 1_000_000_00n)
})
after(() => service.close())

const ask = (typed: string, searchedMax?: number): Promise<SearchResult> =>
  search({ ...service, bankFiles: service.isoBanks.shown }, present(readSearch(typed), typed), searchedMax)
const payoutsOf = ({ payouts }: SearchResult) => payouts.map(({ partnerId, id }) => `${partnerId}/${id}`)
const customersOf = ({ customers }: SearchResult) => customers.map(({ partnerId, id }) => `${partnerId}/${id}`)

test('a text is read as money only with a known currency, its number of decimals, and a valid day', () => {
  const eur = (amount: bigint) => ({ currency: 'EUR', amount })
  const any = { from: null, before: null }
  assert.deepEqual(readSearch(' 12.5  eur '), { by: 'money', money: eur(1250n), ...any })
  assert.deepEqual(readSearch('12 EUR'), { by: 'money', money: eur(1200n), ...any })
  assert.deepEqual(readSearch('0.000001 USDC'), { by: 'money', money: { currency: 'USDC', amount: 1n }, ...any })
  assert.deepEqual(readSearch('12.50 EUR 2026-11-24'), {
    ...{ by: 'money', money: eur(1250n) },
    ...{ from: new Date('2026-11-24T00:00:00Z'), before: new Date('2026-11-25T00:00:00Z') },
  })
  assert.deepEqual(readSearch('12,50 € 24.11.2026'), readSearch('12.50 EUR 2026-11-24'))
  for (const text of [
    '12.5011 EUR',
    '1,00,000 EUR',
    '12.50.10 EUR',
    '1.2,3,4 EUR',
    ',50 EUR',
    '12 CHF',
    '12',
    '-1 EUR',
    '12 EUR 2026-02-30',
    '1234567890123 EUR',
  ])
    assert.deepEqual(readSearch(text), { by: 'text', text })
  // Both decimal forms, with groups or without; three digits behind a separator of a currency with two are a group.
  for (const [text, minor] of [
    ['12,50 EUR', 1250n],
    ['7.500,00 EUR', 750_000n],
    ['12,50 €', 1250n],
    ['€1,250.00', 125_000n],
    ['7,500.00 eur', 750_000n],
    ['7 500,00 EUR', 750_000n],
    ["7'500.00 EUR", 750_000n],
    ['1,000 EUR', 100_000n],
    ['12.501 EUR', 1_250_100n],
    ['1.234.567 EUR', 123_456_700n],
    ['1.234.567,8 EUR', 123_456_780n],
  ] as const)
    assert.deepEqual(readSearch(text), { by: 'money', money: eur(minor), ...any }, text)
  assert.deepEqual(readSearch('1,000 USDC'), { by: 'money', money: { currency: 'USDC', amount: 1_000_000n }, ...any })
  for (const refused of ['', ' \n', 'x'.repeat(141), 'a\0b']) assert.equal(readSearch(refused), undefined)
})

test('a payout is found by its ids, its reference and its end-to-end id, but not by parts of them', async () => {
  const { payout } = await pay(service, two, '10.01', { reference: 'Invoice 77' })
  const key = `${two.partnerId}/${payout.id}`
  for (const text of [payout.id, payout.id.replaceAll('-', '').toUpperCase(), payout.endToEndId, 'Invoice 77'])
    assert.deepEqual(payoutsOf(await ask(text)), [key], text)
  for (const text of ['Invoice 7', 'nvoice 77', payout.id.slice(0, -1), "' or true --", '%'])
    assert.deepEqual(payoutsOf(await ask(text)), [], text)
})

test('two partners with one reference are both found, and each row names its partner', async () => {
  const [first, second] = [
    await pay(service, one, '10.02', { reference: 'Rent' }),
    await pay(service, two, '10.03', { reference: 'Rent' }),
  ]
  const keys = [`${one.partnerId}/${first.payout.id}`, `${two.partnerId}/${second.payout.id}`]
  assert.deepEqual(new Set(payoutsOf(await ask('Rent'))), new Set(keys))
})

test('an end-to-end id set by a partner finds every payout that has it, and a reference finds its payout', async () => {
  const iban = 'DE89370400440532013000'
  const payments = ['Grace Hopper', 'Joan Clarke'].map((name) => ({
    name,
    iban,
    minor: 1004n,
    endToEndId: 'SALARY-11',
  }))
  const document = pain001Text(`M${newId().replaceAll('-', '')}`, payments, { createdAt: service.clock.now() })
  const body = { mode: 'AllOrNothing' as const, idempotencyKey: newId(), customerId: one.customer.id, document }
  const { bulk } = await service.bulkPayouts.createFromFile(one.caller, body, ip)
  while ((await service.bulkPayouts.step()) > 0);
  const items = await service.bulkPayouts.items(one.partnerId, bulk.id, undefined)
  const keys = items.map(({ payoutId }) => `${one.partnerId}/${payoutId}`)
  assert.equal(keys.length, 2)
  const found = await ask('SALARY-11')
  assert.deepEqual(new Set(payoutsOf(found)), new Set(keys))
  assert.deepEqual(new Set(found.payouts.map(({ endToEndId }) => endToEndId)), new Set(['SALARY-11']))
  for (const { id, reference } of found.payouts)
    assert.deepEqual(payoutsOf(await ask(reference)), [`${one.partnerId}/${id}`], reference)
})

test('an amount finds the payouts of all partners, a day limits the search, and the page shows at most 50', async () => {
  const { payout } = await pay(service, one, '10.05')
  const key = `${one.partnerId}/${payout.id}`
  assert.deepEqual(payoutsOf(await ask('10.05 EUR')), [key])
  assert.deepEqual(payoutsOf(await ask('10.05 EUR 2026-11-24')), [key])
  assert.deepEqual(payoutsOf(await ask('10.05 EUR 2026-11-23')), [])
  assert.deepEqual(payoutsOf(await ask('10.05 USD')), [])
  for (let n = 0; n < 50; n++) await pay(service, two, '10.06')
  const all = await ask('10.06 EUR')
  assert.deepEqual([all.payouts.length, all.hasMore], [50, false])
  await pay(service, one, '10.06')
  const cut = await ask('10.06 EUR')
  assert.deepEqual([cut.payouts.length, cut.hasMore], [50, true])
})

test('a customer is found by its ids and its IBAN, with or without spaces', async () => {
  const { ibans } = await service.accounts.create(two.partnerId, two.customer.id)
  const [{ iban }] = ibans
  const key = `${two.partnerId}/${two.customer.id}`
  for (const text of [iban, iban.toLowerCase(), iban.replaceAll(/(.{4})/g, '$1 '), two.customer.id])
    assert.deepEqual(customersOf(await ask(text)), [key], text)
  assert.deepEqual(customersOf(await ask('DE89370400440532013000')), [], 'an IBAN of another bank has no owner here')
})

test('a closed IBAN finds its former customer, with the day of the closing', async () => {
  const customer = await service.customers.create(two.partnerId, { kyc: { fullName: 'Closed Account' } })
  const { ibans } = await service.accounts.create(two.partnerId, customer.id)
  const [{ iban }] = ibans
  assert.equal((await ask(iban)).customers[0]?.closedAt, null)
  const now = service.clock.now()
  await service.db.run(
    sql`update accounts.ibans set closed_at = ${now} where partner_id = ${two.partnerId} and iban = ${iban}`,
  )
  const [found, ...others] = (await ask(iban)).customers
  assert.deepEqual([found?.id, found?.partnerId, found?.iban, others], [customer.id, two.partnerId, iban, []])
  assert.equal(found?.closedAt?.getTime(), now.getTime())
})

test('a customer is found by the whole email address, and by the beginnings of words of the name', async () => {
  const email = 'Grace.Hopper@example.com'
  const { id } = await service.customers.create(one.partnerId, { email, kyc: { fullName: 'Grace Brewster Höpper' } })
  const key = `${one.partnerId}/${id}`
  for (const text of [email, email.toLowerCase(), 'Hopper', 'grace brew', 'HÖPP'])
    assert.deepEqual(customersOf(await ask(text)), [key], text)
  for (const text of ['grace.hopper@example.co', 'opper', 'Ho', 'Hopper 7'])
    assert.deepEqual(customersOf(await ask(text)), [], text)
})

test('a payee is found by the beginnings of words of its name, unless it was removed or renamed', async () => {
  const { id } = await service.beneficiaries.create(two.partnerId, {
    name: 'Katherine Coleman Gøble',
    iban: 'DE89370400440532013000',
    currency: 'EUR',
    customerId: two.customer.id,
  })
  const payeesOf = async (text: string) => (await ask(text)).payees
  const shown = { partnerId: two.partnerId, id, customerId: two.customer.id, removedAt: null }
  for (const text of ['Goble', 'katherine col', 'GØB'])
    assert.deepEqual(
      (await payeesOf(text)).map(({ partnerName: _name, createdAt: _at, ...payee }) => payee),
      [shown],
      text,
    )
  for (const text of ['oble', 'Go', 'Goble 7']) assert.deepEqual(await payeesOf(text), [], text)
  await service.beneficiaries.update(two.partnerId, { id, name: 'Katherine Johnson' })
  assert.deepEqual([(await payeesOf('Goble')).length, (await payeesOf('Johnson')).length], [0, 1])
  await service.beneficiaries.remove(two.partnerId, id)
  assert.deepEqual(await payeesOf('Johnson'), [])
})

test('the ID of a payee finds the payouts to it', async () => {
  const { id } = one.beneficiary
  const before = payoutsOf(await ask(id))
  const { payout } = await pay(service, one, '10.09')
  assert.deepEqual(payoutsOf(await ask(id.toUpperCase())), [`${one.partnerId}/${payout.id}`, ...before])
})

test('a search accepts any characters', async () => {
  const texts = [
    '---',
    'ーーー',
    'ـــ',
    'ʰʰʰ',
    'ªªª',
    '李小龙',
    'ααα',
    'کریم',
    'ไทย',
    '🙂🙂🙂',
    'a-b',
    '@',
    '@@@',
    'a@',
    "O'Neil",
    '...abc',
    'ßßß',
    'i̇i̇i̇',
    '\u202eabc',
  ]
  for (const text of texts) assert.ok(await ask(text), text)
})

test('the page states if more customers match a name than it shows', async () => {
  for (let n = 0; n < 51; n++) await service.customers.create(two.partnerId, { kyc: { fullName: `Zephyrine Number` } })
  const found = await ask('Zephyrine')
  assert.deepEqual([found.customers.length, found.hasMore], [50, true])
})

test('a deposit is found by its reference, and a case by its id', async () => {
  const asked = { amount: 12.34, currency: 'EUR', outcome: 'completed', idempotencyKey: newId() } as const
  const { reference } = await service.simulations.deposit(one.caller, { ...asked, customerId: one.customer.id }, ip)
  const [deposit] = (await ask(reference)).deposits
  assert.deepEqual([deposit?.partnerId, deposit?.money], [one.partnerId, { currency: 'EUR', amount: 1234n }])
  assert.deepEqual((await ask(reference.slice(0, -1))).deposits, [])
  const id = newId()
  const about = { connector: 'sandbox', notificationId: id, subject: newId(), report: {} }
  const booked = { currency: 'EUR', amount: 1n } as const
  await service.cases.open({ id, partnerId: two.partnerId, kind: 'unknown_payment', ...about, booked })
  assert.deepEqual(
    (await ask(id.toUpperCase())).cases.map((each) => [each.partnerId, each.kind]),
    [[two.partnerId, 'unknown_payment']],
  )
})

test('an open case about a payout is listed with it', async () => {
  const { payout } = await pay(service, one, '10.07')
  const id = newId()
  const about = { connector: 'sandbox', notificationId: id, subject: payout.id, report: {} }
  const booked = { currency: 'EUR', amount: 1n } as const
  await service.cases.open({ id, partnerId: one.partnerId, kind: 'unknown_payment', ...about, booked })
  const [found] = (await ask(payout.id)).payouts
  assert.equal(found?.caseId, id)
})

test('a partner is found by its id and by a part of its name', async () => {
  const partnerId = await service.db.transaction((tx) => service.access.createPartner(tx, 'Zebra Pay', newId()))
  for (const text of ['zebra', partnerId])
    assert.deepEqual((await ask(text)).partners, [{ partnerId, partnerName: 'Zebra Pay' }], text)
  assert.deepEqual((await ask('zebras')).partners, [])
})

test('a search that does not read all partners states how many it has read', async () => {
  const ids = await service.access.partnerIds(service.db)
  const later = ids.indexOf(one.partnerId) < ids.indexOf(two.partnerId) ? two : one
  const before = ids.indexOf(later.partnerId)
  const { payout } = await pay(service, later, '10.08')
  const part = await ask(payout.id, before)
  assert.deepEqual([payoutsOf(part), part.searched], [[], before])
  const whole = await ask(payout.id)
  assert.deepEqual([payoutsOf(whole), whole.searched], [[`${later.partnerId}/${payout.id}`], null])
})

test('a customer is found by the identifier of its partner, and a payee by its alias', async () => {
  const identifier = `shop-${newId().slice(-8)}`
  const { id } = await service.customers.create(one.partnerId, {
    email: 'id@example.com',
    partnerCustomerIdentifier: identifier,
  })
  const payee = await service.beneficiaries.create(one.partnerId, {
    ...{ iban: 'NL91ABNA0417164300', currency: 'EUR', name: 'Joan Clarke', alias: `Rent ${identifier}` },
  })
  assert.deepEqual(customersOf(await ask(identifier)), [`${one.partnerId}/${id}`])
  const { payees } = await ask(`Rent ${identifier}`)
  assert.deepEqual(
    payees.map((found) => found.id),
    [payee.id],
  )
})

test('the IBAN of a payee finds the payee and its payouts at each partner', async () => {
  const iban = 'FR1420041010050500013M02606'
  const fields = { iban, currency: 'EUR', name: 'Alan Turing' } as const
  const own = await service.beneficiaries.create(one.partnerId, fields)
  const other = await service.beneficiaries.create(two.partnerId, fields)
  const { payout } = await pay(service, one, '10.71', { beneficiaryId: own.id })
  for (const text of [iban, 'FR14 2004 1010 0505 0001 3M02 606', iban.toLowerCase()]) {
    const found = await ask(text)
    assert.deepEqual(new Set(found.payees.map(({ id }) => id)), new Set([own.id, other.id]), text)
    assert.deepEqual(payoutsOf(found), [`${one.partnerId}/${payout.id}`], text)
  }
})

test('a removed payee is found by its account and by its id, with the time of its removal', async () => {
  const iban = 'BE68539007547034'
  const { id } = await service.beneficiaries.create(two.partnerId, { iban, currency: 'EUR', name: 'Emmy Noether' })
  await service.beneficiaries.remove(two.partnerId, id)
  const now = service.clock.now()
  for (const text of [iban, 'be68 5390 0754 7034', id, id.toUpperCase()]) {
    const { payees } = await ask(text)
    assert.deepEqual(
      payees.map((payee) => [payee.partnerId, payee.id, payee.removedAt]),
      [[two.partnerId, id, now]],
      text,
    )
  }
  assert.deepEqual((await ask('Noether')).payees, [], 'the index of names has present ones')
})

test('the IBAN of a payer finds its deposits at each partner, separate from payouts to the IBAN', async () => {
  const iban = 'NL02ABNA0123456789'
  const from = { amount: rawNumber('10.73'), currency: 'EUR', outcome: 'completed' } as never
  const references: string[] = []
  for (const partner of [one, two]) {
    const { reference } = await service.simulations.deposit(
      partner.caller,
      { ...(from as object), customerId: partner.customer.id, idempotencyKey: newId() } as never,
      ip,
    )
    await service.db.run(sql`update transactions.transactions set debtor = ${JSON.stringify({ iban })}
      where partner_id = ${partner.partnerId} and reference = ${reference}`)
    references.push(reference)
  }
  for (const text of [iban, iban.toLowerCase(), 'NL02 ABNA 0123 4567 89']) {
    const found = await ask(text)
    assert.deepEqual(new Set(found.deposits.map(({ reference }) => reference)), new Set(references), text)
    assert.deepEqual(payoutsOf(found), [], text)
  }
})

test('an amount also finds deposits, and a day limits the search', async () => {
  const { partnerId, customer } = one
  const body = { customerId: customer.id, amount: rawNumber('10.72'), currency: 'EUR', outcome: 'completed' } as never
  const { reference } = await service.simulations.deposit(one.caller, body, ip)
  const [deposit] = await service.deposits.byReferences(service.db, partnerId, [reference])
  const id = present(deposit, reference).id
  assert.deepEqual(
    (await ask('10,72 EUR')).deposits.map((each) => each.id),
    [id],
  )
  assert.equal((await ask('10,72 EUR 2026-11-24')).deposits.length, 1)
  assert.equal((await ask('10,72 EUR 2026-11-23')).deposits.length, 0)
})
