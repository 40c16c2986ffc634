/** Support sessions: an impersonation in the console of the partner. They are read only, and end with the impersonation. */
import { createHash } from 'node:crypto'
import type { Permission } from '@partner-payments/wire'
import { after, type Clock, minuteMs } from '../kernel/index.ts'
import type { Database, Tx } from '../postgres/index.ts'
import { linkTokenPartner, newLinkToken } from './rules.ts'
import * as store from './store-support.ts'

export type SupportSession = Omit<store.SupportRow, 'permissions'> & { readonly permissions: readonly Permission[] }

export type Support = {
  /** Issues the code by which the console opens, once and within two minutes. */
  readonly beginSupport: (
    tx: Tx,
    impersonation: { readonly partnerId: string; readonly id: string; readonly reason: string },
  ) => Promise<{ readonly code: string; readonly codeExpiresAt: Date }>
  /** Opens the session of a code. Undefined: the code is wrong, was used or is over, or the impersonation has ended. */
  readonly openSupport: (tx: Tx, code: string) => Promise<(SupportSession & { readonly token: string }) | undefined>
  /** Undefined: no such session, or its impersonation has expired or was revoked. */
  readonly supportSession: (token: string) => Promise<SupportSession | undefined>
}

const codeMs = 2 * minuteMs
const hashOf = (token: string): Buffer => createHash('sha256').update(token).digest()

export function createSupport({ db, clock }: { readonly db: Database; readonly clock: Clock }): Support {
  const sessionOf = async (tx: Tx, token: string): Promise<SupportSession | undefined> => {
    const partnerId = linkTokenPartner(token)
    if (partnerId === undefined) return undefined
    const row = await store.supportByToken(tx, partnerId, hashOf(token), clock.now())
    return row && { ...row, permissions: row.permissions.split(' ').filter(Boolean) as Permission[] }
  }
  return {
    beginSupport: async (tx, { partnerId, id, reason }) => {
      const code = newLinkToken(partnerId)
      const createdAt = clock.now()
      const codeExpiresAt = after(createdAt, codeMs)
      await store.insertSupport(tx, { partnerId, id, reason, codeHash: hashOf(code), codeExpiresAt, createdAt })
      return { code, codeExpiresAt }
    },
    openSupport: async (tx, code) => {
      const partnerId = linkTokenPartner(code)
      if (partnerId === undefined) return undefined
      const token = newLinkToken(partnerId)
      const hashes = { codeHash: hashOf(code), tokenHash: hashOf(token) }
      if (!(await store.useCode(tx, partnerId, { ...hashes, now: clock.now() }))) return undefined
      const session = await sessionOf(tx, token)
      return session && { ...session, token }
    },
    supportSession: (token) => sessionOf(db, token),
  }
}
