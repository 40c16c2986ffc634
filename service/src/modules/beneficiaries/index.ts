/**
 * Beneficiaries: whom payouts pay, of a customer or of the partner itself.
 *
 * Table: beneficiaries.beneficiaries. Invariants: a bank account (IBAN) for fiat money or a wallet for a token, never
 * both; `customer_id` is the customer's guid; name and alias alone can change, where the money goes cannot: another
 * account is another beneficiary. Removal hides the row for ever and keeps it, because payouts name it.
 * Promise to payouts: `payeesByIds` joins their transaction; removed, unknown and another partner's are one answer.
 */
export { beneficiariesRoutes } from './routes.ts'
export type { BeneficiaryCreate, BeneficiaryUpdate } from './rules.ts'
export {
  type Beneficiaries,
  type Beneficiary,
  type BeneficiaryList,
  createBeneficiaries,
  type Payee,
} from './service.ts'
