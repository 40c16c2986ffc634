/**
 * Payouts in a currency that the partner buys for them: a quote is accepted and its money reserved in one transaction. They are
 * not batched, because each locks a quote first.
 */
import { type Caller, Refusal } from '../../api/index.ts'
import { present } from '../../kernel/index.ts'
import { asInProgress, replayOf, sqlState, stateOf, type Tx } from '../../postgres/index.ts'
import type { OpenQuote } from '../fx/index.ts'
import { createAccept } from './accept.ts'
import type { Accepted, PayoutCall } from './calls.ts'
import type { PayoutsDeps } from './deps.ts'
import { fxFingerprintOf } from './rules.ts'
import * as store from './store.ts'

export type FxPayout = {
  readonly quoteId: string
  readonly beneficiaryId: string
  readonly idempotencyKey: string
  readonly reference?: string | undefined
}

type AcceptedFx = Exclude<Accepted, 'resubmit'>
const operation = 'createFxPayout'

export function createFxPayouts(deps: PayoutsDeps) {
  const { db, quotes } = deps
  const { read, work } = createAccept(deps)

  const accept = async (tx: Tx, call: PayoutCall, quote: OpenQuote): Promise<AcceptedFx> => {
    const [outcome] = await work(tx, [call], await read(tx, [call]), undefined)
    if (outcome instanceof Refusal) throw outcome
    const accepted = present(outcome === 'resubmit' ? undefined : outcome, 'the only call of its key has an answer')
    if (!accepted.replayed) quotes.markAccepted(tx, [{ quote, reference: accepted.payout.reference }])
    return accepted
  }

  return async (caller: Caller, body: FxPayout, ip: string): Promise<AcceptedFx> => {
    const { partnerId } = caller
    const { quoteId, beneficiaryId, idempotencyKey, reference = null } = body
    const requestFingerprint = fxFingerprintOf({ quoteId, beneficiaryId, reference })
    const attempt = () =>
      db.transaction(async (tx) => {
        // The lock of the quote lets two requests with one key wait for each other.
        const [quote] = await quotes.lockOpen(tx, [{ partnerId, id: quoteId }])
        const [known] = await store.payoutsByKeys(tx, [{ partnerId, operation, idempotencyKey }])
        if (known !== undefined) return { payout: replayOf(known, requestFingerprint), replayed: true }
        if (quote === undefined || quote instanceof Refusal) throw present(quote, 'each key has an answer')
        const call: PayoutCall = {
          caller,
          nonce: undefined,
          operation,
          idempotencyKey,
          requestFingerprint,
          amount: quote.buyAmount,
          currency: quote.buyCurrency,
          quote,
          reference,
          ip,
          payee: { beneficiaryId },
        }
        return accept(tx, call, quote)
      })
    // Read again what another transaction has changed since it was read: a balance, or a customer.
    return attempt()
      .catch((error: unknown) => {
        if (stateOf(error) === sqlState.checkViolation) return attempt()
        throw error
      })
      .catch((error: unknown) => {
        throw asInProgress(error)
      })
  }
}
