/** Subscriptions, secrets and test deliveries. */
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { type SigningKey, verifyingKeyText, webhooks as wire } from '@partner-payments/wire'
import { createHooks, statusChanged } from '../../../../test/support/webhooks.ts'
import { createCursors, Refusal } from '../../kernel/api/index.ts'
import { AssertionFailure, createSealer, dayMs, newId, secondMs } from '../../kernel/index.ts'
import { sql } from '../../postgres/index.ts'
import { createWorkerHarness } from '../../../../test/support/worker-harness.ts'
import { createDeliveryEngine } from '../engine.ts'
import { createSecrets } from './secrets.ts'
import { startTcpReceiver } from '../../../../test/support/exchange.ts'
import { until } from '../../../../test/support/until.ts'
import { untilEnd } from '../../../../test/support/fixture.ts'
import { refused } from '../../../../test/support/refusals.ts'
import { hostCallKinds, createChosenHosts } from '../exchange/chosen-hosts.ts'
import { createTestDeliveries } from './test-delivery.ts'

const input = { url: 'https://example.com/hook', events: [statusChanged] }

const hooks = untilEnd(await createHooks())

suite('subscriptions', async () => {
  test('422 webhook_limit_reached: 20 of 30 concurrent creations succeed, and one more after a deletion', async () => {
    const partnerId = await hooks.addPartner()
    const made = await Promise.allSettled(Array.from({ length: 30 }, () => hooks.webhooks.create(partnerId, input)))
    const ok = made.filter((result) => result.status === 'fulfilled')
    const failed = made.filter((result) => result.status === 'rejected')
    assert.equal(ok.length, 20)
    assert.ok(failed.every((result) => refused('webhook_limit_reached')(result.reason)))
    const id = (await hooks.webhooks.list(partnerId, {})).data[0]?.id ?? ''
    // Two concurrent deletions of one subscription allow one creation.
    const removed = await Promise.allSettled([1, 2].map(() => hooks.webhooks.remove(partnerId, id)))
    assert.deepEqual(removed.map((result) => result.status).sort(), ['fulfilled', 'rejected'])
    await hooks.webhooks.create(partnerId, input)
    await assert.rejects(hooks.webhooks.create(partnerId, input), refused('webhook_limit_reached'))
  })
})

