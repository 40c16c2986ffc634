/** The dependencies of the operations of staff, and the people for whom they act. */
import type { Audit } from '../../audit/index.ts'
import type { CaseOwners, Decisions } from '../../cases/index.ts'
import type { Clock } from '../../kernel/index.ts'
import type { Inbox } from '../../inbox/index.ts'
import type { MailQueue } from '../../mail/index.ts'
import type { Database, Tx } from '../../postgres/index.ts'
import type { Screening } from '../../screening/index.ts'
import type { SignOnProvider, Session, SignIn, SingleSignOn } from '../sign-in/index.ts'
import type { WaitingChecks } from './assignments.ts'
import type { StaffRole } from './rules.ts'
import type { AccountRow } from './store.ts'

export type StaffAccount = AccountRow
export type SignedInStaff = { readonly session: Session; readonly account: StaffAccount }

export type StaffProvider = SignOnProvider & {
  /** The values of the role claim that each role needs. Empty if there is no claim. */
  readonly roles: Readonly<Partial<Record<StaffRole, readonly string[]>>>
  /** True if staff, except admins, can sign in only by the provider. */
  readonly required: boolean
}

export type StaffDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly audit: Pick<Audit, 'append'>
  readonly addOperator: (tx: Tx, id: string) => Promise<void>
  /** The sign-in at the site of the desk. */
  readonly signIn: SignIn
  readonly singleSignOn: SingleSignOn
  /** Absent: staff have no single sign-on. */
  readonly provider?: StaffProvider | undefined
  readonly mail: Pick<MailQueue, 'enqueue'>
  /** Notifies staff of waiting items. */
  readonly inbox: () => Pick<Inbox, 'forget'>
  /** The name of the desk in mails. */
  readonly deskName: string
  readonly decisions: Decisions
  readonly caseOwners: CaseOwners
  readonly screening: Pick<Screening, 'decide' | 'lists'>
  /** Checks which items of the queue, other than cases, still wait for a person. */
  readonly waiting: WaitingChecks
}
