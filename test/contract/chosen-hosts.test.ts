/** Hosts that partner B has chosen never answer: strangers and B itself wait for them, and the calls of A are served meanwhile. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { success, textAt } from '../support/client.ts'
import { startTcpReceiver } from '../support/exchange.ts'
import { useService } from '../support/fixture.ts'
import { otherPartner } from '../support/service.ts'
import { until } from '../support/until.ts'
import { createBeneficiary, payoutText } from '../support/world.ts'

const requestsMax = 4
const service = await useService({ env: { REQUESTS_MAX: String(requestsMax) } })
const silent = await startTcpReceiver(() => undefined)
after(async () => {
  silent.close()
})
const { client: partnerB, credentials } = service
const partnerA = await otherPartner(service)
const beneficiary = textAt(await createBeneficiary(partnerA), 'id')

test('200 for every call of a partner while the provider and the endpoints of another never answer', async () => {
  const { origin } = new URL(silent.url)
  const provider = { issuer: origin, clientId: 'us', clientSecret: 'a secret', emailDomain: 'b.example' }
  success(await partnerB.put('/v1/users/single-sign-on', provider))
  success(await partnerB.post('/v1/users/single-sign-on/domain'))
  const hook = textAt(success(await partnerB.post('/v1/webhooks', { url: silent.url })), 'id')
  const page = `${service.baseUrl}/console/sign-in/sso?partner=${credentials.partnerId}`
  const signIns = () => Array.from({ length: 50 }, async () => (await fetch(page, { redirect: 'manual' })).status)
  const tests = () => Array.from({ length: 8 }, async () => (await partnerB.post(`/v1/webhooks/${hook}/test`)).status)
  const attack: Promise<number>[] = []
  for (let round = 0; round < 3; round += 1) {
    attack.push(...signIns(), ...tests())
    await until('the hosts are called', () => silent.connections() > 0)
    const own = Array.from({ length: requestsMax - 1 }, (_, index) => partnerA.get(`/v1/payouts?limit=${index + 1}`))
    for (const answer of await Promise.all(own)) success(answer)
    const idempotencyKey = `round ${round} of the attack`
    success(await partnerA.post('/v1/payouts/fiat', payoutText(beneficiary, '1.00', { idempotencyKey })))
    success(await partnerB.get('/v1/payouts'))
  }
  const statuses = await Promise.all(attack)
  const [pages, tested] = [statuses.filter((status) => status === 503), statuses.filter((status) => status !== 503)]
  assert.equal(pages.length, 150, 'the sign-ins of B are refused with a page, and no others')
  // A test that was made has the result that the endpoint did not answer; the others came too soon.
  assert.deepEqual(new Set(tested), new Set([200, 429]))
})
