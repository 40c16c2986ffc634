/**
 * Beneficiaries: the payees of payouts. A beneficiary belongs to a customer or to the partner itself.
 *
 * Tables: beneficiaries.beneficiaries, beneficiaries.verifications, beneficiaries.renewals, beneficiaries.name_prefixes, the index of names, and of no partner beneficiaries.bic_directories, beneficiaries.bics,
 * beneficiaries.modulus_tables, beneficiaries.modulus_weights, beneficiaries.modulus_substitutes.
 * Invariants: a beneficiary has one account: for fiat money an IBAN or a domestic account of its currency, for a token a wallet. `customer_id` is
 * the customer's guid. The account cannot change: another account is another beneficiary. A BIC that the partner did not give comes from the
 * directory. Removal hides the row but keeps it, because payouts refer to it. A verification never changes. It belongs to a name and an IBAN, so
 * that a new name needs a new verification.
 * For payouts: `payeesByIds` joins the caller's transaction. It treats removed beneficiaries and those of other partners as
 * unknown.
 */
export { BicFileError } from './bic-file.ts'
export { ModulusFileError } from './modulus-file.ts'
export { beneficiaryJobs, createRenewals } from './jobs.ts'
export { beneficiariesRoutes, toBeneficiary, toVerification } from './routes.ts'
export { type BeneficiaryCreate, isValidAddress } from './rules.ts'
export { type Beneficiaries, type Beneficiary, createBeneficiaries, type Payee, type PayeeCheck } from './service.ts'
export { type StoredPayee, withSameAccounts, keptVerifications } from './store.ts'
export type { VerificationRow } from './verifications.ts'
