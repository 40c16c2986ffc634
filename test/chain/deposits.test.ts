/** Tokens that arrive on a real chain: confirmations, owners, other contracts, dust, and reorganisations. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from '../../service/src/postgres/index.ts'
import { strangeContract } from '../support/chain/anvil.ts'
import { createChainScene } from '../support/chain/scene.ts'
import { callData } from '../support/chain/token.ts'
import type { TestPartner } from '../support/composition.ts'
import { untilEnd } from '../support/fixture.ts'
import { pluck } from '../support/pluck.ts'

const payer = `0x${'77'.repeat(20)}`

const scene = untilEnd(await createChainScene({ chain: { minimumDeposit: { USDC: '0.01' } } }))
await scene.begin()
for (const currency of ['USDC', 'EURC'] as const) await scene.anvil.fund(payer, 10n ** 12n, currency)
await scene.anvil.send(payer, strangeContract, callData('mint', payer, 10n ** 12n))
await scene.mine()

const posted = async (partner: TestPartner, currency: 'USDC' | 'EURC' = 'USDC') =>
  (await scene.balance(partner, currency)).posted
const transactionsOf = async ({ partnerId }: TestPartner) =>
  (await scene.service.transactions.list(partnerId, {})).data.map(({ row }) => row)
const eventsOf = async ({ partnerId }: TestPartner) =>
  scene.service.db.rows<{ type: string; data: string }>(sql`
    select type, data from events.events where partner_id = ${partnerId} order by id`)

test('a deposit is credited at its third confirmation, and its transaction has the hash', async () => {
  const partner = await scene.addPartner()
  const wallet = await scene.addWallet(partner)
  const hash = await scene.anvil.transfer(payer, wallet.address, 250_000000n)
  await scene.mine(2)
  assert.equal(await posted(partner), 0n)
  await scene.mine(1)
  assert.equal(await posted(partner), 250_000000n)
  await scene.mine(5)
  assert.equal(await posted(partner), 250_000000n)
  const [transaction, ...others] = await transactionsOf(partner)
  assert.deepEqual(others, [])
  assert.deepEqual(
    [transaction?.type, transaction?.rail, transaction?.status, transaction?.transactionHash],
    ['TokenTransferIn', 'Wallet', 'Completed', hash],
  )
  const completed = (await eventsOf(partner)).find(({ type }) => type === 'partner.customer.deposit.completed')
  assert.match(completed?.data ?? '', new RegExp(`"blockchainTransactionHash":"${hash}"`))
  assert.equal((await scene.service.wallets.get(partner.partnerId, wallet.id)).received, 250_000000n)
  await scene.checkLedger([partner])
})

test('each owner is credited: a customer, the partner, another token, two transfers in one block', async () => {
  const partner = await scene.addPartner()
  const [customers, own] = [await scene.addWallet(partner), await scene.addWallet(partner, 'USDC', 'partner')]
  assert.notEqual(customers.address, own.address)
  await scene.anvil.transfer(payer, customers.address, 1_000000n)
  await scene.anvil.transfer(payer, customers.address, 1_000000n)
  await scene.anvil.transfer(payer, own.address, 5_000000n)
  await scene.anvil.send(payer, `0x${'e0'.repeat(20)}`, callData('transfer', customers.address, 7_000000n))
  await scene.mine()
  assert.deepEqual([await posted(partner), await posted(partner, 'EURC')], [7_000000n, 7_000000n])
  assert.equal((await transactionsOf(partner)).length, 4)
  await scene.checkLedger([partner])
})

test('transfers of another contract, of zero and of dust are not credited, and dust is recorded', async () => {
  const partner = await scene.addPartner()
  const { address } = await scene.addWallet(partner)
  await scene.anvil.transfer(payer, address, 9_000000n, strangeContract)
  await scene.anvil.transfer(payer, address, 0n)
  await scene.mine()
  assert.deepEqual(await transactionsOf(partner), [])
  await scene.checkLedger([partner])
  await scene.anvil.transfer(payer, address, 9_999n)
  await scene.mine()
  assert.deepEqual(await transactionsOf(partner), [])
  const rows = await scene.service.db.rows<{ amount: bigint; status: string }>(sql`
    select amount, status from rails.chain_credits where partner_id = ${partner.partnerId}`)
  assert.deepEqual(rows, [{ amount: 9_999n, status: 'Small' }])
  // For later tests: the dust leaves the address and is forgotten.
  await scene.service.db.run(
    sql`update wallets.wallets set address = ${`0x${'d'.repeat(40)}`} where address = ${address}`,
  )
})

test('a reorganisation within the confirmations has no visible effect', async () => {
  const partner = await scene.addPartner()
  const { address } = await scene.addWallet(partner)
  const snapshot = await scene.anvil.rpc('evm_snapshot')
  await scene.anvil.transfer(payer, address, 3_000000n)
  await scene.mine(2)
  await scene.anvil.rpc('evm_revert', snapshot)
  await scene.mine(2)
  await scene.mine(6)
  assert.deepEqual([await posted(partner), (await transactionsOf(partner)).length], [0n, 0])
  assert.deepEqual(await scene.casesOf(), [])
  await scene.checkLedger([partner])
})

test('a deeper reorganisation reverses the deposit with a case, and the deposit is credited again if it is mined again', async () => {
  const partner = await scene.addPartner()
  const { address } = await scene.addWallet(partner)
  const snapshot = await scene.anvil.rpc('evm_snapshot')
  await scene.anvil.transfer(payer, address, 4_000000n)
  await scene.mine(4)
  assert.equal(await posted(partner), 4_000000n)
  await scene.anvil.rpc('evm_revert', snapshot)
  // The nodes are behind their earlier head: they are not trusted.
  await scene.mine(2)
  assert.equal(await posted(partner), 4_000000n)
  await scene.mine(3)
  assert.equal(await posted(partner), 0n)
  assert.deepEqual(pluck(await scene.casesOf(), 'kind'), ['credit_reversed'])
  await scene.checkLedger([partner])
  await scene.anvil.transfer(payer, address, 4_000000n)
  await scene.mine(3)
  assert.equal(await posted(partner), 4_000000n)
  const types = (await transactionsOf(partner)).map(({ type, status }) => `${type} ${status}`)
  assert.deepEqual(types, ['TokenTransferIn Completed', 'TokenTransferOut Completed', 'TokenTransferIn Completed'])
  await scene.checkLedger([partner])
})

test('a deep reorganisation that keeps the transfer in another block changes nothing', async () => {
  const partner = await scene.addPartner()
  const { address } = await scene.addWallet(partner)
  const snapshot = await scene.anvil.rpc('evm_snapshot')
  const hash = await scene.anvil.transfer(payer, address, 2_000000n)
  await scene.mine(4)
  await scene.anvil.rpc('evm_revert', snapshot)
  await scene.anvil.mine(1)
  assert.equal(await scene.anvil.transfer(payer, address, 2_000000n), hash, 'the same transaction')
  const cases = await scene.casesOf()
  await scene.mine(6)
  assert.equal(await posted(partner), 2_000000n)
  assert.equal((await transactionsOf(partner)).length, 1)
  assert.deepEqual(await scene.casesOf(), cases)
  await scene.checkLedger([partner])
})

test('tokens on the sending account, and tokens that leave without an instruction, open cases of the operator', async () => {
  const partner = await scene.addPartner()
  const { address } = await scene.addWallet(partner)
  const before = (await scene.casesOf()).length
  await scene.anvil.transfer(payer, scene.sender, 11_000000n)
  await scene.anvil.transfer(payer, address, 6_000000n)
  await scene.mine()
  await scene.anvil.transfer(address, payer, 1_000000n)
  await scene.mine()
  // Tokens collected on the sending account stay in the service.
  await scene.anvil.transfer(address, scene.sender, 2_000000n)
  await scene.mine()
  assert.deepEqual(
    (await scene.casesOf()).slice(before).map(({ kind, booked }) => [kind, booked]),
    [
      ['unknown_payment', 11_000000n],
      ['unknown_payment', -1_000000n],
    ],
  )
  assert.equal(await posted(partner), 6_000000n)
  await scene.checkLedger([partner])
})
