/** The verbs of staff: who joins by an invitation, signs in, decides a case or is removed. */
import type { RecordedAction } from '../../audit/index.ts'
import { newLinkToken, notFound, Refusal, refuseField } from '../../kernel/api/index.ts'
import { type CaseRow, type Decisions, keptFromPartners, operatorPartnerId } from '../../cases/index.ts'
import { after, type Clock, isNoName, newId, personKey, tidyName } from '../../kernel/index.ts'
import { createFactQueue } from '../../inbox/index.ts'
import type { Tx } from '../../postgres/index.ts'
import type { Hit, Screening } from '../../screening/index.ts'
import type { Session, SignIn } from '../sign-in/index.ts'
import { type Assignments, createAssignments } from './assignments.ts'
import { createSetDeciders, listDeciders, type SetDeciders, twoOfStaff } from './deciders.ts'
import { createStaffCommands, type StaffCommands } from './commands.ts'
import type { SignedStaff, StaffAccount, StaffDeps } from './deps.ts'
import {
  createEntrances,
  createStaffSingleSignOn,
  type Entrances,
  type StaffSingleSignOn,
  mailStaffChange,
} from './entrances.ts'
import { changeMs, emailKey, invitationMs, refuseLastAdmin, staffRealmId, type StaffRole, tokenHash } from './rules.ts'
import * as store from './store.ts'

/** The part of a decision that the person gives. */
type Given<K extends 'propose' | 'approve' | 'reject'> = Omit<Parameters<Decisions[K]>[1], 'staff' | 'staffId'>

export type Staff = Entrances & {
  /** Returns the token of a link that works once, for 24 hours. Refuses: validation_failed (/email, /name). */
  readonly invite: (
    tx: Tx,
    person: { readonly email: string; readonly fullName: string; readonly role: StaffRole },
  ) => Promise<{ readonly id: string; readonly token: string; readonly expiresAt: Date }>
  /** Undefined: the session has ended, or is not of staff. */
  readonly signedIn: (token: string) => Promise<SignedStaff | undefined>
  readonly signOut: (signed: SignedStaff) => Promise<void>
  /** Forms that met an ended session. */
  readonly forms: SignIn['forms']
  /** Ends all sessions and tokens of commands at once. Refuses: not_found, validation_failed (the last admin). */
  readonly remove: (tx: Tx, id: string) => Promise<StaffAccount>
  /** The role counts from the next request. Refuses: not_found, validation_failed (the last admin). */
  readonly setRole: (tx: Tx, id: string, role: StaffRole) => Promise<StaffAccount>
  /** Ends all sessions and tokens of commands of a person, who signs in again. Refuses: not_found. */
  readonly endSessions: (tx: Tx, id: string) => Promise<StaffAccount>
  /** The sessions of a person at the desk, newest first. */
  readonly sessions: (id: string) => Promise<readonly Session[]>
  /** Ends one session of a person. */
  readonly endSession: (id: string, sessionId: string) => Promise<void>
  /** How people of staff sign in. */
  readonly factorsOf: (tx: Tx, ids: readonly string[]) => ReturnType<SignIn['factorsOf']>
  readonly list: typeof store.accounts
  /** The roles that decide each kind of case, and hits. */
  readonly deciders: typeof listDeciders
  /** Changes the roles that decide a kind. */
  readonly setDeciders: SetDeciders
  readonly singleSignOn: StaffSingleSignOn
  /** The sign-in of the operator's commands. */
  readonly commands: StaffCommands
  /** Changes of rules that wait for a second person. */
  readonly changes: StaffChanges
  /** Records a search and what it found, in the log of the operator, before the person sees it. Refuses: permission_denied (the account was removed). */
  readonly recordSearch: (signed: SignedStaff, search: StaffSearch) => Promise<void>
  /** Records that a person opened a file of a bank, and the payments that the page shows, as `recordSearch`. */
  readonly recordFile: (signed: SignedStaff, file: StaffFile) => Promise<void>
  /** Records that a person opened the page of a payout, as `recordSearch`. */
  readonly recordPayout: (signed: SignedStaff, opened: { readonly payouts: readonly string[] }) => Promise<void>
  /** Records that a person opened a page of a partner or a person, or a list of them, as `recordSearch`. `ids`: with their partners. */
  readonly recordOpened: (signed: SignedStaff, page: OpenedPage, ids: readonly string[]) => Promise<void>
  readonly notes: {
    /** Notes about a partner, a customer or a payee, newest first, in pages. */
    readonly of: typeof store.notesOf
    /** Adds a note. Every role does. Refuses: permission_denied. */
    readonly add: (signed: SignedStaff, about: store.Noted, note: string) => Promise<void>
  }
  /** Each refuses as the verb of cases, and permission_denied. The role is that of the moment, not that of the page. */
  readonly propose: (signed: SignedStaff, given: Given<'propose'>) => Promise<CaseRow>
  readonly approve: (signed: SignedStaff, given: Given<'approve'>) => Promise<CaseRow>
  readonly reject: (signed: SignedStaff, given: Given<'reject'>) => Promise<CaseRow>
  /**
   * Takes a case, gives it to another person, or hands it back. Every role does. `seen`: the owner on the page. Refuses: not_found, validation_failed
   * (decided, another owner meanwhile, no such person), permission_denied.
   */
  readonly assignCase: (signed: SignedStaff, given: CaseKey & Owning) => Promise<CaseRow>
  /** Adds a note to the history of an open case. Every role does. Refuses: not_found, validation_failed (decided), permission_denied. */
  readonly remarkCase: (
    signed: SignedStaff,
    given: { readonly partnerId: string; readonly id: string; readonly note: string },
  ) => Promise<CaseRow>
  /**
   * Takes what waits besides cases, gives it to another person, or hands it back, as `assignCase`. Refuses: validation_failed (it no longer waits,
   * another owner meanwhile, no such person), permission_denied.
   */
  readonly assignThing: (signed: SignedStaff, given: store.ThingKey & Owning) => Promise<store.Assignment>
  /** Adds a note to what waits besides cases. Every role does. Refuses: validation_failed (it no longer waits), permission_denied. */
  readonly remarkThing: (
    signed: SignedStaff,
    given: store.ThingKey & { readonly note: string },
  ) => Promise<store.Assignment>
  readonly assignments: Pick<Assignments, 'of' | 'ownedBy' | 'stepsOf' | 'endStep'>
  /** Decides a hit of screening, or proposes it if two persons decide. Refuses as the verb of screening, and permission_denied. */
  readonly decideHit: (
    signed: SignedStaff,
    given: Omit<Parameters<Screening['decide']>[1], 'staff' | 'staffId'>,
  ) => Promise<Hit>
}

