/** The verbs with which the operator sets what payouts cost. Each joins the caller's transaction. */
import { notFound } from '../../api/index.ts'
import { assert, type Clock, newId } from '../../kernel/index.ts'
import type { Ledger } from '../../ledger/index.ts'
import type { Tx } from '../../postgres/index.ts'
import { changeControls } from './controls.ts'
import type { FeeRule } from './fee-rules.ts'
import * as store from './store-fees.ts'

export type NewFeeRule = Omit<FeeRule, 'id' | 'validFrom'> & {
  /** Absent: from now on. */
  readonly validFrom?: Date | undefined
}

export type Fees = {
  /** Sets a rule, or replaces the one with the same currency, rail and time. Accepted payouts keep their fees. */
  readonly set: (tx: Tx, rule: NewFeeRule) => Promise<FeeRule>
  /** By currency and rail, oldest first. */
  readonly list: (tx: Tx, partnerId: string) => Promise<readonly FeeRule[]>
  /** Refuses: not_found. */
  readonly remove: (tx: Tx, partnerId: string, id: string) => Promise<FeeRule>
}

type FeesDeps = { readonly clock: Clock; readonly ledger: Pick<Ledger, 'setControlled'> }

export const createFees = ({ clock, ledger }: FeesDeps): Fees => ({
  set: (tx, rule) => {
    const now = clock.now()
    assert(rule.maxAmount === null || rule.maxAmount >= rule.minAmount, 'the largest fee is not below the smallest')
    return changeControls(tx, ledger, rule, () =>
      store.setFee(tx, { ...rule, id: newId(), validFrom: rule.validFrom ?? now }, now),
    )
  },
  list: store.listFees,
  remove: async (tx, partnerId, id) => {
    const rule = (await store.listFees(tx, partnerId)).find((each) => each.id === id)
    if (rule === undefined) throw notFound('fee rule')
    return changeControls(tx, ledger, rule, async () => {
      if ((await store.removeFee(tx, partnerId, id)) === undefined) throw notFound('fee rule')
      return rule
    })
  },
})
