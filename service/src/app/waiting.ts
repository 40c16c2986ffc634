/**
 * Gathers what waits for a person of staff besides cases, from the modules that know it, and how the connectors are; and for a partner why one
 * of its transactions waits.
 */
import { type Cases, operatorPartnerId } from '../cases/index.ts'
import { type Clock, minuteMs } from '../kernel/index.ts'
import type { Access } from '../access/index.ts'
import type { Accounts } from '../accounts/index.ts'
import type { Monitoring } from '../monitoring/index.ts'
import type { Customers, Review } from '../parties/customers/index.ts'
import { type Deposits, holdOfDeposit, lacksOwnership } from '../deposits/index.ts'
import { instructionIdOf, type PayoutAges, payoutsDue } from '../payouts/index.ts'
import type { Recalls } from '../payouts/recalls/index.ts'
import {
  type AskWaiting,
  type StaffChange,
  type StaffChanges,
  type ThingKey,
  thingName,
  type WaitingThing,
} from '../people/staff/index.ts'
import { type Hold, type HoldOf, holds, holdsOfCases } from '../transactions/index.ts'
import type { ConnectorFacts } from '../pages/index.ts'
import type { Database } from '../postgres/index.ts'
import type { BankFiles, Connector, ConnectorHealth } from '../rails/index.ts'
import type { Screening } from '../screening/index.ts'

type Deps = {
  readonly db: Database
  readonly clock: Clock
  readonly access: Pick<Access, 'partnerIds'>
  readonly accounts: { readonly pools: Pick<Accounts['pools'], 'levels'> }
  readonly deposits: Pick<Deposits, 'waiting' | 'waitingOf'>
  readonly payoutAges: Pick<PayoutAges, 'waiting' | 'waitingOf'>
  readonly recalls: Pick<Recalls, 'waiting' | 'waitingOf' | 'oldestUnsent'>
  readonly screening: Pick<Screening, 'oldestOpenHits' | 'openOf'>
  readonly monitoring: Pick<Monitoring, 'holding'>
  readonly cases: Pick<Cases, 'resolutionsOf'>
  readonly changes: Pick<StaffChanges, 'waiting'>
  readonly customers: { readonly reviews: Pick<Customers['reviews'], 'overdueOf' | 'overduePage'> }
  readonly connectors: readonly Connector[]
  readonly connectorHealth: ConnectorHealth
  readonly isoBanks: { readonly shown: BankFiles }
}

export type Waiting = AskWaiting & {
  /** The oldest of each kind, at most 100. */
  readonly look: () => Promise<readonly WaitingThing[]>
  /** Says why these things wait now. One that no longer waits is absent. */
  readonly of: (keys: readonly ThingKey[]) => Promise<readonly WaitingThing[]>
  readonly connectors: () => Promise<readonly ConnectorFacts[]>
}

const rowsMax = 100

export function createWaiting(deps: Deps): Waiting {
  const { db, access, changes, customers, deposits, payoutAges, recalls, screening } = deps
  const of = createOf(deps)
  return {
    look: async () => {
      // The payouts ask for each partner: the others are read beside them, on one more connection.
      const payouts = async () => payoutAges.waiting(await access.partnerIds(db), rowsMax)
      const others = async () => [
        ...(await screening.oldestOpenHits(rowsMax)).map(ofHit),
        ...(await deposits.waiting(rowsMax)).map(ofDeposit),
        ...(await recalls.waiting(rowsMax)).map(ofRecall),
        ...(await changes.waiting(db, rowsMax)).map(ofChange),
        ...(await customers.reviews.overduePage(db, { after: undefined, rowsMax })).map(ofReview),
        ...(await failingConnectors(deps)),
        ...(await lowPools(deps)),
      ]
      const [found, rest] = await Promise.all([payouts(), others()])
      return [...rest, ...(await withRules(deps, found))]
    },
    of,
    stillWaiting: async (keys) => namesOf(await of(keys)),
    over: async (keys) => {
      const waiting = namesOf(await of(keys))
      return namesOf(keys.filter((key) => !waiting.has(thingName(key)) && isSure(deps, key)))
    },
    connectors: () => readConnectors(deps),
  }
}

