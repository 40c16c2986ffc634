/** All SQL of customers. KYC is sealed in these rows. */
import type { RowKey } from '../../kernel/index.ts'
import type { VerificationState } from '@partner-payments/wire'
import type { AccountState } from '../../ledger/index.ts'
import { dueWork, insertBy, noSql, ofPartners, type RowOf, type Sql, sql, type Tx } from '../../postgres/index.ts'
import { type Gate, parseBalancesMax, formatBalancesMax } from './gate-rules.ts'
import type { CustomerType } from './rules.ts'

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
    /** Null: not evaluated yet. */
    readonly verificationState: VerificationState | null
  }
/** The columns of a gate. Null: the partner has the default gate for the state. */
export type GateColumns = {
  readonly [K in 'opensAccounts' | 'receives' | 'pays' | 'converts']: Gate[K] | null
} & {
  /** JSON, see `parseBalancesMax`. */
  readonly balancesMax: string | null
  readonly totalMax: string | null
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
/** `updatedAt`: set if the list is in the order of changes. */
export type ListPosition = { readonly id: string; readonly updatedAt: Date | null }

const columns = sql`id, service_id, partner_customer_identifier, email, customer_type, kyc_sealed, created_at, updated_at`

/** A row to write. `nameTokens` and the state of the verification come from its KYC. */
export type IndexedRow = CustomerRow & StoredVerification & { readonly nameTokens: readonly string[] }

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
/** Waits for an erasure in progress, and reads its result. Only erasures conflict with this lock. */
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

/** Reads customers of several partners, for a batch of payments. */
export function payersByIds(
  tx: Tx,
  keys: readonly RowKey[],
  { held = false }: { readonly held?: boolean } = {},
): Promise<readonly PayerRow[]> {
  return tx.rows(sql`/* customers.payersByIds */
    select c.partner_id, id, service_id, partner_customer_identifier, email, customer_type, kyc_sealed, erased_at, account_state, c.verification_state,
      gate.opens_accounts, gate.receives, gate.pays, gate.converts, gate.balances_max, gate.total_max
    from customers.customers c
      left join customers.gates gate on gate.partner_id = c.partner_id
        and gate.verification_state = coalesce(c.verification_state, 'Incomplete')
    where ${ofPartners(
      keys.map((key) => key.partnerId),
      sql`c.partner_id`,
    )} and id = any(${keys.map((key) => key.id)}::uuid[])
      ${held ? sql`order by c.partner_id, id for key share of c` : noSql}`)
}

/** Locks customers in the order of their ids, so that their balances do not change while money is credited. */
export async function lockCustomers(tx: Tx, keys: readonly RowKey[]): Promise<void> {
  await tx.rows(sql`/* customers.lockCustomers */
    select id from customers.customers
    where ${ofPartners(keys.map((key) => key.partnerId))} and id = any(${keys.map((key) => key.id)}::uuid[])
    order by partner_id, id for no key update`)
}

/** Locks the row and reads the state of the account. `no key` lets payments insert rows that refer to the row meanwhile. */
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

/** Serialises updates of a customer. `no key` lets other tables insert rows that refer to it meanwhile. */
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

/** Pages through ids in order. */
export async function idsAfter(tx: Tx, partnerId: string, afterId: string, idsMax: number): Promise<readonly string[]> {
  const rows = await tx.rows<{ id: string }>(sql`/* customers.idsAfter */
    select id from customers.customers where partner_id = ${partnerId} and id > ${afterId} and erased_at is null
    order by id limit ${idsMax}`)
  return rows.map(({ id }) => id)
}

/**
 * Lists customers, newest first, or with `updatedSince` the latest change first. Ids follow the time, but PostgreSQL cannot infer that,
 * so a filter by time needs the order by time to use its index.
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
  // The condition is on both tables, because a merge join would otherwise read customers from the newest one on.
  return filter.nameToken === undefined ? sql`and id < ${id}` : sql`and id < ${id} and named.customer_id < ${id}`
}

export async function update(
  tx: Tx,
  partnerId: string,
  row: Pick<IndexedRow, 'id' | 'partnerCustomerIdentifier' | 'email' | 'kycSealed' | 'nameTokens' | 'updatedAt'> &
    StoredVerification,
): Promise<void> {
  await tx.run(sql`/* customers.update */
    update customers.customers set partner_customer_identifier = ${row.partnerCustomerIdentifier}, email = ${row.email},
      kyc_sealed = ${row.kycSealed}, name_tokens = ${row.nameTokens}::bigint[], names_indexed_at = ${row.updatedAt},
      verification_state = ${row.verificationState}, verification_due_at = ${row.verificationDueAt}, verified_at = ${row.updatedAt},
      updated_at = ${row.updatedAt}
    where partner_id = ${partnerId} and id = ${row.id}`)
}

// The SQL of gates.

export type GateRow = Gate & { readonly verificationState: VerificationState }

export async function listGates(tx: Tx, partnerId: string): Promise<readonly GateRow[]> {
  const rows = await tx.rows<
    Omit<GateRow, 'balancesMax' | 'converts' | 'totalMax'> & {
      readonly balancesMax: string | null
      readonly totalMax: string | null
      /** Null: the gate was set before this column existed. */
      readonly converts: boolean | null
    }
  >(sql`/* customers.listGates */
    select verification_state, opens_accounts, receives, pays, converts, balances_max, total_max from customers.gates where partner_id = ${partnerId}`)
  return rows.map((row) => ({
    ...row,
    converts: row.converts ?? true,
    balancesMax: parseBalancesMax(row.balancesMax),
    totalMax: parseBalancesMax(row.totalMax),
  }))
}

export async function setGate(tx: Tx, partnerId: string, row: GateRow, now: Date): Promise<void> {
  await tx.run(sql`/* customers.setGate */
    insert into customers.gates (partner_id, verification_state, opens_accounts, receives, pays, converts, balances_max, total_max, updated_at)
    values (${partnerId}, ${row.verificationState}, ${row.opensAccounts}, ${row.receives}, ${row.pays}, ${row.converts},
      ${formatBalancesMax(row.balancesMax)}::jsonb, ${formatBalancesMax(row.totalMax)}::jsonb, ${now})
    on conflict (partner_id, verification_state) do update set opens_accounts = excluded.opens_accounts,
      receives = excluded.receives, pays = excluded.pays, converts = excluded.converts, balances_max = excluded.balances_max,
      total_max = excluded.total_max, updated_at = excluded.updated_at`)
}

/** Removes a gate, and returns 1 or 0. */
export function removeGate(tx: Tx, partnerId: string, state: VerificationState): Promise<number> {
  return tx.run(sql`/* customers.removeGate */
    delete from customers.gates where partner_id = ${partnerId} and verification_state = ${state}`)
}

// The SQL of identifiers.

const identifierBucket = (identifier: string): Sql => sql`get_byte(sha256(convert_to(${identifier}::text, 'UTF8')), 0)`

/** Serialises calls that set identifiers whose digests begin with the same byte. */
export async function lockIdentifier(tx: Tx, partnerId: string, identifier: string): Promise<void> {
  await tx.run(sql`/* customers.lockIdentifier */
    insert into customers.identifier_locks (partner_id, bucket) values (${partnerId}, ${identifierBucket(identifier)})
    on conflict (partner_id, bucket) do nothing`)
  await tx.run(sql`/* customers.lockIdentifier */
    select 1 from customers.identifier_locks where partner_id = ${partnerId} and bucket = ${identifierBucket(identifier)} for update`)
}

/** Finds the oldest customer with the identifier, except `customerId`. */
export function otherWithIdentifier(
  tx: Tx,
  partnerId: string,
  customerId: string,
  identifier: string,
): Promise<{ readonly id: string } | undefined> {
  return tx.row(sql`/* customers.otherWithIdentifier */
    select id from customers.customers
    where partner_id = ${partnerId} and partner_customer_identifier = ${identifier} and id <> ${customerId}
    order by id limit 1`)
}

/** Lists the customers with these identifiers, oldest first. */
export function customersWithIdentifiers(
  tx: Tx,
  partnerId: string,
  identifiers: readonly string[],
): Promise<readonly { readonly id: string; readonly partnerCustomerIdentifier: string }[]> {
  return tx.rows(sql`/* customers.customersWithIdentifiers */
    select id, partner_customer_identifier from customers.customers
    where partner_id = ${partnerId} and partner_customer_identifier = any(${identifiers}::text[]) order by id`)
}

// The SQL of the history of customers, to which rows are only added.

export type ChangeKind = 'Created' | 'Updated'
export type ChangeRow = {
  readonly id: string
  readonly sequence: number
  readonly kind: ChangeKind
  readonly actorId: string | null
  readonly actorName: string | null
  readonly requestId: string | null
  readonly fields: readonly string[]
  readonly valuesSealed: Uint8Array
  readonly changedAt: Date
}
export type NewChange = ChangeRow & { readonly customerId: string }

/** Reads the sequence number of the newest change, or 0. The caller has locked the customer. */
export async function lastSequence(tx: Tx, partnerId: string, customerId: string): Promise<number> {
  const row = await tx.row<{ sequence: number }>(sql`/* customers.lastSequence */
    select coalesce(max(sequence), 0) as sequence from customers.changes
    where partner_id = ${partnerId} and customer_id = ${customerId}`)
  return row?.sequence ?? 0
}

export async function insertChange(tx: Tx, partnerId: string, row: NewChange): Promise<void> {
  await tx.run(sql`/* customers.insertChange */
    insert into customers.changes (partner_id, id, customer_id, sequence, kind, actor_id, actor_name, request_id, fields,
      values_sealed, changed_at)
    values (${partnerId}, ${row.id}, ${row.customerId}, ${row.sequence}, ${row.kind}, ${row.actorId}, ${row.actorName},
      ${row.requestId}, ${row.fields}::text[], ${row.valuesSealed}, ${row.changedAt})`)
}

/** Lists changes older than the sequence number, newest first. */
export function changesOf(
  tx: Tx,
  partnerId: string,
  customerId: string,
  before: number | null,
  rowsMax: number,
): Promise<readonly ChangeRow[]> {
  return tx.rows(sql`/* customers.changesOf */
    select id, sequence, kind, actor_id, actor_name, request_id, fields, values_sealed, changed_at from customers.changes
    where partner_id = ${partnerId} and customer_id = ${customerId}
      and sequence < ${before ?? greatestSequence}
    order by sequence desc limit ${rowsMax}`)
}

/** Maximum of the type `integer`. */
const greatestSequence = 2_147_483_647

// The SQL of the blind index of names. Writing statements run under the lock of their customer.

const types = { partnerId: 'uuid', token: 'bigint', customerId: 'uuid' } as const
type TokenRow = RowOf<typeof types, { token: string }>
const newTokens = insertBy<TokenRow>(types, [['partnerId', 'customerId']], ['token'])

export async function nameKey(tx: Tx, partnerId: string): Promise<Uint8Array | undefined> {
  const row = await tx.row<{ readonly keySealed: Uint8Array }>(sql`/* customers.nameKey */
    select key_sealed from customers.name_keys where partner_id = ${partnerId}`)
  return row?.keySealed
}

/** Inserts a key unless the partner has one. Waits for a concurrent transaction that inserts one. */
export async function insertNameKey(tx: Tx, partnerId: string, keySealed: Uint8Array, now: Date): Promise<void> {
  await tx.run(sql`/* customers.insertNameKey */
    insert into customers.name_keys (partner_id, key_sealed, created_at) values (${partnerId}, ${keySealed}, ${now})
    on conflict (partner_id) do nothing`)
}

export async function insertTokens(
  tx: Tx,
  partnerId: string,
  customerId: string,
  tokens: readonly string[],
): Promise<void> {
  const rows = tokens.map((token) => ({ partnerId, token, customerId }))
  await tx.run(sql`/* customers.insertTokens */
    insert into customers.name_tokens (partner_id, token, customer_id) ${newTokens(tx, rows)}`)
}

export async function deleteTokens(
  tx: Tx,
  partnerId: string,
  customerId: string,
  tokens: readonly string[],
): Promise<void> {
  await tx.run(sql`/* customers.deleteTokens */
    delete from customers.name_tokens
    where partner_id = ${partnerId} and customer_id = ${customerId} and token = any(${tokens}::bigint[])`)
}

/** Finds the next partner after `afterId` with names to index. */
export async function partnerWithNamesDue(tx: Tx, afterId: string): Promise<string | undefined> {
  const row = await tx.row<{ readonly partnerId: string }>(
    dueWork(
      'finds a partner with customers to index, without a lock, by an index of those customers',
      (whose) => sql`/* customers.partnerWithNamesDue */
      select partner_id from customers.customers
      where partner_id > ${afterId} and ${whose()} and (names_indexed_at is null or names_indexed_at < updated_at)
      order by partner_id limit 1`,
    ),
  )
  return row?.partnerId
}

export type UnindexedRow = {
  readonly id: string
  readonly kycSealed: Uint8Array
  readonly nameTokens: readonly string[] | null
}

/** Locks customers to index. Skips those that another transaction changes, because it indexes their names. */
export function claimNamesDue(tx: Tx, partnerId: string, rowsMax: number): Promise<readonly UnindexedRow[]> {
  return tx.rows(sql`/* customers.claimNamesDue */
    select id, kyc_sealed, name_tokens::text[] as name_tokens from customers.customers
    where partner_id = ${partnerId} and (names_indexed_at is null or names_indexed_at < updated_at)
    order by id limit ${rowsMax}
    for no key update skip locked`)
}

export async function markIndexed(tx: Tx, partnerId: string, id: string, nameTokens: readonly string[]): Promise<void> {
  await tx.run(sql`/* customers.markIndexed */
    update customers.customers set name_tokens = ${nameTokens}::bigint[], names_indexed_at = updated_at
    where partner_id = ${partnerId} and id = ${id}`)
}

// The SQL of stored states of verification. A state is written under the lock of its customer.

/** The stored result of a verification. The state is null if the KYC cannot be read. */
export type StoredVerification = {
  readonly verificationState: VerificationState | null
  /** When the state may change although the data does not change. Null: never. */
  readonly verificationDueAt: Date | null
}

/** Finds the next partner after `afterId` with customers whose KYC a process without stored states wrote. */
export async function partnerWithUnverified(tx: Tx, afterId: string): Promise<string | undefined> {
  const row = await tx.row<{ readonly partnerId: string }>(
    dueWork(
      'finds a partner with customers to verify, without a lock, by an index of those customers',
      (whose) => sql`/* customers.partnerWithUnverified */
      select partner_id from customers.customers
      where partner_id > ${afterId} and ${whose()} and erased_at is null
        and (verified_at is null or verified_at < updated_at)
      order by partner_id limit 1`,
    ),
  )
  return row?.partnerId
}

/** Finds the partner of the customer whose state has been due the longest. */
export async function partnerWithVerificationDue(tx: Tx, now: Date): Promise<string | undefined> {
  const row = await tx.row<{ readonly partnerId: string }>(
    dueWork(
      'finds a partner with states that a date has changed, without a lock, by an index of those states',
      (whose) => sql`/* customers.partnerWithVerificationDue */
      select partner_id from customers.customers
      where ${whose()} and erased_at is null and verification_due_at <= ${now}
      order by verification_due_at limit 1`,
    ),
  )
  return row?.partnerId
}

export type UnverifiedRow = { readonly id: string; readonly customerType: CustomerType; readonly kycSealed: Uint8Array }

/**
 * Locks customers whose stored state is older than their data. Skips those that another transaction changes, because it
 * sets their state.
 */
export function claimUnverified(tx: Tx, partnerId: string, rowsMax: number): Promise<readonly UnverifiedRow[]> {
  return tx.rows(sql`/* customers.claimUnverified */
    select id, customer_type, kyc_sealed from customers.customers
    where partner_id = ${partnerId} and erased_at is null and (verified_at is null or verified_at < updated_at)
    order by id limit ${rowsMax}
    for no key update skip locked`)
}

/** Locks customers whose state is due. Skips those that another transaction changes, because it sets their state. */
export function claimVerificationDue(
  tx: Tx,
  partnerId: string,
  now: Date,
  rowsMax: number,
): Promise<readonly UnverifiedRow[]> {
  return tx.rows(sql`/* customers.claimVerificationDue */
    select id, customer_type, kyc_sealed from customers.customers
    where partner_id = ${partnerId} and erased_at is null and verification_due_at <= ${now}
    order by verification_due_at limit ${rowsMax}
    for no key update skip locked`)
}

export async function storeVerifications(
  tx: Tx,
  partnerId: string,
  kept: readonly (StoredVerification & { readonly id: string })[],
): Promise<void> {
  await tx.run(sql`/* customers.storeVerifications */
    update customers.customers set verification_state = kept.state, verification_due_at = kept.due_at, verified_at = updated_at
    from unnest(${kept.map(({ id }) => id)}::uuid[], ${kept.map((each) => each.verificationState)}::text[],
      ${kept.map((each) => each.verificationDueAt)}::timestamptz[]) as kept (id, state, due_at)
    where customers.partner_id = ${partnerId} and customers.id = kept.id`)
}
