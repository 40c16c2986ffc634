/** Maps a deposit to event `data`, one function for each event. A missing string is empty. */
import { ownJsonExactly } from '@partner-payments/wire'
import { type Minor, toJsonAmount } from '../kernel/index.ts'
import type { IncomingDebtor } from '../rails/index.ts'
import type { Customer, Payer } from '../parties/customers/index.ts'
import type { Deposit } from './store.ts'
import type { Part } from './store-parts.ts'
import type { NewEvent } from '../events/index.ts'
import { type PartsPlan, parsePartReport } from './parts.ts'

type EventCustomer = Pick<Payer, 'id' | 'serviceId' | 'partnerCustomerIdentifier' | 'email'>

const common = (deposit: Deposit, customer: EventCustomer) => ({
  amount: toJsonAmount(deposit.amount, deposit.currency),
  currency: deposit.currency as string,
  customFields: parseCustomFields(deposit),
  idempotencyKey: deposit.idempotencyKey,
  reference: deposit.reference,
  websiteReference: deposit.websiteReference,
  customerId: customer.serviceId,
  customerGuid: customer.id,
  partnerCustomerId: customer.partnerCustomerIdentifier,
})

const session = (deposit: Deposit) => ({
  endToEndId: deposit.endToEndId,
  paymentMethod: deposit.paymentMethod as string,
  sessionId: deposit.sessionId,
  paymentCountryCode: deposit.paymentCountry,
})

/** Returns the country of the payment. Null: the payer has not chosen a bank yet. */
const knownCountry = ({ paymentCountry }: Deposit) => (paymentCountry === '' ? null : paymentCountry)

const payer = (debtor: IncomingDebtor) => ({
  debtorAccount: debtor.account,
  debtorAddress: debtor.address,
  debtorBic: debtor.bic,
  debtorCountryCode: debtor.countryCode,
  debtorName: debtor.name,
})

/** Parses the partner's custom fields. Numbers keep all their digits. */
export function parseCustomFields(deposit: Deposit): Record<string, unknown> | null {
  return deposit.customFields === null ? null : ownJsonExactly<Record<string, unknown>>(deposit.customFields)
}

export const createdEvent = (deposit: Deposit, customer: Customer, partnerName: string) => ({
  ...common(deposit, customer),
  ...session(deposit),
  paymentCountryCode: knownCountry(deposit),
  customerCitizenshipCountryCode: customer.kyc.citizenshipCountryCode ?? null,
  customerEmail: customer.email ?? '',
  customerFullName: customer.kyc.fullName ?? null,
  customerResidenceAddress: customer.kyc.residenceAddress ?? null,
  partnerName,
})

export const initiatedEvent = (deposit: Deposit, customer: EventCustomer) => ({
  ...common(deposit, customer),
  ...session(deposit),
  customerEmail: customer.email ?? '',
  userIpAddress: deposit.ipAddress,
})

export const submittedEvent = (deposit: Deposit, customer: EventCustomer) => ({
  ...common(deposit, customer),
  ...session(deposit),
  customerEmail: customer.email ?? '',
  customerIpAddress: deposit.ipAddress,
})

export const acceptedEvent = (deposit: Deposit, customer: EventCustomer, debtor: IncomingDebtor) => ({
  ...common(deposit, customer),
  ...session(deposit),
  ...payer(debtor),
  paymentCountryCode: knownCountry(deposit),
  customerEmail: customer.email,
})

export const completedEvent = (deposit: Deposit, customer: EventCustomer, debtor: IncomingDebtor) => ({
  ...acceptedEvent(deposit, customer, debtor),
  blockchainTransactionHash: deposit.transactionHash,
})

/** Creates the event of a part. `debtor` is undefined if the customer was erased. */
const partEvent = (
  deposit: Deposit,
  customer: EventCustomer,
  { id, amount, status }: Pick<Part, 'id' | 'amount' | 'status'>,
  paid: Minor,
  debtor: IncomingDebtor | undefined,
) => ({
  ...common(deposit, customer),
  ...payer(debtor ?? { account: '', address: null, bic: '', countryCode: '', name: '' }),
  sessionId: deposit.sessionId,
  partId: id,
  partAmount: toJsonAmount(amount, deposit.currency),
  status: status as string,
  paidAmount: toJsonAmount(paid, deposit.currency),
  remainingAmount: toJsonAmount(deposit.amount - paid, deposit.currency),
})

export const failedEvent = (deposit: Deposit, customer: EventCustomer, errorDetails: string) => ({
  ...submittedEvent(deposit, customer),
  errorDetails,
})

export const expiredEvent = (deposit: Deposit, customer: EventCustomer) => ({
  ...common(deposit, customer),
  createdAt: deposit.createdAt.toISOString(),
  endToEndId: deposit.endToEndId,
  expiryDate: deposit.expiryDate.toISOString(),
})

/** Creates the events of parts that have arrived or were reversed. A part under review has no event. */
export const partEvents = (
  deposit: Deposit,
  customer: Payer,
  plan: Pick<PartsPlan, 'told' | 'paid'> | undefined,
  now: Date,
): readonly NewEvent<'checkout.part.updated'>[] =>
  (plan?.told ?? []).map((each) => ({
    partnerId: deposit.partnerId,
    occurredAt: now,
    type: 'checkout.part.updated',
    data: partEvent(deposit, customer, each, plan?.paid ?? 0n, parsePartReport(each)?.debtor),
  }))
