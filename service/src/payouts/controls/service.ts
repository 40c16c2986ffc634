/** The operator's rules for outgoing money: how the operator sets them, and what a partner reads. */
import type { QueryOf } from '@partner-payments/wire'
import { type Cursors, notFound, type Page, Refusal } from '../../kernel/api/index.ts'
import { assert, type Clock, currencies, type Currency, type Minor, newId, nilId } from '../../kernel/index.ts'
import type { Ledger } from '../../ledger/index.ts'
import type { FactQueue } from '../../inbox/index.ts'
import type { Database, Tx } from '../../postgres/index.ts'
import type { Rates } from '../../rates/index.ts'
import type { Beneficiaries } from '../../parties/beneficiaries/index.ts'
import type { Customers } from '../../parties/customers/index.ts'
import {
  type ApprovalRule,
  type CoolingOff,
  type Counter,
  counterOf,
  type CurrentFee,
  type FeeRule,
  listCurrentFees,
  remainingAmount,
  type Limit,
  periodStarts,
  resetsAt,
  scopeFor,
} from './rules.ts'
import { readCounterSums } from './counting.ts'
import type { BalanceKey } from './sides.ts'
import * as store from './store.ts'

export type PayoutControls = {
  /**
   * A new limit counts the payouts that are accepted after it is set. After the removal of a limit, the next limit of
   * the same subject takes over its count. `set` refuses: not_found (the customer, the beneficiary), validation_failed
   * (a limit over all currencies that is not in the reference currency).
   */
  readonly limits: RuleSet<Limit, NewLimit>
  /**
   * `list` sorts by currency and rail, oldest first. `set` replaces the rule with the same currency, rail and time.
   * Accepted payouts keep their fees.
   */
  readonly fees: RuleSet<FeeRule, NewFeeRule>
  /**
   * One rule per currency, and one across all currencies. Refuses as `limits` does. Payouts that await approval keep
   * their deadline, and still need the approval after the rule is removed.
   */
  readonly approvalRules: RuleSet<ApprovalRule, NewRule<ApprovalRule>>
  /** One rule per currency. The hours apply at once, also to existing beneficiaries. */
  readonly coolingOffs: RuleSet<CoolingOff, Omit<CoolingOff, 'id'>>
  /**
   * Lists limits with their use, newest first, without a lock. Refuses: not_found (customerId, beneficiaryId),
   * validation_failed (cursor).
   */
  readonly currentLimits: (partnerId: string, query: QueryOf<'listPayoutLimits'>) => Promise<Page<LimitWithUse>>
  /** Lists current and future fee rules, by currency and rail, oldest first. */
  readonly currentFees: (partnerId: string, query: QueryOf<'listPayoutFees'>) => Promise<readonly CurrentFee[]>
}

/**
 * A limit with its counter. `holder`: the customer or beneficiary whose payments `used` counts. Null: the limit is for
 * the partner, or for each customer or beneficiary.
 */
export type LimitWithUse = Limit & {
  readonly holder: string | null
  /** Undefined: the limit is for a single payment, or for each customer or beneficiary. */
  readonly now:
    | { readonly used: Minor; readonly left: Minor; readonly startsOn: string; readonly resetsAt: Date }
    | undefined
}

/** Rules of one kind, for the operator. Each operation runs in the caller's transaction. */
type RuleSet<Rule, NewRule> = {
  /** Sets a rule. Replaces the existing rule of the same subject. */
  readonly set: (tx: Tx, rule: NewRule) => Promise<Rule>
  readonly list: (tx: Tx, partnerId: string) => Promise<readonly Rule[]>
  /** Removes a rule. Refuses: not_found. */
  readonly remove: (tx: Tx, partnerId: string, id: string) => Promise<Rule>
}

/** `allCurrencies`: absent for a rule in one currency. */
type NewRule<Rule extends RuleSubject> = Omit<Rule, 'id' | 'allCurrencies'> & { readonly allCurrencies?: boolean }

/**
 * `scopeRef`: the guid or service id of a customer, or the id of a beneficiary. Absent: each one, or the partner. A
 * limit for customers in a state of verification has no `scopeRef`.
 */
export type NewLimit = NewRule<Omit<Limit, 'scopeId' | 'verificationState'>> & {
  readonly scopeRef?: string | undefined
  readonly verificationState?: Limit['verificationState']
}
/** `validFrom`: absent if the rule begins now. */
export type NewFeeRule = Omit<FeeRule, 'id' | 'validFrom'> & { readonly validFrom?: Date | undefined }

