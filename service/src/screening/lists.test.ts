/** Tests lists on a real database: OFAC, politically exposed persons, second datum, earlier names, ages. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { suite, test } from 'node:test'
import { addPartner, createTestService, pay, type Service, stepMsDefault } from '../../../test/support/composition.ts'
import { readPepList, readSanctionsList, type SanctionsList } from './index.ts'
import { Refusal } from '../kernel/api/index.ts'
import { dayMs, minuteMs, newId, secondMs } from '../kernel/index.ts'
import { processBankNotifications, submitDuePayouts } from '../banks/settlement/index.ts'
import {
  addHolder,
  decideAll,
  listedName,
  sampleList,
  screenAll,
  sendCredit,
  depositState,
} from '../../../test/support/screening/held.ts'
import { useModules } from '../../../test/support/fixture.ts'
import { operatorPartnerId } from '../cases/index.ts'
import type { ListEntry } from './lists/entry.ts'
import { namesToCompare } from './lists.ts'
import { listExclusions } from './store.ts'

suite('OFAC', async () => {
  const service = await useModules()
  const partner = await addPartner(service)

  const listedWallet = '0x00000000000000000000000000000000000Ba5Ed'
  const addWallet = (walletAddress: string) =>
    service.beneficiaries.create(partner.partnerId, { name: 'Grace Hopper', currency: 'USDC', walletAddress })
  async function work(): Promise<void> {
    while ((await service.screener.sweepStep()) > 0);
    while ((await service.screener.screenStep()) > 0);
  }
  const hitsOf = async (subjectId: string) =>
    (await service.screening.openHits(undefined, 1000)).filter((hit) => hit.subjectId === subjectId)

  async function* bytesOf(name: string): AsyncGenerator<Uint8Array> {
    yield await readFile(new URL(`samples/${name}.xml`, import.meta.url))
  }

  test("OFAC's advanced file can replace the other file, and only entries with different data change", async () => {
    const counts = async (name: string) => {
      const list = await readSanctionsList(bytesOf(name))
      const { source, added, changed, removed } = await service.screening.lists.load(list, 'Sam Staff')
      return [source, added, changed, removed]
    }
    assert.deepEqual(await counts('ofac'), ['ofac', 3, 0, 0])
    // One of them has a name in its original script.
    assert.deepEqual(await counts('ofac-advanced'), ['ofac', 0, 1, 0])
    const account = { iban: 'DE89370400440532013000', currency: 'EUR', name: 'هادی کشوند' } as const
    const { id } = await service.beneficiaries.create(partner.partnerId, account)
    await work()
    assert.deepEqual(
      (await hitsOf(id)).map(({ entryId, listedName }) => [entryId, listedName]),
      [['99001', 'کشوند هادی']],
    )
  })

  test('a listed wallet is a hit under any name, and holds payments until two people clear it', async () => {
    const { partnerId } = partner
    const { id } = await addWallet(listedWallet.toLowerCase())
    const other = await addWallet('0x00000000000000000000000000000000000ba5ee')
    await work()
    const holdOf = async (subjectId: string) => {
      const key = { partnerId, kind: 'beneficiary', id: subjectId } as const
      return (await service.screening.holdsOf([key]))(key)
    }
    assert.deepEqual(await hitsOf(other.id), [])
    assert.equal(await holdOf(other.id), undefined)
    const [hit, ...more] = await hitsOf(id)
    assert.ok(hit && more.length === 0)
    const { role, entryId, score, listedName } = hit
    assert.deepEqual(
      [role, entryId, score, listedName.toLowerCase()],
      ['account', '99002', 100, listedWallet.toLowerCase()],
    )
    assert.equal(await holdOf(id), 'open')
    await work()
    assert.equal((await hitsOf(id)).length, 1)
    for (const staff of ['Sam Staff', 'Kim Staff']) {
      assert.equal(await holdOf(id), 'open')
      const deciding = {
        partnerId,
        id: hit.id,
        outcome: 'clear',
        disposition: 'birth_differs',
        staff,
        note: 'The list was mistaken.',
      } as const
      await service.db.transaction((tx) => service.screening.decide(tx, deciding))
    }
    assert.equal(await holdOf(id), undefined)
  })

  test("money from a listed wallet is held under any payer's name", async () => {
    const { partnerId } = partner
    const credit = {
      partnerId,
      customer: undefined,
      payer: undefined,
      payerName: 'Grace Hopper',
      payerCountries: [],
      craftText: null,
    }
    const credits = [
      listedWallet,
      listedWallet.toLowerCase(),
      '0x00000000000000000000000000000000000Ba5Ee',
      '',
    ].flatMap((payerAccount) => [credit, { ...credit, payerName: '' }].map((each) => ({ ...each, payerAccount })))
    const holds = await service.db.transaction((tx) => service.screening.holdsOfCredits(tx, credits))
    assert.deepEqual(holds, ['open', 'open', 'open', 'open', undefined, undefined, undefined, undefined])
  })
})

suite('politically exposed persons', async () => {
  async function* bytes(): AsyncGenerator<Uint8Array> {
    yield await readFile(new URL('samples/peps.csv', import.meta.url))
  }
  const sample = (name = 'invented') => readPepList(bytes(), `pep:${name}`)
  const load = (list: SanctionsList, into: Service = service) => into.screening.lists.load(list, 'Sam Staff')
  const service = await useModules()
  await service.db.transaction((tx) => service.access.addOperator(tx, operatorPartnerId))
  await load(await sample())

  /** Creates a partner whose customer has this name. */
  async function withCustomer(kyc: object, into: Service = service) {
    const partner = await addPartner(into, 1_000_00n)
    await into.customers.update(partner.partnerId, partner.customer.id, { kyc })
    await screenAll(into)
    const hits = async () =>
      (await into.screening.openHits(undefined, 1000)).filter(({ partnerId }) => partnerId === partner.partnerId)
    const review = async () => (await into.customers.reviews.list(into.db, partner.partnerId))[0]
    const payout = async () => {
      const { payout: made } = await pay(into, partner, '10.00')
      into.clock.advance(31 * secondMs)
      await submitDuePayouts(into.settlement)
      return (await into.payouts.get(partner.partnerId, made.id)).status
    }
    return { ...partner, hits, review, payout }
  }
  const today = (of: Service = service) => of.clock.now().toISOString().slice(0, 10)

  test('hits on a customer and its owners in any spelling do not stop payments or raise the risk while open', async () => {
    const { hits, review, payout } = await withCustomer({
      fullName: 'Otilie Varlundt',
      uboFirstName1: 'Drenko',
      uboLastName1: 'Zavratnik',
    })
    assert.deepEqual((await hits()).map(({ source, entryId, role }) => `${source} ${entryId} ${role}`).toSorted(), [
      'pep:invented xx-pep-1 fullName',
      'pep:invented xx-pep-2 owner1',
    ])
    assert.equal(await payout(), 'Sent')
    assert.equal(await review(), undefined)
  })

  test('a hit that two people confirm gives the customer high risk and a due review, and payments continue', async () => {
    const { hits, review, payout, partnerId, customer } = await withCustomer({ fullName: 'Ottilie Varlund' })
    const [hit] = await hits()
    assert.ok(hit)
    const deciding = {
      partnerId,
      id: hit.id,
      outcome: 'confirm',
      disposition: 'data_agree',
      note: 'The same date of birth.',
    } as const
    const decide = (staff: string) =>
      service.db.transaction((tx) => service.screening.decide(tx, { ...deciding, staff }))
    await decide('Sam Staff')
    assert.equal(await review(), undefined, 'one person proposes')
    await decide('Kim Staff')
    const { risk, dueOn, reviewedBy } = (await review()) ?? {}
    assert.deepEqual({ risk, dueOn, reviewedBy }, { risk: 'high', dueOn: today(), reviewedBy: 'Kim Staff' })
    const overdue = await service.customers.reviews.overdue(service.db, partnerId)
    assert.deepEqual(
      overdue.map(({ customerId }) => customerId),
      [customer.id],
    )
    assert.equal(await payout(), 'Sent')
  })

  test('a confirmed hit raises the risk of an existing review and makes it due today', async () => {
    const { partnerId, customer, review } = await withCustomer({ fullName: 'Drenko Zavratnik' })
    await service.db.transaction((tx) =>
      service.customers.reviews.set(tx, { partnerId, customerRef: customer.id, risk: 'low', staff: 'Ada Other' }),
    )
    service.clock.advance(3 * dayMs)
    assert.equal(await decideAll(service, partnerId, 'confirm'), 2)
    const { risk, dueOn, reviewedBy } = (await review()) ?? {}
    assert.deepEqual({ risk, dueOn, reviewedBy }, { risk: 'high', dueOn: today(), reviewedBy: 'Ada Other' })
  })

  test('a cleared hit does not raise the risk', async () => {
    const { partnerId, review } = await withCustomer({ fullName: 'Drenko Zavratnik' })
    await decideAll(service, partnerId, 'clear')
    assert.equal(await review(), undefined)
  })

  test('single words, beneficiaries and payers are not compared with politically exposed persons', async () => {
    const { partnerId, customer, hits } = await withCustomer({ fullName: 'Otti' })
    const account = { iban: 'DE89370400440532013000', currency: 'EUR' } as const
    await service.beneficiaries.create(partnerId, { ...account, name: 'Ottilie Varlund' })
    await screenAll(service)
    const { iban } = (await service.accounts.create(partnerId, customer.id)).ibans[0]
    await sendCredit(service, iban, 'Ottilie Varlund')
    service.clock.advance(stepMsDefault)
    await processBankNotifications(service.settlement)
    await processBankNotifications(service.settlement)
    assert.deepEqual((await depositState(service, partnerId)).statuses, ['Completed'])
    assert.deepEqual(await hits(), [])
  })

  test('lists with different names coexist, and a list that lost more than half of its records is refused', async () => {
    const later = (list: SanctionsList, keep: number): SanctionsList => ({
      ...list,
      hash: newId(),
      publishedAt: new Date(list.publishedAt.getTime() + dayMs),
      entries: list.entries.slice(0, keep),
    })
    const other = await load(later(await sample('other'), 1))
    assert.deepEqual([other.source, other.entries], ['pep:other', 1])
    const { generation } = other
    await assert.rejects(load(later(await sample(), 1)), (error: unknown) => {
      assert.ok(error instanceof Refusal)
      assert.match(error.detail ?? '', /The list has 1 records, and the loaded list 3: is the file complete\?/)
      return true
    })
    assert.equal(await service.screening.lists.generation(service.db), generation)
    const { hits } = await withCustomer({ fullName: 'Ottilie Varlund' })
    assert.deepEqual((await hits()).map(({ source }) => source).toSorted(), ['pep:invented', 'pep:other'])
    assert.equal((await load(later(await sample(), 2))).removed, 1)
    const remove = (name: 'other' | 'none') =>
      service.db.transaction((tx) => service.screening.lists.remove(tx, `pep:${name}`, 'Sam Staff'))
    const removed = await remove('other')
    assert.deepEqual([removed.source, removed.entries, removed.removed], ['pep:other', 0, 1])
    for (const name of ['other', 'none'] as const)
      await assert.rejects(remove(name), (error: unknown) => error instanceof Refusal && error.code === 'not_found')
    const again = await withCustomer({ fullName: 'Ottilie Varlund' })
    assert.deepEqual(
      (await again.hits()).map(({ source }) => source),
      ['pep:invented'],
    )
    assert.equal((await load(later(await sample('other'), 1))).added, 1, 'the same file is loaded again')
    await remove('other')
  })

  test('a confirmed hit does not prevent the erasure of a customer', async () => {
    const { partnerId, customer } = await withCustomer({ fullName: 'Ottilie Varlund' })
    await decideAll(service, partnerId, 'confirm')
    await service.db.transaction((tx) => service.screening.forget(tx, partnerId, [customer.id]))
    const { screening, db } = service
    assert.equal(await screening.screenedAt(db, { partnerId, kind: 'customer', id: customer.id }), null)
  })

  test('with PEP_HITS=hold payments wait for the decision', async () => {
    const strict = await createTestService({ settings: { PEP_HITS: 'hold' } })
    try {
      await load(await sample(), strict)
      const { payout, partnerId, customer } = await withCustomer({ fullName: 'Ottilie Varlund' }, strict)
      assert.equal(await payout(), 'Pending')
      const { screening } = strict
      assert.equal((await screening.hitsOn(partnerId, [{ partnerId, kind: 'customer', id: customer.id }])).length, 1)
      await decideAll(strict, partnerId, 'clear')
      assert.equal(await payout(), 'Sent')
    } finally {
      await strict.close()
    }
  })
})

