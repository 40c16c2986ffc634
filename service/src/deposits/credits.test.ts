/** Money that arrives unannounced: by IBAN, by creditor reference, for no account of ours, twice, and taken back. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Currency, newId } from '../kernel/index.ts'
import { operatorPartnerId } from '../cases/index.ts'
import { sql } from '../postgres/index.ts'
import { processBankNotifications } from '../banks/settlement/index.ts'
import { formatCreditorReference } from '../iso20022/index.ts'
import { addPartner, balanceOf, ip, stepMsDefault, type TestPartner } from '../../../test/support/composition.ts'
import { useModules } from '../../../test/support/fixture.ts'
const service = await useModules()
await service.db.transaction((tx) => service.access.addOperator(tx, operatorPartnerId))

const debtor = { account: 'DE1', bic: 'COBADEFFXXX', name: 'Payer', countryCode: 'DE', address: null }

type CreditFields = {
  readonly creditId?: string
  readonly remittance?: string | null
  readonly endToEndId?: string
  readonly creditorReferences?: readonly (readonly string[])[]
  readonly amount?: bigint
  readonly currency?: Currency
}

/** Has the bank book money on an account, and processes what it reports. Returns the id of the credit. */
async function receive(
  account: string,
  { creditId = newId(), remittance = null, endToEndId = 'E2E-1', amount = 500n, currency, ...more }: CreditFields = {},
) {
  const money = { currency: currency ?? 'EUR', amount } as const
  await service.db.transaction(async (tx) =>
    service.bank.sendCredit(tx, operatorPartnerId, creditId, {
      account,
      money,
      debtor,
      remittance,
      endToEndId,
      ...more,
    }),
  )
  await processed()
  return creditId
}

async function processed(): Promise<void> {
  service.clock.advance(stepMsDefault)
  await processBankNotifications(service.settlement)
}

async function reverse(creditId: string, amount = 500n, currency: Currency = 'EUR'): Promise<void> {
  await service.db.transaction(async (tx) =>
    service.bank.reverseCredit(tx, operatorPartnerId, creditId, {
      money: { currency, amount },
      details: 'The bank cancelled it.',
    }),
  )
  await processed()
}

const ibanOf = async ({ partnerId, customer }: TestPartner) =>
  (await service.accounts.create(partnerId, customer.id)).ibans[0].iban

const transactionsOf = ({ partnerId }: TestPartner) =>
  service.db.rows<{ reference: string; type: string; status: string; debtor: string | null; events: string[] }>(sql`
    select reference, type, status, debtor,
      array(select type from events.events as event
        where event.partner_id = transaction.partner_id and event.reference = transaction.reference order by id) as events
    from transactions.transactions as transaction
    where partner_id = ${partnerId} and description is distinct from 'Float' order by id`)

const casesOf = (partnerId: string) =>
  service.db.rows<{ kind: string; subject: string; booked: bigint | null }>(sql`
    select kind, subject, booked from cases.cases where partner_id = ${partnerId} order by opened_at, id`)

const reference = () => formatCreditorReference(newId().replaceAll('-', '').slice(-20).toUpperCase())

async function awaiting(partner: TestPartner, amount = 500n) {
  const creditorReference = reference()
  const { row } = await service.deposits.open(
    {
      partnerId: partner.partnerId,
      operation: 'simulateDeposit',
      type: 'CustomerDeposit',
      creditorReference,
      customerRef: partner.customer.id,
      amount,
      currency: 'EUR',
      idempotencyKey: null,
      websiteReference: null,
      customFields: null,
      ip,
      expiresAfterMs: 60_000,
      variant: '',
    },
    () => Promise.resolve(),
  )
  const status = async () =>
    (
      await service.db.row<{ status: string }>(
        sql`select status from deposits.deposits where partner_id = ${partner.partnerId} and id = ${row.id}`,
      )
    )?.status
  return { creditorReference, reference: row.reference, status }
}

const newest = <T>(list: readonly T[]): T => {
  const last = list.at(-1)
  assert.ok(last !== undefined)
  return last
}

