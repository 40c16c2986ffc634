/** Makers of invitations and of guest links, as they are when those are used. */
import { permissions, roleAllows } from '@partner-payments/wire'
import type { Access } from '../../access/index.ts'
import { type Caller, Refusal } from '../../kernel/api/index.ts'
import type { Tx } from '../../postgres/index.ts'
import { type By, byCaller } from './giving.ts'
import type { Screening } from '../../screening/index.ts'
import { personKey } from './rules.ts'
import { roleOf } from './store.ts'

/** `isOver`: a key whose end is over. What it made in time was made by right; a key that was revoked may have been in other hands. */
export type Maker = { readonly permissions: readonly string[]; readonly isOver: boolean }

const noPowers: Maker = { permissions: [], isOver: false }

/** Undefined: neither a member nor a service account has or had the id. */
export async function makerOf(
  access: Pick<Access, 'accountIfAny'>,
  tx: Tx,
  partnerId: string,
  id: string,
): Promise<Maker | undefined> {
  const member = await roleOf(tx, partnerId, id)
  if (member !== undefined)
    return member.removedAt === null
      ? { permissions: permissions.filter((each) => roleAllows(member.role, each)), isOver: false }
      : noPowers
  const account = await access.accountIfAny(tx, partnerId, id)
  if (account === undefined) return undefined
  return account.status === 'revoked'
    ? noPowers
    : { permissions: account.permissions, isOver: account.status === 'expired' }
}

/** Reports whether a person or a key may make and approve payouts now. A person whom staff have confirmed as listed may not. */
export const createMayPay =
  (access: Pick<Access, 'accountIfAny'>, screening: Pick<Screening, 'isConfirmed'>) =>
  async (tx: Tx, partnerId: string, id: string): Promise<boolean> => {
    const found = await makerOf(access, tx, partnerId, id)
    const mayPay = found === undefined || (!found.isOver && found.permissions.includes('payouts:write'))
    return mayPay && !(await screening.isConfirmed(tx, personKey(partnerId, id)))
  }

/**
 * A caller as its row is now, in the transaction of its act: a process keeps a key for two seconds, in which it may have been revoked or have
 * got an end. Refuses: permission_denied (it has ended).
 */
export async function byCallerNow(
  deps: Parameters<typeof byCaller>[0] & { readonly access: Pick<Access, 'accountIfAny'> },
  tx: Tx,
  caller: Caller,
): Promise<By> {
  const { partnerId, serviceAccountId, signedInAt, impersonatedBy } = caller
  if (signedInAt !== undefined || impersonatedBy !== undefined) return byCaller(deps, caller)
  const row = await deps.access.accountIfAny(tx, partnerId, serviceAccountId)
  if (row === undefined) return byCaller(deps, caller)
  if (row.status !== 'valid') throw new Refusal('permission_denied', 'Your service account has ended.')
  const { expiresAt, allowedAddresses } = row
  const permissions = caller.permissions.filter((each) => row.permissions.includes(each))
  return byCaller(deps, { ...caller, permissions, bounds: { expiresAt, allowedAddresses } })
}