suite('second datum', async () => {
  let days = 0
  const service = await useModules()
  await service.db.transaction((tx) => service.access.addOperator(tx, operatorPartnerId))

  const facts = { countries: ['EG'], documents: [], addresses: ['Cairo'] }
  const person = (id: string, text: string, more: Partial<ListEntry> = {}): ListEntry => ({
    ...{ id, reference: id, kind: 'person', names: [{ text, quality: 'primary' }] },
    ...{ births: ['12 Apr 1961'], programmes: ['X'] },
    ...facts,
    ...more,
  })
  const load = (entries: readonly ListEntry[], hash: string = newId(), into: Service = service) => {
    days += 1
    const publishedAt = new Date(Date.UTC(2026, 0, 1) + days * dayMs)
    return into.screening.lists.load({ source: 'un', publishedAt, hash, entries }, 'Sam Staff')
  }

  async function addCustomer(kyc: object, into: Service = service) {
    const partner = await addPartner(into)
    const { partnerId, customer } = partner
    const update = async (fields: object) => {
      await into.customers.update(partnerId, customer.id, { kyc: fields })
      await screenAll(into)
    }
    await update(kyc)
    const hits = async () =>
      (await into.screening.openHits(undefined, 1000)).filter((hit) => hit.partnerId === partnerId)
    const reasons = async () =>
      (await listExclusions(into.db, partnerId, undefined, 10)).map(
        ({ role, source, entryId, reason }) => `${role} ${source} ${entryId} ${reason}`,
      )
    return { ...partner, update, hits, reasons }
  }
  const common = { fullName: 'Mohamed Hassan', dateOfBirth: '1990-01-01', citizenshipCountryCode: 'EG' }

  test('a customer with a common name and a different date of birth gets an exclusion instead of a hit', async () => {
    await load([person('1', 'Mohamed Hassan'), person('2', 'Borislav Tremurov')])
    const { hits, reasons } = await addCustomer(common)
    assert.deepEqual([await hits(), await reasons()], [[], ['fullName un 1 birth']])
  })

  test('a corrected date of birth is compared again, but only people end a hit', async () => {
    const { update, hits, reasons } = await addCustomer(common)
    await update({ dateOfBirth: '1961-04-12' })
    assert.deepEqual([(await hits()).length, await reasons()], [1, []])
    await update({ dateOfBirth: '1990-01-01' })
    assert.deepEqual([(await hits()).length, await reasons()], [1, []])
  })

  test('payees, owners and rare names are hits regardless of other data', async () => {
    const { partnerId, hits, reasons } = await addCustomer({
      ...common,
      fullName: 'Borislav Tremurov',
      uboFirstName1: 'Mohamed',
      uboLastName1: 'Hassan',
    })
    await service.beneficiaries.create(partnerId, {
      ...{ iban: 'DE89370400440532013000', currency: 'EUR', name: 'Mohamed Hassan' },
    })
    await screenAll(service)
    assert.deepEqual((await hits()).map(({ role, entryId }) => `${role} ${entryId}`).toSorted(), [
      'fullName 2',
      'name 1',
      'owner1 1',
    ])
    assert.deepEqual(await reasons(), [])
  })

  test('an equal document number keeps the hit, even with a different date of birth', async () => {
    const documents = [{ type: 'Passport', number: 'AB 123456', country: 'EG' }]
    await load([person('1', 'Mohamed Hassan', { documents }), person('2', 'Borislav Tremurov')])
    const { hits, reasons } = await addCustomer({ ...common, personalIdentificationNumber: 'ab123456' })
    assert.deepEqual([(await hits()).length, await reasons()], [1, []])
  })

  test("a payee's address excludes an incomplete common name if no country agrees", async () => {
    await load([person('4', 'Mohamed Vadenskar Hassan'), person('5', 'Orlin Karzhovi Tremurov')])
    const { partnerId, hits, reasons } = await addCustomer({ fullName: 'Grace Hopper' })
    const add = async (name: string, iban: string, country?: string) => {
      const address = country === undefined ? {} : { address: { city: 'Town', country } }
      const { id } = await service.beneficiaries.create(partnerId, { iban, currency: 'EUR', name, ...address })
      await screenAll(service)
      const found = (await hits()).filter(({ subjectId }) => subjectId === id)
      return { id, found: found.map(({ entryId }) => entryId) }
    }
    const german = 'DE89370400440532013000'
    assert.deepEqual((await add('Mohamed Hassan', german)).found, ['4'])
    assert.deepEqual((await add('Mohamed Hassan', german, 'EG')).found, ['4'])
    assert.deepEqual((await add('Mohamed Vadenskar Hassan', german, 'DE')).found, ['4'])
    assert.deepEqual((await add('Orlin Tremurov', german, 'DE')).found, ['5'])
    const { id, found } = await add('Mohamed Hassan', german, 'DE')
    assert.deepEqual([found, await reasons()], [[], ['name un 4 country']])
    const address = { city: 'Cairo', country: 'EG' }
    await service.beneficiaries.update(partnerId, { id, address })
    await screenAll(service)
    assert.deepEqual([(await hits()).filter(({ subjectId }) => subjectId === id).length, await reasons()], [1, []])
  })

  test('a weak name of one identifying word is not compared', () => {
    const texts = ['Abu Saleh', 'Abu Saleh Tremurov', 'Haji']
    const weak = texts.map((text) => ({ text, quality: 'weak' }) as const)
    const compared = namesToCompare({ kind: 'person', names: [{ text: 'Abu Karim', quality: 'good' }, ...weak] })
    assert.deepEqual(
      compared.map(({ text }) => text),
      ['Abu Karim', 'Abu Saleh Tremurov'],
    )
  })

  test('an erasure also deletes exclusions', async () => {
    const { partnerId, customer, reasons } = await addCustomer(common)
    assert.equal((await reasons()).length, 1)
    await service.db.transaction((tx) => service.screening.forget(tx, partnerId, [customer.id]))
    assert.deepEqual(await reasons(), [])
  })

  test('with SECOND_DATUM=off every name that reaches the score is a hit', async () => {
    const strict = await createTestService({ settings: { SECOND_DATUM: 'off' } })
    try {
      await load([person('1', 'Mohamed Hassan')], undefined, strict)
      const { hits, reasons } = await addCustomer(common, strict)
      assert.deepEqual([(await hits()).length, await reasons()], [1, []])
    } finally {
      await strict.close()
    }
  })

  test('a cleared hit stays cleared if a new version reads more data or an address changes, but not a nationality', async () => {
    const {
      countries: _countries,
      documents: _documents,
      addresses: _addresses,
      ...before
    } = person('3', 'Orlin Vadenskar')
    await load([before])
    const { partnerId, hits } = await addCustomer({ fullName: 'Orlin Vadenskar' })
    assert.equal(await decideAll(service, partnerId, 'clear'), 2)
    const changes = async (entry: Partial<ListEntry>, hash?: string) => {
      const { changed, isRepetition } = await load([person('3', 'Orlin Vadenskar', entry)], hash)
      await screenAll(service)
      return { changed, isRepetition, open: (await hits()).length }
    }
    const hash = newId()
    const births = ['circa 12 Apr 1961', '1963 to 1964']
    assert.deepEqual(await changes({ births }, hash), { changed: 0, isRepetition: false, open: 0 })
    assert.deepEqual(await changes({ births }, hash), { changed: 0, isRepetition: true, open: 0 })
    const snapshot = await service.screening.lists.snapshot()
    const [match] = snapshot?.index.search('Orlin Vadenskar', 88) ?? []
    assert.deepEqual([match?.entry.births, match?.entry.countries], [births, ['EG']])
    assert.deepEqual(await changes({ births, addresses: ['Giza'] }), { changed: 0, isRepetition: false, open: 0 })
    assert.deepEqual(await changes({ births, countries: ['EG', 'QA'] }), { changed: 1, isRepetition: false, open: 1 })
  })
})

