/** People whose inboxes a test reads, and their mails by a real SMTP server. */
import type { users as wire } from '@partner-payments/wire'
import { operatorPartnerId } from '../../service/src/cases/index.ts'
import { renderInboxMail, type Reader } from '../../service/src/inbox/index.ts'
import { minuteMs, newId } from '../../service/src/kernel/index.ts'
import { smtpTransport } from '../../service/src/mail/index.ts'
import { sql } from '../../service/src/postgres/index.ts'
import type { Service } from './composition.ts'
import { startMail } from './jobs.ts'
import { mailServer, readMail } from './mail-server.ts'
import { until } from './until.ts'

/** Adds a person who has joined. The address has the id, so that each mail is found. */
export async function addMember(
  { db, clock }: Pick<Service, 'db' | 'clock'>,
  partnerId: string,
  role: wire.Role,
  fullName: string,
): Promise<Reader & { readonly email: string }> {
  const personId = newId()
  const email = `${personId}@team.example`
  const now = clock.now()
  await db.run(sql`insert into users.members (partner_id, id, email, email_key, full_name, role, created_at, updated_at)
    values (${partnerId}, ${personId}, ${email}, ${email}, ${fullName}, ${role}, ${now}, ${now})`)
  return { partnerId, personId, fullName, role, email }
}

export async function addStaff(
  { db, clock }: Pick<Service, 'db' | 'clock'>,
  role: string,
  fullName: string,
): Promise<Reader & { readonly email: string }> {
  const personId = newId()
  const email = `${personId}@staff.example`
  await db.run(sql`insert into staff.accounts (id, email, email_key, full_name, name_key, role, created_at)
    values (${personId}, ${email}, ${email}, ${fullName}, ${personId}, ${role}, ${clock.now()})`)
  return { partnerId: operatorPartnerId, personId, fullName, role, email }
}

/** Makes the entries of what has happened. */
export async function spread({ inbox }: Pick<Service, 'inbox'>): Promise<void> {
  while ((await inbox.spreadStep()) > 0);
}

/** Lets the minutes pass in which mails wait for more, and queues those that are due. */
export async function queueMails({ inbox, clock }: Pick<Service, 'inbox' | 'clock'>, waitMs = 3 * minuteMs) {
  clock.advance(waitMs)
  while ((await inbox.mailStep()) > 0);
}

/** A mail server that has the mails of the inbox. */
export async function useInboxMails(service: Service) {
  const server = await mailServer()
  const { db, clock, log, mailQueue: queue, access } = service
  const worker = startMail({
    ...{ db, clock, log, queue, partnerName: access.partnerName, templates: { inbox: renderInboxMail } },
    transport: smtpTransport(server.url),
    from: { name: 'Payments', address: 'no-reply@payments.example' },
  })
  const mailsTo = ({ email }: { readonly email: string }) =>
    server.received.filter(({ to }) => to.includes(email)).map(({ source }) => ({ ...readMail(source), source }))
  /** Waits until every queued mail has gone. */
  const sent = () =>
    until('no mail waits', async () => {
      const left = await db.rows(sql`select id from mail.messages where status = 'pending' and kind = 'inbox'`)
      return left.length === 0
    })
  const stop = async () => {
    await worker.stop()
    await server.stop()
  }
  return { mailsTo, sent, stop, received: server.received }
}
