/** Handlers of beneficiaries and their verifications. */
import { beneficiaries as wire } from '@partner-payments/wire'
import { type Handlers, writePage, createRecordWriter } from '../../kernel/api/index.ts'
import type { Idempotency } from '../../idempotency/index.ts'
import { parseDomesticAccount, type Requirement } from '../../rails/index.ts'
import type { Beneficiaries, Beneficiary } from './service.ts'
import type { VerificationRow } from './verifications.ts'

const writeBeneficiary = createRecordWriter(wire.Beneficiary)
export const toBeneficiary = ({ domesticAccount, ...row }: Beneficiary) =>
  writeBeneficiary({ ...row, ...(domesticAccount === null ? {} : parseDomesticAccount(domesticAccount)) })

const toRequirement = ({ party, field, rule, rail, from, until, source }: Requirement) => ({
  party,
  field,
  rule,
  rail,
  source,
  ...(from === undefined ? {} : { validFrom: from }),
  ...(until === undefined ? {} : { validUntil: until }),
})

export function beneficiariesRoutes(beneficiaries: Beneficiaries, idempotency: Idempotency): Handlers<'beneficiaries'> {
  const withMissingFields = (row: Beneficiary, day?: string) => {
    const missingFields = beneficiaries.missingFields(row, day)
    return { ...toBeneficiary(row), ...(missingFields.length === 0 ? {} : { missingFields: [...missingFields] }) }
  }
  return {
    createBeneficiary: idempotency.handler('createBeneficiary', async ({ caller, body }, tx) => {
      const beneficiary = await beneficiaries.create(caller.partnerId, body, tx)
      const { id, customerId } = beneficiary
      return { body: withMissingFields(beneficiary), created: `the beneficiary ${id}`, customerId }
    }),
    listBeneficiaries: async ({ caller, query }) =>
      writePage(await beneficiaries.list(caller.partnerId, query), (row) => withMissingFields(row, query.incompleteOn)),
    listBeneficiaryRequirements: async ({ query }) => ({
      body: { data: beneficiaries.requirements(query).map((row) => toRequirement(row)) },
    }),
    updateBeneficiary: async ({ caller, body }) => ({
      body: withMissingFields(await beneficiaries.update(caller.partnerId, body)),
    }),
    getBeneficiary: async ({ caller, params }) => ({
      body: withMissingFields(await beneficiaries.get(caller.partnerId, params.id)),
    }),
    deleteBeneficiary: async ({ caller, params }) => {
      await beneficiaries.remove(caller.partnerId, params.id)
      return { body: undefined }
    },
    createBeneficiaryVerification: async ({ caller, body }) => ({
      body: toVerification(await beneficiaries.verify(caller, body)),
    }),
    listBeneficiaryVerifications: async ({ caller, query }) =>
      writePage(await beneficiaries.listVerifications(caller.partnerId, query), toVerification),
    getBeneficiaryVerification: async ({ caller, params }) => ({
      body: toVerification(await beneficiaries.getVerification(caller.partnerId, params.verificationId)),
    }),
    getVerificationOfBeneficiary: async ({ caller, params }) => ({
      body: toVerification(await beneficiaries.verificationOf(caller.partnerId, params.id)),
    }),
  }
}

// The wire shape of a verification in the responses of beneficiaries and payouts.

const writeVerification = createRecordWriter(wire.Verification)
export const toVerification = (row: VerificationRow) => writeVerification({ ...row, requestedBy: row.requestedByName })