test("a transfer to a customer's IBAN creates exactly one deposit", async () => {
  const partner = await addPartner(service)
  const before = await balanceOf(service, partner.partnerId)
  const iban = await ibanOf(partner)
  const creditId = await receive(iban)
  await receive(iban, { creditId })
  const transaction = newest(await transactionsOf(partner))
  assert.deepEqual(
    [transaction.type, transaction.status, transaction.events],
    [
      'PartnerCustomerDeposit',
      'Completed',
      ['partner.customer.deposit.accepted', 'partner.customer.deposit.completed', 'transaction.status.changed'],
    ],
  )
  assert.equal((JSON.parse(transaction.debtor ?? '{}') as { iban: string }).iban, debtor.account)
  assert.equal((await balanceOf(service, partner.partnerId)).posted - before.posted, 500n)
})

test('concurrent credits are each booked exactly once, even if the bank repeats them', async () => {
  const partner = await addPartner(service)
  const iban = await ibanOf(partner)
  const before = await balanceOf(service, partner.partnerId)
  const ids = Array.from({ length: 20 }, () => newId())
  const notification = (creditId: string, id = newId()) => ({
    partnerId: operatorPartnerId,
    id,
    subjectId: creditId,
    kind: 'credit.booked' as const,
    account: iban,
    money: { currency: 'EUR' as const, amount: 7n },
    debtor,
    remittance: null,
    endToEndId: null,
  })
  const answers = await Promise.all(
    [...ids, ...ids, ...ids].map((id) => service.deposits.processCredit('sandbox', notification(id))),
  )
  assert.equal(answers.filter(({ applied }) => applied === true).length, 20)
  assert.equal((await balanceOf(service, partner.partnerId)).posted - before.posted, 140n)
})

test('a credit that names a waiting deposit pays it, regardless of earlier reports', async () => {
  const partner = await addPartner(service)
  const deposit = await awaiting(partner)
  const grouped = deposit.creditorReference.replaceAll(/(.{4})/g, '$1 ').toLowerCase()
  const creditId = await receive(await ibanOf(partner), { remittance: `Order ${grouped} thank you` })
  assert.equal(await deposit.status(), 'Completed')
  const { type, events } = newest(await transactionsOf(partner))
  assert.equal(type, 'CustomerDeposit')
  assert.deepEqual(events, [
    'partner.customer.deposit.created',
    'partner.customer.deposit.accepted',
    'partner.customer.deposit.completed',
    'transaction.status.changed',
  ])
  // The same credit again is a repetition; another one is money that no deposit expects.
  await receive('', { creditId, remittance: deposit.creditorReference })
  assert.deepEqual(await casesOf(partner.partnerId), [])
  await receive('', { remittance: deposit.creditorReference })
  assert.deepEqual(
    (await casesOf(partner.partnerId)).map(({ kind, booked }) => [kind, booked]),
    [['contradiction', 500n]],
  )
})

test('a credit with another amount or currency fails the deposit, and goes to suspense', async () => {
  const partner = await addPartner(service)
  for (const given of [{ amount: 499n }, { amount: 501n }, { currency: 'USD' }] as const) {
    const deposit = await awaiting(partner)
    await receive('', { ...given, remittance: deposit.creditorReference })
    assert.equal(await deposit.status(), 'Failed')
  }
  const cases = await casesOf(partner.partnerId)
  assert.deepEqual(
    cases.map(({ kind, booked }) => [kind, booked]),
    [
      ['amount_differs', 499n],
      ['amount_differs', 501n],
      ['amount_differs', 500n],
    ],
  )
})

test('a credit for an expired deposit goes to suspense', async () => {
  const partner = await addPartner(service)
  const deposit = await awaiting(partner)
  service.clock.advance(60_000)
  await service.deposits.expireDue(100)
  assert.equal(await deposit.status(), 'Expired')
  await receive(await ibanOf(partner), { remittance: deposit.creditorReference })
  assert.equal(await deposit.status(), 'Expired')
  assert.deepEqual(
    (await casesOf(partner.partnerId)).map(({ kind }) => kind),
    ['contradiction'],
  )
})

test("a reference of another partner does not take the money of an account's owner", async () => {
  const [owner, other] = [await addPartner(service), await addPartner(service)]
  const deposit = await awaiting(other)
  await receive(await ibanOf(owner), { remittance: deposit.creditorReference })
  assert.equal(await deposit.status(), 'Created')
  assert.equal(newest(await transactionsOf(owner)).type, 'PartnerCustomerDeposit')
})

