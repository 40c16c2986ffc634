/** The body of a checkout session, with line items that add up to a different sum if `sum` is set. */
import { randomUUID } from 'node:crypto'

export const checkoutOrder = ({ customer: customerId }: { readonly customer: string }, sum?: string) => ({
  ...{ amount: 5, currency: 'EUR', customerId, idempotencyKey: randomUUID() },
  ...(sum === undefined ? {} : { lineItems: [{ name: 'Tea', quantity: 1, amount: Number(sum) }] }),
})
