/** A day of guarded payments and its oracle: the preparation, and the comparison after each step. */
import assert from 'node:assert/strict'
import type { Caller } from '../../service/src/kernel/api/index.ts'
import { newId, nilId, present } from '../../service/src/kernel/index.ts'
import { sql } from '../../service/src/postgres/index.ts'
import { addPartner, type Service } from '../support/composition.ts'
import * as oracle from './guarded.ts'

const floatMinor = 20_000_00n
export const all = ['OpenAccount', 'Receive', 'Pay', 'Convert'] as const
const ibans = ['FR1420041010050500013M02606', 'NL91ABNA0417164300', 'FR1420041010050500013M02606'] as const

export async function prepare(service: Service, isSegregated: boolean) {
  const partner = await addPartner(service, floatMinor)
  const { partnerId, caller } = partner
  if (isSegregated) await service.db.transaction((tx) => service.ledger.segregate(tx, partnerId, 'EUR'))
  const world = oracle.createWorld(isSegregated, floatMinor, service.clock.now().getTime())
  const customers: { readonly id: string; readonly iban: string }[] = []
  for (const each of [
    partner.customer,
    await service.customers.create(partnerId, { kyc: { fullName: 'Joan Clarke' } }),
  ])
    customers.push({ id: each.id, iban: (await service.accounts.create(partnerId, each.id)).ibans[0].iban })
  for (const [index, iban] of ibans.entries()) {
    const of = index === 2 ? null : (index as 0 | 1)
    const given = { iban, currency: 'EUR', name: 'Grace Hopper' }
    const customerId = of === null ? {} : { customerId: customers[of]?.id ?? '' }
    const { id } = await service.beneficiaries.create(partnerId, { ...given, ...customerId })
    world.payees.push({ id, iban, owner: of, name: given.name, check: null, renewal: null })
  }
  const second: Caller = { ...caller, serviceAccountId: newId(), name: 'Second person' }
  return { service, partner, partnerId, second, world, customers }
}
export type Day = Awaited<ReturnType<typeof prepare>>

/** Pairs the alerts with those of the model, in their order for each rule and subject. */
export async function alertsOf({ service, world, partnerId, customers }: Day) {
  const rows = await service.monitoring.alerts(service.db, partnerId, nilId, 1000)
  const subjectOf = (of: oracle.Owner) => (of === null ? partnerId : customers[of]?.id)
  const left = [...world.alerts]
  const pairs = rows.map((row) => {
    const at = left.findIndex(({ rule, owner: of }) => rule.id === row.ruleId && subjectOf(of) === row.subjectId)
    const [alert] = left.splice(at, at < 0 ? 0 : 1)
    return { ...row, alert: present(alert, 'an alert that the model has') }
  })
  assert.deepEqual(left, [], 'no alert is missing')
  return pairs
}

/**
 * The events of a payout by its steps (contract page). A payout of the partner itself only has the event of its end.
 */
const causes: Readonly<Record<string, readonly string[]>> = {
  Created: ['requested'],
  Accepted: ['accepted'],
  Sent: ['sent'],
  Settled: ['Completed'],
  Failed: ['failed', 'Unsuccessful'],
  Cancelled: ['Cancelled'],
  Expired: ['Cancelled'],
}

async function comparePayouts({ service, world, partnerId }: Day): Promise<void> {
  const rows = await service.db.rows<{
    id: string
    status: string
    steps: string[]
    events: string[]
    cause: string | null
  }>(sql`
    select payout.id, payout.status, array(select entry ->> 'step' from jsonb_array_elements(timeline) with ordinality as entries (entry, position)
        order by position) as steps,
      array(select case type when 'transaction.status.changed' then data::jsonb ->> 'status' else split_part(type, '.', 4) end
        from events.events as event where event.partner_id = ${partnerId} and event.reference = payout.reference
        order by event.id) as events,
      (select cause from payouts.approvals as approval
        where approval.partner_id = ${partnerId} and approval.payout_id = payout.id) as cause
    from payouts.payouts as payout join transactions.transactions as transaction
      on transaction.partner_id = ${partnerId} and transaction.id = payout.transaction_id
    where payout.partner_id = ${partnerId} order by payout.id`)
  assert.equal(rows.length, world.payouts.length, 'a refused request makes no payout')
  for (const { id, status, steps, owner, name: given } of world.payouts) {
    const row = present(
      rows.find((each) => each.id === id),
      'the payout',
    )
    const told = steps.flatMap((each) => causes[each] ?? []).filter((each) => owner !== null || /^[A-Z]/.test(each))
    const expected = { status, steps, events: told }
    assert.deepEqual({ status: row.status, steps: row.steps, events: row.events }, expected, given)
    if (status === 'PendingApproval') assert.equal(row.cause, 'payee', 'its people are told why it waits')
  }
}

