/** Dry run: checks a payout by the current rules of acceptance, and writes nothing. */
import type { payouts as wire } from '@partner-payments/wire'
import { Refusal, catchRefusal } from '../kernel/api/index.ts'
import { type Currency, type Minor, present } from '../kernel/index.ts'
import { checkReadBalances, createFundsCheck, isSegregated } from '../ledger/index.ts'
import { replayRow } from '../postgres/index.ts'
import type { Forecast } from '../rails/index.ts'
import {
  limitRefusal,
  remainingAmount,
  payeeMismatches,
  refuseCoolingOff,
  resetsAt,
  type UsedAmounts,
  addRequirements,
  withDayApproval,
} from './controls/index.ts'
import type { Hold } from '../transactions/index.ts'
import { toDuplicateCandidate, refuseUncovered, entryRequest } from './accept.ts'
import { instructionAddress, callMapKey, type PayoutCall } from './calls.ts'
import type { PayoutsDeps } from './deps.ts'
import { createDuplicateFinder, duplicateRefusal, type PossibleDuplicates } from './duplicates.ts'
import { createLookUp, type BatchData } from './look-up.ts'
import {
  type ControlledPayout,
  executionDayAt,
  type ValidationInput,
  toValidationInput,
  type RuleResult,
  payerFieldsMissing,
  payoutRules,
  validatePayout,
} from './validate.ts'

export type RuleAmount = {
  readonly kind: (typeof wire.ruleAmounts)[number]
  readonly amount: Minor
  readonly currency: Currency
}

export type Verdict = {
  readonly rule: string
  readonly verdict: 'passed' | 'warning' | 'failed' | 'notApplicable'
  /** The code of the refusal, or the error key with which the connector would end the payout. */
  readonly code?: string
  readonly detail?: string
  /** The amounts in `detail`, for translations. */
  readonly amounts?: readonly RuleAmount[]
  /** The hold by which the payout would be refused or would wait. Undefined: the request itself is wrong, or nothing holds it. */
  readonly hold?: Hold
  /** Payouts and standing orders that this one may repeat. Absent: none. */
  readonly repeated?: PossibleDuplicates
}

/** `payout`: undefined if a rule about the request itself has failed. */
export type Preview = {
  readonly call: PayoutCall
  readonly verdicts: readonly Verdict[]
  readonly payout: ControlledPayout | undefined
  readonly forecast: Forecast | undefined
}

const notApplicable = (rule: string): Verdict => ({ rule, verdict: 'notApplicable' })
/** Holds of rules that check more than the request. */
const holdsOfRules: Readonly<Record<string, Hold['kind']>> = {
  walletOwnership: 'walletOwnership',
  country: 'country',
  customer: 'customerGate',
  account: 'accountBlocked',
}
export function toVerdict(rule: string, judgement: RuleResult): Verdict {
  if (!(judgement instanceof Refusal)) return { rule, verdict: judgement }
  const failed = {
    verdict: 'failed',
    code: judgement.code,
    detail: judgement.errors[0]?.message ?? judgement.detail,
  } as const
  const kind = holdsOfRules[rule]
  return { rule, ...failed, ...(kind === undefined ? {} : { hold: { kind, by: null } }) }
}

/** Creates the verdict of a rule. A rule that takes effect later does not fail yet, and states its date. */
function ruleVerdict({ name, judge, coming }: (typeof payoutRules)[number], judged: ValidationInput): Verdict {
  const verdict = toVerdict(name, judge(judged))
  const detail = verdict.verdict === 'passed' ? coming?.(judged) : undefined
  return detail === undefined ? verdict : { ...verdict, detail }
}

/**
 * Creates the preview of a call. `paidAt`: a later date of payment, for the rule `duplicate`. The other rules apply as
 * of now.
 */
