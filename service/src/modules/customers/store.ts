/** All SQL of customers. KYC is sealed here. */
import type { VerificationState } from '@partner-payments/wire'
import type { AccountState } from '../../ledger/index.ts'
import { noSql, ofPartners, type Sql, sql, type Tx } from '../../postgres/index.ts'
import type { Gate } from './gate-rules.ts'
import type { CustomerType } from './rules.ts'
import type { KeptVerification } from './store-verifications.ts'

export type CustomerRow = {
  readonly id: string
  readonly serviceId: string
  readonly partnerCustomerIdentifier: string | null
  readonly email: string | null
  readonly customerType: CustomerType
  readonly kycSealed: Uint8Array
  readonly createdAt: Date
  readonly updatedAt: Date
}
export type PayerRow = GateColumns &
  Pick<CustomerRow, 'id' | 'serviceId' | 'partnerCustomerIdentifier' | 'email' | 'customerType' | 'kycSealed'> & {
    readonly partnerId: string
    readonly erasedAt: Date | null
    /** Null: Active. */
    readonly accountState: AccountState | null
    /** Null: not judged yet. */
    readonly verificationState: VerificationState | null
  }
/** Null: the partner has no gate for the state. */
export type GateColumns = { readonly [K in 'opensAccounts' | 'receives' | 'pays']: Gate[K] | null } & {
  /** JSON, see `readBalancesMax`. */
  readonly balancesMax: string | null
}
export type CustomerFilter = {
  readonly id?: string | undefined
  readonly email?: string | undefined
  readonly partnerCustomerIdentifier?: string | undefined
  readonly serviceId?: string | undefined
  readonly customerType?: CustomerType | undefined
  readonly verificationState?: VerificationState | undefined
  readonly nameToken?: string | undefined
  readonly createdFrom?: Date | undefined
  readonly createdTo?: Date | undefined
  readonly updatedSince?: Date | undefined
}
/** `updatedAt` is given in the order of changes. */
export type ListPosition = { readonly id: string; readonly updatedAt: Date | null }

const columns = sql`id, service_id, partner_customer_identifier, email, customer_type, kyc_sealed, created_at, updated_at`

/** A row as it is written: `nameTokens` and the state of the verification are made of its KYC. */
export type IndexedRow = CustomerRow & KeptVerification & { readonly nameTokens: readonly string[] }

export async function insert(tx: Tx, partnerId: string, row: IndexedRow): Promise<void> {
  await tx.run(sql`/* customers.insert */
    insert into customers.customers (partner_id, id, service_id, partner_customer_identifier, email, customer_type,
      kyc_sealed, name_tokens, names_indexed_at, verification_state, verification_due_at, verified_at, created_at, updated_at)
    values (${partnerId}, ${row.id}, ${row.serviceId}, ${row.partnerCustomerIdentifier}, ${row.email},
      ${row.customerType}, ${row.kycSealed}, ${row.nameTokens}::bigint[], ${row.updatedAt},
      ${row.verificationState}, ${row.verificationDueAt}, ${row.updatedAt}, ${row.createdAt}, ${row.updatedAt})`)
}

function isRef(ref: CustomerRefKind): Sql {
  return ref.kind === 'guid' ? sql`id = ${ref.value}::uuid` : sql`service_id = ${ref.value}`
}
export type CustomerRefKind = { readonly kind: 'guid' | 'serviceId'; readonly value: string }

/** `erased`: includes an erased customer. `held`: prevents its erasure until the transaction ends. */
export type RefOptions = { readonly erased?: true; readonly held?: true }
const presence = ({ erased }: RefOptions): Sql => (erased ? noSql : sql`and erased_at is null`)
/** Waits for an erasure in progress, and reads its result. Only an erasure locks against it. */
const hold = ({ held }: RefOptions): Sql => (held ? sql`for key share` : noSql)

