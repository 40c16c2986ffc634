/** The SQL of reviews. */
import { acrossPartners, noSql, sql, type Tx } from '../../postgres/index.ts'

export type Review = {
  readonly partnerId: string
  readonly customerId: string
  readonly risk: 'low' | 'medium' | 'high'
  readonly reviewedBy: string
  readonly reviewedAt: Date
  /** `YYYY-MM-DD`, in UTC. */
  readonly dueOn: string
}
export type Unreviewed = { readonly customerId: string; readonly createdAt: Date }

/** More than a person reads. */
const listedMax = 1000

export async function setReview(tx: Tx, review: Review): Promise<void> {
  await tx.run(sql`/* customers.setReview */
    insert into customers.reviews (partner_id, customer_id, risk, reviewed_by, reviewed_at, due_on)
    values (${review.partnerId}, ${review.customerId}, ${review.risk}, ${review.reviewedBy}, ${review.reviewedAt}, ${review.dueOn})
    on conflict (partner_id, customer_id) do update set risk = excluded.risk, reviewed_by = excluded.reviewed_by,
      reviewed_at = excluded.reviewed_at, due_on = excluded.due_on`)
}

/** Adds a review, or raises the risk of the last one and makes the next one due by the day of this one. */
export async function raiseReview(tx: Tx, review: Review): Promise<void> {
  await tx.run(sql`/* customers.raiseReview */
    insert into customers.reviews as known (partner_id, customer_id, risk, reviewed_by, reviewed_at, due_on)
    values (${review.partnerId}, ${review.customerId}, ${review.risk}, ${review.reviewedBy}, ${review.reviewedAt}, ${review.dueOn})
    on conflict (partner_id, customer_id) do update set risk = excluded.risk, due_on = least(known.due_on, excluded.due_on)`)
}

export async function makeReviewDue(tx: Tx, partnerId: string, customerId: string, dueOn: string): Promise<void> {
  await tx.run(sql`/* customers.makeReviewDue */
    update customers.reviews set due_on = ${dueOn}
    where partner_id = ${partnerId} and customer_id = ${customerId} and due_on > ${dueOn}`)
}

const columns = sql`r.partner_id, r.customer_id, r.risk, r.reviewed_by, r.reviewed_at, r.due_on`

/** The reviews of a partner, the next one first. `dueBy`: only those that are due on this day. */
export function reviewsOf(tx: Tx, partnerId: string, dueBy: string | null): Promise<readonly Review[]> {
  return tx.rows(sql`/* customers.reviewsOf */
    select ${columns} from customers.reviews r join customers.customers c on c.partner_id = r.partner_id and c.id = r.customer_id
    where r.partner_id = ${partnerId} and c.erased_at is null ${dueBy === null ? noSql : sql`and r.due_on <= ${dueBy}`}
    order by r.due_on, r.customer_id limit ${listedMax}`)
}

/** The reviews of some customers of a partner that are due on this day. */
export async function overdueOf(
  tx: Tx,
  partnerId: string,
  customerIds: readonly string[],
  dueBy: string,
): Promise<readonly Review[]> {
  if (customerIds.length === 0) return []
  return tx.rows(sql`/* customers.overdueOf */
    select ${columns} from customers.reviews r join customers.customers c on c.partner_id = r.partner_id and c.id = r.customer_id
    where r.partner_id = ${partnerId} and r.customer_id = any(${customerIds}::uuid[]) and r.due_on <= ${dueBy} and c.erased_at is null`)
}

/** The last review of the page before. `dueOn`: `YYYY-MM-DD`. */
export type ReviewKey = Pick<Review, 'dueOn' | 'customerId'>
type Page = { readonly after: ReviewKey | undefined; readonly rowsMax: number }

/** The reviews of all partners that are due on this day, the oldest first. `page`: the first of them by default. */
export function overdueReviews(
  tx: Tx,
  dueBy: string,
  { after, rowsMax }: Page = { after: undefined, rowsMax: listedMax },
): Promise<readonly Review[]> {
  const rest = after === undefined ? noSql : sql`and (r.due_on, r.customer_id) > (${after.dueOn}, ${after.customerId})`
  return tx.rows(
    acrossPartners(
      "lists the operator's overdue reviews, by an index of their days",
      sql`/* customers.overdueReviews */
    select ${columns} from customers.reviews r join customers.customers c on c.partner_id = r.partner_id and c.id = r.customer_id
    where r.due_on <= ${dueBy} and c.erased_at is null ${rest} order by r.due_on, r.customer_id limit ${rowsMax}`,
    ),
  )
}

export function unreviewed(tx: Tx, partnerId: string): Promise<readonly Unreviewed[]> {
  return tx.rows(sql`/* customers.unreviewed */
    select c.id as customer_id, c.created_at
    from customers.customers c left join customers.reviews r on r.partner_id = c.partner_id and r.customer_id = c.id
    where c.partner_id = ${partnerId} and c.erased_at is null and r.customer_id is null
    order by c.id limit ${listedMax}`)
}

export async function deleteReview(tx: Tx, partnerId: string, customerId: string): Promise<void> {
  await tx.run(sql`/* customers.deleteReview */
    delete from customers.reviews where partner_id = ${partnerId} and customer_id = ${customerId}`)
}
