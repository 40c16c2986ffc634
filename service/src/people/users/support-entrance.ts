/**
 * Lets the operator's staff open a partner's console read-only, with the code of an impersonation. A separate file,
 * because it may revoke a key without the permission check of the other entrances (test/tidy/giving-rules.ts).
 */
import type { ServiceAct } from '../../audit/index.ts'
import { notFound, Refusal } from '../../kernel/api/index.ts'
import type { SupportSession } from '../../access/index.ts'
import type { MembersDeps, SignedInUser } from './member-deps.ts'

export type SupportAccess = {
  /** Opens the console once with the code of an impersonation, records it, and returns a token. Refuses: not_found. */
  readonly openSupport: (code: string, client: { readonly ip: string }) => Promise<string>
  /** Ends the impersonation and its credential, and records it. */
  readonly endSupport: (session: SupportSession, client: { readonly ip: string }) => Promise<void>
  readonly isSupport: (token: string) => Promise<boolean>
  /** Finds the open session of a token. Undefined: there is none. */
  readonly ofSupport: (token: string) => Promise<SignedInUser | undefined>
}

const supportName = ({ staff }: SupportSession): string => `Impersonation by ${staff}`

export function createSupportEntrance(deps: MembersDeps): SupportAccess {
  const { db, audit, support, partnerName, isClosed } = deps
  const auditRecord = (session: SupportSession, action: ServiceAct, ip: string) => {
    const { partnerId, id, staff, reason } = session
    const actor = { kind: 'operator', id, name: supportName(session), impersonatedBy: staff, ip } as const
    return { partnerId, actor, action, subject: { serviceAccountId: id }, reason }
  }
  return {
    openSupport: (code, { ip }) =>
      db.transaction(async (tx) => {
        const opened = await support.openSupport(tx, code)
        if (opened === undefined || (await isClosed(tx, opened.partnerId))) throw notFound('support session')
        audit.append(tx, [auditRecord(opened, 'openSupportSession', ip)])
        return opened.token
      }),
    endSupport: (session, { ip }) =>
      db
        .transaction(async (tx) => {
          await support.revoke(tx, session.partnerId, session.id)
          audit.append(tx, [auditRecord(session, 'endSupportSession', ip)])
        })
        .catch((error: unknown) => {
          // The impersonation was revoked in the meantime.
          if (!(error instanceof Refusal && error.code === 'not_found')) throw error
        }),
    isSupport: async (token) => (await support.supportSession(token)) !== undefined,
    ofSupport: async (token) => {
      const session = await support.supportSession(token)
      if (session === undefined || (await isClosed(db, session.partnerId))) return undefined
      return toSignedInUser(session, await partnerName(db, session.partnerId))
    },
  }
}

/**
 * Builds a caller whose writes the service refuses. It is not a member, so its id has no sessions, factors or
 * approvals.
 */
function toSignedInUser(support: SupportSession, partner: string): SignedInUser {
  const { partnerId, id, staff, permissions, createdAt, expiresAt } = support
  const name = supportName(support)
  const client = { factor: 'sso', ip: '', userAgent: '' } as const
  const times = { createdAt, lastUsedAt: createdAt, expiresAt, rested: false }
  return {
    session: { id, partnerId, memberId: id, ...client, ...times },
    user: { id, email: '', fullName: staff, role: 'Operator', createdAt, updatedAt: createdAt, lastSignInAt: null },
    caller: { partnerId, serviceAccountId: id, name, permissions, impersonatedBy: staff },
    partnerName: partner,
    support,
  }
}
