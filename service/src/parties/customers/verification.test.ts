/** Verification of customers: requests, states and reviews. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { kycFields, verificationCodes } from '@partner-payments/wire'
import type { CustomerType, KycFields } from './rules.ts'
import { verifyKyc } from './verification.ts'
import { dayMs, hourMs, newId } from '../../kernel/index.ts'
import { sql } from '../../postgres/index.ts'
import { addPartner } from '../../../../test/support/composition.ts'
import { useModules } from '../../../../test/support/fixture.ts'
import type { Risk } from './reviews.ts'

suite('verification', () => {
  const now = new Date('2026-03-01T12:00:00.000Z')

  /** Returns `field state code` of every field in the answer, or of one field. */
  function verdicts(kyc: KycFields, customerType: CustomerType = 'Individual', only?: keyof KycFields, at = now) {
    return verifyKyc(kyc, customerType, at)
      .fields.filter(({ field }) => only === undefined || field === only)
      .map(({ field, state, code }) => [field, state, ...(code === undefined ? [] : [code])].join(' '))
  }

  const person: KycFields = {
    addressLine1: '12 St James Square',
    citizenshipCountryCode: 'GB',
    city: 'London',
    dateOfBirth: '1990-12-10',
    fullName: 'Ada Lovelace',
  }
  const trader: KycFields = {
    ...person,
    countryOfPrincipalBusiness: 'GB',
    natureOfBusiness: 'Repairs engines',
    taxId: '1955839661',
  }
  const business: KycFields = {
    addressLine1: 'Hauptstr. 1',
    city: 'Berlin',
    countryOfIncorporation: 'DE',
    dateOfIncorporation: '2001-05-05',
    legalForm: 'GmbH',
    legalName: 'Analytical Engines GmbH',
    natureOfBusiness: 'Builds engines',
    registrationNumber: 'HRB 1',
    taxId: 'DE136695976',
    uboFirstName1: 'Ada',
    uboLastName1: 'Lovelace',
  }
  const complete = { Individual: person, SoleTrader: trader, Business: business } as const
  const types = ['Individual', 'SoleTrader', 'Business'] as const

  test('a field that contains only spaces counts as missing', () => {
    assert.deepEqual(verdicts({ ...person, fullName: ' \t', lei: ' ' }, 'Individual', 'fullName'), [
      'fullName Missing field_required',
    ])
    assert.deepEqual(verifyKyc({ ...person, lei: ' ' }, 'Individual', now), verifyKyc(person, 'Individual', now))
    assert.equal(verifyKyc({ ...person, residenceAddress: ' ', city: ' ' }, 'Individual', now).state, 'Incomplete')
  })

  for (const type of types)
    test(`a customer of type ${type} is Complete with all required fields, and Incomplete without any one of them`, () => {
      const kyc = complete[type]
      assert.deepEqual([verifyKyc(kyc, type, now).state, verifyKyc({}, type, now).state], ['Complete', 'Incomplete'])
      assert.equal(verifyKyc(kyc, type, now).fields.length, Object.keys(kyc).length)
      for (const field of Object.keys(kyc) as (keyof KycFields)[]) {
        const { [field]: _left, ...rest } = kyc
        const code = field.startsWith('ubo') ? 'owner_incomplete' : 'field_required'
        assert.deepEqual(verdicts(rest, type, field), [`${field} Missing ${code}`])
        assert.equal(verifyKyc(rest, type, now).state, 'Incomplete')
      }
      assert.deepEqual(
        verifyKyc({}, type, now).fields.map(({ field }) => field),
        Object.keys(kyc).toSorted(),
      )
    })

  test('a residential address on one line replaces the postal address', () => {
    const { addressLine1: _line, city: _city, ...rest } = person
    assert.equal(
      verifyKyc({ ...rest, residenceAddress: '12 St James Square, London' }, 'Individual', now).state,
      'Complete',
    )
  })

  test('the fields are in the order of the interface document, and each refused one has its remediation', () => {
    const kyc = { ...business, lei: 'x', website: 'y', mobilePhone: 'z', taxId: '?', dateOfBirth: '2026-03-02' }
    const { state, fields } = verifyKyc(kyc, 'Business', now)
    assert.equal(state, 'Invalid')
    assert.deepEqual(
      fields.map(({ field }) => field),
      kycFields.filter((field) => field in kyc),
    )
    for (const { code, remediation } of fields)
      assert.equal(remediation, code === undefined ? undefined : verificationCodes[code])
  })

  /** Values with their verdicts. */
  const cases: Readonly<Partial<Record<keyof KycFields, readonly (readonly [string, string])[]>>> = {
    lei: [
      ['529900T8BM49AURSDO55', 'Valid'],
      ['529900t8bm49 aursdo55', 'Valid'],
      ['529900T8BM49AURSDO56', 'Invalid lei_check_digits'],
      ['529900T8BM49AURSOD55', 'Invalid lei_check_digits'],
      ['529900T8BM49AURSDO5', 'Invalid lei_format'],
      ['529900T8BM49AURSDOAA', 'Invalid lei_format'],
      ['not an LEI', 'Invalid lei_format'],
    ],
    mobilePhone: [
      ['+44 7911 123456', 'Valid'],
      ['0044 7911 123456', 'Valid'],
      ['+49 1512 3456789', 'Valid'],
      ['+1 555 123 4567', 'Invalid phone_invalid'],
      ['+44 20 7946 0958', 'Invalid phone_not_mobile'],
      ['07911 123456', 'Invalid phone_not_international'],
      ['+999 123 4567', 'Invalid phone_invalid'],
      ['+44 7911', 'Invalid phone_invalid'],
      ['call me', 'Invalid phone_not_international'],
    ],
    website: [
      ['https://www.example.com/shop?a=1', 'Valid'],
      ['example.co.uk', 'Valid'],
      ['HTTP://EXAMPLE.COM', 'Valid'],
      ['https://müller.de', 'Valid'],
      ['ftp://example.com', 'Invalid website_invalid'],
      ['javascript:alert(1)', 'Invalid website_invalid'],
      ['https://localhost', 'Invalid website_invalid'],
      ['https://10.0.0.1', 'Invalid website_invalid'],
      ['https://user:secret@example.com', 'Invalid website_invalid'],
      ['no url', 'Invalid website_invalid'],
      ['shop', 'Invalid website_invalid'],
    ],
    dateOfBirth: [
      ['2008-03-01', 'Valid'],
      ['2008-03-02', 'Invalid under_age'],
      ['2026-03-01', 'Invalid under_age'],
      ['2026-03-02', 'Invalid date_in_future'],
      ['1906-03-01', 'Valid'],
      ['1905-03-01', 'Invalid age_impossible'],
      ['1815-12-10', 'Invalid age_impossible'],
    ],
    dateOfIncorporation: [
      ['2026-03-01', 'Valid'],
      ['0578-01-01', 'Valid'],
      ['2026-03-02', 'Invalid date_in_future'],
    ],
    citizenshipCountryCode: [['GB', 'Valid']],
    fullName: [['Ada', 'Unchecked']],
    personalIdentificationNumber: [['QQ123456C', 'Unchecked']],
  }
  for (const [name, values] of Object.entries(cases))
    test(`${name} passes or fails by its rule`, () => {
      const field = name as keyof KycFields
      for (const [value, expected] of values)
        assert.deepEqual(verdicts({ [field]: value }, 'Individual', field), [`${field} ${expected}`], value)
    })

  test('a person born on 29 February is 18 on 1 March', () => {
    const field = 'dateOfBirth'
    const kyc = { dateOfBirth: '2008-02-29' }
    assert.deepEqual(verdicts(kyc, 'Individual', field, new Date('2026-02-28T23:59:59.999Z')), [
      'dateOfBirth Invalid under_age',
    ])
    assert.deepEqual(verdicts(kyc, 'Individual', field, new Date('2026-03-01T00:00:00.000Z')), ['dateOfBirth Valid'])
  })

  test("a sole trader's business cannot be older than the person, but a company can", () => {
    const kyc = { dateOfBirth: '1990-01-01', dateOfIncorporation: '1989-12-31' }
    const field = 'dateOfIncorporation'
    assert.deepEqual(verdicts(kyc, 'SoleTrader', field), ['dateOfIncorporation Invalid incorporated_before_birth'])
    assert.deepEqual(verdicts(kyc, 'Business', field), ['dateOfIncorporation Valid'])
  })

  test('the tax number of a business follows the rule of its country, but a person may pay taxes elsewhere', () => {
    const field = 'taxId'
    const of = (kyc: KycFields, type: CustomerType) => verdicts(kyc, type, field)[0]?.slice('taxId '.length)
    const [right, wrong] = ['DE136695976', 'DE136695977']
    assert.equal(of({ taxId: right, countryOfIncorporation: 'DE' }, 'Business'), 'Valid')
    assert.equal(of({ taxId: wrong, countryOfIncorporation: 'DE' }, 'Business'), 'Invalid tax_id_check_digits')
    assert.equal(of({ taxId: '???', countryOfIncorporation: 'DE' }, 'Business'), 'Invalid tax_id_format')
    assert.equal(of({ taxId: '???', countryOfIncorporation: 'US' }, 'Business'), 'Unchecked')
    assert.equal(of({ taxId: '???' }, 'Business'), 'Unchecked')
    assert.equal(of({ taxId: '86095742719', citizenshipCountryCode: 'DE' }, 'Individual'), 'Valid')
    assert.equal(of({ taxId: '86095742718', citizenshipCountryCode: 'DE' }, 'Individual'), 'Unchecked')
    assert.equal(of({ taxId: '86095742719', countryOfPrincipalBusiness: 'DE' }, 'SoleTrader'), 'Valid')
    assert.equal(of({ taxId: right, countryOfPrincipalBusiness: 'DE' }, 'SoleTrader'), 'Valid')
    assert.equal(of({ taxId: wrong, countryOfPrincipalBusiness: 'DE' }, 'SoleTrader'), 'Invalid tax_id_check_digits')
  })

  test('owners need both names, without gaps and duplicates', () => {
    const owners = (kyc: KycFields) =>
      verdicts({ ...business, ...kyc }, 'Business').filter((text) => text.startsWith('ubo'))
    const first = ['uboFirstName1 Unchecked', 'uboLastName1 Unchecked']
    const [firstName = '', lastName = ''] = first
    assert.deepEqual(owners({ uboFirstName2: 'Grace' }), [
      firstName,
      'uboFirstName2 Unchecked',
      lastName,
      'uboLastName2 Missing owner_incomplete',
    ])
    assert.deepEqual(owners({ uboFirstName3: 'Grace', uboLastName3: 'Hopper' }), [
      firstName,
      'uboFirstName3 Invalid owner_gap',
      lastName,
      'uboLastName3 Invalid owner_gap',
    ])
    assert.deepEqual(owners({ uboFirstName2: ' ada', uboLastName2: 'LOVELACE' }), [
      firstName,
      'uboFirstName2 Invalid owner_duplicate',
      lastName,
      'uboLastName2 Invalid owner_duplicate',
    ])
    const five = [2, 3, 4, 5].flatMap((n) => [
      [`uboFirstName${n}`, `First ${n}`],
      [`uboLastName${n}`, 'Last'],
    ])
    assert.equal(verifyKyc({ ...business, ...Object.fromEntries(five) }, 'Business', now).state, 'Complete')
  })
})

