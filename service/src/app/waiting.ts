/**
 * Collects work that waits for staff besides cases, and the state of the connectors. Also explains to a partner why one
 * of its transactions is held.
 */
import { type Cases, operatorPartnerId } from '../cases/index.ts'
import { type Clock, minuteMs } from '../kernel/index.ts'
import type { Access } from '../access/index.ts'
import type { Accounts } from '../accounts/index.ts'
import type { Monitoring } from '../monitoring/index.ts'
import type { Customers, CustomerReview } from '../parties/customers/index.ts'
import { type Deposits, holdOfDeposit, lacksOwnershipProof } from '../deposits/index.ts'
import { instructionIdOf, type PayoutAges, payoutsDue } from '../payouts/index.ts'
import type { Recalls } from '../payouts/recalls/index.ts'
import {
  type WaitingChecks,
  type StaffChange,
  type StaffChanges,
  type QueueItemKey,
  queueItemName,
  type WaitingItem,
} from '../people/staff/index.ts'
import { type Hold, type FindHold, holds, holdsOfCases } from '../transactions/index.ts'
import type { ConnectorStatus } from '../pages/index.ts'
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
  readonly screening: Pick<Screening, 'oldestOpenHits' | 'filterOpen'>
  readonly monitoring: Pick<Monitoring, 'holdingAlerts'>
  readonly cases: Pick<Cases, 'resolutionsOf'>
  readonly changes: Pick<StaffChanges, 'waiting'>
  readonly customers: { readonly reviews: Pick<Customers['reviews'], 'overdueOf' | 'overduePage'> }
  readonly connectors: readonly Connector[]
  readonly connectorHealth: ConnectorHealth
  readonly isoBanks: { readonly shown: BankFiles }
}

export type StaffQueue = WaitingChecks & {
  /** Lists the oldest entries of each kind, at most 100 of a kind. */
  readonly look: () => Promise<readonly WaitingItem[]>
  /** Explains why these entries wait now. Omits entries that no longer wait. */
  readonly of: (keys: readonly QueueItemKey[]) => Promise<readonly WaitingItem[]>
  readonly connectors: () => Promise<readonly ConnectorStatus[]>
}

const rowsMax = 100

export function createStaffQueue(deps: Deps): StaffQueue {
  const { db, access, changes, customers, deposits, payoutAges, recalls, screening } = deps
  const of = createReasonReader(deps)
  return {
    look: async () => {
      // Payouts need a statement per partner, so the others are read concurrently on one more connection.
      const payouts = async () => payoutAges.waiting(await access.partnerIds(db), rowsMax)
      const others = async () => [
        ...(await screening.oldestOpenHits(rowsMax)).map(hitEntry),
        ...(await deposits.waiting(rowsMax)).map(depositEntry),
        ...(await recalls.waiting(rowsMax)).map(recallEntry),
        ...(await changes.waiting(db, rowsMax)).map(changeEntry),
        ...(await customers.reviews.overduePage(db, { after: undefined, rowsMax })).map(reviewEntry),
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
      return namesOf(keys.filter((key) => !waiting.has(queueItemName(key)) && isCertain(deps, key)))
    },
    connectors: () => readConnectors(deps),
  }
}

type HoldDeps = Pick<Deps, 'db'> & {
  readonly cases: Pick<Cases, 'openAbout'>
  readonly deposits: Pick<Deposits, 'byReferences' | 'payers'>
  readonly payoutAges: Pick<PayoutAges, 'holdOfTransaction'>
  readonly recalls: Pick<Recalls, 'list'>
}

const openRecalls: ReadonlySet<string> = new Set(['Requested', 'Sent', 'Accepted'])

/** Reads why a payment is held. A completed payment may wait for the answer to a recall, or for a decision about its money. */
export function createHoldReader({ db, cases, deposits, payoutAges, recalls }: HoldDeps): FindHold {
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
      return { kind: lacksOwnershipProof(check) ? 'walletOwnership' : 'payerData', by: check?.answerBy ?? null }
    }
    const found = category === 'Withdrawal' ? await payoutAges.holdOfTransaction(transaction) : undefined
    if (found === undefined || found.hold !== undefined) return found?.hold
    const { id, endToEndId, status } = found.payout
    const sent = status === 'Completed' ? await recalls.list(partnerId, id) : []
    const recall = sent.find((each) => openRecalls.has(each.status))
    if (recall !== undefined) return { kind: 'recall', by: recall.status === 'Accepted' ? null : recall.answerDueAt }
    return ofCases(partnerId, [id, instructionIdOf(found.payout), endToEndId, reference])
  }
}

