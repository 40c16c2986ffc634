import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type SigningKey, verifyingKeyText, webhooks as wire } from '@partner-payments/wire'
import { createWorkerHarness } from '../../../../test/support/worker-harness.ts'
import { createHooks, statusChanged } from '../../../../test/support/webhooks.ts'
import { createCursors, Refusal } from '../../api/index.ts'
import { AssertionFailure, createSealer, dayMs, newId, secondMs } from '../../kernel/index.ts'
import { sql } from '../../postgres/index.ts'
import { createDeliveryEngine } from '../engine.ts'
import { createSecrets } from './secrets.ts'

let hooks: Awaited<ReturnType<typeof createHooks>>
before(async () => {
  hooks = await createHooks()
})
after(() => hooks?.close())

const refused = (code: string) => (error: unknown) => error instanceof Refusal && error.code === code
const input = { url: 'https://example.com/hook', events: [statusChanged] }

async function subscribed(more: { readonly signature?: 'v1' | 'v1a' } = {}) {
  const partnerId = await hooks.addPartner()
  const created = await hooks.webhooks.create(partnerId, { ...input, ...more })
  return { partnerId, subscriptionId: created.id, created }
}

/** What verifies the signatures of now, the newest first, as another process than the one that rotates would see it. */
async function verifying(key: { readonly partnerId: string; readonly subscriptionId: string }) {
  const secrets = createSecrets({ sealer: createSealer([hooks.key]) })
  const signing = (await secrets.signingKeys(hooks.db, [key], hooks.clock.now())).get(key.subscriptionId)
  return (signing?.keys ?? []).map((one: SigningKey) => verifyingKeyText(one))
}

test('both sign during the overlap, then the new one alone, and the old one is swept', async () => {
  const { created, ...key } = await subscribed()
  const { partnerId, subscriptionId } = key
  assert.deepEqual(await verifying(key), [created.secret])
  const rotated = await hooks.webhooks.rotateSecret(partnerId, subscriptionId)
  assert.notEqual(rotated.secret, created.secret)
  assert.equal(rotated.overlapUntil.getTime() - hooks.clock.now().getTime(), dayMs)
  assert.deepEqual(await verifying(key), [rotated.secret, created.secret])
  hooks.clock.advance(dayMs - 1)
  assert.equal((await verifying(key)).length, 2)
  hooks.clock.advance(1)
  assert.deepEqual(await verifying(key), [rotated.secret])
  await hooks.webhooks.sweep()
  const rows = await hooks.db.rows(sql`select id from delivery.secrets where partner_id = ${partnerId}`)
  assert.equal(rows.length, 1)
})

test('without an overlap the old one signs no more, whatever end it had', async () => {
  const { created: _created, ...key } = await subscribed()
  const { partnerId, subscriptionId } = key
  await hooks.webhooks.rotateSecret(partnerId, subscriptionId, { overlapSeconds: 600 })
  const rotated = await hooks.webhooks.rotateSecret(partnerId, subscriptionId, { overlapSeconds: 0 })
  assert.deepEqual(await verifying(key), [rotated.secret])
})

test('a later rotation does not prolong an overlap that ends earlier', async () => {
  const { created, ...key } = await subscribed()
  const { partnerId, subscriptionId } = key
  await hooks.webhooks.rotateSecret(partnerId, subscriptionId, { overlapSeconds: 60 })
  await hooks.webhooks.rotateSecret(partnerId, subscriptionId, { overlapSeconds: 600 })
  hooks.clock.advance(61 * secondMs)
  const keys = await verifying(key)
  assert.equal(keys.length, 2)
  assert.ok(!keys.includes(created.secret ?? ''))
})

