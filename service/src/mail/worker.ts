/** The mail worker: claim, render, send, record. No mail is sent inside a database transaction. */
import { ownJson } from '@partner-payments/wire'
import { defineJob, type Job } from '../postgres/jobs/index.ts'
import { after, type Clock, dayMs, hourMs, type Log, minuteMs, newId, present, type Sealer } from '../kernel/index.ts'
import type { Database, SealedColumn, Tx } from '../postgres/index.ts'
import * as store from './store.ts'
import { type Mailbox, type MailContent, MailRefused, type MailTransport, oneLine } from './transport.ts'

/** The input of a template. */
export type MailToRender = Pick<store.ClaimedMail, 'kind' | 'toName' | 'expiresAt' | 'createdAt'> & {
  readonly partnerName: string
  readonly data: MailData
  readonly secret: string | null
}
type MailTemplate = (mail: MailToRender) => MailContent

export type MailWorkerDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly log: Log
  readonly queue: MailQueue
  readonly partnerName: (tx: Tx, partnerId: string) => Promise<string>
  /** Templates by the kind of the mail. */
  readonly templates: Readonly<Record<string, MailTemplate>>
  readonly transport: MailTransport
  readonly from: Mailbox
  /** Senders of partners that have their own, by the partner's id. Default: none. */
  readonly senders?: ReadonlyMap<string, Mailbox>
  /** Called after each attempt. */
  readonly observe?: ((outcome: 'sent' | 'postponed' | 'given_up') => void) | undefined
}

/** Far above the longest conversation with a mail server, so that only a dead worker loses a lease. */
const leaseMs = 5 * minuteMs
const partnersPerStepMax = 20
/** Mails of a claim are sent in parallel, so that a slow server costs a step only one time-out. */
const mailsPerClaimMax = 5
const firstRetryMs = minuteMs
const retriedForMs = 24 * hourMs
const errorCharsMax = 500

export const mailJob = (deps: MailWorkerDeps): Job =>
  defineJob({ name: 'mail', due: store.mailDue, run: createMailStep(deps), age: { queue: 'mail' } })

/**
 * Waits 1, 2, 4 ... minutes after the attempt; the last attempt is a day after the mail was queued. Null: there is no
 * further attempt.
 */
function nextAttemptAt(
  { attempts, createdAt }: Pick<store.ClaimedMail, 'attempts' | 'createdAt'>,
  now: Date,
): Date | null {
  const end = after(createdAt, retriedForMs)
  if (now >= end) return null
  const next = after(now, firstRetryMs * 2 ** (attempts - 1))
  return next < end ? next : end
}

/** Creates the step of the job, which returns how many mails it attempted. */
export function createMailStep(deps: MailWorkerDeps): () => Promise<number> {
  const { db, queue, partnerName } = deps
  const attempt = createAttempt(deps)
  return async () => {
    let attempted = 0
    for (const partnerId of await queue.partnersWithDueMail(db, partnersPerStepMax)) {
      await queue.deleteOld(db, partnerId)
      const name = await partnerName(db, partnerId)
      const mails = await queue.claim(db, partnerId, leaseMs, mailsPerClaimMax)
      attempted += mails.length
      const results = await Promise.allSettled(mails.map((mail) => attempt(mail, name)))
      const failed = results.find((result) => result.status === 'rejected')
      if (failed) throw failed.reason
    }
    return attempted
  }
}

const mailDomain = ({ address }: Mailbox): string => address.slice(address.lastIndexOf('@') + 1).toLowerCase()

/**
 * Returns the sender of a partner's mails. An address of another domain would fail the recipient's checks (SPF, DKIM, DMARC),
 * so it only receives the replies.
 */
function partnerSender(
  from: Mailbox,
  own: Mailbox | undefined,
): { readonly from: Mailbox; readonly replyTo?: Mailbox } {
  if (own === undefined) return { from }
  if (mailDomain(own) === mailDomain(from)) return { from: own }
  return { from: { name: own.name, address: from.address }, replyTo: own }
}

