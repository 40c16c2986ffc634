/** Pure: the rules for one payout, apart from its funds. */
import { Refusal } from '../../api/index.ts'
import { isFiat } from '../../kernel/index.ts'
import type { Payee } from '../beneficiaries/index.ts'
import { beneficiaryMapKey, type Creditor, type PayoutCall } from './calls.ts'
import { requirePaidBy, unknownCountry } from './rules.ts'

/** A call that the rules allow, with the creditor that it pays. */
export type ValidPayout = {
  readonly call: PayoutCall
  readonly connector: string
  readonly creditor: Creditor
  readonly customerId: string | null
  readonly beneficiary: { readonly id: string; readonly alias: string | null } | null
}

/** Refuses: currency_not_supported, not_found, beneficiary_currency_mismatch, beneficiary_not_payable. */
export function validate(
  call: PayoutCall,
  connector: string | undefined,
  beneficiaries: ReadonlyMap<string, Payee>,
): ValidPayout {
  const { caller, operation, currency, payee } = call
  requirePaidBy(operation, currency)
  if (connector === undefined)
    throw new Refusal(
      'currency_not_supported',
      `${isFiat(currency) ? 'No bank is connected that pays' : 'No chain is connected that transfers'} ${currency}.`,
    )
  if (!('beneficiaryId' in payee))
    return { call, connector, creditor: payee.creditor, customerId: payee.customerId, beneficiary: null }
  // By partner and id: the batch holds beneficiaries of other partners.
  const beneficiary = beneficiaries.get(beneficiaryMapKey(caller.partnerId, payee.beneficiaryId))
  if (!beneficiary) throw invalid('not_found', '/beneficiaryId', 'no such beneficiary')
  const { id, alias, customerId, name } = beneficiary
  if (beneficiary.currency !== currency)
    throw invalid(
      'beneficiary_currency_mismatch',
      operation === 'createFxPayout' ? '/beneficiaryId' : '/currency',
      `must be ${beneficiary.currency}, the currency of the beneficiary`,
    )
  const creditor = creditorOf(beneficiary)
  if (creditor === undefined)
    throw invalid('beneficiary_not_payable', '/beneficiaryId', 'has no bank account; use a beneficiary with an IBAN')
  return { call, connector, customerId, creditor: { ...creditor, name }, beneficiary: { id, alias } }
}

/** Undefined: a beneficiary of an earlier version, without an account. */
function creditorOf({ currency, iban, bic, walletAddress, country }: Payee): Omit<Creditor, 'name'> | undefined {
  if (!isFiat(currency))
    return walletAddress === null
      ? undefined
      : { account: walletAddress, bic: null, country: country ?? unknownCountry }
  return iban === null || country === null ? undefined : { account: iban, bic, country }
}

const invalid = (
  code: 'not_found' | 'beneficiary_currency_mismatch' | 'beneficiary_not_payable',
  pointer: string,
  message: string,
) => new Refusal(code, undefined, { errors: [{ pointer, code: 'invalid_value', message }] })
