/** The verbs with which the operator sets how long a new beneficiary is not paid. Each joins the caller's transaction. */
import { notFound } from '../../api/index.ts'
import { type Clock, newId } from '../../kernel/index.ts'
import type { Ledger } from '../../ledger/index.ts'
import type { Tx } from '../../postgres/index.ts'
import { changeControls } from './controls.ts'
import type { CoolingOff } from './cooling-off-rules.ts'
import * as store from './store-cooling-offs.ts'

export type CoolingOffs = {
  /** Sets the hours of a currency, or replaces them. They hold at once, also for beneficiaries that are there. */
  readonly set: (tx: Tx, rule: Omit<CoolingOff, 'id'>) => Promise<CoolingOff>
  readonly list: (tx: Tx, partnerId: string) => Promise<readonly CoolingOff[]>
  /** Refuses: not_found. */
  readonly remove: (tx: Tx, partnerId: string, id: string) => Promise<CoolingOff>
}

type CoolingOffsDeps = { readonly clock: Clock; readonly ledger: Pick<Ledger, 'setControlled'> }

export const createCoolingOffs = ({ clock, ledger }: CoolingOffsDeps): CoolingOffs => ({
  set: (tx, rule) =>
    changeControls(tx, ledger, rule, () => store.setCoolingOff(tx, { ...rule, id: newId() }, clock.now())),
  list: store.listCoolingOffs,
  remove: async (tx, partnerId, id) => {
    const rule = (await store.listCoolingOffs(tx, partnerId)).find((each) => each.id === id)
    if (rule === undefined) throw notFound('cooling-off')
    return changeControls(tx, ledger, rule, async () => {
      if ((await store.removeCoolingOff(tx, partnerId, id)) === 0) throw notFound('cooling-off')
      return rule
    })
  },
})
