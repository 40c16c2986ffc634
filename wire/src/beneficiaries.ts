/** Beneficiaries: the payees of payouts. Update is documented; the other operations are extensions. */
import type { Static } from 'typebox'
import {
  Bic,
  CalendarDate,
  CountryCode,
  Currency,
  CustomerRef,
  Iban,
  Timestamp,
  Type,
  Uuid,
  aliasCharsMax,
  closed,
  described,
  nameCharsMax,
  oneOf,
  optional,
  page,
  pageQuery,
  singleLine,
  text,
} from './shapes.ts'

const Alias = singleLine(aliasCharsMax)
const Name = singleLine(nameCharsMax)

const accountTypes = ['Checking', 'Savings'] as const
export type AccountType = (typeof accountTypes)[number]

/** A structured postal address. The lengths are those of ISO 20022, PostalAddress24. */
export const PayeeAddress = closed({
  streetName: described(optional(singleLine(70)), 'Name of the street, or the post box.', {
    examples: ['Königstraße'],
  }),
  buildingNumber: described(optional(singleLine(16)), 'Number of the building in the street.', { examples: ['1a'] }),
  postalCode: described(optional(singleLine(16)), 'Postal code, or ZIP code.', { examples: ['10115'] }),
  city: described(singleLine(35), 'City or town.', { examples: ['Berlin'] }),
  state: described(
    optional(singleLine(35)),
    'State, province or region. In the United States the code of two letters.',
    {
      examples: ['NY'],
    },
  ),
  country: described(
    CountryCode,
    'Country of the address, ISO 3166-1 alpha-2. It may differ from that of the account.',
  ),
})
export type PayeeAddress = Static<typeof PayeeAddress>

export const BeneficiaryCreate = closed({
  customerId: described(
    optional(CustomerRef),
    'The `guid` or the `serviceId` of the customer that owns the beneficiary. Without it, the partner itself owns it.',
  ),
  alias: described(optional(Alias), 'Your short name for the beneficiary. The beneficiary does not see it.', {
    examples: ['savings'],
  }),
  name: described(Name, 'Name of the account holder. The payment message contains it.', { examples: ['Grace Hopper'] }),
  iban: described(
    optional(text(42)),
    'IBAN of the beneficiary, ISO 13616. Required for EUR; for GBP and USD the account may have a domestic form instead. The service removes spaces.',
    { examples: ['NL91ABNA0417164300'] },
  ),
  bic: described(
    optional(text(11)),
    'BIC of the bank, ISO 9362. Refused if it contradicts the IBAN. Without it, the service completes it if it knows the bank.',
    { examples: ['ABNANL2A'] },
  ),
  sortCode: described(
    optional(text(10)),
    'Sort code of a British account, six digits, with or without hyphens. Only for GBP, with `accountNumber`, instead of `iban`.',
    { examples: ['20-00-00'] },
  ),
  routingNumber: described(
    optional(text(9)),
    'Routing number (ABA) of an American bank, nine digits with a check digit. Only for USD, with `accountNumber`, instead of `iban`.',
    { examples: ['021000021'] },
  ),
  accountNumber: described(
    optional(text(20)),
    'Number of the account at the bank that `sortCode` or `routingNumber` names: British numbers have 6 to 8 digits, American ones at most 17 characters.',
    { examples: ['55779911'] },
  ),
  accountType: described(
    optional(oneOf(accountTypes)),
    'Type of an American account, which many banks there ask for. Only with `routingNumber`.',
    { examples: ['Checking'] },
  ),
  walletAddress: described(
    optional(text(128)),
    'Address of the wallet. Required for token currencies. With capitals, its check sum (EIP-55) must be right.',
    {
      examples: ['0x52908400098527886E0F7030069857D2E4169EE7'],
    },
  ),
  vasp: described(
    optional(Name),
    'Name of the provider that keeps the wallet, for the travel rule. Only for token currencies. Absent: a wallet of its own.',
    { examples: ['Example Custody Ltd'] },
  ),
  country: described(
    optional(CountryCode),
    'Country of the account, ISO 3166-1 alpha-2. Must be a country of the IBAN. Default: the country of the IBAN.',
  ),
  currency: described(Currency, 'Currency of all payouts to the beneficiary: ISO 4217 alpha-3, or a token code.'),
  address: described(
    optional(PayeeAddress),
    'Postal address of the account holder. Payouts by SWIFT need it: see `GET /v1/beneficiaries/requirements`.',
  ),
})