test('rotations at once are one after another: all of their secrets sign, up to the limit', async () => {
  const { created, ...key } = await subscribed()
  const { partnerId, subscriptionId } = key
  const rotations = Array.from({ length: 7 }, () => hooks.webhooks.rotateSecret(partnerId, subscriptionId))
  const results = await Promise.allSettled(rotations)
  const shown = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value.secret] : []))
  assert.equal(shown.length, wire.activeSecretsMax - 1)
  for (const result of results)
    if (result.status === 'rejected') assert.ok(refused('webhook_secret_limit_reached')(result.reason))
  assert.deepEqual((await verifying(key)).toSorted(), [created.secret, ...shown].toSorted())
  const last = await hooks.webhooks.rotateSecret(partnerId, subscriptionId, { overlapSeconds: 0 })
  assert.deepEqual(await verifying(key), [last.secret])
})

test('a rotation in one process is what signs in another', async () => {
  const { created: _created, ...key } = await subscribed()
  const other = createDeliveryEngine({
    ...{ db: hooks.db, clock: hooks.clock, eventOutbox: hooks.eventOutbox, sealer: createSealer([hooks.key]) },
    ...{ cursors: createCursors(hooks.key), urlRules: { allowHttpLoopback: true } },
  })
  const secrets = createSecrets({ sealer: createSealer([hooks.key]) })
  const keysOf = async () =>
    (await secrets.signingKeys(hooks.db, [key], hooks.clock.now())).get(key.subscriptionId)?.keys.map(verifyingKeyText)
  await keysOf()
  const rotated = await other.rotateSecret(key.partnerId, key.subscriptionId, { overlapSeconds: 0 })
  assert.deepEqual(await keysOf(), [rotated.secret])
})

test('what a worker has in memory already goes out signed by the secret of now', async () => {
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

test('v1a shows its public key whenever it is asked, and never a secret', async () => {
  const { created, ...key } = await subscribed({ signature: 'v1a' })
  assert.equal(created.secret, undefined)
  assert.match(created.publicKey ?? '', /^whpk_[A-Za-z0-9+/]{43}=$/)
  const read = await hooks.webhooks.get(key.partnerId, key.subscriptionId)
  assert.equal(read.publicKey, created.publicKey)
  const { data } = await hooks.webhooks.list(key.partnerId, {})
  assert.equal(data[0]?.publicKey, created.publicKey)
  assert.deepEqual(await verifying(key), [created.publicKey])
  const row = await hooks.db.row<{ text: string }>(sql`
    select encode(secret_sealed, 'escape') as text from delivery.secrets where partner_id = ${key.partnerId}`)
  assert.ok(row && !/whsk_/.test(row.text))
})

test('a rotation changes the kind of the signature, and both kinds sign meanwhile', async () => {
  const { created, ...key } = await subscribed()
  const { partnerId, subscriptionId } = key
  const rotated = await hooks.webhooks.rotateSecret(partnerId, subscriptionId, { signature: 'v1a' })
  assert.equal(rotated.secret, undefined)
  assert.deepEqual(await verifying(key), [rotated.publicKey, created.secret])
  const read = await hooks.webhooks.get(partnerId, subscriptionId)
  assert.deepEqual([read.signature, read.publicKey], ['v1a', rotated.publicKey])
})

test('a secret of another subscription does not open, and those of a removed one are gone', async () => {
  const [one, two] = [await subscribed(), await subscribed()]
  await hooks.db.run(sql`
    update delivery.secrets set secret_sealed = (select secret_sealed from delivery.secrets where partner_id = ${one.partnerId})
    where partner_id = ${two.partnerId}`)
  await assert.rejects(verifying(two), AssertionFailure)
  await hooks.webhooks.remove(one.partnerId, one.subscriptionId)
  assert.deepEqual(await verifying(one), [])
})

test('404 to a subscription that is unknown, removed, or of another partner', async () => {
  const { partnerId, subscriptionId } = await subscribed()
  const stranger = await hooks.addPartner()
  await assert.rejects(hooks.webhooks.rotateSecret(partnerId, newId()), refused('not_found'))
  await assert.rejects(hooks.webhooks.rotateSecret(stranger, subscriptionId), refused('not_found'))
  await hooks.webhooks.remove(partnerId, subscriptionId)
  await assert.rejects(hooks.webhooks.rotateSecret(partnerId, subscriptionId), refused('not_found'))
})