export type PayoutControlsDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly cursors: Cursors
  readonly ledger: Pick<Ledger, 'setControlled'>
  readonly facts: FactQueue
  readonly customers: Pick<Customers, 'find' | 'payersByIds'>
  readonly beneficiaries: Pick<Beneficiaries, 'payeesByIds'>
  readonly rates: Pick<Rates, 'referenceCurrency'>
}

export function createPayoutControls(deps: PayoutControlsDeps): PayoutControls {
  const { clock } = deps
  const change = createChange(deps)
  return {
    limits: {
      set: async (tx, { scopeRef, verificationState = null, allCurrencies = false, ...limit }) => {
        const scopeId = await scopeIdOf(deps, tx, { ...limit, scopeRef })
        const row = { ...limit, id: newId(), scopeId, verificationState, allCurrencies }
        return change(tx, row, 'limit', async () => {
          await requireReference(deps, tx, row)
          return store.setLimit(tx, row, clock.now())
        })
      },
      list: store.listLimits,
      remove: createRemove(change, ['limit', 'limit'], store.limitById, store.removeLimit),
    },
    fees: {
      set: (tx, rule) => {
        assert(
          rule.maxAmount === null || rule.maxAmount >= rule.minAmount,
          'maxAmount of a fee rule is below minAmount',
        )
        const now = clock.now()
        const { validFrom = now } = rule
        return change(tx, rule, 'fee', () => store.setFee(tx, { ...rule, id: newId(), validFrom }, now))
      },
      list: store.listFees,
      remove: createRemove(change, ['fee', 'fee rule'], findInList(store.listFees), store.removeFee),
    },
    approvalRules: {
      set: (tx, { allCurrencies = false, ...rule }) => {
        const row = { ...rule, id: newId(), allCurrencies }
        return change(tx, row, 'approval', async () => {
          await requireReference(deps, tx, row)
          return store.setApprovalRule(tx, row, clock.now())
        })
      },
      list: store.listApprovalRules,
      remove: createRemove(
        change,
        ['approval', 'approval rule'],
        findInList(store.listApprovalRules),
        store.removeApprovalRule,
      ),
    },
    coolingOffs: {
      set: (tx, rule) =>
        change(tx, rule, 'coolingOff', () => store.setCoolingOff(tx, { ...rule, id: newId() }, clock.now())),
      list: store.listCoolingOffs,
      remove: createRemove(
        change,
        ['coolingOff', 'cooling-off'],
        findInList(store.listCoolingOffs),
        store.removeCoolingOff,
      ),
    },
    ...createReads(deps),
  }
}

async function scopeIdOf(
  { customers, beneficiaries }: PayoutControlsDeps,
  tx: Tx,
  { partnerId, scope, scopeRef }: NewLimit,
): Promise<string> {
  if (scopeRef === undefined || scope === 'partner') return nilId
  if (scope === 'customer') return (await customers.find(tx, partnerId, scopeRef)).id
  const [found] = (await beneficiaries.payeesByIds(tx, [{ partnerId, id: scopeRef }])).values()
  if (found === undefined) throw notFound('beneficiary')
  return found.id
}

/** Kinds of rules, for notifications to the team. */
type RuleKind = 'limit' | 'fee' | 'approval' | 'coolingOff'

/** The balances that a rule affects: that of its currency, or those of all currencies. */
type RuleSubject = BalanceKey & { readonly allCurrencies?: boolean }

const everyCurrency = (Object.keys(currencies) as Currency[]).toSorted()

/**
 * Changes the rules of balances under their locks, and updates the marks of balances with rules. Concurrent commands
 * lose neither a rule nor the mark. A rule across all currencies marks the balance of each, so that a payout without
 * rules reads nothing for it.
 */
const createChange =
  ({ ledger, facts }: PayoutControlsDeps) =>
  async <T>(
    tx: Tx,
    { partnerId, currency, allCurrencies = false }: RuleSubject,
    rule: RuleKind,
    change: () => Promise<T>,
    type: 'rule.set' | 'rule.removed' = 'rule.set',
  ): Promise<T> => {
    const ruled = allCurrencies ? everyCurrency : [currency]
    for (const each of ruled) await ledger.setControlled(tx, partnerId, each, true)
    const changed = await change()
    for (const each of ruled)
      if (!(await store.hasControls(tx, partnerId, each))) await ledger.setControlled(tx, partnerId, each, false)
    const said = { rule, currency: allCurrencies ? null : currency }
    facts.append(tx, [{ partnerId, type, subject: partnerId, occasion: newId(), facts: said }])
    return changed
  }

/**
 * Refuses a rule across all currencies that is in another currency than the reference currency or the partner's other
 * such rules. The caller holds the locks of all balances.
 */
