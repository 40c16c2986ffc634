/** The events that everybody delivers: a withdrawal of the usual size, told apart by its reference. */
import { randomUUID } from 'node:crypto'

export const eventType = 'partner.customer.withdrawal.requested'

/** As the module of payouts fills it. */
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

/** The text of the payload, as the outbox writes it. */
export const payloadOf = (reference: string, at: Date) =>
  JSON.stringify({ eventType, timestamp: at.toISOString(), ...dataOf(reference) })

/** Unique across the run. */
export const newReference = () => `bench_${randomUUID()}`

/** A count of deliveries that lasts a round at the speed seen last, and no more. */
export const countFor = (rate: number, seconds: number) => Math.ceil(rate * seconds * 1.3) + 200
