import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLog } from '../../kernel/index.ts'
import { createPerReachableShard, createPerShard } from './shards.ts'

const keys = ['a', 'b', 'c'].map((partnerId) => ({ partnerId, subscriptionId: `of ${partnerId}` }))
const log = createLog('silent')
const failsFor =
  (...partners: readonly string[]) =>
  async (some: readonly { readonly partnerId: string }[]) => {
    if (some.some(({ partnerId }) => partners.includes(partnerId))) throw new Error('the shard does not answer')
    return some.map(({ partnerId }) => partnerId)
  }

test('a shard that does not answer stops the work of its own partners only', async () => {
  const perShard = createPerReachableShard({ db: { sharded: true }, log })
  assert.deepEqual(await perShard(keys, failsFor('b')), ['a', 'c'])
  await assert.rejects(perShard(keys, failsFor('a', 'b', 'c')), /does not answer/)
  assert.deepEqual(await perShard([], failsFor('a')), [])
})

test('reads that must be complete fail with one shard, and a database that is not sharded gets all keys at once', async () => {
  await assert.rejects(createPerShard({ db: { sharded: true }, log })(keys, failsFor('b')), /does not answer/)
  const plain = createPerReachableShard({ db: { sharded: false }, log })
  assert.deepEqual(await plain(keys, failsFor()), ['a', 'b', 'c'])
  await assert.rejects(plain(keys, failsFor('b')), /does not answer/)
})
