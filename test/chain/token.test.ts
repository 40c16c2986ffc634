/** The token of the tests behaves like an ERC-20 token. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contracts, startAnvil } from '../support/chain/anvil.ts'
import { callData, failingAmount } from '../support/chain/token.ts'
import { untilEnd } from '../support/fixture.ts'

const anvil = untilEnd(await startAnvil())

const [alice, bob, carol] = ['a', 'b', 'c'].map((digit) => `0x${digit.repeat(40)}`) as [string, string, string]
const statusOf = async (hash: string) =>
  (await anvil.rpc<{ readonly status: string }>('eth_getTransactionReceipt', hash)).status
const estimate = (from: string, to: string, amount: bigint) =>
  anvil.rpc('eth_estimateGas', { from, to: contracts.USDC, data: callData('transfer', to, amount) })

test('a transfer moves tokens and logs payer, payee and amount', async () => {
  await anvil.fund(alice, 500n)
  const hash = await anvil.transfer(alice, bob, 120n)
  await anvil.mine()
  assert.equal(await statusOf(hash), '0x1')
  assert.deepEqual([await anvil.balance(alice), await anvil.balance(bob)], [380n, 120n])
  assert.equal(await anvil.balance(bob, 'EURC'), 0n)
  const [log] = await anvil.rpc<readonly { readonly topics: readonly string[]; readonly data: string }[]>(
    'eth_getLogs',
    { address: contracts.USDC, fromBlock: 'latest' },
  )
  const padded = (address: string) => `0x${address.slice(2).padStart(64, '0')}`
  assert.deepEqual(log?.topics.slice(1), [padded(alice), padded(bob)])
  assert.equal(BigInt(log.data), 120n)
})

test('an amount above the balance and a blocked recipient are refused with an error text', async () => {
  await assert.rejects(estimate(alice, bob, 10_000n), /exceeds balance/)
  const hash = await anvil.transfer(alice, bob, 10_000n)
  await anvil.send(alice, contracts.USDC, callData('block', carol))
  await anvil.mine()
  assert.equal(await statusOf(hash), '0x0')
  await assert.rejects(estimate(alice, carol, 1n), /blacklisted/)
})

test('a special amount passes estimation and reverts in its block', async () => {
  await anvil.fund(alice, failingAmount)
  await estimate(alice, bob, failingAmount)
  const hash = await anvil.transfer(alice, bob, failingAmount)
  await anvil.mine()
  assert.equal(await statusOf(hash), '0x0')
  assert.equal(await anvil.balance(bob), 120n)
})
