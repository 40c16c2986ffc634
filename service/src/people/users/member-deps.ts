/** The dependencies of the team's operations, and the people for whom they act. */
import type { Access, SupportSession } from '../../access/index.ts'
import type { Caller, Cursors } from '../../kernel/api/index.ts'
import type { Audit } from '../../audit/index.ts'
import type { Clock, Sealer } from '../../kernel/index.ts'
import type { FactQueue, Inbox } from '../../inbox/index.ts'
import type { MailQueue } from '../../mail/index.ts'
import type { Database, Tx } from '../../postgres/index.ts'
import type { Screening } from '../../screening/index.ts'
import type { Session, SignIn, SingleSignOn } from '../sign-in/index.ts'
import type { MemberRow } from './store.ts'

/** The result of a sign-in: the token of the session, and the codes of a new password. */
export type SignInResult = { readonly token: string; readonly recoveryCodes: readonly string[] }

/** The person of a session, with the current permissions of the role. */
export type SignedInUser = {
  readonly session: Session
  readonly user: MemberRow
  readonly caller: Caller
  readonly partnerName: string
  /** The impersonation, if the person is one of the operator's staff. Absent: a member of the team. */
  readonly support?: SupportSession
}

/** Reads the TXT records of a name. Rejects with an error that has a DNS `code` if there are none. */
export type TxtResolver = (partnerId: string, name: string) => Promise<readonly string[]>

export type MembersDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly cursors: Cursors
  readonly sealer: Sealer
  readonly mail: Pick<MailQueue, 'enqueue' | 'endPending'>
  readonly audit: Pick<Audit, 'append'>
  readonly facts: FactQueue
  /** The inboxes of the team. */
  readonly inbox: () => Pick<Inbox, 'endMails' | 'forget'>
  readonly signIn: SignIn
  readonly screening: Pick<Screening, 'isConfirmed' | 'request'>
  readonly singleSignOn: SingleSignOn
  /** Returns the address to which a provider redirects a partner's people after the sign-in. */
  readonly redirectUri: (partnerId: string) => string
  readonly resolveTxt: TxtResolver
  readonly sandbox: boolean
  /** True if a key with `users:write` may set single sign-on. False: only an Admin in the console may. */
  readonly keysSetSingleSignOn: boolean
  readonly partnerName: (tx: Tx, partnerId: string) => Promise<string>
  /** Reports whether the partner is being moved to another database. Its team may not change here meanwhile. */
  readonly isClosed: (tx: Tx, partnerId: string) => Promise<boolean>
  readonly access: Pick<Access, 'findServiceAccount'>
  readonly support: Pick<Access, 'openSupport' | 'supportSession' | 'revoke' | 'findServiceAccount'>
  /** Reports whether the partner's payouts need a second person. Changes of single sign-on then need a second Admin. */
  readonly decidesByTwo: (tx: Tx, partnerId: string) => Promise<boolean>
  /** The page where people sign in. */
  readonly signInUrl: string
}
