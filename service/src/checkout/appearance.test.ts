import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { rawNumber } from '@partner-payments/wire'
import { addPartner } from '../../../test/support/composition.ts'
import { bodyFor, hasCode, createSessions } from '../../../test/support/checkout.ts'
import { png } from '../../../test/support/png.ts'
import { useModules } from '../../../test/support/fixture.ts'
import { Refusal } from '../kernel/api/index.ts'
import { convertLogo } from '../branding/index.ts'
import { operatorPartnerId } from '../cases/index.ts'
import { newId } from '../kernel/index.ts'
import { sql } from '../postgres/index.ts'
const service = await useModules()

const { open, pay, settle } = createSessions(() => service)
const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><path d="M0 0h9v9z"/></svg>')
const refusedAt = (pointer: string, wanted: string) => (error: unknown) =>
  error instanceof Refusal && error.code === wanted && error.errors[0]?.pointer === pointer

test('a partner that has set nothing has no branding, and its pages show its own name', async () => {
  const { partner, token } = await open()
  assert.equal((await service.checkout.branding(partner.partnerId)).name, null)
  assert.equal((await service.checkout.payment(token)).branding, undefined)
  await assert.rejects(service.checkout.logo(token), hasCode('not_found'))
})

test('a given field is set, null clears it, an absent field is unchanged, and no other partner sees it', async () => {
  const [{ partner, token }, other] = [await open(), await open()]
  const set = (given: Parameters<typeof service.checkout.setBranding>[1]) =>
    service.checkout.setBranding(partner.partnerId, given)
  await set({ name: 'Grace Coffee', accentColour: '#7A1F3D', logo: svg.toString('base64') })
  await set({ accentColourDark: '#f0a3bd' })
  const { branding, payee, accountHolder } = await service.checkout.payment(token)
  assert.deepEqual([branding?.colour, branding?.colourDark, branding?.hasLogo], ['#7a1f3d', '#f0a3bd', true])
  assert.equal(payee, 'Grace Coffee')
  assert.notEqual(accountHolder, 'Grace Coffee', 'the bank of the payer verifies the account holder')
  assert.deepEqual(await service.checkout.logo(token), { bytes: svg, type: 'image/svg+xml' })
  await set({ name: null, logo: null })
  const cleared = await service.checkout.branding(partner.partnerId)
  assert.deepEqual([cleared.name, cleared.logo, cleared.logoType, cleared.colour], [null, null, null, '#7a1f3d'])
  assert.equal((await service.checkout.payment(other.token)).branding, undefined)
})

test('two concurrent changes of different fields both take effect', async () => {
  const { partnerId } = await addPartner(service)
  await Promise.all([
    service.checkout.setBranding(partnerId, { name: 'Both' }),
    service.checkout.setBranding(partnerId, { accentColour: '#123456' }),
    service.checkout.setBranding(partnerId, { logo: svg.toString('base64') }),
  ])
  const { name, colour, logoType } = await service.checkout.branding(partnerId)
  assert.deepEqual([name, colour, logoType], ['Both', '#123456', 'image/svg+xml'])
})

test('a colour with too little contrast and a logo that contains code are refused with a pointer, and nothing changes', async () => {
  const { partnerId } = await addPartner(service)
  const set = (given: Parameters<typeof service.checkout.setBranding>[1]) => async () =>
    service.checkout.setBranding(partnerId, { name: 'Never', ...given })
  const encoded = (text: string) => Buffer.from(text).toString('base64')
  await assert.rejects(set({ accentColour: '#ffcc00' }), refusedAt('/accentColour', 'contrast_too_low'))
  await assert.rejects(set({ accentColourDark: '#123456' }), refusedAt('/accentColourDark', 'contrast_too_low'))
  for (const logo of [
    '',
    '!',
    'PHN2Zz4',
    encoded('GIF89a'),
    encoded('<svg onload="alert(1)"/>'),
    encoded(' '.repeat(65_537)),
  ])
    await assert.rejects(set({ logo }), refusedAt('/logo', 'validation_failed'), logo.slice(0, 40))
  assert.equal((await service.checkout.branding(partnerId)).name, null)
})

test('line items must add up to the amount exactly, and are stored with their amounts', async () => {
  const items = (...amounts: readonly string[]) =>
    amounts.map((amount, at) => ({ name: `Item ${at}`, quantity: at + 1, amount: rawNumber(amount) }))
  const { partner, session, token } = await open({ description: 'Order 42', lineItems: items('49.80', '0.1') })
  const shown = await service.checkout.payment(token)
  assert.deepEqual([shown.description, shown.lineItems?.map((item) => item.amount)], ['Order 42', [4980n, 10n]])
  assert.deepEqual((await service.checkout.get(partner.partnerId, session.id)).lineItems, shown.lineItems)
  const create = (lineItems: ReturnType<typeof items>) => async () =>
    service.checkout.create(partner.caller, bodyFor(partner, { lineItems }))
  await assert.rejects(create(items('49.89')), refusedAt('/lineItems', 'line_items_mismatch'))
  await assert.rejects(create(items('49.90', '0.01')), refusedAt('/lineItems', 'line_items_mismatch'))
  await assert.rejects(create(items('49.8', '0.100001')), refusedAt('/lineItems/1/amount', 'validation_failed'))
})