test('money for an account that is not ours opens a case in the ledger of the operator', async () => {
  const creditId = await receive('DE00NONE')
  const found = (await casesOf(operatorPartnerId)).filter(({ subject }) => subject === creditId)
  assert.deepEqual(found, [{ kind: 'unknown_payment', subject: creditId, booked: 500n }])
})

test('a reversal takes the money back exactly once, with a linked transaction and a case; a second reversal opens another case', async () => {
  const partner = await addPartner(service)
  const before = await balanceOf(service, partner.partnerId)
  const creditId = await receive(await ibanOf(partner))
  await reverse(creditId)
  await reverse(creditId)
  const { type, status } = newest(await transactionsOf(partner))
  assert.deepEqual([type, status], ['PartnerCustomerWithdraw', 'Completed'])
  assert.equal((await balanceOf(service, partner.partnerId)).posted, before.posted)
  assert.deepEqual(
    (await casesOf(partner.partnerId)).map(({ kind, booked }) => [kind, booked]),
    [
      ['credit_reversed', null],
      ['contradiction', -500n],
    ],
  )
})

test('a reversal books the reported amount, regardless of the expected or credited amount', async () => {
  const partner = await addPartner(service)
  const { partnerId } = partner
  const iban = await ibanOf(partner)
  const { creditorReference, status } = await awaiting(partner, 10_000n)
  const misfit = await receive(iban, { remittance: creditorReference, amount: 700n, currency: 'GBP' })
  assert.equal(await status(), 'Failed')
  await reverse(misfit, 700n, 'GBP')
  const posted = async (currency: string) =>
    (
      await service.db.row<{ posted: bigint }>(sql`
        select coalesce(sum(posted), 0)::bigint as posted from ledger.accounts
        where partner_id = ${partnerId} and name = 'settlement.sandbox' and currency = ${currency}`)
    )?.posted
  assert.deepEqual([await posted('GBP'), await posted('EUR')], [0n, 0n])
  await reverse(await receive(iban), 200n)
  await reverse(await receive(iban), 800n)
  assert.deepEqual(await balanceOf(service, partnerId), { posted: 300n, reserved: 0n, available: 300n })
  assert.deepEqual(
    (await casesOf(partnerId)).map(({ kind, booked }) => [kind, booked]),
    [
      ['amount_differs', 700n],
      ['credit_reversed', -700n],
      ['credit_reversed', null],
      ['credit_reversed', -300n],
    ],
  )
})

test('the reversal of spent money is booked to suspense', async () => {
  const partner = await addPartner(service)
  const creditId = await receive(await ibanOf(partner), { amount: 1_000_000_000n })
  const { partnerId } = partner
  const spent = await balanceOf(service, partnerId)
  await service.db.transaction((tx) =>
    service.ledger.enter(tx, {
      id: newId(),
      permit: 'bank',
      transfers: [
        {
          partnerId,
          currency: 'EUR',
          kind: 'direct',
          debit: 'balance',
          credit: 'settlement.sandbox',
          amount: spent.posted,
          partyId: partnerId,
          reference: 'spent',
        },
      ],
    }),
  )
  await reverse(creditId, 1_000_000_000n)
  assert.equal((await balanceOf(service, partnerId)).posted, 0n)
  assert.deepEqual(
    (await casesOf(partnerId)).map(({ kind, booked }) => [kind, booked]),
    [['credit_reversed', -1_000_000_000n]],
  )
})

test('a reversal of an unknown credit, or of a credit in suspense, is taken from suspense', async () => {
  const creditId = await receive('DE00NONE', { amount: 33n })
  await reverse(creditId, 33n)
  const found = (await casesOf(operatorPartnerId)).filter(({ subject }) => subject === creditId)
  assert.deepEqual(
    found.map(({ booked }) => booked),
    [33n, -33n],
  )
})

test('a reference is found among other words, in the end-to-end id, and after another valid reference', async () => {
  const partner = await addPartner(service)
  const iban = await ibanOf(partner)
  for (const text of [
    (own: string) => `${own} Jan`,
    (own: string) => `Rechnung${own.slice(0, 9)} \u00a0${own.slice(9)}-Danke`,
    (own: string) => `RF18539007547034 ${own}`,
  ]) {
    const deposit = await awaiting(partner)
    await receive(iban, { remittance: text(deposit.creditorReference) })
    assert.equal(await deposit.status(), 'Completed')
  }
  const deposit = await awaiting(partner)
  await receive(iban, { endToEndId: deposit.creditorReference })
  assert.equal(await deposit.status(), 'Completed')
})

