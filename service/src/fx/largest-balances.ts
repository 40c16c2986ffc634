/** Gates of customers: a conversion needs their verification, and must not raise what a customer holds above the largest balance of its state. */
import type { Refusal } from '../kernel/api/index.ts'
import { partnerKey } from '../kernel/index.ts'
import type { Tx } from '../postgres/index.ts'
import { hasLargestBalance, lackingFor, notVerified, type Payer } from '../parties/customers/index.ts'
import type { FxDeps } from './deps.ts'
import type { BuyerRow, QuoteRow } from './store.ts'

type Bought = Pick<QuoteRow, 'partnerId' | 'customerId' | 'buyCurrency' | 'buyAmount'>
/** Customers of quotes, by `partnerKey`. Those with a largest balance are locked. */
export type Buyers = ReadonlyMap<string, Payer>

export function createLargestBalances({ db, customers }: Pick<FxDeps, 'db' | 'customers'>) {
  const refusalOf = async (
    tx: Tx,
    { partnerId, customerId, buyCurrency: currency, buyAmount: amount }: Bought,
    buyers: Buyers,
  ): Promise<Refusal | undefined> => {
    const payer = buyers.get(partnerKey(partnerId, customerId ?? ''))
    if (payer === undefined) return undefined
    if (lackingFor(payer.gate, 'Convert') !== undefined)
      return notVerified(payer.verificationState, 'Convert', '/quoteId')
    return customers.refusalAbove(tx, partnerId, payer, { currency, amount, pointer: '/quoteId', isBought: true })
  }
  return {
    /** Called before the quotes are locked: an erasure locks the customer first. Costs nothing for quotes without a customer. */
    lock: async (tx: Tx, rows: readonly BuyerRow[]): Promise<Buyers> => {
      const buyers = await customers.payersByIds(tx, rows)
      const limited = rows.filter(({ partnerId, id, currency }) => {
        const payer = buyers.get(partnerKey(partnerId, id))
        return payer !== undefined && hasLargestBalance(payer, currency)
      })
      if (limited.length > 0) await customers.lockHolders(tx, limited)
      return buyers
    },
    /**
     * Judges the accepted quotes of a batch. The sum of what a customer holds changes with the commit, so a second quote
     * of a customer with a largest balance waits for the next batch.
     */
    judge: async (
      tx: Tx,
      quotes: readonly Bought[],
      buyers: Buyers,
    ): Promise<readonly (Refusal | 'resubmit' | undefined)[]> => {
      const judged = new Set<string>()
      const answers: (Refusal | 'resubmit' | undefined)[] = []
      for (const quote of quotes) {
        const key = partnerKey(quote.partnerId, quote.customerId ?? '')
        const payer = buyers.get(key)
        const isLimited = payer !== undefined && hasLargestBalance(payer, quote.buyCurrency)
        answers.push(isLimited && judged.has(key) ? 'resubmit' : await refusalOf(tx, quote, buyers))
        if (isLimited) judged.add(key)
      }
      return answers
    },
    /** The refusal of a conversion by the quote, if it were made now: customer_not_verified, balance_limit_exceeded. */
    look: async (quote: Bought): Promise<Refusal | undefined> => {
      const { partnerId, customerId } = quote
      if (customerId === null) return undefined
      return refusalOf(db, quote, await customers.payersByIds(db, [{ partnerId, id: customerId }]))
    },
  }
}
