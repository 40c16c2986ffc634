/** The operations of the group `simulations`. */
import * as checkout from '../checkout.ts'
import * as fx from '../fx.ts'
import * as simulations from '../simulations.ts'
import { Uuid, described } from '../shapes.ts'
import { amount, resource, uniqueText } from './example.ts'
import type { Operation } from './operation.ts'
import { walletId, sessionId } from './params.ts'

export const simulationsOperations = {
  simulateDeposit: {
    tag: 'simulations',
    method: 'POST',
    path: '/v1/simulations/deposits',
    body: simulations.SimulatedDepositCreate,
    response: simulations.Simulated,
    idempotency: 'body',
    makes: 'payment',
    permission: 'simulations:write',
    sdkMethod: 'createDeposit',
    source: 'extension',
    summary: 'Simulate a deposit',
    description:
      'Simulates a deposit for a customer with the chosen outcome. The sandbox bank runs its steps asynchronously. ' +
      'Idempotent by `idempotencyKey` or `Idempotency-Key`; without a key a repeated request creates a second deposit.',
    refusals: ['not_found', 'currency_not_supported'],
    sandboxOnly: true,
    example: {
      body: {
        customerId: resource('customer'),
        amount: amount('100.00'),
        currency: 'EUR',
        outcome: 'completed',
        websiteReference: uniqueText('order-1001'),
        idempotencyKey: uniqueText('deposit-1001'),
        customFields: { order: 'A-1' },
      },
    },
  },
  simulateFxRates: {
    tag: 'simulations',
    method: 'POST',
    path: '/v1/simulations/fx/rates',
    body: fx.SimulatedRate,
    response: fx.SimulatedRates,
    idempotency: 'kept',
    permission: 'simulations:write',
    sdkMethod: 'setFxRates',
    source: 'extension',
    summary: 'Simulate an exchange rate',
    description:
      'Sets the mid rate of a pair in the sandbox, until it is set again. Without `rate` the pair follows the ' +
      'simulated market again. `stale: true` stops the rates, so that quotes are refused with 503 ' +
      '`fx_rates_unavailable`. `stale: false` starts them again. The rates are shared: every partner of the sandbox sees ' +
      'the change. Quotes that were made before keep their rate.',
    refusals: ['validation_failed', 'currency_not_supported', 'fx_rates_unavailable'],
    sandboxOnly: true,
    example: { body: { base: 'EUR', quote: 'USD', rate: amount('1.25'), stale: false } },
  },
  simulateWithdrawal: {
    tag: 'simulations',
    method: 'POST',
    path: '/v1/simulations/withdrawals',
    body: simulations.SimulatedWithdrawalCreate,
    response: simulations.Simulated,
    idempotency: 'body',
    makes: 'payment',
    permission: 'simulations:write',
    sdkMethod: 'createWithdrawal',
    source: 'extension',
    summary: 'Simulate a withdrawal',
    description:
      'Simulates a withdrawal of a customer with the chosen outcome and reserves its amount. The sandbox bank runs ' +
      'its steps asynchronously. Idempotent by `idempotencyKey` or `Idempotency-Key`; without a key a repeated ' +
      'request creates a second withdrawal.',
    refusals: [
      'not_found',
      'currency_not_supported',
      'insufficient_funds',
      'limit_exceeded',
      'account_blocked',
      'country_not_supported',
      'customer_not_verified',
    ],
    sandboxOnly: true,
    example: {
      body: {
        customerId: resource('customer'),
        amount: amount('25.00'),
        currency: 'EUR',
        outcome: 'completed',
        idempotencyKey: uniqueText('withdrawal-1001'),
      },
    },
  },
  simulateCheckoutSession: {
    tag: 'simulations',
    method: 'POST',
    path: '/v1/simulations/checkout/sessions/{sessionId}',
    params: sessionId,
    body: simulations.SimulatedCheckoutSession,
    response: checkout.CheckoutSession,
    idempotency: 'header',
    makes: 'nothing',
    permission: 'simulations:write',
    sdkMethod: 'runCheckoutSession',
    source: 'extension',
    summary: 'Simulate the payer of a checkout session',
    description:
      'Simulates a payer and a bank: all steps of an `outcome`, or one `step`. The sandbox bank runs the steps ' +
      'asynchronously, and the answer has the status before them. `settle` with another amount ' +
      'fails the session, unless it allows `partialPayments`: then `amount` pays a part. Money for a session that has ended goes to suspense.',
    refusals: ['not_found', 'validation_failed', 'checkout_session_not_open', 'currency_not_supported'],
    sandboxOnly: true,
    example: { params: { sessionId: resource('session') }, body: { step: 'initiate', countryCode: 'DE' } },
  },
  simulateCredit: {
    tag: 'simulations',
    method: 'POST',
    path: '/v1/simulations/credits',
    body: simulations.SimulatedCreditCreate,
    response: simulations.SimulatedCredit,
    idempotency: 'header',
    makes: { id: 'creditId' },
    permission: 'simulations:write',
    sdkMethod: 'createCredit',
    source: 'extension',
    summary: 'Simulate a transfer to an IBAN',
    description:
      'Simulates an unannounced transfer. The sandbox bank credits the IBAN and reports it: the customer gets a ' +
      'completed deposit. If `remittance` contains the creditor reference of a waiting checkout session, the session is ' +
      'paid instead. Idempotent by `Idempotency-Key`; without a key a repeated request sends a second transfer.',
    refusals: ['not_found', 'currency_not_supported'],
    sandboxOnly: true,
    example: {
      body: {
        amount: amount('10.00'),
        iban: resource('iban'),
        currency: 'EUR',
        debtorName: 'Ada Lovelace',
        remittance: 'Thank you',
      },
    },
  },
  reverseSimulatedCredit: {
    tag: 'simulations',
    method: 'POST',
    path: '/v1/simulations/credits/{creditId}/reversal',
    params: { creditId: described(Uuid, 'The `creditId` of the simulated transfer.') },
    idempotency: 'kept',
    permission: 'simulations:write',
    sdkMethod: 'reverseCredit',
    source: 'extension',
    summary: 'Reverse a simulated transfer',
    description:
      'The sandbox bank reverses the credit. A new, linked transaction debits the balance. If the balance is too small, the ' +
      'operator bears the difference until a person decides. A repeated request has no further effect.',
    refusals: ['not_found'],
    sandboxOnly: true,
    example: { params: { creditId: resource('credit') } },
  },
  simulateEvent: {
    tag: 'simulations',
    method: 'POST',
    path: '/v1/simulations/events',
    body: simulations.SimulatedEventCreate,
    response: simulations.SimulatedEvent,
    idempotency: 'header',
    makes: 'nothing',
    permission: 'simulations:write',
    sdkMethod: 'sendEvent',
    source: 'extension',
    summary: 'Send a sample event',
    description:
      'Appends a sample of the event to your feed. Every subscription that wants the event receives it like a real one: ' +
      'signed, retried and in order. Its data does not refer to an existing transaction. Idempotent by `Idempotency-Key`.',
    refusals: [],
    sandboxOnly: true,
    example: { body: { eventType: 'transaction.status.changed' } },
  },
  simulateWalletDeposit: {
    tag: 'simulations',
    method: 'POST',
    path: '/v1/simulations/wallets/{walletId}/deposits',
    params: walletId,
    body: simulations.SimulatedWalletDepositCreate,
    response: simulations.SimulatedWalletDeposit,
    idempotency: 'header',
    makes: 'nothing',
    permission: 'simulations:write',
    sdkMethod: 'createWalletDeposit',
    source: 'extension',
    summary: 'Simulate a token deposit',
    description:
      'Sends tokens to a wallet on the simulated chain. The deposit is credited when its block has 3 confirmations. ' +
      'Only for wallets on the simulated chain. Idempotent by `Idempotency-Key`; without a key a repeated request sends ' +
      'tokens again.',
    refusals: ['not_found', 'validation_failed'],
    sandboxOnly: true,
    example: {
      params: { walletId: resource('wallet') },
      body: { amount: amount('10.00'), from: '0x52908400098527886E0F7030069857D2E4169EE7', confirmations: 1 },
    },
  },
  simulateChainReorganisation: {
    tag: 'simulations',
    method: 'POST',
    path: '/v1/simulations/chain/reorganisations',
    body: simulations.SimulatedReorganisationCreate,
    response: simulations.SimulatedReorganisation,
    idempotency: 'kept',
    permission: 'simulations:write',
    sdkMethod: 'createChainReorganisation',
    source: 'extension',
    summary: 'Simulate a chain reorganisation',
    description:
      'Replaces the newest blocks of the simulated chain. The deposits that you simulated in them vanish; payouts and ' +
      'the deposits of other partners are in the new blocks. A deposit that was credited is taken back.',
    refusals: ['validation_failed'],
    sandboxOnly: true,
    example: { body: { depth: 1 } },
  },
  simulateChainBlocks: {
    tag: 'simulations',
    method: 'POST',
    path: '/v1/simulations/chain/blocks',
    body: simulations.SimulatedBlocksCreate,
    response: simulations.SimulatedBlocks,
    idempotency: 'kept',
    permission: 'simulations:write',
    sdkMethod: 'createChainBlocks',
    source: 'extension',
    summary: 'Create blocks on the simulated chain',
    description: 'Creates blocks on the simulated chain at once, so that deposits and payouts get their confirmations.',
    refusals: [],
    sandboxOnly: true,
    example: { body: { count: 1 } },
  },
  diagnoseSignature: {
    tag: 'simulations',
    method: 'POST',
    path: '/v1/simulations/signature',
    body: simulations.SignedRequest,
    response: simulations.SignatureDiagnosis,
    idempotency: 'kept',
    permission: 'simulations:write',
    source: 'extension',
    summary: 'Diagnose a signed request',
    description:
      'Verifies the signature of a request that you describe, with the key and the secret of the calling service ' +
      'account. Names the likely mistake and returns the canonical string that the service builds, with the secret as ' +
      '`<API_SECRET>`. If you send your own `canonicalString`, the two are compared as well. Has no effect: the ' +
      'described nonce stays unused.',
    refusals: [],
    sandboxOnly: true,
    example: {
      body: {
        method: 'POST',
        path: '/v1/customers',
        query: '',
        body: '{}',
        timestamp: '1767225600',
        nonce: uniqueText(),
        signature: 'AAAA',
        canonicalString: 'POST',
      },
    },
  },
} as const satisfies Record<string, Operation>
