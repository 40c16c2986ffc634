/** Pure: what an erasure retains, for how long, and what prevents it (docs/decisions/0055-erasure.md). */
import type { ErasureState } from '@partner-payments/wire'
import { Refusal } from '../../kernel/api/index.ts'
import { type Currency, amountText } from '../../kernel/index.ts'
import type { Hold } from '../../screening/index.ts'
import type { FieldChange, KycFields } from './rules.ts'

/**
 * Fields that prove the customer's identity: AMLD, Art. 40(1)(a) with Art. 13. The duty does not cover telephone, website and
 * nature of the business.
 */
const retained: ReadonlySet<keyof KycFields> = new Set([
  'fullName',
  'legalName',
  'tradingName',
  'legalForm',
  'dateOfBirth',
  'dateOfIncorporation',
  'citizenshipCountryCode',
  'countryOfIncorporation',
  'countryOfPrincipalBusiness',
  'addressCountryCode',
  'addressLine1',
  'addressLine2',
  'city',
  'postalCode',
  'residenceAddress',
  'lei',
  'registrationNumber',
  'taxId',
  'personalIdentificationNumber',
  'uboFirstName1',
  'uboLastName1',
  'uboFirstName2',
  'uboLastName2',
  'uboFirstName3',
  'uboLastName3',
  'uboFirstName4',
  'uboLastName4',
  'uboFirstName5',
  'uboLastName5',
])

export const retainedKyc = (kyc: KycFields): KycFields =>
  Object.fromEntries(Object.entries(kyc).filter(([field]) => retained.has(field as keyof KycFields)))

/** Selects the changes of retained fields, which show the customer's earlier identity. */
export const retainedChanges = (changes: readonly FieldChange[]): readonly FieldChange[] =>
  changes.filter(({ field }) => field.startsWith('kyc.') && retained.has(field.slice('kyc.'.length) as keyof KycFields))

/**
 * Computes the end of the retention. The relationship ends with the request for erasure, or with the last payment if that comes later
 * (AMLD, Art. 40(1)). Undefined: the retention is over.
 */
export function retainedUntil(
  { requestedAt, lastPaymentAt }: { readonly requestedAt: Date; readonly lastPaymentAt: Date | null },
  years: number,
  now: Date,
): Date | undefined {
  const until = new Date(lastPaymentAt !== null && lastPaymentAt > requestedAt ? lastPaymentAt : requestedAt)
  until.setUTCFullYear(until.getUTCFullYear() + years)
  return until > now ? until : undefined
}

export type ErasurePhase = 'details' | 'retained' | 'payments' | 'payouts' | 'done'

export const erasureState = (phase: ErasurePhase): ErasureState =>
  phase === 'done' ? 'Completed' : phase === 'retained' ? 'Retained' : 'Running'

/** The data that decides whether a customer can be erased. */
export type ErasureCheck = {
  /** References of pending transactions, possibly not all. */
  readonly pending: readonly string[]
  /** The customer's money. */
  readonly balances: readonly { readonly currency: Currency; readonly posted: bigint; readonly reserved: bigint }[]
  readonly holds: readonly (Hold | undefined)[]
}

/**
 * Refuses: customer_not_erasable. The text does not reveal the cause of a hold (names not compared yet, a hit, a frozen
 * customer), because warning a listed person is an offence.
 */
export function requireErasable({ pending, balances, holds }: ErasureCheck, nothingOwed: boolean): void {
  const credit = nothingOwed ? [] : balances.filter(({ posted, reserved }) => posted > reserved)
  const reasons = [
    ...(pending.length === 0 ? [] : [`Payments are under way: ${pending.join(', ')}.`]),
    ...(credit.length === 0
      ? []
      : [
          `Its balance is ${credit.map(({ currency, posted, reserved }) => `${amountText(posted - reserved, currency)} ${currency}`).join(', ')}. ` +
            'Pay it out, or confirm with `nothingOwed` that the money is yours.',
        ]),
    ...(holds.some((hold) => hold !== undefined)
      ? ['The service has to keep its data at present. Try again later, or ask the operator.']
      : []),
  ]
  if (reasons.length > 0) throw new Refusal('customer_not_erasable', reasons.join(' '))
}
