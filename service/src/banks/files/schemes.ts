/** Chooses the scheme of a payment, or refuses the payment. Pure. */
import type { ErrorKey } from '@partner-payments/wire'
import type { PaymentKind } from '../../iso20022/index.ts'
import {
  domesticCountry,
  domesticCurrencies,
  isInForce,
  type Instruction,
  isBic,
  isIban,
  isQrIban,
  listMissingRequirements,
  formatMissing,
  qrMistake,
  qrMistakes,
  chooseRail,
  parseDomesticAccount,
  type Requirement,
} from '../../rails/index.ts'
import type { BankRules, BankReach, Scheme } from './deps.ts'

export type SchemeChoice = {
  readonly requested: Scheme
  readonly applied: Scheme
  /** The reason why the payment does not use the preferred scheme; null if it does. */
  readonly reason: string | null
}
export type SchemeRefusal = { readonly errorKey: ErrorKey; readonly details: string; readonly reasonCode: string }

type PaymentRoute = Pick<Instruction, 'currency' | 'creditorAccount' | 'creditorBic'>
/** `remittance` is absent in a preview. */
type SchemePayment = PaymentRoute &
  Pick<Instruction, 'amount' | 'creditorAddress'> &
  Partial<Pick<Instruction, 'remittance'>>
type SchemeRules = Pick<
  BankRules,
  'accounts' | 'preferred' | 'instantMax' | 'reach' | 'unknownBankReachable' | 'profile'
>

export const isRefused = (choice: SchemeChoice | SchemeRefusal): choice is SchemeRefusal => 'errorKey' in choice

/** Reports whether a payment is sent by SEPA. All others are sent by SWIFT. */
export const isSepa = ({ currency, creditorAccount: account, creditorBic: bic }: PaymentRoute): boolean =>
  chooseRail(currency, { account, bic }) === 'Sepa'

/** Returns the kind of a payment in a profile. A payment to a QR-IBAN is a bill only if the profile has bills. */
export function paymentKind(
  payment: PaymentRoute & { readonly schemeApplied: Scheme },
  { profile }: Pick<SchemeRules, 'profile'>,
): PaymentKind {
  if (isBill(payment, profile)) return 'QrBill'
  if (!isSepa(payment)) return 'Other'
  return payment.schemeApplied === 'Instant' ? 'Instant' : 'Sepa'
}

const isBill = ({ currency, creditorAccount }: PaymentRoute, { kinds }: SchemeRules['profile']): boolean =>
  kinds.QrBill !== undefined && currency === 'EUR' && isQrIban(creditorAccount)

/**
 * Chooses the scheme of a payment. `executionDay` is that of a credit transfer, `YYYY-MM-DD`: the bank applies the
 * requirements of that day.
 */
export function chooseScheme(
  payment: SchemePayment,
  rules: SchemeRules,
  executionDay: string,
): SchemeChoice | SchemeRefusal {
  const refusal = checkPayment(payment, rules)
  if (refusal !== undefined) return refusal
  const requested = rules.preferred
  const { profile } = rules
  if (isBill(payment, profile))
    return {
      requested,
      applied: 'CreditTransfer',
      reason: requested === 'Instant' ? 'a QR-bill is a domestic payment' : null,
    }
  if (!isSepa(payment)) {
    if (profile.kinds.Other === undefined) return bankUnreachable
    const lacking = missingFields(payment, profile, executionDay)
    if (lacking.some(({ field }) => field === 'bic')) return bankUnknown
    if (lacking.length > 0) return addressMissing(lacking)
  }
  // `reach` lists banks of the SEPA schemes. Installations also use it for other currencies than EUR.
  if (payment.currency === 'EUR' && !isSepa(payment))
    return {
      requested,
      applied: 'CreditTransfer',
      reason: requested === 'Instant' ? 'the account is outside SEPA' : null,
    }
  const notInstant = instantObstacle(payment, rules)
  const notTransfer = reachObstacle('CreditTransfer', payment, rules)
  if (requested === 'Instant' && notInstant === null) return { requested, applied: 'Instant', reason: null }
  if (notTransfer === null)
    return { requested, applied: 'CreditTransfer', reason: requested === 'Instant' ? notInstant : null }
  if (notInstant === null) return { requested, applied: 'Instant', reason: notTransfer }
  return payment.creditorBic === null ? bankUnknown : bankUnreachable
}

