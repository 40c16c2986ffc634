/** Service accounts: the credentials by which programs of a partner sign requests. Extensions. */
import { permissions } from './operations/operation.ts'
import {
  Timestamp,
  Type,
  Uuid,
  closed,
  described,
  nameCharsMax,
  nullable,
  oneOf,
  optional,
  page,
  pageQuery,
  singleLine,
  text,
  timeInput,
} from './shapes.ts'

/** Maximum number of active service accounts of a partner. */
export const serviceAccountsMax = 100
export const allowedAddressesMax = 50
/** 90 days. */
export const overlapHoursMax = 24 * 90
const publicKeyCharsMax = 2000

export const serviceAccountStatuses = ['Active', 'Expired', 'Revoked'] as const

const Permissions = Type.Array(oneOf(permissions), { minItems: 1, uniqueItems: true })
const Addresses = Type.Array(text(50, { examples: ['203.0.113.0/24'] }), {
  maxItems: allowedAddressesMax,
  uniqueItems: true,
})
const nameText = 'Name of the service account, 1 to 140 characters, such as the program that uses it.'
const permissionsText = 'Permissions of the service account. You can grant only permissions that you have.'
const addressesText =
  'Addresses and networks (CIDR) from which the service account may be used. A request from elsewhere gets 403 `permission_denied`.'
const publicKeyText =
  'RSA public key of 2048 to 4096 bits: PEM with `BEGIN PUBLIC KEY` (SPKI). Make the key pair yourself, and keep the private key.'
/** A public key whose private key was discarded. */
export const examplePublicKey = [
  '-----BEGIN PUBLIC KEY-----',
  'MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAxTZz+TBbeAfcEKduXCs7',
  'pa4/wyfU3IO5fAq98bwWuzG+cQ0ckLBOj9z0nzx9DZJc2xfuUNyqG+6+U4wBovA4',
  'jsBfqQIUUT3qq2A/uOZJMRcOB1CHHFrv1ITcUoW2OIoyHlH1f/xMYSAZlD7MZzFg',
  'TT0wfu+7n0pqBo6778hgHo4ICvIfILCYEphGYwRQ+EgMqXE9RLFCtIgCcdV6WbsS',
  'q56oJgSnJvqvQ0Jp85BcaLY5MY3z/hyXGfsdK1f3Gfr3Gx8xTP8CKad/6P3uLYwJ',
  'SPTqJF+DdJQFQGT4pOUrTYhz8aG303ZZGugOKF60ajolHh4iajsHO/TbSg6bhoad',
  '1QIDAQAB',
  '-----END PUBLIC KEY-----',
].join('\n')
const PublicKey = described(text(publicKeyCharsMax), publicKeyText, { examples: [examplePublicKey] })

export const ServiceAccount = closed({
  serviceAccountId: described(Uuid, 'Identifies the service account.'),
  name: described(Type.String(), nameText),
  apiKey: described(Type.String(), 'The API key, which is not secret.'),
  permissions: described(Type.Array(Type.String()), 'Permissions of the service account.'),
  allowedAddresses: described(Type.Array(Type.String()), `${addressesText} Empty: any address.`),
  status: described(
    oneOf(serviceAccountStatuses),
    '`Active`: it can sign requests. `Expired`: `expiresAt` is over. `Revoked`: it was revoked.',
  ),
  impersonation: described(
    Type.Boolean(),
    "Whether the operator's staff uses it to read your data. It cannot write, and expires within an hour. You can revoke it.",
  ),
  issuedById: described(
    nullable(Type.String()),
    'The user or service account of your team that created it, directly or through another service account. Null: the operator issued it. ' +
      'Service accounts that your team created cannot approve payouts, and their creator cannot approve their payouts.',
  ),
  issuedByFullName: described(nullable(Type.String()), 'Name of the creator. Null: the operator issued it.'),
  replaces: described(nullable(Uuid), 'The service account that it replaces. Null: none.'),
  createdAt: described(Timestamp, 'Time of creation.'),
  expiresAt: described(
    nullable(Timestamp),
    'Time from which it can no longer sign requests. Null: it does not expire.',
  ),
  revokedAt: described(nullable(Timestamp), 'Time of the revocation. Null: it was not revoked.'),
  lastUsedAt: described(nullable(Timestamp), 'Time of the last signed request, to the minute. Null: none yet.'),
})
export const ServiceAccountPage = page(ServiceAccount)
export const ServiceAccountQuery = closed({
  ...pageQuery,
  status: described(optional(oneOf(serviceAccountStatuses)), 'Only service accounts with this status.'),
})

const Secret = described(Type.String(), 'The API secret. Only this answer and a replay of its request contain it.')

export const ServiceAccountCreate = closed({
  name: described(singleLine(nameCharsMax), nameText, { examples: ['Payroll'] }),
  publicKeyPem: PublicKey,
  permissions: described(Permissions, permissionsText, { examples: [['payouts:read', 'payouts:write']] }),
  allowedAddresses: described(optional(nullable(Addresses)), `${addressesText} Absent, null or empty: any address.`),
  expiresAt: optional(
    nullable(timeInput('Time from which it can no longer sign requests. Absent or null: it does not expire')),
  ),
})
export const ServiceAccountCreated = closed({ ...ServiceAccount.properties, apiSecret: Secret })

export const ServiceAccountUpdate = closed({
  name: described(optional(nullable(singleLine(nameCharsMax))), `${nameText} Absent or null: unchanged.`),
  permissions: described(optional(nullable(Permissions)), `${permissionsText} Absent or null: unchanged.`),
  allowedAddresses: described(
    optional(nullable(Addresses)),
    `${addressesText} Absent or null: unchanged. Empty: any address.`,
  ),
  expiresAt: optional(
    nullable(timeInput('Time from which it can no longer sign requests. Absent: unchanged. Null: it does not expire')),
  ),
})

export const ServiceAccountRotate = closed({
  publicKeyPem: PublicKey,
  overlapHours: described(
    optional(nullable(Type.Integer({ minimum: 0, maximum: overlapHoursMax }))),
    'Hours for which the old key stays valid, 0 to 2160. Absent or null: 24.',
    { examples: [24] },
  ),
})
