/**
 * Inbox: notifications of people. A change adds a fact in its own transaction. A job adds an entry for each person who
 * may see it, and another job mails the entries as each person has chosen. See README.md.
 *
 * Tables: inbox.facts, inbox.counts, inbox.entries, inbox.readers. Invariants: each fact is processed once; a person
 * has one entry for an occasion; an entry is mailed at most once; each display and each mail checks the rights that the
 * person has at that moment. Entries are deleted after 90 days.
 */
import { defineJob, type Job } from '../postgres/jobs/index.ts'
import { after, type Clock, dayMs, hourMs } from '../kernel/index.ts'
import type { Database } from '../postgres/index.ts'
import { createMailStep } from './mails.ts'
import { createReaders, type Inbox as Readers, type ReadersDeps } from './readers.ts'
import { createSpreadStep } from './spread.ts'
import * as store from './store.ts'

export { createFactQueue, type FactQueue } from './facts.ts'
export { zoneNames } from './hours.ts'
export { mailFrequencies } from './kinds.ts'
export { renderInboxMail } from './mails.ts'
export type { MailChoices, InboxEntry, Reader } from './readers.ts'
export type { FactKey } from './spread.ts'
export type { FactDetails } from './words.ts'

const keptMs = 90 * dayMs
const partnersPerStepMax = 100

export type Inbox = Readers & {
  /** Adds the entries of due facts. Returns the number of processed facts. */
  readonly spreadStep: () => Promise<number>
  /** Queues the due mails. Returns the number of people checked. */
  readonly mailStep: () => Promise<number>
  /** Deletes entries that are 90 days old. Returns their number. */
  readonly retain: () => Promise<number>
}

export const createInbox = (deps: ReadersDeps): Inbox => ({
  ...createReaders(deps),
  spreadStep: createSpreadStep(deps),
  mailStep: createMailStep(deps),
  retain: createRetain(deps),
})

const createRetain =
  ({ db, clock }: { readonly db: Database; readonly clock: Clock }) =>
  async (): Promise<number> => {
    const before = after(clock.now(), -keptMs)
    const found = await store.partnersWithOldEntries(db, before, partnersPerStepMax)
    let deleted = 0
    for (const partnerId of new Set(found.map((row) => row.partnerId)))
      deleted += await db.transaction(async (tx) => {
        await store.deleteOldCounts(tx, partnerId, before)
        return store.deleteOldEntries(tx, partnerId, before)
      })
    return deleted
  }

export const inboxJobs = ({ spreadStep, mailStep, retain }: Inbox): readonly Job[] => [
  defineJob({ name: 'inbox.facts', due: store.factsDue, run: spreadStep, age: { queue: 'inbox_facts' } }),
  defineJob({ name: 'inbox.mails', due: store.mailsDue, run: mailStep }),
  defineJob({ name: 'inbox.retention', everyMs: hourMs, run: retain }),
]
