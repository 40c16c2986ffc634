/** The events of the bench: withdrawals of a usual size, distinguished by their reference. */
import { randomUUID } from 'node:crypto'

export const eventType = 'partner.customer.withdrawal.requested'

/** Like the events of the payouts module. */
export const dataOf = (reference: string) => ({
  amount: 1234.56,
  currency: 'EUR',
  customFields: null,
  idempotencyKey: reference,
  reference,
  websiteReference: null,
  customerId: 'cus_9f3k2m8q1x',
  creditorAccount: 'NL91ABNA0417164300',
  creditorAddress: null,
  creditorBic: null,
  creditorCountryCode: 'NL',
  creditorName: 'Bench Beneficiary',
  customerEmail: 'customer@example.com',
  customerIpAddress: '127.0.0.1',
  customerIpCountryCode: 'NL',
  withdrawalReason: '',
  customerGuid: '01980000-0000-7000-8000-000000000000',
  partnerCustomerId: null,
})

/** The text of the payload, as the event outbox stores it. */
export const payloadOf = (reference: string, at: Date) =>
  JSON.stringify({ eventType, timestamp: at.toISOString(), ...dataOf(reference) })

/** Unique across the run. */
export const newReference = () => `bench_${randomUUID()}`

/** Deliveries that last one round at this rate, with a small reserve. */
export const countFor = (rate: number, seconds: number) => Math.ceil(rate * seconds * 1.3) + 200
