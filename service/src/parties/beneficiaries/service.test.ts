/** Payees on a real database: verbs, addresses and BICs. */
import assert from 'node:assert/strict'
import { beforeEach, suite, test } from 'node:test'
import { rawNumber } from '@partner-payments/wire'
import { Refusal } from '../../kernel/api/index.ts'
import { newId } from '../../kernel/index.ts'
import { sql } from '../../postgres/index.ts'
import { beneficiariesRoutes, BicFileError } from './index.ts'
import { addPartner, createTestService, ip, pay, type TestPartner } from '../../../../test/support/composition.ts'
import { useModules } from '../../../../test/support/fixture.ts'
import type { Instruction } from '../../rails/index.ts'
import { submitDuePayouts } from '../../banks/settlement/index.ts'

suite('operations', async () => {
  const service = await useModules()
  const { beneficiaries } = service
  const euros = { name: 'Ada Lovelace', iban: 'DE89 3704 0044 0532 0130 00', currency: 'EUR' }

  test('a beneficiary belongs to the partner, or to a customer given by guid or serviceId', async () => {
    const { partnerId, customer } = await addPartner(service)
    const own = await beneficiaries.create(partnerId, { ...euros, alias: 'Ada', bic: 'COBADEFFXXX' })
    assert.equal(own.customerId, null)
    for (const customerId of [customer.id, customer.id.toUpperCase(), customer.serviceId])
      assert.equal((await beneficiaries.create(partnerId, { ...euros, customerId })).customerId, customer.id)
  })

  test('only one of two concurrent removals succeeds, the list omits the beneficiary, and the row is kept', async () => {
    const { partnerId } = await addPartner(service)
    const { id } = await beneficiaries.create(partnerId, euros)
    const outcomes = await Promise.allSettled([1, 2, 3, 4].map(() => beneficiaries.remove(partnerId, id)))
    assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1)
    assert.ok((await beneficiaries.list(partnerId, {})).data.every((row) => row.id !== id))
    const row = await service.db.row(sql`
      select name, removed_at from beneficiaries.beneficiaries where partner_id = ${partnerId} and id = ${id}`)
    assert.deepEqual(row, { name: euros.name, removedAt: service.clock.now() })
  })
})

