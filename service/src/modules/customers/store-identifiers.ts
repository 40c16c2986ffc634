/** The SQL of the locks of identifiers. */
import { type Sql, sql, type Tx } from '../../postgres/index.ts'

const bucketOf = (identifier: string): Sql => sql`get_byte(sha256(convert_to(${identifier}::text, 'UTF8')), 0)`

/** Serialises the calls that give a customer an identifier whose digest begins with the same byte. */
export async function lockIdentifier(tx: Tx, partnerId: string, identifier: string): Promise<void> {
  await tx.run(sql`/* customers.lockIdentifier */
    insert into customers.identifier_locks (partner_id, bucket) values (${partnerId}, ${bucketOf(identifier)})
    on conflict (partner_id, bucket) do nothing`)
  await tx.run(sql`/* customers.lockIdentifier */
    select 1 from customers.identifier_locks where partner_id = ${partnerId} and bucket = ${bucketOf(identifier)} for update`)
}

/** The oldest customer with the identifier, other than `customerId`. */
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
