/** Identity verification, and erasures at the provider. */
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { deliverySignature } from '@partner-payments/wire'
import { addPartner, type TestPartner } from '../../../../test/support/composition.ts'
import { choose } from '../../../../test/support/identity.ts'
import { createIdentityService, simulatorKey } from '../../../../test/support/identity-service.ts'
import { until } from '../../../../test/support/until.ts'
import { dayMs, hourMs, minuteMs, newId, present, secondMs } from '../../kernel/index.ts'
import { sql } from '../../postgres/index.ts'

suite('verification', async () => {
  const service = await createIdentityService({ settings: { KYC_GATES: 'strict', IDENTITY_REQUIRED: 'yes' } })
  after(() => service.close())

  const complete = {
    fullName: 'Ada Lovelace',
    dateOfBirth: '1990-12-10',
    citizenshipCountryCode: 'GB',
    addressLine1: '12 St James Square',
    city: 'London',
  }
  async function addCustomer(): Promise<TestPartner> {
    const partner = await addPartner(service)
    await service.customers.update(partner.partnerId, partner.customer.id, { kyc: complete })
    return partner
  }
  const start = ({ partnerId, customer }: TestPartner, body = {}) =>
    service.identityChecks.create(partnerId, customer.id, body)
  const read = ({ partnerId, customer }: TestPartner, id: string) =>
    service.identityChecks.get(partnerId, customer.serviceId, id)
  const work = async () => {
    while ((await service.identityChecks.step()) > 0);
    while ((await service.identityChecks.expireStep()) > 0);
  }
  /** Starts a verification, and returns the link to the provider's page. */
  async function opened(partner: TestPartner, body = {}): Promise<{ readonly id: string; readonly url: string }> {
    const { id } = await start(partner, body)
    await work()
    return { id, url: present((await read(partner, id)).url, 'an open verification has a page') }
  }
  /** Makes the provider decide, and waits for its webhook. */
  async function decided(
    partner: TestPartner,
    { id, url }: { readonly id: string; readonly url: string },
    outcome: string,
  ) {
    await choose(url, outcome)
    await until('the webhook makes the verification due', async () => {
      await work()
      return (await read(partner, id)).decidedAt !== null
    })
    return read(partner, id)
  }
  const faultsOf = async ({ partnerId, customer }: TestPartner) => {
    const { state, fields } = await service.customers.verification(partnerId, customer.id)
    const faults = fields.flatMap(({ field, code }) => (code === undefined ? [] : [`${field} ${code}`]))
    const { capabilities } = await service.customers.capabilities(partnerId, customer.id)
    return { state, faults, can: capabilities.filter(({ reasons }) => reasons.length === 0).map(({ name }) => name) }
  }
  const eventsOf = async ({ partnerId }: TestPartner) => {
    const rows = await service.db.rows<{ data: string }>(sql`
    select data::text as data from events.events where partner_id = ${partnerId} and type = 'customer.verification.updated' order by id`)
    return rows
      .map(({ data }) => JSON.parse(data) as { status: string; verificationState: string })
      .map(({ status, verificationState }) => `${status} ${verificationState}`)
  }
  const all = ['OpenAccount', 'Receive', 'Pay', 'Convert']

  test('an approved verification opens the gate at once, and a new name closes it', async () => {
    const partner = await addCustomer()
    assert.deepEqual(await faultsOf(partner), { state: 'Incomplete', faults: ['fullName identity_required'], can: [] })
    const verification = await opened(partner)
    assert.equal((await fetch(verification.url)).status, 200)
    const approved = await decided(partner, verification, 'approve')
    assert.equal(approved.status, 'Approved')
    assert.equal(approved.url, null)
    assert.deepEqual(approved.evidence?.fields.map(({ field, outcome }) => `${field} ${outcome}`).toSorted(), [
      'citizenshipCountryCode Matched',
      'dateOfBirth Matched',
      'fullName Matched',
    ])
    assert.deepEqual(await faultsOf(partner), { state: 'Complete', faults: [], can: all })
    const { fields } = await service.customers.verification(partner.partnerId, partner.customer.id)
    assert.equal(fields.find(({ field }) => field === 'fullName')?.state, 'Valid')
    assert.equal(fields.find(({ field }) => field === 'city')?.state, 'Unchecked')
    assert.deepEqual(await eventsOf(partner), ['Open Incomplete', 'Approved Complete'])
    await service.customers.update(partner.partnerId, partner.customer.id, { kyc: { fullName: 'Ada King' } })
    assert.deepEqual(await faultsOf(partner), { state: 'Incomplete', faults: ['fullName identity_required'], can: [] })
    await service.customers.update(partner.partnerId, partner.customer.id, { kyc: { fullName: 'Ada Lovelace' } })
    assert.equal((await faultsOf(partner)).state, 'Complete')
  })

  test('a mismatch makes the field invalid until another verification is approved', async () => {
    const partner = await addCustomer()
    const first = await decided(partner, await opened(partner), 'mismatch')
    assert.deepEqual([first.status, first.reason], ['Declined', 'DataMismatch'])
    assert.deepEqual(await faultsOf(partner), { state: 'Invalid', faults: ['fullName identity_mismatch'], can: [] })
    await decided(partner, await opened(partner), 'forged')
    assert.deepEqual((await faultsOf(partner)).faults, ['fullName identity_declined'])
    await decided(partner, await opened(partner, { kinds: ['Document', 'Address'] }), 'approve')
    assert.deepEqual(await faultsOf(partner), { state: 'Complete', faults: [], can: all })
    const { data } = await service.identityChecks.list(partner.partnerId, partner.customer.id, { limit: '2' })
    assert.deepEqual(
      data.map(({ inForce }) => inForce),
      [true, false],
    )
  })

  test('an expired document closes the gate, makes the review due and creates an event', async () => {
    const partner = await addCustomer()
    const { partnerId, customer } = partner
    const { reviews } = service.customers
    await service.db.transaction((tx) =>
      reviews.set(tx, { partnerId, customerRef: customer.id, risk: 'low', staff: 'Ada' }),
    )
    const approved = await decided(partner, await opened(partner), 'expiring')
    assert.equal(approved.validUntil?.toISOString().slice(11), '00:00:00.000Z')
    assert.equal((await faultsOf(partner)).state, 'Complete')
    assert.deepEqual(await reviews.overdue(service.db, partnerId), [])
    service.clock.advance(dayMs)
    await work()
    assert.equal((await read(partner, approved.id)).status, 'Expired')
    assert.deepEqual(await faultsOf(partner), { state: 'Incomplete', faults: ['fullName identity_expired'], can: [] })
    assert.equal((await reviews.overdue(service.db, partnerId)).length, 1)
    assert.deepEqual(await eventsOf(partner), ['Open Incomplete', 'Approved Complete', 'Expired Incomplete'])
    await decided(partner, await opened(partner), 'approve')
    assert.equal((await faultsOf(partner)).state, 'Complete')
  })

  test("a document expires even if the provider's breaker is open, and exactly once with two workers", async () => {
    const [partner, other] = [await addCustomer(), await addCustomer()]
    const approved = await decided(partner, await opened(partner), 'expiring')
    service.faults.isDown = true
    const { id } = await start(other)
    await until('the breaker is open', async () => {
      service.clock.advance(hourMs)
      return (await service.identityChecks.step()) === 0
    })
    service.clock.advance(dayMs)
    await Promise.all([service.identityChecks.expireStep(), service.identityChecks.expireStep()])
    service.faults.isDown = false
    assert.deepEqual(
      [(await read(partner, approved.id)).status, (await read(other, id)).status],
      ['Expired', 'Pending'],
    )
    assert.deepEqual(await eventsOf(partner), ['Open Incomplete', 'Approved Complete', 'Expired Incomplete'])
    await until('the provider is asked again', async () => {
      await work()
      return (await read(other, id)).status === 'Open'
    })
  })

  test('polling makes up for a lost webhook, and an abandoned session expires', async () => {
    const [partner, other] = [await addCustomer(), await addCustomer()]
    const [verification, left] = [await opened(partner), await opened(other)]
    service.faults.losesWebhooks = true
    await choose(verification.url, 'processing')
    await work()
    assert.equal((await read(partner, verification.id)).status, 'Open')
    service.clock.advance(minuteMs)
    await work()
    assert.equal((await read(partner, verification.id)).status, 'Processing')
    await choose(verification.url, 'approve')
    service.clock.advance(hourMs)
    await work()
    service.faults.losesWebhooks = false
    assert.equal((await read(partner, verification.id)).status, 'Approved')
    service.clock.advance(7 * dayMs)
    await work()
    const lapsed = await read(other, left.id)
    assert.deepEqual([lapsed.status, lapsed.url], ['Lapsed', null])
    assert.deepEqual(await eventsOf(other), ['Open Incomplete', 'Lapsed Incomplete'])
    await start(other)
  })

  /** Posts a webhook with the provider's signature or a false one. */
  async function post(reference: string, version: number, { key = simulatorKey, ageMs = 0, changed = '' } = {}) {
    const body = JSON.stringify({ type: 'verification.updated', reference, version })
    const seconds = Math.floor((service.clock.now().getTime() - ageMs) / secondMs)
    const id = newId()
    const headers = {
      'webhook-id': id,
      'webhook-timestamp': String(seconds),
      'webhook-signature': deliverySignature({ kind: 'v1', key }, id, seconds, body),
    }
    const url = `${service.origin}/identity/webhooks/simulated`
    return (await fetch(url, { method: 'POST', body: `${body}${changed}`, headers })).status
  }
  const isDue = async ({ partnerId }: TestPartner) =>
    (
      await service.db.rows(sql`select 1 from customers.identity_verifications where partner_id = ${partnerId}
    and due_at <= ${service.clock.now()}`)
    ).length > 0

  test('a webhook needs a signature over the raw body, a recent time and a newer version', async () => {
    const partner = await addCustomer()
    const verification = await opened(partner)
    const reference = `${partner.partnerId}.${verification.id}`
    for (const forged of [{ key: Buffer.alloc(32, 8) }, { ageMs: hourMs }, { ageMs: -hourMs }, { changed: ' ' }])
      assert.equal(await post(reference, 9, forged), 401)
    assert.equal(await isDue(partner), false)
    assert.equal(await post('no reference', 9), 200)
    assert.equal(await post(`${newId()}.${verification.id}`, 9), 200)
    assert.equal(await isDue(partner), false)
    assert.equal(await post(reference, 9), 200)
    assert.equal(await isDue(partner), true)
    await work()
    service.faults.repeatsWebhooks = true
    await decided(partner, verification, 'approve')
    service.faults.repeatsWebhooks = false
    assert.deepEqual(await eventsOf(partner), ['Open Incomplete', 'Approved Complete'])
    // A repeated webhook, and an older one.
    for (const version of [1, 2]) assert.equal(await post(reference, version), 200)
    assert.equal(await isDue(partner), false)
  })

  test('only one of two concurrent requests starts a verification', async () => {
    const partner = await addCustomer()
    const outcomes = await Promise.allSettled([start(partner), start(partner), start(partner)])
    const refused = outcomes.filter((outcome) => outcome.status === 'rejected')
    assert.deepEqual(
      refused.map(({ reason }) => (reason as { code: string }).code),
      ['identity_verification_open', 'identity_verification_open'],
    )
    await work()
  })

  test('kinds that the customer type does not allow and unsafe return URLs are refused with a pointer', async () => {
    const partner = await addCustomer()
    const pointers = async (body: object) => {
      const error = (await start(partner, body).catch((each: unknown) => each)) as { errors: { pointer: string }[] }
      return error.errors.map(({ pointer }) => pointer)
    }
    assert.deepEqual(await pointers({ kinds: ['Document', 'Company'] }), ['/kinds/1'])
    for (const returnUrl of ['javascript:alert(1)', 'http://shop.example', 'https://a:b@shop.example', 'https://x y'])
      assert.deepEqual(await pointers({ returnUrl }), ['/returnUrl'])
    await assert.rejects(service.identityChecks.create(newId(), partner.customer.id, {}), { code: 'not_found' })
    await assert.rejects(read(partner, newId()), { code: 'not_found' })
    assert.deepEqual((await service.identityChecks.list(partner.partnerId, partner.customer.id, {})).data, [])
  })

  test('a provider that hangs or is down delays verifications, but does not lose any', async () => {
    const partners = [await addCustomer(), await addCustomer()]
    service.faults.hangs = true
    const ids = await Promise.all(partners.map(async (partner) => (await start(partner)).id))
    await service.identityChecks.step()
    const seen = async () =>
      Promise.all(partners.map(async (partner, index) => (await read(partner, ids[index] ?? '')).status))
    assert.deepEqual(await seen(), ['Pending', 'Pending'])
    service.faults.hangs = false
    service.faults.isDown = true
    service.clock.advance(10 * secondMs)
    await service.identityChecks.step()
    service.faults.isDown = false
    assert.deepEqual(await seen(), ['Pending', 'Pending'])
    service.clock.advance(minuteMs)
    await until('the provider is asked again', async () => {
      await work()
      return (await seen()).every((status) => status === 'Open')
    })
  })

  test('the verifications of all partners start, and a partner with many does not delay others', async () => {
    const partners = 60
    const ids = Array.from({ length: partners }, () => newId())
    for (const id of ids) await addPartner(service, 0n, id)
    const customers = await service.db.rows<{ partnerId: string; id: string }>(sql`
    select partner_id, id from customers.customers where partner_id = any(${ids}::uuid[])`)
    const busy = ids[0] ?? ''
    const more = await Promise.all(
      Array.from({ length: 40 }, async (_, index) => ({
        partnerId: busy,
        id: (await service.customers.create(busy, { partnerCustomerIdentifier: `c-${index}` })).id,
      })),
    )
    for (const { partnerId, id } of [...more, ...customers]) await service.identityChecks.create(partnerId, id, {})
    for (let steps = 0; steps < 4; steps += 1) await service.identityChecks.step()
    const open = await service.db.rows<{ partnerId: string }>(sql`
    select distinct partner_id from customers.identity_verifications where partner_id = any(${ids}::uuid[]) and status = 'Open'`)
    assert.equal(open.length, partners)
    await work()
    const { data } = await service.identityChecks.list(busy, more[0]?.id ?? '', {})
    assert.equal(data[0]?.status, 'Open')
  })

  test('the export contains the findings but not the link; an erasure ends open verifications and retains proofs', async () => {
    const partner = await addCustomer()
    const { partnerId, customer } = partner
    await decided(partner, await opened(partner), 'approve')
    await opened(partner)
    const lines: unknown[] = []
    const { pages, closed } = await service.personalData.exports.open(partnerId, customer.id)
    for await (const page of pages()) lines.push(...page.filter(({ type }) => type === 'identityVerification'))
    closed()
    assert.equal(lines.length, 2)
    const text = JSON.stringify(lines)
    assert.match(text, /"providerReference":"SIM-/)
    assert.doesNotMatch(text, /identity-simulator/)
    await service.db.run(sql`delete from beneficiaries.renewals where partner_id = ${partnerId}`)
    await until('nothing holds the customer', async () => {
      await service.screener.screenStep()
      return service.personalData.erasures.erase(partnerId, customer.id, true).then(
        () => true,
        () => false,
      )
    })
    const rows = () =>
      service.db.rows<{ status: string; due: boolean }>(sql`
      select status, due_at is not null as due from customers.identity_verifications where partner_id = ${partnerId} order by id`)
    assert.deepEqual(await rows(), [
      { status: 'Approved', due: false },
      { status: 'Lapsed', due: false },
    ])
    await assert.rejects(service.identityChecks.list(partnerId, customer.id, {}), { code: 'not_found' })
    service.clock.advance(6 * 366 * dayMs)
    await until('the proof is erased', async () => {
      await service.personalData.erasures.step()
      return (await rows()).length === 0
    })
  })
})

suite('erasures at the provider', async () => {
  const service = await createIdentityService()
  after(() => service.close())

  const work = async () => {
    while ((await service.identityChecks.step()) > 0);
  }
  /** Starts a verification, and returns the link to the provider's page, which disappears with the session. */
  async function opened({ partnerId, customer }: TestPartner): Promise<string> {
    const { id } = await service.identityChecks.create(partnerId, customer.id, {})
    await work()
    return present(
      (await service.identityChecks.get(partnerId, customer.id, id)).url,
      'an open verification has a page',
    )
  }
  async function approved(partner: TestPartner): Promise<string> {
    const url = await opened(partner)
    await choose(url, 'approve')
    await until('the webhook makes the verification due', async () => {
      await work()
      const { data } = await service.identityChecks.list(partner.partnerId, partner.customer.id, {})
      return data[0]?.decidedAt !== null
    })
    return url
  }
  async function erase({ partnerId, customer }: TestPartner): Promise<void> {
    await service.db.run(sql`delete from beneficiaries.renewals where partner_id = ${partnerId}`)
    await until('nothing holds the customer', async () => {
      await service.screener.screenStep()
      return service.personalData.erasures.erase(partnerId, customer.id, true).then(
        () => true,
        () => false,
      )
    })
  }
  const statusOf = async (url: string) => (await fetch(url)).status
  const waiting = ({ partnerId }: TestPartner) =>
    service.db.rows<{ attempts: number; refused: boolean }>(sql`
    select attempts, refused_at is not null as refused from customers.identity_erasures where partner_id = ${partnerId}`)

  test('undecided verifications are erased at the provider at once, and proofs when the retention ends', async () => {
    const partner = await addPartner(service)
    const [proof, open] = [await approved(partner), await opened(partner)]
    await erase(partner)
    assert.equal(await service.identityChecks.eraseStep(), 0, 'a worker may still be starting the session')
    service.clock.advance(2 * minuteMs)
    assert.equal(await service.identityChecks.eraseStep(), 1)
    assert.deepEqual([await statusOf(open), await statusOf(proof)], [404, 200])
    assert.deepEqual(await waiting(partner), [])
    service.clock.advance(6 * 366 * dayMs)
    await until('the proof is erased', async () => {
      await service.personalData.erasures.step()
      return (await waiting(partner)).length > 0
    })
    service.clock.advance(2 * minuteMs)
    while ((await service.identityChecks.eraseStep()) > 0);
    assert.equal(await statusOf(proof), 404)
    assert.deepEqual(await waiting(partner), [])
  })

  test('a session whose start was not recorded is erased by its reference', async () => {
    const partner = await addPartner(service)
    const { partnerId, customer } = partner
    const { id } = await service.identityChecks.create(partnerId, customer.id, {})
    // A worker started the session, and crashed before it recorded the session.
    const request = { reference: `${partnerId}.${id}`, kinds: ['Document'], subject: {}, returnUrl: null } as const
    const provider = present(service.identityProvider, 'the test has a provider')
    const { url } = await provider.start({ ...request, customerType: 'Individual' }, AbortSignal.timeout(90_000))
    assert.equal(await statusOf(url), 200)
    await erase(partner)
    service.clock.advance(2 * minuteMs)
    while ((await service.identityChecks.eraseStep()) > 0);
    assert.equal(await statusOf(url), 404)
  })

  test('every process asks a provider that is down again until it has erased the session', async () => {
    const partner = await addPartner(service)
    const url = await opened(partner)
    await erase(partner)
    service.clock.advance(2 * minuteMs)
    service.faults.isDown = true
    assert.equal(await service.identityChecks.eraseStep(), 1)
    assert.deepEqual(await waiting(partner), [{ attempts: 1, refused: false }])
    assert.equal(await service.identityChecks.eraseStep(), 0, 'the next attempt waits')
    service.faults.isDown = false
    service.clock.advance(hourMs)
    const claimed = await Promise.all([service.identityChecks.eraseStep(), service.identityChecks.eraseStep()])
    assert.deepEqual(claimed.toSorted(), [0, 1])
    assert.deepEqual([await statusOf(url), await waiting(partner)], [404, []])
  })

  test("a refusal is final and recorded in the partner's audit log", async () => {
    const partner = await addPartner(service)
    const url = await opened(partner)
    await erase(partner)
    service.faults.keepsSessions = true
    service.clock.advance(2 * minuteMs)
    assert.equal(await service.identityChecks.eraseStep(), 1)
    assert.deepEqual(await waiting(partner), [{ attempts: 1, refused: true }])
    service.clock.advance(30 * dayMs)
    assert.equal(await service.identityChecks.eraseStep(), 0)
    service.faults.keepsSessions = false
    assert.equal(await statusOf(url), 200)
    const records = await service.db.rows<{ action: string }>(sql`
    select content::jsonb ->> 'action' as action from audit.records where partner_id = ${partner.partnerId}
      and content like '%customer.identity%'`)
    assert.deepEqual(records, [{ action: 'customer.identity_erasure_refused' }])
  })
})