suite('stored states', async () => {
  const start = new Date('2026-03-01T12:00:00.000Z')
  const service = await useModules({ now: start })
  const { clock, customers, db } = service
  const newPartner = () => db.transaction((tx) => service.access.createPartner(tx, 'Partner'))
  const states = ['Complete', 'Incomplete', 'Invalid'] as const
  /** Lists ids by state, newest first. */
  const byState = async (partnerId: string) =>
    Object.fromEntries(
      await Promise.all(
        states.map(async (verificationState) => {
          const { data } = await customers.list(partnerId, { verificationState })
          return [verificationState, data.map(({ id }) => id)] as const
        }),
      ),
    )
  /** Repeats the step of the worker until it finds nothing. */
  async function judgeAll(): Promise<number> {
    let judged = 0
    for (let count = -1; count !== 0; judged += count) count = await customers.verifyStep()
    return judged
  }

  const person = (dateOfBirth: string) => ({
    fullName: 'Ada Lovelace',
    dateOfBirth,
    citizenshipCountryCode: 'GB',
    residenceAddress: '12 St James Square, London',
  })

  test('a customer is found by its current state of verification, and only by its partner', async () => {
    const [partnerId, stranger] = [await newPartner(), await newPartner()]
    const { id: complete } = await customers.create(partnerId, { kyc: person('1990-12-10') })
    const { id: incomplete } = await customers.create(partnerId, { email: 'ada@example.com' })
    const { id: invalid } = await customers.create(partnerId, {
      kyc: { ...person('1990-12-10'), website: 'no website' },
    })
    assert.deepEqual(await byState(partnerId), { Complete: [complete], Incomplete: [incomplete], Invalid: [invalid] })
    assert.deepEqual(await byState(stranger), { Complete: [], Incomplete: [], Invalid: [] })
    for (const id of [complete, incomplete, invalid]) {
      const { state } = await customers.verification(partnerId, id)
      assert.deepEqual((await byState(partnerId))[state], [id])
    }
    await customers.update(partnerId, invalid, { kyc: { website: 'example.com' } })
    await customers.update(partnerId, complete, { kyc: { fullName: null } })
    assert.deepEqual(await byState(partnerId), { Complete: [invalid], Incomplete: [incomplete, complete], Invalid: [] })
  })

  test('after concurrent updates the stored state is that of the stored KYC', async () => {
    const partnerId = await newPartner()
    const { id } = await customers.create(partnerId, { kyc: person('1990-12-10') })
    const websites = ['example.com', 'no website', 'example.org', 'none at all', 'example.net', ' also none ']
    await Promise.all([
      ...websites.map((website) => customers.update(partnerId, id, { kyc: { website } })),
      customers.verifyStep(),
    ])
    const { state } = await customers.verification(partnerId, id)
    assert.deepEqual((await byState(partnerId))[state], [id])
  })

  test('a minor becomes Complete on the 18th birthday, and until then the row reveals only the next midnight', async () => {
    const partnerId = await newPartner()
    const { id } = await customers.create(partnerId, { kyc: person('2008-03-03') })
    const { id: adult } = await customers.create(partnerId, { kyc: person('1990-12-10') })
    assert.deepEqual(await byState(partnerId), { Complete: [adult], Incomplete: [], Invalid: [id] })
    const dueAt = () =>
      db.rows<{ due: Date | null }>(sql`select verification_due_at as due from customers.customers
      where partner_id = ${partnerId} order by id`)
    assert.deepEqual(await dueAt(), [{ due: new Date('2026-03-02T00:00:00Z') }, { due: null }])
    assert.equal(await judgeAll(), 0, 'nothing is due today')
    clock.advance(12 * hourMs)
    assert.equal(await judgeAll(), 1)
    assert.deepEqual((await byState(partnerId))['Invalid'], [id])
    clock.advance(dayMs)
    assert.equal(await judgeAll(), 1)
    assert.deepEqual(await byState(partnerId), { Complete: [adult, id], Incomplete: [], Invalid: [] })
    assert.deepEqual(await dueAt(), [{ due: null }, { due: null }])
  })

  test('the verification of a very old customer is repeated every day', async () => {
    const partnerId = await newPartner()
    const { id } = await customers.create(partnerId, { kyc: person('1905-03-04') })
    assert.deepEqual((await byState(partnerId))['Complete'], [id])
    clock.advance(dayMs)
    await judgeAll()
    assert.deepEqual((await byState(partnerId))['Invalid'], [id], 'older than 120 years')
  })

  test('the worker computes the state of customers that an earlier version wrote, in steps, even from two processes', async () => {
    await judgeAll()
    const partnerIds = [await newPartner(), await newPartner()]
    for (const partnerId of partnerIds)
      for (let n = 0; n < 120; n += 1)
        await customers.create(partnerId, { kyc: person(n < 3 ? '2020-01-01' : '1980-01-01') })
    const expected = await Promise.all(partnerIds.map(byState))
    const [first = '', second = ''] = partnerIds
    // Leaves rows as the earlier version would: created ones of the first partner, and a changed one of the second.
    await db.run(sql`update customers.customers
    set verification_state = null, verified_at = null, verification_due_at = null where partner_id = ${first}`)
    const changed = (await customers.list(second, { limit: '1' })).data[0]?.id ?? ''
    await db.run(sql`update customers.customers set updated_at = updated_at + interval '1 second', verification_state = 'Invalid'
    where partner_id = ${second} and id = ${changed}`)
    const other = (await service.anotherProcess()).customers
    let judged = 0
    for (let idle = 0; idle < 3;) {
      const counts = await Promise.all([customers.verifyStep(), other.verifyStep()])
      judged += counts[0] + counts[1]
      idle = counts[0] + counts[1] === 0 ? idle + 1 : 0
    }
    assert.equal(judged, 121)
    assert.deepEqual(await Promise.all(partnerIds.map(byState)), expected)
  })

  test('unreadable KYC does not get a state and does not stop the worker', async () => {
    const partnerId = await newPartner()
    const broken = await customers.create(partnerId, { kyc: person('1990-12-10') })
    const intact = await customers.create(partnerId, { kyc: person('1990-12-10') })
    await db.run(sql`update customers.customers set kyc_sealed = '\\x0100'::bytea
    where partner_id = ${partnerId} and id = ${broken.id}`)
    await db.run(sql`update customers.customers set verified_at = null where partner_id = ${partnerId}`)
    assert.equal(await judgeAll(), 2)
    assert.deepEqual(await byState(partnerId), { Complete: [intact.id], Incomplete: [], Invalid: [] })
  })
})

