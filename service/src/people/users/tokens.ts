/** New invitations and their tokens. */
import { type Caller } from '../../kernel/api/index.ts'
import { after, dayMs, newId, randomBytes } from '../../kernel/index.ts'
import { emailKey, type InvitationEntry, tokenFor, tokenHash, tokenRandomBytes } from './rules.ts'
import type { InvitationRow } from './store.ts'

export function newToken(partnerId: string): string {
  return tokenFor(partnerId, randomBytes(tokenRandomBytes))
}

export function newInvitation(
  caller: Pick<Caller, 'partnerId' | 'serviceAccountId' | 'name'>,
  entry: InvitationEntry,
  expiryDays: number,
  now: Date,
): { readonly row: InvitationRow; readonly token: string } {
  const token = newToken(caller.partnerId)
  const row: InvitationRow = {
    id: newId(),
    email: entry.email,
    emailKey: emailKey(entry.email),
    fullName: entry.fullName,
    role: entry.role,
    status: 'Pending',
    redirectUrl: entry.redirectUrl ?? null,
    invitedById: caller.serviceAccountId,
    invitedByName: caller.name,
    givenById: caller.serviceAccountId,
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