type HoldDeps = Pick<Deps, 'db'> & {
  readonly cases: Pick<Cases, 'openAbout'>
  readonly deposits: Pick<Deposits, 'byReferences' | 'payers'>
  readonly payoutAges: Pick<PayoutAges, 'ofTransaction'>
  readonly recalls: Pick<Recalls, 'list'>
}

const openRecalls: ReadonlySet<string> = new Set(['Requested', 'Sent', 'Accepted'])

/** A payment that has ended may wait for the answer to a recall, or for a decision about its money. */
export function createHoldOf({ db, cases, deposits, payoutAges, recalls }: HoldDeps): HoldOf {
  const ofCases = async (partnerId: string, subjects: readonly string[]): Promise<Hold | undefined> => {
    const kinds = (await cases.openAbout(db, partnerId, subjects)).map(({ kind }) => holdsOfCases[kind])
    const kind = kinds.find((each) => holds[each].told === 'OperatorCheck') ?? kinds[0]
    return kind && { kind, by: null }
  }
  return async (transaction) => {
    const { partnerId, reference, category } = transaction.row
    if (category === 'Deposit') {
      const [deposit] = await deposits.byReferences(db, partnerId, [reference])
      if (deposit === undefined) return undefined
      const of = await ofCases(partnerId, [deposit.id])
      if (deposit.status !== 'Screening' || of?.kind !== 'payerData') return holdOfDeposit(deposit) ?? of
      const [check] = await deposits.payers.checksOf(db, [{ partnerId, id: deposit.id }])
      return { kind: lacksOwnership(check) ? 'walletOwnership' : 'payerData', by: check?.answerBy ?? null }
    }
    const found = category === 'Withdrawal' ? await payoutAges.ofTransaction(transaction) : undefined
    if (found === undefined || found.hold !== undefined) return found?.hold
    const { id, endToEndId, status } = found.payout
    const sent = status === 'Completed' ? await recalls.list(partnerId, id) : []
    const recall = sent.find((each) => openRecalls.has(each.status))
    if (recall !== undefined) return { kind: 'recall', by: recall.status === 'Accepted' ? null : recall.answerDueAt }
    return ofCases(partnerId, [id, instructionIdOf(found.payout), endToEndId, reference])
  }
}

const namesOf = (keys: readonly ThingKey[]): ReadonlySet<string> => new Set(keys.map(thingName))

/** A failure that another process has seen ends for this one when the bank has answered it. */
function isSure({ clock, connectors, connectorHealth }: Deps, { kind, subject }: ThingKey): boolean {
  if (kind !== 'connector' || !connectors.some(({ id }) => id === subject)) return true
  const { answeredAt } = connectorHealth.stateOf(subject)
  return answeredAt !== null && clock.now().getTime() - answeredAt.getTime() < sureMs
}
const sureMs = 10 * minuteMs

type Found = { readonly partnerId: string; readonly id: string; readonly status: string; readonly since: Date }

type OpenHit = Awaited<ReturnType<Screening['oldestOpenHits']>>[number]
const ofHit = ({ partnerId, id: subject, source, score, openedAt: since, proposal, proposedBy }: OpenHit) =>
  ({
    ...{ partnerId, kind: 'hit', subject, why: 'hit', since, detail: source, score },
    ...(proposal === null || proposedBy === null ? {} : { proposal: { outcome: proposal, by: proposedBy } }),
  }) satisfies WaitingThing

const payoutReasons = { held: 'payoutHeld', unknown: 'payoutUnknown', stands: 'payoutStands' } as const
type FoundPayout = Awaited<ReturnType<PayoutAges['waitingOf']>>[number]

