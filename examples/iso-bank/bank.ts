/**
 * A small bank of ISO 20022 files: the other side of the connector `iso20022`. It takes pain.001 and camt.055 from the folder
 * `to-bank`, and puts pain.002, camt.052, camt.053, camt.054 and camt.029 into `from-bank`. It shares no code with the service but the
 * kernel. What it has done is a journal, so that it may be killed at any time. Orders choose what it does wrong.
 */
import { join } from 'node:path'
import { type Clock, systemClock } from '../../service/src/kernel/index.ts'
import { createDraft, type Draft, newReference } from './draft.ts'
import { doTask } from './execute.ts'
import { type Folder, openFolder } from './folder.ts'
import { openJournal } from './journal.ts'
import type { BankAccount, Book, Order } from './model.ts'
import { type OrderAnswer, takeOrder } from './orders.ts'
import { makeStatements, reportDay } from './reports.ts'
import { apply, bookOf, createState, type Record, type State } from './state.ts'
import { take } from './take.ts'

export type IsoBank = {
  readonly toBank: string
  readonly fromBank: string
  readonly order: (order: Order) => OrderAnswer
  /** Does what is due now, and answers how much that was. */
  readonly step: () => number
  readonly book: () => Book
  readonly close: () => void
}

type IsoBankOptions = {
  readonly folder: string
  readonly accounts?: readonly BankAccount[]
  readonly clock?: Clock
  /** How often the bank looks by itself. Null, the default: only when `step` is called. */
  readonly pollMs?: number | null
}

export const accountsDefault: readonly BankAccount[] = [
  { iban: 'DE02120300000000202051', currency: 'EUR', owner: 'Partner Payments', opening: 10n ** 13n },
  { iban: 'GB33BUKB20201555555555', currency: 'GBP', owner: 'Partner Payments', opening: 10n ** 13n },
  { iban: 'DE02500105170137075030', currency: 'USD', owner: 'Partner Payments', opening: 10n ** 13n },
]

type Parts = {
  readonly clock: Clock
  readonly state: State
  readonly folder: Folder
  readonly commit: (draft: Draft) => void
  /** Names of files that may still have to be sent, and of those whose first half is out. */
  readonly unsent: Set<string>
  readonly halved: Set<string>
}

export function startIsoBank(options: IsoBankOptions): IsoBank {
  const { clock = systemClock, pollMs = null } = options
  const folder = openFolder(options.folder, newReference)
  const state = createState(options.accounts ?? accountsDefault)
  const journal = openJournal<Record>(join(folder.state, 'journal.jsonl'), (record) => apply(state, record))
  const unsent = new Set([...state.files.keys()].filter((name) => folder.isWaiting(name)))
  const commit = ({ records, bytes }: Draft) => {
    // Before the journal names them: a file that it does not name is none.
    folder.write(bytes)
    journal.commit(records)
    for (const record of records) {
      if (record.t === 'file') unsent.add(record.file.name)
      if (record.t === 'sent again') folder.remove(record.name)
    }
  }
  const parts: Parts = { clock, state, folder, commit, unsent, halved: new Set() }
  const timer = pollMs === null ? undefined : setInterval(() => step(parts), pollMs)
  return {
    toBank: folder.toBank,
    fromBank: folder.fromBank,
    order: (order) => {
      const draft = createDraft(state, clock)
      const answer = takeOrder(draft, order, folder.read)
      commit(draft)
      return answer
    },
    step: () => step(parts),
    book: () => bookOf(state),
    close: () => {
      clearInterval(timer)
      journal.close()
    },
  }
}

function step(parts: Parts): number {
  return takeFiles(parts) + doTasks(parts) + tell(parts) + publish(parts)
}

function takeFiles({ clock, state, folder, commit }: Parts): number {
  const fresh = folder.taken().filter(({ inbox }) => !state.inbox.has(inbox))
  for (const { inbox, name } of fresh) {
    const draft = createDraft(state, clock)
    take(draft, inbox, name, folder.readTaken(inbox))
    commit(draft)
  }
  return fresh.length
}

function doTasks({ clock, state, commit }: Parts): number {
  const now = clock.now().toISOString()
  const due = [...state.tasks.values()].filter(({ at }) => at <= now)
  for (const task of due) {
    const draft = createDraft(state, clock)
    doTask(draft, task)
    commit(draft)
  }
  return due.length
}

/** A report of what was booked, and a statement if it is time. */
function tell({ clock, state, commit }: Parts): number {
  const draft = createDraft(state, clock)
  reportDay(draft)
  commit(draft)
  const { statementEveryMs } = state.settings
  const last = state.accounts[0]?.statements.at(-1)?.at
  const age = last === undefined ? Number.POSITIVE_INFINITY : draft.now.getTime() - new Date(last).getTime()
  if (statementEveryMs === null || age < statementEveryMs) return draft.records.length
  const statements = createDraft(state, clock)
  makeStatements(statements)
  commit(statements)
  return draft.records.length + statements.records.length
}

function publish({ clock, state, folder, unsent, halved }: Parts): number {
  const now = clock.now().toISOString()
  const due = [...unsent]
    .flatMap((name) => state.files.get(name) ?? [])
    .filter(({ at, how }) => at <= now && !/^(?:kept|omitted)$/.test(how))
  for (const { name, how } of state.settings.shuffles ? due.toReversed() : due) {
    if (how === 'half' && !halved.has(name)) {
      folder.publishHalf(name)
      halved.add(name)
      continue
    }
    folder.publish(name)
    unsent.delete(name)
    halved.delete(name)
  }
  return due.length
}
