/** Payments whose texts name a listed vessel, and refunds to countries with a rule: they wait for persons, and go on by their decision. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, before, beforeEach, test } from 'node:test'
import { rawNumber } from '@partner-payments/wire'
import { createSessions } from '../../../test/support/checkout.ts'
import {
  addPartner,
  createTestService,
  ip,
  pay,
  type Service,
  stepMsDefault,
  type TestPartner,
} from '../../../test/support/composition.ts'
import { addHolder, amount, decideAll, screenAll, sendCredit, stateOf } from '../../../test/support/screening/held.ts'
import { operatorPartnerId } from '../cases/index.ts'
import { newId, secondMs } from '../kernel/index.ts'
import { sql } from '../postgres/index.ts'
import { readSanctionsList } from '../screening/index.ts'
import { processBankNotifications, submitDuePayouts } from '../banks/settlement/index.ts'

let service: Service
let partner: TestPartner
async function* sample(): AsyncGenerator<Uint8Array> {
  yield await readFile(new URL('../screening/samples/ofac.xml', import.meta.url))
}
before(async () => {
  service = await createTestService()
  await service.db.transaction((tx) => service.access.addOperator(tx, operatorPartnerId))
  await service.screening.lists.load(await readSanctionsList(sample()), 'Sam Staff')
})
after(() => service.close())
beforeEach(async () => {
  partner = await addPartner(service, 1_000_00n)
  await screenAll(service)
})
const sessions = createSessions(() => service)

const submit = async () => {
  service.clock.advance(31 * secondMs)
  await submitDuePayouts(service.settlement)
}
const statusOf = async ({ partnerId, id }: { readonly partnerId: string; readonly id: string }) =>
  (await service.payouts.get(partnerId, id)).status
const openHits = async (subjectId: string) =>
  (await service.screening.openHits(undefined, 1000)).filter((hit) => hit.subjectId === subjectId)
const subjects = async () =>
  (await service.db.rows<{ id: string }>(sql`select id from screening.subjects where kind = 'payout'`)).length

test('a payout whose reference has a listed IMO number waits for two persons; others make no subject', async () => {
  const before = await subjects()
  const plain = (await pay(service, partner, '10.00', { reference: 'Invoice 9999993' })).payout
  const other = (await pay(service, partner, '10.00', { reference: 'Freight IMO 9074729' })).payout
  const held = (await pay(service, partner, '10.00', { reference: 'Freight IMO 9999993' })).payout
  await submit()
  assert.deepEqual([await statusOf(plain), await statusOf(other), await statusOf(held)], ['Sent', 'Sent', 'Pending'])
  assert.equal((await subjects()) - before, 1)
  await screenAll(service)
  const [hit, ...more] = await openHits(held.id)
  assert.equal(more.length, 0)
  const { subjectKind, role, name, listedName, score, entryId } = hit ?? {}
  assert.deepEqual(
    { subjectKind, role, name, listedName, score, entryId },
    {
      subjectKind: 'payout',
      role: 'text',
      name: 'Freight IMO 9999993',
      listedName: 'IMO 9999993',
      score: 100,
      entryId: '99003',
    },
  )
  await submit()
  assert.equal(await statusOf(held), 'Pending')
  const { timeline } = await service.transactions.get(partner.partnerId, held.reference)
  assert.equal(timeline.at(-1)?.step, 'Screening')
  assert.equal(await decideAll(service, partner.partnerId, 'clear'), 2)
  await submit()
  assert.equal(await statusOf(held), 'Sent')
})

test('a name beside the word for a vessel needs one person; confirmed, the payout is frozen and cannot be cancelled', async () => {
  const { payout } = await pay(service, partner, '10.00', { reference: 'Charter of MV Northern Velmora' })
  await submit()
  await screenAll(service)
  assert.equal((await openHits(payout.id))[0]?.score, 90)
  assert.equal(await decideAll(service, partner.partnerId, 'confirm'), 1)
  await submit()
  assert.equal((await service.cases.byId(service.db, partner.partnerId, payout.id))?.kind, 'sanctions_hold')
  await assert.rejects(service.payouts.cancel(partner.partnerId, payout.id))
  assert.equal(await statusOf(payout), 'Pending')
  // The account of the payee is not frozen: the vessel is listed, and not the payee.
  const next = (await pay(service, partner, '10.00')).payout
  await submit()
  assert.equal(await statusOf(next), 'Sent')
})

test('a list that is loaded while a payout waits for its decision asks again, and an open hit holds without its entry', async () => {
  const { payout } = await pay(service, partner, '10.00', { reference: 'MV Northern Velmora IMO 9999993' })
  await submit()
  await screenAll(service)
  await decideAll(service, partner.partnerId, 'clear')
  const list = await readSanctionsList(sample())
  const later = (days: number) => new Date(list.publishedAt.getTime() + days * 86_400_000)
  const renamed = list.entries.map((entry) => (entry.id === '99003' ? { ...entry, programmes: ['XXZ'] } : entry))
  await service.screening.lists.load({ ...list, publishedAt: later(1), hash: '1', entries: renamed }, 'Sam Staff')
  await submit()
  assert.equal(await statusOf(payout), 'Pending', 'the decision was about the entry before')
  await screenAll(service)
  assert.equal((await openHits(payout.id)).length, 1)
  const without = list.entries.filter(({ id }) => id !== '99003')
  await service.screening.lists.load({ ...list, publishedAt: later(2), hash: '2', entries: without }, 'Sam Staff')
  await screenAll(service)
  await submit()
  assert.equal(await statusOf(payout), 'Pending', 'only a person ends an open hit')
  await decideAll(service, partner.partnerId, 'clear')
  await submit()
  assert.equal(await statusOf(payout), 'Sent')
  await service.screening.lists.load({ ...list, publishedAt: later(3), hash: '3' }, 'Sam Staff')
  await screenAll(service)
  assert.deepEqual(await openHits(payout.id), [], 'what has left is not compared again')
})

test('the same file is no repetition for a version that reads more of it than the one that loaded it', async () => {
  const list = await readSanctionsList(sample())
  const later = { ...list, publishedAt: new Date(list.publishedAt.getTime() + 9 * 86_400_000), hash: 'same' }
  const poorer = later.entries.map(({ craft: _craft, ...entry }) => entry)
  await service.screening.lists.load({ ...later, entries: poorer }, 'Sam Staff')
  const again = await service.screening.lists.load(later, 'Sam Staff')
  assert.deepEqual([again.isRepetition, again.changed, again.added, again.removed], [false, 1, 0, 0])
  assert.equal((await service.screening.lists.load(later, 'Sam Staff')).isRepetition, true)
})

const processAll = async () => {
  service.clock.advance(10 * stepMsDefault)
  // The first report finds a list that this process has not read.
  for (let rounds = 0; rounds < 3; rounds += 1) while ((await processBankNotifications(service.settlement)) > 0);
}

test('money whose remittance names a listed vessel waits in suspense, and is credited by the decision', async () => {
  const { partnerId, iban } = await addHolder(service, 'Ada Lovelace')
  await sendCredit(service, iban, 'Grace Hopper', {}, 'Freight vessel Northern Velmora')
  await sendCredit(service, iban, 'Grace Hopper', {}, 'Freight vessel Southern Velmora')
  await processAll()
  const waiting = await stateOf(service, partnerId)
  assert.deepEqual(
    [waiting.statuses.toSorted(), waiting.balance, waiting.suspense],
    [['Completed', 'Screening'], amount, amount],
  )
  await screenAll(service)
  assert.equal(await decideAll(service, partnerId, 'clear'), 1)
  service.clock.advance(6 * secondMs)
  await service.deposits.screenDue(100)
  assert.equal((await stateOf(service, partnerId)).balance, 2n * amount)
})

test('a checkout session with a line item that names a listed vessel, and one that a transfer with its number pays, wait', async () => {
  const lineItems = [{ name: 'Spare part for IMO 9999993', quantity: 1, amount: rawNumber('49.90') }]
  const opened = await sessions.open({ lineItems })
  await screenAll(service)
  await sessions.pay(opened)
  await processAll()
  assert.equal(await sessions.statusOf(opened), 'Processing')
  const { partnerId } = opened.partner
  assert.deepEqual((await stateOf(service, partnerId)).statuses, ['Screening'])
  await screenAll(service)
  const hits = (await service.screening.openHits(undefined, 1000)).filter((hit) => hit.partnerId === partnerId)
  assert.deepEqual(
    hits.map(({ subjectKind, role, name }) => [subjectKind, role, name]),
    [['payer', 'text', 'Spare part for IMO 9999993']],
  )
  const reference = await sessions.open()
  await screenAll(service)
  const { creditorReference, iban } = (
    await service.db.rows<{ creditorReference: string; iban: string }>(
      sql`select creditor_reference, iban from checkout.sessions where id = ${reference.session.id}`,
    )
  )[0] ?? { creditorReference: '', iban: '' }
  const debtor = { account: 'DE1', bic: 'COBADEFFXXX', name: 'Grace Hopper', countryCode: 'DE', address: null }
  await service.db.transaction(async (tx) =>
    service.bank.sendCredit(tx, operatorPartnerId, newId(), {
      ...{ account: iban, money: { currency: 'EUR', amount: 49_90n }, debtor, endToEndId: null },
      remittance: `${creditorReference} IMO 9999993`,
    }),
  )
  await processAll()
  assert.deepEqual((await stateOf(service, reference.partner.partnerId)).statuses, ['Screening'])
})

test('a payee and a customer whose names name a listed vessel are hits as other names', async () => {
  const payee = await service.beneficiaries.create(partner.partnerId, {
    ...{ iban: 'DE89370400440532013000', currency: 'EUR', name: 'Owners of the vessel Northern Velmora' },
  })
  await screenAll(service)
  assert.deepEqual(
    (await openHits(payee.id)).map(({ role, score }) => [role, score]),
    [['name', 90]],
  )
})

test('a refund that was accepted before the rule for the country of its payer is held by it', async () => {
  const opened = await sessions.open()
  const { partner: shop, session } = opened
  await screenAll(service)
  await service.checkout.simulate(shop.partnerId, session.id, { step: 'credit' }, ip)
  await processAll()
  const body = { amount: rawNumber('9.90'), idempotencyKey: newId() }
  const { payout } = await service.checkout.refund(shop.caller, session.id, body, ip)
  const { creditorCountry: country } = payout
  assert.match(country, /^[A-Z]{2}$/)
  const change = { countries: [country], sides: ['payouts'], action: 'refuse', staff: 'Sam Staff' } as const
  await service.db.transaction((tx) => service.screening.countries.change(tx, change))
  await submit()
  assert.equal(await statusOf(payout), 'Pending')
  await screenAll(service)
  await submit()
  const hits = await openHits(payout.id)
  assert.deepEqual(
    hits.map(({ subjectKind, source, name }) => [subjectKind, source, name]),
    [['payout', 'countries', country]],
  )
  assert.equal(await statusOf(payout), 'Pending')
  // The rule also holds payees of this country.
  await decideAll(service, shop.partnerId, 'clear')
  await submit()
  assert.equal(await statusOf(payout), 'Sent')
})
