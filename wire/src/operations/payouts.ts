/** The operations of the group `payouts`. */
import * as payouts from '../payouts.ts'
import { Verification } from '../beneficiaries.ts'
import { amount, resource, uniqueText } from './example.ts'
import type { Operation } from './operation.ts'
import { payoutId } from './params.ts'

/** The refusals of every operation that creates a payout. */
const payoutRefusals = [
  'not_found',
  'insufficient_funds',
  'limit_exceeded',
  'possible_duplicate',
  'account_blocked',
  'customer_not_verified',
  'currency_not_supported',
  'beneficiary_currency_mismatch',
  'beneficiary_not_payable',
  'country_not_supported',
  'beneficiary_cooling_off',
] as const

export const payoutsOperations = {
  createFiatPayout: {
    tag: 'payouts',
    method: 'POST',
    path: '/v1/payouts/fiat',
    body: payouts.FiatPayoutCreate,
    response: payouts.FiatPayout,
    idempotency: 'body',
    makes: 'payment',
    permission: 'payouts:write',
    nonce: 'handler',
    audit: 'handler',
    makesPayout: true,
    source: 'documented',
    summary: 'Create a fiat payout',
    description:
      'Accepts a payout and reserves its amount from the available balance. A payout that needs the approval of a second ' +
      'person is answered with the status `PendingApproval`. The bank transfer runs asynchronously: ' +
      'follow it by webhooks or at the `Location` of the response. Idempotent by `idempotencyKey`: the same request ' +
      'with the same key returns the first result with `Idempotent-Replayed: true`; a different request is refused ' +
      'with 422 `idempotency_key_reused`. Keys do not expire. A refused request does not use up its key. ' +
      'Your `reference` is always the `userReference` of the payout and of its transaction. It is also the transaction ' +
      'reference if you have not used it before. Otherwise the service assigns one. Every path of a payout accepts the ' +
      '`reference` of the response, or the id in its header `Payout-Id`. With `onDuplicate` `Refuse` a payout that may ' +
      'repeat an earlier one is refused with 422 `possible_duplicate`. Of two such concurrent requests, one is accepted. To pay on a later day, ' +
      'create a standing order with the frequency `Once`.',
    refusals: payoutRefusals,
    example: {
      body: {
        amount: amount('12.50'),
        currency: 'EUR',
        beneficiaryId: resource('beneficiary'),
        idempotencyKey: uniqueText('payout-2026-0042'),
        reference: uniqueText('INV-2026-0042'),
      },
    },
  },
  previewFiatPayout: {
    tag: 'payouts',
    method: 'POST',
    path: '/v1/payouts/fiat/preview',
    body: payouts.FiatPayoutPreviewCreate,
    response: payouts.FiatPayoutPreview,
    idempotency: 'body',
    makes: 'nothing',
    repeatable: true,
    permission: 'payouts:read',
    sdkMethod: 'preview',
    source: 'extension',
    summary: 'Preview a fiat payout',
    description:
      'Checks a payout by the rules by which it would be accepted now. Returns every rule with its verdict, the fee, ' +
      'the rail, the cut-off and the expected arrival. The rule `duplicate` is a `warning` if the payout may repeat earlier payouts or the next payout of a standing order, ' +
      'which it names. With `onDuplicate` `Refuse` it is `failed`. A preview does not reserve money or use up a key. If a rule would refuse ' +
      'the payout, the answer is still 200. The result is not binding: balances and limits may change before you ' +
      'create the payout.',
    refusals: ['currency_not_supported'],
    example: {
      body: {
        amount: amount('10.00'),
        beneficiaryId: resource('beneficiary'),
        currency: 'EUR',
        idempotencyKey: uniqueText(),
        reference: uniqueText(),
      },
    },
  },
  createTokenPayout: {
    tag: 'payouts',
    method: 'POST',
    path: '/v1/payouts/token',
    body: payouts.TokenPayoutCreate,
    response: payouts.TokenPayout,
    idempotency: 'body',
    makes: 'payment',
    permission: 'payouts:write',
    audit: 'meanwhile',
    sdkMethod: 'createToken',
    makesPayout: true,
    source: 'extension',
    summary: 'Create a token payout',
    description:
      'Accepts a payout of tokens to the wallet of a beneficiary and reserves its amount. The service signs the transfer ' +
      'and follows it on the chain. It is settled when its block has enough confirmations. The transaction then has ' +
      '`transactionHash`. Idempotent by `idempotencyKey`, like a fiat payout.',
    refusals: [...payoutRefusals, 'ownership_proof_required'],
    example: {
      body: {
        amount: amount('1.25'),
        beneficiaryId: resource('tokenBeneficiary'),
        currency: 'USDC',
        idempotencyKey: uniqueText(),
        reference: uniqueText(),
      },
    },
  },
  listPayouts: {
    tag: 'payouts',
    method: 'GET',
    path: '/v1/payouts',
    query: payouts.PayoutQuery,
    response: payouts.PayoutPage,
    permission: 'payouts:read',
    source: 'extension',
    summary: 'List payouts',
    description:
      "Returns the partner's payouts, newest first. Filter by status, beneficiary, customer, currency, reference, " +
      'idempotency key and creation time. `createdFrom` is included, `createdTo` is not.',
    refusals: [],
    example: {},
  },
  sumPayouts: {
    tag: 'payouts',
    method: 'GET',
    path: '/v1/sums/payouts',
    query: payouts.PayoutSumsQuery,
    response: payouts.PayoutSums,
    permission: 'payouts:read',
    sdkMethod: 'sum',
    source: 'extension',
    summary: 'Sum payouts',
    description:
      'Returns how many payouts match the filters, and their sums by currency. Takes the filters of `GET /v1/payouts`. ' +
      'At most 5,000 payouts are summed: if more match, `capped` is true, and the actual sums are higher.',
    refusals: [],
    example: {},
  },
  listPayoutLimits: {
    tag: 'payouts',
    method: 'GET',
    path: '/v1/payouts/limits',
    query: payouts.PayoutLimitQuery,
    response: payouts.PayoutLimitPage,
    permission: 'payouts:read',
    source: 'extension',
    summary: 'List payout limits',
    description:
      'Returns the limits that the operator has set for you, newest first, with the used and remaining amounts. With `customerId` or ' +
      '`beneficiaryId`, limits per customer or beneficiary have the amounts of that customer or beneficiary, whose individual limit ' +
      'takes precedence. The amounts are not binding: other payouts use the same limits.',
    refusals: ['validation_failed', 'not_found'],
    example: {},
  },
  listPayoutFees: {
    tag: 'payouts',
    method: 'GET',
    path: '/v1/payouts/fees',
    query: payouts.PayoutFeeQuery,
    response: payouts.PayoutFeePage,
    permission: 'payouts:read',
    source: 'extension',
    summary: 'List fees of payouts',
    description:
      'Returns the fees of payouts by currency and rail: current rules, and rules that begin later. A rule for a rail takes ' +
      'precedence over a rule for every rail. A payout without a rule is free. The preview of a payout shows its fee.',
    refusals: [],
    example: {},
  },
  getPayout: {
    tag: 'payouts',
    method: 'GET',
    path: '/v1/payouts/{id}',
    params: payoutId,
    response: payouts.PayoutRecord,
    permission: 'payouts:read',
    source: 'extension',
    summary: 'Retrieve a payout',
    description: 'Returns a payout by its `id`, or by the `reference` that was returned at its creation.',
    refusals: ['not_found'],
    example: { params: { id: resource('payout') } },
  },
  getPayoutVerification: {
    tag: 'payouts',
    method: 'GET',
    path: '/v1/payouts/{id}/verification',
    params: payoutId,
    response: Verification,
    permission: 'payouts:read',
    source: 'extension',
    summary: 'Retrieve the verification of a payout',
    description:
      'Returns the evidence of a payout: the newest verification of its name and IBAN that was answered before the ' +
      'payout was created. A payout to a payee that you had not verified is 404, as is a payout to a wallet.',
    refusals: ['not_found'],
    example: { params: { id: resource('verifiedPayout') } },
  },
  listPayoutDuplicates: {
    tag: 'payouts',
    method: 'GET',
    path: '/v1/payouts/{id}/duplicates',
    params: payoutId,
    response: payouts.EarlierPayouts,
    permission: 'payouts:read',
    sdkMethod: 'duplicates',
    source: 'extension',
    summary: 'List possible duplicates of a payout',
    description:
      'Returns earlier payouts of the same amount to the same account. They were made within a year before it if the reference is the ' +
      'same, otherwise within a number of days that the operator sets. Excludes payouts that failed, were cancelled or were returned, and payouts ' +
      'of the same standing order. `scheduled` has earlier standing orders whose next payout it may repeat.',
    refusals: ['not_found'],
    example: { params: { id: resource('payout') } },
  },
  getPayoutNote: {
    tag: 'payouts',
    method: 'GET',
    path: '/v1/payouts/{id}/note',
    params: payoutId,
    response: payouts.PayoutNote,
    permission: 'payouts:read',
    sdkMethod: 'note',
    source: 'extension',
    summary: 'Retrieve the note of a payout',
    description: 'Returns the note of your team about a payout. It is never sent to a bank or a payee.',
    refusals: ['not_found'],
    example: { params: { id: resource('payout') } },
  },
  setPayoutNote: {
    tag: 'payouts',
    method: 'PUT',
    path: '/v1/payouts/{id}/note',
    params: payoutId,
    body: payouts.PayoutNoteUpdate,
    response: payouts.PayoutNote,
    permission: 'payouts:write',
    sdkMethod: 'setNote',
    source: 'extension',
    summary: 'Set the note of a payout',
    description:
      'Sets a note for your colleagues, which replaces the previous note. Without `note`, the note is removed. A note can be set in any ' +
      'status, does not affect the payment, and is never sent to a bank or a payee. It is erased with the customer of the payout.',
    refusals: ['not_found'],
    example: {
      params: { id: resource('payout') },
      body: { note: 'Anna has checked the invoice by phone.' },
    },
  },
  createFxPayout: {
    tag: 'payouts',
    method: 'POST',
    path: '/v1/payouts/fx',
    body: payouts.FxPayoutCreate,
    response: payouts.FxPayout,
    idempotency: 'body',
    makes: 'payment',
    permission: 'payouts:write',
    audit: 'meanwhile',
    sdkMethod: 'createFx',
    makesPayout: true,
    source: 'extension',
    summary: 'Create a payout in another currency',
    description:
      'Accepts a quote and pays what it buys to the beneficiary. The sold amount is reserved from its balance. If the ' +
      'payout fails, nothing is exchanged and the sold amount is available again. Money that the bank returns after the ' +
      'settlement is credited in the bought currency. A quote is accepted once, before it expires. Idempotent by ' +
      '`idempotencyKey`, like a fiat payout. After a refused request, key and quote can be used again.',
    refusals: ['fx_quote_expired', 'fx_quote_accepted', ...payoutRefusals],
    example: {
      body: {
        quoteId: resource('payoutQuote'),
        beneficiaryId: resource('foreignBeneficiary'),
        idempotencyKey: uniqueText(),
        reference: uniqueText(),
      },
    },
  },
  previewFxPayout: {
    tag: 'payouts',
    method: 'POST',
    path: '/v1/payouts/fx/preview',
    body: payouts.FxPayoutPreviewCreate,
    response: payouts.FxPayoutPreview,
    idempotency: 'body',
    makes: 'nothing',
    repeatable: true,
    permission: 'payouts:read',
    sdkMethod: 'previewFx',
    source: 'extension',
    summary: 'Preview a payout in another currency',
    description:
      'Checks a payout by quote by the rules by which it would be accepted now, like the preview of a fiat payout. ' +
      'Limits, approvals and cooling-offs apply in the sold and in the paid currency. The rule `quote` fails for an expired or ' +
      'accepted quote. A preview does not reserve money or accept the quote.',
    refusals: ['not_found'],
    example: { body: { quoteId: resource('payoutQuote'), beneficiaryId: resource('foreignBeneficiary') } },
  },
  cancelPayout: {
    tag: 'payouts',
    method: 'POST',
    path: '/v1/payouts/{id}/cancel',
    params: payoutId,
    response: payouts.PayoutRecord,
    idempotency: 'kept',
    permission: 'payouts:write',
    audit: 'meanwhile',
    source: 'extension',
    summary: 'Cancel a pending payout',
    description:
      'Cancels a payout that is `Pending` or `PendingApproval`, and makes its amount available again. The transaction becomes `Cancelled`. A ' +
      'payout is `Pending` until a worker begins to send it, which usually takes less than a second. Afterwards the ' +
      'request is refused with 409 `payout_not_cancellable`. A payout that is `Cancelled` is returned unchanged.',
    refusals: ['not_found', 'payout_not_cancellable'],
    example: { params: { id: resource('cancelled') } },
  },
  approvePayout: {
    tag: 'payouts',
    method: 'POST',
    path: '/v1/payouts/{id}/approve',
    params: payoutId,
    response: payouts.PayoutRecord,
    idempotency: 'kept',
    permission: 'payouts:write',
    source: 'extension',
    summary: 'Approve a payout',
    description:
      'Approves a payout that is `PendingApproval`, so that it is sent. A service account other than the creator of the payout must ' +
      'approve it, before `approvalExpiresAt`. A repeated request by the same service account returns the payout. The operator ' +
      'can limit the amount that one person or service account approves per day (UTC). An approval beyond the limit is refused with 403 ' +
      '`approver_limit_exceeded`: another approver must approve it. Service accounts that your team created cannot approve payouts (403 ' +
      '`permission_denied`), and their creator cannot approve their payouts.',
    refusals: ['not_found', 'approver_is_creator', 'approver_limit_exceeded', 'payout_not_awaiting_approval'],
    example: { params: { id: resource('held') } },
  },
  rejectPayout: {
    tag: 'payouts',
    method: 'POST',
    path: '/v1/payouts/{id}/reject',
    params: payoutId,
    body: payouts.PayoutReject,
    response: payouts.PayoutRecord,
    idempotency: 'kept',
    permission: 'payouts:write',
    source: 'extension',
    summary: 'Reject a payout',
    description:
      'Rejects a payout that is `PendingApproval`: it becomes `Cancelled`, and its money is available again. A ' +
      'service account other than the creator of the payout must reject it. The creator can cancel it instead. `approval` of the ' +
      'payout has the reason. A repeated request by the same service account returns the payout.',
    refusals: ['not_found', 'approver_is_creator', 'payout_not_awaiting_approval'],
    example: { params: { id: resource('heldToReject') }, body: { reason: 'The invoice has already been paid.' } },
  },
} as const satisfies Record<string, Operation>
