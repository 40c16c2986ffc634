/** Domain -> event `data`. A missing value is the empty string where the interface document requires a string. */
import type { EventData } from '@partner-payments/wire'
import { writeAmount } from '../../kernel/index.ts'
import type { Payer } from '../customers/index.ts'
import type { PayoutRow } from './store.ts'

/** CLDR's code for an unknown region: the service does not locate a customer's IP address. */
const unknownCountry = 'ZZ'

export function withdrawal(
  payout: PayoutRow,
  customer: Payer,
): Omit<EventData<'partner.customer.withdrawal.requested'>, 'eventType' | 'timestamp'> {
  return {
    amount: writeAmount(payout.amount, payout.currency),
    currency: payout.currency,
    customFields: null,
    idempotencyKey: payout.idempotencyKey,
    reference: payout.reference,
    websiteReference: null,
    customerId: customer.serviceId,
    creditorAccount: payout.creditorAccount,
    creditorAddress: null,
    creditorBic: payout.creditorBic,
    creditorCountryCode: payout.creditorCountry,
    creditorName: payout.creditorName,
    customerEmail: customer.email ?? '',
    customerIpAddress: payout.ipAddress,
    customerIpCountryCode: customer.citizenshipCountryCode ?? unknownCountry,
    withdrawalReason: payout.remittance ?? '',
    customerGuid: customer.id,
    partnerCustomerId: customer.partnerCustomerIdentifier,
  }
}

type Withdrawal = ReturnType<typeof withdrawal>

export const failed = (data: Withdrawal, errorDetails: string | null) => ({ ...data, errorDetails })
