/** Payment links on a real database: each payer gets a session, and a link never takes more than it may. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { type BodyOf, checkout as wire, rawNumber } from '@partner-payments/wire'
import { hasCode, createSessions } from '../../../test/support/checkout.ts'
import { addPartner, balanceOf, ip, type TestPartner } from '../../../test/support/composition.ts'
import { useModules } from '../../../test/support/fixture.ts'
import { hourMs, newId } from '../kernel/index.ts'
import { sql } from '../postgres/index.ts'
import type { LinkPayer, PaymentLink } from './links.ts'

suite('payment links', async () => {
  const service = await useModules()
  const { settle } = createSessions(() => service)
  const { checkout } = service
  type Body = BodyOf<'createPaymentLink'>
  let addresses = 0

  async function make(fields: Partial<Body> = {}, given?: TestPartner) {
    const partner = given ?? (await addPartner(service))
    const body = { customerId: partner.customer.id, currency: 'EUR', amount: rawNumber('25.00'), ...fields } as Body
    const link = await checkout.createLink(partner.partnerId, body)
    return { partner, link, token: link.url.split('/').at(-1) ?? '' }
  }
  type Made = Awaited<ReturnType<typeof make>>

  const payer = (fields: Partial<LinkPayer> = {}): LinkPayer => {
    addresses += 1
    return {
      name: 'Ada Lovelace',
      email: null,
      amount: null,
      formId: newId(),
      ip: `198.51.100.${addresses}`,
      ...fields,
    }
  }
  const openBy = (made: Made, fields: Partial<LinkPayer> = {}) => checkout.openByLink(made.token, payer(fields))
  async function opened(made: Made, fields: Partial<LinkPayer> = {}): Promise<string> {
    const outcome = await openBy(made, fields)
    assert.ok('token' in outcome, 'closed' in outcome ? outcome.closed : '')
    return outcome.token
  }
  const sessionsOf = async ({ partner, link }: Made) =>
    (await checkout.list(partner.partnerId, { linkId: link.id, limit: '100' })).data
  const read = ({ partner, link }: Made): Promise<PaymentLink> => checkout.getLink(partner.partnerId, link.id)
  const countsOf = async (made: Made) => {
    const { paymentsMade, paymentsOpen } = await read(made)
    return [paymentsMade, paymentsOpen]
  }
  async function payAll(made: Made): Promise<void> {
    for (const { id, status } of await sessionsOf(made))
      if (status === 'Open') await checkout.simulate(made.partner.partnerId, id, { step: 'credit' }, ip)
    await settle()
  }

  test('two payers get one session each, and both payments belong to the customer', async () => {
    const made = await make({ description: 'Concert', websiteReference: 'concert', customFields: { seat: 'free' } })
    const tokens = [await opened(made), await opened(made, { name: 'Grace Hopper', email: 'grace@example.com' })]
    assert.equal(new Set(tokens).size, 2)
    const [second, first] = await sessionsOf(made)
    assert.notEqual(first?.creditorReference, second?.creditorReference)
    assert.deepEqual(
      [first?.payerName, second?.payerName, second?.payerEmail],
      ['Ada Lovelace', 'Grace Hopper', 'grace@example.com'],
    )
    assert.deepEqual([first?.amount, first?.description, first?.linkId], [2500n, 'Concert', made.link.id])
    assert.deepEqual(await countsOf(made), [0, 2])
    await payAll(made)
    assert.deepEqual(await countsOf(made), [2, 0])
    assert.equal((await balanceOf(service, made.partner.partnerId)).posted, 5000n)
    const events = await service.db.rows<{ data: string }>(sql`
      select data from events.events where partner_id = ${made.partner.partnerId} and type = 'checkout.session.opened' order by id`)
    const told = events.map(({ data }) => JSON.parse(data) as Record<string, unknown>)
    assert.deepEqual(
      told.map(({ linkId, sessionId, payerName }) => [linkId, sessionId, payerName]),
      [
        [made.link.id, first?.id, 'Ada Lovelace'],
        [made.link.id, second?.id, 'Grace Hopper'],
      ],
    )
    assert.deepEqual(told[0]?.['customFields'], { seat: 'free', linkId: made.link.id })
  })

  test('a form submitted twice opens one session', async () => {
    const made = await make()
    const formId = newId()
    const outcomes = await Promise.all(Array.from({ length: 4 }, () => opened(made, { formId })))
    assert.equal(new Set(outcomes).size, 1)
    assert.equal((await sessionsOf(made)).length, 1)
  })

  test('of 50 concurrent payers, as many get a session as the link permits', async () => {
    const made = await make({ paymentsMax: 20 })
    const outcomes = await Promise.all(Array.from({ length: 50 }, () => openBy(made)))
    const closed = outcomes.filter((outcome) => 'closed' in outcome)
    assert.deepEqual([...new Set(closed.map((outcome) => outcome.closed))], ['full'])
    assert.equal(closed.length, 30)
    assert.deepEqual(await countsOf(made), [0, 20])
    await payAll(made)
    assert.deepEqual([await openBy(made), await countsOf(made)], [{ closed: 'full' }, [20, 0]])
  })

  test('a session that expires frees its place and is counted exactly once', async () => {
    const made = await make({ paymentsMax: 1, sessionExpiresInSeconds: 300 })
    await opened(made)
    assert.deepEqual(await openBy(made), { closed: 'full' })
    service.clock.advance(hourMs)
    await service.deposits.expireDue(100)
    await opened(made)
    await payAll(made)
    assert.deepEqual(await countsOf(made), [1, 0])
    assert.deepEqual([await openBy(made), await countsOf(made)], [{ closed: 'full' }, [1, 0]])
  })

  test('an IP address has a limit of open sessions, which does not affect other addresses', async () => {
    const made = await make()
    for (let count = 0; count < wire.linkSessionsOfAddressMax; count += 1) await opened(made, { ip: '203.0.113.9' })
    assert.deepEqual(await openBy(made, { ip: '203.0.113.9' }), { closed: 'busy' })
    await opened(made)
  })

  test('a link that is switched off or has ended opens no session, but its sessions can still be paid', async () => {
    const made = await make()
    await opened(made)
    const { partnerId } = made.partner
    assert.equal((await checkout.updateLink(partnerId, made.link.id, { active: false })).isActive, false)
    assert.deepEqual(
      [await openBy(made), (await checkout.link(made.token)).closed],
      [{ closed: 'inactive' }, 'inactive'],
    )
    await payAll(made)
    assert.deepEqual(await countsOf(made), [1, 0])
    await checkout.updateLink(partnerId, made.link.id, { active: true, endsAt: service.clock.now().toISOString() })
    assert.deepEqual(await openBy(made), { closed: 'ended' })
    await checkout.updateLink(partnerId, made.link.id, { endsAt: null })
    await opened(made)
  })

  test('a link with an open amount has limits, and refuses line items', async () => {
    const bounds = { amount: null, amountMin: rawNumber('5.00'), amountMax: rawNumber('50.00') }
    const made = await make(bounds)
    const shown = await checkout.link(made.token)
    assert.deepEqual([shown.amount, shown.amountMin, shown.amountMax], [null, 500n, 5000n])
    await opened(made, { amount: 700n })
    assert.equal((await sessionsOf(made))[0]?.amount, 700n)
    const items = [{ name: 'Ticket', quantity: 1, amount: rawNumber('5.00') }]
    await assert.rejects(make({ amount: null, lineItems: items }), hasCode('validation_failed'))
    await assert.rejects(make({ amountMin: rawNumber('5.00') }), hasCode('validation_failed'))
    await assert.rejects(make({ ...bounds, amountMin: rawNumber('60.00') }), hasCode('validation_failed'))
    await assert.rejects(make({ lineItems: items }), hasCode('line_items_mismatch'))
    await assert.rejects(make({ currency: 'USDC' }), hasCode('currency_not_supported'))
    await assert.rejects(make({ customerId: newId() }), hasCode('not_found'))
  })

  test('a link is not found by another partner or by a wrong token, and the list can be filtered', async () => {
    const made = await make()
    const stranger = await addPartner(service)
    await assert.rejects(checkout.getLink(stranger.partnerId, made.link.id), hasCode('not_found'))
    await assert.rejects(checkout.updateLink(stranger.partnerId, made.link.id, {}), hasCode('not_found'))
    await assert.rejects(checkout.link(`${made.token.slice(0, -2)}AA`), hasCode('not_found'))
    await assert.rejects(checkout.payment(made.token), hasCode('not_found'))
    const off = await make({}, made.partner)
    await checkout.updateLink(made.partner.partnerId, off.link.id, { active: false })
    const { data } = await checkout.listLinks(made.partner.partnerId, { active: 'true' })
    assert.deepEqual(
      data.map(({ id }) => id),
      [made.link.id],
    )
    const rows = await service.db.rows(
      sql`select token_hash, token_sealed from checkout.links where id = ${made.link.id}`,
    )
    assert.ok(!JSON.stringify(rows).includes(made.token))
  })

  test('an account that cannot receive money closes its links without showing the reason', async () => {
    const made = await make()
    const { partnerId, customer } = made.partner
    await service.db.transaction((tx) => service.customers.setAccountState(tx, partnerId, customer.id, 'Blocked'))
    assert.deepEqual([await openBy(made), (await checkout.link(made.token)).closed], [{ closed: 'stopped' }, 'stopped'])
  })
})