type CaseKey = { readonly partnerId: string; readonly id: string }
/** `ownerId`: null takes the owner away. */
type Owning = { readonly ownerId: string | null; readonly seen: string | null }

/** `by`: the form of what was typed. The text itself may be personal data, which a log that is never erased does not take. */
export type StaffSearch = {
  readonly by: 'money' | 'text'
  /** Ids with their partners. */
  readonly payouts: readonly string[]
  readonly customers: readonly string[]
  readonly payees: readonly string[]
  readonly deposits: readonly string[]
}

/** Pages of a partner or a person, and lists of persons. */
type OpenedPage = 'partner' | 'customer' | 'payee' | 'customers' | 'payees' | 'payments'

export type StaffFile = {
  readonly connector: string
  readonly fileId: string
  /** Ids with their partners. */
  readonly payments: readonly string[]
}

export function createStaff(deps: StaffDeps): Staff {
  const { db, clock, signIn } = deps
  const assignments = createAssignments(deps)
  return {
    assignments,
    invite: async (tx, { email, fullName, role }) => {
      const name = tidyName(fullName)
      if (isNoName(name) || name.length > nameCharsMax)
        throw refuseInvite('/name', 'must be a name of 1 to 140 characters')
      if (!/^[^\s@]+@[^\s@]+$/.test(email)) throw refuseInvite('/email', 'must be an email address')
      if (await store.isTaken(tx, emailKey(email), personKey(name)))
        throw refuseInvite('/email', 'or the name belongs to an account of staff already')
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
      await signIn.forget(tx, staffRealmId, id)
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
      const account = await store.holdAccount(tx, id)
      if (account === undefined) throw notFound('staff account')
      await signIn.endAll(tx, staffRealmId, id)
      await store.endTokensOf(tx, id, clock.now())
      await mailStaffChange(deps, tx, account, 'sessions ended')
      return account
    },
    sessions: (id) => signIn.sessions(staffRealmId, id),
    endSession: async (id, sessionId) => void (await signIn.end(staffRealmId, id, sessionId)),
    factorsOf: (tx, ids) => signIn.factorsOf(tx, staffRealmId, ids),
    list: store.accounts,
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
    notes: { of: store.notesOf, add: createAddNote(deps) },
    ...createEntrances(deps),
    singleSignOn: createStaffSingleSignOn(deps),
    ...createDeciding(deps),
    ...createThings(deps, assignments),
  }
}