export function byRef(
  tx: Tx,
  partnerId: string,
  ref: CustomerRefKind,
  options: RefOptions,
): Promise<CustomerRow | undefined> {
  return tx.row<CustomerRow>(sql`/* customers.byRef */
    select ${columns} from customers.customers where partner_id = ${partnerId} and ${isRef(ref)} ${presence(options)}
    ${hold(options)}`)
}

export function oldestByEmail(tx: Tx, partnerId: string, email: string): Promise<CustomerRow | undefined> {
  return tx.row<CustomerRow>(sql`/* customers.oldestByEmail */
    select ${columns} from customers.customers where partner_id = ${partnerId} and lower(email) = lower(${email})
      and erased_at is null
    order by id limit 1 for key share`)
}

/** Customers of several partners, for a batch of payments. */
export function payersByIds(
  tx: Tx,
  keys: readonly { readonly partnerId: string; readonly id: string }[],
  { held = false }: { readonly held?: boolean } = {},
): Promise<readonly PayerRow[]> {
  return tx.rows(sql`/* customers.payersByIds */
    select c.partner_id, id, service_id, partner_customer_identifier, email, customer_type, kyc_sealed, erased_at, account_state, c.verification_state,
      gate.opens_accounts, gate.receives, gate.pays, gate.balances_max
    from customers.customers c
      left join customers.gates gate on gate.partner_id = c.partner_id
        and gate.verification_state = coalesce(c.verification_state, 'Incomplete')
    where ${ofPartners(
      keys.map((key) => key.partnerId),
      sql`c.partner_id`,
    )} and id = any(${keys.map((key) => key.id)}::uuid[])
      ${held ? sql`order by c.partner_id, id for key share of c` : noSql}`)
}

/** Locks customers in the order of their ids, so that the sums of what they hold stay while money is added. */
export async function lockHolders(
  tx: Tx,
  keys: readonly { readonly partnerId: string; readonly id: string }[],
): Promise<void> {
  await tx.rows(sql`/* customers.lockHolders */
    select id from customers.customers
    where ${ofPartners(keys.map((key) => key.partnerId))} and id = any(${keys.map((key) => key.id)}::uuid[])
    order by partner_id, id for no key update`)
}

/** Locks the row. `no key` lets payments insert rows that refer to it meanwhile. */
export async function lockAccountState(tx: Tx, partnerId: string, id: string): Promise<AccountState | undefined> {
  const row = await tx.row<{ accountState: AccountState | null }>(sql`/* customers.lockAccountState */
    select account_state from customers.customers where partner_id = ${partnerId} and id = ${id} for no key update`)
  return row && (row.accountState ?? 'Active')
}

export async function setAccountState(tx: Tx, partnerId: string, id: string, state: AccountState): Promise<void> {
  await tx.run(sql`/* customers.setAccountState */
    update customers.customers set account_state = ${state === 'Active' ? null : state}::text
    where partner_id = ${partnerId} and id = ${id}`)
}

/** Serialises updates of one customer. `no key` lets other tables insert rows that refer to it meanwhile. */
export function lockByRef(
  tx: Tx,
  partnerId: string,
  ref: CustomerRefKind,
): Promise<(CustomerRow & { readonly nameTokens: readonly string[] | null }) | undefined> {
  return tx.row(sql`/* customers.lockByRef */
    select ${columns}, name_tokens::text[] as name_tokens from customers.customers where partner_id = ${partnerId} and ${isRef(ref)}
      and erased_at is null
    for no key update`)
}

export async function idByRef(
  tx: Tx,
  partnerId: string,
  ref: CustomerRefKind,
  options: RefOptions,
): Promise<string | undefined> {
  const row = await tx.row<{ id: string }>(sql`/* customers.idByRef */
    select id from customers.customers where partner_id = ${partnerId} and ${isRef(ref)} ${presence(options)}`)
  return row?.id
}

/** Pages through ids in their order. */
export async function idsAfter(tx: Tx, partnerId: string, afterId: string, idsMax: number): Promise<readonly string[]> {
  const rows = await tx.rows<{ id: string }>(sql`/* customers.idsAfter */
    select id from customers.customers where partner_id = ${partnerId} and id > ${afterId} and erased_at is null
    order by id limit ${idsMax}`)
  return rows.map(({ id }) => id)
}

