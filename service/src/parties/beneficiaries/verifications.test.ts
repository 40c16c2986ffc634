/** Evidence of verification of payee, over the routes, and what a later payout shows of it. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import {
  addPartner,
  createTestService,
  pay,
  type Service,
  type TestPartner,
} from '../../../../test/support/composition.ts'
import { Refusal } from '../../kernel/api/index.ts'
import { newId } from '../../kernel/index.ts'
import { sql } from '../../postgres/index.ts'
import { beneficiariesRoutes } from './index.ts'

let service: Service
before(async () => {
  service = await createTestService({ connectionsMax: 8 })
})
after(() => service.close())

const iban = 'NL91ABNA0417164300'

function callsOf({ caller }: Pick<TestPartner, 'caller'>) {
  const routes = beneficiariesRoutes(service.beneficiaries, service.idempotency)
  const call = { caller, requestId: newId(), ip: '192.0.2.1' }
  return {
    verify: async (name: string, account = iban) =>
      (
        await routes.createBeneficiaryVerification({
          ...call,
          params: {},
          query: undefined,
          body: { name, iban: account },
        })
      ).body,
    get: async (verificationId: string) =>
      (
        await routes.getBeneficiaryVerification({
          ...call,
          params: { verificationId },
          query: undefined,
          body: undefined,
        })
      ).body,
    list: async (query = {}) =>
      (await routes.listBeneficiaryVerifications({ ...call, params: {}, query, body: undefined })).body,
    ofBeneficiary: async (id: string) =>
      (await routes.getVerificationOfBeneficiary({ ...call, params: { id }, query: undefined, body: undefined })).body,
  }
}

const refused = (code: string, pointer?: string) => (error: unknown) => {
  assert(error instanceof Refusal, String(error))
  assert.deepEqual([error.code, error.errors?.[0]?.pointer], [code, pointer])
  return true
}

test('an answer is kept with who asked and when, and is listed newest first', async () => {
  const partner = await addPartner(service)
  const calls = callsOf(partner)
  const first = await calls.verify('Grace Hopper', 'NL91 ABNA 0417 1643 00')
  const at = service.clock.now().toISOString()
  const { id, schemeReference, ...rest } = first
  assert.deepEqual(rest, {
    name: 'Grace Hopper',
    iban,
    result: 'Match',
    source: 'sandbox',
    requestedBy: 'Test account',
    requestedAt: at,
    answeredAt: at,
  })
  assert.ok(schemeReference !== undefined && schemeReference !== '')
  assert.deepEqual(await calls.get(id), first)
  const close = await calls.verify('CloseMatch Grace B. Hopper')
  assert.equal(close.matchedName, 'Grace B. Hopper')
  const other = await calls.verify('NotPossible', 'DE89370400440532013000')
  assert.equal(other.reason, 'AccountUnknown')
  assert.deepEqual((await calls.list()).data, [other, close, first])
  assert.deepEqual((await calls.list({ iban })).data, [close, first])
  const page = await calls.list({ limit: '2' })
  assert.deepEqual((await calls.list({ cursor: page.nextCursor ?? '' })).data, [first])
})

test('400 when the IBAN is wrong, before the scheme is asked; a scheme that fails is an answer that is kept', async () => {
  const calls = callsOf(await addPartner(service))
  await assert.rejects(calls.verify('Ada', 'NL92ABNA0417164300'), refused('validation_failed', '/iban'))
  await assert.rejects(calls.list({ iban: 'x' }), refused('validation_failed', '/query/iban'))
  assert.deepEqual((await calls.list()).data, [])
  const failed = await calls.verify('Unreachable')
  assert.deepEqual([failed.result, failed.reason], ['NotPossible', 'SchemeUnavailable'])
  assert.deepEqual(await calls.get(failed.id), failed)
})

test('an IBAN of our own is answered by the name of its customer, whichever partner asks', async () => {
  const partner = await addPartner(service)
  const stranger = callsOf(await addPartner(service))
  const { ibans } = await service.accounts.create(partner.partnerId, partner.customer.id)
  const [{ iban: own }] = ibans
  for (const calls of [callsOf(partner), stranger]) {
    assert.equal((await calls.verify('LOVELACE, Ada', own)).result, 'Match')
    const close = await calls.verify('A. Lovelace', own)
    assert.deepEqual([close.result, close.matchedName, close.source], ['CloseMatch', 'Ada Lovelace', 'own'])
    const no = await calls.verify('Grace Hopper', own)
    assert.deepEqual([no.result, no.matchedName], ['NoMatch', undefined])
  }
  const unnamed = await service.customers.create(partner.partnerId, { email: 'joan@example.com' })
  const [{ iban: nameless }] = (await service.accounts.create(partner.partnerId, unnamed.id)).ibans
  assert.equal((await stranger.verify('Joan', nameless)).result, 'NoMatch')
  const partnerName = await service.access.partnerName(service.db, partner.partnerId)
  assert.equal((await stranger.verify(partnerName, nameless)).result, 'Match')
})

test('a later payout shows the newest answer before it; a new name needs a new one', async () => {
  const partner = await addPartner(service, 100_00n)
  const { partnerId, beneficiary } = partner
  const calls = callsOf(partner)
  const unverified = (await pay(service, partner, '1.00')).payout
  service.clock.advance(1000)
  const first = await calls.verify('Grace Hopper', beneficiary.iban ?? '')
  assert.deepEqual(await calls.ofBeneficiary(beneficiary.id), first)
  service.clock.advance(1000)
  const { payout } = await pay(service, partner, '1.00')
  service.clock.advance(1000)
  const second = await calls.verify('Grace Hopper', beneficiary.iban ?? '')
  assert.deepEqual(await calls.ofBeneficiary(beneficiary.id), second)
  const evidence = (id: string) => service.payouts.verificationOf(partnerId, id)
  assert.equal((await evidence(payout.id)).id, first.id)
  await assert.rejects(evidence(unverified.id), refused('not_found'))
  await service.beneficiaries.update(partnerId, { id: beneficiary.id, name: 'Grace B. Hopper' })
  await assert.rejects(calls.ofBeneficiary(beneficiary.id), refused('not_found'))
  const renamed = (await pay(service, partner, '1.00')).payout
  await assert.rejects(evidence(renamed.id), refused('not_found'))
  assert.equal((await evidence(payout.id)).id, first.id, 'the earlier payout keeps its evidence')
  const third = await calls.verify('Grace B. Hopper', beneficiary.iban ?? '')
  assert.deepEqual(await calls.ofBeneficiary(beneficiary.id), third)
})

test('404 when the verification, the beneficiary or the payout is of another partner', async () => {
  const partner = await addPartner(service, 100_00n)
  const verification = await callsOf(partner).verify('Grace Hopper', partner.beneficiary.iban ?? '')
  const { payout } = await pay(service, partner, '1.00')
  const stranger = await addPartner(service)
  const calls = callsOf(stranger)
  await assert.rejects(calls.get(verification.id), refused('not_found'))
  await assert.rejects(calls.ofBeneficiary(partner.beneficiary.id), refused('not_found'))
  await assert.rejects(calls.ofBeneficiary(stranger.beneficiary.id), refused('not_found'), 'the same name and IBAN')
  await assert.rejects(service.payouts.verificationOf(stranger.partnerId, payout.id), refused('not_found'))
  assert.deepEqual((await calls.list()).data, [])
})

test('a scheme is asked outside of any transaction, and concurrent questions are kept each', async () => {
  const partner = await addPartner(service)
  const calls = callsOf(partner)
  const waiting = Promise.all(Array.from({ length: 20 }, () => calls.verify('Unanswered Ada')))
  // More questions wait than the pool has connections.
  await service.db.run(sql`select 1`)
  assert.equal((await calls.verify('Grace Hopper')).result, 'Match')
  assert.ok((await waiting).every(({ result }) => result === 'NotPossible'))
  assert.equal(new Set((await calls.list({ limit: '100' })).data.map(({ id }) => id)).size, 21)
})
