/** The event of identity verifications. */
import type { identity, VerificationState } from '@partner-payments/wire'
import { writeAmount } from '../../kernel/index.ts'
import type { EventOutbox } from '../../events/index.ts'
import type { Tx } from '../../postgres/index.ts'
import type { Customer } from '../customers/index.ts'
import type { IdentityRow } from './store.ts'

export function appendUpdated(
  eventOutbox: Pick<EventOutbox, 'append'>,
  tx: Tx,
  { partnerId, id, kinds, reason, updatedAt }: IdentityRow,
  {
    customer,
    status,
    verificationState,
  }: {
    readonly customer: Pick<Customer, 'id' | 'serviceId' | 'partnerCustomerIdentifier'>
    readonly status: identity.IdentityStatus
    readonly verificationState: VerificationState
  },
): void {
  eventOutbox.append(tx, partnerId, 'customer.verification.updated', updatedAt, {
    // Every event has an amount.
    amount: writeAmount(0n, 'EUR'),
    currency: 'EUR',
    customFields: null,
    idempotencyKey: null,
    reference: id,
    websiteReference: null,
    customerGuid: customer.id,
    customerId: customer.serviceId,
    kinds: [...kinds],
    partnerCustomerId: customer.partnerCustomerIdentifier,
    reason,
    status,
    verificationState,
  })
}