async function requireReference(
  { rates }: PayoutControlsDeps,
  tx: Tx,
  { partnerId, currency, allCurrencies = false }: RuleSubject,
): Promise<void> {
  if (!allCurrencies) return
  const { referenceCurrency } = rates
  const set = await store.currencyOverAll(tx, partnerId)
  const refuse = (detail: string) => new Refusal('validation_failed', detail)
  if (currency !== referenceCurrency)
    throw refuse(`A rule over all currencies is in ${referenceCurrency}, the reference currency.`)
  if (set !== undefined && set !== currency)
    throw refuse(`The partner has rules over all currencies in ${set}. Remove them first.`)
}

type FindRule<Rule> = (tx: Tx, partnerId: string, id: string) => Promise<Rule | undefined>

const createRemove =
  <Rule extends RuleSubject>(
    change: ReturnType<typeof createChange>,
    [kind, name]: readonly [RuleKind, string],
    find: FindRule<Rule>,
    remove: (tx: Tx, partnerId: string, id: string) => Promise<number>,
  ): RuleSet<Rule, never>['remove'] =>
  async (tx, partnerId, id) => {
    const rule = await find(tx, partnerId, id)
    if (rule === undefined) throw notFound(name)
    const removing = async () => {
      if ((await remove(tx, partnerId, id)) === 0) throw notFound(name)
      return rule
    }
    return change(tx, rule, kind, removing, 'rule.removed')
  }

const findInList =
  <Rule extends { readonly id: string }>(list: RuleSet<Rule, never>['list']): FindRule<Rule> =>
  async (tx, partnerId, id) =>
    (await list(tx, partnerId)).find((each) => each.id === id)

function createReads({
  db,
  clock,
  cursors,
  customers,
  beneficiaries,
}: PayoutControlsDeps): Pick<PayoutControls, 'currentLimits' | 'currentFees'> {
  const beneficiaryOf = async (partnerId: string, id: string): Promise<string> => {
    const [found] = (await beneficiaries.payeesByIds(db, [{ partnerId, id: id.toLowerCase() }])).values()
    if (found === undefined) throw notFound('beneficiary', '/query/beneficiaryId')
    return found.id
  }
  return {
    currentLimits: async (partnerId, query) => {
      const { customerId: ref, beneficiaryId: id, scope = null, currency = null } = query
      const list = `payout-limits:${partnerId}`
      const request = cursors.read(list, query)
      const customer = ref === undefined ? null : await customers.find(db, partnerId, ref, '/query/customerId')
      const [payer] =
        customer === null ? [] : (await customers.payersByIds(db, [{ partnerId, id: customer.id }])).values()
      const filter: store.LimitFilter = {
        scope,
        currency,
        customerId: customer?.id ?? null,
        verificationState: payer?.verificationState ?? null,
        beneficiaryId: id === undefined ? null : await beneficiaryOf(partnerId, id),
      }
      const page = cursors.page(list, request, await store.readableLimits(db, partnerId, filter, request))
      return { ...page, data: await addUse(db, page.data, filter, clock.now()) }
    },
    currentFees: async (partnerId, { currency }) =>
      listCurrentFees(await store.listFees(db, partnerId), clock.now()).filter(
        ({ rule }) => currency === undefined || rule.currency === currency,
      ),
  }
}

/** Adds to each limit the counter of its holder in the current period. */
async function addUse(
  db: Database,
  limits: readonly Limit[],
  filter: store.LimitFilter,
  now: Date,
): Promise<readonly LimitWithUse[]> {
  const holderOf = ({ scope, scopeId }: Limit): string | null => {
    if (scopeId !== nilId) return scopeId
    return scope === 'partner' ? null : scope === 'customer' ? filter.customerId : filter.beneficiaryId
  }
  const starts = periodStarts(now)
  const counterFor = (limit: Limit): Counter | undefined => {
    const { scope, period } = limit
    const scopeId = scope === 'partner' ? nilId : holderOf(limit)
    if (period === 'payment' || scopeId === null) return undefined
    const counted = scopeFor({ name: limit.allCurrencies ? 'all' : 'paid' }, scope)
    return counterOf(limit, { scope: counted, scopeId, period }, starts)
  }
  const counted = limits.map((limit) => ({ limit, counter: counterFor(limit) }))
  const used = await readCounterSums(
    db,
    counted.flatMap(({ counter }) => counter ?? []),
    starts,
  )
  return counted.map(({ limit, counter }) => {
    if (counter === undefined) return { ...limit, holder: holderOf(limit), now: undefined }
    const sum = used.get(counter.mapKey) ?? 0n
    const { startsOn } = counter
    const state = { used: sum, left: remainingAmount(limit, sum), startsOn, resetsAt: resetsAt(counter) }
    return { ...limit, holder: holderOf(limit), now: state }
  })
}
