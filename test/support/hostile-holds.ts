/**
 * Customers with a listed name on a hostile day: they are renamed to and from it in the middle of a payment, and their money is tried to be moved
 * by every verb while persons have not decided. At the end no cent of theirs has moved without a decision, by the records alone.
 */
import assert from 'node:assert/strict'
import { rawNumber } from '@partner-payments/wire'
import { Refusal } from '../../service/src/kernel/api/index.ts'
import { hourMs, newId } from '../../service/src/kernel/index.ts'
import { type Database, sql } from '../../service/src/postgres/index.ts'
import { ip, type Service } from './composition.ts'
import { quoteBody } from './fx.ts'
import { pick } from './generated-requests.ts'
import { type Actor, amountOf, type HostileDay, names, type Operation } from './hostile-parts.ts'

/** A customer that a hit holds, or any. */
async function heldCustomer({ random }: HostileDay, { db }: Service, { partner, customers }: Actor): Promise<string> {
  const held = await db.rows<{ id: string }>(sql`
    select distinct subject_id as id from screening.hits where partner_id = ${partner.partnerId}
      and subject_kind = 'customer' and ended_at is null and status in ('open', 'confirmed')`)
  return held.length > 0 && random() < 0.8 ? pick(random, held).id : pick(random, customers).id
}

const transfer = async (day: HostileDay, { accounts }: Service, { partner }: Actor, parties: object) => {
  const body = { amount: rawNumber(pick(day.random, ['0.01', '1.00', '7.00'])), currency: 'EUR' as const, ...parties }
  await accounts.transfer(partner.partnerId, body, { caller: partner.caller, ip, requestId: newId() })
}

/** Two steps at once; a refusal of one is no fault, and does not hide a fault of the other. */
async function both(...steps: readonly Promise<unknown>[]): Promise<void> {
  for (const step of await Promise.allSettled(steps))
    if (step.status === 'rejected' && !(step.reason instanceof Refusal)) throw step.reason
}

/** Gives a customer money of its own, so that there is something to move. */
const fund = ({ accounts }: Service, { partner }: Actor, toCustomerId: string) =>
  accounts.transfer(partner.partnerId, { amount: rawNumber('100.00'), currency: 'EUR', toCustomerId }, undefined)

export const holdOperations: Readonly<Record<string, Operation>> = {
  fund: ({ random }, service, actor) => fund(service, actor, pick(random, actor.customers).id),
  moveHeld: async (day, service, actor) => {
    const held = await heldCustomer(day, service, actor)
    const others = actor.customers.filter(({ id }) => id !== held)
    const other = others.length === 0 ? undefined : pick(day.random, others).id
    const parties = [
      { fromCustomerId: held },
      ...(other === undefined
        ? []
        : [
            { fromCustomerId: held, toCustomerId: other },
            { fromCustomerId: other, toCustomerId: held },
          ]),
    ]
    await transfer(day, service, actor, pick(day.random, parties))
  },
  convertHeld: async (day, service, actor) => {
    const { fx } = service
    const { caller } = actor.partner
    const customerId = await heldCustomer(day, service, actor)
    const quoted = await fx.quote(caller, quoteBody({ sellAmount: pick(day.random, ['1.00', '7.00']), customerId }))
    await fx.convert(caller, { quoteId: quoted.row.row.id, idempotencyKey: newId() }, ip)
  },
  payHeld: async (day, service, actor) => {
    const { partner, payees } = actor
    const customerId = await heldCustomer(day, service, actor)
    const payee = { iban: 'NL91ABNA0417164300', currency: 'EUR', name: 'Grace Hopper', customerId }
    const { id: beneficiaryId } = await service.beneficiaries.create(partner.partnerId, payee)
    payees.push(beneficiaryId)
    const body = { amount: amountOf(day), currency: 'EUR', beneficiaryId, idempotencyKey: newId() }
    actor.payouts.push((await service.payouts.create(partner.caller, body, ip)).payout.id)
  },
  /** The name changes while the payment is made, or between its acceptance and its worker. */
  renameInPayment: async (day, service, actor) => {
    const { partner, customers } = actor
    const { id } = pick(day.random, customers)
    await both(fund(service, actor, id))
    const rename = () => service.customers.update(partner.partnerId, id, { kyc: { fullName: pick(day.random, names) } })
    const move = () =>
      transfer(day, service, actor, { fromCustomerId: id, toCustomerId: pick(day.random, customers).id })
    await (day.random() < 0.5 ? both(rename(), move()) : both(move(), rename()))
  },
}

/** A worker that has judged a payment may be overtaken for as long as the clock moves while two workers run. */
const marginMs = 2 * hourMs + 1

/**
 * Lists movements although a hit had held its customer since long before: a transfer, a conversion, a credit without a case, a payout that a bank
 * got. Ends of payouts that a bank had before, and what persons decided, are left out. Returns how many moves of held customers were looked at.
 */
