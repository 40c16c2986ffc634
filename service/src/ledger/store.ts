/** All SQL of the ledger. */
import { type Currency, idAfter, type Minor, type RowKey } from '../kernel/index.ts'
import { acrossPartners, columnValues, insertBy, ofOnePartner, ofPartners, sql, type Tx } from '../postgres/index.ts'
import type { AccountKey, AccountName, AccountState } from './account-kinds.ts'
import type { BalanceChange, TransferKind } from './rules.ts'

export type AccountRow = {
  readonly id: string
  readonly name: AccountName
  readonly currency: Currency
  readonly posted: Minor
  readonly reserved: Minor
}
export type TransferRow = {
  readonly id: string
  readonly kind: TransferKind
  readonly debitAccountId: string
  readonly creditAccountId: string
  readonly currency: Currency
  readonly amount: Minor
  readonly partyId: string
  readonly reference: string
  /** The entry of several transfers that contains this one. */
  readonly entryId: string | null
}

export async function ensureAccount(
  tx: Tx,
  partnerId: string,
  account: {
    readonly id: string
    readonly name: AccountName
    readonly currency: Currency
    /** True or null. */
    readonly segregated: true | null
  },
  now: Date,
): Promise<void> {
  await tx.run(sql`/* ledger.ensureAccount */
    insert into ledger.accounts (partner_id, id, name, currency, posted, reserved, segregated, created_at)
    values (${partnerId}, ${account.id}, ${account.name}, ${account.currency}, 0, 0, ${account.segregated}::boolean, ${now})
    on conflict (partner_id, name, currency) do nothing`)
}

/** Locks the row until the end of the transaction. */
export async function setControlled(
  tx: Tx,
  { partnerId, name, currency }: AccountKey,
  controlled: boolean,
): Promise<void> {
  await tx.run(sql`/* ledger.setControlled */
    update ledger.accounts set controlled = ${controlled}, controls_changed = coalesce(controls_changed, 0) + 1
    where partner_id = ${partnerId} and name = ${name} and currency = ${currency}`)
}

/** Transfer, and which of its accounts are segregated balances. Null: not segregated. */
export type StoredTransfer = TransferRow & {
  readonly partnerId: string
  readonly debitSegregated: boolean | null
  readonly creditSegregated: boolean | null
}

const writtenColumns = sql`transfer.partner_id, transfer.id, kind, debit_account_id, credit_account_id, transfer.currency, amount,
  party_id, reference, entry_id, debit.segregated as debit_segregated, credit.segregated as credit_segregated`
const withItsAccounts = sql`
  left join ledger.accounts as debit on debit.partner_id = transfer.partner_id and debit.id = transfer.debit_account_id
  left join ledger.accounts as credit on credit.partner_id = transfer.partner_id and credit.id = transfer.credit_account_id`

export function transfersById(tx: Tx, keys: readonly RowKey[]): Promise<readonly StoredTransfer[]> {
  return tx.rows(sql`/* ledger.transfersById */
    select ${writtenColumns} from ledger.transfers as transfer ${withItsAccounts}
    where ${ofPartners(
      keys.map((key) => key.partnerId),
      sql`transfer.partner_id`,
    )} and transfer.id = any(${keys.map((key) => key.id)}::uuid[])`)
}

/**
 * Reads the transfers of entries that have several. Their ids follow that of the entry, so that each entry is one range
 * of the key.
 */
export function transfersOfEntries(
  tx: Tx,
  entries: readonly RowKey[],
  transfersMax: number,
): Promise<readonly StoredTransfer[]> {
  const column = columnValues(entries)
  return tx.rows(sql`/* ledger.transfersOfEntries */
    select ${writtenColumns}
    from unnest(${column('partnerId')}::uuid[], ${column('id')}::uuid[],
        ${entries.map(({ id }) => idAfter(id, transfersMax))}::uuid[]) as entry (partner_id, first_id, end_id)
      join ledger.transfers as transfer on transfer.partner_id = entry.partner_id
        and transfer.id >= entry.first_id and transfer.id < entry.end_id ${withItsAccounts}
    where ${ofOnePartner(column('partnerId'), sql`transfer.partner_id`)} and transfer.entry_id = entry.first_id
    order by transfer.partner_id, transfer.id`)
}

