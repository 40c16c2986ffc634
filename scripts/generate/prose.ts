/** The introduction, the tag descriptions and the webhook description of the OpenAPI document. */
import { type Tag, payouts, tags, transactions } from '@partner-payments/wire'
import { markdownTable } from '../../service/src/kernel/index.ts'

const statusTable = (meanings: Readonly<Record<string, string>>) =>
  markdownTable(
    ['status', 'meaning'],
    Object.entries(meanings).map(([status, meaning]) => [`\`${status}\``, `${meaning}.`]),
  )

/** Names every group of operations. */
export const summary = `HTTP/JSON API for partner businesses: ${new Intl.ListFormat('en').format(tags)}.`

export const description = `A partner manages its customers and its team, obtains IBANs and wallets for customers, is paid by
checkout, exchanges currencies, sends payouts to beneficiaries, reads transactions, balances and reports, and receives
webhooks. In the sandbox it simulates payments.

Each operation has an \`x-source\`: \`documented\` operations are part of the published interface, \`extension\` operations
complement it. Each operation also names the permission that it requires.

## Authentication: signing a request

Every request is authenticated by four headers. Bearer tokens are not accepted.

| Header | Content |
|---|---|
| \`ApiKey\` | the service account's API key |
| \`Nonce\` | a single-use GUID |
| \`Timestamp\` | Unix time in seconds, at most 300 seconds before or after the server time |
| \`Signature\` | Base64 of the RSA signature of the canonical string: SHA-256, PKCS#1 v1.5 padding |

The canonical string consists of seven items, joined with line feeds (LF), without a trailing line feed:

1. the HTTP method, in upper case
2. the public path exactly as called, without the query
3. the canonical query
4. the value of \`Timestamp\`
5. the value of \`Nonce\`
6. the API secret
7. the lower-case hexadecimal SHA-256 of the raw body (of zero bytes if there is no body)

The canonical query is the query without the leading \`?\`:

- Each name and value is percent-encoded by RFC 3986. Unreserved characters are \`A-Z a-z 0-9 - . _ ~\`; a space is \`%20\`,
  never \`+\`.
- The pairs are sorted by encoded name, then by encoded value. Duplicates and empty values are kept.
- Without a query, the canonical query is the empty string.

For example, the canonical string of \`GET /v1/customers?limit=5\` is

\`\`\`
GET
/v1/customers
limit=5
1767225600
3b241101-e2bb-4255-8caf-4136c566a962
<API_SECRET>
e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
\`\`\`

Sign it with \`openssl dgst -sha256 -sign key.pem canonical.txt | openssl base64 -A\`.

## Amounts

Amounts are exact JSON numbers in major units: 12.50 EUR is twelve euros and fifty cents. Parse them with a decimal type,
not as binary floats. The amount of a payment is between 0.01 and 10,000,000.00. It has at most as many decimal digits as its
currency: 2 for EUR, GBP and USD, 6 for USDC and EURC. The service refuses more digits and never rounds.

## Asynchronous payments

A successful \`POST /v1/payouts/fiat\` means that the payout is accepted and its amount is reserved. The bank transfer runs
afterwards. Learn its result from webhooks, or poll \`GET /v1/transactions/{reference}\` every few seconds. A payment can take
from seconds to days. Do not derive a result from the age of a payment: wait for a final status.

A transaction is \`Pending\` until it gets exactly one final status:

${statusTable(transactions.transactionStatusMeanings)}

A payout shows the same progress in more detail:

${statusTable(payouts.payoutStatusMeanings)}

A bank can return a completed payout. The transaction stays \`Completed\`, the payout becomes \`Returned\`, and a new refund
transaction credits the money. Invitation mails, recoveries and deliveries also run in the background.

## Idempotency

A request with an idempotency key takes effect once. Every operation but a GET accepts the header \`Idempotency-Key\`. Some
bodies, such as those of payouts, also have the field \`idempotencyKey\`. Either place suffices, also where the field is required.
If a request gives both, they must be equal.

A repeated request with the same key and the same body returns the first result with \`Idempotent-Replayed: true\`. The same
key with a different body is refused with 422 \`idempotency_key_reused\`. Keys belong to the partner and the operation, and do
not expire. A refused request does not use up its key.

A GET refuses the header with 400. A preview judges the key that the payout would have, and leaves it free.

## Pagination of lists

Lists return \`{data, nextCursor, hasMore}\`, newest first. Pass \`nextCursor\` as \`cursor\` to get the next page. On the last
page \`nextCursor\` is null. The event feed differs: see \`GET /v1/events\`.

## Errors

Errors are \`application/problem+json\` (RFC 9457) with a \`code\` from a fixed set. \`errors\` lists each invalid field by its
JSON pointer. Quote \`requestId\` (also \`X-Request-Id\`) when you contact support.
`

export const tagDescriptions: Readonly<Record<Tag, string>> = {
  accounts: 'Customer IBANs and partner balances.',
  beneficiaries: 'The payees of payouts. A beneficiary belongs to a customer or to the partner itself.',
  checkout: 'Checkout sessions: deposits with a payment page for the payer.',
  customers: 'Customers and their identity (KYC) data.',
  fx: 'Exchange rates, quotes that hold for a time, and conversions between balances.',
  payouts: 'Payouts to beneficiaries: alone, in bulk, as standing orders and as previews; approvals and recalls.',
  reports: 'Statements, transactions, fees and reconciliations as files, and their schedules.',
  simulations: 'Sandbox only: simulated deposits, withdrawals and payers with a chosen outcome.',
  transactions: 'Deposits, withdrawals and conversions, each with its timeline.',
  users: "Invitations to the partner's team, and the audit of what its members did.",
  wallets: 'Addresses on which a partner and its customers receive tokens.',
  webhooks: 'Event types, webhook subscriptions, deliveries, recoveries and the event feed.',
}

export const idempotencyKeyDescription =
  'Identifies the request, so that a repeated request takes effect once. 1 to 255 printable ASCII characters, for example ' +
  'a UUID. If the body has `idempotencyKey` too, both must be equal.'

export const webhookDescription =
  'The service delivers the event as a signed POST with the body `{eventId, data}`. Verify `webhook-signature` by ' +
  'Standard Webhooks over `{webhook-id}.{webhook-timestamp}.{raw body}`. For `v1`, compute HMAC-SHA256 with the ' +
  'Base64-decoded secret after `whsec_`. For `v1a`, verify Ed25519 with the public key after `whpk_`. Respond with 2xx ' +
  'within 15 seconds and process each `eventId` once.'
