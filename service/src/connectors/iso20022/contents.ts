/** The bytes of a file to be staged: they are built from rows, and checked against the hash of its row. */
import { createHash } from 'node:crypto'
import { present } from '../../kernel/index.ts'
import type { BankDeps } from './deps.ts'
import { batchIdsOf } from './ids.ts'
import { executionDateOf, type Message, paymentsMessage } from './message.ts'
import { openPayers } from './payer.ts'
import { recallMessage } from './recall-message.ts'
import type { RecentBytes } from './recent-bytes.ts'
import * as files from './store-files.ts'
import { paymentsOfBatches } from './store-queue.ts'
import { recallsOfFile } from './store-recalls.ts'

type Held = files.OutgoingFile & { readonly leaseId: string }
export type Made = { readonly bytes: Buffer; readonly madeAt: Date }

/** Undefined: the lease was lost. */
export function createContents(deps: BankDeps, recent: RecentBytes) {
  const { db, log, rules } = deps
  return async (file: Held): Promise<Made | undefined> => {
    const kept = recent.take(file.id)
    const isKept = kept !== undefined && createHash('sha256').update(kept).digest('hex') === file.sha256
    const payments =
      isKept || file.kind !== 'pain.001' ? [] : await paymentsOfBatches(db, rules.id, batchIdsOf(file.id))
    const madeAt = dateIsOver(deps, file, payments[0]) ? deps.clock.now() : file.madeAt
    if (isKept && madeAt === file.madeAt) return { bytes: kept, madeAt }
    const message = await messageOf(deps, { ...file, madeAt }, payments)
    const { sha256 } = message.contents
    if (sha256 !== file.sha256) {
      const facts = { connector: rules.id, file: file.name, sha256, earlier: file.sha256 }
      log.warn(facts, 'file remade before its delivery: its day is over, or the configuration has changed')
      const messageName = file.kind === 'pain.001' ? rules.profile.message : file.messageName
      if ((await files.remake(db, { ...file, messageName }, madeAt, message.contents)) === 0) return undefined
    }
    return { bytes: message.bytes, madeAt }
  }
}

type Payments = Awaited<ReturnType<typeof paymentsOfBatches>>

/** A file that could not be delivered for days requests an execution date that has passed. */
function dateIsOver({ clock, rules }: BankDeps, { madeAt }: Held, payment: Payments[number] | undefined): boolean {
  if (payment === undefined) return false
  const { schemeApplied } = payment
  return executionDateOf(schemeApplied, madeAt, rules) < executionDateOf(schemeApplied, clock.now(), rules)
}

async function messageOf(deps: BankDeps, file: Held, payments: Payments): Promise<Message> {
  const { db, rules } = deps
  const { kind } = file
  if (kind === 'pain.001') return paymentsMessage(file, openPayers(deps, payments), rules)
  const recalls = await recallsOfFile(db, file.id)
  const [first] = recalls
  const fileId = present(first?.fileId, 'a recall names the file of its payment')
  const original = (await files.filesByIds(db, [fileId])).get(fileId)
  return recallMessage({ ...file, kind }, present(original, 'the file of a payment is kept'), recalls, rules)
}
