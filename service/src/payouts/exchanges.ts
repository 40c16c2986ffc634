/**
 * Payouts in a currency that the partner buys for them: a quote is accepted and its money reserved in one transaction. They are
 * not batched, because each locks a quote first.
 */
import { type Caller, Refusal } from '../kernel/api/index.ts'
import { present } from '../kernel/index.ts'
import { asInProgress, replayOf, sqlState, stateOf, type Tx } from '../postgres/index.ts'
import type { OpenQuote } from '../fx/index.ts'
import { createAcceptance } from './accept.ts'
import type { Accepted, PayoutCall } from './calls.ts'
import type { PayoutsDeps } from './deps.ts'
import { type Preview, verdictOf } from './preview.ts'
import { fxFingerprintOf } from './rules.ts'
import * as store from './store.ts'

/** `idempotencyKey`: absent in a preview. */
type FxRequest = {
  readonly quoteId: string
  readonly beneficiaryId: string
  readonly idempotencyKey?: string | undefined
  readonly reference?: string | undefined
}
export type FxPayout = FxRequest & { readonly idempotencyKey: string }

type AcceptedFx = Exclude<Accepted, 'resubmit'>
const operation = 'createFxPayout'
const attemptsMax = 5

export function createFxPayouts(deps: PayoutsDeps) {
  const { db, quotes } = deps
  const { read, work } = createAcceptance(deps)

  const accept = async (tx: Tx, call: PayoutCall, quote: OpenQuote): Promise<AcceptedFx> => {
    const [outcome] = await work(tx, [call], await read(tx, [call]), undefined)
    if (outcome instanceof Refusal) throw outcome
    const accepted = present(outcome === 'resubmit' ? undefined : outcome, 'the only call of its key has an answer')
    if (!accepted.replayed) quotes.markAccepted(tx, [{ quote, reference: accepted.payout.reference }])
    return accepted
  }

  return async (caller: Caller, body: FxPayout, ip: string): Promise<AcceptedFx> => {
    const { partnerId } = caller
    const attempt = () =>
      db.transaction(async (tx) => {
        // The lock of the quote lets two requests with one key wait for each other.
        const [quote] = await quotes.lockOpen(tx, [{ partnerId, id: body.quoteId }])
        const [known] = await store.payoutsByKeys(tx, [{ partnerId, operation, idempotencyKey: body.idempotencyKey }])
        if (known !== undefined) return { payout: replayOf(known, fingerprintOf(body)), replayed: true }
        if (quote === undefined || quote instanceof Refusal) throw present(quote, 'each key has an answer')
        return accept(tx, callOf(caller, body, quote, ip), quote)
      })
    for (let attempts = 1; ; attempts += 1)
      try {
        return await attempt()
      } catch (error) {
        // Read again what another transaction has changed since it was read: a balance, a counter, or a customer.
        if (stateOf(error) !== sqlState.checkViolation || attempts === attemptsMax) throw asInProgress(error)
      }
  }
}

export type FxPreview = Preview & { readonly quote: OpenQuote }

/** Judges a request as `createFx` would judge it now. The quote is a rule of its own: it may have expired, or be accepted. Refuses: not_found (quoteId). */
export const createFxPreview =
  ({ db, quotes }: PayoutsDeps, preview: (call: PayoutCall) => Promise<Preview>) =>
  async (caller: Caller, body: FxRequest, ip: string): Promise<FxPreview> => {
    const { quote, refusal } = await quotes.look(db, { partnerId: caller.partnerId, id: body.quoteId })
    const { verdicts, ...judged } = await preview(callOf(caller, body, quote, ip))
    return { ...judged, quote, verdicts: [verdictOf('quote', refusal ?? 'passed'), ...verdicts] }
  }

const fingerprintOf = (body: FxRequest) => fxFingerprintOf({ ...body, reference: body.reference ?? null })

const callOf = (caller: Caller, body: FxRequest, quote: OpenQuote, ip: string): PayoutCall => ({
  caller,
  nonce: undefined,
  operation,
  idempotencyKey: body.idempotencyKey ?? null,
  requestFingerprint: fingerprintOf(body),
  amount: quote.buyAmount,
  currency: quote.buyCurrency,
  quote,
  reference: body.reference ?? null,
  ip,
  payee: { beneficiaryId: body.beneficiaryId },
})
