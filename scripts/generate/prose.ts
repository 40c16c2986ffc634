/** The running text of the OpenAPI document. */
import type { Tag } from '@partner-payments/wire'

export const description = `An HTTP/JSON API through which a partner business manages its customers, obtains IBANs for them,
pays out to beneficiaries, reads transactions, invites its team and receives webhooks.

Every operation is marked \`x-source: documented\` (part of the published interface) or \`extension\` (added so that the
published part can be used), and names the permission that it needs.

## Signing a request

Every request carries four headers; bearer tokens are not accepted.

| Header | Content |
|---|---|
| \`ApiKey\` | the service account's API key |
| \`Nonce\` | a GUID, used once |
| \`Timestamp\` | Unix time in seconds, within 300 s of the server either way |
| \`Signature\` | Base64 of an RSA signature, SHA-256 with PKCS#1 v1.5 padding, over the canonical string |

The canonical string is these seven items joined with a line feed (LF), without one at the end:

1. the HTTP method, in upper case
2. the public path exactly as called, without the query
3. the canonical query
4. the value of \`Timestamp\`
5. the value of \`Nonce\`
6. the API secret
7. the lower-case hexadecimal SHA-256 of the raw body (of nothing, where there is no body)

The canonical query is the query without its \`?\`, each name and value percent-encoded by RFC 3986 (unreserved characters
are \`A-Z a-z 0-9 - . _ ~\`; a space is \`%20\`, never \`+\`), sorted by name, then value; duplicates and empty values stay. It
is the empty string where there is no query.

For example, \`GET /v1/customers?limit=5\` is signed as

\`\`\`
GET
/v1/customers
limit=5
1767225600
3b241101-e2bb-4255-8caf-4136c566a962
<API_SECRET>
e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
\`\`\`

and \`openssl dgst -sha256 -sign key.pem canonical.txt | openssl base64 -A\` makes the signature of it.

## Amounts

Amounts are JSON numbers and exact: they are read from and written as source text. Read them with a decimal type.

## Idempotency

A body with an \`idempotencyKey\` is carried out once. The same key with the same body answers what the first answered, with
\`Idempotent-Replayed: true\`; with another body it is refused with 422 \`idempotency_key_reused\`.

## Lists

\`{data, nextCursor, hasMore}\`, newest first. Pass \`nextCursor\` as \`cursor\` for the next page; it is null at the end.

## Errors

\`application/problem+json\` with a closed set of \`code\`s; refused fields are named in \`errors\` by JSON pointers. Quote
\`requestId\` (also \`X-Request-Id\`) when you ask us about a request.
`

export const tagDescriptions: Readonly<Record<Tag, string>> = {
  accounts: "The IBANs of a customer, and the partner's balances.",
  beneficiaries: 'Whom a payout may pay: beneficiaries of a customer, or of the partner itself.',
  customers: 'Customers and their identity (KYC) data.',
  payouts: 'Fiat payouts to beneficiaries, each carried out once per idempotency key.',
  simulations: 'Sandbox only: let deposits and withdrawals happen, with a chosen outcome.',
  transactions: 'Everything that moved, or tried to: deposits, withdrawals and conversions, each with its timeline.',
  users: "The invitations of the partner's team.",
  webhooks: 'Event types, subscriptions and deliveries, and the events themselves.',
}

export const webhookDescription =
  'Delivered as a signed POST of exactly `{eventId, data}`. Verify `webhook-signature` by Standard Webhooks: HMAC-SHA256 ' +
  'with the Base64-decoded part of the subscription secret after `whsec_`, over ' +
  '`{webhook-id}.{webhook-timestamp}.{raw body}`. Answer 2xx at once and process by `eventId`, once.'
