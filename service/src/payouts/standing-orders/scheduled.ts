/** The payouts that standing orders make next, for payments that may repeat them. */
import type { Beneficiaries } from '../../parties/beneficiaries/index.ts'
import type { PayoutsDeps } from '../index.ts'
import { ordersThatPay } from './store.ts'

export const createScheduledPayouts =
  ({ beneficiaries }: { readonly beneficiaries: Pick<Beneficiaries, 'holdersOf'> }): PayoutsDeps['scheduledPayouts'] =>
  async (tx, partnerId, payments) => {
    // IBANs are stored in capitals, and addresses of wallets in small letters.
    const accounts = payments.flatMap(({ account }) => [account, account.toUpperCase(), account.toLowerCase()])
    const holders = await beneficiaries.holdersOf(tx, partnerId, [...new Set(accounts)])
    if (holders.length === 0) return []
    const holderOf = new Map(holders.map((holder) => [holder.id, holder]))
    const amounts = [...new Set(payments.map(({ amount }) => amount))]
    const orders = await ordersThatPay(tx, partnerId, [...holderOf.keys()], amounts)
    return orders.flatMap(({ beneficiaryId, dueAt, id, reference, amount, currency, createdAt }) => {
      const holder = holderOf.get(beneficiaryId)
      if (holder === undefined || dueAt === null) return []
      const { name: creditorName, account: creditorAccount } = holder
      return [{ id, reference, amount, currency, creditorName, creditorAccount, dueAt, createdAt }]
    })
  }
