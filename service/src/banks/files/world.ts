/** The context of a page's bookings before they are matched: instructions that they may name, under their locks. */
import { partnerKey } from '../../kernel/index.ts'
import type { Tx } from '../../postgres/index.ts'
import { readInstructionId } from './ids.ts'
import { type Originals, readOriginals } from './reversals.ts'
import { byShard } from './shards.ts'
import * as entries from './store-entries.ts'
import * as words from './store-incoming.ts'
import type { Unit } from './units.ts'

/** A copy that changes while the bookings of a page are matched in turn. */
export type Payment = { -readonly [K in keyof words.Sent]: words.Sent[K] }

export type World = {
  /** Payments of the booking's InstrId; without a known one all with its end-to-end id. */
  readonly named: (unit: Unit) => readonly Payment[]
  /** Payments of the batches and messages that a sum names. */
  readonly batched: (unit: Unit) => readonly Payment[]
  readonly originals: Originals
  /** Debits of an instruction in addition to its own. */
  readonly doubled: (payment: Payment) => readonly { readonly id: string; readonly isReversed: boolean }[]
  readonly changed: Map<string, Payment>
  /** Originals and doubled debits that this page reverses. */
  readonly takenBack: Set<string>
}

const nameOf = ({ references: { instruction, endToEnd } }: Unit): words.Named => ({
  id: instruction === null ? undefined : readInstructionId(instruction)?.id,
  endToEndId: endToEnd,
})

export async function readWorld(tx: Tx, of: entries.AccountKey, units: readonly Unit[]): Promise<World> {
  const { connector, operatorId } = of
  const sums = units.filter(({ isSum, amount }) => isSum && amount < 0n)
  const [referenced, inBatches] = await Promise.all([
    words.sentByReferences(tx, connector, units.map(nameOf)),
    readBatches(tx, connector, sums),
  ])
  const payments = await lockAll(tx, connector, [...referenced, ...inBatches.sent])
  const reversals = units.filter(isTakingBack).map(({ references }) => references)
  const originals = await readOriginals(tx, of, reversals)
  const takenBackOf = await entriesTakenBack(tx, operatorId, units, payments)
  const byId = Map.groupBy(payments, ({ id }) => id)
  const byEndToEnd = Map.groupBy(payments, ({ endToEndId }) => endToEndId)
  const byBatch = Map.groupBy(payments, ({ batchId }) => batchId)
  const byFile = Map.groupBy(payments, ({ fileId }) => fileId)
  const fileOf = (messageId: string) => inBatches.files.find((file) => file.messageId === messageId)?.id ?? ''
  return {
    named: (unit) => {
      const { id = '', endToEndId } = nameOf(unit)
      return byId.get(id) ?? byEndToEnd.get(endToEndId ?? '') ?? []
    },
    batched: ({ references: { batches, messages } }) =>
      batches.length > 0
        ? batches.flatMap((id) => byBatch.get(id) ?? [])
        : messages.flatMap((id) => byFile.get(fileOf(id)) ?? []),
    originals,
    doubled: ({ id }) => takenBackOf.get(id) ?? [],
    changed: new Map(),
    takenBack: new Set(),
  }
}

type Batches = { readonly sent: readonly words.Sent[]; readonly files: readonly words.OurFile[] }

/** A bank names the batch (PmtInfId), or only the message. */
async function readBatches(tx: Tx, connector: string, sums: readonly Unit[]): Promise<Batches> {
  const batchIds = new Set(sums.flatMap(({ references: { batches } }) => batches))
  const messageIds = sums.flatMap(({ references: { batches, messages } }) => (batches.length > 0 ? [] : messages))
  const files = messageIds.length === 0 ? [] : await words.filesByMessageIds(tx, connector, messageIds)
  const [ofBatches, ofFiles] = await Promise.all([
    batchIds.size === 0 ? [] : words.sentByBatches(tx, connector, [...batchIds]),
    files.length === 0
      ? []
      : words.sentByFiles(
          tx,
          connector,
          files.map(({ id }) => id),
        ),
  ])
  return { sent: [...ofBatches, ...ofFiles], files }
}

async function lockAll(tx: Tx, connector: string, found: readonly words.Sent[]): Promise<readonly Payment[]> {
  const once = [...new Map(found.map((sent) => [partnerKey(sent.partnerId, sent.id), sent])).values()]
  const locked: Payment[] = []
  for (const group of byShard(tx, once)) {
    const rows = await words.lockSent(tx, connector, group)
    locked.push(...rows.map((row) => ({ ...row })))
  }
  return locked
}

const isTakingBack = ({ isReversal, amount }: Unit): boolean => isReversal && amount < 0n

async function entriesTakenBack(
  tx: Tx,
  operatorId: string,
  units: readonly Unit[],
  payments: readonly Payment[],
): Promise<ReadonlyMap<string, readonly { readonly id: string; readonly isReversed: boolean }[]>> {
  const isAny = units.some(({ isReversal, amount }) => isReversal && amount > 0n)
  if (!isAny || payments.length === 0) return new Map()
  const ids = payments.map(({ id }) => id)
  return Map.groupBy(await entries.doubledDebits(tx, operatorId, ids), ({ subjectId }) => subjectId)
}
