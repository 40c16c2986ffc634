/** The verification of a customer's KYC by rules: a state for each field, and a code with its remedy. Extension. */
import { Amount, CalendarDate, Currency, Type, Uuid, closed, described, oneOf, optional } from './shapes.ts'

/** Remedies for each verification code. */
export const verificationCodes = {
  field_required: 'A customer of this type needs the field. Ask the customer for it.',
  lei_format: 'An LEI has 18 letters or digits and 2 check digits (ISO 17442). Copy it from the register.',
  lei_check_digits: 'The check digits of the LEI do not fit the rest. Compare each character with the register.',
  phone_not_international: 'The number has no country. Give it in E.164 form: `+`, country code, number.',
  phone_invalid: 'No such number exists in the numbering plan of its country. Ask the customer for it again.',
  phone_not_mobile: 'The number is a fixed line. Ask the customer for a mobile number.',
  website_invalid: 'The website is not an `http` or `https` URL with a domain name. Copy it from the browser.',
  tax_id_format: 'The number does not have a form of the country. Compare it with a tax document.',
  tax_id_check_digits: 'The check digits of the number do not fit the rest. Compare it with a tax document.',
  date_in_future: 'The date is in the future. Compare it with the document.',
  age_impossible: 'The person would be older than 120 years. Compare the date with the identity document.',
  under_age: 'The person is younger than 18 years. The customer cannot be accepted.',
  incorporated_before_birth: 'The business of the person was founded before the person was born. Compare both dates.',
  owner_incomplete: 'The first or last name of the owner is missing. Add the missing name.',
  owner_gap: 'Owners are numbered without gaps. Move the owner to the first free number.',
  owner_duplicate: 'Two owners have the same names. Remove one, or give their names in full.',
  identity_required: 'The identity was not verified with these values. Start an identity verification.',
  identity_mismatch: 'The identity provider read another value. Correct it, or start another identity verification.',
  identity_declined: 'The identity provider declined the proof. Read the identity verification, and start another.',
  identity_expired: 'The document of the identity verification has expired. Start another identity verification.',
} as const
export type VerificationCode = keyof typeof verificationCodes
const codes = Object.keys(verificationCodes) as [VerificationCode, ...VerificationCode[]]

export const fieldStates = ['Valid', 'Unchecked', 'Invalid', 'Missing'] as const
export type FieldState = (typeof fieldStates)[number]
export const verificationStates = ['Complete', 'Incomplete', 'Invalid'] as const
export type VerificationState = (typeof verificationStates)[number]

/** Actions that the verification of a customer allows or refuses. */
export const capabilities = ['OpenAccount', 'Receive', 'Pay', 'Convert'] as const
export type Capability = (typeof capabilities)[number]

/**
 * Reasons why a customer lacks a capability. An unconfirmed screening hit is never a reason, because a listed person must not be warned. A
 * confirmed hit is `account_blocked`, like every block by the operator.
 */
const capabilityReasons = [
  'verification_incomplete',
  'verification_invalid',
  'account_blocked',
  'account_closed',
] as const
export type CapabilityReason = (typeof capabilityReasons)[number]

const VerifiedField = closed({
  field: described(Type.String(), 'Name of the KYC field.', { examples: ['lei'] }),
  state: described(
    oneOf(fieldStates),
    '`Valid`: a rule or an identity provider has checked the value. `Unchecked`: the value is given, and neither has. `Invalid`: a rule ' +
      'refuses it, or the provider read another value. `Missing`: a customer of this type needs the field, or its proof.',
  ),
  code: described(optional(oneOf(codes)), 'Code of the fault of an `Invalid` or `Missing` field. Absent otherwise.'),
  remediation: described(optional(Type.String()), 'Explanation of the fault and its remedy. Present if `code` is.'),
})

export const CustomerVerification = closed({
  guid: described(Uuid, 'Identifies the customer.'),
  customerType: described(oneOf(['Individual', 'Business', 'SoleTrader']), 'The type, which decides what is needed.'),
  state: described(
    oneOf(verificationStates),
    '`Invalid`: a field is invalid. `Incomplete`: none is invalid and one is missing. `Complete`: neither.',
  ),
  checkedOn: described(CalendarDate, 'Day of the check, in UTC. Ages are of this day.'),
  fields: described(Type.Array(VerifiedField), 'The fields that are given or missing, in the order of the KYC object.'),
})

export const CustomerCapabilities = closed({
  guid: described(Uuid, 'Identifies the customer.'),
  verificationState: described(
    oneOf(verificationStates),
    'The state by which the customer is judged: that of its verification.',
  ),
  capabilities: described(
    Type.Array(
      closed({
        name: described(
          oneOf(capabilities),
          '`OpenAccount`: it gets IBANs and wallets. `Receive`: deposits are credited to it. `Pay`: payouts are made for it. ' +
            '`Convert`: its money is exchanged. Tokens need it besides the capability of the act.',
        ),
        allowed: described(Type.Boolean(), 'Whether the customer may do it now.'),
        reasons: described(
          Type.Array(oneOf(capabilityReasons)),
          'Every reason against it: the state of the verification, or of its account. Empty if the capability is allowed.',
        ),
        holdUpTo: described(
          optional(
            Type.Array(
              closed({
                currency: described(Currency, 'The currency: ISO 4217 alpha-3, or a token code.'),
                amount: described(Amount, 'The largest balance of the customer, in major units of `currency`.'),
                held: described(Amount, 'Balance that the customer holds now, in major units of `currency`.'),
              }),
            ),
          ),
          'Largest balances in this state, for `Receive` only. Money that arrives above one stays with the operator until a person ' +
            'decides; sessions, conversions and transfers above one are refused with `balance_limit_exceeded`. Absent without one.',
        ),
        holdUpToInAll: described(
          optional(
            closed({
              currency: described(Currency, 'The reference currency.'),
              amount: described(Amount, 'The largest sum over all currencies, in major units of `currency`.'),
              held: described(
                optional(Amount),
                'Sum that the customer holds now. Absent without rates of the last days.',
              ),
            }),
          ),
          'Largest sum over all currencies in this state, by the rates of the day, for `Receive` only. Conversions do not change what the customer ' +
            'holds in all. Absent without one.',
        ),
      }),
    ),
    'Each capability, in the order in which a customer needs them.',
  ),
  fields: described(
    Type.Array(VerifiedField),
    'The KYC fields that are invalid or missing, with their remedies. Empty if the verification is complete.',
  ),
})
