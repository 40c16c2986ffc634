/** The emitted events and the fields of their `data`, copied by hand from the interface document, Events. */
const words = (text: string): readonly string[] => text.split(' ')
const common = words('eventType timestamp amount currency customFields idempotencyKey reference websiteReference')
const customer = (text: string) => [...common, 'customerId', ...words(text)].sort()
const withdrawal =
  'creditorAccount creditorAddress creditorBic creditorCountryCode creditorName customerEmail customerGuid ' +
  'customerIpAddress customerIpCountryCode partnerCustomerId withdrawalReason'

export const emitted: Readonly<Record<string, readonly string[]>> = {
  'partner.customer.deposit.created': customer(
    'customerCitizenshipCountryCode customerEmail customerFullName customerGuid customerResidenceAddress endToEndId ' +
      'partnerCustomerId partnerName paymentCountryCode paymentMethod sessionId',
  ),
  'partner.customer.deposit.initiated': customer(
    'customerEmail customerGuid endToEndId partnerCustomerId paymentCountryCode paymentMethod sessionId userIpAddress',
  ),
  'partner.customer.deposit.submitted': customer(
    'customerEmail customerGuid customerIpAddress endToEndId partnerCustomerId paymentCountryCode paymentMethod sessionId',
  ),
  'partner.customer.deposit.accepted': customer(
    'customerEmail customerGuid debtorAccount debtorAddress debtorBic debtorCountryCode debtorName endToEndId ' +
      'partnerCustomerId paymentCountryCode paymentMethod sessionId',
  ),
  'partner.customer.deposit.failed': customer(
    'customerEmail customerGuid customerIpAddress endToEndId errorDetails partnerCustomerId paymentCountryCode ' +
      'paymentMethod sessionId',
  ),
  'partner.customer.deposit.completed': customer(
    'blockchainTransactionHash customerEmail customerGuid debtorAccount debtorAddress debtorBic debtorCountryCode ' +
      'debtorName endToEndId partnerCustomerId paymentCountryCode paymentMethod sessionId',
  ),
  'partner.customer.deposit.expired': customer('createdAt customerGuid endToEndId expiryDate partnerCustomerId'),
  'partner.customer.withdrawal.requested': customer(withdrawal),
  'partner.customer.withdrawal.accepted': customer(withdrawal),
  'partner.customer.withdrawal.sent': customer(withdrawal),
  'partner.customer.withdrawal.failed': customer(`${withdrawal} errorDetails`),
  'transaction.status.changed': [
    ...common,
    ...words('customerGuid originatingTransactionReference partnerGuid status transactionHash transactionType'),
  ].sort(),
}
