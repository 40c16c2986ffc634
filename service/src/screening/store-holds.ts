/** The SQL that checks whether the names of a payment let it continue. */
import { nilId } from '../kernel/index.ts'
import { noSql, ofPartners, type Sql, sql, type Tx } from '../postgres/index.ts'
import type { HoldKey, SubjectKey } from './rules.ts'

export type SubjectState = HoldKey & {
  /** The generation of lists that the names were compared with since one was written; 0: none. */
  readonly generation: number
  readonly isOpen: boolean
  readonly isConfirmed: boolean
  /** The generation of the newest list; null: none was loaded. */
  readonly newest: number | null
}

/** The partner in the state of an account that a confirmed hit of any partner holds. */
export const ofEveryPartner = nilId

/** Limits hits to those that hold payments. */
export const thatHold = (pepsHold: boolean): Sql => (pepsHold ? noSql : sql`and hit.source not like 'pep:%'`)

/**
 * The states of the subjects that exist, and of accounts with a hit. An open hit about a payer holds no account,
 * because payment institutions pay for many from one.
 */
export function statesOf(tx: Tx, keys: readonly HoldKey[], pepsHold: boolean): Promise<readonly SubjectState[]> {
  const partnerIds = keys.map(({ partnerId }) => partnerId)
  const accounts = keys.filter(({ kind }) => kind === 'account').map(({ id }) => id)
  const subjects = keys.filter(({ kind }) => kind !== 'account')
  const newest = sql`left join (select generation from screening.lists order by generation desc limit 1) as newest on true`
  return tx.rows<SubjectState>(sql`/* screening.statesOf */
    select subject.partner_id, subject.kind, subject.id::text, subject.generation,
      max(newest.generation) as newest,
      coalesce(bool_or(hit.status = 'open'), false) as is_open,
      coalesce(bool_or(hit.status = 'confirmed'), false) as is_confirmed
    from screening.subjects subject left join screening.hits hit
      on hit.partner_id = subject.partner_id and hit.subject_kind = subject.kind and hit.subject_id = subject.id
      and hit.ended_at is null ${thatHold(pepsHold)}
      ${newest}
    where ${ofPartners(partnerIds, sql`subject.partner_id`)}
      and subject.kind = any(${[...new Set(subjects.map(({ kind }) => kind))]}::text[])
      and subject.id = any(${subjects.map(({ id }) => id)}::uuid[])
    group by subject.partner_id, subject.kind, subject.id
    union all
    select hit.partner_id, 'account', hit.account, max(hit.generation), max(newest.generation),
      bool_or(hit.status = 'open' and hit.subject_kind = 'beneficiary'), bool_or(hit.status = 'confirmed')
    from screening.hits hit ${newest}
    where ${ofPartners(partnerIds, sql`hit.partner_id`)} and hit.account = any(${accounts}::text[]) and hit.ended_at is null
    group by hit.partner_id, hit.account
    union all
    select ${ofEveryPartner}::uuid, 'account', frozen.account, 1, max(newest.generation), false, true
    from screening.frozen_accounts frozen ${newest} where frozen.account = any(${accounts}::text[])
    group by frozen.account`)
}

/** A hit about an account. */
type FrozenBy = { readonly partnerId: string; readonly id: string }

/** Holds the account for every partner, or ends what this hit holds. */
export async function setFrozen(
  tx: Tx,
  account: string,
  { partnerId, id }: FrozenBy,
  isFrozen: boolean,
): Promise<void> {
  await tx.run(
    isFrozen
      ? sql`/* screening.setFrozen */ insert into screening.frozen_accounts (account, by_partner_id, by_hit_id)
          values (${account}, ${partnerId}, ${id}) on conflict do nothing`
      : sql`/* screening.setFrozen */ delete from screening.frozen_accounts
          where account = ${account} and by_partner_id = ${partnerId} and by_hit_id = ${id}`,
  )
}

/** Holds the accounts of a partner's confirmed hits, which came from another database. */
export async function freezeAccountsOf(tx: Tx, partnerId: string): Promise<void> {
  await tx.run(sql`/* screening.freezeAccountsOf */
    insert into screening.frozen_accounts (account, by_partner_id, by_hit_id)
    select account, partner_id, id from screening.hits
    where partner_id = ${partnerId} and status = 'confirmed' and account is not null and source <> 'countries'
      and (subject_kind = 'beneficiary' or role = 'account') on conflict do nothing`)
}

/** The confirmed hits of other partners that hold these accounts. */
export function frozenByOthers(tx: Tx, partnerId: string, accounts: readonly string[]): Promise<readonly FrozenBy[]> {
  return tx.rows<FrozenBy>(sql`/* screening.frozenByOthers */
    select by_partner_id as partner_id, by_hit_id as id from screening.frozen_accounts
    where account = any(${[...accounts]}::text[]) and by_partner_id <> ${partnerId} order by by_hit_id`)
}

/** Reports whether persons have confirmed a hit about a subject, on a list that holds payments. */
export async function isConfirmed(tx: Tx, { partnerId, kind, id }: SubjectKey, pepsHold: boolean): Promise<boolean> {
  const row = await tx.row(sql`/* screening.isConfirmed */
    select id from screening.hits hit
    where partner_id = ${partnerId} and subject_kind = ${kind} and subject_id = ${id} and ended_at is null
      and status = 'confirmed' ${thatHold(pepsHold)} limit 1`)
  return row !== undefined
}
