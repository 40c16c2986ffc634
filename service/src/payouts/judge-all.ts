/** Dry run of many payouts: checks them in order like a batch of acceptance, and writes nothing. */
import { Refusal, catchRefusal } from '../kernel/api/index.ts'
import type { Currency, Minor } from '../kernel/index.ts'
import { getAvailableBalance, checkReadBalances, createFundsCheck } from '../ledger/index.ts'
import type { Payee } from '../parties/beneficiaries/index.ts'
import { entryRequest } from './accept.ts'
import { instructionAddress, beneficiaryMapKey, type PayoutCall } from './calls.ts'
import { refuseCoolingOff, addRequirements, checkLimits } from './controls/index.ts'
import type { PayoutsDeps } from './deps.ts'
import { createLookUp } from './look-up.ts'
import { type ControlledPayout, executionDayAt, toValidationInput, validatePayout } from './validate.ts'

/** Call with its refusal, or with the consequences of accepting it. */
export type JudgedCall = {
  readonly call: PayoutCall
  readonly refusal: Refusal | undefined
  readonly fee: Minor
  /** The payout would wait for the approval of a second person. */
  readonly isHeld: boolean
  /** Reason why the bank would refuse the payment after it was accepted. Undefined: no reason is known. */
  readonly unreachable: string | undefined
}

export type BatchPreview = {
  /** Results in the order of the calls. */
  readonly calls: readonly JudgedCall[]
  /** Money that the calls without a refusal take with their fees, and the available money, by currency. */
  readonly funds: readonly {
    readonly currency: Currency
    readonly needed: Minor
    readonly fees: Minor
    readonly available: Minor
    /** False: the balance does not cover them, or not for each customer. */
    readonly covers: boolean
  }[]
}

/** `unsaved`: payees that do not exist yet. Calls refer to them by the ids given here. */
export type BatchPreviewer = (calls: readonly PayoutCall[], unsaved: readonly Payee[]) => Promise<BatchPreview>

export function createBatchPreviewer(deps: PayoutsDeps): BatchPreviewer {
  const lookUp = createLookUp(deps, createFundsCheck(deps.ledger))
  return async (calls, unsaved) => {
    if (calls.length === 0) return { calls: [], funds: [] }
    const { db, clock, chooseConnector } = deps
    const now = clock.now()
    const partnerIds = [...new Set(calls.map(({ caller }) => caller.partnerId))]
    const known = partnerIds.flatMap((partnerId) =>
      unsaved.map((payee) => [beneficiaryMapKey(partnerId, payee.id), payee] as const),
    )
    const found = await lookUp(db, calls, new Map(known))
    const day = executionDayAt(deps, now)
    const refusals = new Map<PayoutCall, Refusal>()
    const valid = calls.flatMap((call) => {
      const outcome = catchRefusal(() => validatePayout(toValidationInput(call, chooseConnector, found, day)))
      if (outcome instanceof Refusal) refusals.set(call, outcome)
      return outcome instanceof Refusal ? [] : [outcome]
    })
    const cooled = addRequirements(valid, found.controls, now).filter(({ call, coolingOff }) => {
      if (coolingOff) refusals.set(call, refuseCoolingOff(coolingOff))
      return !coolingOff
    })
    const { within, exceeding } = checkLimits(cooled, found.controls.used)
    for (const { payout, refusal } of exceeding) refusals.set(payout.call, refusal)
    const accepted = new Map(within.map((payout) => [payout.call, payout]))
    const { accounts } = found.balances
    const funds = [...Map.groupBy(within, ({ call }) => call.currency)].map(([currency, payouts]) => {
      const needed = payouts.reduce((sum, { call, fee }) => sum + call.amount + fee, 0n)
      const fees = payouts.reduce((sum, { fee }) => sum + fee, 0n)
      const fit = checkReadBalances(accounts, {
        transfers: payouts.flatMap((payout) => entryRequest(payout).transfers),
      })
      const [first] = payouts
      const available = first === undefined ? 0n : getAvailableBalance(accounts, first.call.caller.partnerId, currency)
      return { currency, needed, fees, available, covers: fit === true }
    })
    return { funds, calls: calls.map((call) => judgedCall(deps, call, refusals.get(call), accepted.get(call), now)) }
  }
}

function judgedCall(
  { connectorOf }: PayoutsDeps,
  call: PayoutCall,
  refusal: Refusal | undefined,
  payout: ControlledPayout | undefined,
  now: Date,
): JudgedCall {
  if (payout === undefined) return { call, refusal, fee: 0n, isHeld: false, unreachable: undefined }
  const { creditor, connector, fee, approval } = payout
  const { amount, currency } = call
  const { account: creditorAccount, bic: creditorBic } = creditor
  const instructed = { amount, currency, creditorAccount, creditorBic, ...instructionAddress(creditor) }
  const forecast = connectorOf(connector)?.forecast(instructed, now)
  const unreachable = forecast === undefined || forecast.possible ? undefined : forecast.details
  return { call, refusal, fee, isHeld: approval !== null, unreachable }
}
