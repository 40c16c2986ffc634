/** The operations of staff: invitations, accounts, sessions, decisions, notes and proposed changes. */
import type { RecordedAction } from '../../audit/index.ts'
import { newLinkToken, notFound, Refusal, refuseInvalid } from '../../kernel/api/index.ts'
import { type CaseRow, type Decisions, kindsHiddenFromPartners, operatorPartnerId } from '../../cases/index.ts'
import {
  after,
  type Clock,
  hourMs,
  isEmptyName,
  newId,
  personKey,
  normalizeName,
  type RowKey,
  tokenHash,
} from '../../kernel/index.ts'
import { createFactQueue } from '../../inbox/index.ts'
import type { Tx } from '../../postgres/index.ts'
import { defineJob, type Job } from '../../postgres/jobs/index.ts'
import type { Hit, Screening } from '../../screening/index.ts'
import type { Session, SignIn } from '../sign-in/index.ts'
import { type Assignments, createAssignments } from './assignments.ts'
import { createSetDeciders, listDeciders, type SetDeciders, createCheckTwoStaff } from './deciders.ts'
import { createStaffCommands, type StaffCommands } from './commands.ts'
import type { SignedInStaff, StaffAccount, StaffDeps } from './deps.ts'
import {
  createStaffSignIn,
  createStaffSingleSignOn,
  type StaffSignIn,
  type StaffSingleSignOn,
  mailStaffChange,
} from './entrances.ts'
import { changeMs, emailKey, invitationMs, refuseLastAdmin, staffRealmId, type StaffRole } from './rules.ts'
import * as store from './store.ts'

/** The input of a decision that the person supplies. */
type DecisionInput<K extends 'propose' | 'approve' | 'reject'> = Omit<Parameters<Decisions[K]>[1], 'staff' | 'staffId'>

