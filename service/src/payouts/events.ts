/**
 * Maps a payout to event `data`. A missing value is the empty string where the interface document requires a string.
 */
import { ownJson, type PayeeAddress } from '@partner-payments/wire'
import { writeAmount } from '../kernel/index.ts'
import type { Payer } from '../parties/customers/index.ts'
import { formatAddress } from '../rails/index.ts'
import type { EventPayload } from '../events/index.ts'
import { unknownCountry } from './rules.ts'
import type { PayoutRow } from './store.ts'

/** Returns the amount that leaves the balance, which the transaction and all events of the payout show. */
export function amountLeaving({ amount, currency, soldAmount, soldCurrency }: PayoutRow) {
  if (soldAmount === null || soldCurrency === null) return { amount: writeAmount(amount, currency), currency }
  return { amount: writeAmount(soldAmount, soldCurrency), currency: soldCurrency }
}

const addressLine = (text: string | null): string | null =>
  text === null ? null : formatAddress(ownJson<PayeeAddress>(text))

export function withdrawal(payout: PayoutRow, customer: Payer): EventPayload<'partner.customer.withdrawal.requested'> {
  return {
    ...amountLeaving(payout),
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

type Withdrawal = ReturnType<typeof withdrawal>

export const failedWithdrawal = (data: Withdrawal, errorDetails: string | null) => ({ ...data, errorDetails })
