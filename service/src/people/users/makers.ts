/** The people and keys that created invitations and guest links, with their permissions at the time of use. */
import { permissions, roleAllows } from '@partner-payments/wire'
import type { Access } from '../../access/index.ts'
import { type Caller, Refusal } from '../../kernel/api/index.ts'
import type { Tx } from '../../postgres/index.ts'
import { type Actor, callerActor } from './giving.ts'
import type { Screening } from '../../screening/index.ts'
import { personKey } from './rules.ts'
import { memberRole } from './store.ts'

/**
 * `isOver`: the key has expired. Whatever an expired key created stays valid. A revoked key has no permissions, because
 * it may have been stolen.
 */
export type Maker = { readonly permissions: readonly string[]; readonly isOver: boolean }

const withoutPermissions: Maker = { permissions: [], isOver: false }

/** Finds a maker by id. Undefined: the id never belonged to a member or a service account. */
export async function findMaker(
  access: Pick<Access, 'findServiceAccount'>,
  tx: Tx,
  partnerId: string,
  id: string,
): Promise<Maker | undefined> {
  const member = await memberRole(tx, partnerId, id)
  if (member !== undefined)
    return member.removedAt === null
      ? { permissions: permissions.filter((each) => roleAllows(member.role, each)), isOver: false }
      : withoutPermissions
  const account = await access.findServiceAccount(tx, partnerId, id)
  if (account === undefined) return undefined
  return account.status === 'revoked'
    ? withoutPermissions
    : { permissions: account.permissions, isOver: account.status === 'expired' }
}

/** Reports whether a person or a key may make and approve payouts now. A person with a confirmed sanctions match may not. */
export const createPayoutRightCheck =
  (access: Pick<Access, 'findServiceAccount'>, screening: Pick<Screening, 'isConfirmed'>) =>
  async (tx: Tx, partnerId: string, id: string): Promise<boolean> => {
    const maker = await findMaker(access, tx, partnerId, id)
    const mayPay = maker === undefined || (!maker.isOver && maker.permissions.includes('payouts:write'))
    return mayPay && !(await screening.isConfirmed(tx, personKey(partnerId, id)))
  }

/**
 * Reads the caller's current row in the transaction of its act. A process caches a key for two seconds, in which the key may have been
 * revoked or limited. Refuses: permission_denied (it has expired or was revoked).
 */
export async function currentCallerActor(
  deps: Parameters<typeof callerActor>[0] & { readonly access: Pick<Access, 'findServiceAccount'> },
  tx: Tx,
  caller: Caller,
): Promise<Actor> {
  const { partnerId, serviceAccountId, signedInAt, impersonatedBy } = caller
  if (signedInAt !== undefined || impersonatedBy !== undefined) return callerActor(deps, caller)
  const row = await deps.access.findServiceAccount(tx, partnerId, serviceAccountId)
  if (row === undefined) return callerActor(deps, caller)
  if (row.status !== 'valid') throw new Refusal('permission_denied', 'Your service account has expired or was revoked.')
  const { expiresAt, allowedAddresses } = row
  const permissions = caller.permissions.filter((each) => row.permissions.includes(each))
  return callerActor(deps, { ...caller, permissions, bounds: { expiresAt, allowedAddresses } })
}
