/** The sealed columns of customers with their contexts, and the kinds of references to a customer. */
import type { SealedColumn } from '../../postgres/index.ts'
import { ownJson, serviceIdPattern, uuidPattern } from '@partner-payments/wire'
import type { Sealer } from '../../kernel/index.ts'
import type { KycFields } from './rules.ts'
import type { CustomerRefKind } from './store.ts'

/** Binds sealed KYC to its partner and customer. */
const kycContext = (partnerId: string, id: string) => ['customers.kyc', partnerId, id]

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

/** Seals the KYC of a customer as a whole. */
export function createKycSealer(sealer: Sealer) {
  return {
    seal: (partnerId: string, id: string, kyc: KycFields) =>
      sealer.seal(JSON.stringify(kyc), kycContext(partnerId, id)),
    open: (partnerId: string, id: string, kycSealed: Uint8Array) =>
      ownJson<KycFields>(sealer.open(kycSealed, kycContext(partnerId, id))),
    mark: sealer.mark,
  }
}
export type KycSealer = ReturnType<typeof createKycSealer>

const guid = new RegExp(uuidPattern)
const serviceId = new RegExp(serviceIdPattern)

/** Parses a reference to a customer. Undefined: the text is neither a guid nor a serviceId. */
export function parseCustomerRef(ref: string): CustomerRefKind | undefined {
  if (guid.test(ref)) return { kind: 'guid', value: ref }
  return serviceId.test(ref) ? { kind: 'serviceId', value: ref } : undefined
}
