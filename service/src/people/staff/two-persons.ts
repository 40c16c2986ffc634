/**
 * The two persons of staff who decide, when the decision takes effect. Cases, hits, rules of monitoring and changes ask here, in the transaction of
 * the effect: a role that was taken since the proposal decides nothing.
 */
import { type Decider, judgeTwo, type NotTwo, personKey, type Standing } from '../../kernel/index.ts'
import type { Tx } from '../../postgres/index.ts'
import type { StaffRole } from './rules.ts'
import * as store from './store.ts'

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