/** Tells apart what holds a payout: an alert of a rule, or names. Two statements for each partner. */
async function withRules(
  { db, monitoring, cases }: Pick<Deps, 'db' | 'monitoring' | 'cases'>,
  found: readonly FoundPayout[],
): Promise<readonly WaitingThing[]> {
  const byRule = new Set<string>()
  const held = found.filter(({ why }) => why === 'held')
  for (const [partnerId, own] of Map.groupBy(held, (payout) => payout.partnerId)) {
    const rows = await monitoring.holding(
      db,
      partnerId,
      own.map(({ transactionId }) => transactionId),
    )
    if (rows.length === 0) continue
    const resolutions = await cases.resolutionsOf(db, partnerId, [...new Set(rows.map(({ alertId }) => alertId))])
    for (const { transactionId, alertId } of rows) if (resolutions.get(alertId) === null) byRule.add(transactionId)
  }
  return found.map(({ partnerId, id: subject, transactionId, why, since, status: detail, amount, currency }) => {
    const reason = byRule.has(transactionId) ? 'payoutByRule' : payoutReasons[why]
    return { partnerId, kind: 'payout', subject, why: reason, since, detail, money: { amount, currency } }
  })
}

const depositReasons = { held: 'depositHeld', stands: 'depositStands' } as const
const ofDeposit = ({
  partnerId,
  id: subject,
  why,
  since,
  status: detail,
}: Found & { readonly why: keyof typeof depositReasons }) =>
  ({ partnerId, kind: 'deposit', subject, why: depositReasons[why], since, detail }) satisfies WaitingThing

const recallReasons = { unsent: 'recallUnsent', overdue: 'recallOverdue' } as const
/** A recall is looked into with its payout. */
const ofRecall = ({
  partnerId,
  payoutId: subject,
  why,
  since,
  connector: detail,
}: Awaited<ReturnType<Recalls['waiting']>>[number]) =>
  ({ partnerId, kind: 'payout', subject, why: recallReasons[why], since, detail }) satisfies WaitingThing

/** A change belongs to no partner. */
const ofChange = ({ id: subject, proposedAt: since, command: detail }: StaffChange) =>
  ({ partnerId: operatorPartnerId, kind: 'change', subject, why: 'changeWaits', since, detail }) satisfies WaitingThing

const ofReview = ({ partnerId, customerId: subject, dueOn, risk: detail }: Review) => {
  const since = new Date(`${dueOn}T00:00:00Z`)
  return { partnerId, kind: 'review', subject, why: 'reviewOverdue', since, detail } satisfies WaitingThing
}

/** More than wait in 72 hours, after which a change is over. */
const changesMax = 1000

/** One statement for each partner and kind. */
function createOf(deps: Deps): Waiting['of'] {
  const { db, changes, customers, deposits, payoutAges, recalls, screening } = deps
  const ofPartner = async (
    partnerId: string,
    kind: ThingKey['kind'],
    ids: readonly string[],
  ): Promise<readonly WaitingThing[]> => {
    if (kind === 'hit') return (await screening.openOf(partnerId, ids)).map(ofHit)
    if (kind === 'deposit') return (await deposits.waitingOf(partnerId, ids)).map(ofDeposit)
    if (kind === 'payout')
      return [
        ...(await withRules(deps, await payoutAges.waitingOf(partnerId, ids))),
        ...(await recalls.waitingOf(partnerId, ids)).map(ofRecall),
      ]
    if (kind === 'review') return (await customers.reviews.overdueOf(db, partnerId, ids)).map(ofReview)
    if (partnerId !== operatorPartnerId) return []
    const found: readonly WaitingThing[] =
      kind === 'change'
        ? (await changes.waiting(db, changesMax)).map(ofChange)
        : kind === 'pool'
          ? await lowPools(deps)
          : await failingConnectors(deps)
    return found.filter(({ subject }) => ids.includes(subject))
  }
  return async (keys) => {
    const found: WaitingThing[] = []
    const groups = Map.groupBy(keys, ({ partnerId, kind }) => `${partnerId} ${kind}`)
    for (const group of groups.values()) {
      const [first] = group
      if (first === undefined) continue
      const ids = group.map(({ subject }) => subject)
      found.push(...(await ofPartner(first.partnerId, first.kind, ids)))
    }
    return found
  }
}