suite('secrets', async () => {
  async function subscribed(more: { readonly signature?: 'v1' | 'v1a' } = {}) {
    const partnerId = await hooks.addPartner()
    const created = await hooks.webhooks.create(partnerId, { ...input, ...more })
    return { partnerId, subscriptionId: created.id, created }
  }

  /** Creates an engine without opened keys in memory, as another process has. */
  const engineOfAnotherProcess = () =>
    createDeliveryEngine({
      db: hooks.db,
      clock: hooks.clock,
      eventOutbox: hooks.eventOutbox,
      sealer: createSealer([hooks.key]),
      cursors: createCursors(hooks.key),
      urlRules: { allowHttpLoopback: true },
      alerts: hooks.alerts,
    })

  /** Keys that verify the current signatures, newest first, as another process reads them. */
  async function verifyingKeys(key: { readonly partnerId: string; readonly subscriptionId: string }) {
    const secrets = createSecrets({ sealer: createSealer([hooks.key]) })
    const signing = (await secrets.signingKeys(hooks.db, [key], hooks.clock.now())).get(key.subscriptionId)
    return (signing?.keys ?? []).map((one: SigningKey) => verifyingKeyText(one))
  }

  test('both secrets sign during the overlap, then only the new secret signs and the old one is deleted', async () => {
    const { created, ...key } = await subscribed()
    const { partnerId, subscriptionId } = key
    assert.deepEqual(await verifyingKeys(key), [created.secret])
    const rotated = await hooks.webhooks.rotateSecret(partnerId, subscriptionId)
    assert.notEqual(rotated.secret, created.secret)
    assert.equal(rotated.overlapUntil.getTime() - hooks.clock.now().getTime(), dayMs)
    assert.deepEqual(await verifyingKeys(key), [rotated.secret, created.secret])
    hooks.clock.advance(dayMs - 1)
    assert.equal((await verifyingKeys(key)).length, 2)
    hooks.clock.advance(1)
    assert.deepEqual(await verifyingKeys(key), [rotated.secret])
    await hooks.webhooks.sweep(hooks.log)
    const rows = await hooks.db.rows(sql`select id from delivery.secrets where partner_id = ${partnerId}`)
    assert.equal(rows.length, 1)
  })

  test('a later rotation does not extend an earlier overlap', async () => {
    const { created, ...key } = await subscribed()
    const { partnerId, subscriptionId } = key
    await hooks.webhooks.rotateSecret(partnerId, subscriptionId, { overlapSeconds: 60 })
    await hooks.webhooks.rotateSecret(partnerId, subscriptionId, { overlapSeconds: 600 })
    hooks.clock.advance(61 * secondMs)
    const keys = await verifyingKeys(key)
    assert.equal(keys.length, 2)
    assert.ok(!keys.includes(created.secret ?? ''))
  })

  test('concurrent rotations each issue a secret that signs, up to the limit', async () => {
    const { created, ...key } = await subscribed()
    const { partnerId, subscriptionId } = key
    const rotations = Array.from({ length: 7 }, () => hooks.webhooks.rotateSecret(partnerId, subscriptionId))
    const results = await Promise.allSettled(rotations)
    const shown = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value.secret] : []))
    assert.equal(shown.length, wire.activeSecretsMax - 1)
    for (const result of results)
      if (result.status === 'rejected') assert.ok(refused('webhook_secret_limit_reached')(result.reason))
    assert.deepEqual((await verifyingKeys(key)).toSorted(), [created.secret, ...shown].toSorted())
    const last = await hooks.webhooks.rotateSecret(partnerId, subscriptionId, { overlapSeconds: 0 })
    assert.deepEqual(await verifyingKeys(key), [last.secret])
  })

  test('a rotation in one process takes effect in another', async () => {
    const { created: _created, ...key } = await subscribed()
    const other = engineOfAnotherProcess()
    const secrets = createSecrets({ sealer: createSealer([hooks.key]) })
    const keysOf = async () =>
      (await secrets.signingKeys(hooks.db, [key], hooks.clock.now()))
        .get(key.subscriptionId)
        ?.keys.map(verifyingKeyText)
    await keysOf()
    const rotated = await other.rotateSecret(key.partnerId, key.subscriptionId, { overlapSeconds: 0 })
    assert.deepEqual(await keysOf(), [rotated.secret])
  })

  test('deliveries in the memory of a worker are signed with the current secret', async () => {
    const { created: _created, ...key } = await subscribed()
    for (let i = 0; i < 40; i += 1) await hooks.emit(key.partnerId, newId(), 'x')
    await hooks.fanOut(key.partnerId)
    const harness = createWorkerHarness(hooks)
    const claims = await harness.claim(key)
    assert.ok(claims.length < 40)
    const rotated = await hooks.webhooks.rotateSecret(key.partnerId, key.subscriptionId, { overlapSeconds: 0 })
    while ((await harness.step()) > 0);
    for (const claim of claims) await harness.record(claim)
    const next = await harness.claim(key)
    assert.ok(next.length > 0)
    for (const claim of next) assert.deepEqual(claim.target.keys.map(verifyingKeyText), [rotated.secret])
    await harness.close()
  })

  test('a v1a subscription always shows its public key, and never a secret', async () => {
    const { created, ...key } = await subscribed({ signature: 'v1a' })
    assert.equal(created.secret, undefined)
    assert.match(created.publicKey ?? '', /^whpk_[A-Za-z0-9+/]{43}=$/)
    const read = await hooks.webhooks.get(key.partnerId, key.subscriptionId)
    assert.equal(read.publicKey, created.publicKey)
    const { data } = await hooks.webhooks.list(key.partnerId, {})
    assert.equal(data[0]?.publicKey, created.publicKey)
    assert.deepEqual(await verifyingKeys(key), [created.publicKey])
    const row = await hooks.db.row<{ text: string }>(sql`
    select encode(secret_sealed, 'escape') as text from delivery.secrets where partner_id = ${key.partnerId}`)
    assert.ok(row && !/whsk_/.test(row.text))
  })

  test('a rotation can change the kind of signature, and both kinds sign during the overlap', async () => {
    const { created, ...key } = await subscribed()
    const { partnerId, subscriptionId } = key
    const rotated = await hooks.webhooks.rotateSecret(partnerId, subscriptionId, { signature: 'v1a' })
    assert.equal(rotated.secret, undefined)
    assert.deepEqual(await verifyingKeys(key), [rotated.publicKey, created.secret])
    const read = await hooks.webhooks.get(partnerId, subscriptionId)
    assert.deepEqual([read.signature, read.publicKey], ['v1a', rotated.publicKey])
  })

  test('a secret cannot be decrypted for another subscription, and a deleted subscription has no secret', async () => {
    const [one, two] = [await subscribed(), await subscribed()]
    await hooks.db.run(sql`
    update delivery.secrets set secret_sealed = (select secret_sealed from delivery.secrets where partner_id = ${one.partnerId})
    where partner_id = ${two.partnerId}`)
    await assert.rejects(verifyingKeys(two), AssertionFailure)
    await hooks.webhooks.remove(one.partnerId, one.subscriptionId)
    assert.deepEqual(await verifyingKeys(one), [])
  })

  test('a key that cannot be decrypted hides no other subscription in the list, and a rotation replaces it', async () => {
    const { created: intact, ...key } = await subscribed({ signature: 'v1a' })
    const { partnerId } = key
    const broken = await hooks.webhooks.create(partnerId, { ...input, signature: 'v1a' })
    await hooks.db.run(sql`
    update delivery.secrets set secret_sealed = (select secret_sealed from delivery.secrets
      where partner_id = ${partnerId} and subscription_id = ${intact.id})
    where partner_id = ${partnerId} and subscription_id = ${broken.id}`)
    const webhooks = engineOfAnotherProcess()
    const { data } = await webhooks.list(partnerId, {})
    const shown = data.map(({ id, publicKey, warnings }) => ({ id, publicKey, warnings: warnings.length }))
    assert.deepEqual(shown, [
      { id: broken.id, publicKey: undefined, warnings: 1 },
      { id: intact.id, publicKey: intact.publicKey, warnings: 0 },
    ])
    assert.equal((await webhooks.enable(partnerId, broken.id)).id, broken.id)
    const rotated = await webhooks.rotateSecret(partnerId, broken.id, { overlapSeconds: 0 })
    const { publicKey, warnings } = await webhooks.get(partnerId, broken.id)
    assert.deepEqual({ publicKey, warnings }, { publicKey: rotated.publicKey, warnings: [] })
  })
})

