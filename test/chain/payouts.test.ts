/** Token payouts on a real chain: hashes, refusals, reverts, replacements, foreign transactions, two workers. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { minuteMs } from '../../service/src/kernel/index.ts'
import { sql } from '../../service/src/postgres/index.ts'
import { readTravelRule } from '../../service/src/chains/evm/index.ts'
import { contracts } from '../support/chain/anvil.ts'
import { createChainScene } from '../support/chain/scene.ts'
import { callData } from '../support/chain/token.ts'
import { untilEnd } from '../support/fixture.ts'

const payer = `0x${'77'.repeat(20)}`
const recipientOf = (digit: string) => `0x${digit.repeat(40)}`

const scene = untilEnd(await createChainScene())
await scene.begin()
await scene.anvil.fund(payer, 10n ** 14n)
const partner = await scene.addPartner()
const { address } = await scene.addWallet(partner)
await scene.anvil.transfer(payer, address, 100_000_000000n)
await scene.mine()

const statusOf = async (id: string) => (await scene.payoutOf(partner, id)).status
const noncesOf = async () =>
  (await scene.service.db.rows<{ nonce: bigint }>(sql`select nonce from rails.chain_nonces order by nonce`)).map(
    ({ nonce }) => nonce,
  )
const attemptsOf = (recipient: string) =>
  scene.service.db.rows<{ hash: string; nonce: bigint; feeMax: bigint }>(sql`
    select attempt.hash, transfer.nonce, attempt.fee_max from rails.chain_transfers as transfer
      join rails.chain_attempts as attempt on attempt.partner_id = transfer.partner_id and attempt.transfer_id = transfer.id
    where transfer.recipient = ${recipient} order by attempt.attempt`)

test('a payout is sent, settles with its confirmations, and its transaction has the hash', async () => {
  const payout = await scene.payToken(partner, recipientOf('1'), '12.345678')
  await scene.pump()
  assert.equal(await statusOf(payout.id), 'Sent')
  await scene.mine(2)
  assert.equal(await statusOf(payout.id), 'Sent')
  await scene.mine(1)
  assert.equal(await statusOf(payout.id), 'Completed')
  assert.equal(await scene.anvil.balance(recipientOf('1')), 12_345678n)
  const [attempt] = await attemptsOf(recipientOf('1'))
  const { row } = await scene.service.transactions.get(partner.partnerId, payout.reference)
  assert.deepEqual([row.transactionHash, row.type, row.rail], [attempt?.hash, 'TokenTransferOut', 'Wallet'])
  await scene.checkLedger([partner])
})

test('the travel rule data of both parties is stored sealed', async () => {
  const payout = await scene.payToken(partner, recipientOf('2'), '1', {
    customerId: partner.customer.id,
    country: 'NL',
    vasp: 'Example Custody Ltd',
  })
  await scene.service.beneficiaries.remove(partner.partnerId, payout.beneficiaryId ?? '')
  await scene.mine()
  assert.equal(await statusOf(payout.id), 'Completed')
  const [attempt] = await attemptsOf(recipientOf('2'))
  const { db, sealer } = scene.service
  assert.deepEqual(await readTravelRule(db, sealer, attempt?.hash ?? ''), {
    originator: { name: 'Ada Lovelace', customerId: partner.customer.id, partnerId: partner.partnerId },
    beneficiary: { country: 'NL', vasp: 'Example Custody Ltd', name: 'Grace Hopper', walletAddress: recipientOf('2') },
  })
  assert.equal(await readTravelRule(db, sealer, `0x${'0'.repeat(64)}`), undefined)
})

test('the sending account, and a recipient that the issuer has blocked, are refused before anything is signed', async () => {
  const before = await noncesOf()
  const blocked = recipientOf('b')
  await scene.anvil.send(payer, contracts.USDC, callData('block', blocked))
  await scene.anvil.mine()
  for (const [address, errorKey] of [
    [scene.sender, 'InvalidWalletAddress'],
    [blocked, 'RecipientBlocked'],
  ] as const) {
    const payout = await scene.payToken(partner, address, '1')
    await scene.pump()
    assert.equal(await statusOf(payout.id), 'Failed')
    const { row } = await scene.service.transactions.get(partner.partnerId, payout.reference)
    assert.equal(row.errorKey, errorKey)
  }
  assert.deepEqual(await noncesOf(), before)
  await scene.checkLedger([partner])
})

test('a transfer that reverts in its block fails, and the money is released', async () => {
  const before = await scene.balance(partner)
  const payout = await scene.payToken(partner, recipientOf('3'), '4001.01')
  await scene.mine()
  assert.equal(await statusOf(payout.id), 'Failed')
  assert.deepEqual(await scene.balance(partner), before)
  const { row } = await scene.service.transactions.get(partner.partnerId, payout.reference)
  assert.equal(row.errorKey, 'BankRejection')
  await scene.checkLedger([partner])
})

test('an unmined transaction is replaced with the same nonce and higher fees, and paid exactly once', async () => {
  const payout = await scene.payToken(partner, recipientOf('4'), '5')
  await scene.pump()
  for (let round = 0; round < 3; round += 1) {
    scene.service.clock.advance(2 * minuteMs)
    await scene.pump()
  }
  const attempts = await attemptsOf(recipientOf('4'))
  assert.equal(attempts.length, 4)
  assert.equal(new Set(attempts.map(({ nonce }) => nonce)).size, 1)
  for (const [index, { feeMax }] of attempts.entries())
    if (index > 0) assert.ok(feeMax * 8n >= (attempts[index - 1]?.feeMax ?? 0n) * 9n, 'an eighth more')
  await scene.mine()
  assert.equal(await statusOf(payout.id), 'Completed')
  assert.equal(await scene.anvil.balance(recipientOf('4')), 5_000000n)
  const { row } = await scene.service.transactions.get(partner.partnerId, payout.reference)
  assert.equal(row.transactionHash, attempts.at(-1)?.hash, 'the hash of the transaction that was mined')
  await scene.checkLedger([partner])
})

test('a replaced transaction that is mined counts as the payment', async () => {
  const payout = await scene.payToken(partner, recipientOf('5'), '5')
  await scene.pump()
  const [first] = await attemptsOf(recipientOf('5'))
  const raw = await scene.service.db.row<{ signed: string }>(sql`
    select signed from rails.chain_attempts where hash = ${first?.hash ?? ''}`)
  scene.service.clock.advance(2 * minuteMs)
  await scene.pump()
  // The pool forgets the replacement, and the first transaction is mined.
  await scene.anvil.rpc('anvil_dropAllTransactions')
  await scene.anvil.rpc('eth_sendRawTransaction', raw?.signed)
  await scene.mine()
  assert.equal(await statusOf(payout.id), 'Completed')
  assert.equal(await scene.anvil.balance(recipientOf('5')), 5_000000n)
  const { row } = await scene.service.transactions.get(partner.partnerId, payout.reference)
  assert.equal(row.transactionHash, first?.hash)
})

test('a settled payout whose block is dropped is sent again, and settled exactly once', async () => {
  const snapshot = await scene.anvil.rpc('evm_snapshot')
  const payout = await scene.payToken(partner, recipientOf('6'), '8')
  await scene.mine(5)
  assert.equal(await statusOf(payout.id), 'Completed')
  await scene.anvil.rpc('evm_revert', snapshot)
  assert.equal(await scene.anvil.balance(recipientOf('6')), 0n)
  await scene.mine(7)
  scene.service.clock.advance(minuteMs)
  await scene.pump()
  await scene.mine()
  assert.equal(await scene.anvil.balance(recipientOf('6')), 8_000000n)
  assert.equal(await statusOf(payout.id), 'Completed')
  assert.equal((await attemptsOf(recipientOf('6'))).length >= 1, true)
  assert.deepEqual(await scene.casesOf(), [])
  await scene.checkLedger([partner])
})

test('a payout above the balance of the sending account waits until tokens are collected, and other payouts are paid', async () => {
  const { address } = await scene.addWallet(partner, 'USDC', 'partner')
  await scene.anvil.transfer(payer, address, 2_000_000_000000n)
  await scene.mine()
  const large = await scene.payToken(partner, recipientOf('d'), '1500000')
  const small = await scene.payToken(partner, recipientOf('8'), '1')
  await scene.mine()
  assert.deepEqual([await statusOf(large.id), await statusOf(small.id)], ['Processing', 'Completed'])
  await scene.anvil.transfer(address, scene.sender, 2_000_000_000000n)
  await scene.mine()
  scene.service.clock.advance(minuteMs)
  await scene.pump()
  await scene.mine()
  assert.equal(await statusOf(large.id), 'Completed')
  assert.equal(await scene.anvil.balance(recipientOf('d')), 1_500_000_000000n)
  await scene.checkLedger([partner])
})

test('nonces have no gaps, and each is used exactly once', async () => {
  const nonces = await noncesOf()
  assert.ok(nonces.length > 6)
  assert.deepEqual(
    nonces,
    nonces.map((_nonce, index) => BigInt(index)),
  )
})

test('two concurrent workers pay each payout exactly once', async () => {
  const other = await createChainScene({ anvil: scene.anvil, url: scene.service.url })
  const payouts = []
  for (let count = 0; count < 12; count += 1) payouts.push(await scene.payToken(partner, recipientOf('9'), '1'))
  for (let round = 0; round < 4; round += 1) {
    await Promise.all([scene.pump(), other.pump()])
    await scene.anvil.mine(1)
  }
  await Promise.all([scene.mine(), other.pump()])
  for (const { id } of payouts) assert.equal(await statusOf(id), 'Completed')
  assert.equal(await scene.anvil.balance(recipientOf('9')), 12_000000n)
  await other.close()
  await scene.checkLedger([partner])
})

test('a nonce that a foreign transaction has used fails its payout exactly once and opens a case', async () => {
  const cases = (await scene.casesOf()).length
  const before = await scene.balance(partner)
  const payout = await scene.payToken(partner, recipientOf('e'), '3')
  await scene.pump()
  await scene.anvil.rpc('anvil_dropAllTransactions')
  await scene.anvil.transfer(scene.sender, payer, 2_000000n)
  await scene.mine()
  assert.equal(await statusOf(payout.id), 'Sent')
  await scene.mine(2 * 3)
  assert.equal(await statusOf(payout.id), 'Failed')
  assert.equal(await scene.anvil.balance(recipientOf('e')), 0n)
  assert.deepEqual(await scene.balance(partner), before)
  assert.deepEqual(
    (await scene.casesOf()).slice(cases).map(({ kind, booked }) => [kind, booked]),
    [['unknown_payment', -2_000000n]],
  )
  await scene.checkLedger([partner])
})

test('unknown transactions of the sending account hold payouts back', async () => {
  await scene.anvil.transfer(scene.sender, payer, 1n)
  await scene.anvil.mine()
  const payout = await scene.payToken(partner, recipientOf('f'), '3')
  await scene.mine()
  assert.equal(await statusOf(payout.id), 'Processing')
  assert.equal(await scene.anvil.balance(recipientOf('f')), 0n)
  assert.deepEqual(await attemptsOf(recipientOf('f')), [])
})