/** Interface document, Beneficiary update request. At least one of `alias`, `name` and the extension `address` is required. */
export const BeneficiaryUpdate = closed({
  id: described(Uuid, 'Identifies the beneficiary to update.'),
  alias: described(optional(Alias), 'The new short name. At least one of `alias`, `name` and `address` is required.', {
    examples: ['savings'],
  }),
  name: described(optional(Name), 'The new name of the account holder. Applies to later payouts.', {
    examples: ['Grace Hopper'],
  }),
  address: described(
    optional(PayeeAddress),
    'The new postal address, which replaces the whole earlier one. Applies to later payouts.',
  ),
})

export const Beneficiary = closed({
  id: described(Uuid, 'Identifies the beneficiary. Payouts name it as `beneficiaryId`.'),
  customerId: described(optional(Uuid), 'The `guid` of the owning customer. Absent if the partner itself owns it.'),
  alias: described(optional(Type.String()), 'Your short name for the beneficiary. Absent if none was given.'),
  name: described(Type.String(), 'Name of the account holder.'),
  iban: described(
    optional(Iban),
    'IBAN, ISO 13616, without spaces. Absent for token currencies, and if the account has a domestic form.',
  ),
  sortCode: described(optional(Type.String()), 'Sort code, six digits. Only of a British account without an IBAN.'),
  routingNumber: described(optional(Type.String()), 'Routing number, nine digits. Only of an American account.'),
  accountNumber: described(
    optional(Type.String()),
    'Number of the account. Absent if it has an IBAN, and for token currencies.',
  ),
  accountType: described(
    optional(oneOf(accountTypes)),
    'Type of an American account: the payment message contains it. Absent if none was given.',
  ),
  bic: described(optional(Bic), 'BIC of the bank, ISO 9362. Absent if none was given and the bank is not known.'),
  walletAddress: described(optional(Type.String()), 'Address of the wallet. Absent for fiat currencies.'),
  vasp: described(
    optional(Type.String()),
    'Name of the provider that keeps the wallet. Absent for fiat currencies, and if none was given.',
  ),
  country: described(
    optional(CountryCode),
    'Country of the account, ISO 3166-1 alpha-2. For token currencies absent unless it was given.',
  ),
  currency: described(Currency, 'Currency of all payouts to the beneficiary: ISO 4217 alpha-3, or a token code.'),
  address: described(optional(PayeeAddress), 'Postal address of the account holder. Absent if none was given.'),
  missingFields: described(
    optional(Type.Array(Type.String())),
    'Fields that a payout needs and the beneficiary lacks, today or on the day of `incompleteOn`. Absent if there are none.',
    { examples: [['address']] },
  ),
  createdAt: described(Timestamp, 'Time of creation.'),
  updatedAt: described(Timestamp, 'Time of the last change.'),
})
export const BeneficiaryPage = page(Beneficiary)
export const BeneficiaryQuery = closed({
  ...pageQuery,
  customerId: described(optional(CustomerRef), 'Only beneficiaries of this customer: its `guid` or its `serviceId`.'),
  currency: described(optional(Currency), 'Only beneficiaries with this currency.'),
  iban: described(optional(text(42)), 'Only beneficiaries with this IBAN. Spaces and case do not count.'),
  alias: described(optional(text(140)), 'Only beneficiaries with this alias. Ignores case.'),
  namePrefix: described(
    optional(text(140)),
    'Only beneficiaries of whose name a word begins with this text, which may continue with the following words. Ignores ' +
      'case, accents and punctuation; other scripts are transliterated. At least 2 letters or digits; the first 12 characters count.',
    { examples: ['Hopp'] },
  ),
  incompleteOn: described(
    optional(CalendarDate),
    'Only beneficiaries to which a payout on this day would be refused, because `missingFields` are not there.',
    { examples: ['2026-11-15'] },
  ),
})