export type Staff = StaffSignIn & {
  /** Invites a person. Returns the token of a link that works once, within 24 hours. Refuses: validation_failed (/email, /name). */
  readonly invite: (
    tx: Tx,
    person: { readonly email: string; readonly fullName: string; readonly role: StaffRole },
  ) => Promise<{ readonly id: string; readonly token: string; readonly expiresAt: Date }>
  /** Finds the person of a session. Undefined: the session has ended, or belongs to a partner's team. */
  readonly signedIn: (token: string) => Promise<SignedInStaff | undefined>
  readonly signOut: (signed: SignedInStaff) => Promise<void>
  /** Forms that were sent after the session had ended. */
  readonly forms: SignIn['forms']
  /** Removes a person, and ends all sessions and command tokens at once. Refuses: not_found, validation_failed (the last admin). */
  readonly remove: (tx: Tx, id: string) => Promise<StaffAccount>
  /** Changes the role from the person's next request on. Refuses: not_found, validation_failed (the last admin). */
  readonly setRole: (tx: Tx, id: string, role: StaffRole) => Promise<StaffAccount>
  /** Ends all sessions and command tokens of a person, who can sign in again. Refuses: not_found. */
  readonly endSessions: (tx: Tx, id: string) => Promise<StaffAccount>
  /** Lists the sessions of a person at the desk, newest first. */
  readonly sessions: (id: string) => Promise<readonly Session[]>
  /** Ends one session of a person. */
  readonly endSession: (id: string, sessionId: string) => Promise<void>
  /** Lists the sign-in methods of staff members. */
  readonly factorsOf: (tx: Tx, ids: readonly string[]) => ReturnType<SignIn['factorsOf']>
  readonly list: typeof store.listAccounts
  /** Lists the roles that decide each kind of case, and hits. */
  readonly deciders: typeof listDeciders
  /** Sets the roles that decide a kind. */
  readonly setDeciders: SetDeciders
  readonly singleSignOn: StaffSingleSignOn
  /** The sign-in of the operator's commands. */
  readonly commands: StaffCommands
  /** Changes of rules that wait for a second person. */
  readonly changes: StaffChanges
  /** Records a search and its results in the operator's log before the person sees them. Refuses: permission_denied (the account was removed). */
  readonly recordSearch: (signed: SignedInStaff, search: StaffSearch) => Promise<void>
  /** Records that a person opened a bank file, with the payments on the page. Refuses like `recordSearch`. */
  readonly recordFile: (signed: SignedInStaff, file: StaffFile) => Promise<void>
  /** Records that a person opened the page of a payout. Refuses like `recordSearch`. */
  readonly recordPayout: (signed: SignedInStaff, opened: { readonly payouts: readonly string[] }) => Promise<void>
  /**
   * Records that a person opened a page about a partner or people. `ids`: the ids on the page, each with its partner's.
   * Refuses like `recordSearch`.
   */
  readonly recordOpened: (signed: SignedInStaff, page: OpenedPage, ids: readonly string[]) => Promise<void>
  readonly notes: {
    /** Lists notes about a partner, a customer or a payee, newest first, in pages. */
    readonly of: typeof store.listNotes
    /** Adds a note. Every role may. Refuses: permission_denied. */
    readonly add: (signed: SignedInStaff, about: store.NoteSubject, note: string) => Promise<void>
  }
  /** `propose`, `approve` and `reject` use the person's current role. Refuses: permission_denied, and as the operations of cases. */
  readonly propose: (signed: SignedInStaff, given: DecisionInput<'propose'>) => Promise<CaseRow>
  readonly approve: (signed: SignedInStaff, given: DecisionInput<'approve'>) => Promise<CaseRow>
  readonly reject: (signed: SignedInStaff, given: DecisionInput<'reject'>) => Promise<CaseRow>
  /**
   * Takes a case, gives it to another person, or hands it back. Every role may. `seen`: the owner on the page. Refuses:
   * not_found, validation_failed (decided, the owner has changed, no such person), permission_denied.
   */
  readonly assignCase: (signed: SignedInStaff, given: RowKey & OwnerChange) => Promise<CaseRow>
  /** Adds a note to the history of an open case. Every role may. Refuses: not_found, validation_failed (decided), permission_denied. */
  readonly remarkCase: (
    signed: SignedInStaff,
    given: { readonly partnerId: string; readonly id: string; readonly note: string },
  ) => Promise<CaseRow>
  /**
   * Takes another item of the queue, gives it to another person, or hands it back, like `assignCase`. Refuses:
   * validation_failed (it no longer waits, the owner has changed, no such person), permission_denied.
   */
  readonly assignQueueItem: (
    signed: SignedInStaff,
    given: store.QueueItemKey & OwnerChange,
  ) => Promise<store.Assignment>
  /** Adds a note to an item of the queue that is not a case. Every role may. Refuses: validation_failed (it no longer waits), permission_denied. */
  readonly remarkQueueItem: (
    signed: SignedInStaff,
    given: store.QueueItemKey & { readonly note: string },
  ) => Promise<store.Assignment>
  readonly assignments: Pick<Assignments, 'of' | 'ownedBy' | 'stepsOf' | 'endStep'>
  /** Decides a screening hit, or proposes the decision if two people decide. Refuses: permission_denied, and as the operation of screening. */
  readonly decideHit: (
    signed: SignedInStaff,
    given: Omit<Parameters<Screening['decide']>[1], 'staff' | 'staffId'>,
  ) => Promise<Hit>
}

/** `ownerId`: null removes the owner. `seen`: the owner on the page. */
type OwnerChange = { readonly ownerId: string | null; readonly seen: string | null }

/** `by`: what kind of text was typed. The text itself may be personal data, which the log must not contain because it is never erased. */
type StaffSearch = {
  readonly by: 'money' | 'text'
  /** Ids, each with its partner's. */
  readonly payouts: readonly string[]
  readonly customers: readonly string[]
  readonly payees: readonly string[]
  readonly deposits: readonly string[]
}

/** Pages about a partner or a person, and lists of people and payments. */
type OpenedPage = 'partner' | 'customer' | 'payee' | 'customers' | 'payees' | 'payments'

export type StaffFile = {
  readonly connector: string
  readonly fileId: string
  /** Ids, each with its partner's. */
  readonly payments: readonly string[]
}