/** Records what a person reads, before the person sees it. */
const createRecordRead =
  ({ db, audit, addOperator }: StaffDeps, action: RecordedAction) =>
  (
    { session, account: { id } }: SignedStaff,
    details: StaffSearch | StaffFile | Pick<StaffSearch, 'payouts'> | { readonly opened: readonly string[] },
  ): Promise<void> =>
    db.transaction(async (tx) => {
      const account = await store.holdAccount(tx, id)
      if (account === undefined) throw removed()
      await addOperator(tx, operatorPartnerId)
      const actor = { kind: 'operator', id, name: account.fullName, ip: session.ip } as const
      const about = { partnerId: operatorPartnerId, subject: { staffId: id } }
      audit.append(tx, [{ ...about, actor, action, details }])
    })

/** The text is in the notes only, which are erased: a log that is never erased does not take it. */
const createAddNote =
  (deps: StaffDeps): Staff['notes']['add'] =>
  (signed, about, note) =>
    createDecide(deps)(signed, {
      action: 'operator note add',
      given: { partnerId: about.partnerId, id: about.subjectId },
      work: (tx, { staff: authorName, staffId: authorId }) =>
        store.insertNote(tx, about, { id: newId(), authorId, authorName, note, madeAt: deps.clock.now() }),
      isKept: () => true,
      details: { kind: about.kind },
    })

const removed = () => new Refusal('permission_denied', 'The account of staff was removed.')

const nameCharsMax = 140
const refuseInvite = (pointer: string, message: string) => refuseField({ pointer, code: 'invalid_value', message })

type Decided<T> = {
  readonly action: RecordedAction
  readonly given: { readonly partnerId: string; readonly id: string; readonly note?: string }
  readonly work: (tx: Tx, by: { readonly staff: string; readonly staffId: string }) => Promise<T>
  /** Reports whether the record is in the log of the operator, because the partner must not learn of it. */
  readonly isKept: (decided: T) => boolean
  readonly details?: Readonly<Record<string, string | null>>
}

/** Runs a decision and its record in one transaction, with the role that the account has now. */
const createDecide =
  ({ db, audit, addOperator }: StaffDeps) =>
  <T>({ session, account: { id } }: SignedStaff, decided: Decided<T>): Promise<T> =>
    db.transaction(async (tx) => {
      const { action, work, isKept, details } = decided
      const { partnerId, id: caseId, note } = decided.given
      const account = await store.holdAccount(tx, id)
      if (account === undefined) throw removed()
      const result = await work(tx, { staff: account.fullName, staffId: id })
      const actor = { kind: 'operator', id, name: account.fullName, ip: session.ip } as const
      const kept = isKept(result)
      if (kept) await addOperator(tx, operatorPartnerId)
      const about = kept
        ? { partnerId: operatorPartnerId, subject: { id: caseId, partnerId } }
        : { partnerId, subject: { id: caseId } }
      const said = { ...(note === undefined ? {} : { reason: note }), ...(details === undefined ? {} : { details }) }
      audit.append(tx, [{ ...about, actor, action, ...said }])
      return result
    })

type Deciding = Pick<Staff, 'propose' | 'approve' | 'reject' | 'assignCase' | 'remarkCase' | 'decideHit'>

