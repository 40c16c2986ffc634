/** Calls that several chapters make. */
import { randomUUID } from 'node:crypto'
import type { Client, PayoutRecord, Transaction } from '@partner-payments/sdk'
import { present, type Stage } from './stage.ts'

/** The registry's example. */
export const dutchIban = 'NL91ABNA0417164300'
export const germanIban = 'DE89370400440532013000'

/** A payee of the partner itself, or of a customer. */
export async function payeeOf(client: Client, name: string, iban = dutchIban, customerId?: string): Promise<string> {
  const owner = customerId === undefined ? {} : { customerId }
  const { id } = await client.beneficiaries.create({ name, iban, currency: 'EUR', ...owner })
  return id
}

/** The key is new for each payment. Store it with your order, so that a repeated request pays once. */
export const orderOf = (beneficiaryId: string, amount: string) => ({
  beneficiaryId,
  amount,
  currency: 'EUR',
  idempotencyKey: randomUUID(),
})

export async function payoutOf(client: Client, reference: string): Promise<PayoutRecord> {
  const { data } = await client.payouts.list({ reference })
  return present(data[0], `the payout of ${reference}`)
}

/** Waits until the transaction has its final status. A partner waits for the webhook instead. */
export const ended = ({ client, until }: Stage, reference: string): Promise<Transaction> =>
  until(`${reference} has ended`, async () => {
    const transaction = await client.transactions.get(reference)
    return transaction.status !== 'Pending' && transaction
  })

export const balanceOf = async (client: Client, at?: string) => {
  const { data } = await client.accounts.list(at === undefined ? {} : { at })
  return present(
    data.find(({ currency }) => currency === 'EUR'),
    'the balance in EUR',
  )
}
