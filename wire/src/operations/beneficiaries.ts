/** The operations of the group `beneficiaries`. */
import * as beneficiaries from '../beneficiaries.ts'
import { resource } from './example.ts'
import type { Operation } from './operation.ts'
import { beneficiaryId, verificationId } from './params.ts'

export const beneficiariesOperations = {
  createBeneficiary: {
    tag: 'beneficiaries',
    method: 'POST',
    path: '/v1/beneficiaries',
    body: beneficiaries.BeneficiaryCreate,
    response: beneficiaries.Beneficiary,
    idempotency: 'header',
    makes: { id: 'id' },
    permission: 'beneficiaries:write',
    source: 'extension',
    summary: 'Create a beneficiary',
    description:
      'Registers a payee. With `customerId` the beneficiary belongs to that customer, otherwise to the partner ' +
      'itself. Fiat currencies require `iban`; tokens require `walletAddress`. A `country` that contradicts the IBAN ' +
      'is refused. A `walletAddress` with capitals needs its check sum (EIP-55). These destination fields cannot be ' +
      'changed later. An `address` is structured. `missingFields` of the answer lists what a payout still needs. Idempotent by `Idempotency-Key`; without a key ' +
      'a repeated request creates a second beneficiary.',
    refusals: [
      'validation_failed',
      'not_found',
      'currency_not_supported',
      'wallet_address_not_payable',
      'recipient_blocked',
      'country_not_supported',
    ],
    example: {
      body: {
        customerId: resource('customer'),
        alias: 'grace',
        name: 'Grace Hopper',
        iban: 'NL91ABNA0417164300',
        bic: 'ABNANL2A',
        country: 'NL',
        currency: 'EUR',
        address: {
          streetName: 'Keizersgracht',
          buildingNumber: '555',
          postalCode: '1017 DR',
          city: 'Amsterdam',
          country: 'NL',
        },
      },
    },
  },
  listBeneficiaries: {
    tag: 'beneficiaries',
    method: 'GET',
    path: '/v1/beneficiaries',
    query: beneficiaries.BeneficiaryQuery,
    response: beneficiaries.BeneficiaryPage,
    permission: 'beneficiaries:read',
    source: 'extension',
    summary: 'List beneficiaries',
    description:
      "Returns the partner's beneficiaries, newest first. Filters combine. `namePrefix` finds them by the beginning of a word of the name. `incompleteOn` finds those that cannot be paid on a day until a field is given.",
    refusals: [],
    example: {},
  },
  listBeneficiaryRequirements: {
    tag: 'beneficiaries',
    method: 'GET',
    path: '/v1/beneficiaries/requirements',
    query: beneficiaries.RequirementQuery,
    response: beneficiaries.Requirements,
    permission: 'beneficiaries:read',
    source: 'extension',
    summary: 'List the requirements of a payment',
    description:
      'Returns the fields that payments in a currency to accounts in a country need, each with its validity and its source. ' +
      'Rules that begin later are included. A payout without a required field of the payee is refused.',
    refusals: [],
    example: { query: { country: 'US', currency: 'USD' } },
  },
  updateBeneficiary: {
    tag: 'beneficiaries',
    method: 'PUT',
    path: '/v1/beneficiaries',
    body: beneficiaries.BeneficiaryUpdate,
    response: beneficiaries.Beneficiary,
    permission: 'beneficiaries:write',
    source: 'documented',
    summary: 'Update a beneficiary',
    description:
      'Sets `alias`, `name` and `address`; at least one is required. Payouts already accepted keep the earlier name and address. The ' +
      'destination of the money cannot be changed: create another beneficiary instead.',
    refusals: ['validation_failed', 'not_found'],
    example: {
      body: {
        id: resource('beneficiary'),
        alias: 'rear',
        name: 'Grace B. Hopper',
        address: { city: 'Amsterdam', country: 'NL' },
      },
    },
  },
  getBeneficiary: {
    tag: 'beneficiaries',
    method: 'GET',
    path: '/v1/beneficiaries/{id}',
    params: beneficiaryId,
    response: beneficiaries.Beneficiary,
    permission: 'beneficiaries:read',
    source: 'extension',
    summary: 'Retrieve a beneficiary',
    description: 'Returns a beneficiary by its `id`. A deleted beneficiary is 404.',
    refusals: ['not_found'],
    example: { params: { id: resource('beneficiary') } },
  },
  deleteBeneficiary: {
    tag: 'beneficiaries',
    method: 'DELETE',
    path: '/v1/beneficiaries/{id}',
    params: beneficiaryId,
    permission: 'beneficiaries:write',
    source: 'extension',
    summary: 'Delete a beneficiary',
    description: 'Deletes the beneficiary for all later requests. Payouts already accepted are still executed.',
    refusals: ['not_found'],
    example: { params: { id: resource('beneficiary') } },
  },
  createBeneficiaryVerification: {
    tag: 'beneficiaries',
    method: 'POST',
    path: '/v1/beneficiaries/verifications',
    body: beneficiaries.VerificationCreate,
    response: beneficiaries.Verification,
    idempotency: 'kept',
    permission: 'beneficiaries:write',
    source: 'extension',
    summary: 'Request a verification of a payee',
    description:
      'Asks whether a name and an IBAN belong together, before money is sent. The answer is kept as evidence. It is ' +
      'shown with every later payout to that name and IBAN. A scheme that does not answer in time gives `NotPossible`, ' +
      'not an error. Without an idempotency key a repeated request asks again. The answer does not stop payouts.',
    refusals: [],
    example: { body: { name: 'Grace Hopper', iban: 'NL91ABNA0417164300' } },
  },
  listBeneficiaryVerifications: {
    tag: 'beneficiaries',
    method: 'GET',
    path: '/v1/beneficiaries/verifications',
    query: beneficiaries.VerificationQuery,
    response: beneficiaries.VerificationPage,
    permission: 'beneficiaries:read',
    source: 'extension',
    summary: 'List verifications',
    description: 'Returns the verifications of the partner, newest first. Filter by `iban`.',
    refusals: [],
    example: {},
  },
  getBeneficiaryVerification: {
    tag: 'beneficiaries',
    method: 'GET',
    path: '/v1/beneficiaries/verifications/{verificationId}',
    params: verificationId,
    response: beneficiaries.Verification,
    permission: 'beneficiaries:read',
    source: 'extension',
    summary: 'Retrieve a verification',
    description: 'Returns a verification by its `id`.',
    refusals: ['not_found'],
    example: { params: { verificationId: resource('verification') } },
  },
  getVerificationOfBeneficiary: {
    tag: 'beneficiaries',
    method: 'GET',
    path: '/v1/beneficiaries/{id}/verification',
    params: beneficiaryId,
    response: beneficiaries.Verification,
    permission: 'beneficiaries:read',
    source: 'extension',
    summary: 'Retrieve the verification of a beneficiary',
    description:
      'Returns the newest verification of the current name and IBAN of the beneficiary. After a change of the name ' +
      'this is 404 until the new name is verified. The service verifies it automatically if the earlier name was verified.',
    refusals: ['not_found'],
    example: { params: { id: resource('verifiedBeneficiary') } },
  },
} as const satisfies Record<string, Operation>