suite('reviews', async () => {
  const service = await useModules({ now: new Date('2026-01-31T12:00:00Z') })

  const review = (partnerId: string, customerRef: string, risk: Risk, months?: number) =>
    service.db.transaction((tx) =>
      service.customers.reviews.set(tx, { partnerId, customerRef, risk, staff: 'Ada', ...(months ? { months } : {}) }),
    )
  const overdue = async (partnerId?: string) =>
    (await service.customers.reviews.overdue(service.db, partnerId)).map(({ customerId }) => customerId)

  test('a review is due after the months of the risk class or its own months, at the latest at the end of the month', async () => {
    const { partnerId, customer } = await addPartner(service)
    const dueOn = async (risk: Risk, months?: number) =>
      (await review(partnerId, customer.serviceId, risk, months)).dueOn
    assert.deepEqual(
      [await dueOn('low'), await dueOn('medium'), await dueOn('high'), await dueOn('high', 1)],
      ['2031-01-31', '2029-01-31', '2027-01-31', '2026-02-28'],
    )
    // Each customer has one review, the last one.
    const listed = await service.customers.reviews.list(service.db, partnerId)
    assert.deepEqual(
      listed.map(({ customerId, risk, reviewedBy, dueOn: day }) => [customerId, risk, reviewedBy, day]),
      [[customer.id, 'high', 'Ada', '2026-02-28']],
    )
    await assert.rejects(review(partnerId, newId(), 'low'), { code: 'not_found' })
    await assert.rejects(review(newId(), customer.id, 'low'), { code: 'not_found' })
  })

  test('due reviews of all partners or of one partner are listed, oldest first', async () => {
    const [one, other] = [await addPartner(service), await addPartner(service)]
    const second = await service.customers.create(one.partnerId, { email: 'second@example.com' })
    await review(one.partnerId, one.customer.id, 'high', 2)
    await review(one.partnerId, second.id, 'high', 13)
    await review(other.partnerId, other.customer.id, 'medium', 1)
    const known = new Set([one.customer.id, second.id, other.customer.id])
    const ofTest = async () => (await overdue()).filter((id) => known.has(id))
    assert.deepEqual(await ofTest(), [])
    service.clock.advance(28 * dayMs)
    assert.deepEqual(await ofTest(), [other.customer.id])
    service.clock.advance(31 * dayMs)
    assert.deepEqual(await ofTest(), [other.customer.id, one.customer.id])
    assert.deepEqual(await overdue(one.partnerId), [one.customer.id])
    await review(one.partnerId, one.customer.id, 'low')
    assert.deepEqual(await overdue(one.partnerId), [])
  })

  test('pages contain each due review once, even if many are due on the same day', async () => {
    const { partnerId, customer } = await addPartner(service)
    const ids = [customer.id]
    for (const name of ['b', 'c', 'd', 'e'])
      ids.push((await service.customers.create(partnerId, { email: `${name}-paged@example.com` })).id)
    const [first = '', ...same] = ids
    await review(partnerId, first, 'high', 1)
    for (const id of same) await review(partnerId, id, 'high', 2)
    service.clock.advance(70 * dayMs)
    const { reviews } = service.customers
    const found: string[] = []
    let after: { readonly dueOn: string; readonly customerId: string } | undefined
    for (;;) {
      const rows = await reviews.overduePage(service.db, { after, rowsMax: 2 })
      assert.ok(rows.length <= 2)
      found.push(...rows.map(({ customerId }) => customerId))
      after = rows.at(-1)
      if (rows.length < 2) break
    }
    assert.deepEqual(found, await overdue())
    const known = new Set(ids)
    assert.deepEqual(
      found.filter((id) => known.has(id)),
      [first, ...same.toSorted()],
    )
  })

  test('a customer without a review is listed as missing until it has one or is erased', async () => {
    const { partnerId, customer } = await addPartner(service)
    const missing = async () =>
      (await service.customers.reviews.missing(service.db, partnerId)).map(({ customerId }) => customerId)
    const next = await service.customers.create(partnerId, { email: 'next@example.com' })
    assert.deepEqual(await missing(), [customer.id, next.id])
    await review(partnerId, customer.id, 'low')
    assert.deepEqual(await missing(), [next.id])
    await service.personalData.erasures.erase(partnerId, next.id, false)
    assert.deepEqual(await missing(), [])
  })

  test('the review of an erased customer is not listed, and is deleted when the retention ends', async () => {
    const { partnerId, customer } = await addPartner(service)
    const bare = await service.customers.create(partnerId, { email: 'bare@example.com' })
    for (const { id } of [customer, bare]) await review(partnerId, id, 'high', 1)
    const kept = async () =>
      (
        await service.db.rows<{ id: string }>(
          sql`select customer_id as id from customers.reviews where partner_id = ${partnerId}`,
        )
      ).map(({ id }) => id)
    for (const { id } of [customer, bare]) await service.personalData.erasures.erase(partnerId, id, false)
    assert.deepEqual(await kept(), [customer.id])
    service.clock.advance(40 * dayMs)
    assert.deepEqual(await overdue(partnerId), [])
    service.clock.advance(6 * 366 * dayMs)
    while ((await service.personalData.erasures.step()) > 0);
    assert.deepEqual(await kept(), [])
  })
})
