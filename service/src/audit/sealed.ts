/** The sealed keys that sign heads. */
import type { SealedColumn } from '../postgres/index.ts'

/** Binds a sealed key to its row. */
export const keyContext = (partnerId: string, id: string): readonly string[] => ['audit.keys', partnerId, id]

export const sealedAuditKeys: SealedColumn = {
  table: 'audit.keys',
  column: 'private_key_sealed',
  key: { id: 'uuid' },
  contextOf: (partnerId, cell) => keyContext(partnerId, cell('id')),
}
