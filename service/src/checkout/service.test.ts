/** Checkout sessions on a real database. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { type BodyOf, rawNumber } from '@partner-payments/wire'
import { bodyFor, hasCode, createSessions } from '../../../test/support/checkout.ts'
import {
  addPartner,
  balanceOf,
  createTestService,
  ip,
  type Service,
  type TestPartner,
} from '../../../test/support/composition.ts'
import { linkTokenPartnerId } from '../access/index.ts'
import { hourMs, newId } from '../kernel/index.ts'
import { sql } from '../postgres/index.ts'
import { toSession } from './routes.ts'
import { createCheckout } from './service.ts'
import type { AccountRef } from '../accounts/index.ts'
import type { AccountState } from '../ledger/index.ts'
import { decideAll, listedName, sampleList, screenAll } from '../../../test/support/screening/held.ts'
import { ibansFrom, importIbans } from '../../../test/support/ibans.ts'
import { useModules } from '../../../test/support/fixture.ts'
import { epcText } from './index.ts'

suite('sessions', async () => {
  const service = await useModules()

  const { open, settle, statusOf, eventsOf, namesOf, casesOf, goToBank, pay } = createSessions(() => service)

  const paidEvents = ['created', 'initiated', 'submitted', 'accepted', 'completed', 'transaction.status.changed']

  test('a session is a deposit with a link, an IBAN of the customer and a creditor reference', async () => {
    const opened = await open({ returnUrl: 'https://shop.example.com/', websiteReference: 'order 1' })
    const { partner, session, token } = opened
    assert.equal(session.status, 'Open')
    assert.equal(linkTokenPartnerId(token), partner.partnerId)
    assert.match(session.creditorReference, /^RF\d{2}[0-9A-Z]{16}$/)
    const account = await service.accounts.get(partner.partnerId, partner.customer.id)
    assert.equal(session.iban, account.ibans[0].iban)
    assert.equal(session.bic, 'PPSXDEFFXXX')
    const { row } = await service.transactions.get(partner.partnerId, session.reference)
    assert.deepEqual([row.sessionId, row.type, row.websiteReference], [session.id, 'CustomerDeposit', 'order 1'])
    assert.deepEqual(await namesOf(opened), ['created'])
    assert.deepEqual(await service.checkout.get(partner.partnerId, session.id), session)
  })

  test('pounds are sent to a sort code and account number with an 18-character reference, dollars to an IBAN with its BIC', async () => {
    const pounds = (await open({ currency: 'GBP' })).session
    assert.match(pounds.iban, /^GB\d{2}[A-Z]{4}\d{14}$/)
    assert.match(pounds.creditorReference, /^RF\d{2}[0-9A-Z]{14}$/)
    const shown = toSession(pounds)
    assert.equal(`${shown.sortCode}${shown.accountNumber}`, pounds.iban.slice(8))
    const dollars = toSession((await open({ currency: 'USD' })).session)
    assert.deepEqual([dollars.bic, dollars.sortCode, dollars.accountNumber], ['PPSXDEFFXXX', undefined, undefined])
  })

  test('a currency that needs an international transfer is refused for an account without a BIC', async () => {
    const { accounts } = service
    const create: Service['accounts']['create'] = async (...given) => {
      const account = await accounts.create(...given)
      const [first, ...others] = account.ibans.map((iban) => ({ ...iban, bic: null }))
      return { ...account, ibans: [first as (typeof account.ibans)[0], ...others] }
    }
    const partner = await addPartner(service)
    const checkout = createCheckout({
      ...service,
      ...{ bank: undefined, sandbox: true, publicUrl: 'https://pay.example.com', pageUrls: new Map() },
      accounts: { ...accounts, create },
    })
    await assert.rejects(
      checkout.create(partner.caller, bodyFor(partner, { currency: 'USD' })),
      hasCode('currency_not_supported'),
    )
    const { session } = await checkout.create(partner.caller, bodyFor(partner, { currency: 'GBP' }))
    assert.match(session.iban, /^GB/)
  })

  test('a session may last 30 days or until a given time, and a later replay is not refused', async () => {
    const expiresAt = new Date(service.clock.now().getTime() + 30 * 24 * hourMs).toISOString()
    const fields = { idempotencyKey: 'lasting', expiresAt }
    const { session, partner } = await open(fields)
    assert.equal(session.expiresAt.toISOString(), expiresAt)
    service.clock.advance(29 * 24 * hourMs + 23.99 * hourMs)
    const repeated = await service.checkout.create(partner.caller, bodyFor(partner, fields))
    assert.deepEqual([repeated.replayed, repeated.session.id], [true, session.id])
  })

  test('the link is stored as a hash and sealed; another partner does not find the session', async () => {
    const { session, token } = await open()
    const rows = await service.db.rows(sql`select * from checkout.sessions where id = ${session.id}`)
    assert.ok(!JSON.stringify(rows).includes(token))
    const other = await addPartner(service)
    await assert.rejects(service.checkout.get(other.partnerId, session.id), hasCode('not_found'))
    await assert.rejects(service.checkout.expire(other.partnerId, session.id), hasCode('not_found'))
  })

  test('the request is stored as a hash; a replay also matches a row of an earlier version, which has the text', async () => {
    const customer = { email: 'secret@example.com', fullName: 'Secret Name', residenceCountryCode: 'FR' }
    const fields = { idempotencyKey: 'once', customer, customFields: { note: 'a "secret" \\x41 Ünïcode 👩' } }
    const { session, partner } = await open(fields)
    const stored = await service.db.row<{ hash: string }>(sql`
      select request_hash as hash from deposits.deposits where partner_id = ${partner.partnerId}`)
    assert.match(stored?.hash ?? '', /^[0-9a-f]{64}$/)
    const body = bodyFor(partner, fields)
    assert.equal((await service.checkout.create(partner.caller, body)).session.id, session.id)
    await assert.rejects(
      service.checkout.create(partner.caller, { ...body, customFields: { note: 'other' } }),
      hasCode('idempotency_key_reused'),
    )
  })

  test('an unknown or malformed link is not found', async () => {
    const { token } = await open()
    for (const wrong of [`${token.slice(0, -2)}AA`, token.slice(1), '', 'x'.repeat(64), `${token}A`])
      await assert.rejects(service.checkout.payment(wrong), hasCode('not_found'), wrong)
  })

  test('a payer who approves at the bank completes the session, with the address and the country of that payer', async () => {
    const opened = await open()
    await pay(opened)
    assert.equal(await statusOf(opened), 'Open')
    await settle()
    assert.equal(await statusOf(opened), 'Completed')
    const events = await eventsOf(opened)
    assert.deepEqual(
      events.map(({ type }) => type),
      paidEvents,
    )
    const [created, initiated, submitted, accepted] = events.map(({ data }) => data)
    assert.equal(created?.paymentCountryCode, null)
    assert.deepEqual([initiated?.userIpAddress, initiated?.paymentCountryCode], ['198.51.100.7', 'FR'])
    assert.equal(submitted?.customerIpAddress, '198.51.100.7')
    assert.deepEqual([accepted?.debtorName, accepted?.debtorCountryCode], ['Grace Hopper', 'FR'])
    for (const { type, data } of events)
      if (type !== 'transaction.status.changed') assert.equal(data.sessionId, opened.session.id, type)
    assert.equal((await balanceOf(service, opened.partner.partnerId)).posted, 4990n)
  })

  test('the country of the session outranks the bank that the payer chooses', async () => {
    const opened = await open({ paymentCountryCode: 'DE' })
    await pay(opened)
    await settle()
    const events = await eventsOf(opened)
    assert.deepEqual(new Set(events.flatMap(({ data }) => data.paymentCountryCode ?? [])), new Set(['DE']))
  })

  test('a payer who rejects fails the session, and a session left open expires', async () => {
    const rejected = await open()
    await goToBank(rejected)
    await service.checkout.decide(rejected.token, 'rejected')
    const left = await open()
    await goToBank(left)
    await settle()
    assert.equal(await statusOf(rejected), 'Failed')
    assert.deepEqual(await namesOf(rejected), [
      'created',
      'initiated',
      'submitted',
      'failed',
      'transaction.status.changed',
    ])
    assert.equal(await statusOf(left), 'Processing')
    service.clock.advance(hourMs)
    assert.equal((await service.checkout.payment(left.token)).mayPay, false)
    await service.deposits.expireDue(100)
    assert.equal(await statusOf(left), 'Expired')
    assert.deepEqual(await namesOf(left), ['created', 'initiated', 'expired', 'transaction.status.changed'])
  })

  test('a transfer with the creditor reference completes the session without a bank page', async () => {
    const opened = await open()
    const { partner, session } = opened
    await service.checkout.simulate(partner.partnerId, session.id, { step: 'credit' }, ip)
    await settle()
    assert.equal(await statusOf(opened), 'Completed')
    assert.deepEqual(await namesOf(opened), ['created', 'accepted', 'completed', 'transaction.status.changed'])
  })

  test('a wrong amount or currency fails the session; the money is in suspense with a case', async () => {
    for (const money of [
      { amount: rawNumber('49.89') },
      { amount: rawNumber('49.91') },
      { amount: rawNumber('49.90'), currency: 'USD' },
    ]) {
      const opened = await open()
      const { partner, session } = opened
      await service.checkout.simulate(partner.partnerId, session.id, { step: 'credit', ...money }, ip)
      await settle()
      assert.equal(await statusOf(opened), 'Failed')
      assert.deepEqual(
        (await casesOf(partner.partnerId)).map(({ kind }) => kind),
        ['amount_differs'],
      )
      assert.equal((await balanceOf(service, partner.partnerId)).posted, 0n)
    }
    const opened = await open()
    const { partner, session } = opened
    for (const amount of ['20.00', '29.90']) {
      await service.checkout.simulate(partner.partnerId, session.id, { step: 'credit', amount: rawNumber(amount) }, ip)
      await settle()
    }
    assert.equal(await statusOf(opened), 'Failed')
    assert.deepEqual(
      (await casesOf(partner.partnerId)).map(({ kind, amount }) => [kind, amount]),
      [
        ['amount_differs', 2000n],
        ['contradiction', 2990n],
      ],
    )
  })

  test('a partner can end a session while it is Created or Initiated, and not later', async () => {
    const created = await open()
    const { partner } = created
    const initiated = await open({}, partner)
    await goToBank(initiated)
    const submitted = await open({}, partner)
    await service.checkout.simulate(partner.partnerId, submitted.session.id, { step: 'initiate' }, ip)
    await settle()
    await service.checkout.simulate(partner.partnerId, submitted.session.id, { step: 'submit' }, ip)
    await settle()
    for (const { session } of [created, initiated])
      assert.equal((await service.checkout.expire(partner.partnerId, session.id)).status, 'Expired')
    for (const { session } of [created, submitted])
      await assert.rejects(service.checkout.expire(partner.partnerId, session.id), hasCode('checkout_session_not_open'))
    assert.equal(await statusOf(submitted), 'Processing')
  })

  test('an idempotency key with another body is refused, and a refused request does not consume its key', async () => {
    const partner = await addPartner(service)
    const body = bodyFor(partner)
    await assert.rejects(
      service.checkout.create(partner.caller, { ...body, customerId: newId() }),
      hasCode('not_found'),
    )
    await service.checkout.create(partner.caller, body)
    await assert.rejects(
      service.checkout.create(partner.caller, { ...body, amount: rawNumber('50') }),
      hasCode('idempotency_key_reused'),
    )
  })

  test('a simulation runs an outcome, and refuses contradictory requests', async () => {
    for (const [outcome, status] of [
      ['completed', 'Completed'],
      ['failed', 'Failed'],
      ['expired', 'Expired'],
      ['abandoned', 'Processing'],
    ] as const) {
      const opened = await open()
      const { partnerId } = opened.partner
      await service.checkout.simulate(partnerId, opened.session.id, { outcome }, ip)
      await settle()
      assert.equal(await statusOf(opened), status, outcome)
      if (status !== 'Processing')
        await assert.rejects(
          service.checkout.simulate(partnerId, opened.session.id, { outcome }, ip),
          hasCode('checkout_session_not_open'),
        )
    }
    const { partner, session } = await open()
    const simulate = (body: Parameters<typeof service.checkout.simulate>[2]) =>
      service.checkout.simulate(partner.partnerId, session.id, body, ip)
    await assert.rejects(simulate({}), hasCode('validation_failed'))
    await assert.rejects(simulate({ outcome: 'failed', step: 'fail' }), hasCode('validation_failed'))
    await assert.rejects(simulate({ step: 'reverse' }), hasCode('validation_failed'))
    await assert.rejects(simulate({ step: 'credit', currency: 'USDC' }), hasCode('currency_not_supported'))
  })

  test('a credit that the bank reverses is taken from the balance, with a case', async () => {
    const opened = await open()
    const { partner, session } = opened
    for (const step of ['credit', 'reverse'] as const) {
      await service.checkout.simulate(partner.partnerId, session.id, { step }, ip)
      await settle()
    }
    assert.deepEqual(
      (await casesOf(partner.partnerId)).map(({ kind }) => kind),
      ['credit_reversed'],
    )
  })

  test('a list has the sessions of the partner in pages, newest first, by customer and by creditor reference', async () => {
    const partner = await addPartner(service)
    const first = await open({}, partner)
    const second = await open({ customer: { email: 'other@example.com' } }, partner)
    const list = async (query: Parameters<typeof service.checkout.list>[1]) =>
      (await service.checkout.list(partner.partnerId, query)).data.map(({ id }) => id)
    assert.deepEqual(await list({}), [second.session.id, first.session.id])
    assert.deepEqual(await list({ customerId: partner.customer.serviceId }), [first.session.id])
    assert.deepEqual(await list({ customerId: newId() }), [])
    assert.deepEqual(await list({ creditorReference: second.session.creditorReference }), [second.session.id])
    assert.deepEqual(await list({ createdTo: '2000-01-01T00:00:00Z' }), [])
    const page = await service.checkout.list(partner.partnerId, { limit: '1' })
    assert.deepEqual(await list({ cursor: page.nextCursor ?? '' }), [first.session.id])
    assert.deepEqual(await service.checkout.list(newId(), {}), { data: [], nextCursor: null, hasMore: false })
  })
})

suite('sessions of stopped partners', async () => {
  const service = await useModules()
  await service.screening.lists.load(await sampleList(), 'Sam Staff')
  const { open, settle, statusOf } = createSessions(() => service)

  const setState = async ({ partnerId }: TestPartner, account: AccountRef, state: AccountState) =>
    service.db.transaction((tx) =>
      service.accounts.changeState(tx, {
        partnerId,
        account,
        state,
        reason: 'CourtOrder',
        note: 'Order 17',
        staff: 'Ada',
      }),
    )
  const ofCustomer = ({ customer }: TestPartner): AccountRef => ({ customerRef: customer.id })

  async function freeze({ partnerId, customer }: TestPartner): Promise<void> {
    await service.customers.update(partnerId, customer.id, { kyc: { fullName: listedName } })
    await screenAll(service)
    await decideAll(service, partnerId, 'confirm')
    await service.customers.update(partnerId, customer.id, { kyc: { fullName: 'Ada Lovelace' } })
    await screenAll(service)
  }

  const stops: Readonly<Record<string, (partner: TestPartner) => Promise<unknown>>> = {
    'a blocked customer': (partner) => setState(partner, ofCustomer(partner), 'Blocked'),
    'a customer blocked for incoming money': (partner) => setState(partner, ofCustomer(partner), 'BlockedInbound'),
    'a closed customer': (partner) => setState(partner, ofCustomer(partner), 'Closed'),
    'a blocked balance': (partner) => setState(partner, { currency: 'EUR' }, 'BlockedInbound'),
    'a party that is the listed one, whatever it is called now': freeze,
  }

  for (const [what, stop] of Object.entries(stops))
    test(`${what} cannot get a session, and its open page does not accept a payer`, async () => {
      const partner = await addPartner(service, 100n)
      const opened = await open({}, partner)
      assert.equal((await service.checkout.payment(opened.token)).mayPay, true)
      await stop(partner)
      for (const fields of [{}, { customer: { email: 'ADA@example.com' } }])
        await assert.rejects(
          service.checkout.create(partner.caller, bodyFor(partner, fields)),
          hasCode('account_blocked'),
        )
      assert.equal((await service.checkout.payment(opened.token)).mayPay, false)
      assert.equal(await service.checkout.begin(opened.token, '198.51.100.7', 'FR'), false)
      await service.checkout.decide(opened.token, 'approved')
      await settle()
      assert.equal(await statusOf(opened), 'Open')
    })

  test('an erased customer gets no session', async () => {
    const partner = await addPartner(service)
    const { caller, customer } = partner
    await screenAll(service)
    await service.personalData.erasures.erase(partner.partnerId, customer.id, false)
    await assert.rejects(service.checkout.create(caller, bodyFor(partner)), hasCode('not_found'))
  })

  test('an account that accepts money gets a session, whether it is blocked for outgoing payments or unblocked again', async () => {
    const partner = await addPartner(service)
    const account = ofCustomer(partner)
    const opened = await open({}, partner)
    await setState(partner, account, 'BlockedOutbound')
    await open({}, partner)
    await setState(partner, account, 'Blocked')
    await assert.rejects(open({}, partner), hasCode('account_blocked'))
    await service.cancellations.finish(partner.partnerId, { currency: null, customerId: partner.customer.id })
    await setState(partner, account, 'Active')
    assert.equal((await service.checkout.payment(opened.token)).mayPay, true)
  })
})

const customers: Readonly<Record<string, Omit<BodyOf<'createCustomer'>, 'email'>>> = {
  person: { kyc: { fullName: 'Dr. Zoë Müller-Straßer' } },
  company: { customerType: 'Business', kyc: { legalName: 'Acme Maschinen G.m.b.H.', tradingName: 'Acme' } },
  'without a name': {},
}
const modes: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'a range of our own': { IBAN_ISSUERS: 'LT:10000' },
  "a pool of a bank's IBANs": { IBAN_ISSUERS: 'LT:10000', IBAN_POOLS: 'LT' },
}

for (const [mode, settings] of Object.entries(modes))
  test(`the recipient on the page matches in verification of payee: ${mode}`, async () => {
    const service = await createTestService({ settings })
    try {
      const { partnerId, caller } = await addPartner(service)
      if ('IBAN_POOLS' in settings)
        await importIbans(service, 'bank', [...ibansFrom(1, 9, { country: 'LT', bankCode: '70440' })])
      for (const [kind, fields] of Object.entries(customers)) {
        const customer = await service.customers.create(partnerId, { email: `${newId()}@example.com`, ...fields })
        const body = { amount: rawNumber('49.90'), currency: 'EUR', idempotencyKey: newId(), customerId: customer.id }
        const { session } = await service.checkout.create(caller, body)
        const verifies = async () => {
          const payment = await service.checkout.payment(session.url.split('/').at(-1) ?? '')
          const inCode = epcText(payment)?.split('\n')[5]
          assert.equal(inCode, payment.accountHolder)
          const { result, source } = await service.beneficiaries.verify(caller, {
            name: payment.accountHolder,
            iban: payment.iban,
          })
          assert.deepEqual({ kind, result, source }, { kind, result: 'Match', source: 'own' })
        }
        await verifies()
        await service.customers.update(partnerId, customer.id, { kyc: { legalName: null, fullName: 'Grace Hopper' } })
        await verifies()
      }
    } finally {
      await service.close()
    }
  })
