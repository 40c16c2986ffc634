/**
 * Maps a payout to event `data`. A missing value is the empty string where the interface document requires a string.
 */
import { ownJson, type PayeeAddress } from '@partner-payments/wire'
import { toJsonAmount } from '../kernel/index.ts'
import type { Payer } from '../parties/customers/index.ts'
import { formatAddress } from '../rails/index.ts'
import type { EventPayload } from '../events/index.ts'
import { unknownCountry } from './rules.ts'
import type { PayoutRow } from './store.ts'

/** Returns the amount that leaves the balance, which the transaction and all events of the payout show. */
export function outgoingAmount({ amount, currency, soldAmount, soldCurrency }: PayoutRow) {
  if (soldAmount === null || soldCurrency === null) return { amount: toJsonAmount(amount, currency), currency }
  return { amount: toJsonAmount(soldAmount, soldCurrency), currency: soldCurrency }
}

const addressLine = (text: string | null): string | null =>
  text === null ? null : formatAddress(ownJson<PayeeAddress>(text))

export function toWithdrawalData(
  payout: PayoutRow,
  customer: Payer,
): EventPayload<'partner.customer.withdrawal.requested'> {
  return {
    ...outgoingAmount(payout),
    customFields: null,
    idempotencyKey: payout.idempotencyKey,
    reference: payout.reference,
    websiteReference: null,
    customerId: customer.serviceId,
    creditorAccount: payout.creditorAccount,
    creditorAddress: addressLine(payout.creditorAddressJson),
    creditorBic: payout.creditorBic,
    creditorCountryCode: payout.creditorCountry,
    creditorName: payout.creditorName,
    customerEmail: customer.email ?? '',
    customerIpAddress: payout.ipAddress,
    // The service does not locate a customer's IP address.
    customerIpCountryCode: customer.citizenshipCountryCode ?? unknownCountry,
    withdrawalReason: payout.remittance ?? '',
    customerGuid: customer.id,
    partnerCustomerId: customer.partnerCustomerIdentifier,
  }
}

type Withdrawal = ReturnType<typeof toWithdrawalData>

export const toFailedWithdrawalData = (data: Withdrawal, errorDetails: string | null) => ({ ...data, errorDetails })