const namesOf = (keys: readonly QueueItemKey[]): ReadonlySet<string> => new Set(keys.map(queueItemName))

/**
 * Reports whether a failure has certainly ended. Another process may still see it, so the bank must have answered this
 * process recently.
 */
function isCertain({ clock, connectors, connectorHealth }: Deps, { kind, subject }: QueueItemKey): boolean {
  if (kind !== 'connector' || !connectors.some(({ id }) => id === subject)) return true
  const { answeredAt } = connectorHealth.connectorState(subject)
  return answeredAt !== null && clock.now().getTime() - answeredAt.getTime() < sureMs
}
const sureMs = 10 * minuteMs

type UnfinishedEntry = {
  readonly partnerId: string
  readonly id: string
  readonly status: string
  readonly since: Date
}

type OpenHit = Awaited<ReturnType<Screening['oldestOpenHits']>>[number]
const hitEntry = ({ partnerId, id: subject, source, score, openedAt: since, proposal, proposedBy }: OpenHit) =>
  ({
    partnerId,
    kind: 'hit',
    subject,
    why: 'hit',
    since,
    detail: source,
    score,
    ...(proposal === null || proposedBy === null ? {} : { proposal: { outcome: proposal, by: proposedBy } }),
  }) satisfies WaitingItem

const payoutReasons = { held: 'payoutHeld', unknown: 'payoutUnknown', stands: 'payoutStands' } as const
type FoundPayout = Awaited<ReturnType<PayoutAges['waitingOf']>>[number]