export function readBalances(tx: Tx, partnerId: string): Promise<readonly AccountRow[]> {
  return tx.rows<AccountRow>(sql`/* ledger.readBalances */
    select id, name, currency, posted, reserved from ledger.accounts
    where partner_id = ${partnerId} and name = 'balance' order by currency`)
}

const namesOf = (keys: readonly AccountKey[]) => [...new Set(keys.map((key) => key.name))]
const currenciesOf = (keys: readonly AccountKey[]) => [...new Set(keys.map((key) => key.currency))]

/**
 * Locks the accounts of many partners in id order, for any order of `keys`. May also return and lock accounts that
 * combine the partner of one key with the name or currency of another.
 */
export function lockAccountsByKey(
  tx: Tx,
  keys: readonly AccountKey[],
): Promise<readonly (AccountRow & { readonly partnerId: string; readonly segregated: boolean | null })[]> {
  return tx.rows(sql`/* ledger.lockAccountsByKey */
    select partner_id, id, name, currency, posted, reserved, segregated from ledger.accounts
    where ${ofPartners(keys.map((key) => key.partnerId))}
      and name = any(${namesOf(keys)}::text[]) and currency = any(${currenciesOf(keys)}::text[])
    order by id for update`)
}

/** Columns whose null means, in this order: false, 0, Active, 0 and false. */
type AccountMarks = {
  readonly controlled: boolean | null
  readonly controlsChanged: number | null
  readonly state: AccountState | null
  readonly blocks: number | null
  readonly segregated: boolean | null
}

/** Reads accounts like `lockAccountsByKey`, without a lock: the ids never change, the balances do. */
export function accountsByKey(
  tx: Tx,
  keys: readonly AccountKey[],
): Promise<readonly (AccountRow & AccountMarks & { readonly partnerId: string })[]> {
  return tx.rows(sql`/* ledger.accountsByKey */
    select partner_id, id, name, currency, posted, reserved, controlled, controls_changed, state, blocks, segregated
    from ledger.accounts
    where ${ofPartners(keys.map((key) => key.partnerId))}
      and name = any(${namesOf(keys)}::text[]) and currency = any(${currenciesOf(keys)}::text[])`)
}

/**
 * Locks several rows in order, because an update locks them in any order: two batches could deadlock. A single row
 * needs no order.
 */
export function lockBeforeChange(tx: Tx, accounts: readonly RowKey[]): void {
  if (accounts.length < 2) return
  tx.later(sql`/* ledger.lockBeforeChange */
    select count(*) from (
      select from ledger.accounts where ${ofPartners(accounts.map(({ partnerId }) => partnerId))}
        and id = any(${accounts.map(({ id }) => id)}::uuid[]) order by id for no key update) as locked`)
}

export type AccountChange = BalanceChange & {
  readonly partnerId: string
  readonly id: string
  /** Value of `blocks` when the change was checked. Null: states do not matter. */
  readonly judgedAt: number | null
  /** True: the accounts of parties change with the balance. */
  readonly segregated: boolean
}

/**
 * Changes each account once. The join with `unnest` finds the rows: PostgreSQL would sort an `any(array)` again for
 * each row. A change that was checked before the last change of state, or before the balance was segregated or pooled,
 * violates `accounts_judged_by_state`, so that the batch runs again.
 */
export function changeAccounts(tx: Tx, changes: readonly AccountChange[]): void {
  const column = columnValues(changes)
  tx.later(sql`/* ledger.changeAccounts */
    update ledger.accounts set posted = posted + change.posted_by, reserved = reserved + change.reserved_by,
      blocks = case when change.judged_at <> coalesce(accounts.blocks, 0) or is_segregated <> coalesce(segregated, false)
        then -1 else accounts.blocks end
    from unnest(${column('partnerId')}::uuid[], ${column('id')}::uuid[], ${column('posted')}::bigint[],
      ${column('reserved')}::bigint[], ${column('judgedAt')}::integer[], ${column('segregated')}::boolean[])
      as change (partner_id, account_id, posted_by, reserved_by, judged_at, is_segregated)
    where accounts.partner_id = change.partner_id and accounts.id = change.account_id
      and ${ofOnePartner(column('partnerId'), sql`accounts.partner_id`)}`)
}

