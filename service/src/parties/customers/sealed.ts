/** The sealed columns of customers, and what binds their values to their rows. */
import type { SealedColumn } from '../../postgres/index.ts'

/** Binds sealed KYC to its partner and customer. */
export const kycContext = (partnerId: string, id: string) => ['customers.kyc', partnerId, id]

export const sealedKyc: SealedColumn = {
  table: 'customers.customers',
  column: 'kyc_sealed',
  key: { id: 'uuid' },
  contextOf: (partnerId, cell) => kycContext(partnerId, cell('id')),
}

/** Binds the sealed key of a partner's name tokens to the partner. */
export const nameKeyContext = (partnerId: string) => ['customers.name_keys', partnerId]

export const sealedNameKeys: SealedColumn = {
  table: 'customers.name_keys',
  column: 'key_sealed',
  key: { partner_id: 'uuid' },
  contextOf: (partnerId) => nameKeyContext(partnerId),
}

/** Binds the sealed values of a change to the partner and the change. */
export const changeContext = (partnerId: string, id: string) => ['customers.changes', partnerId, id]

export const sealedChanges: SealedColumn = {
  table: 'customers.changes',
  column: 'values_sealed',
  key: { id: 'uuid' },
  contextOf: (partnerId, cell) => changeContext(partnerId, cell('id')),
}