suite('earlier names', async () => {
  const service = await useModules()
  await service.screening.lists.load(await sampleList(), 'Sam Staff')

  test('a name and an entry have one hit and one decision, even if other names are added', async () => {
    const { beneficiaries, screener, screening, db } = service
    const { partnerId, beneficiary } = await addPartner(service)
    const { id } = beneficiary
    const named = ['Borislav Tremurov', 'Boris Tremuroff', 'Ada King', 'Borislav Tremurof', 'Borislav Tremurov']
    for (const name of named) {
      await beneficiaries.update(partnerId, { id, name })
      await screenAll(service)
    }
    const open = async () =>
      (await screening.openHits(undefined, 100))
        .filter((hit) => hit.partnerId === partnerId)
        .map((hit) => [hit.name, hit.nameNumber])
    const hits = [
      ['Borislav Tremurov', 0],
      ['Boris Tremuroff', 1],
      ['Borislav Tremurof', 2],
    ]
    assert.deepEqual(await open(), hits)
    const names = await screener.namesOf(db, { partnerId, kind: 'beneficiary', id })
    const kept = ['Borislav Tremurov', 'Grace Hopper', 'Boris Tremuroff', 'Ada King', 'Borislav Tremurof']
    assert.deepEqual(
      names.map(({ name }) => name),
      kept,
    )
    await decideAll(service, partnerId, 'clear')
    for (const name of named.toReversed()) await beneficiaries.update(partnerId, { id, name })
    await screenAll(service)
    assert.deepEqual(await open(), [])
  })

  test('erased subjects lose their earlier names unless a hit is open or confirmed', async () => {
    const { beneficiaries, screener, screening, db } = service
    const { partnerId, beneficiary, ownBeneficiary } = await addPartner(service)
    for (const [{ id }, name] of [
      [beneficiary, 'Borislav Tremurov'],
      [ownBeneficiary, 'Ada King'],
    ] as const)
      await beneficiaries.update(partnerId, { id, name })
    await screenAll(service)
    await db.transaction((tx) => screening.forget(tx, partnerId, [beneficiary.id, ownBeneficiary.id]))
    const countOf = async ({ id }: { readonly id: string }) =>
      (await screener.namesOf(db, { partnerId, kind: 'beneficiary', id })).length
    assert.deepEqual([await countOf(beneficiary), await countOf(ownBeneficiary)], [2, 1])
    assert.equal((await screening.openHits(undefined, 100)).filter((hit) => hit.partnerId === partnerId).length, 1)
  })
})