function createDeciding(deps: StaffDeps): Deciding {
  const { decisions, caseOwners, screening } = deps
  const decide = createDecide(deps)
  const ofCase = { isKept: ({ kind }: CaseRow) => keptFromPartners.has(kind) }
  // What staff find out about a case is not for its partner.
  const isKept = () => true
  return {
    propose: (signed, given) => {
      const work: Decided<CaseRow>['work'] = (tx, by) => decisions.propose(tx, { ...given, ...by })
      return decide(signed, { action: 'operator case propose', given, work, ...ofCase })
    },
    approve: (signed, given) => {
      const work: Decided<CaseRow>['work'] = (tx, by) => decisions.approve(tx, { ...given, ...by })
      return decide(signed, { action: 'operator case approve', given, work, ...ofCase })
    },
    reject: (signed, given) => {
      const work: Decided<CaseRow>['work'] = (tx, by) => decisions.reject(tx, { ...given, ...by })
      return decide(signed, { action: 'operator case reject', given, work, ...ofCase })
    },
    assignCase: (signed, { ownerId, ...given }) => {
      const work: Decided<CaseRow>['work'] = async (tx, { staff, staffId }) => {
        const owner = await ownerOf(tx, ownerId)
        return caseOwners.assign(tx, { ...given, by: { id: staffId, fullName: staff }, owner })
      }
      return decide(signed, { action: 'operator case assign', given, work, isKept, details: { owner: ownerId } })
    },
    // The text is in the history of the case only, which is erased: a log that is never erased does not take it.
    remarkCase: (signed, { note, ...given }) => {
      const work: Decided<CaseRow>['work'] = (tx, { staff, staffId }) =>
        caseOwners.remark(tx, { ...given, note, by: { id: staffId, fullName: staff } })
      return decide(signed, { action: 'operator case remark', given, work, isKept })
    },
    decideHit: async (signed, given) => {
      const work: Decided<Hit>['work'] = (tx, by) => screening.decide(tx, { ...given, ...by })
      return decide(signed, { action: 'operator screening decide', given, work, isKept })
    },
  }
}

/** Null: no owner. Refuses: validation_failed. */
async function ownerOf(tx: Tx, ownerId: string | null) {
  const owner = ownerId === null ? null : await store.holdAccount(tx, ownerId)
  if (owner === undefined) throw new Refusal('validation_failed', 'Choose a person of staff.')
  return owner
}

