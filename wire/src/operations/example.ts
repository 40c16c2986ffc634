/**
 * The example of a request, as data. The contract tests and the recorder of the OpenAPI examples send it. Both fill in its
 * placeholders: values that only a running service knows, or that must differ between requests.
 */
import { type RawNumber, rawNumber } from '../decimal.ts'

/** The resources that an example can name. The tests' world (test/support/world.ts) creates one of each. */
export const resources = {
  balance: 'a balance in euros',
  tokenBalance: 'a balance in USDC',
  monitor: 'a monitor of the balance in USDC that has triggered',
  customer: 'a customer with an account',
  serviceId: 'the `serviceId` of that customer',
  iban: 'the IBAN of that customer',
  erasable: 'a customer without payments',
  unproved: 'a customer without an identity verification',
  identityVerification: 'an identity verification of the customer',
  beneficiary: 'a beneficiary of the customer',
  foreignBeneficiary: 'a beneficiary in US dollars',
  tokenBeneficiary: 'a beneficiary with a wallet',
  verification: 'a verification of a payee',
  verifiedBeneficiary: 'a beneficiary with the name and IBAN of the verification',
  verifiedPayout: 'a payout to the verified beneficiary',
  payout: 'a payout that is completed',
  reference: 'the reference of that payout',
  cancelled: 'a payout that was cancelled',
  held: 'a payout of another service account that waits for an approval',
  heldToReject: 'another one',
  heldBulk: 'a bulk of another service account whose two payouts wait for an approval',
  heldBulkToReject: 'another one',
  recallable: 'a payout that is completed and was not recalled',
  recalled: 'a payout whose recall brought its money back',
  recall: 'that recall',
  bulk: 'a bulk payout whose payouts are made',
  standingOrder: 'a standing order',
  endedOrder: 'a standing order that was cancelled',
  madeOrder: 'a standing order whose only payout is made',
  quote: 'an exchange quote that is held for 30 minutes',
  payoutQuote: 'another one, which buys US dollars',
  invitation: 'a pending invitation',
  member: 'the email address of that invitation',
  user: 'a member of the team',
  removable: 'another one',
  serviceAccount: 'a service account',
  revocableAccount: 'another one',
  guestLink: 'a guest link',
  subscription: 'a webhook subscription',
  delivery: 'a delivery to that subscription',
  event: 'an event',
  recovery: 'a recovery of that subscription that is completed',
  credit: 'a simulated transfer to the IBAN of the customer',
  report: 'a report that is ready',
  schedule: 'a schedule of reports',
  session: 'a checkout session',
  paidSession: 'a checkout session that is paid, and refunded in part',
  refund: 'that refund',
  lateSession: 'a checkout session that expired, and to which money came twice after its end',
  latePayment: 'the first of that money',
  latePaymentToReturn: 'the second of it',
  link: 'a payment link',
  wallet: 'a wallet for USDC',
  ownershipProof: 'a proof of the ownership of another wallet',
  ownershipSignature: 'the signature of that wallet',
  loggedRequest: 'an entry of the request log',
} as const satisfies Readonly<Record<string, string>>
export type Resource = keyof typeof resources

export type Placeholder =
  | { readonly fill: 'resource'; readonly resource: Resource }
  | { readonly fill: 'unique'; readonly readable: string | undefined }
  | { readonly fill: 'email' }
  | { readonly fill: 'time'; readonly secondsAgo: number }
  | { readonly fill: 'newYear' }
  | { readonly fill: 'pain001' }

/** Placeholder for a resource: its id, unless `resources` says otherwise. */
export const resource = (name: Resource): Placeholder => ({ fill: 'resource', resource: name })
/** Placeholder for a unique text. The recorded example has `readable`, or else a UUID. */
export const uniqueText = (readable?: string): Placeholder => ({ fill: 'unique', readable })
/** Placeholder for a unique email address. */
export const emailPlaceholder: Placeholder = { fill: 'email' }
export const pastTime = (secondsAgo: number): Placeholder => ({ fill: 'time', secondsAgo })
/** Placeholder for the first day of the next year. */
export const newYear: Placeholder = { fill: 'newYear' }
/** Placeholder for a pain.001 file with one payment and a unique message id. */
export const pain001: Placeholder = { fill: 'pain001' }
/** Writes an amount with exactly these digits. */
export const amount = (literal: string): RawNumber => rawNumber(literal)

export type ExampleValue =
  | string
  | number
  | boolean
  | null
  | RawNumber
  | Placeholder
  | readonly ExampleValue[]
  | { readonly [field: string]: ExampleValue }

export type Example = {
  /** The value of each path parameter. */
  readonly params?: Readonly<Record<string, ExampleValue>>
  readonly query?: Readonly<Record<string, ExampleValue>>
  readonly body?: ExampleValue
  /** A body with every field, for the tests of fields, if `body` omits some. */
  readonly fullBody?: ExampleValue
}