export function createStaff(deps: StaffDeps): Staff {
  const { db, clock, signIn } = deps
  const assignments = createAssignments(deps)
  return {
    assignments,
    invite: async (tx, { email, fullName, role }) => {
      const name = normalizeName(fullName)
      if (isEmptyName(name) || name.length > nameCharsMax)
        throw refuseInvalid('/name', 'must be a name of 1 to 140 characters')
      if (!/^[^\s@]+@[^\s@]+$/.test(email)) throw refuseInvalid('/email', 'must be an email address')
      if (await store.isAddressOrNameTaken(tx, emailKey(email), personKey(name)))
        throw refuseInvalid('/email', 'or the name belongs to an account of staff already')
      const token = newLinkToken(staffRealmId)
      const now = clock.now()
      const row = { id: newId(), email, fullName: name, role, createdAt: now, expiresAt: after(now, invitationMs) }
      await store.insertInvitation(tx, { ...row, tokenHash: tokenHash(token) })
      return { id: row.id, token, expiresAt: row.expiresAt }
    },
    remove: async (tx, id) => {
      const { account, admins } = await store.lockWithAdmins(tx, id)
      if (account === undefined) throw notFound('staff account')
      refuseLastAdmin(account.role, admins)
      await store.removeAccount(tx, id, clock.now())
      await signIn.forgetRemoved(tx, staffRealmId, id)
      await deps.inbox().forget(tx, { partnerId: operatorPartnerId, personId: id })
      await store.endTokensOf(tx, id, clock.now())
      await mailStaffChange(deps, tx, account, 'removed')
      return account
    },
    setRole: async (tx, id, role) => {
      const { account, admins } = await store.lockWithAdmins(tx, id)
      if (account === undefined) throw notFound('staff account')
      if (role !== 'admin') refuseLastAdmin(account.role, admins)
      await store.updateRole(tx, id, role)
      const changed = { ...account, role }
      if (role !== account.role) await mailStaffChange(deps, tx, changed, 'role changed')
      return changed
    },
    endSessions: async (tx, id) => {
      const account = await store.lockAccount(tx, id)
      if (account === undefined) throw notFound('staff account')
      await signIn.endAll(tx, staffRealmId, id)
      await store.endTokensOf(tx, id, clock.now())
      await mailStaffChange(deps, tx, account, 'sessions ended')
      return account
    },
    sessions: (id) => signIn.sessions(staffRealmId, id),
    endSession: async (id, sessionId) => void (await signIn.end(staffRealmId, id, sessionId)),
    factorsOf: (tx, ids) => signIn.factorsOf(tx, staffRealmId, ids),
    list: store.listAccounts,
    deciders: listDeciders,
    setDeciders: createSetDeciders(deps),
    commands: createStaffCommands(deps),
    changes: createStaffChanges(deps),
    signedIn: async (token) => {
      const session = await signIn.session(token)
      if (session?.partnerId !== staffRealmId) return undefined
      const account = await store.accountById(db, session.memberId)
      return account && { session, account }
    },
    forms: signIn.forms,
    signOut: async ({ session, account }) => void (await signIn.end(staffRealmId, account.id, session.id)),
    recordSearch: createRecordRead(deps, 'staff find'),
    recordFile: createRecordRead(deps, 'staff file'),
    recordPayout: createRecordRead(deps, 'staff payout'),
    recordOpened: (signed, page, ids) => createRecordRead(deps, `staff ${page}`)(signed, { opened: ids }),
    notes: { of: store.listNotes, add: createAddNote(deps) },
    ...createStaffSignIn(deps),
    singleSignOn: createStaffSingleSignOn(deps),
    ...createCaseVerbs(deps),
    ...createQueueItemOperations(deps, assignments),
  }
}

/** Creates an operation that records the data of a page before a person sees them. */
const createRecordRead =
  ({ db, audit, addOperator }: StaffDeps, action: RecordedAction) =>
  (
    { session, account: { id } }: SignedInStaff,
    details: StaffSearch | StaffFile | Pick<StaffSearch, 'payouts'> | { readonly opened: readonly string[] },
  ): Promise<void> =>
    db.transaction(async (tx) => {
      const account = await store.lockAccount(tx, id)
      if (account === undefined) throw accountRemoved()
      await addOperator(tx, operatorPartnerId)
      const actor = { kind: 'operator', id, name: account.fullName, ip: session.ip } as const
      const about = { partnerId: operatorPartnerId, subject: { staffId: id } }
      audit.append(tx, [{ ...about, actor, action, details }])
    })

/** Creates the operation that adds a note. Only the notes contain its text, because they are erased and the log is not. */
const createAddNote =
  (deps: StaffDeps): Staff['notes']['add'] =>
  (signed, about, note) =>
    createRecordedAct(deps)(signed, {
      action: 'operator note add',
      given: { partnerId: about.partnerId, id: about.subjectId },
      work: (tx, { staff: authorName, staffId: authorId }) =>
        store.insertNote(tx, about, { id: newId(), authorId, authorName, note, madeAt: deps.clock.now() }),
      isKept: () => true,
      details: { kind: about.kind },
    })

