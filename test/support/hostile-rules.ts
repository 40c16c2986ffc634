/** Changes by the operator on a hostile day while payments are on their way: gates of customers, and rules that hold payouts. */
import assert from 'node:assert/strict'
import { capabilities, verificationStates } from '@partner-payments/wire'
import { readRule, type MonitoringRule } from '../../service/src/monitoring/index.ts'
import { type Database, sql } from '../../service/src/postgres/index.ts'
import type { Service } from './composition.ts'
import { pick } from './generated-requests.ts'
import { dispositionFor } from './screening/held.ts'
import { type HostileDay, note, type Operation, staff } from './hostile-parts.ts'

const rulesMax = 4
const patterns = [
  { kind: 'velocity', direction: 'Outward', hours: 24, count: 3 },
  { kind: 'velocity', direction: 'Outward', hours: 1, sum: '4001.00' },
  { kind: 'structuring', direction: 'Outward', hours: 48, count: 2, threshold: '50.00' },
  { kind: 'new_payee', hours: 24, sum: '100.00' },
  { kind: 'round_trip', hours: 48, sum: '7.00' },
] as const

/** A rule for one partner or for all, with its backtest: another operation turns it on. */
async function addRule({ random }: HostileDay, { db, monitoring }: Service, partnerId: string): Promise<void> {
  const partners = random() < 0.5 ? { partners: [partnerId] } : {}
  const when = random() < 0.8 ? 'before' : 'after'
  const given = { name: 'A pattern', currency: 'EUR', when, ...partners, ...pick(random, patterns) }
  const by = pick(random, staff)
  const { id } = await db.transaction((tx) =>
    monitoring.setRule(tx, { draft: readRule(JSON.stringify(given)), staff: by }),
  )
  await monitoring.backtest({ id, from: '2026-01-01', until: '2026-01-02', staff: by })
}

/** The next step of a rule: on by two persons, then off by two persons. */
function turn(
  { random }: HostileDay,
  { db, monitoring }: Service,
  { id, state }: MonitoringRule,
): Promise<MonitoringRule> {
  const given = { id, staff: pick(random, staff) }
  return db.transaction((tx) =>
    state === 'On' || state === 'OffProposed' ? monitoring.turnOff(tx, given) : monitoring.turnOn(tx, given),
  )
}

export const ruleOperations: Readonly<Record<string, Operation>> = {
  changeGate: ({ random }, { db, customers }, { partner: { partnerId } }) => {
    const state = pick(random, verificationStates)
    const allowed = capabilities.filter(() => random() < 0.75)
    // A gate that stays shut would end the day of its partner.
    const isSet = random() < 0.4
    return db.transaction<unknown>((tx) =>
      isSet ? customers.gates.set(tx, { partnerId, state, allowed }) : customers.gates.remove(tx, partnerId, state),
    )
  },
  changeRule: async (day, service, { partner }) => {
    const last = new Map<string, MonitoringRule>()
    for (const rule of await service.monitoring.rules(service.db)) if (!last.has(rule.id)) last.set(rule.id, rule)
    const open = [...last.values()].filter(({ state }) => state !== 'Off')
    if (open.length === 0 || (open.length < rulesMax && day.random() < 0.3))
      await addRule(day, service, partner.partnerId)
    else {
      const waiting = open.filter(({ state }) => state !== 'On')
      await turn(day, service, pick(day.random, waiting.length > 0 && day.random() < 0.8 ? waiting : open))
    }
  },
  decideAlert: async ({ random, held }, { db, cases, decisions }) => {
    const open = (await cases.list(undefined, 200)).filter(({ kind }) => kind === 'monitoring_alert')
    if (open.length === 0) return
    const { partnerId, id, proposalId } = pick(random, open)
    await seeWaiting(db, partnerId, id, held)
    const by = pick(random, staff)
    const way = random() < 0.6 ? released : refused
    const key = { partnerId, id, staff: by }
    await db.transaction<unknown>((tx) => {
      if (proposalId === null) return decisions.propose(tx, { ...key, ...way, note })
      return random() < 0.1 ? decisions.reject(tx, { ...key, note }) : decisions.approve(tx, { ...key, proposalId })
    })
  },
}

