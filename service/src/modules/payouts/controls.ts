/** The operator's rules for what leaves a balance: limits, fees, approvals and cooling-offs. Only a balance that has the mark needs a statement for them. */
import type { Refusal } from '../../api/index.ts'
import { type Currency, type Minor, partnerKey } from '../../kernel/index.ts'
import { type AccountSnapshots, areRead, type Ledger } from '../../ledger/index.ts'
import type { Tx } from '../../postgres/index.ts'
import { approvalOf, type NeededApproval } from './approval-rules.ts'
import type { PayoutCall } from './calls.ts'
import { coolingOffOf } from './cooling-off-rules.ts'
import { type CustomerIdOf, type LimitedPayout, paymentOf, readLimits, readUsed, type Used } from './counting.ts'
import { feeOf } from './fee-rules.ts'
import { type Limit, limitsOf, type LimitTable, limitTable, periodStarts } from './limit-rules.ts'
import { type RuleReader, type Rules, rulesKey } from './rule-reader.ts'
import { railOf } from './rules.ts'
import { hasControls } from './store-controls.ts'
import type { ValidPayout } from './validate.ts'

/** `accounts`: those that fees go to, beyond what was read early. */
export type Controls = {
  readonly rules: ReadonlyMap<string, Rules>
  readonly used: Used
  readonly accounts: AccountSnapshots
  /** By `rulesKey`: the limits that concern these calls, of the balances that have too many to keep. */
  readonly manyLimits: ReadonlyMap<string, LimitTable>
}
export type ControlledPayout = LimitedPayout & {
  readonly fee: Minor
  /** Null: the payout needs none. */
  readonly approval: NeededApproval | null
  /** See `coolingOffOf`. */
  readonly coolingOff: Refusal | undefined | null
}

/** What is sent with the first reads of a batch, by the rules that were read last. */
export type EarlyControls = { readonly counted: readonly PayoutCall[]; readonly used: Used }

/** A batch of the same partners as before needs no statement but this one, and that only if payouts are counted. */
export async function readEarly(
  tx: Tx,
  { lastRead }: RuleReader,
  calls: readonly PayoutCall[],
  cachedCustomerIdOf: (call: PayoutCall) => string | null | undefined,
  now: Date,
): Promise<EarlyControls> {
  const counted = calls.filter((call) => lastRead(call)?.isCounted === true && cachedCustomerIdOf(call) !== undefined)
  return { counted, used: await readUsed(tx, counted, (call) => cachedCustomerIdOf(call) ?? null, now) }
}

/** Where the fee of a call goes. */
export const feeMovement = ({ caller: { partnerId }, currency }: PayoutCall) =>
  ({ partnerId, currency, debit: 'balance', credit: 'fees' }) as const

/** The rules for these calls, and what they need to be judged. Without a call whose balance is controlled, no statement. */
export async function readControls(
  tx: Tx,
  { ledger, rules: reader }: { readonly ledger: Pick<Ledger, 'accountsOf'>; readonly rules: RuleReader },
  calls: readonly PayoutCall[],
  accounts: AccountSnapshots,
  early: EarlyControls,
  customerIdOf: CustomerIdOf,
  now: Date,
): Promise<Controls> {
  const rules = await reader.read(tx, calls, accounts)
  const has = (call: PayoutCall, what: (found: Rules) => boolean) => {
    const found = rules.get(rulesKey(call))
    return found !== undefined && what(found)
  }
  const read = new Set(early.counted)
  const counted = calls.filter((call) => !read.has(call) && has(call, ({ isCounted }) => isCounted))
  const charged = calls.filter((call) => has(call, ({ fees }) => fees.length > 0)).map(feeMovement)
  const withoutAccount = charged.filter((movement) => !areRead(accounts, movement))
  const ofMany = calls.filter((call) => has(call, ({ hasManyLimits }) => hasManyLimits))
  const [used, feeAccounts, limits] = await Promise.all([
    readUsed(tx, counted, customerIdOf, now),
    ledger.accountsOf(tx, withoutAccount),
    readLimits(tx, ofMany, customerIdOf),
  ])
  return {
    rules,
    used: new Map([...early.used, ...used]),
    accounts: feeAccounts,
    manyLimits: tablesOf(limits),
  }
}

const tablesOf = (limits: readonly Limit[]): ReadonlyMap<string, LimitTable> =>
  new Map(
    [...Map.groupBy(limits, ({ partnerId, currency }) => partnerKey(partnerId, currency))].map(([key, found]) => [
      key,
      limitTable(found),
    ]),
  )

/** A payout by quote has the fee of its quote, and none of these. */
export function withControls(
  payouts: readonly ValidPayout[],
  { rules: all, manyLimits }: Controls,
  now: Date,
): readonly ControlledPayout[] {
  const starts = periodStarts(now)
  return payouts.map((payout) => {
    const key = rulesKey(payout.call)
    const rules = all.get(key)
    if (rules === undefined) return { ...payout, limits: [], approval: null, coolingOff: null, fee: 0n }
    const { amount, currency, caller, quote } = payout.call
    const charged = { partnerId: caller.partnerId, currency, rail: railOf(currency), amount }
    return {
      ...payout,
      limits: limitsOf(manyLimits.get(key) ?? rules.limits, paymentOf(payout), starts),
      approval: approvalOf(rules.approvals, { ...charged, beneficiarySince: payout.beneficiarySince }, now),
      coolingOff: coolingOffOf(
        rules.coolingOffs,
        { ...charged, unchangedSince: payout.beneficiaryUnchangedSince },
        now,
      ),
      fee: quote === undefined ? feeOf(rules.fees, charged, now) : 0n,
    }
  })
}

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