suite('addresses', async () => {
  const today = '2026-11-29'
  const address = { streetName: 'Wall Street', buildingNumber: '1', city: 'New York', state: 'NY', country: 'US' }
  let partner: TestPartner
  const service = await useModules({ now: new Date(`${today}T10:00:00Z`) })
  beforeEach(async () => {
    partner = await addPartner(service, 100_00n)
    const float = { debit: 'settlement.sandbox', currency: 'USD', amount: 100_00n } as const
    await service.db.transaction((tx) => service.deposits.creditPartner(tx, partner.partnerId, float))
  })

  const american = { name: 'Grace Hopper', currency: 'USD', routingNumber: '021000021', accountNumber: '12345' }
  const add = (more: object = {}) => service.beneficiaries.create(partner.partnerId, { ...american, ...more })
  const bodyOf = (beneficiaryId: string) => ({
    ...{ amount: rawNumber('1.00'), currency: 'USD', beneficiaryId, idempotencyKey: newId() },
  })
  const payTo = (beneficiaryId: string) => service.payouts.create(partner.caller, bodyOf(beneficiaryId), ip)
  const requirementOf = async (beneficiaryId: string) => {
    const { verdicts } = await service.payouts.preview(partner.caller, bodyOf(beneficiaryId), ip)
    return verdicts.find(({ rule }) => rule === 'requirements')
  }
  const refused = (error: unknown): true => {
    assert.ok(error instanceof Refusal)
    assert.deepEqual([error.code, error.errors[0]?.pointer], ['beneficiary_not_payable', '/beneficiaryId'])
    assert.match(error.detail, /address\.city and address\.country from 2026-11-14/)
    return true
  }

  test('an address is stored and replaced as a whole, and refused without a valid country and city', async () => {
    const payee = await add({ address })
    assert.deepEqual(payee.address, address)
    assert.deepEqual((await service.beneficiaries.get(partner.partnerId, payee.id)).address, address)
    const other = { city: 'Zürich', country: 'CH' }
    const updated = await service.beneficiaries.update(partner.partnerId, { id: payee.id, address: other })
    assert.deepEqual([updated.address, updated.name], [other, 'Grace Hopper'])
    const renamed = await service.beneficiaries.update(partner.partnerId, { id: payee.id, alias: 'grace' })
    assert.deepEqual(renamed.address, other)
    for (const [wrong, pointer] of [
      [{ city: '---', country: 'US' }, '/address/city'],
      [{ city: 'Berlin', country: 'XX' }, '/address/country'],
    ] as const) {
      const points = (error: unknown) => error instanceof Refusal && error.errors[0]?.pointer === pointer
      await assert.rejects(add({ address: wrong }), points)
      await assert.rejects(service.beneficiaries.update(partner.partnerId, { id: payee.id, address: wrong }), points)
    }
  })

  test('a SWIFT payout to a payee without an address is refused before money is reserved, and accepted with an address', async () => {
    const payee = await add()
    await assert.rejects(payTo(payee.id), refused)
    assert.deepEqual((await requirementOf(payee.id))?.code, 'beneficiary_not_payable')
    await service.beneficiaries.update(partner.partnerId, { id: payee.id, address })
    const { payout } = await payTo(payee.id)
    assert.deepEqual(JSON.parse(payout.creditorAddressJson ?? ''), address)
    assert.equal((await requirementOf(payee.id))?.verdict, 'passed')
    // SEPA payouts do not need an address.
    const sepa = { ...bodyOf(partner.beneficiary.id), currency: 'EUR' }
    assert.equal((await service.payouts.create(partner.caller, sepa, ip)).payout.creditorAddressJson, null)
  })

  test('a payout is accepted before the rule takes effect, and its preview shows the date', async () => {
    const early = await createTestService({ url: service.url, now: new Date('2026-11-13T10:00:00Z') })
    try {
      const payee = await add()
      const { verdicts } = await early.payouts.preview(partner.caller, bodyOf(payee.id), ip)
      const found = verdicts.find(({ rule }) => rule === 'requirements')
      assert.equal(found?.verdict, 'passed')
      assert.match(found.detail ?? '', /will need address\.city and address\.country from 2026-11-14/)
      assert.equal((await early.payouts.create(partner.caller, bodyOf(payee.id), ip)).replayed, false)
      assert.deepEqual(early.beneficiaries.missingFields(payee), [])
      assert.deepEqual(early.beneficiaries.missingFields(payee, today), ['address'])
    } finally {
      await early.close()
    }
  })

  test('a payout accepted before the rule took effect is sent with the address that its beneficiary got later', async () => {
    const instructed: Instruction[] = []
    const early = await createTestService({
      ...{ url: service.url, now: new Date('2026-11-13T10:00:00Z') },
      wrapConnector: (bank) => ({
        ...bank,
        instruct: (instructions, options) => {
          instructed.push(...instructions)
          return bank.instruct(instructions, options)
        },
      }),
    })
    try {
      const [payee, other] = [await add(), await add({ accountNumber: '777' })]
      const { payout } = await early.payouts.create(partner.caller, bodyOf(payee.id), ip)
      const { payout: without } = await early.payouts.create(partner.caller, bodyOf(other.id), ip)
      await early.beneficiaries.update(partner.partnerId, { id: payee.id, address })
      await submitDuePayouts(early.settlement)
      const addressOf = (id: string) => instructed.find((one) => one.beneficiaryId === id)?.creditorAddress
      assert.deepEqual([addressOf(payee.id), addressOf(other.id)], [address, null])
      const stored = async (id: string) => (await early.payouts.get(partner.partnerId, id)).creditorAddressJson
      assert.deepEqual(JSON.parse((await stored(payout.id)) ?? ''), address)
      assert.equal(await stored(without.id), null)
    } finally {
      await early.close()
    }
  })

  test('payees that are incomplete on a day are listed in pages, with their missing fields', async () => {
    const { partnerId, customer } = partner
    const bare: string[] = []
    for (let count = 0; count < 7; count += 1)
      bare.push((await add({ accountNumber: `1${count}`, ...(count === 3 ? { customerId: customer.id } : {}) })).id)
    await add({ address })
    const pounds = await service.beneficiaries.create(partnerId, {
      ...{ name: 'Joan Clarke', currency: 'GBP', iban: 'GB29NWBK60161331926819' },
    })
    const removed = await add()
    await service.beneficiaries.remove(partnerId, removed.id)
    const expected = [pounds.id, ...bare.toReversed()]
    const listed = async (query: object) => {
      const ids: string[] = []
      let cursor: string | undefined
      do {
        const page = await service.beneficiaries.list(partnerId, {
          limit: '3',
          ...query,
          ...(cursor ? { cursor } : {}),
        })
        ids.push(...page.data.map(({ id }) => id))
        cursor = page.nextCursor ?? undefined
      } while (cursor !== undefined)
      return ids
    }
    assert.deepEqual(await listed({ incompleteOn: '2026-11-14' }), expected)
    assert.deepEqual(await listed({ incompleteOn: '2026-11-13' }), [])
    assert.deepEqual(await listed({ incompleteOn: today, currency: 'GBP' }), [pounds.id])
    assert.deepEqual(await listed({ incompleteOn: today, customerId: customer.id }), [bare[3]])
    assert.deepEqual(await listed({ incompleteOn: today, namePrefix: 'Clark' }), [pounds.id])
    const routes = beneficiariesRoutes(service.beneficiaries, service.idempotency)
    const { body } = await routes.listBeneficiaries({
      ...{ caller: partner.caller, params: {}, query: { incompleteOn: '2026-11-14' } },
    } as never)
    assert.ok(body.data.every(({ missingFields }) => missingFields?.join() === 'address'))
    const stranger = await addPartner(service)
    assert.deepEqual((await service.beneficiaries.list(stranger.partnerId, { incompleteOn: today })).data, [])
  })

  test('the list of incomplete payees reads the index of corridors, one step for each corridor', async () => {
    const { partnerId } = partner
    await service.db
      .run(sql`insert into beneficiaries.beneficiaries (partner_id, id, name, domestic_account, country, currency, created_at, updated_at, address)
    select ${partnerId}, gen_random_uuid(), 'x', 'USABA021000021/' || number, 'US', 'USD', now(), now(), '{"city":"x","country":"US"}'
    from generate_series(1, 20000) as number`)
    const payee = await add()
    await service.db.run(sql`analyze beneficiaries.beneficiaries`)
    const plan = await service.db.rows<Record<string, string>>(sql`explain (format text)
    select (currency || '/' || coalesce(country, '') || '/' || coalesce(substring(bic from 5 for 2), '') || '/'
    || case when address is null then '' else 'a' end || case when address ? 'streetName' then 's' else '' end
    || case when address ? 'buildingNumber' then 'b' else '' end || case when address ? 'postalCode' then 'p' else '' end
    || case when address ? 'state' then 't' else '' end || case when account_type is null then '' else 'c' end) as corridor
    from beneficiaries.beneficiaries where partner_id = ${partnerId} and removed_at is null and wallet_address is null order by 1 limit 1`)
    assert.match(JSON.stringify(plan), /Index.*beneficiaries_corridor/)
    assert.doesNotMatch(JSON.stringify(plan), /Sort/)
    const { data } = await service.beneficiaries.list(partnerId, { incompleteOn: today })
    assert.deepEqual(
      data.map(({ id }) => id),
      [payee.id],
    )
  })

  test('the requirements of a country and a currency include the dates from which they apply', () => {
    const { requirements } = service.beneficiaries
    const found = requirements({ country: 'US', currency: 'USD' })
    assert.ok(
      found.some(({ field, rule, from }) => field === 'address.city' && rule === 'Required' && from === '2026-11-14'),
    )
    assert.deepEqual(requirements({ country: 'US', currency: 'USDC' }), [])
    assert.throws(() => requirements({ country: 'US', currency: 'ABC' }), Refusal)
  })
})

