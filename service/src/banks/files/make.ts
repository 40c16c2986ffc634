/** Makes files of waiting payments: a row for the file, and payments that name it, in one transaction. */
import { type Currency, newId } from '../../kernel/index.ts'
import { nextWindow } from '../../rails/index.ts'
import { type BankDeps, type Scheme, schemes } from './deps.ts'
import { fileNameOf, messageIdOf } from './ids.ts'
import { groupedByFile, inBatch, paymentsMessage } from './message.ts'
import type { Tx } from '../../postgres/index.ts'
import { openPayers } from './payer.ts'
import type { RecentBytes } from './recent-bytes.ts'
import { kindOf } from './schemes.ts'
import { byShard } from './shards.ts'
import { adoptedOf } from './store-statements.ts'
import { insertFile } from './store-instructions.ts'
import * as store from './store-instructions.ts'

/** Returns how many payments are in files that it made. */
export function createFileMaker(deps: BankDeps, recent: RecentBytes, onMade: (payments: number) => void) {
  return async (): Promise<number> => {
    const made = await Promise.all(schemes.map((scheme) => makeFile(deps, recent, scheme)))
    for (const payments of made) if (payments > 0) onMade(payments)
    return made.reduce((sum, count) => sum + count, 0)
  }
}

async function makeFile(deps: BankDeps, recent: RecentBytes, scheme: Scheme): Promise<number> {
  const { db, clock, rules } = deps
  const now = clock.now()
  // A payment whose window closed before it was in a file waits for the next window of its currency.
  const isOpen = (currency: Currency) => scheme === 'Instant' || nextWindow(now, rules, currency).opensAt <= now
  const open = [...new Set(rules.accounts.map(({ currency }) => currency))].filter(isOpen)
  if (open.length === 0) return 0
  const queued = await store.queuedPayments(
    db,
    { connector: rules.id, scheme, currencies: open },
    now,
    rules.paymentsPerFileMax,
  )
  const [oldest] = queued
  const windowMs = scheme === 'Instant' ? rules.instantWindowMs : rules.fileWindowMs
  const isDue =
    queued.length >= rules.paymentsPerFileMax || (oldest && oldest.dueAt.getTime() + windowMs <= now.getTime())
  if (!isDue) return 0
  const files = await db.transaction(async (tx) => {
    const groups = byShard(tx, queued)
    const locked = await Promise.all(groups.map((group) => store.lockQueued(tx, rules.id, scheme, group)))
    const found = await withoutAdopted(deps, tx, locked.flat(), now)
    return groupedByFile(openPayers(deps, found), rules).flatMap((payments) => makeOne(deps, tx, payments, now) ?? [])
  })
  for (const { id, bytes } of files) recent.keep(id, bytes)
  return files.reduce((sum, { payments }) => sum + payments, 0)
}

/** Undefined: the bank's profile has changed and carries no such payments. They stay in the queue. */
function makeOne({ log, rules }: BankDeps, tx: Tx, payments: readonly store.Payment[], madeAt: Date) {
  const [first] = payments
  const kind = first && kindOf(first, rules)
  if (kind === undefined || rules.profile.kinds[kind] === undefined) {
    const facts = { connector: rules.id, profile: rules.profile.id, kind, payments: payments.length }
    log.error(facts, "payments wait that the bank's profile does not carry")
    return undefined
  }
  const id = newId()
  const messageId = messageIdOf('pain.001', id)
  const name = fileNameOf('pain.001', messageId)
  const file = { id, kind: 'pain.001' as const, messageId, messageName: rules.profile.message, name, madeAt }
  const filed = inBatch(id, payments)
  const { contents, bytes } = paymentsMessage(file, filed, rules)
  insertFile(tx, rules.id, { ...file, ...contents, state: 'Made', stagedName: null, leaseId: null })
  for (const group of byShard(tx, filed)) store.fileInstructions(tx, group, id, madeAt)
  return { id, bytes, payments: payments.length }
}

/** The payments that the bank does not have. The others belong to a file that the database did not know: adopt.ts. */
async function withoutAdopted(
  { rules }: BankDeps,
  tx: Tx,
  payments: readonly store.Stored[],
  now: Date,
): Promise<readonly store.Stored[]> {
  const ids = payments.map(({ id }) => id)
  const found = ids.length === 0 ? [] : await adoptedOf(tx, rules.id, ids)
  if (found.length === 0) return payments
  const adopted = new Map(found.map((one) => [`${one.id} ${one.attempt}`, one]))
  const fileOf = ({ id, attempt }: store.Stored) => adopted.get(`${id} ${attempt}`)
  for (const [fileId, ofFile] of Map.groupBy(payments, (payment) => fileOf(payment)?.fileId)) {
    if (fileId === undefined) continue
    const rows = ofFile.map((payment) => ({ ...payment, batchId: fileOf(payment)?.batchId ?? '' }))
    for (const group of byShard(tx, rows)) store.fileInstructions(tx, group, fileId, now)
  }
  return payments.filter((payment) => fileOf(payment) === undefined)
}