const casesMax = 10_000
const released = { action: 'release', disposition: 'explained' } as const
const refused = { action: 'refuse', disposition: 'fraud' } as const
/** Staff who have proposed nothing during the day. */
const closers = ['Lea Closer', 'Max Closer'] as const

/** Persons decide every alert and every name at the end of the day, so that payouts end by the decision. */
export async function decideAll({ services: [service], random, held }: HostileDay): Promise<void> {
  const { db, cases, decisions, monitoring, screening } = service
  const [proposer, approver] = closers
  // A hit that is nearly sure needs both.
  for (const by of closers)
    for (const hit of await screening.openHits(undefined, casesMax)) {
      const { partnerId, id } = hit
      const found = { outcome: 'clear', disposition: dispositionFor(hit, 'clear') } as const
      await db.transaction((tx) => screening.decide(tx, { partnerId, id, ...found, staff: by, note }))
    }
  const open = (await cases.list(undefined, casesMax)).filter(({ kind }) => kind === 'monitoring_alert')
  for (const { partnerId, id } of open) {
    await seeWaiting(db, partnerId, id, held)
    // What has left or ended is not refused.
    const { waiting } = await monitoring.payoutStanding(db, partnerId, id)
    const way = waiting > 0n && random() < 0.5 ? refused : released
    const key = { partnerId, id }
    await db.transaction((tx) => decisions.propose(tx, { ...key, ...way, note, staff: proposer }))
    await db.transaction((tx) => decisions.approve(tx, { ...key, staff: approver }))
  }
}

/** Keeps the payouts that a worker has put off for an alert. Others of its payouts were sent before the rule was on. */
async function seeWaiting(db: Database, partnerId: string, alertId: string, held: HostileDay['held']): Promise<void> {
  const waiting = await db.rows<{ payoutId: string }>(sql`
    select payout.id as payout_id from monitoring.hits as hit
      join payouts.payouts as payout on payout.partner_id = ${partnerId} and payout.transaction_id = hit.transaction_id
      join transactions.transactions as transaction on transaction.partner_id = ${partnerId} and transaction.id = hit.transaction_id
    where hit.partner_id = ${partnerId} and hit.alert_id = ${alertId} and hit.holds and payout.status = 'Pending'
      and transaction.timeline @> '[{"step": "Screening"}]'`)
  for (const { payoutId } of waiting) held.set(payoutId, new Set(held.get(payoutId)).add(alertId))
}

/** How the payouts ended that alerts held: without a decision, or after a refusal, no bank has one. Returns how many ended in each way. */
export async function checkHolds(
  db: Database,
  partnerId: string,
  held: HostileDay['held'],
): Promise<Readonly<Record<'open' | 'refused' | 'released', number>>> {
  const counts = { open: 0, refused: 0, released: 0 }
  const rows = await db.rows<{ id: string; status: string; isSent: boolean }>(sql`
    select payout.id, payout.status, transaction.timeline @> '[{"step": "Sent"}]' as is_sent
    from payouts.payouts as payout
      join transactions.transactions as transaction on transaction.partner_id = ${partnerId} and transaction.id = payout.transaction_id
    where payout.partner_id = ${partnerId} and payout.id = any(${[...held.keys()]}::uuid[])`)
  for (const { id, status, isSent } of rows) {
    const alerts = await db.rows<{ resolution: 'released' | 'refused' | null }>(sql`
      select resolution from cases.cases where partner_id = ${partnerId} and id = any(${[...(held.get(id) ?? [])]}::uuid[])`)
    const resolutions = alerts.map(({ resolution }) => resolution ?? 'open')
    const outcome = (['open', 'refused'] as const).find((each) => resolutions.includes(each)) ?? 'released'
    counts[outcome] += 1
    if (outcome !== 'released')
      assert.equal(isSent, false, `payout ${id} is ${status}, its alerts are ${resolutions.join(' ')}`)
    // A name that waits for a decision too keeps it.
    if (outcome === 'refused')
      assert.ok(['Failed', 'Cancelled', 'Pending'].includes(status), `payout ${id} is ${status}`)
  }
  return counts
}