async function compareMoney({ service, world, partnerId, customers }: Day): Promise<void> {
  const { db, ledger } = service
  for (const [index, id] of [partnerId, ...customers.map((each) => each.id)].entries()) {
    const [{ posted, reserved } = { posted: 0n, reserved: 0n }] = await ledger.partySumsAt(db, partnerId, id, undefined)
    const party = present(oracle.partiesOf(world)[index], 'a party')
    assert.deepEqual({ posted, reserved }, { posted: party.posted, reserved: party.reserved }, `party ${index}`)
  }
  const kept = world.suspended.reduce((sum, { isOpen, amount: one }) => (isOpen ? sum + one : sum), 0n)
  const [{ posted: suspense }] = (await db.rows<{
    posted: bigint
  }>(sql`select coalesce(sum(posted), 0)::bigint as posted
    from ledger.accounts where partner_id = ${partnerId} and name = 'suspense'`)) as [{ posted: bigint }]
  assert.equal(suspense, kept, 'what gates keep back is in suspense')
  const [{ told }] = (await db.rows<{ told: bigint }>(sql`select count(*) as told from events.events
    where partner_id = ${partnerId} and type = 'partner.customer.deposit.completed'`)) as [{ told: bigint }]
  assert.equal(told, BigInt(world.credited), 'each credit is told once')
}

async function compareGuards(day: Day): Promise<void> {
  const { service, world, partnerId, customers } = day
  const { db, monitoring } = service
  for (const [index, { id }] of customers.entries()) {
    const { verificationState, capabilities, holdUpTo } = await service.customers.capabilities(partnerId, id)
    const can = capabilities.flatMap(({ name: one, reasons }) => (reasons.length === 0 ? [one] : []))
    const gate = oracle.gateOf(world, index as 0 | 1)
    const { state: is = '', posted: held = 0n } = world.customers[index] ?? {}
    assert.deepEqual([verificationState, can], [is, all.filter((each) => gate.allowed.includes(each))])
    assert.deepEqual(holdUpTo, gate.max === undefined ? [] : [{ currency: 'EUR', max: gate.max, held }])
  }
  for (const { id, transactions, alert } of await alertsOf(day)) {
    assert.equal(transactions, BigInt(alert.hits.size), 'what an alert has found')
    assert.deepEqual(await monitoring.payoutStanding(db, partnerId, id), oracle.standingOf(alert))
    assert.equal((await service.cases.byId(db, partnerId, id))?.resolution, alert.resolution)
  }
  const checked = await db.rows<{ id: string; check: string | null }>(sql`
    select id, payee_check as check from beneficiaries.beneficiaries where partner_id = ${partnerId}`)
  const words = { Match: 'match', CloseMatch: 'close_match', NoMatch: 'no_match', NotPossible: null } as const
  for (const { id, check, name: given } of world.payees)
    assert.equal(checked.find((row) => row.id === id)?.check, check && words[check], `what is known of ${given}`)
  const told = await db.rows<{ text: string }>(sql`select reference || ' ' || (data::jsonb ->> 'result') as text
    from events.events where partner_id = ${partnerId} and type = 'beneficiary.verification.worsened'`)
  assert.deepEqual(told.map((row) => row.text).toSorted(), world.worsened.toSorted(), 'each worse answer is told once')
}

export async function compare(day: Day): Promise<void> {
  await comparePayouts(day)
  await compareMoney(day)
  await compareGuards(day)
}