suite('BICs', async () => {
  const service = await useModules({ connectionsMax: 8 })
  beforeEach(async () => {
    await service.db.run(sql`delete from beneficiaries.bics`)
    await service.db.run(sql`delete from beneficiaries.bic_directories`)
  })

  const header = 'country,bank code,BIC,name\n'
  const commerzbank = 'DE,37040044,COBADEFFXXX,Commerzbank\n'
  const natWest = 'GB,NWBK,NWBKGB2LXXX,NatWest\n'
  const branch = 'GB,NWBK601613,NWBKGB21613,NatWest Wakefield\n'
  const load = (...lines: readonly string[]) => service.beneficiaries.bicDirectory.load(header + lines.join(''), 'Sam')
  const countsOf = ({ version, entries, added, changed, removed, isRepetition }: Awaited<ReturnType<typeof load>>) => ({
    version,
    counts: [entries, added, changed, removed],
    isRepetition,
  })
  const bicOf = async (partnerId: string, id: string) => (await service.beneficiaries.get(partnerId, id)).bic
  const german = { name: 'Grace Hopper', iban: 'DE89370400440532013000', currency: 'EUR' }
  const british = { name: 'Grace Hopper', iban: 'GB29NWBK60161331926819', currency: 'GBP' }
  const refusedBic = (says: RegExp) => (error: unknown) => {
    assert(error instanceof Refusal, String(error))
    assert.deepEqual([error.code, error.errors[0]?.pointer], ['validation_failed', '/bic'])
    assert.match(error.errors[0]?.message ?? '', says)
    return true
  }

  test('each version of the directory shows its changes, and loading the same file again creates no version', async () => {
    const { bicDirectory } = service.beneficiaries
    assert.equal(await bicDirectory.current(service.db), undefined)
    assert.deepEqual(countsOf(await load(commerzbank, natWest)), {
      version: 1,
      counts: [2, 2, 0, 0],
      isRepetition: false,
    })
    assert.deepEqual(countsOf(await load(commerzbank, natWest)), {
      version: 1,
      counts: [2, 2, 0, 0],
      isRepetition: true,
    })
    const next = await load(commerzbank.replace('Commerzbank', 'Commerz'), branch)
    assert.deepEqual(countsOf(next), { version: 2, counts: [2, 1, 1, 1], isRepetition: false })
    const { isRepetition: _no, ...row } = next
    assert.deepEqual(await bicDirectory.current(service.db), row)
    assert.equal(row.loadedBy, 'Sam')
    const history = await service.db.rows(sql`
    select bank_code, from_version, until_version from beneficiaries.bics order by bank_code, from_version`)
    assert.deepEqual(history, [
      { bankCode: '37040044', fromVersion: 1, untilVersion: 2 },
      { bankCode: '37040044', fromVersion: 2, untilVersion: null },
      { bankCode: 'NWBK', fromVersion: 1, untilVersion: 2 },
      { bankCode: 'NWBK601613', fromVersion: 2, untilVersion: null },
    ])
  })

  test('a file with a wrong line changes nothing', async () => {
    await load(commerzbank)
    await assert.rejects(
      load(natWest, 'DE,1,COBADEFF,Bank\n'),
      (error) => error instanceof BicFileError && error.line === 3,
    )
    assert.equal((await service.beneficiaries.bicDirectory.current(service.db))?.version, 1)
  })

  test('two concurrent loads make two versions in sequence', async () => {
    const loaded = await Promise.all([load(commerzbank), load(commerzbank, natWest)])
    assert.deepEqual(loaded.map(({ version }) => version).toSorted(), [1, 2])
    const standing = await service.db.rows(sql`select bank_code from beneficiaries.bics where until_version is null`)
    const newest = loaded.find(({ version }) => version === 2)
    assert.equal(standing.length, newest?.entries)
  })

  test('without a directory BICs are not completed, and only their country is checked', async () => {
    const { partnerId } = await addPartner(service)
    assert.equal((await service.beneficiaries.create(partnerId, german)).bic, null)
    assert.equal((await service.beneficiaries.create(partnerId, { ...german, bic: 'DEUTDEFF' })).bic, 'DEUTDEFF')
    await assert.rejects(
      service.beneficiaries.create(partnerId, { ...german, bic: 'ABNANL2A' }),
      refusedBic(/must be DE$/),
    )
  })

  test("an absent BIC is completed, the bank's BIC is kept, and another BIC is refused with a pointer", async () => {
    await load(commerzbank, natWest, branch)
    const { partnerId } = await addPartner(service)
    const create = (input: {
      readonly name: string
      readonly iban: string
      readonly currency: string
      readonly bic?: string
    }) => service.beneficiaries.create(partnerId, input)
    const completed = await create(german)
    assert.equal(completed.bic, 'COBADEFFXXX')
    assert.deepEqual(await service.beneficiaries.get(partnerId, completed.id), completed)
    assert.equal((await create(british)).bic, 'NWBKGB21613', 'the branch comes before the bank')
    assert.equal((await create({ ...german, bic: 'cobadeff370' })).bic, 'COBADEFF370')
    await assert.rejects(create({ ...german, bic: 'DEUTDEFF' }), refusedBic(/not the BIC of the bank/))
    await assert.rejects(create({ ...german, bic: 'ABNANL2A' }), refusedBic(/must be DE$/))
    // The directory does not list the bank, so only the country is compared.
    const dutch = { ...german, iban: 'NL91ABNA0417164300' }
    assert.equal((await create(dutch)).bic, null)
    assert.equal((await create({ ...dutch, bic: 'INGBNL2A' })).bic, 'INGBNL2A')
    await assert.rejects(create({ ...dutch, bic: 'COBADEFF' }), refusedBic(/must be NL$/))
  })

  test('a load updates completed BICs, keeps given BICs, and removes BICs of banks that are no longer listed', async () => {
    const { partnerId } = await addPartner(service)
    const other = await addPartner(service)
    const { beneficiaries } = service
    const [without, given, removed] = [
      await beneficiaries.create(partnerId, german),
      await beneficiaries.create(partnerId, { ...german, bic: 'COBADEFF370' }),
      await beneficiaries.create(partnerId, german),
    ]
    await beneficiaries.remove(partnerId, removed.id)
    const wallet = { name: 'Grace', currency: 'USDC', walletAddress: '0x52908400098527886E0F7030069857D2E4169EE7' }
    await beneficiaries.create(partnerId, wallet)
    const { completeAll } = beneficiaries.bicDirectory
    await load(commerzbank)
    // Two beneficiaries of `addPartner`, and one of these.
    assert.equal(await completeAll(partnerId), 3)
    assert.equal(await completeAll(partnerId), 0)
    assert.equal(await bicOf(partnerId, without.id), 'COBADEFFXXX')
    assert.equal(await bicOf(partnerId, given.id), 'COBADEFF370')
    assert.equal(await bicOf(other.partnerId, other.beneficiary.id), null, 'each partner is completed on its own')
    await load(commerzbank.replace('COBADEFFXXX', 'COBADEFF700'))
    assert.deepEqual(
      await Promise.all([completeAll(partnerId), completeAll(partnerId)]).then((both) => both.toSorted()),
      [0, 3],
    )
    assert.equal(await bicOf(partnerId, without.id), 'COBADEFF700')
    await load(natWest)
    assert.equal(await completeAll(partnerId), 3)
    assert.equal(await bicOf(partnerId, without.id), null)
  })

  test('a payout and its instruction contain the completed BIC', async () => {
    const partner = await addPartner(service, 10_00n)
    await load(commerzbank)
    await service.beneficiaries.bicDirectory.completeAll(partner.partnerId)
    const { payout } = await pay(service, partner, '1.00', { idempotencyKey: newId() })
    assert.equal(payout.creditorBic, 'COBADEFFXXX')
  })
})
