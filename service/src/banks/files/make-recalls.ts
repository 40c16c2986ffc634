/** Makes files of waiting recalls: a recall names one batch of one message of ours. */
import { newId } from '../../kernel/index.ts'
import type { BankDeps } from './deps.ts'
import { fileNameOf, messageIdOf, type RecallKind } from './ids.ts'
import { recallMessage } from './recall-message.ts'
import { byShard } from './shards.ts'
import { filesByIds, insertFile } from './store-instructions.ts'
import * as store from './store-recalls.ts'

const recallsPerFileMax = 500

/** Returns how many recalls are in the file that it made. */
export function createMakeRecalls({ db, clock, rules }: BankDeps, kind: RecallKind, onMade: (recalls: number) => void) {
  return async (): Promise<number> => {
    const queued = await store.queuedRecalls(db, rules.id, recallsPerFileMax)
    const originals = await filesByIds(db, [...new Set(queued.map(({ fileId }) => fileId))])
    // A payment whose file is under way is recalled after it.
    const first = queued.find(({ fileId }) => originals.get(fileId)?.state === 'Delivered')
    const original = first && originals.get(first.fileId)
    if (original === undefined) return 0
    const recalls = queued.filter(({ batchId }) => batchId === first?.batchId)
    const id = newId()
    const now = clock.now()
    const made = await db.transaction(async (tx) => {
      const keys = recalls.map(({ partnerId, recallId }) => ({ partnerId, id: recallId }))
      const locked = (await Promise.all(byShard(tx, keys).map((group) => store.lockRecalls(tx, group)))).flat()
      if (locked.length === 0) return 0
      const ids = new Set(locked.map((key) => key.id))
      const messageId = messageIdOf(kind, id)
      const name = fileNameOf(kind, messageId)
      const file = { id, kind, messageId, messageName: `${kind}.001.08`, name, madeAt: now }
      const { contents } = recallMessage(
        file,
        original,
        recalls.filter(({ recallId }) => ids.has(recallId)),
        rules,
      )
      insertFile(tx, rules.id, { ...file, ...contents, state: 'Made', stagedName: null, leaseId: null })
      for (const group of byShard(tx, locked)) store.fileRecalls(tx, group, id, now)
      return locked.length
    })
    if (made > 0) onMade(made)
    return made
  }
}