suite('ages of hits and names', async () => {
  const service = await useModules()
  await service.db.transaction((tx) => service.access.addOperator(tx, operatorPartnerId))

  /** Reads the ages in minutes, by kind. Null: nothing waits. */
  async function ages() {
    const now = service.clock.now().getTime()
    const { screening, payoutAges, deposits } = service
    const since = {
      names: await screening.oldestDueSubject(),
      hits: await screening.oldestOpenHit(),
      payouts: await payoutAges.oldestInScreening(),
      deposits: await deposits.oldestInScreening(),
    }
    return Object.fromEntries(
      Object.entries(since).map(([name, time]) => [
        name,
        time === null ? null : Math.floor((now - time.getTime()) / minuteMs),
      ]),
    )
  }
  const nothing = { names: null, hits: null, payouts: null, deposits: null }
  const pass = (minutes: number) => service.clock.advance(minutes * minuteMs)

  test('the ages of waiting hits and names count from their cause until the decision', async () => {
    const partner = await addHolder(service, listedName)
    pass(60)
    assert.deepEqual(await ages(), nothing, 'without a list no name waits')
    await service.screening.lists.load(await sampleList(), 'Sam Staff')
    pass(10)
    assert.deepEqual(
      await ages(),
      { ...nothing, names: 10 },
      'a name waits since the list, and not since it was written',
    )
    await screenAll(service)
    pass(20)
    assert.deepEqual(await ages(), { ...nothing, hits: 20 })
    await sendCredit(service, partner.iban)
    service.clock.advance(stepMsDefault)
    await processBankNotifications(service.settlement)
    const float = { debit: 'settlement.sandbox', currency: 'EUR', amount: 100_00n } as const
    await service.db.transaction((tx) => service.deposits.creditPartner(tx, partner.partnerId, float))
    await pay(service, partner, '10.00')
    pass(5)
    await submitDuePayouts(service.settlement)
    pass(30)
    assert.deepEqual(await ages(), { names: 35, hits: 55, payouts: 30, deposits: 35 }, 'the payer is a new name')
    await screenAll(service)
    await decideAll(service, partner.partnerId, 'clear')
    pass(1)
    await service.deposits.screenDue(100)
    await submitDuePayouts(service.settlement)
    assert.deepEqual(await ages(), nothing)
    assert.equal(await service.cases.oldestOpen(), null)
  })

  test('after a second list is loaded, names count as waiting since then', async () => {
    const list = await sampleList()
    const later = new Date(list.publishedAt.getTime() + 60 * 24 * minuteMs)
    await service.screening.lists.load({ ...list, hash: 'another', publishedAt: later }, 'Sam Staff')
    pass(7)
    assert.equal((await ages())['names'], 7)
    await screenAll(service)
    assert.deepEqual(await ages(), nothing)
  })
})
