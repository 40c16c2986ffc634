/** Pure: applies the proofs of identity providers to the verdicts of the KYC rules. */
import { type FieldState, identity, type VerificationCode } from '@partner-payments/wire'
import type { CustomerType, KycFields } from './rules.ts'

type Field = keyof KycFields

export type FieldVerdict = {
  readonly field: Field
  readonly state: FieldState
  readonly code?: VerificationCode
  readonly remediation?: string
}

type IdentityKind = identity.IdentityKind

/** A decided verification that was not replaced by a later one. */
export type IdentityRecord = {
  readonly kinds: readonly IdentityKind[]
  readonly status: Extract<identity.IdentityStatus, 'Approved' | 'Declined' | 'Expired'>
  readonly decidedAt: Date
  /** Null: it does not expire. */
  readonly validUntil: Date | null
  /** `value`: the value that the provider compared. */
  readonly fields: readonly {
    readonly field: string
    readonly value: string
    readonly outcome: 'Matched' | 'Mismatched'
  }[]
}

/** `required`: a customer is complete only with an approved verification. */
export type Proofs = { readonly records: readonly IdentityRecord[]; readonly required: boolean }
export const noProofs: Proofs = { records: [], required: false }

/** Returns the kind that proves the identity of a customer of this type. */
export const mainKind = (customerType: CustomerType): IdentityKind =>
  customerType === 'Business' ? 'Company' : 'Document'

const addressFields = ['addressLine1', 'addressLine2', 'city', 'postalCode', 'residenceAddress'] as const
const ownerFields = ([1, 2, 3, 4, 5] as const).flatMap(
  (number) => [`uboFirstName${number}`, `uboLastName${number}`] as const,
)
/** The fields that a provider receives for each kind: only those that it compares (GDPR, Art. 5(1)(c)). */
const comparedFields: Readonly<Record<IdentityKind, readonly Field[]>> = {
  Document: ['fullName', 'dateOfBirth', 'citizenshipCountryCode'],
  Address: ['fullName', 'legalName', ...addressFields],
  Company: [
    'legalName',
    'legalForm',
    'registrationNumber',
    'countryOfIncorporation',
    'dateOfIncorporation',
    ...ownerFields,
  ],
}

/** Selects the KYC fields that a provider compares for these kinds. */
export function selectComparedFields(kyc: KycFields, kinds: readonly IdentityKind[]): Readonly<Record<string, string>> {
  const fields = new Set(kinds.flatMap((kind) => comparedFields[kind]))
  return Object.fromEntries(Object.entries(kyc).filter(([field]) => fields.has(field as Field)))
}

/** Returns the field that shows the verdict on a kind as a whole. */
function verdictField(kind: IdentityKind, kyc: KycFields): Field {
  if (kind === 'Document') return 'fullName'
  if (kind === 'Company') return 'legalName'
  return kyc.residenceAddress === undefined ? 'addressLine1' : 'residenceAddress'
}

type Fault = Pick<FieldVerdict, 'state'> & { readonly code: VerificationCode }

/** Finds the fault of the proof of a kind. Undefined: there is no fault, or the kind is not required. */
function findFault(
  kind: IdentityKind,
  kyc: KycFields,
  isRequired: boolean,
  latest: IdentityRecord | undefined,
  now: Date,
) {
  if (latest === undefined) return isRequired ? missing('identity_required') : undefined
  if (latest.status === 'Declined') return { state: 'Invalid', code: 'identity_declined' } as const
  if (latest.status === 'Expired' || (latest.validUntil !== null && latest.validUntil <= now))
    return missing('identity_expired')
  const bearer = verdictField(kind, kyc)
  const proved = latest.fields.find(({ field }) => field === bearer)
  return isRequired && proved?.value !== kyc[bearer] ? missing('identity_required') : undefined
}
const missing = (code: VerificationCode): Fault => ({ state: 'Missing', code })

/**
 * Applies the proofs to the verdicts of the rules. A fault that a rule found stays. The latest record that compared the current value
 * of a field decides the field, and the latest record of a kind decides the kind.
 */
export function applyProofs(
  verdicts: readonly FieldVerdict[],
  { kyc, customerType, now }: { readonly kyc: KycFields; readonly customerType: CustomerType; readonly now: Date },
  { records, required }: Proofs,
  refusedAs: (field: Field, state: FieldVerdict['state'], code: VerificationCode) => FieldVerdict,
): readonly FieldVerdict[] {
  if (records.length === 0 && !required) return verdicts
  const newestFirst = records.toSorted((a, b) => b.decidedAt.getTime() - a.decidedAt.getTime())
  const faults = new Map<Field, Fault>()
  for (const kind of identity.identityKinds) {
    const latest = newestFirst.find(({ kinds }) => kinds.includes(kind))
    const fault = findFault(kind, kyc, required && kind === mainKind(customerType), latest, now)
    if (fault !== undefined) faults.set(verdictField(kind, kyc), fault)
  }
  return verdicts.map((verdict) => {
    const { field, code } = verdict
    if (code !== undefined) return verdict
    const compared = newestFirst
      .flatMap(({ status, fields }) => fields.map((each) => ({ ...each, status })))
      .find((each) => each.field === field && each.value === kyc[field])
    if (compared?.outcome === 'Mismatched' && compared.status !== 'Expired')
      return refusedAs(field, 'Invalid', 'identity_mismatch')
    const fault = faults.get(field)
    if (fault !== undefined) return refusedAs(field, fault.state, fault.code)
    return compared?.status === 'Approved' && verdict.state === 'Unchecked' ? { field, state: 'Valid' } : verdict
  })
}
