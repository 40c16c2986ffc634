/** The mail worker: claim, render, send, record. No mail is sent inside a database transaction. */
import { ownJson } from '@partner-payments/wire'
import { defineJob, type Job } from '../postgres/jobs/index.ts'
import { after, type Clock, hourMs, type Log, minuteMs, present } from '../kernel/index.ts'
import type { Database, Tx } from '../postgres/index.ts'
import type { MailData, MailQueue } from './queue.ts'
import { type ClaimedMail, mailDue } from './store.ts'
import { type Mailbox, type MailContent, MailRefused, type MailTransport, oneLine } from './transport.ts'

/** Input of a template. */
export type MailToRender = Pick<ClaimedMail, 'kind' | 'toName' | 'expiresAt' | 'createdAt'> & {
  readonly partnerName: string
  readonly data: MailData
  readonly secret: string | null
}
export type MailTemplate = (mail: MailToRender) => MailContent

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
  /** Called after each attempt. */
  readonly observe?: ((outcome: 'sent' | 'postponed' | 'given_up') => void) | undefined
}

/** Far above the longest conversation with a mail server: only a worker that died loses a lease. */
const leaseMs = 5 * minuteMs
const partnersPerStepMax = 20
/** Sent in parallel, so that a slow server costs a step one time-out. */
const mailsPerClaimMax = 5
const firstRetryMs = minuteMs
const retriedForMs = 24 * hourMs
const errorCharsMax = 500

export const mailJob = (deps: MailWorkerDeps): Job =>
  defineJob({ name: 'mail', due: mailDue, run: createMailStep(deps), age: { queue: 'mail' } })

/**
 * Waits 1, 2, 4 ... minutes after the attempt; the last attempt is a day after the mail was queued. Null: no further
 * one.
 */
function nextAttemptAt({ attempts, createdAt }: Pick<ClaimedMail, 'attempts' | 'createdAt'>, now: Date): Date | null {
  const end = after(createdAt, retriedForMs)
  if (now >= end) return null
  const next = after(now, firstRetryMs * 2 ** (attempts - 1))
  return next < end ? next : end
}

/** Returns how many mails it attempted. */
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

/** Sends one mail and records the outcome. Throws only if the outcome could not be recorded. */
function createAttempt({ db, clock, log, queue, templates, transport, from, observe }: MailWorkerDeps) {
  const domain = from.address.slice(from.address.lastIndexOf('@') + 1)

  const send = async (mail: ClaimedMail, partnerName: string): Promise<void> => {
    if (mail.expiresAt !== null && mail.expiresAt <= clock.now())
      throw new MailRefused('the mail expired before it could be sent')
    const template = present(templates[mail.kind], `there is a template for mails of kind ${mail.kind}`)
    const { kind, toName, expiresAt, createdAt } = mail
    const data = ownJson<MailData>(mail.data)
    const content = template({ kind, toName, expiresAt, createdAt, partnerName, data, secret: queue.secretOf(mail) })
    await transport.send({
      messageId: `<${mail.id}@${domain}>`,
      date: clock.now(),
      from,
      to: { name: toName, address: mail.toAddress },
      ...content,
    })
  }

  const recordFailure = async (mail: ClaimedMail, error: unknown): Promise<void> => {
    const dueAt = error instanceof MailRefused ? null : nextAttemptAt(mail, clock.now())
    const text = oneLine(error instanceof Error ? error.message : String(error)).slice(0, errorCharsMax)
    // A mail server may repeat the address in its answer: the row holds the answer, the log only its codes.
    const cause = error instanceof MailRefused ? error.cause : error
    const { code, responseCode } = (cause ?? {}) as { readonly code?: unknown; readonly responseCode?: unknown }
    const fields = { ...fieldsOf(mail), attempts: mail.attempts, code, responseCode }
    observe?.(dueAt === null ? 'given_up' : 'postponed')
    if (!(await queue.recordFailure(db, mail, text, dueAt))) log.info(fields, 'mail not sent; lease lost')
    else if (dueAt === null) log.error(fields, 'mail given up')
    else log.warn({ ...fields, dueAt: dueAt.toISOString() }, 'mail not sent; will retry')
  }

  return async (mail: ClaimedMail, partnerName: string): Promise<void> => {
    try {
      await send(mail, partnerName)
    } catch (error) {
      return recordFailure(mail, error)
    }
    observe?.('sent')
    if (!(await queue.recordSent(db, mail))) log.info(fieldsOf(mail), 'mail sent; lease lost')
  }
}

const fieldsOf = ({ partnerId, id, kind }: ClaimedMail) => ({ partnerId, mailId: id, kind })