export const requirementParties = ['Payee', 'Payer', 'Payment'] as const
export const requirementRules = ['Required', 'Recommended', 'Refused'] as const
const requirementRails = ['Sepa', 'Swift'] as const

const Requirement = closed({
  party: described(
    oneOf(requirementParties),
    'The party that the field is about. `Payee`: a field of the beneficiary. `Payer` and `Payment`: the service and its operator provide it.',
  ),
  field: described(
    Type.String(),
    'Name of the field. `address.lines` are lines of an address without city and country.',
    {
      examples: ['address.city'],
    },
  ),
  rule: described(
    oneOf(requirementRules),
    '`Required`: a payout without it is refused. `Recommended`: some banks refuse or delay the payment. `Refused`: a payment with it is refused.',
  ),
  rail: described(oneOf(requirementRails), 'Payment rail of the payments.'),
  validFrom: described(optional(CalendarDate), 'First execution day on which it holds. Absent: it always held.'),
  validUntil: described(optional(CalendarDate), 'Last execution day on which it holds. Absent: no end is known.'),
  source: described(Type.String(), 'The rulebook, law or statement of banks that demands it.'),
})
/** The requirements of a country and a currency, those that begin later included. */
export const Requirements = closed({
  data: described(Type.Array(Requirement), 'The requirements, those of the payee first. Empty for token currencies.'),
})
export const RequirementQuery = closed({
  country: described(CountryCode, 'Country of the account, ISO 3166-1 alpha-2.', { examples: ['US'] }),
  currency: described(Currency, 'Currency of the payouts.', { examples: ['USD'] }),
  on: described(optional(CalendarDate), 'Requirements that hold on this execution day or begin later. Default: today.'),
})

const verificationResults = ['Match', 'CloseMatch', 'NoMatch', 'NotPossible'] as const
export const notPossibleReasons = [
  'AccountUnknown',
  'NameNotComparable',
  'SchemeNotConfigured',
  'SchemeTimeout',
  'SchemeUnavailable',
] as const

export const VerificationCreate = closed({
  name: described(Name, 'The name of the payee as you would pay it.', { examples: ['Grace Hopper'] }),
  iban: described(text(42), 'The IBAN of the payee, ISO 13616. The service removes spaces.', {
    examples: ['NL91ABNA0417164300'],
  }),
})

export type NotPossibleReason = (typeof notPossibleReasons)[number]

/** An answer about a name and an IBAN. It never changes. */
export const Verification = closed({
  id: described(Uuid, 'Identifies the verification.'),
  name: described(Type.String(), 'The name that was asked about.'),
  iban: described(Iban, 'The IBAN that was asked about, without spaces.'),
  result: described(
    oneOf(verificationResults),
    '`Match`: name and IBAN belong together. `CloseMatch`: almost, see `matchedName`. `NoMatch`: they do not. ' +
      '`NotPossible`: there is no answer, see `reason`.',
  ),
  matchedName: optional(described(Type.String(), 'The name of the account. Only for `CloseMatch`.')),
  reason: optional(
    described(
      oneOf(notPossibleReasons),
      'Reason for the missing answer. The bank does not know the account, the name has no letter to compare, or the scheme ' +
        'is not configured, too slow or unreachable. Only for `NotPossible`.',
    ),
  ),
  source: described(Type.String(), 'Source of the answer: `own` for an IBAN of this service, otherwise the scheme.'),
  schemeReference: optional(
    described(Type.String(), 'Reference by which the scheme finds its answer. Absent if it has none.'),
  ),
  requestedBy: described(
    Type.String(),
    'The name of the service account that asked, or `renewal` if the service asked by itself.',
  ),
  requestedAt: described(Timestamp, 'When it asked.'),
  answeredAt: described(Timestamp, 'When the answer was there.'),
})
export const VerificationPage = page(Verification)
export const VerificationQuery = closed({
  ...pageQuery,
  iban: described(optional(text(42)), 'Only verifications of this IBAN.'),
})