const lowPools = async ({ accounts }: Deps): Promise<readonly WaitingThing[]> =>
  (await accounts.pools.levels())
    .filter(({ isLow }) => isLow)
    .map(({ pool, currency, free }) => ({
      ...{ partnerId: operatorPartnerId, kind: 'pool', subject: `${pool} ${currency}` },
      ...{ why: 'poolLow', detail: String(free) },
    }))

/** Failed exchanges one after the other that are more than a hiccup. The breaker opens at as many. */
const failuresMin = 5
/** The age at which the alerts of queues and files begin. */
const waitsMsMax = 5 * minuteMs

async function failingConnectors(deps: Deps): Promise<readonly WaitingThing[]> {
  const found: WaitingThing[] = []
  for (const connector of deps.connectors) {
    const { trouble: detail, troubleSince: since } = troubleOf(
      deps.connectorHealth.stateOf(connector.id),
      await readWaits(deps, connector),
      deps.clock.now(),
    )
    if (detail === undefined) continue
    const thing = {
      partnerId: operatorPartnerId,
      kind: 'connector',
      subject: connector.id,
      why: 'connectorFails',
    } as const
    found.push({ ...thing, detail, ...(since === null ? {} : { since }) })
  }
  return found
}

type Waits = Omit<ConnectorFacts['waits'], 'recall'>

async function readWaits(
  { db, clock, isoBanks: { shown } }: Deps,
  { id, oldestNotification }: Connector,
): Promise<Waits> {
  const now = clock.now()
  return {
    notification: await oldestNotification(now),
    payout: await oldestDue(db, id, now),
    file: shown.connectorIds.includes(id) ? await shown.oldestUnsent(db, id) : null,
  }
}

async function readConnectors(deps: Deps): Promise<readonly ConnectorFacts[]> {
  const { db, clock, connectors, connectorHealth, recalls } = deps
  const { shown } = deps.isoBanks
  const found: ConnectorFacts[] = []
  for (const connector of connectors) {
    const { id } = connector
    const byFiles = shown.connectorIds.includes(id)
    const newest = async (show: 'received' | 'sent' | 'aside') =>
      byFiles ? ((await shown.page(db, { connector: id, show, after: undefined, rowsMax: 1 }))[0] ?? null) : null
    const state = connectorHealth.stateOf(id)
    const waits = { ...(await readWaits(deps, connector)), recall: await recalls.oldestUnsent(id) }
    const files = { received: await newest('received'), sent: await newest('sent'), aside: await newest('aside') }
    found.push({ id, byFiles, state, waits, files, ...troubleOf(state, waits, clock.now()) })
  }
  return found
}

/** The time since which the oldest payout is due. Null: none is. */
async function oldestDue(db: Database, connector: string, now: Date): Promise<Date | null> {
  const row = await db.row<{ readonly dueAt: Date | null }>(payoutsDue(connector, new Date(0)))
  return row?.dueAt === undefined || row.dueAt === null || row.dueAt > now ? null : row.dueAt
}

/** The first that a person should look at. */
function troubleOf(
  { heldBack, failures, failedAt }: ConnectorFacts['state'],
  waits: Waits,
  now: Date,
): Pick<ConnectorFacts, 'trouble' | 'troubleSince'> {
  const isOld = (since: Date | null) => since !== null && now.getTime() - since.getTime() > waitsMsMax
  if (heldBack) return { trouble: 'heldBack', troubleSince: failedAt }
  if (failures >= failuresMin) return { trouble: 'failing', troubleSince: failedAt }
  if (isOld(waits.file)) return { trouble: 'file', troubleSince: waits.file }
  if (isOld(waits.notification)) return { trouble: 'notification', troubleSince: waits.notification }
  if (isOld(waits.payout)) return { trouble: 'payout', troubleSince: waits.payout }
  return { trouble: undefined, troubleSince: null }
}