export function createPreview(deps: PayoutsDeps) {
  const lookUp = createLookUp(deps, createFundsCheck(deps.ledger))
  const duplicatesOf = createDuplicateFinder(deps)
  return async (call: PayoutCall, paidAt?: Date): Promise<Preview> => {
    const { db, clock, chooseConnector, connectorOf } = deps
    const now = clock.now()
    const found = await lookUp(db, [call])
    const judged = toValidationInput(call, chooseConnector, found, executionDayAt(deps, now))
    const ofRequest = [keyVerdict(call, found), ...payoutRules.map((rule) => ruleVerdict(rule, judged))]
    const valid = catchRefusal(() => validatePayout(judged))
    if (valid instanceof Refusal) {
      const verdicts = [
        ...ofRequest,
        ...['duplicate', 'coolingOff', 'limits', 'approval', 'funds', 'reach', 'payeeCheck'].map(notApplicable),
      ]
      return { call, verdicts, payout: undefined, forecast: undefined }
    }
    const controlled = present(
      addRequirements([valid], found.controls, now)[0],
      `no controls for a payout of partner ${call.caller.partnerId}`,
    )
    const payout = withDayApproval(controlled, found.controls.used)
    const coolingOff = coolingOffVerdict(payout)
    const limits = limitVerdicts(payout, found.controls.used)
    const { creditor, connector } = payout
    const { amount, currency } = call
    const { account: creditorAccount, bic: creditorBic } = creditor
    const instructed = { amount, currency, creditorAccount, creditorBic, ...instructionAddress(creditor) }
    const forecast = connectorOf(connector)?.forecast(instructed, now)
    const fit = checkReadBalances(found.balances.accounts, entryRequest(payout))
    const [repeated] = await duplicatesOf(db, call.caller.partnerId, [toDuplicateCandidate(valid)], paidAt ?? now)
    const duplicate = duplicateVerdict(call, present(repeated, 'no duplicate check for a preview'))
    const last = [reachVerdict(forecast), payeeCheckVerdict(payout)]
    const sent = await payerDataText(deps, payout)
    const judgedRequest = ofRequest.map((verdict) => (verdict.rule === 'payer' ? (sent ?? verdict) : verdict))
    const judgedFunds = toVerdict('funds', fit === true ? 'passed' : refuseUncovered(payout, fit))
    const segregated = isSegregated(found.balances.accounts, entryRequest(payout))
    const available =
      fit !== true && call.caller.permissions.includes('accounts:read')
        ? { amounts: [{ kind: 'available', amount: fit.available, currency: fit.currency }] as const }
        : {}
    const short = { ...available, hold: { kind: segregated === true ? 'segregatedFunds' : 'funds', by: null } } as const
    const funds = addPayer({ ...judgedFunds, ...(fit === true ? {} : short) }, payout, segregated)
    return {
      call,
      verdicts: [...judgedRequest, duplicate, coolingOff, ...limits, approvalVerdict(payout), funds, ...last],
      payout,
      forecast,
    }
  }
}

/**
 * Describes customer data that are not sent to a bank that requires none. Undefined: the bank gets no customer data, or
 * requires what is missing.
 */
async function payerDataText(
  { connectorOf, readPayers }: PayoutsDeps,
  { call, connector, customerId, creditor }: ControlledPayout,
): Promise<Verdict | undefined> {
  if (customerId === null || connectorOf(connector)?.payerData !== 'send') return undefined
  const [payer] = await readPayers([{ partnerId: call.caller.partnerId, customerId }])
  const missing = payer === undefined ? [] : payerFieldsMissing(payer, creditor, call)
  if (missing.length === 0) return { rule: 'payer', verdict: 'passed' }
  const detail = `The bank is told of the customer without ${missing.join(', ')}, and may ask for it.`
  return { rule: 'payer', verdict: 'passed', detail }
}

/** Checks the idempotency key. The key of an earlier identical request returns that payout again. */
function keyVerdict(call: PayoutCall, { payouts }: BatchData): Verdict {
  const rule = 'idempotencyKey'
  const key = callMapKey(call)
  if (key === undefined) return notApplicable(rule)
  const known = payouts.get(key)
  if (known === undefined) return { rule, verdict: 'passed' }
  const replayed = catchRefusal(() => replayRow(known, call.requestFingerprint))
  if (replayed instanceof Refusal) return toVerdict(rule, replayed)
  return {
    rule,
    verdict: 'passed',
    detail: `The same request has already created ${known.reference}, which would be returned.`,
  }
}

