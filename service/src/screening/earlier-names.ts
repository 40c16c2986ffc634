/** The earlier names of a subject. It is screened under them too, because a payment may name them. */
import { type Clock, newId, type Sealer } from '../kernel/index.ts'
import type { Tx } from '../postgres/index.ts'
import { distinctNames, type SubjectKey, type SubjectName } from './rules.ts'
import { earlierNameContext } from './sealed.ts'
import { earlierNamesOf, insertEarlierNames } from './store-lists.ts'

export async function readEarlierNames(tx: Tx, sealer: Sealer, key: SubjectKey): Promise<readonly SubjectName[]> {
  const rows = await earlierNamesOf(tx, key)
  return rows.map(({ partnerId, id, role, nameSealed }) => ({
    role,
    name: sealer.open(nameSealed, earlierNameContext(partnerId, id)),
  }))
}

/** Keeps each name once in its role. The caller holds the lock of the subject's own row. */
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
