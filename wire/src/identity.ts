/**
 * Identity verifications: an identity provider compares the KYC of a customer with documents. All operations are
 * extensions.
 */
import {
  CalendarDate,
  CountryCode,
  Timestamp,
  Type,
  Url,
  Uuid,
  closed,
  described,
  oneOf,
  optional,
  page,
  pageQuery,
  meaningsText,
} from './shapes.ts'

export const identityKinds = ['Document', 'Address', 'Company'] as const
export type IdentityKind = (typeof identityKinds)[number]
const kindText =
  '`Document`: an identity document of the person. `Address`: a proof of the address. `Company`: an extract of the register.'

/** The meaning of each status, in the order of a verification's life. */
const statusMeanings = {
  Pending: 'the provider does not have it yet',
  Open: 'the customer can open `url`',
  Processing: 'the provider decides',
  Approved: 'the provider has found the proof good',
  Declined: 'the provider has refused the proof; `reason` says why',
  Lapsed: 'the customer did not finish in time',
  Expired: 'the document has expired since',
  Failed: 'the provider did not accept the request; `reason` says why',
} as const
export const identityStatuses = Object.keys(statusMeanings) as [keyof typeof statusMeanings]
export type IdentityStatus = keyof typeof statusMeanings

export const identityDocuments = [
  'Passport',
  'IdentityCard',
  'ResidencePermit',
  'DrivingLicence',
  'ProofOfAddress',
  'RegisterExtract',
] as const

/** Reasons for which a provider refuses a proof, or a request. */
export const identityReasons = [
  'DocumentForged',
  'DocumentExpired',
  'DocumentUnreadable',
  'DocumentNotAccepted',
  'PersonNotPresent',
  'DataMismatch',
  'RequestRefused',
  'ProviderUnavailable',
  'Other',
] as const

const IdentityDocument = closed({
  type: described(oneOf(identityDocuments), 'The type of the document.'),
  issuingCountry: described(
    optional(CountryCode),
    'Country that issued it, ISO 3166-1 alpha-2. Absent if the provider does not name it.',
  ),
  expiresOn: described(optional(CalendarDate), 'Last day on which it is valid. Absent if it does not expire.'),
})

const IdentityEvidence = closed({
  providerReference: described(Type.String(), 'Reference under which the provider finds its record.'),
  documents: described(Type.Array(IdentityDocument), 'The documents that the provider has seen.'),
  fields: described(
    Type.Array(
      closed({
        field: described(Type.String(), 'Name of the KYC field.', { examples: ['fullName'] }),
        outcome: described(
          oneOf(['Matched', 'Mismatched']),
          '`Matched`: the document has the value of the request. `Mismatched`: it has another one.',
        ),
      }),
    ),
    'The KYC fields that the provider has compared. A later change of a field ends what was found about it.',
  ),
})

export const IdentityVerification = closed({
  id: described(Uuid, 'Identifies the verification.'),
  customerGuid: described(Uuid, 'The `guid` of the customer.'),
  kinds: described(Type.Array(oneOf(identityKinds)), `The proofs that are asked for. ${kindText}`),
  status: described(oneOf(identityStatuses), meaningsText(statusMeanings)),
  reason: described(
    optional(oneOf(identityReasons)),
    'Reason why it was declined or has failed. `RequestRefused`: the provider refused the request. `ProviderUnavailable`: it did not answer for a day. Absent otherwise.',
  ),
  provider: described(Type.String(), 'The identity provider.', { examples: ['simulated'] }),
  url: described(
    optional(Type.String()),
    'Page of the provider that the customer opens. It is a credential: give it to the customer only. Present while `status` is `Open`.',
  ),
  sessionExpiresAt: described(
    optional(Timestamp),
    'End of the time in which the page can be used. Absent before `Open`.',
  ),
  evidence: described(optional(IdentityEvidence), 'Findings of the provider. Absent until it has decided.'),
  validUntil: described(
    optional(Timestamp),
    'When the first document expires; then the verification is `Expired`. Absent if none does.',
  ),
  createdAt: described(Timestamp, 'Time of the request.'),
  updatedAt: described(Timestamp, 'Time of the last change of `status`.'),
  decidedAt: described(optional(Timestamp), 'When the provider decided. Absent until then.'),
})

export const IdentityVerificationCreate = closed({
  kinds: described(
    optional(Type.Array(oneOf(identityKinds), { minItems: 1, maxItems: identityKinds.length, uniqueItems: true })),
    `Kind of proof. ${kindText} Without it, \`Company\` for a \`Business\`, and \`Document\` for others.`,
  ),
  returnUrl: described(
    optional(Url),
    'Address to which the page of the provider leads back: `https`, or `http` on `localhost` in the sandbox.',
    { examples: ['https://shop.example/verified'] },
  ),
})
export const IdentityVerificationPage = page(IdentityVerification)
export const IdentityVerificationQuery = closed(pageQuery)
