/** The operator's rules for what leaves a balance: limits, fees, approvals and cooling-offs. Only a balance that has the mark needs a statement for them. */
import { Refusal } from '../../api/index.ts'
import { type Currency, type Minor, partnerKey } from '../../kernel/index.ts'
import { type AccountSnapshots, areRead, type Ledger } from '../../ledger/index.ts'
import type { Tx } from '../../postgres/index.ts'
import { approvalOf, type NeededApproval } from './approval-rules.ts'
import { debitedOf, type PayoutCall, type Side, sidesOfCall } from '../payouts/calls.ts'
import { coolingOffOf } from './cooling-off-rules.ts'
import { type CustomerIdOf, type LimitedPayout, payeeOf, readLimits, readUsed, type Used } from './counting.ts'
import { feeOf } from './fee-rules.ts'
import { type Limit, limitsOf, type LimitTable, limitTable, type PeriodStarts, periodStarts } from './limit-rules.ts'
import { balancesOf, type RuleReader, type Rules, rulesKey } from './rule-reader.ts'
import { hasControls } from './store-controls.ts'
import type { ValidPayout } from '../payouts/validate.ts'

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
  const isCounted = (call: PayoutCall) => balancesOf(call).some((balance) => lastRead(balance)?.isCounted === true)
  const counted = calls.filter((call) => isCounted(call) && cachedCustomerIdOf(call) !== undefined)
  return { counted, used: await readUsed(tx, counted, (call) => cachedCustomerIdOf(call) ?? null, now) }
}

const debitedBalance = (call: PayoutCall) => ({ partnerId: call.caller.partnerId, currency: debitedOf(call) })

/** Where the fee of a call goes: it is taken from the balance that pays. */
export const feeMovement = (call: PayoutCall) =>
  ({ ...debitedBalance(call), debit: 'balance', credit: 'fees' }) as const
export const isCharged = (call: PayoutCall, rulesOf: RuleReader['lastRead']): boolean =>
  (rulesOf(debitedBalance(call))?.fees.length ?? 0) > 0

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
  const rules = await reader.read(tx, calls.flatMap(balancesOf), accounts)
  const has = (call: PayoutCall, what: (found: Rules) => boolean) =>
    balancesOf(call).some((balance) => {
      const found = rules.get(rulesKey(balance))
      return found !== undefined && what(found)
    })
  const read = new Set(early.counted)
  const counted = calls.filter((call) => !read.has(call) && has(call, ({ isCounted }) => isCounted))
  const charged = calls.filter((call) => isCharged(call, (balance) => rules.get(rulesKey(balance)))).map(feeMovement)
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

/**
 * What the operator's rules ask of each payout. Limits, approvals and cooling-offs hold for what is paid and for what is sold. The fee is
 * that of the balance which pays; a payout by quote has the fee of its quote besides.
 */
export function withControls(
  payouts: readonly ValidPayout[],
  controls: Controls,
  now: Date,
): readonly ControlledPayout[] {
  const starts = periodStarts(now)
  return payouts.map((payout) => {
    const judged = sidesOfCall(payout.call).map((side) => judgeSide(payout, side, controls, starts, now))
    return {
      ...payout,
      limits: judged.flatMap(({ limits }) => limits),
      approval: soonest(judged.flatMap(({ approval }) => approval ?? [])),
      coolingOff: worst(judged.map(({ coolingOff }) => coolingOff)),
      // The side that leaves the balance comes first.
      fee: judged[0]?.fee ?? 0n,
    }
  })
}

type JudgedSide = Pick<ControlledPayout, 'limits' | 'approval' | 'coolingOff' | 'fee'>
const withoutRules: JudgedSide = { limits: [], approval: null, coolingOff: null, fee: 0n }

function judgeSide(
  payout: ValidPayout,
  side: Side,
  { rules: all, manyLimits }: Controls,
  starts: PeriodStarts,
  now: Date,
): JudgedSide {
  const { partnerId } = payout.call.caller
  const key = rulesKey({ partnerId, currency: side.currency })
  const rules = all.get(key)
  if (rules === undefined) return withoutRules
  const { beneficiarySince, beneficiaryUnchangedSince: unchangedSince } = payout
  const charged = { partnerId, rail: payout.rail, ...side }
  return {
    limits: limitsOf(manyLimits.get(key) ?? rules.limits, payeeOf(payout), side, starts),
    approval: approvalOf(rules.approvals, { ...charged, beneficiarySince }, now),
    coolingOff: coolingOffOf(rules.coolingOffs, { ...charged, unchangedSince }, now),
    fee: feeOf(rules.fees, charged, now),
  }
}

/** The rule that gives less time holds. */
const soonest = (needed: readonly NeededApproval[]): NeededApproval | null =>
  needed.toSorted((a, b) => a.expiresAt.getTime() - b.expiresAt.getTime())[0] ?? null

/** A refusal comes before a time that has passed, which comes before no rule. */
const worst = (coolingOffs: readonly ControlledPayout['coolingOff'][]): ControlledPayout['coolingOff'] =>
  coolingOffs.find((each) => each instanceof Refusal) ?? (coolingOffs.includes(undefined) ? undefined : null)

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
