/** Path parameters that operations share. */
import { Currency, CustomerRef, Reference, Uuid, described } from '../shapes.ts'

export const accountId = { id: described(Uuid, 'The `id` of the balance.') }

export const monitorId = { ...accountId, monitorId: described(Uuid, 'The `id` of the monitor.') }

export const customerId = { id: CustomerRef }

export const customerCurrency = {
  ...customerId,
  currency: described(Currency, 'The currency of the entries: ISO 4217 alpha-3, or a token code.'),
}

export const identityVerificationId = {
  ...customerId,
  verificationId: described(Uuid, 'The `id` of the identity verification.'),
}

export const invitationId = { invitationId: described(Uuid, 'The `inviteId` of the invitation.') }

export const userId = { userId: described(Uuid, 'The `userId` of the user.') }

export const serviceAccountId = {
  serviceAccountId: described(Uuid, 'The `serviceAccountId` of the service account.'),
}

export const quoteId = { quoteId: described(Uuid, 'The `id` of the quote.') }

export const payoutId = {
  id: described(
    Reference,
    'The `id` of the payout, or its `reference`, percent-encoded. A text in the form of an id is an id first.',
  ),
}

export const ownershipProofId = { proofId: described(Uuid, 'The `id` of the ownership proof.') }

export const guestLinkId = { guestLinkId: described(Uuid, 'The `guestLinkId` of the guest link.') }

export const recallId = { ...payoutId, recallId: described(Uuid, 'The `id` of the recall.') }

export const bulkId = { bulkId: described(Uuid, 'The `id` of the bulk.') }

export const orderId = { orderId: described(Uuid, 'The `id` of the standing order.') }

export const beneficiaryId = { id: described(Uuid, 'The `id` of the beneficiary.') }

export const verificationId = { verificationId: described(Uuid, 'The `id` of the verification.') }

export const subscriptionId = { id: described(Uuid, 'The `id` of the webhook subscription.') }

export const deliveryId = { ...subscriptionId, eventId: described(Uuid, 'The `eventId` of the delivery.') }

export const eventId = { id: described(Uuid, 'The `id` of the event in the feed.') }

export const walletId = { walletId: described(Uuid, 'The `id` of the wallet.') }

export const recoveryId = { ...subscriptionId, recoveryId: described(Uuid, 'The `id` of the recovery.') }

export const reportId = { id: described(Uuid, 'The `id` of the report.') }

export const scheduleId = { id: described(Uuid, 'The `id` of the schedule.') }

export const sessionId = { sessionId: described(Uuid, 'The `sessionId` of the checkout session.') }

export const latePaymentId = {
  ...sessionId,
  latePaymentId: described(Uuid, 'The `latePaymentId` of the late payment.'),
}

export const linkId = { linkId: described(Uuid, 'The `linkId` of the payment link.') }

export const refundId = { ...sessionId, refundId: described(Uuid, 'The `refundId` of the refund.') }

export const entryId = { entryId: described(Uuid, 'The `id` of the entry of the request log.') }

export const reference = {
  reference: described(Reference, 'The `reference` of the transaction, percent-encoded. 1 to 140 characters.'),
}
