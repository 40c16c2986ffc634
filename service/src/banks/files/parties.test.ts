/** Payers and payees in files to the bank: customer data, owner addresses, account types. */
import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, suite, test } from 'node:test'
import { rawNumber } from '@partner-payments/wire'
import { addPartner, createTestService, ip } from '../../../../test/support/composition.ts'
import {
  atBank,
  createFolders,
  initiationsOf,
  instructionOf,
  openBank,
  removeFolders,
} from '../../../../test/support/iso-outgoing.ts'
import { useModules } from '../../../../test/support/fixture.ts'
import { chunks } from '../../../../scripts/iso-documents.ts'
import { Refusal } from '../../kernel/api/index.ts'
import { readPain001 } from '../../iso20022/index.ts'
import { hourMs, newId } from '../../kernel/index.ts'
import { sql } from '../../postgres/index.ts'
import { submitDuePayouts } from '../settlement/index.ts'
import { eraseInstructions } from './index.ts'
import { sealedPayers } from './payer.ts'

const monday = new Date('2026-11-23T09:00:00Z')

suite('customers as payers', async () => {
  const folders = await createFolders()
  const bankOf = (name: string, currency: string, more: object) => ({
    name,
    initiator: { name: 'Example' },
    accounts: [
      {
        ...{ iban: 'DE89370400440532013000', bic: 'COBADEFFXXX', currency, ownerName: 'Example' },
        ownerAddress: { town: 'Berlin', country: 'DE' },
      },
    ],
    archive: join(folders.archive, name),
    transport: { kind: 'folder', toBank: folders.toBank, fromBank: folders.fromBank },
    ...more,
  })
  const banks = [bankOf('euro', 'EUR', {}), bankOf('dollar', 'USD', { payerData: 'require' })]
  const rules = 'EUR=iso20022-euro,USD=iso20022-dollar'
  const service = await useModules({
    now: monday,
    settings: { RAIL_RULES: rules, ISO20022_BANKS: JSON.stringify(banks) },
  })
  after(() => removeFolders(folders))

  /** Sends everything due, and returns the payments of the new files. */
  async function sent() {
    const before = new Set(await readdir(folders.toBank))
    await submitDuePayouts({ ...service.settlement, connectors: service.connectors })
    service.clock.advance(hourMs)
    for (const job of service.isoBanks.jobs) if (/\.(?:make|deliver)$/.test(job.name)) while ((await job.run()) > 0);
    const names = (await readdir(folders.toBank)).filter((name) => !before.has(name))
    const files = await Promise.all(names.map((name) => readFile(join(folders.toBank, name))))
    const read = await Promise.all(files.map((bytes) => readPain001(chunks(bytes))))
    return read.flatMap(({ batches }) => batches.flatMap(({ transfers }) => transfers))
  }

  const kyc = { fullName: 'Ada Lovelace', addressLine1: '12 St James Square', postalCode: '10115', city: 'Berlin' }

  test('the file names the customer with its IBAN, or the partner, as known when the connector accepted the payment', async () => {
    const partner = await addPartner(service, 100_00n)
    const { partnerId, customer, caller } = partner
    await service.customers.update(partnerId, customer.id, { kyc })
    const account = await service.accounts.create(partnerId, customer.id)
    const create = (beneficiaryId: string) =>
      service.payouts.create(
        caller,
        { amount: rawNumber('10.00'), currency: 'EUR', beneficiaryId, idempotencyKey: newId() },
        ip,
      )
    await create(partner.beneficiary.id)
    await create(partner.ownBeneficiary.id)
    const found = (await sent()).toSorted((a, b) => ((a.creditor.name ?? '') < (b.creditor.name ?? '') ? -1 : 1))
    assert.deepEqual(
      found.map(({ ultimateDebtor }) => ultimateDebtor),
      [
        {
          name: 'Ada Lovelace',
          id: { kind: 'private', others: [{ id: account.ibans[0]?.iban, scheme: { proprietary: 'IBAN' } }] },
        },
        {
          name: 'Test Partner',
          id: { kind: 'organisation', others: [{ id: partnerId.replaceAll('-', ''), scheme: { code: 'CUST' } }] },
        },
      ],
    )
    // SEPA files omit the address. It is sealed in the row until the customer is erased.
    const rows = await service.db.rows<{ readonly id: string; readonly payerSealed: Buffer | null }>(
      sql`select id, payer_sealed from rails.iso_instructions where partner_id = ${partnerId}`,
    )
    const opened = rows.map(({ id, payerSealed }) => {
      assert.ok(payerSealed && !payerSealed.includes('Lovelace'))
      return service.sealer.open(
        payerSealed,
        sealedPayers.contextOf(partnerId, () => id),
      )
    })
    assert.ok(opened.some((text) => text.includes('12 St James Square')))
    const ids = rows.map(({ id }) => id)
    await service.db.transaction((tx) => eraseInstructions(tx, partnerId, ids))
    const left = await service.db.row<{ readonly count: bigint }>(
      sql`select count(payer_sealed) as count from rails.iso_instructions where partner_id = ${partnerId}`,
    )
    assert.equal(left?.count, 0n)
  })

  test('a bank that requires payer data refuses a payout without it and names the missing customer fields', async () => {
    const partner = await addPartner(service)
    const { partnerId, customer, caller } = partner
    const usd = { debit: 'settlement.sandbox' as const, currency: 'USD' as const, amount: 5_000_00n }
    await service.db.transaction((tx) => service.deposits.creditPartner(tx, partnerId, usd))
    await service.customers.update(partnerId, customer.id, { kyc: { ...kyc, city: null } })
    const payee = (country: string, bic: string, iban: string) =>
      service.beneficiaries.create(partnerId, {
        ...{ name: 'Grace Hopper', currency: 'USD', iban, bic, country, customerId: customer.id },
        address: { city: 'London', country: 'GB' },
      })
    const outside = await payee('GB', 'NWBKGB2L', 'GB29NWBK60161331926819')
    const inside = await payee('NL', 'ABNANL2A', 'NL91ABNA0417164300')
    const body = (beneficiaryId: string) => ({ amount: rawNumber('10.00'), currency: 'USD' as const, beneficiaryId })
    const create = (beneficiaryId: string) =>
      service.payouts.create(caller, { ...body(beneficiaryId), idempotencyKey: newId() }, ip)
    const verdictOf = async (beneficiaryId: string) => {
      const { verdicts } = await service.payouts.preview(caller, body(beneficiaryId), ip)
      return verdicts.find(({ rule }) => rule === 'payer')
    }
    const error = await create(outside.id).then(
      () => assert.fail('it is accepted'),
      (reason: unknown) => reason,
    )
    assert.ok(error instanceof Refusal)
    assert.equal(error.code, 'validation_failed')
    assert.deepEqual(
      error.errors.map(({ pointer, message }) => [pointer, /kyc\.\w+/.exec(message)?.[0]]),
      ['kyc.city', 'kyc.addressCountryCode', 'kyc.personalIdentificationNumber'].map((field) => [
        '/beneficiaryId',
        field,
      ]),
    )
    assert.equal((await verdictOf(outside.id))?.verdict, 'failed')
    assert.equal((await verdictOf(inside.id))?.verdict, 'passed')
    await create(inside.id)
    const complete = { city: 'Berlin', addressCountryCode: 'DE', personalIdentificationNumber: 'T22000129' }
    await service.customers.update(partnerId, customer.id, { kyc: complete })
    assert.deepEqual(await verdictOf(outside.id), { rule: 'payer', verdict: 'passed' })
    await create(outside.id)
    const found = (await sent()).find(
      ({ creditorAccount }) => 'iban' in creditorAccount && creditorAccount.iban.startsWith('GB'),
    )
    assert.deepEqual(found?.ultimateDebtor, {
      name: 'Ada Lovelace',
      address: { street: '12 St James Square', postCode: '10115', town: 'Berlin', country: 'DE' },
      id: {
        kind: 'private',
        others: [
          { id: customer.serviceId.replace('_', '-'), scheme: { code: 'CUST' } },
          { id: 'T22000129', scheme: { code: 'NIDN' } },
        ],
      },
    })
  })

  test('a preview lists missing payer data even if the bank does not require them', async () => {
    const partner = await addPartner(service, 5_000_00n)
    const { partnerId, customer, caller } = partner
    const payee = await service.beneficiaries.create(partnerId, {
      ...{ name: 'Grace Hopper', currency: 'EUR', iban: 'CH9300762011623852957', customerId: customer.id },
    })
    const noteOf = async (amount: string) => {
      const body = { amount: rawNumber(amount), currency: 'EUR' as const, beneficiaryId: payee.id }
      const { verdicts } = await service.payouts.preview(caller, body, ip)
      return verdicts.find(({ rule }) => rule === 'payer')
    }
    assert.deepEqual(await noteOf('1000.00'), { rule: 'payer', verdict: 'passed' })
    const missing = 'kyc.city, kyc.addressCountryCode, kyc.personalIdentificationNumber'
    assert.deepEqual(await noteOf('1000.01'), {
      ...{ rule: 'payer', verdict: 'passed' },
      detail: `The bank is told of the customer without ${missing}, and may ask for it.`,
    })
  })

  test('a QR-IBAN needs its QR reference, which no other Swiss account accepts', async () => {
    const partner = await addPartner(service, 5_000_00n)
    const payee = async (iban: string) => {
      const { id } = await service.beneficiaries.create(partner.partnerId, {
        name: 'Robert Schneider AG',
        currency: 'EUR',
        iban,
      })
      return id
    }
    const pay = (beneficiaryId: string, reference?: string) =>
      service.payouts
        .create(
          partner.caller,
          {
            ...{ amount: rawNumber('10.00'), currency: 'EUR' as const, beneficiaryId, idempotencyKey: newId() },
            ...(reference === undefined ? {} : { reference }),
          },
          ip,
        )
        .then(
          () => 'accepted',
          (error: Refusal) => `${error.code} ${error.errors[0]?.pointer}`,
        )
    // Account and reference of the samples of SIX.
    const [qr, plain] = [await payee('CH4431999123000889012'), await payee('CH9300762011623852957')]
    const [reference, wrong] = ['210000000003139471430009017', '210000000003139471430009018']
    const refused = 'validation_failed /reference'
    assert.deepEqual(
      [await pay(qr), await pay(qr, 'Rent'), await pay(qr, wrong), await pay(plain, reference)],
      [refused, refused, refused, refused],
    )
    assert.deepEqual(
      [await pay(qr, '21 00000 00003 13947 14300 09017'), await pay(plain, wrong), await pay(plain, 'Rent')],
      ['accepted', 'accepted', 'accepted'],
    )
  })
})