const accountRemoved = () => new Refusal('permission_denied', 'The staff account was removed.')

const nameCharsMax = 140

type RecordedAct<T> = {
  readonly action: RecordedAction
  readonly given: { readonly partnerId: string; readonly id: string; readonly note?: string }
  readonly work: (tx: Tx, by: { readonly staff: string; readonly staffId: string }) => Promise<T>
  /** Reports whether the record belongs in the operator's log, because the partner must not learn of it. */
  readonly isKept: (tx: Tx, result: T) => boolean | Promise<boolean>
  readonly details?: Readonly<Record<string, string | null>>
}

/** Runs an action and records it in one transaction, with the current role of the account. */
const createRecordedAct =
  ({ db, audit, addOperator }: StaffDeps) =>
  <T>({ session, account: { id } }: SignedInStaff, act: RecordedAct<T>): Promise<T> =>
    db.transaction(async (tx) => {
      const { action, work, isKept, details } = act
      const { partnerId, id: caseId, note } = act.given
      const account = await store.lockAccount(tx, id)
      if (account === undefined) throw accountRemoved()
      const result = await work(tx, { staff: account.fullName, staffId: id })
      const actor = { kind: 'operator', id, name: account.fullName, ip: session.ip } as const
      const kept = await isKept(tx, result)
      if (kept) await addOperator(tx, operatorPartnerId)
      const about = kept
        ? { partnerId: operatorPartnerId, subject: { id: caseId, partnerId } }
        : { partnerId, subject: { id: caseId } }
      const reason = note === undefined ? {} : { reason: note }
      audit.append(tx, [{ ...about, actor, action, ...reason, ...(details === undefined ? {} : { details }) }])
      return result
    })

type CaseVerbs = Pick<Staff, 'propose' | 'approve' | 'reject' | 'assignCase' | 'remarkCase' | 'decideHit'>

function createCaseVerbs(deps: StaffDeps): CaseVerbs {
  const { decisions, caseOwners, screening } = deps
  const decide = createRecordedAct(deps)
  const caseRecord = {
    isKept: async (tx: Tx, row: CaseRow) =>
      [row.kind, await decisions.decidedKind(tx, row)].some((kind) => kindsHiddenFromPartners.has(kind)),
  }
  // The partner must not see who works on a case or a hit, nor the decision of a hit.
  const isKept = () => true
  return {
    propose: async (signed, given) => {
      await screening.lists.recent()
      const work: RecordedAct<CaseRow>['work'] = (tx, by) => decisions.propose(tx, { ...given, ...by })
      return decide(signed, { action: 'operator case propose', given, work, ...caseRecord })
    },
    approve: async (signed, given) => {
      await screening.lists.recent()
      const work: RecordedAct<CaseRow>['work'] = (tx, by) => decisions.approve(tx, { ...given, ...by })
      return decide(signed, { action: 'operator case approve', given, work, ...caseRecord })
    },
    reject: async (signed, given) => {
      await screening.lists.recent()
      const work: RecordedAct<CaseRow>['work'] = (tx, by) => decisions.reject(tx, { ...given, ...by })
      return decide(signed, { action: 'operator case reject', given, work, ...caseRecord })
    },
    assignCase: (signed, { ownerId, ...given }) => {
      const work: RecordedAct<CaseRow>['work'] = async (tx, { staff, staffId }) => {
        const owner = await lockOwner(tx, ownerId)
        return caseOwners.assign(tx, { ...given, by: { id: staffId, fullName: staff }, owner })
      }
      return decide(signed, { action: 'operator case assign', given, work, isKept, details: { owner: ownerId } })
    },
    // Only the history of the case contains the text, because the history is erased and the log is not.
    remarkCase: (signed, { note, ...given }) => {
      const work: RecordedAct<CaseRow>['work'] = (tx, { staff, staffId }) =>
        caseOwners.remark(tx, { ...given, note, by: { id: staffId, fullName: staff } })
      return decide(signed, { action: 'operator case remark', given, work, isKept })
    },
    decideHit: async (signed, given) => {
      const work: RecordedAct<Hit>['work'] = (tx, by) => screening.decide(tx, { ...given, ...by })
      return decide(signed, { action: 'operator screening decide', given, work, isKept })
    },
  }
}

