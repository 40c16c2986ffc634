/** A shop on a hostile day: sessions that are paid, played, ended, taken back and refunded, in any order and at once. */
import assert from 'node:assert/strict'
import { rawNumber } from '@partner-payments/wire'
import { amountText, newId } from '../../service/src/kernel/index.ts'
import { type Database, sql } from '../../service/src/postgres/index.ts'
import { ip } from './composition.ts'
import { pick } from './generated-requests.ts'
import { type Actor, amountOf, amounts, names, type HostileDay, type Operation } from './hostile-parts.ts'

const sessionOf = ({ random }: HostileDay, { sessions }: Actor) => pick(random, sessions).id

/** Few keys, so that requests share one. */
const keysOfRefunds = 40

export const checkoutOperations: Readonly<Record<string, Operation>> = {
  openSession: async (day, { checkout }, { partner, customers, sessions }) => {
    const { id: customerId, iban } = pick(day.random, customers)
    const expiresInSeconds = pick(day.random, [3600, 86_400])
    const order = { amount: amountOf(day), currency: 'EUR', idempotencyKey: newId(), customerId, expiresInSeconds }
    const { session } = await checkout.create(partner.caller, order)
    sessions.push({ id: session.id, creditorReference: session.creditorReference, iban })
  },
  /** A session without a payment has nothing to refund: the amount is the one that it asks for. */
  payExactly: (day, { checkout }, actor) => {
    const body = { step: 'credit', debtorName: pick(day.random, names) } as const
    const newest = actor.sessions.at(-1)?.id
    const id = newest !== undefined && day.random() < 0.7 ? newest : sessionOf(day, actor)
    return checkout.simulate(actor.partner.partnerId, id, body, ip)
  },
  playPayer: (day, { checkout }, actor) => {
    const outcome = pick(day.random, ['completed', 'completed', 'failed', 'abandoned', 'expired'] as const)
    return checkout.simulate(actor.partner.partnerId, sessionOf(day, actor), { outcome }, ip)
  },
  endSession: (day, { checkout }, actor) => checkout.expire(actor.partner.partnerId, sessionOf(day, actor)),
  takePaymentBack: (day, { checkout }, actor) =>
    checkout.simulate(actor.partner.partnerId, sessionOf(day, actor), { step: 'reverse' }, ip),
  /** The whole that is left, a part, or an amount of another payment; also with a key that another refund has. */
  refund: async (day, { checkout }, actor) => {
    const { partner, payouts } = actor
    const { data } = await checkout.list(partner.partnerId, { limit: '100' })
    const paid = data.filter(({ status }) => status === 'Completed')
    const id = paid.length > 0 && day.random() < 0.8 ? pick(day.random, paid).id : sessionOf(day, actor)
    const { amount, refundedAmount, currency } = await checkout.get(partner.partnerId, id)
    const left = rawNumber(amountText(amount - refundedAmount, currency))
    const asked = day.random() < 0.4 ? left : rawNumber(pick(day.random, amounts))
    const idempotencyKey = day.random() < 0.7 ? newId() : `refund ${Math.floor(day.random() * keysOfRefunds)}`
    const made = await checkout.refund(partner.caller, id, { amount: asked, idempotencyKey, reason: 'Sent back.' }, ip)
    // It is cancelled and approved as any payout.
    if (!made.replayed) payouts.push(made.row.id)
  },
}

/** No session has sent back more than it was paid, to another account than paid it, or without telling each step once. */
export async function checkRefunds(db: Database, partnerId: string): Promise<number> {
  const beyond = await db.rows(sql`
    select deposit.id, deposit.amount, sum(payout.amount) as refunded
    from checkout.sessions as session
      join checkout.refunds as refund on refund.partner_id = ${partnerId} and refund.session_id = session.id
      left join checkout.late_payments as late on late.partner_id = ${partnerId} and late.id = refund.late_payment_id
      join deposits.deposits as deposit
        on deposit.partner_id = ${partnerId} and deposit.id = coalesce(late.deposit_id, session.deposit_id)
      join payouts.payouts as payout on payout.partner_id = ${partnerId} and payout.id = refund.id
    where session.partner_id = ${partnerId} and payout.status not in ('Failed', 'Returned', 'Cancelled')
    group by deposit.id, deposit.amount having sum(payout.amount) > deposit.amount`)
  assert.deepEqual(beyond, [], 'no payment is refunded beyond its amount')
  const refunds = await db.rows<{ id: string; status: string; isOfPayer: boolean | null; told: string | null }>(sql`
    select payout.id, payout.status, deposit.debtor is null or payout.creditor_account = deposit.debtor::jsonb ->> 'account' as is_of_payer,
      (select string_agg(event.data::jsonb ->> 'status', ' ' order by event.id) from events.events as event
        where event.partner_id = ${partnerId} and event.type = 'checkout.refund.updated'
          and event.data::jsonb ->> 'refundId' = payout.id::text) as told
    from checkout.refunds as refund
      join payouts.payouts as payout on payout.partner_id = ${partnerId} and payout.id = refund.id
      join checkout.sessions as session on session.partner_id = ${partnerId} and session.id = refund.session_id
      left join checkout.late_payments as late on late.partner_id = ${partnerId} and late.id = refund.late_payment_id
      join deposits.deposits as deposit
        on deposit.partner_id = ${partnerId} and deposit.id = coalesce(late.deposit_id, session.deposit_id)
    where refund.partner_id = ${partnerId}`)
  for (const { id, status, isOfPayer, told } of refunds) {
    assert.notEqual(isOfPayer, false, `refund ${id} pays the account that paid`)
    const isUnderWay = ['Pending', 'PendingApproval', 'Processing', 'Sent'].includes(status)
    const end = isUnderWay ? '' : status === 'Returned' ? ' (?:Completed )?Returned' : ` ${status}`
    assert.match(
      told ?? '',
      new RegExp(`^Pending(?:Approval)?${end}$`),
      `the events of refund ${id}, which is ${status}`,
    )
  }
  return refunds.length
}
