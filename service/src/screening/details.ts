/** Details of a hit for the person who decides: names and words, sealed in its row. */
import { ownJson } from '@partner-payments/wire'
import type { Sealer } from '../kernel/index.ts'
import type { ListedFacts, ListEntry } from './lists/entry.ts'
import type { WordMatch } from './names/compare.ts'
import type { HitRow } from './store.ts'
import { hitContext } from './sealed.ts'

export type HitDetail = Pick<ListEntry, 'reference' | 'kind' | 'births' | 'programmes'> &
  ListedFacts & {
    readonly name: string
    readonly listedName: string
    readonly isReordered: boolean
    readonly words: readonly WordMatch[]
    /** Every name of the entry, the primary one first. Undefined: an earlier version opened the hit. */
    readonly listedNames?: readonly string[]
    /** When the list was published by which the hit was opened, as a time of ISO 8601. */
    readonly publishedAt?: string
  }

export const sealDetail = (sealer: Sealer, partnerId: string, id: string, detail: HitDetail): Buffer =>
  sealer.seal(JSON.stringify(detail), hitContext(partnerId, id))

export const openDetail = (
  sealer: Sealer,
  { partnerId, id, detailSealed }: Pick<HitRow, 'partnerId' | 'id' | 'detailSealed'>,
): HitDetail => ownJson<HitDetail>(sealer.open(detailSealed, hitContext(partnerId, id)))
