/** The operator's rules for what leaves a balance: limits, fees, approvals and cooling-offs. Only a balance that has the mark needs a statement for them. */
import type { Refusal } from '../../api/index.ts'
import type { Currency, Minor } from '../../kernel/index.ts'
import { type AccountSnapshots, isControlled, type Ledger } from '../../ledger/index.ts'
import type { Tx } from '../../postgres/index.ts'
import type { PayoutCall } from './calls.ts'
import { type LimitedPayout, readLimits, readUsed, type Used, withLimits } from './counting.ts'
import { type ApprovalRule, approvalOf, type NeededApproval } from './approval-rules.ts'
import { type CoolingOff, coolingOffOf } from './cooling-off-rules.ts'
import { type FeeRule, feeOf } from './fee-rules.ts'
import type { Limit } from './limit-rules.ts'
import { railOf } from './rules.ts'
import { hasControls, holdingRulesFor } from './store-controls.ts'
import { feesFor } from './store-fees.ts'
import type { ValidPayout } from './validate.ts'

/** `accounts`: those that a fee goes to. */
export type Controls = {
  readonly limits: readonly Limit[]
  readonly fees: readonly FeeRule[]
  readonly approvals: readonly ApprovalRule[]
  readonly coolingOffs: readonly CoolingOff[]
  readonly accounts: AccountSnapshots
  readonly used: Used
}
export type ControlledPayout = LimitedPayout & {
  readonly fee: Minor
  /** Null: the payout needs none. */
  readonly approval: NeededApproval | null
  /** See `coolingOffOf`. */
  readonly coolingOff: Refusal | undefined | null
}

const none: Controls = { limits: [], fees: [], approvals: [], coolingOffs: [], accounts: new Map(), used: new Map() }

/** The rules for these calls, and perhaps others of the same partners. Without a call whose balance is controlled, no statement. */
export async function readControls(
  tx: Tx,
  ledger: Pick<Ledger, 'accountsOf'>,
  calls: readonly PayoutCall[],
  accounts: AccountSnapshots,
  customerIdOf: (call: PayoutCall) => string | null,
  now: Date,
): Promise<Controls> {
  const controlled = calls.filter(({ caller, currency }) => isControlled(accounts, caller.partnerId, currency))
  if (controlled.length === 0) return none
  const partnerIds = controlled.map(({ caller }) => caller.partnerId)
  const currencies = [...new Set(controlled.map(({ currency }) => currency))]
  const toFees = controlled.map(({ caller: { partnerId }, currency }) => ({
    partnerId,
    currency,
    debit: 'balance' as const,
    credit: 'fees' as const,
  }))
  const [limits, fees, holding, feeAccounts, used] = await Promise.all([
    readLimits(tx, controlled, customerIdOf),
    feesFor(tx, partnerIds, currencies),
    holdingRulesFor(tx, partnerIds, currencies),
    ledger.accountsOf(tx, toFees),
    readUsed(tx, controlled, customerIdOf, now),
  ])
  return { limits, fees, ...holding, accounts: feeAccounts, used }
}

/** A payout by quote has the fee of its quote, and none of these. */
export const withControls = (
  payouts: readonly ValidPayout[],
  { limits, fees, approvals, coolingOffs }: Controls,
  now: Date,
): readonly ControlledPayout[] =>
  withLimits(payouts, limits, now).map((payout) => {
    const { amount, currency, caller, quote } = payout.call
    const charged = { partnerId: caller.partnerId, currency, rail: railOf(currency), amount }
    const approval = approvalOf(approvals, { ...charged, beneficiarySince: payout.beneficiarySince }, now)
    const coolingOff = coolingOffOf(coolingOffs, { ...charged, unchangedSince: payout.beneficiaryUnchangedSince }, now)
    return { ...payout, approval, coolingOff, fee: quote === undefined ? feeOf(fees, charged, now) : 0n }
  })

/**
 * Changes the rules of a balance under its lock, and marks it by whether any are left: two commands at once lose neither a rule
 * nor the mark.
 */
export async function changeControls<T>(
  tx: Tx,
  ledger: Pick<Ledger, 'setControlled'>,
  { partnerId, currency }: { readonly partnerId: string; readonly currency: Currency },
  change: () => Promise<T>,
): Promise<T> {
  await ledger.setControlled(tx, partnerId, currency, true)
  const changed = await change()
  if (!(await hasControls(tx, partnerId, currency))) await ledger.setControlled(tx, partnerId, currency, false)
  return changed
}