/**
 * Newest first, or with `updatedSince` the latest change first. Ids follow the time, but PostgreSQL cannot infer it: a filter
 * by time needs the order by time to use its index.
 */
export function list(
  tx: Tx,
  partnerId: string,
  filter: CustomerFilter,
  after: ListPosition | null,
  rowsMax: number,
): Promise<readonly CustomerRow[]> {
  const { email, partnerCustomerIdentifier, serviceId, customerType, nameToken, createdFrom, createdTo } = filter
  const { id, updatedSince, verificationState } = filter
  return tx.rows<CustomerRow>(sql`/* customers.list */
    select ${columns} from customers.customers
    ${nameToken === undefined ? noSql : sql`join customers.name_tokens named on named.partner_id = customers.partner_id and named.customer_id = customers.id`}
    where customers.partner_id = ${partnerId} and erased_at is null
      ${nameToken === undefined ? noSql : sql`and named.partner_id = ${partnerId} and named.token = ${nameToken}::bigint`}
      ${after === null ? noSql : isBehind(partnerId, filter, after)}
      ${id === undefined ? noSql : sql`and customers.id = ${id}`}
      ${email === undefined ? noSql : sql`and lower(email) = lower(${email})`}
      ${partnerCustomerIdentifier === undefined ? noSql : sql`and partner_customer_identifier = ${partnerCustomerIdentifier}`}
      ${serviceId === undefined ? noSql : sql`and service_id = ${serviceId}`}
      ${customerType === undefined ? noSql : sql`and customer_type = ${customerType}`}
      ${verificationState === undefined ? noSql : sql`and verification_state = ${verificationState}`}
      ${createdFrom === undefined ? noSql : sql`and created_at >= ${createdFrom}`}
      ${createdTo === undefined ? noSql : sql`and created_at < ${createdTo}`}
      ${updatedSince === undefined ? noSql : sql`and updated_at >= ${updatedSince}`}
    order by ${orderOf(filter)} limit ${rowsMax}`)
}

const isByTime = ({ createdFrom, createdTo }: CustomerFilter) => createdFrom !== undefined || createdTo !== undefined

function orderOf(filter: CustomerFilter): Sql {
  if (filter.updatedSince !== undefined) return sql`updated_at desc, id desc`
  if (isByTime(filter)) return sql`created_at desc, id desc`
  return filter.nameToken === undefined ? sql`id desc` : sql`named.customer_id desc`
}

function isBehind(partnerId: string, filter: CustomerFilter, { id, updatedAt }: ListPosition): Sql {
  if (filter.updatedSince !== undefined) return sql`and (updated_at, id) < (${updatedAt}::timestamptz, ${id}::uuid)`
  if (isByTime(filter))
    return sql`and (created_at, id) < (select created_at, id from customers.customers
      where partner_id = ${partnerId} and id = ${id})`
  // On both tables: a merge join would read customers from the newest one on.
  return filter.nameToken === undefined ? sql`and id < ${id}` : sql`and id < ${id} and named.customer_id < ${id}`
}

export async function update(
  tx: Tx,
  partnerId: string,
  row: Pick<IndexedRow, 'id' | 'partnerCustomerIdentifier' | 'email' | 'kycSealed' | 'nameTokens' | 'updatedAt'> &
    KeptVerification,
): Promise<void> {
  await tx.run(sql`/* customers.update */
    update customers.customers set partner_customer_identifier = ${row.partnerCustomerIdentifier}, email = ${row.email},
      kyc_sealed = ${row.kycSealed}, name_tokens = ${row.nameTokens}::bigint[], names_indexed_at = ${row.updatedAt},
      verification_state = ${row.verificationState}, verification_due_at = ${row.verificationDueAt}, verified_at = ${row.updatedAt},
      updated_at = ${row.updatedAt}
    where partner_id = ${partnerId} and id = ${row.id}`)
}