/** Owners and notes of what waits besides cases, in the log of the operator: the text of a note is not. */
function createThings(deps: StaffDeps, assignments: Assignments): Pick<Staff, 'assignThing' | 'remarkThing'> {
  const decide = createDecide(deps)
  const isKept = () => true
  return {
    assignThing: async (signed, { ownerId, seen, ...key }) => {
      await assignments.requireWaiting(key)
      return decide(signed, {
        action: 'operator queue assign',
        given: { partnerId: key.partnerId, id: key.subject },
        work: async (tx, { staff, staffId }) => {
          const owner = await ownerOf(tx, ownerId)
          // The row of what belongs to no partner names the operator's own.
          await deps.addOperator(tx, operatorPartnerId)
          return assignments.assign(tx, { ...key, seen, by: { id: staffId, fullName: staff }, owner })
        },
        isKept,
        details: { kind: key.kind, owner: ownerId },
      })
    },
    remarkThing: async (signed, { note, ...key }) => {
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

// Changes of the operator's rules that wait for a second person: proposed, approved or rejected, carried out once.

export type StaffChange = store.ChangeRow
/** The second person of a change. */
type SecondPerson = { readonly id: string; readonly fullName: string }

/** Reports whether a role may run a command. */
type MayRun = (command: string, role: StaffRole) => boolean

export type StaffChanges = {
  readonly propose: (
    tx: Tx,
    by: SecondPerson,
    change: { readonly command: string; readonly options: Readonly<Record<string, unknown>> },
  ) => Promise<StaffChange>
  /** Refuses: not_found. */
  readonly get: (tx: Tx, id: string) => Promise<StaffChange>
  /** A change that `by` may approve. Refuses: not_found, validation_failed (decided, over, or by the same person). */
  readonly approvable: (tx: Tx, id: string, by: SecondPerson, mayRun: MayRun) => Promise<StaffChange>
  /** Changes that are not carried out, rejected or over, oldest first. */
  readonly waiting: (tx: Tx, rowsMax: number) => Promise<readonly StaffChange[]>
  /** Approves what its proposer carries out. Refuses: not_found, validation_failed (decided, over, or by the same person). */
  readonly approve: (tx: Tx, id: string, by: SecondPerson, mayRun: MayRun) => Promise<StaffChange>
  /** The proposer withdraws it, or another person rejects it. Refuses: not_found, validation_failed (decided or over). */
  readonly reject: (tx: Tx, id: string, by: SecondPerson, reason: string) => Promise<StaffChange>
  /**
   * Notes, in the transaction of the change, that it is carried out: with the approval of `by`, who is another person, or with the earlier
   * approval. So it is carried out once, and both persons may run the command at this moment. Refuses: not_found, validation_failed.
   */
  readonly carryOut: (tx: Tx, id: string, by: SecondPerson, mayRun: MayRun) => Promise<void>
  /** How many accounts could approve a change of staff. */
  readonly admins: (tx: Tx) => Promise<number>
}

export function createStaffChanges({ clock }: { readonly clock: Clock }): StaffChanges {
  const facts = createFactQueue({ clock })
  const waiting = async (read: Promise<StaffChange | undefined>) => {
    const row = await read
    if (row === undefined) throw notFound('change')
    if (row.doneAt !== null) throw new Refusal('validation_failed', 'The change was carried out.')
    if (row.approved === false)
      throw new Refusal('validation_failed', `The change was rejected by ${row.decidedByName}.`)
    if (row.expiresAt <= clock.now())
      throw new Refusal('validation_failed', 'The change has waited for too long: propose it again.')
    return row
  }
  const lock = (tx: Tx, id: string) => waiting(store.lockChange(tx, id))
  const judge = (tx: Tx, row: StaffChange, by: SecondPerson, mayRun: MayRun) => {
    const author = { id: row.proposedBy, name: row.proposedByName }
    const two = twoOfStaff((role) => mayRun(row.command, role))
    return two(tx, author, { id: by.id, name: by.fullName })
  }
  const refuseOne = async (...given: Parameters<typeof judge>) => {
    const not = await judge(...given)
    if (not !== undefined) throw new Refusal('validation_failed', not.why)
  }
  const refuseApprover = async (tx: Tx, row: StaffChange, by: SecondPerson, mayRun: MayRun) => {
    if (row.proposedBy === by.id)
      throw new Refusal('validation_failed', 'Another person must approve the change, because you proposed it.')
    await refuseOne(tx, row, by, mayRun)
    if (row.approved !== true || row.decidedBy === null) return
    // The approval of who may no longer approve does not count: another person gives one.
    const before = { id: row.decidedBy, fullName: row.decidedByName ?? '' }
    if ((await judge(tx, row, before, mayRun)) === undefined)
      throw new Refusal('validation_failed', `The change was approved by ${row.decidedByName}.`)
  }
  const approve = async (tx: Tx, row: StaffChange, by: SecondPerson, mayRun: MayRun) => {
    await refuseApprover(tx, row, by, mayRun)
    const decided = { by: by.id, byName: by.fullName, approved: true, reason: null, now: clock.now() }
    await store.decideChange(tx, row.id, decided)
  }
  return {
    propose: async (tx, by, { command, options }) => {
      const now = clock.now()
      const row = {
        ...{ id: newId(), command, options: JSON.stringify(options), proposedBy: by.id, proposedByName: by.fullName },
        ...{ proposedAt: now, expiresAt: after(now, changeMs) },
      }
      await store.insertChange(tx, row)
      const fact = { partnerId: operatorPartnerId, subject: row.id, facts: { kind: command, by: by.fullName } }
      facts.append(tx, [{ ...fact, type: 'change.waits' }])
      return {
        ...row,
        ...{ decidedBy: null, decidedByName: null, decidedAt: null, approved: null, reason: null, doneAt: null },
      }
    },
    get: async (tx, id) => {
      const row = await store.changeById(tx, id)
      if (row === undefined) throw notFound('change')
      return row
    },
    approvable: async (tx, id, by, mayRun) => {
      const row = await waiting(store.changeById(tx, id))
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
      else await refuseOne(tx, row, by, mayRun)
      await store.recordDone(tx, id, clock.now())
    },
    admins: async (tx) => (await store.accounts(tx)).filter(({ role }) => role === 'admin').length,
  }
}
