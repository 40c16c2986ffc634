/**
 * The operator's rules for what leaves a balance. A process keeps those that it has read while the row of the balance, which every
 * batch reads anyway, has the same count of changes.
 */
import { type Currency, nilId, partnerKey } from '../../kernel/index.ts'
import { type AccountSnapshots, controlsIn } from '../../ledger/index.ts'
import type { Tx } from '../../postgres/index.ts'
import type { ApprovalRule } from './approval-rules.ts'
import { type PayoutCall, sidesOfCall } from '../payouts/calls.ts'
import type { CoolingOff } from './cooling-off-rules.ts'
import type { FeeRule } from './fee-rules.ts'
import { areCounted, type LimitTable, limitTable } from './limit-rules.ts'
import { holdingRulesFor } from './store-controls.ts'
import { feesFor } from './store-fees.ts'
import { limitsFor, ownLimits } from './store-limits.ts'

/** Of a partner in a currency. */
export type Rules = {
  /** Without those of single customers and beneficiaries, if they are too many to keep. */
  readonly limits: LimitTable
  readonly hasManyLimits: boolean
  /** Whether payouts are counted in a day or a month. */
  readonly isCounted: boolean
  readonly fees: readonly FeeRule[]
  readonly approvals: readonly ApprovalRule[]
  readonly coolingOffs: readonly CoolingOff[]
}

/** The balance of a partner in a currency, which rules are about. */
export type Balance = { readonly partnerId: string; readonly currency: Currency }
/** The rules of each of these balances hold for the call. */
export const balancesOf = (call: PayoutCall): readonly Balance[] =>
  sidesOfCall(call).map(({ currency }) => ({ partnerId: call.caller.partnerId, currency }))

export type RuleReader = {
  /** Those that were read last, which may be out of date: for what a batch reads early. */
  readonly lastRead: (balance: Balance) => Rules | undefined
  /** The rules of the balances that have any, by `rulesKey`. `accounts`: with these balances. */
  readonly read: (
    tx: Tx,
    balances: readonly Balance[],
    accounts: AccountSnapshots,
  ) => Promise<ReadonlyMap<string, Rules>>
}

/** About 10 MB with a few rules each. */
const keptMax = 10_000
/** Limits of single customers and beneficiaries that are kept for a balance. */
const ownLimitsMax = 100

export const rulesKey = ({ partnerId, currency }: Balance): string => partnerKey(partnerId, currency)

export function createRuleReader(): RuleReader {
  const kept = new Map<string, { readonly changes: number; readonly rules: Rules }>()

  const keep = (key: string, changes: number, rules: Rules) => {
    if (kept.size >= keptMax) kept.clear()
    kept.set(key, { changes, rules })
    return rules
  }

  /** Undefined: no rules hold for the balance. */
  const rulesOf = async (
    tx: Tx,
    key: string,
    { partnerId, currency }: Balance,
    accounts: AccountSnapshots,
  ): Promise<Rules | undefined> => {
    const changes = controlsIn(accounts, partnerId, currency)
    if (changes === undefined) return undefined
    const last = kept.get(key)
    // Rules that change between the two reads are kept under the count before, and are read again by the next batch.
    return last?.changes === changes ? last.rules : keep(key, changes, await readRules(tx, partnerId, currency))
  }

  return {
    lastRead: (balance) => kept.get(rulesKey(balance))?.rules,
    read: async (tx, balances, accounts) => {
      const distinct = new Map(balances.map((balance) => [rulesKey(balance), balance]))
      const found = await Promise.all(
        [...distinct].map(async ([key, balance]) => [key, await rulesOf(tx, key, balance, accounts)] as const),
      )
      return new Map(found.flatMap(([key, rules]) => (rules === undefined ? [] : [[key, rules] as const])))
    },
  }
}

async function readRules(tx: Tx, partnerId: string, currency: Currency): Promise<Rules> {
  const [partnerIds, currencies] = [[partnerId], [currency]]
  const [ofEach, own, fees, holding] = await Promise.all([
    limitsFor(tx, { partnerIds, currencies, scopeIds: [nilId] }),
    ownLimits(tx, partnerId, currency, ownLimitsMax + 1),
    feesFor(tx, partnerIds, currencies),
    holdingRulesFor(tx, partnerIds, currencies),
  ])
  const hasManyLimits = own.length > ownLimitsMax
  const limits = limitTable(hasManyLimits ? ofEach : [...ofEach, ...own])
  return { limits, hasManyLimits, isCounted: hasManyLimits || areCounted(limits), fees, ...holding }
}