/** Lists the required fields that a payment by SWIFT lacks on its execution day. */
function missingFields(
  { currency, creditorAccount: account, creditorBic: bic, creditorAddress }: SchemePayment,
  { id }: SchemeRules['profile'],
  day: string,
): readonly Requirement[] {
  const domestic = parseDomesticAccount(account)
  const country = domestic === undefined ? account.slice(0, 2) : domesticCountry(domestic)
  return listMissingRequirements({ currency, account, bic, country, address: creditorAddress ?? null }, day, id).filter(
    (one) => isInForce(one, day) && (creditorAddress !== undefined || !one.field.startsWith('address')),
  )
}

/** Refuses the payment before it is in a file, because the bank would refuse the file (BE04). */
const addressMissing = (lacking: readonly Requirement[]): SchemeRefusal => ({
  errorKey: 'InvalidAccountDetails',
  details: `The beneficiary lacks ${formatMissing(lacking)}. Update it, and pay again.`,
  reasonCode: 'BE04',
})

const bankUnreachable: SchemeRefusal = {
  errorKey: 'BankRejection',
  details: 'No payment scheme reaches the bank of the recipient.',
  reasonCode: 'CNOR',
}
/** Codes of the Swiss banks: a required element is missing, or an element is not allowed. */
const qrRefusals = { missing: 'CH21', misplaced: 'CH17' } as const

const bankUnknown: SchemeRefusal = {
  errorKey: 'InvalidAccountDetails',
  details: 'The bank of the recipient is unknown: give its BIC with the beneficiary.',
  reasonCode: 'RC07',
}

function checkPayment(
  { currency, creditorAccount, creditorBic, remittance }: SchemePayment,
  { accounts }: SchemeRules,
): SchemeRefusal | undefined {
  if (!accounts.some((account) => account.currency === currency))
    return {
      errorKey: 'CurrencyNotAccepted',
      details: 'Payments in this currency are not possible from here.',
      reasonCode: 'AM03',
    }
  const domestic = parseDomesticAccount(creditorAccount)
  if (domestic === undefined ? !isIban(creditorAccount) : domesticCurrencies[domestic.system] !== currency)
    return { errorKey: 'InvalidAccountDetails', details: 'The account number is not a valid IBAN.', reasonCode: 'AC01' }
  if (creditorBic !== null && !isBic(creditorBic))
    return {
      errorKey: 'InvalidAccountDetails',
      details: 'The BIC of the bank of the recipient is not valid.',
      reasonCode: 'RC07',
    }
  const mistake = remittance === undefined ? undefined : qrMistake(creditorAccount, remittance)
  return (
    mistake && {
      errorKey: 'InvalidAccountDetails',
      details: `The reference of the payment ${qrMistakes[mistake]}.`,
      reasonCode: qrRefusals[mistake],
    }
  )
}

function instantObstacle(payment: SchemePayment, rules: SchemeRules): string | null {
  if (payment.currency !== 'EUR') return 'instant payments are in EUR'
  if (rules.profile.kinds.Instant === undefined) return "the bank's files do not support instant payments"
  if (rules.instantMax !== null && payment.amount > rules.instantMax)
    return 'the amount is above the limit of instant payments'
  return reachObstacle('Instant', payment, rules)
}

const schemeWords = { Instant: 'instant payments', CreditTransfer: 'credit transfers' } as const satisfies Record<
  Scheme,
  string
>

export function reachObstacle(
  scheme: Scheme,
  { creditorBic }: Pick<SchemePayment, 'creditorBic'>,
  { reach, unknownBankReachable }: Pick<SchemeRules, 'reach' | 'unknownBankReachable'>,
): string | null {
  const within: BankReach = reach[scheme]
  if (within === 'all') return null
  if (within === 'none') return `${schemeWords[scheme]} are not offered`
  if (creditorBic === null) return unknownBankReachable ? null : 'the bank of the recipient is not known'
  return within.has(creditorBic.slice(0, 8)) ? null : `the bank of the recipient does not accept ${schemeWords[scheme]}`
}
