/** Maps operation ids to service calls and response shapes. */
import type { ResponseOf } from '@partner-payments/wire'
import { type OperationAnswer, type Handlers } from '../kernel/api/index.ts'
import type { Idempotency } from '../idempotency/index.ts'
import { toJsonAmount } from '../kernel/index.ts'
import { toSession } from '../checkout/index.ts'
import type { SimulatedTransaction, Simulations } from './service.ts'

export function simulationsRoutes(simulations: Simulations, idempotency: Idempotency): Handlers<'simulations'> {
  return {
    simulateDeposit: async ({ caller, body, ip, idempotencyKey }) =>
      toAnswer(await simulations.deposit(caller, { ...body, idempotencyKey: idempotencyKey ?? null }, ip)),
    simulateWithdrawal: async ({ caller, body, ip, idempotencyKey }) =>
      toAnswer(await simulations.withdrawal(caller, { ...body, idempotencyKey: idempotencyKey ?? null }, ip)),
    simulateCheckoutSession: idempotency.handler(
      'simulateCheckoutSession',
      async ({ caller, params, body, ip }, tx) => {
        const session = await simulations.checkout(caller, params.sessionId, body, ip, tx)
        const { id, customerId } = session
        return { body: toSession(session), created: `steps of the checkout session ${id}`, customerId }
      },
    ),
    simulateCredit: idempotency.handler('simulateCredit', async ({ caller, body }, tx) => {
      const credit = await simulations.credit(caller, body, tx)
      return { body: credit, created: `the credit ${credit.creditId}` }
    }),
    reverseSimulatedCredit: async ({ caller, params }) => {
      await simulations.reverseCredit(caller, params.creditId)
      return { body: undefined }
    },
    simulateEvent: idempotency.handler('simulateEvent', async ({ caller, body }, tx) => {
      const event = await simulations.event(caller, body, tx)
      return { body: event, created: `the event ${event.reference}` }
    }),
    simulateFxRates: async ({ body }) => ({ body: await simulations.fxRates(body) }),
    simulateWalletDeposit: idempotency.handler('simulateWalletDeposit', async ({ caller, params, body }, tx) => {
      const sent = await simulations.walletDeposit(caller.partnerId, params.walletId, body, tx)
      return { body: sent, created: `the transaction ${sent.transactionHash}` }
    }),
    simulateChainReorganisation: async ({ caller, body }) => ({
      body: await simulations.reorganisation(caller.partnerId, body.depth),
    }),
    simulateChainBlocks: async ({ body }) => ({ body: await simulations.blocks(body.count) }),
    diagnoseSignature: async ({ caller, body }) => ({ body: await simulations.diagnose(caller, body) }),
  }
}

/** Builds the answer. Its status is always `Pending`, because the bank runs the steps asynchronously. */
function toAnswer({
  reference,
  amount,
  currency,
  replayed,
}: SimulatedTransaction): OperationAnswer<ResponseOf<'simulateDeposit'>> {
  return {
    body: { reference, status: 'Pending', amount: toJsonAmount(amount, currency), currency },
    headers: {
      location: `/v1/transactions/${encodeURIComponent(reference)}`,
      ...(replayed ? { 'idempotent-replayed': 'true' } : {}),
    },
  }
}
