/**
 * The rare ends of payments, and then the proof that every value of every enum of a transaction has occurred: the interface
 * document's table is read, and each value is looked for among the partner's transactions.
 */
import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { ApiProblem, type Client, type Transaction } from '@partner-payments/sdk'
import { kycOf } from '../people.ts'
import type { Check } from '../reconcile.ts'
import { grace, sam } from '../staff.ts'
import type { Stage } from './stage.ts'

const interfaceDocument = fileURLToPath(new URL('../../../docs/interface.md', import.meta.url))
const topic = 'values'
const german = 'DE89370400440532013000'

/** Amounts of docs/sandbox.md: what the bank does with them. */
const ends = {
  '4001.02': 'the account does not exist',
  '4001.03': 'the recipient is blocked',
  '4001.04': 'the account takes another currency',
  '4001.10': 'the bank never answers',
} as const

export async function everyValue(stage: Stage): Promise<readonly Check[]> {
  const { client, print } = stage
  const beneficiaryId = await beneficiaryOf(client, { name: 'Joan Clarke', iban: german, currency: 'EUR' })
  await Promise.all([
    ...Object.entries(ends).map(async ([amount, what]) => {
      const { errorKey } = await pay(stage, beneficiaryId, amount)
      print(topic, `${what}: ${errorKey}`)
    }),
    creditOfCase(stage, beneficiaryId),
    refundInDollars(stage),
    payToTheSender(stage),
    cancelled(stage, beneficiaryId),
  ])
  const transactions = await Array.fromAsync(client.transactions.listAll())
  const wanted = await enumsOf()
  const seen = (field: string) => new Set(transactions.map((transaction) => String(valueOf(transaction, field))))
  const missing = wanted.flatMap(({ field, values }) => {
    const found = seen(field)
    return values.filter((value) => !found.has(value)).map((value) => `no transaction has ${field} ${value}`)
  })
  const others = ['hasFx', 'fxQuoteExpiryTime', 'transactionHash', 'sessionId'].flatMap((field) =>
    transactions.some((transaction) => Boolean(valueOf(transaction, field))) ? [] : [`no transaction has ${field}`],
  )
  const count = wanted.reduce((sum, { values }) => sum + values.length, 0)
  return [
    {
      title: 'values',
      agreed: `${count} values of ${wanted.length} enums of the interface document have occurred`,
      differences: [...missing, ...others],
    },
  ]
}

const valueOf = (transaction: Transaction, field: string): unknown =>
  (transaction as unknown as Readonly<Record<string, unknown>>)[field]

type Enum = { readonly field: string; readonly values: readonly string[] }

/** The enums of the table "Transaction". A transaction is `Pending` only while it runs, so that the list shows it by chance. */
async function enumsOf(): Promise<readonly Enum[]> {
  const text = await readFile(interfaceDocument, 'utf8')
  const [, section = ''] = text.split('### Transaction (response of transactions get)')
  const [table = ''] = section.split('\n### ')
  return [...table.matchAll(/^\| `(\w+)` \| enum \| (.*) \|$/gm)].map(([, field = '', allowed = '']) => ({
    field,
    values: [...allowed.matchAll(/`(\w+)`/g)].map(([, value = '']) => value).filter((value) => value !== 'Pending'),
  }))
}

type NewBeneficiary = Parameters<Client['beneficiaries']['create']>[0]
const beneficiaryOf = async (client: Client, body: NewBeneficiary) => (await client.beneficiaries.create(body)).id

const ended = ({ client, until }: Stage, reference: string): Promise<Transaction> =>
  until(`${reference} ends`, async () => {
    const transaction = await client.transactions.get(reference)
    return transaction.status !== 'Pending' && transaction
  })

async function pay(stage: Stage, beneficiaryId: string, amount: string): Promise<Transaction> {
  const order = { amount, currency: 'EUR', beneficiaryId, idempotencyKey: randomUUID() }
  return ended(stage, (await stage.client.payouts.create(order)).reference)
}