suite('test deliveries', () => {
  test('a partner has a limited number of concurrent tests, and can test again when they end', async () => {
    const { perPartnerMax } = hostCallKinds.webhookTest
    const answers: (() => void)[] = []
    const endpoint = await startTcpReceiver(
      (socket) => void answers.push(() => socket.end('HTTP/1.1 204 No Content\r\n\r\n')),
    )
    after(endpoint.close)
    const partnerId = await hooks.addPartner()
    const { id } = await hooks.webhooks.create(partnerId, { url: endpoint.url })
    const testDeliveries = createTestDeliveries({
      db: hooks.db,
      clock: hooks.clock,
      sealer: createSealer([hooks.key]),
      sample: async () => '{}',
      send: createChosenHosts({ clock: hooks.clock, allowLoopback: true }).sendTest,
    })
    const all = Array.from({ length: perPartnerMax + 3 }, () => testDeliveries.test(partnerId, id))
    const outcomes = Promise.allSettled(all)
    const refused: unknown[] = []
    for (const each of all) each.catch((error: unknown) => refused.push(error))
    await until('the others are refused', () => refused.length === 3 && answers.length === perPartnerMax)
    for (const error of refused) assert.ok(error instanceof Refusal && error.code === 'webhook_test_too_soon')
    answers.splice(0).forEach((answer) => answer())
    const sent = (await outcomes).filter(({ status }) => status === 'fulfilled')
    assert.equal(sent.length, perPartnerMax)
    const again = testDeliveries.test(partnerId, id)
    await until('the endpoint is called', () => answers.length === 1)
    answers.forEach((answer) => answer())
    assert.ok((await again).delivered)
    await assert.rejects(testDeliveries.test(newId(), id), Refusal)
  })
})