/** Distinguishes payouts held by an alert from payouts held by names. Two statements per partner. */
async function withRules(
  { db, monitoring, cases }: Pick<Deps, 'db' | 'monitoring' | 'cases'>,
  found: readonly FoundPayout[],
): Promise<readonly WaitingItem[]> {
  const byRule = new Set<string>()
  const held = found.filter(({ why }) => why === 'held')
  for (const [partnerId, own] of Map.groupBy(held, (payout) => payout.partnerId)) {
    const rows = await monitoring.holdingAlerts(
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
const depositEntry = ({
  partnerId,
  id: subject,
  why,
  since,
  status: detail,
}: UnfinishedEntry & { readonly why: keyof typeof depositReasons }) =>
  ({ partnerId, kind: 'deposit', subject, why: depositReasons[why], since, detail }) satisfies WaitingItem

const recallReasons = { unsent: 'recallUnsent', overdue: 'recallOverdue' } as const
/** Formats a waiting recall. Its subject is the payout, because staff examine both together. */
const recallEntry = ({
  partnerId,
  payoutId: subject,
  why,
  since,
  connector: detail,
}: Awaited<ReturnType<Recalls['waiting']>>[number]) =>
  ({ partnerId, kind: 'payout', subject, why: recallReasons[why], since, detail }) satisfies WaitingItem

/** Formats a waiting change. Changes do not belong to a partner. */
const changeEntry = ({ id: subject, proposedAt: since, command: detail }: StaffChange) =>
  ({ partnerId: operatorPartnerId, kind: 'change', subject, why: 'changeWaits', since, detail }) satisfies WaitingItem

const reviewEntry = ({ partnerId, customerId: subject, dueOn, risk: detail }: CustomerReview) => {
  const since = new Date(`${dueOn}T00:00:00Z`)
  return { partnerId, kind: 'review', subject, why: 'reviewOverdue', since, detail } satisfies WaitingItem
}

/** Far more than the changes of 72 hours, after which a change expires. */
const changesMax = 1000

/** Creates `of`, with one statement per partner and kind. */
function createReasonReader(deps: Deps): StaffQueue['of'] {
  const { db, changes, customers, deposits, payoutAges, recalls, screening } = deps
  const ofPartner = async (
    partnerId: string,
    kind: QueueItemKey['kind'],
    ids: readonly string[],
  ): Promise<readonly WaitingItem[]> => {
    if (kind === 'hit') return (await screening.filterOpen(partnerId, ids)).map(hitEntry)
    if (kind === 'deposit') return (await deposits.waitingOf(partnerId, ids)).map(depositEntry)
    if (kind === 'payout')
      return [
        ...(await withRules(deps, await payoutAges.waitingOf(partnerId, ids))),
        ...(await recalls.waitingOf(partnerId, ids)).map(recallEntry),
      ]
    if (kind === 'review') return (await customers.reviews.overdueOf(db, partnerId, ids)).map(reviewEntry)
    if (partnerId !== operatorPartnerId) return []
    const found: readonly WaitingItem[] =
      kind === 'change'
        ? (await changes.waiting(db, changesMax)).map(changeEntry)
        : kind === 'pool'
          ? await lowPools(deps)
          : await failingConnectors(deps)
    return found.filter(({ subject }) => ids.includes(subject))
  }
  return async (keys) => {
    const found: WaitingItem[] = []
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

const lowPools = async ({ accounts }: Deps): Promise<readonly WaitingItem[]> =>
  (await accounts.pools.levels())
    .filter(({ isLow }) => isLow)
    .map(({ pool, currency, free }) => ({
      ...{ partnerId: operatorPartnerId, kind: 'pool', subject: `${pool} ${currency}` },
      ...{ why: 'poolLow', detail: String(free) },
    }))

/** Consecutive failed exchanges that count as a failure. The breaker opens after as many. */
const failuresMin = 5
/** The age at which queues and files cause alerts. */
const waitsMsMax = 5 * minuteMs

async function failingConnectors(deps: Deps): Promise<readonly WaitingItem[]> {
  const found: WaitingItem[] = []
  for (const connector of deps.connectors) {
    const { trouble: detail, troubleSince: since } = firstTrouble(
      deps.connectorHealth.connectorState(connector.id),
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

type Waits = Omit<ConnectorStatus['waits'], 'recall'>

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

async function readConnectors(deps: Deps): Promise<readonly ConnectorStatus[]> {
  const { db, clock, connectors, connectorHealth, recalls } = deps
  const { shown } = deps.isoBanks
  const found: ConnectorStatus[] = []
  for (const connector of connectors) {
    const { id } = connector
    const byFiles = shown.connectorIds.includes(id)
    const newest = async (show: 'received' | 'sent' | 'aside') =>
      byFiles ? ((await shown.page(db, { connector: id, show, after: undefined, rowsMax: 1 }))[0] ?? null) : null
    const state = connectorHealth.connectorState(id)
    const waits = { ...(await readWaits(deps, connector)), recall: await recalls.oldestUnsent(id) }
    const files = { received: await newest('received'), sent: await newest('sent'), aside: await newest('aside') }
    found.push({ id, byFiles, state, waits, files, ...firstTrouble(state, waits, clock.now()) })
  }
  return found
}

/** Returns when the oldest due payout became due. Null: no payout is due. */
async function oldestDue(db: Database, connector: string, now: Date): Promise<Date | null> {
  const row = await db.row<{ readonly dueAt: Date | null }>(payoutsDue(connector, new Date(0)))
  return row?.dueAt === undefined || row.dueAt === null || row.dueAt > now ? null : row.dueAt
}

/** Returns the most urgent problem of a connector. */
function firstTrouble(
  { heldBack, failures, failedAt }: ConnectorStatus['state'],
  waits: Waits,
  now: Date,
): Pick<ConnectorStatus, 'trouble' | 'troubleSince'> {
  const isOld = (since: Date | null) => since !== null && now.getTime() - since.getTime() > waitsMsMax
  if (heldBack) return { trouble: 'heldBack', troubleSince: failedAt }
  if (failures >= failuresMin) return { trouble: 'failing', troubleSince: failedAt }
  if (isOld(waits.file)) return { trouble: 'file', troubleSince: waits.file }
  if (isOld(waits.notification)) return { trouble: 'notification', troubleSince: waits.notification }
  if (isOld(waits.payout)) return { trouble: 'payout', troubleSince: waits.payout }
  return { trouble: undefined, troubleSince: null }
}
