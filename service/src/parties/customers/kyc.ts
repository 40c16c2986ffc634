/**
 * KYC as it is stored: sealed as a whole, under a context that names partner and customer. Also the references by which
 * a request names a customer.
 */
import { ownJson, serviceIdPattern, uuidPattern } from '@partner-payments/wire'
import type { Sealer } from '../../kernel/index.ts'
import type { KycFields } from './rules.ts'
import type { CustomerRefKind } from './store.ts'
import { kycContext } from './sealed.ts'

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

/** Undefined: no customer can have this reference. */
export function refKind(ref: string): CustomerRefKind | undefined {
  if (guid.test(ref)) return { kind: 'guid', value: ref }
  return serviceId.test(ref) ? { kind: 'serviceId', value: ref } : undefined
}
