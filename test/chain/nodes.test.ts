/** Nodes that lie, lag, hang or belong to another chain move no money, and delay payments only while they do. */
import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import { Unreachable } from '../../service/src/kernel/api/index.ts'
import { hourMs } from '../../service/src/kernel/index.ts'
import { submitDuePayouts } from '../../service/src/banks/settlement/index.ts'
import { contracts, startAnvil } from '../support/chain/anvil.ts'
import { cut, failing, hanging, startNodeProxy } from '../support/chain/proxy.ts'
import { createChainScene } from '../support/chain/scene.ts'

const payer = `0x${'77'.repeat(20)}`
const recipient = `0x${'88'.repeat(20)}`

const anvil = await startAnvil()
const proxies = [await startNodeProxy(anvil.url), await startNodeProxy(anvil.url)] as const
const scene = await createChainScene({ anvil, urls: proxies.map(({ url }) => url) })
await scene.begin()
await anvil.fund(payer, 10n ** 12n)
const partner = await scene.addPartner()
const { address } = await scene.addWallet(partner)
beforeEach(() => {
  for (const proxy of proxies) proxy.behave(undefined)
})
after(async () => {
  await scene.close()
  for (const proxy of proxies) await proxy.close()
  await anvil.stop()
})

const posted = async () => (await scene.balance(partner)).posted
const word = (text: string) => `0x${text.slice(2).padStart(64, '0')}`
type Answer = { readonly result: unknown }

/** Checks that nothing moves while the nodes disagree, and that everything catches up once they agree. */
async function checkStandstill(blocks = 4): Promise<void> {
  const before = await posted()
  await anvil.mine(blocks)
  await assert.rejects(scene.connector.step(), Unreachable)
  assert.equal(await posted(), before)
  for (const proxy of proxies) proxy.behave(undefined)
  await scene.pump()
}

test('a deposit that only one node reports is ignored', async () => {
  proxies[1].behave(async ({ method }, forward) => {
    const answer = (await forward()) as Answer
    if (method !== 'eth_getLogs') return answer
    const block = await anvil.rpc<{ readonly hash: string; readonly number: string }>(
      'eth_getBlockByNumber',
      'latest',
      false,
    )
    const topics = ['0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef', word(payer), word(address)]
    const place = { blockNumber: block.number, blockHash: block.hash, logIndex: '0x0', transactionHash: word('0x1') }
    return { ...answer, result: [{ address: contracts.USDC, topics, data: word('0xffff'), ...place }] }
  })
  await checkStandstill()
  assert.equal(await posted(), 0n)
})

test('malformed answers of a node move no money', async () => {
  const strange = [5, '', 'x', '0xg', true, {}, { length: 6e7 }, [{ length: 6e7 }], [{}], '0x\0']
  for (const result of strange) {
    proxies[0].behave(async (_asked, forward) => ({ ...((await forward()) as Answer), result }))
    await checkStandstill(1)
  }
  for (const change of [{ id: 'x' }, { error: 5 }, { error: { message: {} } }]) {
    proxies[0].behave(async (_asked, forward) => ({ ...((await forward()) as Answer), ...change }))
    await checkStandstill(1)
  }
})

test('a deposit that one node hides is credited when the nodes agree', async () => {
  await anvil.transfer(payer, address, 5_000000n)
  proxies[0].behave(async ({ method }, forward) => {
    const answer = (await forward()) as Answer
    return method === 'eth_getLogs' ? { ...answer, result: [] } : answer
  })
  await checkStandstill()
  assert.equal(await posted(), 5_000000n)
})

test('a node that shows other hashes is ignored', async () => {
  proxies[0].behave(async ({ method }, forward) => {
    const answer = (await forward()) as { readonly result: object }
    return method === 'eth_getBlockByNumber' ? { ...answer, result: { ...answer.result, hash: word('0xbad') } } : answer
  })
  await checkStandstill()
})

test('a failure that only one node reports is ignored', async () => {
  const payout = await scene.payToken(partner, recipient, '1')
  await scene.pump()
  proxies[1].behave(async ({ method }, forward) => {
    const answer = (await forward()) as { readonly result: object }
    return method === 'eth_getTransactionReceipt' ? { ...answer, result: { ...answer.result, status: '0x0' } } : answer
  })
  await checkStandstill()
  assert.equal((await scene.payoutOf(partner, payout.id)).status, 'Completed')
  assert.equal(await anvil.balance(recipient), 1_000000n)
})

