/** All SQL of customers. KYC is sealed here. */
import type { PageRequest } from '../../api/index.ts'
import { noSql, ofPartners, type Sql, sql, type Tx } from '../../postgres/index.ts'
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
export type PayerRow = Pick<CustomerRow, 'id' | 'serviceId' | 'partnerCustomerIdentifier' | 'email' | 'kycSealed'> & {
  readonly partnerId: string
}
export type CustomerFilter = {
  readonly email?: string
  readonly partnerCustomerIdentifier?: string
  readonly customerType?: CustomerType
}

const columns = sql`id, service_id, partner_customer_identifier, email, customer_type, kyc_sealed, created_at, updated_at`

export async function insert(tx: Tx, partnerId: string, row: CustomerRow): Promise<void> {
  await tx.run(sql`/* customers.insert */
    insert into customers.customers (partner_id, id, service_id, partner_customer_identifier, email, customer_type,
      kyc_sealed, created_at, updated_at)
    values (${partnerId}, ${row.id}, ${row.serviceId}, ${row.partnerCustomerIdentifier}, ${row.email},
      ${row.customerType}, ${row.kycSealed}, ${row.createdAt}, ${row.updatedAt})`)
}

function isRef(ref: CustomerRefKind): Sql {
  return ref.kind === 'guid' ? sql`id = ${ref.value}::uuid` : sql`service_id = ${ref.value}`
}
export type CustomerRefKind = { readonly kind: 'guid' | 'serviceId'; readonly value: string }

export function byRef(tx: Tx, partnerId: string, ref: CustomerRefKind): Promise<CustomerRow | undefined> {
  return tx.row<CustomerRow>(sql`/* customers.byRef */
    select ${columns} from customers.customers where partner_id = ${partnerId} and ${isRef(ref)}`)
}

export function oldestByEmail(tx: Tx, partnerId: string, email: string): Promise<CustomerRow | undefined> {
  return tx.row<CustomerRow>(sql`/* customers.oldestByEmail */
    select ${columns} from customers.customers where partner_id = ${partnerId} and lower(email) = lower(${email})
    order by id limit 1`)
}

/** Customers of several partners, for a batch of payments. */
export function payersByIds(
  tx: Tx,
  keys: readonly { readonly partnerId: string; readonly id: string }[],
): Promise<readonly PayerRow[]> {
  return tx.rows(sql`/* customers.payersByIds */
    select partner_id, id, service_id, partner_customer_identifier, email, kyc_sealed from customers.customers
    where ${ofPartners(keys.map((key) => key.partnerId))} and id = any(${keys.map((key) => key.id)}::uuid[])`)
}

/** Serialises updates of one customer. `no key` lets other tables insert rows that refer to it meanwhile. */
export function lockByRef(tx: Tx, partnerId: string, ref: CustomerRefKind): Promise<CustomerRow | undefined> {
  return tx.row<CustomerRow>(sql`/* customers.lockByRef */
    select ${columns} from customers.customers where partner_id = ${partnerId} and ${isRef(ref)}
    for no key update`)
}

export async function idByRef(tx: Tx, partnerId: string, ref: CustomerRefKind): Promise<string | undefined> {
  const row = await tx.row<{ id: string }>(sql`/* customers.idByRef */
    select id from customers.customers where partner_id = ${partnerId} and ${isRef(ref)}`)
  return row?.id
}

/** In their order, behind one of them. */
export async function idsAfter(tx: Tx, partnerId: string, afterId: string, idsMax: number): Promise<readonly string[]> {
  const rows = await tx.rows<{ id: string }>(sql`/* customers.idsAfter */
    select id from customers.customers where partner_id = ${partnerId} and id > ${afterId} order by id limit ${idsMax}`)
  return rows.map(({ id }) => id)
}

export function list(
  tx: Tx,
  partnerId: string,
  filter: CustomerFilter,
  { limit, afterId }: PageRequest,
): Promise<readonly CustomerRow[]> {
  const { email, partnerCustomerIdentifier, customerType } = filter
  return tx.rows<CustomerRow>(sql`/* customers.list */
    select ${columns} from customers.customers where partner_id = ${partnerId}
      ${afterId === null ? noSql : sql`and id < ${afterId}`}
      ${email === undefined ? noSql : sql`and lower(email) = lower(${email})`}
      ${partnerCustomerIdentifier === undefined ? noSql : sql`and partner_customer_identifier = ${partnerCustomerIdentifier}`}
      ${customerType === undefined ? noSql : sql`and customer_type = ${customerType}`}
    order by id desc limit ${limit + 1}`)
}

export async function update(
  tx: Tx,
  partnerId: string,
  row: Pick<CustomerRow, 'id' | 'partnerCustomerIdentifier' | 'email' | 'kycSealed' | 'updatedAt'>,
): Promise<void> {
  await tx.run(sql`/* customers.update */
    update customers.customers set partner_customer_identifier = ${row.partnerCustomerIdentifier}, email = ${row.email},
      kyc_sealed = ${row.kycSealed}, updated_at = ${row.updatedAt}
    where partner_id = ${partnerId} and id = ${row.id}`)
}
