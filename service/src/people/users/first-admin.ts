/**
 * The link by which the first Admin of a partner joins: the service prints it, because no member can invite yet. It opens until the partner has a
 * member.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { linkTokenOf, notFound, readLink } from '../../kernel/api/index.ts'
import type { Clock } from '../../kernel/index.ts'
import type { MailQueue } from '../../mail/index.ts'
import type { Database, Tx } from '../../postgres/index.ts'
import { permit, roleAsPower } from './giving.ts'
import { emailKey, tokenHash } from './rules.ts'
import * as store from './store.ts'
import { newToken } from './tokens.ts'

export type FirstAdmin = {
  /** The token of the link. Undefined: the partner has a member. */
  readonly tokenOf: (partnerId: string) => Promise<string | undefined>
  /** The partner of a link. Refuses: not_found (no such link, or the partner has a member). */
  readonly partnerOf: (token: string) => Promise<{ readonly partnerId: string; readonly partnerName: string }>
  /**
   * The token of the pending invitation of an address, which gets a new one; the mail of the old one is not sent. Refuses: not_found (the
   * link, or no such invitation).
   */
  readonly invitationOf: (token: string, address: string) => Promise<string>
}

type Deps = {
  readonly db: Database
  readonly clock: Clock
  readonly mail: Pick<MailQueue, 'endPending'>
  readonly partnerName: (tx: Tx, partnerId: string) => Promise<string>
  /** Reports whether the partner is being moved to another database. Then nothing of its team may change here. */
  readonly isClosed: (tx: Tx, partnerId: string) => Promise<boolean>
  readonly linkKey: Uint8Array
}

export function createFirstAdmin({ db, clock, mail, partnerName, isClosed, linkKey }: Deps): FirstAdmin {
  const tokenFor = (partnerId: string): string =>
    linkTokenOf(partnerId, createHmac('sha256', linkKey).update(`first admin ${partnerId}`).digest())
  const find = async (token: string): Promise<string> => {
    const partnerId = readLink(token)
    const isOurs = partnerId !== undefined && timingSafeEqual(Buffer.from(token), Buffer.from(tokenFor(partnerId)))
    if (!isOurs || (await store.hasMembers(db, partnerId)) || (await isClosed(db, partnerId))) throw notFound('link')
    return partnerId
  }
  return {
    tokenOf: async (partnerId) => ((await store.hasMembers(db, partnerId)) ? undefined : tokenFor(partnerId)),
    partnerOf: async (token) => {
      const partnerId = await find(token)
      return { partnerId, partnerName: await partnerName(db, partnerId) }
    },
    invitationOf: async (token, address) => {
      const partnerId = await find(token)
      return db.transaction(async (tx) => {
        const row = await store.lockPending(tx, partnerId, emailKey(address), clock.now())
        if (row === undefined) throw notFound('pending invitation')
        const fresh = newToken(partnerId)
        const permitted = permit({ kind: 'operator' }, 'openFirstInvitation', [roleAsPower(row.role)])
        await store.update(tx, permitted, partnerId, { ...row, tokenHash: tokenHash(fresh), updatedAt: clock.now() })
        await mail.endPending(tx, partnerId, row.id, 'the page of the first Admin opened it')
        return fresh
      })
    },
  }
}
