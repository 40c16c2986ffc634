/** Operation id -> verb -> shape. */
import type { ResponseOf } from '@partner-payments/wire'
import type { Handlers } from '../../api/index.ts'
import type { Idempotency } from '../../idempotency/index.ts'
import { readDomestic } from '../../rails/index.ts'
import type { Beneficiaries, Beneficiary } from './service.ts'
import { toVerification } from './verification-shape.ts'

/** The fields of an account without an IBAN. */
function domesticFields(text: string | null) {
  const account = text === null ? undefined : readDomestic(text)
  if (account === undefined) return {}
  const { system: _system, ...fields } = account
  return fields
}

/** A field without a value is absent, not null. */
export function toBeneficiary(beneficiary: Beneficiary): ResponseOf<'getBeneficiary'> {
  const {
    id,
    customerId,
    alias,
    name,
    iban,
    domesticAccount,
    accountType,
    bic,
    walletAddress,
    vasp,
    country,
    currency,
  } = beneficiary
  return {
    id,
    ...(customerId === null ? {} : { customerId }),
    ...(alias === null ? {} : { alias }),
    name,
    ...(iban === null ? {} : { iban }),
    ...domesticFields(domesticAccount),
    ...(accountType === null ? {} : { accountType }),
    ...(bic === null ? {} : { bic }),
    ...(walletAddress === null ? {} : { walletAddress }),
    ...(vasp === null ? {} : { vasp }),
    ...(country === null ? {} : { country }),
    currency,
    createdAt: beneficiary.createdAt.toISOString(),
    updatedAt: beneficiary.updatedAt.toISOString(),
  }
}

export function beneficiariesRoutes(beneficiaries: Beneficiaries, idempotency: Idempotency): Handlers<'beneficiaries'> {
  return {
    createBeneficiary: idempotency.handler('createBeneficiary', async ({ caller, body }, tx) => {
      const beneficiary = await beneficiaries.create(caller.partnerId, body, tx)
      const { id, customerId } = beneficiary
      return { body: toBeneficiary(beneficiary), created: `the beneficiary ${id}`, customerId }
    }),
    listBeneficiaries: async ({ caller, query }) => {
      const page = await beneficiaries.list(caller.partnerId, query)
      return { body: { ...page, data: page.data.map(toBeneficiary) } }
    },
    updateBeneficiary: async ({ caller, body }) => ({
      body: toBeneficiary(await beneficiaries.update(caller.partnerId, body)),
    }),
    getBeneficiary: async ({ caller, params }) => ({
      body: toBeneficiary(await beneficiaries.get(caller.partnerId, params.id)),
    }),
    deleteBeneficiary: async ({ caller, params }) => {
      await beneficiaries.remove(caller.partnerId, params.id)
      return { body: undefined }
    },
    createBeneficiaryVerification: async ({ caller, body }) => ({
      body: toVerification(await beneficiaries.verify(caller, body)),
    }),
    listBeneficiaryVerifications: async ({ caller, query }) => {
      const page = await beneficiaries.listVerifications(caller.partnerId, query)
      return { body: { ...page, data: page.data.map(toVerification) } }
    },
    getBeneficiaryVerification: async ({ caller, params }) => ({
      body: toVerification(await beneficiaries.getVerification(caller.partnerId, params.verificationId)),
    }),
    getVerificationOfBeneficiary: async ({ caller, params }) => ({
      body: toVerification(await beneficiaries.verificationOf(caller.partnerId, params.id)),
    }),
  }
}
