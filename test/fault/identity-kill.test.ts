/** SIGKILL of the worker of identity verifications before and after each commit, thus also between the provider's answer and ours. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dayMs, minuteMs, present } from '../../service/src/kernel/index.ts'
import { sql } from '../../service/src/postgres/index.ts'
import { addPartner } from '../support/composition.ts'
import { killAtCrashPoints } from '../support/crash-points.ts'
import { untilEnd } from '../support/fixture.ts'
import { choose } from '../support/identity.ts'
import { createIdentityService, providerAt } from '../support/identity-service.ts'
import { pluck } from '../support/pluck.ts'

const service = untilEnd(await createIdentityService())
// Only the poll of the child takes what the provider decides.
service.faults.losesWebhooks = true

const work = async () => {
  while ((await service.identityChecks.step()) > 0);
  while ((await service.identityChecks.expireStep()) > 0);
}

test('after a kill at any point, each verification has one session at the provider, and each status has one event', async (t) => {
  await killAtCrashPoints(t, { worker: 'identity', pointsMin: 6 }, async (runWorker) => {
    const { partnerId, customer } = await addPartner(service)
    const { customers, identityChecks } = service
    const kyc = { fullName: 'Grace Hopper' }
    const ids = [
      customer.id,
      (await customers.create(partnerId, { kyc })).id,
      (await customers.create(partnerId, { kyc })).id,
    ]
    const [starting = '', deciding = '', expiring = ''] = ids
    const begin = async (customerId: string, outcome: string) => {
      const { id } = await identityChecks.create(partnerId, customerId, {})
      await work()
      await choose(present((await identityChecks.get(partnerId, customerId, id)).url, 'a page'), outcome)
    }
    await begin(expiring, 'expiring')
    service.clock.advance(minuteMs)
    await work()
    await begin(deciding, 'approve')
    service.clock.advance(dayMs)
    await identityChecks.create(partnerId, starting, {})
    await runWorker(service, { origin: service.origin })
    // The leases of the dead worker end.
    service.clock.advance(3 * minuteMs)
    await work()
    const found = await Promise.all(
      ids.map(async (id) => present((await identityChecks.list(partnerId, id, {})).data[0], 'a verification')),
    )
    assert.deepEqual(pluck(found, 'status'), ['Open', 'Approved', 'Expired'])
    const events = await service.db.rows<{ readonly data: string }>(sql`
      select data::text as data from events.events where partner_id = ${partnerId} and type = 'customer.verification.updated'`)
    assert.deepEqual(
      events
        .map(({ data }) => JSON.parse(data) as { customerGuid: string; status: string })
        .map(({ customerGuid, status }) => `${ids.indexOf(customerGuid)} ${status}`)
        .toSorted(),
      ['0 Open', '1 Approved', '1 Open', '2 Approved', '2 Expired', '2 Open'],
    )
    // The provider answers the same request with the session that it has.
    const row = present(found[0], 'the one that was started')
    const again = await providerAt(service.origin).start(
      {
        reference: `${partnerId}.${row.id}`,
        kinds: row.kinds,
        customerType: 'Individual',
        subject: {},
        returnUrl: null,
      },
      AbortSignal.timeout(5_000),
    )
    assert.equal(again.providerSession, row.providerSession)
  })
})
