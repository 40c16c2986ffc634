/** The mail worker: claim, send, record. Nothing is sent inside a database transaction. */
import type { Access } from '../access/index.ts'
import { after, type Clock, hourMs, type Log, type Loop, minuteMs, secondMs, startLoop } from '../kernel/index.ts'
import type { Database } from '../postgres/index.ts'
import type { ClaimedMail, MailQueue } from '../modules/users/index.ts'
import { createMailer } from './mailer.ts'
import { type Mailbox, MailRefused, type MailTransport, oneLine } from './transport.ts'

export type MailWorkerDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly log: Log
  readonly users: MailQueue
  readonly access: Pick<Access, 'partnerName'>
  readonly transport: MailTransport
  readonly from: Mailbox
  readonly idleMs?: number
}

/** Far above the longest conversation with a server: only a worker that died loses a lease. */
const leaseMs = 5 * minuteMs
const partnersPerStepMax = 20
/** Sent side by side, so that one slow server costs a step one time-out. */
const mailsPerClaimMax = 5
const firstRetryMs = minuteMs
const givenUpAfterMs = 24 * hourMs
const errorCharsMax = 500

export function startMailWorker(deps: MailWorkerDeps): Loop {
  return startLoop({ name: 'mail', idleMs: deps.idleMs ?? secondMs, log: deps.log, step: createMailStep(deps) })
}

/** 1, 2, 4 ... minutes after the attempt, the last one a day after the mail was written; null: that was the last. */
export function nextAttempt(mail: Pick<ClaimedMail, 'attempts' | 'createdAt'>, now: Date): Date | null {
  const end = after(mail.createdAt, givenUpAfterMs)
  if (now >= end) return null
  const next = after(now, firstRetryMs * 2 ** (mail.attempts - 1))
  return next < end ? next : end
}

/** One round: some mails of every partner that has any due. Answers how many were tried. */
export function createMailStep(deps: MailWorkerDeps): () => Promise<number> {
  const { db, clock, log, users, access } = deps
  const mailer = createMailer(deps)

  const recordFailure = async (mail: ClaimedMail, error: unknown) => {
    const now = clock.now()
    const next = error instanceof MailRefused ? null : nextAttempt(mail, now)
    const text = oneLine(error instanceof Error ? error.message : String(error)).slice(0, errorCharsMax)
    // The text of a mail server may name the address: it goes into the row, the log gets the codes.
    const cause = error instanceof MailRefused ? error.cause : error
    const { code, responseCode } = (cause ?? {}) as { readonly code?: unknown; readonly responseCode?: unknown }
    const fields = { partnerId: mail.partnerId, mailId: mail.id, attempts: mail.attempts, code, responseCode }
    if (!(await users.recordFailure(db, mail, text, next))) log.info(fields, 'mail was taken over or dropped meanwhile')
    else if (next === null) log.error(fields, 'mail given up')
    else log.warn({ ...fields, nextAttemptAt: next.toISOString() }, 'mail not sent, trying again later')
  }

  const send = async (mail: ClaimedMail, partnerName: string) => {
    try {
      if (mail.expiresAt <= clock.now()) throw new MailRefused('the invitation expired before the mail could be sent')
      await mailer.send({ ...mail, partnerName, token: users.tokenOf(mail) }, clock.now())
    } catch (error) {
      return recordFailure(mail, error)
    }
    if (!(await users.recordSent(db, mail)))
      log.info({ partnerId: mail.partnerId, mailId: mail.id }, 'mail sent, and taken over or dropped meanwhile')
  }

  return async () => {
    let tried = 0
    for (const partnerId of await users.partnersWithDueMail(db, clock.now(), partnersPerStepMax)) {
      const partnerName = await access.partnerName(db, partnerId)
      const mails = await users.claimMails(db, partnerId, clock.now(), leaseMs, mailsPerClaimMax)
      tried += mails.length
      const results = await Promise.allSettled(mails.map((mail) => send(mail, partnerName)))
      const failed = results.find((result) => result.status === 'rejected')
      if (failed) throw failed.reason
    }
    return tried
  }
}