/** Sends a mail and records the outcome. Throws only if the outcome could not be recorded. */
function createAttempt({ db, clock, log, queue, templates, transport, from, observe, ...deps }: MailWorkerDeps) {
  const domain = mailDomain(from)

  const send = async (mail: store.ClaimedMail, partnerName: string): Promise<void> => {
    if (mail.expiresAt !== null && mail.expiresAt <= clock.now())
      throw new MailRefused('the mail expired before it could be sent')
    const template = present(templates[mail.kind], `no template for mails of kind ${mail.kind}`)
    const { kind, toName, expiresAt, createdAt } = mail
    const data = ownJson<MailData>(mail.data)
    const content = template({ kind, toName, expiresAt, createdAt, partnerName, data, secret: queue.secretOf(mail) })
    await transport.send({
      messageId: `<${mail.id}@${domain}>`,
      date: clock.now(),
      ...partnerSender(from, deps.senders?.get(mail.partnerId)),
      to: { name: toName, address: mail.toAddress },
      ...content,
    })
  }

  const recordFailure = async (mail: store.ClaimedMail, error: unknown): Promise<void> => {
    const dueAt = error instanceof MailRefused ? null : nextAttemptAt(mail, clock.now())
    const text = oneLine(error instanceof Error ? error.message : String(error)).slice(0, errorCharsMax)
    // A mail server may repeat the address in its answer: the row stores the answer, the log only its codes.
    const cause = error instanceof MailRefused ? error.cause : error
    const { code, responseCode } = (cause ?? {}) as { readonly code?: unknown; readonly responseCode?: unknown }
    const fields = { ...logFields(mail), attempts: mail.attempts, code, responseCode }
    observe?.(dueAt === null ? 'given_up' : 'postponed')
    if (!(await queue.recordFailure(db, mail, text, dueAt))) log.info(fields, 'mail not sent; lease lost')
    else if (dueAt === null) log.error(fields, 'mail given up')
    else log.warn({ ...fields, dueAt: dueAt.toISOString() }, 'mail not sent; will retry')
  }

  return async (mail: store.ClaimedMail, partnerName: string): Promise<void> => {
    try {
      await send(mail, partnerName)
    } catch (error) {
      return recordFailure(mail, error)
    }
    observe?.('sent')
    if (!(await queue.recordSent(db, mail))) log.info(logFields(mail), 'mail sent; lease lost')
  }
}

const logFields = ({ partnerId, id, kind }: store.ClaimedMail) => ({ partnerId, mailId: id, kind })

// The queue of outgoing mails: callers enqueue in their own transaction, and the worker claims mails under a lease.

/** The fields that only the template of the kind needs. */
type MailData = Readonly<Record<string, string | null>>

export type NewMail = {
  /** Selects the template that renders the mail. */
  readonly kind: string
  /** Subject of the mail, by which `endPending` finds it. */
  readonly subjectId: string
  readonly to: Mailbox
  readonly data: MailData
  /** Sealed in the row, and erased when the mail ends. */
  readonly secret?: string | null
  /** The worker does not send the mail at or after this time. */
  readonly expiresAt?: Date | null
}

/** Callers use the first two operations, the worker the others. `false`: the lease was lost, and nothing is recorded. */
export type MailQueue = {
  /** Queues mails in the caller's transaction. Each mail that commits is sent at least once. */
  readonly enqueue: (tx: Tx, partnerId: string, mails: readonly NewMail[]) => Promise<void>
  /** Ends unsent mails about a subject. A mail that a worker is sending may still arrive. */
  readonly endPending: (tx: Tx, partnerId: string, subjectId: string, reason: string) => Promise<void>
  /** Lists partners with due mail, the longest due first, without a lock. */
  readonly partnersWithDueMail: (tx: Tx, partnersMax: number) => Promise<readonly string[]>
  /** Leases due mails of a partner and skips those that another worker is claiming. After the lease they are due again. */
  readonly claim: (
    tx: Tx,
    partnerId: string,
    leaseMs: number,
    mailsMax: number,
  ) => Promise<readonly store.ClaimedMail[]>
  /** Throws an AssertionFailure if the master key that sealed the secret is no longer configured. */
  readonly secretOf: (mail: store.ClaimedMail) => string | null
  readonly recordSent: (tx: Tx, mail: store.ClaimedMail) => Promise<boolean>
  /** Makes the mail due again at `dueAt`; null ends it. */
  readonly recordFailure: (tx: Tx, mail: store.ClaimedMail, error: string, dueAt: Date | null) => Promise<boolean>
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
      secretSealed: mail.secret ? sealer.seal(mail.secret, secretContext(partnerId, id)) : null,
      expiresAt: mail.expiresAt ?? null,
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
      store.endPendingMails(tx, partnerId, subjectId, reason, clock.now()),
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

/** Names the earlier table of tokens, so that rows sealed for that table can still be opened. */
const secretContext = (partnerId: string, mailId: string) => ['users.mails', partnerId, mailId, 'token']

export const sealedMailSecrets: SealedColumn = {
  table: 'mail.messages',
  column: 'secret_sealed',
  key: { id: 'uuid' },
  contextOf: (partnerId, cell) => secretContext(partnerId, cell('id')),
}