export async function checkHeldMoney(db: Database, partnerId: string): Promise<number> {
  const moves = await db.rows<{ what: string; reference: string; partyId: string; at: Date }>(sql`
    select case when 'transfers' in (debit.name, credit.name) then 'transfer' else 'conversion' end as what,
      moved.reference, moved.party_id, moved.created_at as at
    from ledger.transfers as moved
      join ledger.accounts as debit on debit.partner_id = ${partnerId} and debit.id = moved.debit_account_id
      join ledger.accounts as credit on credit.partner_id = ${partnerId} and credit.id = moved.credit_account_id
    where moved.partner_id = ${partnerId} and moved.kind = 'direct' and moved.party_id <> ${partnerId}
      and 'balance' in (debit.name, credit.name)
      and ('transfers' in (debit.name, credit.name) or 'fx' in (debit.name, credit.name))
      and not exists (select from payouts.payouts as payout
        where payout.partner_id = ${partnerId} and payout.reference = moved.reference)
    union all
    select 'payout', payout.reference, payout.customer_id, (step ->> 'createdAt')::timestamptz
    from payouts.payouts as payout
      join transactions.transactions as told on told.partner_id = ${partnerId} and told.id = payout.transaction_id
      cross join lateral jsonb_array_elements(told.timeline) as step
    where payout.partner_id = ${partnerId} and payout.customer_id is not null and step ->> 'step' = 'Accepted'
    union all
    select 'credit', deposit.reference, deposit.customer_id, deposit.updated_at
    from deposits.deposits as deposit
    where deposit.partner_id = ${partnerId} and deposit.customer_id is not null and deposit.status = 'Completed'
      and deposit.reversed_at is null and not exists (select from cases.cases as opened
        where opened.partner_id = ${partnerId} and opened.notification_id = deposit.settled_by)`)
  const hits = await db.rows<{ id: string; subjectId: string; openedAt: Date; endedAt: Date | null }>(sql`
    select id, subject_id, opened_at, ended_at from screening.hits
    where partner_id = ${partnerId} and subject_kind = 'customer' and source not like 'pep%'`)
  const decisions = await db.rows<{ hitId: string; outcome: string; decidedAt: Date }>(sql`
    select hit_id, outcome, decided_at from screening.decisions
    where partner_id = ${partnerId} and kind = 'decided' order by hit_id, sequence`)
  /** Returns since when a hit has held its customer without a break at a time. Undefined: it does not. */
  const heldSince = ({ id, openedAt, endedAt }: (typeof hits)[number], at: Date): Date | undefined => {
    if (openedAt >= at || (endedAt !== null && endedAt <= at)) return undefined
    const made = decisions.filter(({ hitId, decidedAt }) => hitId === id && decidedAt <= at)
    const cleared = made.findLastIndex(({ outcome }) => outcome === 'clear')
    return cleared === -1 ? openedAt : made[cleared + 1]?.decidedAt
  }
  let looked = 0
  for (const { what, reference, partyId, at } of moves)
    for (const hit of hits.filter(({ subjectId }) => subjectId === partyId)) {
      looked += 1
      const since = heldSince(hit, at)
      const isLong = since !== undefined && at.getTime() - since.getTime() > marginMs
      assert.ok(
        !isLong,
        `${what} ${reference} moved at ${at.toISOString()}: hit ${hit.id} held its customer since ${since?.toISOString()}`,
      )
    }
  return looked
}

/** The parts of a segregated balance are what the movements of each party add up to, none is below zero, and together they are the balance. */
export async function checkParts(db: Database, partnerId: string): Promise<number> {
  const parts = await db.rows<{ currency: string; partyId: string; posted: bigint; moved: bigint }>(sql`
    select account.currency, part.party_id, part.posted, coalesce((
      select sum(case when moved.credit_account_id = account.id then moved.amount else -moved.amount end)
      from ledger.transfers as moved where moved.partner_id = ${partnerId} and moved.party_id = part.party_id
        and moved.kind in ('direct', 'post') and account.id in (moved.debit_account_id, moved.credit_account_id)), 0)::bigint as moved
    from ledger.party_accounts as part
      join ledger.accounts as account on account.partner_id = ${partnerId} and account.id = part.account_id
    where part.partner_id = ${partnerId} and account.segregated`)
  for (const { currency, partyId, posted, moved } of parts)
    assert.equal(posted, moved, `the part of ${partyId} in ${currency}`)
  const wrong = await db.rows(sql`
    select account.currency, account.posted, sum(part.posted) as parts from ledger.accounts as account
      join ledger.party_accounts as part on part.partner_id = ${partnerId} and part.account_id = account.id
    where account.partner_id = ${partnerId} and account.segregated group by account.id, account.currency, account.posted
    having account.posted <> sum(part.posted)`)
  assert.deepEqual(wrong, [], 'the parts of a balance add up to it')
  return parts.length
}
