/** Verification of payees, and its renewal. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { addPartner, pay, type TestPartner } from '../../../../test/support/composition.ts'
import { useModules } from '../../../../test/support/fixture.ts'
import { refused } from '../../../../test/support/refusals.ts'
import { dayMs, hourMs, minuteMs, newId } from '../../kernel/index.ts'
import { sql } from '../../postgres/index.ts'
import { beneficiariesRoutes, createRenewals } from './index.ts'
import { createVerification } from '../payee-check/index.ts'
import { isWorse, retryDelayAfter } from './verifications.ts'

suite('verification', async () => {
  const service = await useModules({ connectionsMax: 8 })

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
        (await routes.getVerificationOfBeneficiary({ ...call, params: { id }, query: undefined, body: undefined }))
          .body,
    }
  }

  test('an answer is stored with its requester and time, and listed newest first', async () => {
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

  test('400 for a wrong IBAN without a request to the scheme, and a failure of the scheme is stored as an answer', async () => {
    const calls = callsOf(await addPartner(service))
    await assert.rejects(calls.verify('Ada', 'NL92ABNA0417164300'), refused('validation_failed', '/iban'))
    await assert.rejects(calls.list({ iban: 'x' }), refused('validation_failed', '/query/iban'))
    assert.deepEqual((await calls.list()).data, [])
    const failed = await calls.verify('Unreachable')
    assert.deepEqual([failed.result, failed.reason], ['NotPossible', 'SchemeUnavailable'])
    assert.deepEqual(await calls.get(failed.id), failed)
  })

  test('an IBAN of this service is answered with the name of its customer, for every partner', async () => {
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

  test('a payout shows the newest answer from before it, and a new name needs a new answer', async () => {
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

  test('a request to a scheme runs outside of any transaction, and the answer to each concurrent request is stored', async () => {
    const partner = await addPartner(service)
    const calls = callsOf(partner)
    const waiting = Promise.all(Array.from({ length: 20 }, () => calls.verify('Unanswered Ada')))
    // There are more questions than connections in the pool.
    await service.db.run(sql`select 1`)
    assert.equal((await calls.verify('Grace Hopper')).result, 'Match')
    assert.ok((await waiting).every(({ result }) => result === 'NotPossible'))
    assert.equal(new Set((await calls.list({ limit: '100' })).data.map(({ id }) => id)).size, 21)
  })
})

suite('renewal', async () => {
  const service = await useModules({ connectionsMax: 10 })

  type Scheme = NonNullable<Parameters<typeof createVerification>[0]['scheme']>
  type Ask = Scheme['ask']

  /** Creates a worker like that of another process, and its scheme. */
  const workerOf = (ask: Ask, verificationDaysMax: number | null = null) => {
    const scheme: Scheme = { id: 'test', timeoutMs: 30_000, ask }
    const { db, clock, log, eventOutbox } = service
    const verification = createVerification({ log, scheme, ownNames: async () => undefined })
    return createRenewals({ db, clock, log, verification, eventOutbox, verificationDaysMax })
  }
  const answers =
    (result: 'Match' | 'NoMatch'): Ask =>
    async () => ({ result, schemeReference: newId() })
  /** A scheme that answers by the first word of the name, like that of the sandbox. */
  const byName: Ask = async ({ name }) => {
    if (name.startsWith('Unreachable')) throw new Error('no connection')
    if (name.startsWith('Close')) return { result: 'CloseMatch', matchedName: 'Grace Hopper', schemeReference: newId() }
    return { result: name.startsWith('No') ? 'NoMatch' : 'Match', schemeReference: newId() }
  }

  /** A scheme that answers on demand. */
  function held(ask: Ask) {
    const open = Promise.withResolvers<void>()
    const asked = Promise.withResolvers<void>()
    const heldAsk: Ask = async (question, signal) => {
      asked.resolve()
      await open.promise
      return ask(question, signal)
    }
    return { ask: heldAsk, release: open.resolve, asked: asked.promise }
  }

  /** Creates a partner with a verified beneficiary. */
  async function addVerified(name = 'Grace Hopper') {
    const partner = await addPartner(service, 100_00n)
    const { partnerId, caller } = partner
    const { id, iban } = await service.beneficiaries.create(partnerId, {
      name,
      iban: 'NL91ABNA0417164300',
      currency: 'EUR',
    })
    await service.beneficiaries.verify(caller, { name, iban: iban ?? '' })
    return {
      ...partner,
      id,
      rename: (to: string) => service.beneficiaries.update(partnerId, { id, name: to }),
      /** Lists answers, oldest first, without the partner's own. */
      renewed: async () => {
        const { data } = await service.beneficiaries.listVerifications(partnerId, {})
        return data
          .filter(({ requestedByName }) => requestedByName === 'renewal')
          .map((row) => `${row.name}: ${row.result}`)
          .toReversed()
      },
      events: async () => {
        const rows = await service.db.rows<{ data: string }>(sql`
        select data from events.events where partner_id = ${partnerId} and type = 'beneficiary.verification.worsened'
        order by id`)
        return rows.map(({ data }) => JSON.parse(data) as Readonly<Record<string, unknown>>)
      },
      row: () =>
        service.db.row<{ result: string; dueAt: Date | null; attempts: number; leaseId: string | null }>(sql`
        select result, due_at, attempts, lease_id from beneficiaries.renewals
        where partner_id = ${partnerId} and beneficiary_id = ${id}`),
      newest: async () => (await service.beneficiaries.verificationOf(partnerId, id)).result,
    }
  }
  const worker = () => workerOf(byName)

  test('a new name is verified automatically, and later payouts have the answer as evidence', async () => {
    const verified = await addVerified()
    const { partnerId, id } = verified
    await verified.rename('No Grace')
    await assert.rejects(verified.newest(), { code: 'not_found' })
    await worker().renewStep()
    assert.deepEqual(await verified.renewed(), ['No Grace: NoMatch'])
    const { payout } = await pay(service, verified, '1.00', { beneficiaryId: id })
    const evidence = await service.payouts.verificationOf(partnerId, payout.id)
    assert.deepEqual([evidence.name, evidence.result, evidence.requestedByName], ['No Grace', 'NoMatch', 'renewal'])
    assert.equal(await worker().renewStep(), 0)
  })

  test('a beneficiary that was never verified is not renewed, and neither is one with a new alias or the same name', async () => {
    const verified = await addVerified()
    const { partnerId, id, beneficiary } = verified
    await service.beneficiaries.update(partnerId, { id: beneficiary.id, name: 'No Body' })
    await service.beneficiaries.update(partnerId, { id, alias: 'grace' })
    await verified.rename('Grace Hopper')
    assert.equal(await worker().renewStep(), 0)
  })

  test('an answer older than the beneficiary or than this table is also renewed', async () => {
    const partner = await addPartner(service)
    const { partnerId, caller } = partner
    const payee = { name: 'Grace Hopper', iban: 'NL91ABNA0417164300' }
    await service.beneficiaries.verify(caller, payee)
    const { id } = await service.beneficiaries.create(partnerId, { ...payee, currency: 'EUR' })
    // As a process of the previous version leaves the row.
    await service.db.run(sql`delete from beneficiaries.renewals where partner_id = ${partnerId}`)
    await service.beneficiaries.update(partnerId, { id, name: 'No Grace' })
    await worker().renewStep()
    assert.equal((await service.beneficiaries.verificationOf(partnerId, id)).result, 'NoMatch')
  })

  test('only a worse answer creates an event', async () => {
    const verified = await addVerified()
    const names = ['Grace', 'Close Grace', 'No Grace', 'No Hopper', 'Close Hopper', 'Hopper']
    for (const name of names) {
      await verified.rename(name)
      await worker().renewStep()
    }
    assert.equal((await verified.renewed()).length, names.length)
    const events = await verified.events()
    assert.deepEqual(
      events.map(({ previousResult, result, beneficiaryName }) => [previousResult, result, beneficiaryName]),
      [
        ['Match', 'CloseMatch', 'Close Grace'],
        ['CloseMatch', 'NoMatch', 'No Grace'],
      ],
    )
    const { eventType: _type, timestamp: _time, verificationId: _id, ...data } = events[0] ?? {}
    assert.deepEqual(data, {
      amount: 0,
      currency: 'EUR',
      customFields: null,
      idempotencyKey: null,
      reference: verified.id,
      websiteReference: null,
      beneficiaryAccount: 'NL91ABNA0417164300',
      beneficiaryId: verified.id,
      beneficiaryName: 'Close Grace',
      matchedName: 'Grace Hopper',
      previousResult: 'Match',
      result: 'CloseMatch',
    })
    assert.ok(isWorse('NoMatch', 'Match'))
    for (const other of ['Match', 'CloseMatch', 'NoMatch', 'NotPossible'] as const)
      assert.ok(!isWorse('NotPossible', other) && !isWorse(other, 'NotPossible') && !isWorse(other, other))
  })

  test('a silent scheme is retried with growing delays until the worker gives up, and a later worse answer still creates an event', async () => {
    const verified = await addVerified()
    await verified.rename('Unreachable Grace')
    const delays: number[] = []
    for (let attempts = 1; retryDelayAfter(attempts) !== undefined; attempts += 1) {
      // A new worker each time, so that its breaker is closed.
      assert.equal(await worker().renewStep(), 1)
      const row = await verified.row()
      assert.equal(row?.attempts, attempts)
      const delayMs = (row?.dueAt?.getTime() ?? 0) - service.clock.now().getTime()
      delays.push(delayMs)
      service.clock.advance(delayMs - 1)
      assert.equal(await worker().renewStep(), 0)
      service.clock.advance(1)
    }
    assert.deepEqual(delays, [minuteMs, 5 * minuteMs, 15 * minuteMs, hourMs, 4 * hourMs, 12 * hourMs])
    assert.deepEqual(await verified.renewed(), [])
    await worker().renewStep()
    assert.deepEqual(await verified.renewed(), ['Unreachable Grace: NotPossible'])
    assert.equal(await worker().renewStep(), 0)
    assert.equal((await verified.events()).length, 0)
    await verified.rename('No Grace')
    await worker().renewStep()
    assert.deepEqual(
      (await verified.events()).map(({ previousResult, result }) => [previousResult, result]),
      [['Match', 'NoMatch']],
    )
  })

  test('if a name changes again during the call, only the answer about the new name is recorded', async () => {
    const verified = await addVerified()
    await verified.rename('No Grace')
    const slow = held(byName)
    const first = workerOf(slow.ask).renewStep()
    await slow.asked
    await verified.rename('Close Grace')
    assert.equal(await worker().renewStep(), 1, 'the lease of the first worker has ended')
    slow.release()
    await first
    assert.deepEqual(await verified.renewed(), ['Close Grace: CloseMatch'])
    assert.equal((await verified.events()).length, 1)
    assert.equal(await worker().renewStep(), 0)
  })

  test('a beneficiary stays leased to a dead worker until the lease ends, and the late answer of that worker is dropped', async () => {
    const verified = await addVerified()
    await verified.rename('No Grace')
    const slow = held(answers('Match'))
    const dead = workerOf(slow.ask).renewStep()
    await slow.asked
    assert.equal(await worker().renewStep(), 0)
    service.clock.advance(2 * minuteMs)
    assert.equal(await worker().renewStep(), 1)
    slow.release()
    await dead
    assert.deepEqual(await verified.renewed(), ['No Grace: NoMatch'])
    assert.equal((await verified.events()).length, 1)
  })

  test('the leases of a killed process are released at the next start', async () => {
    const verified = await addVerified()
    await verified.rename('No Grace')
    const slow = held(answers('Match'))
    const dead = workerOf(slow.ask).renewStep()
    await slow.asked
    await service.renewals.releaseRenewals(verified.partnerId)
    assert.equal(await worker().renewStep(), 1)
    slow.release()
    await dead
    assert.deepEqual(await verified.renewed(), ['No Grace: NoMatch'])
  })

  test('a verification by the partner during the call is the newest answer', async () => {
    const verified = await addVerified()
    await verified.rename('Grace Brewster')
    const slow = held(answers('NoMatch'))
    const under = workerOf(slow.ask).renewStep()
    await slow.asked
    await service.beneficiaries.verify(verified.caller, { name: 'Grace Brewster', iban: 'NL91ABNA0417164300' })
    slow.release()
    await under
    assert.deepEqual(await verified.renewed(), [])
    assert.equal(await verified.newest(), 'Match')
    assert.deepEqual(await verified.row(), { result: 'Match', dueAt: null, attempts: 0, leaseId: null })
  })

  test('a new name is verified even if the old name is verified at the same time', async () => {
    for (let round = 0; round < 10; round += 1) {
      const verified = await addVerified()
      await Promise.all([
        service.beneficiaries.verify(verified.caller, { name: 'Grace Hopper', iban: 'NL91ABNA0417164300' }),
        verified.rename('No Grace'),
      ])
      await worker().renewStep()
      assert.equal(await verified.newest(), 'NoMatch')
      assert.deepEqual(await verified.renewed(), ['No Grace: NoMatch'])
    }
  })

  test('two workers verify each of many beneficiaries exactly once', async () => {
    const many = await Promise.all(Array.from({ length: 12 }, () => addVerified()))
    await Promise.all(many.map(({ rename }) => rename('No Grace')))
    let asked = 0
    const counting: Ask = (question, signal) => {
      asked += 1
      return byName(question, signal)
    }
    const [one, two] = [workerOf(counting), workerOf(counting)]
    const claimed = await Promise.all([one.renewStep(), two.renewStep()])
    assert.equal(claimed[0] + claimed[1], 12)
    assert.equal(asked, 12)
    for (const { renewed, events } of many) {
      assert.deepEqual(await renewed(), ['No Grace: NoMatch'])
      assert.equal((await events()).length, 1)
    }
  })

  test('a removed beneficiary is not renewed', async () => {
    const verified = await addVerified()
    await verified.rename('No Grace')
    await service.beneficiaries.remove(verified.partnerId, verified.id)
    await worker().renewStep()
    assert.equal(await verified.row(), undefined)
    assert.deepEqual(await verified.renewed(), [])
  })

  test('an old answer is renewed if a number of days is set, and the metric shows how long it has waited', async () => {
    const verified = await addVerified()
    const aged = workerOf(answers('NoMatch'), 30)
    service.clock.advance(30 * dayMs - 1)
    while ((await aged.renewStep()) > 0);
    assert.deepEqual(await verified.renewed(), [])
    service.clock.advance(1)
    assert.equal(await worker().renewStep(), 0)
    assert.equal(await worker().oldestRenewal(service.clock.now()), null)
    service.clock.advance(hourMs)
    assert.equal((await aged.oldestRenewal(service.clock.now()))?.getTime(), service.clock.now().getTime() - hourMs)
    while ((await aged.renewStep()) > 0);
    assert.deepEqual(await verified.renewed(), ['Grace Hopper: NoMatch'])
    assert.equal((await verified.events()).length, 1)
    assert.equal(await aged.renewStep(), 0)
    await verified.rename('Hopper')
    const waits = await aged.oldestRenewal(service.clock.now())
    assert.deepEqual(waits, service.clock.now())
  })
})