/** Locks the account of the new owner. Null: no owner. Refuses: validation_failed. */
async function lockOwner(tx: Tx, ownerId: string | null) {
  const owner = ownerId === null ? null : await store.lockAccount(tx, ownerId)
  if (owner === undefined) throw new Refusal('validation_failed', 'Choose a staff member.')
  return owner
}

/** Creates the operations of other queue items. The operator's log records them without the text of notes. */
function createQueueItemOperations(
  deps: StaffDeps,
  assignments: Assignments,
): Pick<Staff, 'assignQueueItem' | 'remarkQueueItem'> {
  const decide = createRecordedAct(deps)
  const isKept = () => true
  return {
    assignQueueItem: async (signed, { ownerId, seen, ...key }) => {
      await assignments.requireWaiting(key)
      return decide(signed, {
        action: 'operator queue assign',
        given: { partnerId: key.partnerId, id: key.subject },
        work: async (tx, { staff, staffId }) => {
          const owner = await lockOwner(tx, ownerId)
          // The row of an item without a partner has the operator's partner id.
          await deps.addOperator(tx, operatorPartnerId)
          return assignments.assign(tx, { ...key, seen, by: { id: staffId, fullName: staff }, owner })
        },
        isKept,
        details: { kind: key.kind, owner: ownerId },
      })
    },
    remarkQueueItem: async (signed, { note, ...key }) => {
      await assignments.requireWaiting(key)
      return decide(signed, {
        action: 'operator queue remark',
        given: { partnerId: key.partnerId, id: key.subject },
        work: async (tx, { staff, staffId }) => {
          await deps.addOperator(tx, operatorPartnerId)
          return assignments.remark(tx, { ...key, note, by: { id: staffId, fullName: staff } })
        },
        isKept,
        details: { kind: key.kind },
      })
    },
  }
}

// Changes of the operator's rules that need a second person: proposed, approved or rejected, and carried out once.

export type StaffChange = store.ChangeRow
/** The second person of a change. */
type SecondPerson = { readonly id: string; readonly fullName: string }

/** Reports whether a role may run a command. */
type CanRunCommand = (command: string, role: StaffRole) => boolean

export type StaffChanges = {
  readonly propose: (
    tx: Tx,
    by: SecondPerson,
    change: {
      readonly command: string
      readonly options: Readonly<Record<string, unknown>>
      /** Options that are erased when the change is carried out or rejected, or has expired. */
      readonly unrecorded?: Readonly<Record<string, unknown>>
    },
  ) => Promise<StaffChange>
  /** Reads a change. Refuses: not_found. */
  readonly get: (tx: Tx, id: string) => Promise<StaffChange>
  /** Reads a change that `by` may approve. Refuses: not_found, validation_failed (decided, expired, or proposed by the same person). */
  readonly approvable: (tx: Tx, id: string, by: SecondPerson, mayRun: CanRunCommand) => Promise<StaffChange>
  /** Lists changes that were not carried out or rejected and have not expired, oldest first. */
  readonly waiting: (tx: Tx, rowsMax: number) => Promise<readonly StaffChange[]>
  /**
   * Approves a change, which its proposer then carries out. Refuses: not_found, validation_failed (decided, expired, or proposed by the
   * same person).
   */
  readonly approve: (tx: Tx, id: string, by: SecondPerson, mayRun: CanRunCommand) => Promise<StaffChange>
  /** Rejects a change, or lets its proposer withdraw it. Refuses: not_found, validation_failed (decided or expired). */
  readonly reject: (tx: Tx, id: string, by: SecondPerson, reason: string) => Promise<StaffChange>
  /**
   * Records, in the transaction of the change, that it was carried out: approved now by `by`, another person, or
   * approved earlier. A change is carried out once, and both people must be allowed to run the command. Refuses:
   * not_found, validation_failed.
   */
  readonly carryOut: (tx: Tx, id: string, by: SecondPerson, mayRun: CanRunCommand) => Promise<void>
  /** Erases the unrecorded options of expired changes. */
  readonly forgetExpired: (tx: Tx) => Promise<void>
  /** Counts the accounts that could approve a change of staff. */
  readonly admins: (tx: Tx) => Promise<number>
}