suite('account types and payee addresses of American payments', async () => {
  const service = await useModules({ now: monday })
  const folders = await createFolders()
  after(() => removeFolders(folders))

  test('the file states the type of an American account, and omits an unknown type', async () => {
    const { partnerId } = await addPartner(service)
    const [euros] = openBank(service, folders).deps.rules.accounts
    assert.ok(euros)
    const accounts = [euros, { ...euros, iban: 'DE75512108001245126199', currency: 'USD' as const }]
    const { connector, work } = openBank(service, folders, { preferred: 'CreditTransfer', accounts })
    const dollars = { currency: 'USD', creditorAccount: 'USABA021000021/123456789', creditorBic: 'CHASUS33' } as const
    await connector.instruct([
      instructionOf(partnerId, { ...dollars, creditorAccountType: 'Savings' }),
      instructionOf(partnerId, { ...dollars, creditorAccountType: null }),
      instructionOf(partnerId, dollars),
    ])
    service.clock.advance(hourMs)
    await work()
    const transfers = (await initiationsOf(await atBank(folders))).flatMap(({ batches }) =>
      batches.flatMap((batch) => batch.transfers),
    )
    const types = transfers.map(({ creditorAccountType = 'none' }) => creditorAccountType)
    assert.deepEqual(types.toSorted(), ['SVGS', 'none', 'none'])
  })

  test('the file states the address of the payee, and a payment without an address is refused earlier', async () => {
    const { partnerId } = await addPartner(service)
    const [euros] = openBank(service, folders).deps.rules.accounts
    assert.ok(euros)
    const accounts = [euros, { ...euros, iban: 'DE75512108001245126199', currency: 'USD' as const }]
    const { connector, work } = openBank(service, folders, { preferred: 'CreditTransfer', accounts })
    const dollars = { currency: 'USD', creditorAccount: 'USABA021000021/777', creditorBic: 'CHASUS33' } as const
    const creditorAddress = { streetName: 'Königsplatz', city: 'New York', state: 'NY', country: 'US' }
    const [refused, sent, unknown] = await connector.instruct([
      instructionOf(partnerId, { ...dollars, creditorAddress: null }),
      instructionOf(partnerId, { ...dollars, creditorAddress }),
      // The operator returns the money of a case: the payer gave no address.
      instructionOf(partnerId, dollars),
    ])
    assert.ok(refused !== 'unknown' && refused?.accepted === false)
    assert.deepEqual([refused.errorKey, refused.reasonCode], ['InvalidAccountDetails', 'BE04'])
    assert.match(refused.details, /address\.city and address\.country from 2026-11-14/)
    assert.ok(sent !== 'unknown' && sent?.accepted && unknown !== 'unknown' && unknown?.accepted)
    service.clock.advance(hourMs)
    await work()
    const found = (await initiationsOf(await atBank(folders)))
      .flatMap(({ batches }) => batches.flatMap(({ transfers }) => transfers))
      .filter(({ creditorAccount }) => 'other' in creditorAccount && creditorAccount.other === '777')
    assert.deepEqual(
      found.map(({ creditor }) => creditor.address).toSorted((a) => (a === undefined ? 1 : -1)),
      [{ street: 'Koenigsplatz', town: 'New York', countrySubdivision: 'NY', country: 'US' }, undefined],
    )
  })

  test('a payment executed before the rule applies is accepted without an address', async () => {
    const early = await createTestService({ now: new Date('2026-11-12T09:00:00Z') })
    const own = await createFolders()
    try {
      const { partnerId } = await addPartner(early)
      const [euros] = openBank(early, own).deps.rules.accounts
      assert.ok(euros)
      const accounts = [{ ...euros, currency: 'USD' as const }]
      const { connector } = openBank(early, own, { preferred: 'CreditTransfer', accounts })
      const dollars = { currency: 'USD', creditorAccount: 'USABA021000021/777', creditorBic: 'CHASUS33' } as const
      const ask = () => connector.instruct([instructionOf(partnerId, { ...dollars, creditorAddress: null })])
      const [before] = await ask()
      assert.ok(before !== 'unknown' && before?.accepted)
      // On Saturday the execution day is the Monday after the rule begins.
      early.clock.advance(Date.parse('2026-11-14T09:00:00Z') - early.clock.now().getTime())
      const [after] = await ask()
      assert.ok(after !== 'unknown' && after?.accepted === false)
    } finally {
      await early.close()
      await removeFolders(own)
    }
  })
})
