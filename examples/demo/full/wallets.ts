/** Tokens on the simulated chain: a deposit, payouts that are settled and that fail, and a reorganisation that takes a deposit back. */
import { randomUUID } from 'node:crypto'
import { ApiProblem, type Client, type Transaction } from '@partner-payments/sdk'
import { kycOf } from '../people.ts'
import type { Check } from '../reconcile.ts'
import type { Stage } from './stage.ts'

const topic = 'wallets'
const grace = '0x52908400098527886E0F7030069857D2E4169EE7'
/** docs/sandbox.md: the issuer has blocked the first one, and the second one fails in its block. */
const blocked = '0x000000000000000000000000000000000000b10c'
const failing = '0x000000000000000000000000000000000000fa11'

export async function wallets(stage: Stage): Promise<readonly Check[]> {
  const { client, print } = stage
  const before = await balanceOf(client)
  const customer = await client.customers.create({
    email: `tokens.${randomUUID()}@example.com`,
    kyc: kycOf('Ada Lovelace'),
  })
  const wallet = await client.wallets.create({ customerId: customer.guid, currency: 'USDC' })
  print(topic, `${wallet.address} on ${wallet.network} receives ${wallet.currency}`)

  const deposit = await receive(stage, wallet.id, '250.00')
  print(topic, `received ${deposit.amount} ${deposit.currency}, transaction ${deposit.transactionHash}`)
  // Only a partner's own tokens pay its own payouts where balances are segregated.
  await client.accounts.createTransfer({ amount: '250.00', currency: 'USDC', fromCustomerId: customer.guid })
  const settled = await pay(stage, grace, '12.345678')
  print(topic, `paid ${settled.amount} ${settled.currency}, transaction ${settled.transactionHash}`)
  const refused = [await pay(stage, blocked, '1.00'), await pay(stage, failing, '1.00')]
  for (const { errorKey } of refused) print(topic, `a payout that fails: ${errorKey}`)
  const codes = [await refusalOf(client, grace.replace('E7', 'e7')), await refusalOf(client, `0x${'0'.repeat(40)}`)]
  print(topic, `addresses that are refused: ${codes.join(', ')}`)

  const lost = await receive(stage, wallet.id, '40.00', 4)
  const { vanished } = await client.simulations.createChainReorganisation({ depth: 4 })
  const reversal = await stage.until('the lost deposit is taken back', async () =>
    (await client.transactions.list({ category: 'Withdrawal' })).data.find(
      ({ transactionHash, status }) => transactionHash === lost.transactionHash && status === 'Completed',
    ),
  )
  print(topic, `the chain dropped ${vanished.length} deposit of ${lost.amount}: ${reversal.type} takes it back`)

  const moved = (await balanceOf(client)) - before
  const expected = unitsOf(deposit.amount) - unitsOf(settled.amount)
  const { received } = await client.wallets.get(wallet.id)
  return [
    check('tokens', `the balance in USDC is what was received less what was paid: ${moved} millionths`, [
      [moved === expected, `the balance moved by ${moved}, expected ${expected}`],
      [received === deposit.amount, `the wallet has received ${received}, expected ${deposit.amount}`],
      [vanished.includes(lost.transactionHash ?? ''), 'the reorganisation did not drop the deposit'],
    ]),
    check('token payouts', 'each payout has its end: settled with a hash, blocked, failed in its block', [
      [/^0x[0-9a-f]{64}$/.test(settled.transactionHash ?? ''), 'the settled payout has no hash'],
      [
        refused.map(({ errorKey }) => errorKey).join() === 'RecipientBlocked,BankRejection',
        `the payouts failed with ${refused.map(({ errorKey }) => errorKey).join()}`,
      ],
      [codes.join() === 'validation_failed,wallet_address_not_payable', `addresses were refused with ${codes.join()}`],
    ]),
  ]
}

/** A token has six digits, and answers have all of them. */
const unitsOf = (amount: string): bigint => BigInt(amount.replace('.', ''))

const check = (title: string, agreed: string, tests: readonly (readonly [boolean, string])[]): Check => ({
  title,
  agreed,
  differences: tests.flatMap(([holds, difference]) => (holds ? [] : [difference])),
})

async function balanceOf(client: Client): Promise<bigint> {
  const { data } = await client.accounts.list()
  return unitsOf(data.find(({ currency }) => currency === 'USDC')?.posted ?? '0.000000')
}

async function receive({ client, until }: Stage, walletId: string, amount: string, confirmations = 3) {
  const { transactionHash } = await client.simulations.createWalletDeposit(walletId, { amount, confirmations })
  return until(`${amount} USDC are credited`, async () =>
    (await client.transactions.list({ category: 'Deposit', status: 'Completed' })).data.find(
      (transaction) => transaction.transactionHash === transactionHash,
    ),
  )
}

async function pay({ client, until }: Stage, walletAddress: string, amount: string): Promise<Transaction> {
  const beneficiary = await client.beneficiaries.create({ name: 'Grace Hopper', currency: 'USDC', walletAddress })
  const order = { amount, currency: 'USDC', beneficiaryId: beneficiary.id, idempotencyKey: randomUUID() }
  const { reference } = await client.payouts.createToken(order)
  return until(`the token payout ${reference} ends`, async () => {
    const transaction = await client.transactions.get(reference)
    return transaction.status !== 'Pending' && transaction
  })
}

async function refusalOf(client: Client, walletAddress: string): Promise<string> {
  try {
    await client.beneficiaries.create({ name: 'Mistyped', currency: 'USDC', walletAddress })
    return 'nothing'
  } catch (error) {
    if (error instanceof ApiProblem) return error.code
    throw error
  }
}
