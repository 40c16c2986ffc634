/** What a partner reads of its own controls: the limits with what is used of them now, and the fees that apply. */
import type { QueryOf } from '@partner-payments/wire'
import { type Cursors, notFound, type Page } from '../../api/index.ts'
import { type Clock, type Minor, nilId } from '../../kernel/index.ts'
import type { Database } from '../../postgres/index.ts'
import type { Beneficiaries } from '../beneficiaries/index.ts'
import type { Customers } from '../customers/index.ts'
import { usedOf } from './counting.ts'
import { type FeeInForce, feesInForce } from './fee-rules.ts'
import { type Counter, counterOf, leftOf, type Limit, periodStarts, resetsAt } from './limit-rules.ts'
import { listFees } from './store-fees.ts'
import { type LimitFilter, readableLimits } from './store-limits.ts'

/** `holder`: of the customer or beneficiary that `used` is about; null: the limit of each one, or of the partner. */
export type LimitNow = Limit & {
  readonly holder: string | null
  /** Undefined: the limit is that of one payment, or of each one. */
  readonly now:
    | { readonly used: Minor; readonly left: Minor; readonly startsOn: string; readonly resetsAt: Date }
    | undefined
}

export type ReadableControls = {
  /** Newest first, without a lock. Refuses: not_found (customerId, beneficiaryId), validation_failed (cursor). */
  readonly limitsNow: (partnerId: string, query: QueryOf<'listPayoutLimits'>) => Promise<Page<LimitNow>>
  /** By currency and rail, oldest first: the rules that hold, and those that will. */
  readonly feesNow: (partnerId: string, query: QueryOf<'listPayoutFees'>) => Promise<readonly FeeInForce[]>
}

type Deps = {
  readonly db: Database
  readonly clock: Clock
  readonly cursors: Cursors
  readonly customers: Pick<Customers, 'find'>
  readonly beneficiaries: Pick<Beneficiaries, 'payeesByIds'>
}

export function createReadableControls({ db, clock, cursors, customers, beneficiaries }: Deps): ReadableControls {
  const beneficiaryOf = async (partnerId: string, id: string): Promise<string> => {
    const [found] = (await beneficiaries.payeesByIds(db, [{ partnerId, id: id.toLowerCase() }])).values()
    if (found === undefined) throw notFound('beneficiary', '/query/beneficiaryId')
    return found.id
  }
  return {
    limitsNow: async (partnerId, query) => {
      const { customerId: ref, beneficiaryId: id, scope = null, currency = null } = query
      const list = `payout-limits:${partnerId}`
      const request = cursors.read(list, query)
      const filter: LimitFilter = {
        scope,
        currency,
        customerId: ref === undefined ? null : (await customers.find(db, partnerId, ref, '/query/customerId')).id,
        beneficiaryId: id === undefined ? null : await beneficiaryOf(partnerId, id),
      }
      const page = cursors.page(list, request, await readableLimits(db, partnerId, filter, request))
      return { ...page, data: await withUse(db, page.data, filter, clock.now()) }
    },
    feesNow: async (partnerId, { currency }) =>
      feesInForce(await listFees(db, partnerId), clock.now()).filter(
        ({ rule }) => currency === undefined || rule.currency === currency,
      ),
  }
}

/** Each limit with the counter of its holder in the period of now. */
async function withUse(
  db: Database,
  limits: readonly Limit[],
  filter: LimitFilter,
  now: Date,
): Promise<readonly LimitNow[]> {
  const holderOf = ({ scope, scopeId }: Limit): string | null => {
    if (scopeId !== nilId) return scopeId
    return scope === 'partner' ? null : scope === 'customer' ? filter.customerId : filter.beneficiaryId
  }
  const starts = periodStarts(now)
  const counterFor = (limit: Limit): Counter | undefined => {
    const { scope, period } = limit
    const scopeId = scope === 'partner' ? nilId : holderOf(limit)
    return period === 'payment' || scopeId === null ? undefined : counterOf(limit, { scope, scopeId, period }, starts)
  }
  const counted = limits.map((limit) => ({ limit, counter: counterFor(limit) }))
  const used = await usedOf(
    db,
    counted.flatMap(({ counter }) => counter ?? []),
    starts,
  )
  return counted.map(({ limit, counter }) => {
    if (counter === undefined) return { ...limit, holder: holderOf(limit), now: undefined }
    const sum = used.get(counter.mapKey) ?? 0n
    const { startsOn } = counter
    const state = { used: sum, left: leftOf(limit, sum), startsOn, resetsAt: resetsAt(counter) }
    return { ...limit, holder: holderOf(limit), now: state }
  })
}
