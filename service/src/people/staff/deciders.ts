/**
 * The roles of each kind of case, and of hits. The table in the code holds until two admins have changed a kind. Pages, commands and
 * the verbs of cases and screening ask here.
 */
import { Refusal } from '../../kernel/api/index.ts'
import { type Clock, type Decider, judgeTwo, type NotTwo, personKey, type Standing } from '../../kernel/index.ts'
import type { Tx } from '../../postgres/index.ts'
import { type DecidedKind, decidedKinds, defaultDeciders, type StaffRole, staffRoles } from './rules.ts'
import * as store from './store.ts'

export type Deciders = {
  readonly kind: DecidedKind
  readonly roles: readonly StaffRole[]
  /** Null: the roles are those of the code. */
  readonly setBy: string | null
  readonly setAt: Date | null
}

/** The roles of every kind, in the order of the code. */
export async function listDeciders(tx: Tx): Promise<readonly Deciders[]> {
  const changed = new Map((await store.deciders(tx)).map((row) => [row.kind, row]))
  return decidedKinds.map((kind) => ({
    ...{ kind, roles: defaultDeciders[kind], setBy: null, setAt: null },
    ...changed.get(kind),
  }))
}

const rolesOf = async (tx: Tx, kind: DecidedKind): Promise<readonly StaffRole[]> =>
  (await store.decidersOf(tx, kind))?.roles ?? defaultDeciders[kind]

/** The kinds that a role decides. */
export const kindsDecidedBy = (deciders: readonly Deciders[], role: StaffRole): readonly DecidedKind[] =>
  deciders.filter(({ roles }) => roles.includes(role)).map(({ kind }) => kind)

/** Judges the two persons of a decision about a kind, as they stand now. */
export async function twoDeciders(
  tx: Tx,
  kind: DecidedKind,
  author: Decider,
  approver: Decider,
): Promise<NotTwo | undefined> {
  const roles = await rolesOf(tx, kind)
  return twoOfStaff((role) => roles.includes(role))(tx, author, approver)
}

/** Refuses: permission_denied. A sandbox without an account of staff takes names as they are typed. */
export async function requireDecider(tx: Tx, kind: DecidedKind, { id, name }: Decider): Promise<void> {
  const rows = await store.holdPersons(tx, id === undefined ? [] : [id], id === undefined ? [personKey(name)] : [])
  const [person] = rows
  if (person === undefined && id === undefined && !(await store.hasAccounts(tx))) return
  const roles = await rolesOf(tx, kind)
  if (person !== undefined && roles.includes(person.role)) return
  const theirs = person === undefined ? `${name} has no account` : `the role of ${name} is ${person.role}`
  throw new Refusal('permission_denied', `Deciding ${kind} needs the role ${roles.join(' or ')}: ${theirs}.`)
}

export type SetDeciders = (
  tx: Tx,
  given: { readonly kind: DecidedKind; readonly roles: readonly StaffRole[]; readonly staff: string },
) => Promise<Deciders>

/** Sets the roles of a kind, with admin always among them: one admin remains, so that each kind keeps a person who decides it. */
export const createSetDeciders =
  ({ clock }: { readonly clock: Clock }): SetDeciders =>
  async (tx, { kind, roles: given, staff: setBy }) => {
    const roles = staffRoles.filter((role) => role === 'admin' || given.includes(role))
    const row = { kind, roles, setBy, setAt: clock.now() }
    await store.setDeciders(tx, row)
    return row
  }

// The two persons of staff who decide, when the decision takes effect. Cases, hits, rules of monitoring and changes ask here, in the transaction of
// the effect: a role that was taken since the proposal decides nothing.

export type JudgeTwo = (tx: Tx, author: Decider, approver: Decider) => Promise<NotTwo | undefined>

/** `may`: the roles that decide. Locks both accounts until the end of the transaction. */
export const twoOfStaff =
  (may: (role: StaffRole) => boolean): JudgeTwo =>
  async (tx, author, approver) => {
    const persons = [author, approver]
    const ids = persons.flatMap(({ id }) => id ?? [])
    const rows = await store.holdPersons(
      tx,
      ids,
      persons.map(({ name }) => personKey(name)),
    )
    // A sandbox without an account of staff takes names as they are typed.
    const areTyped = rows.length === 0 && !(await store.hasAccounts(tx))
    const standingOf = ({ id, name }: Decider): Standing => {
      // Names of staff are unique, so that one finds the account of a proposal that names no id.
      const row = rows.find((each) => (id === undefined ? each.nameKey === personKey(name) : each.id === id))
      return { id: id ?? row?.id, name, may: areTyped || (row !== undefined && may(row.role)) }
    }
    return judgeTwo(standingOf(author), standingOf(approver))
  }
