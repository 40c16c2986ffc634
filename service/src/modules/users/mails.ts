/** The queue of mails, as the mail worker sees it: claim under a lease, send outside any transaction, record. */
import { after, type Clock, newId, type Sealer } from '../../kernel/index.ts'
import type { Tx } from '../../postgres/index.ts'
import * as store from './store.ts'
import type { ClaimedMail } from './store.ts'

export type MailQueue = {
  /** Partners with mail to send, longest due first: the unlocked read that finds due work. */
  readonly partnersWithDueMail: (tx: Tx, now: Date, partnersMax: number) => Promise<readonly string[]>
  /** Leases due mails of a partner, skipping what another worker is taking. A lease that ends makes its mail due again. */
  readonly claimMails: (
    tx: Tx,
    partnerId: string,
    now: Date,
    leaseMs: number,
    mailsMax: number,
  ) => Promise<readonly ClaimedMail[]>
  /** The token in the clear. Throws an AssertionFailure where the master key is gone. */
  readonly tokenOf: (mail: ClaimedMail) => string
  /** Ends the mail and erases its token. False where the lease was lost: nothing is recorded. */
  readonly recordSent: (tx: Tx, mail: ClaimedMail) => Promise<boolean>
  /** Due again at `nextAttemptAt`; null gives the mail up and erases its token. False where the lease was lost. */
  readonly recordFailure: (tx: Tx, mail: ClaimedMail, error: string, nextAttemptAt: Date | null) => Promise<boolean>
}

export const tokenContext = (partnerId: string, mailId: string) => ['users.mails', partnerId, mailId, 'token']

export function createMailQueue({ clock, sealer }: { readonly clock: Clock; readonly sealer: Sealer }): MailQueue {
  return {
    partnersWithDueMail: async (tx, now, partnersMax) =>
      (await store.partnersWithDueMail(tx, now, partnersMax)).map((row) => row.partnerId),
    claimMails: (tx, partnerId, now, leaseMs, mailsMax) =>
      store.claimMails(tx, partnerId, { id: newId(), until: after(now, leaseMs) }, now, mailsMax),
    tokenOf: (mail) => sealer.open(mail.tokenSealed, tokenContext(mail.partnerId, mail.id)),
    recordSent: async (tx, mail) =>
      (await store.endMail(tx, mail, { status: 'sent', error: null, at: clock.now() })) === 1,
    recordFailure: async (tx, mail, error, nextAttemptAt) => {
      const recorded =
        nextAttemptAt === null
          ? await store.endMail(tx, mail, { status: 'failed', error, at: clock.now() })
          : await store.postponeMail(tx, mail, error, nextAttemptAt)
      return recorded === 1
    },
  }
}