test('a repeated key with other items or another description is a different request', async () => {
  const { partner, session } = await open({ idempotencyKey: 'once', description: 'Order 42' })
  const repeat = async (description: string | null) =>
    service.checkout.create(partner.caller, bodyFor(partner, { idempotencyKey: 'once', description }))
  assert.equal((await repeat('Order 42')).session.id, session.id)
  await assert.rejects(async () => repeat('Order 43'), hasCode('idempotency_key_reused'))
  await assert.rejects(async () => repeat(null), hasCode('idempotency_key_reused'))
})

test('a payment has a receipt once it has arrived', async () => {
  const opened = await open()
  await assert.rejects(service.checkout.receipt(opened.token), hasCode('not_found'))
  await pay(opened)
  await settle()
  const { payment, paidAt } = await service.checkout.receipt(opened.token)
  assert.equal(payment.status, 'Completed')
  assert.ok(paidAt > opened.session.createdAt && paidAt <= service.clock.now())
})

test('a payment that the bank reverses no longer has a receipt', async () => {
  const opened = await open()
  const creditId = newId()
  const money = { currency: 'EUR', amount: 4990n } as const
  const { creditorReference } = opened.session
  await service.db.transaction((tx) => service.access.addOperator(tx, operatorPartnerId))
  await service.db.transaction(async (tx) =>
    service.bank.sendCredit(tx, operatorPartnerId, creditId, {
      account: '',
      money,
      debtor: { account: 'DE1', bic: 'COBADEFFXXX', name: 'Payer', countryCode: 'DE', address: null },
      remittance: creditorReference,
      endToEndId: null,
    }),
  )
  await settle()
  assert.equal((await service.checkout.receipt(opened.token)).payment.status, 'Completed')
  const reversal = { money, details: 'The bank cancelled it.' }
  await service.db.transaction(async (tx) => service.bank.reverseCredit(tx, operatorPartnerId, creditId, reversal))
  await settle()
  await assert.rejects(service.checkout.receipt(opened.token), hasCode('not_found'))
})

test('an erasure removes the purchased items', async () => {
  const { partner, session, token } = await open({ description: 'Pills of Ada' })
  await service.db.transaction((tx) => service.checkout.eraseSessions(tx, partner.partnerId, [session.id]))
  const { description, lineItems } = await service.checkout.payment(token)
  assert.deepEqual([description, lineItems], [null, null])
})

const rowOf = async (partnerId: string) => {
  const row = await service.db.row<{ readonly drawn: Uint8Array | null; readonly from: string | null }>(
    sql`select drawn_logo as drawn, encode(drawn_from, 'hex') as from from checkout.branding where partner_id = ${partnerId}`,
  )
  return { drawn: row?.drawn && Buffer.from(row.drawn), from: row?.from }
}

test('a logo is rendered once, when it is set, and documents embed the same bytes', async () => {
  const { partner } = await open()
  const { partnerId } = partner
  const logo = png(1000, 500, { alpha: true })
  await service.checkout.setBranding(partnerId, { name: 'Grace', logo: logo.toString('base64') })
  const { drawn, from } = await rowOf(partnerId)
  assert.deepEqual(drawn, await convertLogo(logo))
  assert.equal(from, createHash('sha256').update(logo).digest('hex'))
  assert.deepEqual((await service.checkout.documentBrand(partnerId))?.logo, drawn)
  await service.checkout.setBranding(partnerId, { name: 'Hopper' })
  assert.deepEqual((await rowOf(partnerId)).drawn, drawn, 'another field changes')
  await service.checkout.setBranding(partnerId, { logo: svg.toString('base64') })
  assert.equal((await rowOf(partnerId)).drawn, null)
  assert.equal((await service.checkout.documentBrand(partnerId))?.logo, undefined)
  await service.checkout.setBranding(partnerId, { logo: null })
  assert.deepEqual(await rowOf(partnerId), { drawn: null, from: null })
  assert.equal((await service.checkout.documentBrand(partnerId))?.logo, undefined)
  await assert.rejects(
    service.checkout.setBranding(partnerId, { logo: png(2000).toString('base64') }),
    refusedAt('/logo', 'validation_failed'),
  )
})

test('a logo that an earlier version stored is rendered once, for its first documents, and the result is stored', async () => {
  const { partner } = await open()
  const { partnerId } = partner
  const [first, second] = [png(2000, 2000, { alpha: true }), png(30, 10)]
  await service.checkout.setBranding(partnerId, { name: 'Grace', logo: svg.toString('base64') })
  const storedBefore = (logo: Buffer, type: string) =>
    service.db.run(
      sql`update checkout.branding set logo = ${logo}, logo_type = ${type} where partner_id = ${partnerId}`,
    )
  for (const [logo, type] of [
    [first, 'image/png'],
    [second, 'image/png'],
    [svg, 'image/svg+xml'],
  ] as const) {
    await storedBefore(logo, type)
    const expected = (await convertLogo(logo)) ?? null
    const brands = await Promise.all(Array.from({ length: 4 }, () => service.checkout.documentBrand(partnerId)))
    for (const brand of brands) assert.deepEqual(brand?.logo ?? null, expected)
    assert.deepEqual((await rowOf(partnerId)).drawn, expected)
    assert.equal((await rowOf(partnerId)).from, createHash('sha256').update(logo).digest('hex'))
  }
  assert.deepEqual((await service.checkout.branding(partnerId)).logo, svg, 'pages show what was set')
})
