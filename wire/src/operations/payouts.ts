/** The operations of the group `payouts`. */
import * as payouts from '../payouts.ts'
import { Verification } from '../beneficiaries.ts'
import { amount, resource, unique } from './example.ts'
import type { Operation } from './operation.ts'
import { payoutId } from './params.ts'

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
      '`userReference` of the payout and of its transaction is your `reference`, always. It is also the transaction ' +
      'reference if you have not used it before. Otherwise the service assigns one. Every path of a payout takes the ' +
      '`reference` of the response, or the id in its header `Payout-Id`. With `onDuplicate` `Refuse` a payout that may ' +
      'repeat an earlier one is refused with 422 `possible_duplicate`. Of two such requests at once one is made. To pay on a later day, ' +
      'create a standing order with the frequency `Once`.',
    refusals: [
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
    ],
    example: {
      body: {
        amount: amount('12.50'),
        currency: 'EUR',
        beneficiaryId: resource('beneficiary'),
        idempotencyKey: unique('payout-2026-0042'),
        reference: unique('INV-2026-0042'),
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
      'Judges a payout by the rules by which it would be accepted now. It answers every rule with its verdict, the fee, ' +
      'the rail, the cut-off and the expected arrival. The rule `duplicate` is a `warning` if the payout may repeat earlier ones or the next one of a standing order, ' +
      'which it names. With `onDuplicate` `Refuse` it is `failed`. It reserves nothing and uses up no key. A rule that would refuse ' +
      'the payout is not an error here: the answer is 200. It promises nothing: balances and limits may change before you ' +
      'create the payout.',
    refusals: ['currency_not_supported'],
    example: {
      body: {
        amount: amount('10.00'),
        beneficiaryId: resource('beneficiary'),
        currency: 'EUR',
        idempotencyKey: unique(),
        reference: unique(),
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
      '`transactionHash`. Idempotent by `idempotencyKey`, as a fiat payout is.',
    refusals: [
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
      'ownership_proof_required',
      'beneficiary_cooling_off',
    ],
    example: {
      body: {
        amount: amount('1.25'),
        beneficiaryId: resource('tokenBeneficiary'),
        currency: 'USDC',
        idempotencyKey: unique(),
        reference: unique(),
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
      'At most 5,000 payouts are read: if more match, `capped` is true, and the sums are at least reached.',
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
      'Returns the limits that the operator has set for you, newest first, with what is used and left now. With `customerId` or ' +
      '`beneficiaryId` the limit of each customer or beneficiary has the amounts of that one. A limit of its own replaces it. The ' +
      'amounts promise nothing: payouts that are created meanwhile use the same limits.',
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
      'Returns what payouts cost: the rules that hold now and those that begin later, by currency and rail. A rule of a rail comes ' +
      'before a rule of every rail. A payout without a rule is free. The preview of a payout says its fee.',
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
    description: 'Returns a payout by its `id`, or by the `reference` that the answer to its creation had.',
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
    summary: 'List payouts that a payout may repeat',
    description:
      'Returns earlier payouts of the same amount to the same account. They have the same reference and were made within a year ' +
      'before it, or were made within some days before it, which the operator sets. Payouts that failed, were cancelled or came back do not count, and ' +
      'neither do those of the same standing order. `scheduled` has the standing orders made before it whose next payout it may repeat.',
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
    description: 'Returns the note that your team has written about a payout. It is sent to no bank and no payee.',
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
      'Writes a note for your colleagues, in place of the one before. Without `note` it is taken away. It changes nothing about ' +
      'the payment, in any status, and is sent to no bank and no payee. It is erased with the customer of the payout.',
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
      '`idempotencyKey`, as a fiat payout is. A refused request uses up neither its key nor its quote.',
    refusals: [
      'not_found',
      'fx_quote_expired',
      'fx_quote_accepted',
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
    ],
    example: {
      body: {
        quoteId: resource('payoutQuote'),
        beneficiaryId: resource('foreignBeneficiary'),
        idempotencyKey: unique(),
        reference: unique(),
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
      'Judges a payout by quote by the rules by which it would be accepted now, as the preview of a fiat payout does. ' +
      'Limits, approvals and cooling-offs are judged in the sold and in the paid currency. An expired or accepted quote ' +
      'is the rule `quote`. It reserves nothing and accepts no quote.',
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
      'Approves a payout that is `PendingApproval`, so that it is sent. Another service account than the one that created ' +
      'the payout approves it, before `approvalExpiresAt`. Repeated by the same service account, it returns the payout. The operator ' +
      'can limit what one person or service account approves on a day (UTC). An approval beyond it is refused with 403 ' +
      '`approver_limit_exceeded`, and another one approves. A service account that your team made approves no payout (403 ' +
      '`permission_denied`), and its maker approves none of its payouts.',
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
      'Rejects a payout that is `PendingApproval`: it becomes `Cancelled`, and its money is available again. Another ' +
      'service account than the one that created the payout rejects it. The creator cancels it instead. `approval` of the ' +
      'payout has the reason. Repeated by the ' +
      'same service account, it returns the payout.',
    refusals: ['not_found', 'approver_is_creator', 'payout_not_awaiting_approval'],
    example: { params: { id: resource('heldToReject') }, body: { reason: 'The invoice has already been paid.' } },
  },
} as const satisfies Record<string, Operation>
