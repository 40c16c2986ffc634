/**
 * Rules that are evaluated before the bank has a payout. The worker asks after the payout was accepted: of two payouts that only together
 * cross a sum, at least the one that is asked about later is seen with the other. Without such rules no statement is made.
 */
import { Refusal } from '../../api/index.ts'
import { after, nilId, partnerKey, secondMs } from '../../kernel/index.ts'
import type { Tx } from '../../postgres/index.ts'
import { patterns } from '../transactions/index.ts'
import { record } from './alerts.ts'
import type { Active, MonitoringDeps } from './deps.ts'
import { evaluate, type Hit } from './evaluate.ts'
import * as store from './store.ts'

/** A payout that a worker is about to begin. `isHeld`: it has waited for a decision. */
export type BeginningPayout = {
  readonly partnerId: string
  readonly transactionId: string
  readonly isHeld?: boolean
}
/** `open`: two persons decide. `refused`: they have refused it. */
export type MonitoringHold = 'open' | 'refused'
export type MonitoringHoldsOf = (
  payouts: readonly BeginningPayout[],
) => Promise<(payout: BeginningPayout) => MonitoringHold | undefined>

/** How long a process may work without a rule that was turned on. */
const rulesAgeMsMax = 5 * secondMs

/** A version that is or was on: what it has found waits, also after it was turned off. */
export type EverOn = Active & { readonly isOn: boolean }

export function createHoldsOf(deps: MonitoringDeps, rulesEverOn: () => Promise<readonly EverOn[]>): MonitoringHoldsOf {
  const { clock } = deps
  let known: { readonly rules: readonly EverOn[]; readonly until: Date } | undefined
  const rulesBefore = async (): Promise<readonly EverOn[]> => {
    const now = clock.now()
    if (known === undefined || now >= known.until)
      known = {
        rules: (await rulesEverOn()).filter(({ settings }) => settings.when === 'before'),
        until: after(now, rulesAgeMsMax),
      }
    return known.rules
  }
  return async (payouts) => {
    const found = new Map<string, MonitoringHold>()
    const rules = payouts.length === 0 ? [] : await rulesBefore()
    const isAsked = ({ partnerId, isHeld = false }: BeginningPayout) =>
      isHeld || rules.some(({ settings: { partners } }) => partners === null || partners.includes(partnerId))
    for (const [partnerId, own] of Map.groupBy(payouts.filter(isAsked), (payout) => payout.partnerId)) {
      const ids = own.map(({ transactionId }) => transactionId)
      for (const [id, hold] of await holdsOfPartner(deps, rules, partnerId, ids))
        found.set(partnerKey(partnerId, id), hold)
    }
    return ({ partnerId, transactionId }) => found.get(partnerKey(partnerId, transactionId))
  }
}

type Holds = ReadonlyMap<string, MonitoringHold>

async function holdsOfPartner(
  deps: MonitoringDeps,
  rules: readonly EverOn[],
  partnerId: string,
  ids: readonly string[],
): Promise<Holds> {
  const standing = await standingHolds(deps, deps.db, partnerId, ids)
  const free = ids.filter((id) => !standing.has(id))
  const on = rules.filter(({ isOn }) => isOn)
  if (free.length === 0 || on.length === 0) return standing
  const page = await patterns.byIds(deps.db, partnerId, free)
  const hits: { readonly rule: Active; readonly own: readonly Hit[] }[] = []
  for (const rule of on) {
    const own = await evaluate(deps, deps.db, partnerId, rule.settings, page).catch((error: unknown) => {
      if (error instanceof Refusal && error.code === 'fx_rates_unavailable') return undefined
      throw error
    })
    // Without rates the rule cannot judge: the payouts wait for rates, and are asked about again.
    if (own === undefined) return new Map([...free.map((id) => [id, 'open'] as const), ...standing])
    if (own.length > 0) hits.push({ rule, own })
  }
  if (hits.length === 0) return standing
  const matching = [...new Set(hits.flatMap(({ own }) => own.map(({ movement }) => movement.id)))]
  const opened = await deps.db.transaction(async (tx): Promise<Holds> => {
    // Another process opens alerts of this partner: the payouts wait, and are asked about again.
    const isClaimed = await store.claim(tx, partnerId, { changedAt: new Date(0), transactionId: nilId })
    if (!isClaimed) return new Map(matching.map((id) => [id, 'open']))
    for (const { rule, own } of hits) await record(deps, tx, partnerId, rule, own, true)
    return standingHolds(deps, tx, partnerId, matching)
  })
  return new Map([...standing, ...opened])
}

/** The holds by alerts that are open or refused. What was released by all of its alerts has none. */
async function standingHolds(
  { cases }: Pick<MonitoringDeps, 'cases'>,
  tx: Tx,
  partnerId: string,
  ids: readonly string[],
): Promise<Holds> {
  const rows = await store.holding(tx, partnerId, ids)
  if (rows.length === 0) return new Map()
  const resolutions = await cases.resolutionsOf(tx, partnerId, [...new Set(rows.map(({ alertId }) => alertId))])
  const holds = new Map<string, MonitoringHold>()
  for (const { transactionId, alertId } of rows) {
    const resolution = resolutions.get(alertId) ?? null
    if (resolution === null) holds.set(transactionId, 'open')
    else if (resolution === 'refused' && !holds.has(transactionId)) holds.set(transactionId, 'refused')
  }
  return holds
}