test('while a node lags, deposits that only the other node reports are not credited', async () => {
  const lagging = await anvil.head()
  await anvil.transfer(payer, address, 2_000000n)
  const before = await posted()
  proxies[1].behave(async ({ method }, forward) => {
    const answer = (await forward()) as Answer
    return method === 'eth_blockNumber' ? { ...answer, result: `0x${lagging.toString(16)}` } : answer
  })
  await anvil.mine(5)
  await scene.pump()
  assert.equal(await posted(), before)
  proxies[1].behave(undefined)
  await scene.pump()
  assert.equal(await posted(), before + 2_000000n)
})

test('nodes whose block number decreases are ignored until they catch up', async () => {
  await anvil.transfer(payer, address, 3_000000n)
  await anvil.mine(2)
  await scene.pump()
  const before = await posted()
  const behind = await anvil.head()
  for (const proxy of proxies)
    proxy.behave(async ({ method }, forward) => {
      const answer = (await forward()) as Answer
      return method === 'eth_blockNumber' ? { ...answer, result: `0x${(behind - 5).toString(16)}` } : answer
    })
  await scene.pump()
  assert.equal(await posted(), before)
  for (const proxy of proxies) proxy.behave(undefined)
  await scene.mine(1)
  assert.equal(await posted(), before + 3_000000n)
})

for (const [name, behaviour] of [
  ['fails', failing],
  ['cuts its connections', cut],
  ['answers something else', { id: 7, result: 7 }],
] as const)
  test(`a node that ${name} stops the connector only while it does`, async () => {
    proxies[1].behave(async () => behaviour)
    await checkStandstill()
  })

test('a hanging node is abandoned and leaves no connection open', async () => {
  proxies[0].behave(async ({ method }, forward) => (method === 'eth_getLogs' ? hanging : forward()))
  await checkStandstill()
  assert.equal(proxies[0].openCalls(), 0)
  const payout = await scene.payToken(partner, recipient, '1')
  proxies[0].behave(async () => hanging)
  const instruct = async (signal: AbortSignal) =>
    scene.connector.instruct([], { signal }).then(() => scene.connector.step())
  await assert.rejects(instruct(AbortSignal.timeout(100)), Unreachable)
  proxies[0].behave(undefined)
  await scene.mine()
  await scene.mine()
  assert.equal((await scene.payoutOf(partner, payout.id)).status, 'Completed')
  await scene.checkLedger([partner])
})

test('a transaction that one of two nodes accepts is sent', async () => {
  proxies[0].behave(async ({ method, id }, forward) =>
    method === 'eth_sendRawTransaction' ? { id, error: { message: 'the pool is full' } } : forward(),
  )
  const payout = await scene.payToken(partner, recipient, '1')
  await scene.mine()
  assert.equal((await scene.payoutOf(partner, payout.id)).status, 'Completed')
})

test('nodes of another chain are not used: payouts wait until the nodes are correct, and the service continues', async () => {
  for (const proxy of proxies)
    proxy.behave(async ({ method }, forward) => {
      const answer = (await forward()) as Answer
      return method === 'eth_chainId' ? { ...answer, result: '0x1' } : answer
    })
  // As after a restart: a running connector trusts its nodes for a minute.
  const restarted = await createChainScene({ anvil, urls: proxies.map(({ url }) => url), url: scene.service.url })
  const payout = await scene.payToken(partner, recipient, '1')
  await assert.rejects(restarted.connector.step(), /do not agree|do not answer/)
  await submitDuePayouts(restarted.settlement)
  assert.equal((await scene.payoutOf(partner, payout.id)).status, 'Processing')
  assert.equal((await scene.service.wallets.list(partner.partnerId, {})).data.length, 1)
  for (const proxy of proxies) proxy.behave(undefined)
  restarted.service.clock.advance(hourMs)
  await restarted.mine()
  await restarted.mine()
  assert.equal((await scene.payoutOf(partner, payout.id)).status, 'Completed')
  await restarted.close()
})