test('references in less certain fields count only if no certain reference is known', async () => {
  const partner = await addPartner(service)
  const iban = await ibanOf(partner)
  const [structured, written, behind] = [await awaiting(partner), await awaiting(partner), await awaiting(partner)]
  const named = (...lists: readonly (readonly { readonly creditorReference: string }[])[]) =>
    lists.map((list) => list.map(({ creditorReference }) => creditorReference))
  await receive(iban, { creditorReferences: named([structured], [written]) })
  assert.deepEqual([await structured.status(), await written.status()], ['Completed', 'Created'])
  await receive(iban, { creditorReferences: [['RF18539007547034'], ...named([behind])] })
  assert.equal(await behind.status(), 'Completed')
  // Settlement says that no text may choose the owner.
  await receive(iban, { creditorReferences: [], remittance: written.creditorReference })
  assert.equal(await written.status(), 'Created')
})

test('a credit that names two waiting deposits pays neither: its money is in suspense, with a case that shows both', async () => {
  const partner = await addPartner(service)
  const [one, other] = [await awaiting(partner), await awaiting(partner)]
  const before = await balanceOf(service, partner.partnerId)
  const creditId = await receive(await ibanOf(partner), {
    amount: 1000n,
    remittance: `${one.creditorReference} ${other.creditorReference}`,
  })
  assert.deepEqual([await one.status(), await other.status()], ['Created', 'Created'])
  assert.deepEqual(await casesOf(partner.partnerId), [{ kind: 'unknown_payment', subject: creditId, booked: 1000n }])
  assert.equal((await balanceOf(service, partner.partnerId)).posted, before.posted)
  const texts = [`${one.creditorReference}${other.creditorReference}`]
  for (const whose of [partner.partnerId, undefined]) {
    const found = await service.deposits.namedIn(service.db, whose, texts)
    assert.deepEqual(new Set(found.map((row) => row.reference)), new Set([one.reference, other.reference]))
  }
  const stranger = await addPartner(service)
  assert.deepEqual(await service.deposits.namedIn(service.db, stranger.partnerId, texts), [])
})

test('a credit that names two deposits pays the waiting one, and a later repetition changes nothing', async () => {
  const partner = await addPartner(service)
  const iban = await ibanOf(partner)
  const [paid, open] = [await awaiting(partner), await awaiting(partner)]
  await receive(iban, { remittance: paid.creditorReference })
  const before = await balanceOf(service, partner.partnerId)
  const remittance = `${paid.creditorReference} ${open.creditorReference}`
  const creditId = await receive(iban, { remittance })
  assert.equal(await open.status(), 'Completed')
  await receive(iban, { creditId, remittance })
  assert.equal((await balanceOf(service, partner.partnerId)).posted - before.posted, 500n)
  assert.deepEqual(await casesOf(partner.partnerId), [])
})

test('a credit that is already booked does not also pay a deposit that its texts name', async () => {
  const partner = await addPartner(service)
  const iban = await ibanOf(partner)
  const deposit = await awaiting(partner)
  const before = await balanceOf(service, partner.partnerId)
  const creditId = await receive(iban, { creditorReferences: [] })
  await receive(iban, { creditId, remittance: deposit.creditorReference })
  assert.equal(await deposit.status(), 'Created')
  assert.equal((await balanceOf(service, partner.partnerId)).posted - before.posted, 500n)
  assert.deepEqual(await casesOf(partner.partnerId), [])
})

test('two deposits of different partners on an account that is not ours open a case of the operator', async () => {
  const [one, other] = [await awaiting(await addPartner(service)), await awaiting(await addPartner(service))]
  const creditId = await receive('DE00NONE', { remittance: `${one.creditorReference}/${other.creditorReference}` })
  assert.deepEqual([await one.status(), await other.status()], ['Created', 'Created'])
  const found = (await casesOf(operatorPartnerId)).filter(({ subject }) => subject === creditId)
  assert.deepEqual(found, [{ kind: 'unknown_payment', subject: creditId, booked: 500n }])
})