type Case = {
  readonly id: string
  readonly partnerId: string
  readonly kind: string
  readonly resolution: string | null
}

/** The bank settles a payout for less. What it kept is in suspense, and two persons credit it to the partner. */
async function creditOfCase(stage: Stage, beneficiaryId: string): Promise<void> {
  const { operator, print } = stage
  await pay(stage, beneficiaryId, '4001.08')
  const cases = (await operator('case', 'list')) as readonly Case[]
  const differing = cases.find(({ kind }) => kind === 'amount_differs')
  if (differing === undefined) throw new Error('a payout that was settled for less opens a case')
  const named = ['--partner', differing.partnerId, '--id', differing.id]
  const reason = ['--staff', sam, '--note', 'The bank gave its charge back.']
  await operator('case', 'propose', ...named, '--action', 'credit', ...reason)
  const { resolution } = (await operator('case', 'approve', ...named, '--staff', grace)) as Case
  print(topic, `a case about another amount: ${resolution}`)
}

/** The bank returns a payout in another currency after it has settled it. */
async function refundInDollars(stage: Stage): Promise<void> {
  const { client, print, until } = stage
  const { guid: customerId } = await client.customers.create({
    email: 'returned@example.com',
    kyc: kycOf('Ada Lovelace'),
  })
  await client.accounts.createTransfer({ amount: '20.00', currency: 'EUR', toCustomerId: customerId })
  const address = { city: 'Berlin', country: 'DE' }
  const body = { name: 'Sandbox Returned', iban: german, currency: 'USD', customerId, address }
  const beneficiaryId = await beneficiaryOf(client, body)
  const { id: quoteId } = await client.fx.createQuote({
    ...{ sellCurrency: 'EUR', buyCurrency: 'USD', sellAmount: '20.00' },
    customerId,
  })
  const { reference } = await client.payouts.createFx({ quoteId, beneficiaryId, idempotencyKey: randomUUID() })
  const refund = await until(`the return of ${reference} is credited`, async () => {
    const { data } = await client.transactions.list({ customerId, category: 'Deposit', currency: 'USD' })
    return data.find(({ status }) => status === 'Completed')
  })
  print(topic, `a payout in another currency that comes back: ${refund.type} of ${refund.amount} ${refund.currency}`)
}

/** A wallet that cannot be paid: the one from which the service pays. */
async function payToTheSender(stage: Stage): Promise<void> {
  const { client, print, operator } = stage
  // It makes the keys that are missing, and prints the addresses of those that exist.
  const { sender: walletAddress } = (await operator('wallet-key', 'create')) as { readonly sender: string }
  const body = { name: 'Joan Clarke', walletAddress, currency: 'USDC' }
  const beneficiaryId = await beneficiaryOf(client, body)
  const order = { amount: '1.00', currency: 'USDC', beneficiaryId, idempotencyKey: randomUUID() }
  const { reference } = await client.payouts.createToken(order)
  const { errorKey } = await ended(stage, reference)
  print(topic, `a wallet that cannot be paid: ${errorKey}`)
}

/** A payout can be cancelled for as long as no worker has begun it. */
async function cancelled({ client, print, until }: Stage, beneficiaryId: string): Promise<void> {
  const payout = await until('a payout is cancelled in time', async () => {
    const order = { amount: '1.00', currency: 'EUR', beneficiaryId, idempotencyKey: randomUUID() }
    const { reference } = await client.payouts.create(order)
    const [found] = (await client.payouts.list({ reference })).data
    if (found === undefined) return undefined
    return client.payouts.cancel(found.id).catch((error: unknown) => {
      if (error instanceof ApiProblem && error.code === 'payout_not_cancellable') return undefined
      throw error
    })
  })
  print(topic, `a payout before its submission: ${payout.status}`)
}