/** `reserveId`: the reserve that the transfer ends. */
export type NewTransfer = TransferRow & { readonly partnerId: string; readonly reserveId: string | null }

/** Most batches move the money of one partner between the same two accounts, and have one kind. */
const newTransfers = insertBy<NewTransfer & { readonly createdAt: Date }>(
  {
    partnerId: 'uuid',
    id: 'uuid',
    debitAccountId: 'uuid',
    creditAccountId: 'uuid',
    currency: 'text',
    amount: 'bigint',
    partyId: 'uuid',
    reference: 'text',
    kind: 'text',
    reserveId: 'uuid',
    entryId: 'uuid',
    createdAt: 'timestamptz',
  },
  [
    ['partnerId', 'debitAccountId', 'creditAccountId', 'currency'],
    ['kind', 'createdAt'],
    ['reserveId', 'entryId'],
  ],
)

/** Inserts transfers. A second end of a reserve is a unique violation. */
export function insertTransfers(tx: Tx, transfers: readonly NewTransfer[], now: Date): void {
  const rows = transfers.map((transfer) => ({ ...transfer, createdAt: now }))
  tx.later(sql`/* ledger.insertTransfers */
    insert into ledger.transfers (partner_id, id, debit_account_id, credit_account_id, currency, amount, party_id,
      reference, kind, reserve_id, entry_id, created_at) ${newTransfers(tx, rows)}`)
}

export type PositionRow = { readonly currency: Currency; readonly posted: Minor; readonly reserved: Minor }

/** Sums the accounts `fx` of all partners. */
export function readPositions(tx: Tx): Promise<readonly PositionRow[]> {
  return tx.rows<PositionRow>(
    acrossPartners(
      "adds up the positions of all partners, for the operator's command",
      sql`/* ledger.readPositions */
        select currency, sum(posted)::bigint as posted, sum(reserved)::bigint as reserved from ledger.accounts
        where name = 'fx' group by currency order by currency`,
    ),
  )
}

export type ConnectorTotal = { readonly name: AccountName; readonly currency: Currency; readonly posted: Minor }

/** Sums the accounts `settlement.<connector>` and `suspense` of all partners. */
export function connectorTotals(tx: Tx): Promise<readonly ConnectorTotal[]> {
  return tx.rows<ConnectorTotal>(
    acrossPartners(
      'adds up what the ledger says that banks hold, for reconciliation, by indexes of those accounts',
      sql`/* ledger.connectorTotals */
        select name, currency, sum(posted)::bigint as posted from ledger.accounts
        where name like 'settlement.%' group by name, currency
        union all
        select name, currency, sum(posted)::bigint from ledger.accounts where name = 'suspense' group by name, currency`,
    ),
  )
}

// SQL of the states of balances.

export function lockBalance(
  tx: Tx,
  { partnerId, name, currency }: AccountKey,
): Promise<{ readonly posted: Minor; readonly reserved: Minor; readonly state: AccountState | null } | undefined> {
  return tx.row(sql`/* ledger.lockBalance */
    select posted, reserved, state from ledger.accounts
    where partner_id = ${partnerId} and name = ${name} and currency = ${currency} for no key update`)
}

export async function setState(tx: Tx, { partnerId, name, currency }: AccountKey, state: AccountState): Promise<void> {
  await tx.run(sql`/* ledger.setState */
    update ledger.accounts set state = ${state === 'Active' ? null : state}::text, blocks = coalesce(blocks, 0) + 1
    where partner_id = ${partnerId} and name = ${name} and currency = ${currency}`)
}

/** Locks the balances in the order of their ids, as payments do. */
export async function countBlock(tx: Tx, partnerId: string): Promise<void> {
  await tx.run(sql`/* ledger.countBlock */
    select 1 from ledger.accounts where partner_id = ${partnerId} and name = 'balance' order by id for no key update`)
  await tx.run(sql`/* ledger.countBlock */
    update ledger.accounts set blocks = coalesce(blocks, 0) + 1 where partner_id = ${partnerId} and name = 'balance'`)
}
