/** Erasures at the identity provider, which is the simulated one on a real socket. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { addPartner, type TestPartner } from '../../../../test/support/composition.ts'
import { choose } from '../../../../test/support/identity.ts'
import { createIdentityService, type IdentityService } from '../../../../test/support/identity-service.ts'
import { until } from '../../../../test/support/until.ts'
import { dayMs, hourMs, minuteMs, present } from '../../kernel/index.ts'
import { sql } from '../../postgres/index.ts'

let service: IdentityService
before(async () => {
  service = await createIdentityService()
})
after(() => service.close())

const work = async () => {
  while ((await service.identityChecks.step()) > 0);
}
/** Starts a verification and returns the page of the provider, which is gone once the session is erased. */
async function opened({ partnerId, customer }: TestPartner): Promise<string> {
  const { id } = await service.identityChecks.create(partnerId, customer.id, {})
  await work()
  return present((await service.identityChecks.get(partnerId, customer.id, id)).url, 'an open verification has a page')
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

test('what is not decided is erased at the provider at once, and a proof when its time is over', async () => {
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
  // A worker has started the session, and died before it recorded it.
  const request = { reference: `${partnerId}.${id}`, kinds: ['Document'], subject: {}, returnUrl: null } as const
  const provider = present(service.identityProvider, 'the test has a provider')
  const { url } = await provider.start({ ...request, customerType: 'Individual' }, AbortSignal.timeout(90_000))
  assert.equal(await statusOf(url), 200)
  await erase(partner)
  service.clock.advance(2 * minuteMs)
  while ((await service.identityChecks.eraseStep()) > 0);
  assert.equal(await statusOf(url), 404)
})

test('a provider that is down is asked again, by every process, until it has erased', async () => {
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

test('a refusal is final, and stands in the audit log of the partner', async () => {
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
