/** The sealed keys of chain connectors, and the sealed parties of their transfers. */
import type { SealedColumn } from '../../postgres/index.ts'

/** Binds a sealed key to its name. */
export const keyContext = (name: string) => ['rails.chain_keys', name]

export const sealedChainKeys: SealedColumn = {
  table: 'rails.chain_keys',
  column: 'secret_sealed',
  key: { name: 'text' },
  isShared: true,
  contextOf: (_partnerId, cell) => keyContext(cell('name')),
}

/** Binds the sealed parties of a transfer to their row. */
export const travelRuleContext = (partnerId: string, id: string) => ['rails.travel_rule', partnerId, id]

export const sealedTravelRules: SealedColumn = {
  table: 'rails.chain_transfers',
  column: 'travel_rule_sealed',
  key: { id: 'uuid' },
  contextOf: (partnerId, cell) => travelRuleContext(partnerId, cell('id')),
}
