/**
 * The roles that decide each kind of case, and hits. The defaults in the code apply until two admins change a kind. Pages, commands and
 * the operations of cases and screening use these functions.
 */
import { Refusal } from '../../kernel/api/index.ts'
import {
  type Clock,
  type Decider,
  checkDeciders,
  type DecidersProblem,
  personKey,
  type DeciderStanding,
} from '../../kernel/index.ts'
import type { Tx } from '../../postgres/index.ts'
import { type DecidedKind, decidedKinds, defaultDeciders, type StaffRole, staffRoles } from './rules.ts'
import * as store from './store.ts'

export type Deciders = {
  readonly kind: DecidedKind
  readonly roles: readonly StaffRole[]
  /** Null: the roles are the defaults. */
  readonly setBy: string | null
  readonly setAt: Date | null
}

/** Lists the deciding roles of every kind, in the order of the code. */
export async function listDeciders(tx: Tx): Promise<readonly Deciders[]> {
  const changed = new Map((await store.readDeciders(tx)).map((row) => [row.kind, row]))
  return decidedKinds.map((kind) => ({
    kind,
    roles: defaultDeciders[kind],
    setBy: null,
    setAt: null,
    ...changed.get(kind),
  }))
}

const rolesOf = async (tx: Tx, kind: DecidedKind): Promise<readonly StaffRole[]> =>
  (await store.readDecidersOfKind(tx, kind))?.roles ?? defaultDeciders[kind]

/** Lists the kinds that a role decides. */
export const kindsDecidedBy = (deciders: readonly Deciders[], role: StaffRole): readonly DecidedKind[] =>
  deciders.filter(({ roles }) => roles.includes(role)).map(({ kind }) => kind)

/** Checks whether two people may decide a kind, by their current roles. */
export async function checkStaffDeciders(
  tx: Tx,
  kind: DecidedKind,
  author: Decider,
  approver: Decider,
): Promise<DecidersProblem | undefined> {
  const roles = await rolesOf(tx, kind)
  return createCheckTwoStaff((role) => roles.includes(role))(tx, author, approver)
}

/** Checks that a person may decide the kind. Refuses: permission_denied. A sandbox without staff accounts accepts any typed name. */
export async function requireDecider(tx: Tx, kind: DecidedKind, { id, name }: Decider): Promise<void> {
  const rows = await store.lockAccounts(tx, id === undefined ? [] : [id], id === undefined ? [personKey(name)] : [])
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

/** Sets the roles of a kind. Admin is always among them, so that an admin can decide each kind. */
export const createSetDeciders =
  ({ clock }: { readonly clock: Clock }): SetDeciders =>
  async (tx, { kind, roles: given, staff: setBy }) => {
    const roles = staffRoles.filter((role) => role === 'admin' || given.includes(role))
    const row = { kind, roles, setBy, setAt: clock.now() }
    await store.setDeciders(tx, row)
    return row
  }

// Checks the two people of a decision when it takes effect. Cases, hits, monitoring rules and changes call this check
// in the transaction of the effect, so that a person who lost the role after the proposal does not count.

type CheckTwoStaff = (tx: Tx, author: Decider, approver: Decider) => Promise<DecidersProblem | undefined>

/** Checks two staff members. `may`: whether a role may decide. Locks both accounts until the end of the transaction. */
export const createCheckTwoStaff =
  (may: (role: StaffRole) => boolean): CheckTwoStaff =>
  async (tx, author, approver) => {
    const persons = [author, approver]
    const ids = persons.flatMap(({ id }) => id ?? [])
    const rows = await store.lockAccounts(
      tx,
      ids,
      persons.map(({ name }) => personKey(name)),
    )
    // A sandbox without staff accounts accepts any typed name.
    const areTyped = rows.length === 0 && !(await store.hasAccounts(tx))
    const findStanding = ({ id, name }: Decider): DeciderStanding => {
      // A proposal without an id is matched by the name, which is unique among staff.
      const row = rows.find((each) => (id === undefined ? each.nameKey === personKey(name) : each.id === id))
      return { id: id ?? row?.id, name, may: areTyped || (row !== undefined && may(row.role)) }
    }
    return checkDeciders(findStanding(author), findStanding(approver))
  }
