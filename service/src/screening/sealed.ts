/** The sealed names of screening: the details of hits, and names that were replaced. */
import type { SealedColumn } from '../postgres/index.ts'

/** Binds the names of a hit to its row. */
export const hitContext = (partnerId: string, id: string) => ['screening.hits', partnerId, id]

export const sealedHits: SealedColumn = {
  table: 'screening.hits',
  column: 'detail_sealed',
  key: { id: 'uuid' },
  contextOf: (partnerId, cell) => hitContext(partnerId, cell('id')),
}

/** Binds an earlier name to its row. */
export const earlierNameContext = (partnerId: string, id: string) => ['screening.earlier_names', partnerId, id]

export const sealedEarlierNames: SealedColumn = {
  table: 'screening.earlier_names',
  column: 'name_sealed',
  key: { id: 'uuid' },
  contextOf: (partnerId, cell) => earlierNameContext(partnerId, cell('id')),
}
