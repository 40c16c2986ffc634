/** The sealed data of screening: details of hits, and earlier names of subjects. */
import type { SealedColumn, Tx } from '../postgres/index.ts'
import { type Clock, newId, type Sealer } from '../kernel/index.ts'
import { distinctNames, type SubjectKey, type SubjectName } from './rules.ts'
import { listEarlierNames, insertEarlierNames } from './store-lists.ts'
import { ownJson } from '@partner-payments/wire'
import type { ListedFacts, ListEntry } from './lists/entry.ts'
import type { WordMatch } from './names/compare.ts'
import type { HitRow } from './store.ts'

/** Binds the names of a hit to its row. */
const hitContext = (partnerId: string, id: string) => ['screening.hits', partnerId, id]

export const sealedHits: SealedColumn = {
  table: 'screening.hits',
  column: 'detail_sealed',
  key: { id: 'uuid' },
  contextOf: (partnerId, cell) => hitContext(partnerId, cell('id')),
}

/** Binds an earlier name to its row. */
const earlierNameContext = (partnerId: string, id: string) => ['screening.earlier_names', partnerId, id]

export const sealedEarlierNames: SealedColumn = {
  table: 'screening.earlier_names',
  column: 'name_sealed',
  key: { id: 'uuid' },
  contextOf: (partnerId, cell) => earlierNameContext(partnerId, cell('id')),
}

// The earlier names of a subject, which are screened too, because a payment may contain them.

export async function readEarlierNames(tx: Tx, sealer: Sealer, key: SubjectKey): Promise<readonly SubjectName[]> {
  const rows = await listEarlierNames(tx, key)
  return rows.map(({ partnerId, id, role, nameSealed }) => ({
    role,
    name: sealer.open(nameSealed, earlierNameContext(partnerId, id)),
  }))
}

/** Stores earlier names without repetitions in a role. The caller has locked the row of the subject's module. */
export async function keepEarlierNames(
  tx: Tx,
  { clock, sealer }: { readonly clock: Clock; readonly sealer: Sealer },
  key: SubjectKey,
  names: readonly SubjectName[],
): Promise<void> {
  const known = await readEarlierNames(tx, sealer, key)
  const added = distinctNames([...known, ...names]).filter((name) => !known.includes(name))
  if (added.length === 0) return
  const { partnerId, kind: subjectKind, id: subjectId } = key
  const rows = added.map(({ role, name }) => {
    const id = newId()
    const nameSealed = sealer.seal(name, earlierNameContext(partnerId, id))
    return { partnerId, id, subjectKind, subjectId, role, nameSealed, replacedAt: clock.now() }
  })
  await insertEarlierNames(tx, rows)
}

// The details of a hit for the person who decides: names and words, sealed in its row.

export type HitDetail = Pick<ListEntry, 'reference' | 'kind' | 'births' | 'programmes'> &
  ListedFacts & {
    readonly name: string
    readonly listedName: string
    readonly isReordered: boolean
    readonly words: readonly WordMatch[]
    /** All names of the entry, the primary one first. Undefined: an earlier version opened the hit. */
    readonly listedNames?: readonly string[]
    /** When the list of the hit was published, in ISO 8601. */
    readonly publishedAt?: string
  }

export const sealDetail = (sealer: Sealer, partnerId: string, id: string, detail: HitDetail): Buffer =>
  sealer.seal(JSON.stringify(detail), hitContext(partnerId, id))

export const openDetail = (
  sealer: Sealer,
  { partnerId, id, detailSealed }: Pick<HitRow, 'partnerId' | 'id' | 'detailSealed'>,
): HitDetail => ownJson<HitDetail>(sealer.open(detailSealed, hitContext(partnerId, id)))
