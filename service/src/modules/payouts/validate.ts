/** Pure: the rules for one payout, apart from its funds. */
import { Refusal } from '../../api/index.ts'
import type { Payee } from '../beneficiaries/index.ts'
import { beneficiaryMapKey, type Creditor, type PayoutCall } from './calls.ts'
import { requireFiat } from './rules.ts'

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
  const { caller, currency, payee } = call
  requireFiat(currency)
  if (connector === undefined)
    throw new Refusal('currency_not_supported', `No bank is connected that pays ${currency}.`)
  if (!('beneficiaryId' in payee))
    return { call, connector, creditor: payee.creditor, customerId: payee.customerId, beneficiary: null }
  // By partner and id: the batch holds beneficiaries of other partners.
  const beneficiary = beneficiaries.get(beneficiaryMapKey(caller.partnerId, payee.beneficiaryId))
  if (!beneficiary) throw invalid('not_found', '/beneficiaryId', 'no such beneficiary')
  const { id, alias, customerId, name, iban, bic, country } = beneficiary
  if (beneficiary.currency !== currency)
    throw invalid(
      'beneficiary_currency_mismatch',
      '/currency',
      `must be ${beneficiary.currency}, the currency of the beneficiary`,
    )
  if (iban === null || country === null)
    throw invalid('beneficiary_not_payable', '/beneficiaryId', 'has no bank account; use a beneficiary with an IBAN')
  return { call, connector, customerId, creditor: { name, account: iban, bic, country }, beneficiary: { id, alias } }
}

const invalid = (
  code: 'not_found' | 'beneficiary_currency_mismatch' | 'beneficiary_not_payable',
  pointer: string,
  message: string,
) => new Refusal(code, undefined, { errors: [{ pointer, code: 'invalid_value', message }] })
