/** Notices of endpoints that fail: written by the delivery, mailed by the mail worker. */
import { after, dayMs, newId } from '../../kernel/index.ts'
import type { Tx } from '../../postgres/index.ts'
import * as store from './store-alerts.ts'
import type { ClaimedNotice, NoticeRow } from './store-alerts.ts'

export type NewNotice = Omit<NoticeRow, 'id' | 'createdAt' | 'lastError'> & {
  readonly partnerId: string
  readonly lastError?: string | null
}

/** As long as events and attempts. */
const keptMs = 30 * dayMs

/** Tells the partner's Admins and Developers, once the transaction commits. Older notices of the partner give way. */
export async function addNotice(tx: Tx, notice: NewNotice, now: Date): Promise<void> {
  await store.insertNotice(tx, notice.partnerId, { lastError: null, ...notice, id: newId(), createdAt: now })
  await store.dropNotices(tx, notice.partnerId, after(now, -keptMs))
}

/** The queue of notices, as the mail worker sees it: claim under a lease, send outside any transaction, record. */
export type NoticeQueue = {
  /** Partners with notices to send, longest due first: the unlocked read that finds due work. */
  readonly partnersWithDueNotices: (tx: Tx, now: Date, partnersMax: number) => Promise<readonly string[]>
  /** Leases due notices of a partner, skipping what another worker is taking. A lease that ends makes its notice due again. */
  readonly claimNotices: (
    tx: Tx,
    partnerId: string,
    now: Date,
    leaseMs: number,
    noticesMax: number,
  ) => Promise<readonly ClaimedNotice[]>
  /** The address needs no further attempt. False where the lease was lost: nothing is recorded. */
  readonly recordDone: (tx: Tx, notice: ClaimedNotice, addressKey: string) => Promise<boolean>
  /** Due again at `dueAt` for whoever is left; null: nobody is, or they are given up. False where the lease was lost. */
  readonly endNotice: (tx: Tx, notice: ClaimedNotice, dueAt: Date | null) => Promise<boolean>
}

export const noticeQueue: NoticeQueue = {
  partnersWithDueNotices: async (tx, now, partnersMax) =>
    (await store.partnersWithDueNotices(tx, now, partnersMax)).map((row) => row.partnerId),
  claimNotices: (tx, partnerId, now, leaseMs, noticesMax) =>
    store.claimNotices(tx, partnerId, { id: newId(), until: after(now, leaseMs) }, now, noticesMax),
  recordDone: async (tx, notice, addressKey) => (await store.addDone(tx, notice, addressKey)) === 1,
  endNotice: async (tx, notice, dueAt) => (await store.endClaim(tx, notice, dueAt)) === 1,
}