export function createStaffChanges({ clock }: { readonly clock: Clock }): StaffChanges {
  const facts = createFactQueue({ clock })
  const requireWaiting = async (read: Promise<StaffChange | undefined>) => {
    const row = await read
    if (row === undefined) throw notFound('change')
    if (row.doneAt !== null) throw new Refusal('validation_failed', 'The change was carried out.')
    if (row.approved === false)
      throw new Refusal('validation_failed', `The change was rejected by ${row.decidedByName}.`)
    if (row.expiresAt <= clock.now())
      throw new Refusal('validation_failed', 'The change has expired: propose it again.')
    return row
  }
  const lock = (tx: Tx, id: string) => requireWaiting(store.lockChange(tx, id))
  const judge = (tx: Tx, row: StaffChange, by: SecondPerson, mayRun: CanRunCommand) => {
    const author = { id: row.proposedBy, name: row.proposedByName }
    const two = createCheckTwoStaff((role) => mayRun(row.command, role))
    return two(tx, author, { id: by.id, name: by.fullName })
  }
  const refusePersons = async (...given: Parameters<typeof judge>) => {
    const not = await judge(...given)
    if (not !== undefined) throw new Refusal('validation_failed', not.why)
  }
  const refuseApprover = async (tx: Tx, row: StaffChange, by: SecondPerson, mayRun: CanRunCommand) => {
    if (row.proposedBy === by.id)
      throw new Refusal('validation_failed', 'Another person must approve the change, because you proposed it.')
    await refusePersons(tx, row, by, mayRun)
    if (row.approved !== true || row.decidedBy === null) return
    // The approval of a person who may no longer approve does not count, so another person can approve.
    const approver = { id: row.decidedBy, fullName: row.decidedByName ?? '' }
    if ((await judge(tx, row, approver, mayRun)) === undefined)
      throw new Refusal('validation_failed', `The change was approved by ${row.decidedByName}.`)
  }
  const approve = async (tx: Tx, row: StaffChange, by: SecondPerson, mayRun: CanRunCommand) => {
    await refuseApprover(tx, row, by, mayRun)
    const decided = { by: by.id, byName: by.fullName, approved: true, reason: null, now: clock.now() }
    await store.decideChange(tx, row.id, decided)
  }
  return {
    propose: async (tx, by, { command, options, unrecorded = {} }) => {
      const now = clock.now()
      const row = {
        id: newId(),
        command,
        options: JSON.stringify({ ...options, ...unrecorded }),
        proposedBy: by.id,
        proposedByName: by.fullName,
        proposedAt: now,
        expiresAt: after(now, changeMs),
      }
      await store.insertChange(tx, { ...row, options, unrecorded })
      const fact = { partnerId: operatorPartnerId, subject: row.id, facts: { kind: command, by: by.fullName } }
      facts.append(tx, [{ ...fact, type: 'change.waits' }])
      return {
        ...row,
        decidedBy: null,
        decidedByName: null,
        decidedAt: null,
        approved: null,
        reason: null,
        doneAt: null,
      }
    },
    get: async (tx, id) => {
      const row = await store.changeById(tx, id)
      if (row === undefined) throw notFound('change')
      return row
    },
    approvable: async (tx, id, by, mayRun) => {
      const row = await requireWaiting(store.changeById(tx, id))
      await refuseApprover(tx, row, by, mayRun)
      return row
    },
    waiting: (tx, rowsMax) => store.waitingChanges(tx, clock.now(), rowsMax),
    approve: async (tx, id, by, mayRun) => {
      const row = await lock(tx, id)
      await approve(tx, row, by, mayRun)
      return row
    },
    reject: async (tx, id, by, reason) => {
      const row = await lock(tx, id)
      await store.decideChange(tx, id, { by: by.id, byName: by.fullName, approved: false, reason, now: clock.now() })
      return row
    },
    carryOut: async (tx, id, by, mayRun) => {
      const row = await lock(tx, id)
      if (row.approved !== true || row.decidedBy !== by.id) await approve(tx, row, by, mayRun)
      else await refusePersons(tx, row, by, mayRun)
      await store.markChangeDone(tx, id, clock.now())
    },
    forgetExpired: (tx) => store.forgetExpired(tx, clock.now()),
    admins: async (tx) => (await store.listAccounts(tx)).filter(({ role }) => role === 'admin').length,
  }
}

/** Erases options that the audit log omits, because an expired change needs them no more. */
export const changesJob = ({ db, clock }: Pick<StaffDeps, 'db' | 'clock'>): Job =>
  defineJob({
    name: 'staff.changes',
    everyMs: hourMs,
    run: async () => {
      await createStaffChanges({ clock }).forgetExpired(db)
      return 0
    },
  })
