/** The worker of notices: claim, send to each Admin and Developer, record each. Nothing is sent inside a transaction. */
import { createHash } from 'node:crypto'
import type { Access } from '../access/index.ts'
import { type Clock, type Log, type Loop, minuteMs, secondMs, startLoop } from '../kernel/index.ts'
import type { Database } from '../postgres/index.ts'
import type { Member, Users } from '../modules/users/index.ts'
import type { ClaimedNotice, NoticeQueue } from '../delivery/index.ts'
import { renderNotice } from './notice.ts'
import { type Mailbox, MailRefused, type MailTransport } from './transport.ts'
import { nextAttempt } from './worker.ts'

export type NoticeWorkerDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly log: Log
  readonly notices: NoticeQueue
  readonly users: Pick<Users, 'membersWithRoles'>
  readonly access: Pick<Access, 'partnerName'>
  readonly transport: MailTransport
  readonly from: Mailbox
  readonly idleMs?: number
}

/** Four rounds of the longest conversation with a server, and module: only a worker that died loses a lease. */
const leaseMs = 5 * minuteMs
const membersMax = 20
const sentAtOnceMax = 5
const partnersPerStepMax = 20

export function startNoticeWorker(deps: NoticeWorkerDeps): Loop {
  return startLoop({
    name: 'mail.notices',
    idleMs: deps.idleMs ?? secondMs,
    log: deps.log,
    step: createNoticeStep(deps),
  })
}

/** Of the row and the address, so that whoever receives it twice can tell, and no two people get one id. */
function messageIdOf(notice: ClaimedNotice, member: Member, from: Mailbox): string {
  const person = createHash('sha256').update(member.emailKey).digest('hex').slice(0, 16)
  return `<${notice.id}.${person}@${from.address.slice(from.address.lastIndexOf('@') + 1)}>`
}

type Outcome = 'done' | 'later' | 'lost'

/** One round: a notice of every partner that has any due. Answers how many were tried. */
export function createNoticeStep(deps: NoticeWorkerDeps): () => Promise<number> {
  const { db, clock, log, notices, users, access, transport, from } = deps

  const tell = async (notice: ClaimedNotice, member: Member, partnerName: string): Promise<Outcome> => {
    const fields = { partnerId: notice.partnerId, noticeId: notice.id, kind: notice.kind }
    try {
      await transport.send({
        messageId: messageIdOf(notice, member, from),
        date: clock.now(),
        from,
        to: { name: member.fullName, address: member.email },
        ...renderNotice(notice, partnerName, member.fullName),
      })
    } catch (error) {
      // The text of a mail server may name the address: the log gets the codes.
      const refused = error instanceof MailRefused
      const { code, responseCode } = ((refused ? error.cause : error) ?? {}) as Record<string, unknown>
      if (!refused) {
        log.warn({ ...fields, code, responseCode }, 'notice not sent, trying again later')
        return 'later'
      }
      log.error({ ...fields, code, responseCode }, 'notice given up for one recipient')
    }
    return (await notices.recordDone(db, notice, member.emailKey)) ? 'done' : 'lost'
  }

  const tellAll = async (notice: ClaimedNotice, partnerName: string): Promise<void> => {
    const roles = ['Admin', 'Developer'] as const
    const members = await users.membersWithRoles(db, notice.partnerId, roles, membersMax)
    const left = members.filter(({ emailKey }) => !notice.mailDone.includes(emailKey))
    const outcomes: Outcome[] = []
    for (let at = 0; at < left.length && !outcomes.includes('lost'); at += sentAtOnceMax)
      outcomes.push(
        ...(await Promise.all(left.slice(at, at + sentAtOnceMax).map((member) => tell(notice, member, partnerName)))),
      )
    if (outcomes.includes('lost')) return log.info({ noticeId: notice.id }, 'notice was taken over meanwhile')
    const fields = { partnerId: notice.partnerId, noticeId: notice.id, kind: notice.kind }
    if (members.length === 0) log.warn(fields, 'an endpoint fails, and the partner has nobody to tell')
    const now = clock.now()
    const due = outcomes.includes('later')
      ? nextAttempt({ attempts: notice.mailAttempts, createdAt: notice.createdAt }, now)
      : null
    if (due === null && outcomes.includes('later')) log.error(fields, 'notice given up')
    await notices.endNotice(db, notice, due)
  }

  return async () => {
    let tried = 0
    for (const partnerId of await notices.partnersWithDueNotices(db, clock.now(), partnersPerStepMax)) {
      const partnerName = await access.partnerName(db, partnerId)
      for (const notice of await notices.claimNotices(db, partnerId, clock.now(), leaseMs, 1)) {
        tried += 1
        await tellAll(notice, partnerName)
      }
    }
    return tried
  }
}
