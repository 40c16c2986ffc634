/** The partner's identifier of a customer names one customer, unless the installation lets several share it. */
import { Refusal } from '../../api/index.ts'
import type { Tx } from '../../postgres/index.ts'
import * as store from './store-identifiers.ts'

export type IdentifierUse = 'unique' | 'shared'

/**
 * Takes an identifier for a customer until the transaction ends. Refuses: customer_exists, with the customer that has it. An erased one
 * has none.
 */
export const createTakeIdentifier =
  (use: IdentifierUse) =>
  async (tx: Tx, partnerId: string, customerId: string, identifier: string | null): Promise<void> => {
    if (identifier === null || use === 'shared') return
    await store.lockIdentifier(tx, partnerId, identifier)
    const other = await store.otherWithIdentifier(tx, partnerId, customerId, identifier)
    if (other === undefined) return
    const message = `is the identifier of the customer ${other.id}`
    throw new Refusal(
      'customer_exists',
      `The customer ${other.id} has this identifier. Use it, or send another identifier.`,
      {
        errors: [{ pointer: '/partnerCustomerIdentifier', code: 'exists', message }],
      },
    )
  }