/** Checks for possible duplicates. They are only a warning, unless the request refuses duplicates. */
function duplicateVerdict({ refusesDuplicates }: PayoutCall, repeated: PossibleDuplicates): Verdict {
  const rule = 'duplicate'
  const refusal = duplicateRefusal(repeated)
  if (refusal === undefined) return { rule, verdict: 'passed' }
  const { code, detail } = refusal
  return { rule, verdict: refusesDuplicates === true ? 'failed' : 'warning', code, detail, repeated }
}

function limitVerdicts(payout: ControlledPayout, used: UsedAmounts): readonly Verdict[] {
  // The daily sum without approval is reported with the approval.
  const limits = payout.limits.filter(({ otherwise }) => otherwise === undefined)
  if (limits.length === 0) return [notApplicable('limits')]
  return limits.map((limit) => {
    const refusal = limitRefusal(limit, used)
    const verdict = toVerdict(`limit.${limit.name}`, refusal ?? 'passed')
    if (refusal === undefined) return verdict
    const { counter, side } = limit
    const { amount, currency } = limit.limit
    const left = counter && remainingAmount(limit.limit, used.get(counter.mapKey) ?? 0n)
    const amounts: readonly RuleAmount[] = [
      { kind: 'limit', amount, currency },
      ...(left === undefined ? [] : [{ kind: 'left', amount: left, currency } as const]),
      ...(side.name === 'all' ? [{ kind: 'counted', amount: side.amount, currency } as const] : []),
    ]
    const by = counter === undefined ? null : resetsAt(counter)
    return { ...verdict, detail: refusal.detail, amounts, hold: { kind: 'limit', by } }
  })
}

function coolingOffVerdict({ coolingOff: from }: ControlledPayout): Verdict {
  const rule = 'coolingOff'
  if (from === null) return notApplicable(rule)
  if (from === undefined) return { rule, verdict: 'passed' }
  return { ...toVerdict(rule, refuseCoolingOff(from)), hold: { kind: 'coolingOff', by: from } }
}

/** Adds to a verdict whose money pays: a segregated balance may refuse a payout that a pooled one covers. */
function addPayer(verdict: Verdict, { customerId }: ControlledPayout, segregated: boolean | undefined): Verdict {
  if (segregated === undefined) return verdict
  const own = customerId === null ? 'Only your own money pays' : `Only the money of the customer ${customerId} pays`
  const whose = segregated
    ? `${own}: the balance is segregated.`
    : 'The whole balance pays, the money of all customers and yours: it is pooled.'
  return { ...verdict, detail: verdict.detail === undefined ? whose : `${verdict.detail} ${whose}` }
}

/** Creates the verdict of the approval rule. It never fails, because a payout that waits is accepted. */
function approvalVerdict({ approval }: ControlledPayout): Verdict {
  if (approval === null) return notApplicable('approval')
  const detail = `${approval.because} It waits for the approval of a second person.`
  const amounts = approval.above && ([{ kind: 'above', ...approval.above }] as const)
  const hold = { kind: 'approval', by: approval.expiresAt } as const
  return { rule: 'approval', verdict: 'passed', detail, ...(amounts && { amounts }), hold }
}

/**
 * Checks whether the connector can send the payment. If not, the service still accepts the payment, which then fails.
 */
function reachVerdict(forecast: Forecast | undefined): Verdict {
  if (forecast === undefined) return notApplicable('reach')
  if (forecast.possible) return { rule: 'reach', verdict: 'passed' }
  return { rule: 'reach', verdict: 'failed', code: forecast.errorKey, detail: forecast.details }
}

/**
 * Creates the verdict of the earlier payee check. Its result does not refuse the payout, because a bank checks each
 * payment again.
 */
function payeeCheckVerdict({ payeeCheck }: ControlledPayout): Verdict {
  const rule = 'payeeCheck'
  if (payeeCheck === null) return notApplicable(rule)
  const detail = payeeMismatches[payeeCheck]
  return detail === null
    ? { rule, verdict: 'passed' }
    : { rule, verdict: 'failed', code: 'InvalidAccountDetails', detail, hold: { kind: 'payeeName', by: null } }
}
