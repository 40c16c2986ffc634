/** The verbs with which the operator limits payouts. Each joins the caller's transaction. */
import { notFound } from '../../api/index.ts'
import { type Clock, newId, nilId } from '../../kernel/index.ts'
import type { Ledger } from '../../ledger/index.ts'
import type { Tx } from '../../postgres/index.ts'
import type { Beneficiaries } from '../beneficiaries/index.ts'
import type { Customers } from '../customers/index.ts'
import { changeControls } from './controls.ts'
import type { Limit } from './limit-rules.ts'
import * as store from './store-limits.ts'

/** `scopeRef`: the guid or service id of a customer, the id of a beneficiary. Absent: each one, or the partner. */
export type NewLimit = Omit<Limit, 'id' | 'scopeId'> & { readonly scopeRef?: string | undefined }

export type Limits = {
  /**
   * Sets a limit, or the amount of the one that there is. A new limit counts the payouts that are accepted after it was set.
   * Refuses: not_found (the customer, the beneficiary).
   */
  readonly set: (tx: Tx, limit: NewLimit) => Promise<Limit>
  /** In the order in which they were set. */
  readonly list: (tx: Tx, partnerId: string) => Promise<readonly Limit[]>
  /** What was counted stays: the limit that is set next counts on from there. Refuses: not_found. */
  readonly remove: (tx: Tx, partnerId: string, id: string) => Promise<Limit>
}

type LimitsDeps = {
  readonly clock: Clock
  readonly ledger: Pick<Ledger, 'setControlled'>
  readonly customers: Pick<Customers, 'find'>
  readonly beneficiaries: Pick<Beneficiaries, 'payeesByIds'>
}

export function createLimits({ clock, ledger, customers, beneficiaries }: LimitsDeps): Limits {
  const scopeIdOf = async (tx: Tx, { partnerId, scope, scopeRef }: NewLimit): Promise<string> => {
    if (scopeRef === undefined || scope === 'partner') return nilId
    if (scope === 'customer') return (await customers.find(tx, partnerId, scopeRef)).id
    const [found] = (await beneficiaries.payeesByIds(tx, [{ partnerId, id: scopeRef }])).values()
    if (found === undefined) throw notFound('beneficiary')
    return found.id
  }
  return {
    set: async (tx, limit) => {
      const { scopeRef: _named, ...rest } = limit
      const scopeId = await scopeIdOf(tx, limit)
      return changeControls(tx, ledger, limit, () => store.setLimit(tx, { ...rest, id: newId(), scopeId }, clock.now()))
    },
    list: store.listLimits,
    remove: async (tx, partnerId, id) => {
      const limit = await store.limitById(tx, partnerId, id)
      if (limit === undefined) throw notFound('limit')
      return changeControls(tx, ledger, limit, async () => {
        if ((await store.removeLimit(tx, partnerId, id)) === 0) throw notFound('limit')
        return limit
      })
    },
  }
}
