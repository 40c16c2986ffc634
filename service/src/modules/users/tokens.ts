/** What comes into being with a token: the invitation that keeps its hash, and the mail that carries it. */
import { type Caller } from '../../api/index.ts'
import { after, dayMs, newId, randomBytes, type Sealer } from '../../kernel/index.ts'
import type { Tx } from '../../postgres/index.ts'
import { tokenContext } from './mails.ts'
import { emailKey, type InvitationEntry, tokenFor, tokenHash, tokenRandomBytes } from './rules.ts'
import * as store from './store.ts'

export function newToken(partnerId: string): string {
  return tokenFor(partnerId, randomBytes(tokenRandomBytes))
}

export function draft(
  caller: Pick<Caller, 'partnerId' | 'serviceAccountId' | 'name'>,
  entry: InvitationEntry,
  expiryDays: number,
  now: Date,
): { readonly row: store.InvitationRow; readonly token: string } {
  const token = newToken(caller.partnerId)
  const row: store.InvitationRow = {
    id: newId(),
    email: entry.email,
    emailKey: emailKey(entry.email),
    fullName: entry.fullName,
    role: entry.role,
    status: 'Pending',
    redirectUrl: entry.redirectUrl ?? null,
    invitedById: caller.serviceAccountId,
    invitedByName: caller.name,
    tokenHash: tokenHash(token),
    expiryDays,
    expiresAt: after(now, expiryDays * dayMs),
    resends: 0,
    resentAt: null,
    createdAt: now,
    updatedAt: now,
  }
  return { row, token }
}

/** Queues the mail that carries a new token: its only copy, sealed. */
export function queueMail(
  { sealer, invitationBaseUrl }: { readonly sealer: Sealer; readonly invitationBaseUrl?: string },
  tx: Tx,
  partnerId: string,
  kind: store.MailKind,
  row: store.InvitationRow,
  token: string,
): Promise<void> {
  const id = newId()
  return store.insertMail(tx, partnerId, {
    id,
    invitationId: row.id,
    kind,
    toAddress: row.email,
    toName: row.fullName,
    role: row.role,
    invitedByName: row.invitedByName,
    linkUrl: row.redirectUrl ?? invitationBaseUrl ?? null,
    expiresAt: row.expiresAt,
    tokenSealed: sealer.seal(token, tokenContext(partnerId, id)),
    createdAt: row.updatedAt,
  })
}
