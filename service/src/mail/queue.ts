/** The queue of outgoing mails: callers enqueue in their own transaction, the worker claims under a lease. */
import { after, type Clock, dayMs, newId, type Sealer } from '../kernel/index.ts'
import type { SealedColumn, Tx } from '../postgres/index.ts'
import * as store from './store.ts'
import type { ClaimedMail } from './store.ts'
import type { Mailbox } from './transport.ts'

/** The fields that a template needs, apart from those that every mail has. */
export type MailData = Readonly<Record<string, string | null>>

export type NewMail = {
  /** Names the template that renders the mail. */
  readonly kind: string
  /** Subject of the mail, by which `endPending` finds it. */
  readonly subjectId: string
  readonly to: Mailbox
  readonly data: MailData
  /** Sealed in the row, and erased when the mail ends. */
  readonly secret: string | null
  /** The mail is not sent from this time on. */
  readonly expiresAt: Date | null
}

/** The callers use the first two verbs, the worker uses the others. `false` says that a lease was lost: nothing is recorded. */
export type MailQueue = {
  /** Queues mails in the caller's transaction: what commits is sent, at least once. */
  readonly enqueue: (tx: Tx, partnerId: string, mails: readonly NewMail[]) => Promise<void>
  /** Ends the mails about a subject that are not sent yet. A mail that a worker is sending may still arrive. */
  readonly endPending: (tx: Tx, partnerId: string, subjectId: string, reason: string) => Promise<void>
  /** Partners with due mail, the longest due first, without a lock. */
  readonly partnersWithDueMail: (tx: Tx, partnersMax: number) => Promise<readonly string[]>
  /** Leases due mails of a partner and skips those that another worker is claiming. After the lease they are due again. */
  readonly claim: (tx: Tx, partnerId: string, leaseMs: number, mailsMax: number) => Promise<readonly ClaimedMail[]>
  /** Throws an AssertionFailure if the master key that sealed the secret is no longer configured. */
  readonly secretOf: (mail: ClaimedMail) => string | null
  readonly recordSent: (tx: Tx, mail: ClaimedMail) => Promise<boolean>
  /** Makes the mail due again at `dueAt`; null ends it. */
  readonly recordFailure: (tx: Tx, mail: ClaimedMail, error: string, dueAt: Date | null) => Promise<boolean>
  /** Deletes the partner's mails that ended 30 days ago. */
  readonly deleteOld: (tx: Tx, partnerId: string) => Promise<void>
}

/** Retention of mails: as long as events and delivery attempts. */
const keptMs = 30 * dayMs

/** Replaces unpaired surrogates, which PostgreSQL refuses in jsonb. */
const toJson = (data: MailData): string =>
  JSON.stringify(data, (_key, value: unknown) => (typeof value === 'string' ? value.toWellFormed() : value))

export function createMailQueue({ clock, sealer }: { readonly clock: Clock; readonly sealer: Sealer }): MailQueue {
  const toRow = (partnerId: string, mail: NewMail, now: Date): store.MailRow => {
    const id = newId()
    return {
      id,
      kind: mail.kind,
      subjectId: mail.subjectId,
      toAddress: mail.to.address,
      toName: mail.to.name,
      data: toJson(mail.data),
      secretSealed: mail.secret === null ? null : sealer.seal(mail.secret, secretContext(partnerId, id)),
      expiresAt: mail.expiresAt,
      createdAt: now,
    }
  }
  return {
    enqueue: async (tx, partnerId, mails) => {
      const now = clock.now()
      const rows = mails.map((mail) => toRow(partnerId, mail, now))
      if (rows.length > 0) await store.insertMails(tx, partnerId, rows, now)
    },
    endPending: (tx, partnerId, subjectId, reason) =>
      store.endMailsAbout(tx, partnerId, subjectId, reason, clock.now()),
    partnersWithDueMail: async (tx, partnersMax) =>
      (await store.partnersWithDueMail(tx, clock.now(), partnersMax)).map((row) => row.partnerId),
    claim: (tx, partnerId, leaseMs, mailsMax) => {
      const now = clock.now()
      return store.claimMails(tx, partnerId, { id: newId(), until: after(now, leaseMs) }, now, mailsMax)
    },
    secretOf: ({ partnerId, id, secretSealed }) =>
      secretSealed === null ? null : sealer.open(secretSealed, secretContext(partnerId, id)),
    recordSent: async (tx, mail) =>
      (await store.endMail(tx, mail, { status: 'sent', error: null, at: clock.now() })) === 1,
    recordFailure: async (tx, mail, error, dueAt) => {
      const recorded =
        dueAt === null
          ? await store.endMail(tx, mail, { status: 'failed', error, at: clock.now() })
          : await store.postponeMail(tx, mail, error, dueAt)
      return recorded === 1
    },
    deleteOld: (tx, partnerId) => store.deleteMailsEndedBefore(tx, partnerId, after(clock.now(), -keptMs)),
  }
}

// The sealed secrets of mails.

/** Names the earlier table of tokens, so that rows which were sealed for it open. */
const secretContext = (partnerId: string, mailId: string) => ['users.mails', partnerId, mailId, 'token']

export const sealedMailSecrets: SealedColumn = {
  table: 'mail.messages',
  column: 'secret_sealed',
  key: { id: 'uuid' },
  contextOf: (partnerId, cell) => secretContext(partnerId, cell('id')),
}
