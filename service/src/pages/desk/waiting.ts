/** Finds what waits for a person besides cases: hits, held payments, changes, reviews, payments that stand still, low pools of IBANs. */
import { setTimeout as pause } from 'node:timers/promises'
import { after, secondMs } from '../../kernel/index.ts'
import type { DeskDeps } from './request.ts'

export type Waiting = {
  readonly kind:
    | 'hits'
    | 'heldPayouts'
    | 'heldDeposits'
    | 'changes'
    | 'reviews'
    | 'payoutStands'
    | 'depositStands'
    | 'poolLow'
  /** Absent: it has no age. */
  readonly since?: Date
  /** The status of a payment, or the name of a pool. */
  readonly detail?: string
  /** Path of the page that shows it, from the root of the desk. */
  readonly href?: string
  /** The runbook by its name. Absent: the page says what to do. */
  readonly runbook?: string
}

/** `late`: the look has not ended yet. `failed`: it ended with an error, which is in the log. */
export type WaitingLook = readonly Waiting[] | 'late' | 'failed'

type WaitingDeps = Pick<
  DeskDeps,
  'db' | 'clock' | 'log' | 'access' | 'accounts' | 'customers' | 'deposits' | 'payoutAges' | 'screening' | 'staff'
>

/** A look asks for each partner, so that many people with an open queue cost no more than one. */
const rememberedMs = 20 * secondMs
/** The cases do not depend on the look: their page waits for it no longer than this. */
const waitMsDefault = 2 * secondMs

/** Returns what waits, as of at most 20 seconds ago. Callers at the same time share a look, also one that takes longer than they wait. */
export function createWaiting(deps: WaitingDeps, waitMs = waitMsDefault): () => Promise<WaitingLook> {
  let last: { until: Date | undefined; readonly found: Promise<WaitingLook> } | undefined
  const start = () => {
    const own: NonNullable<typeof last> = {
      until: undefined,
      found: look(deps).then(
        (found) => {
          own.until = after(deps.clock.now(), rememberedMs)
          return found
        },
        (err: unknown) => {
          deps.log.error({ err }, 'what waits at the desk could not be read')
          last = undefined
          return 'failed'
        },
      ),
    }
    return own
  }
  return async () => {
    if (last?.until !== undefined && deps.clock.now() >= last.until) last = undefined
    last ??= start()
    const timer = new AbortController()
    const late = pause(waitMs, 'late' as const, { signal: timer.signal }).catch(() => 'late' as const)
    try {
      return await Promise.race([last.found, late])
    } finally {
      timer.abort()
    }
  }
}

async function look(deps: WaitingDeps): Promise<readonly Waiting[]> {
  const { db, clock, access, customers, deposits, payoutAges, screening, staff } = deps
  const since = (kind: Waiting['kind'], at: Date | null | undefined, more: Omit<Waiting, 'kind' | 'since'>) =>
    at === null || at === undefined ? [] : [{ kind, since: at, ...more }]
  const hits = { href: 'hits', runbook: 'screening-hit' }
  const [change] = await staff.changes.waiting(db, 1)
  const [review] = await customers.reviews.overduePage(db, { after: undefined, rowsMax: 1 })
  const partnerIds = (await access.partnerNames(db)).map(({ partnerId }) => partnerId)
  const stands = [...(await payoutAges.oldestUnfinished(partnerIds)), ...(await deposits.oldestUnfinished())].filter(
    ({ ageMs, limitMs }) => ageMs > limitMs,
  )
  return [
    ...since('hits', await screening.oldestOpenHit(), hits),
    ...since('heldPayouts', await payoutAges.oldestInScreening(), hits),
    ...since('heldDeposits', await deposits.oldestInScreening(), hits),
    ...stands.map(({ subject, status, ageMs, oldest }): Waiting => {
      const isPayout = subject === 'payout'
      return {
        kind: isPayout ? 'payoutStands' : 'depositStands',
        since: after(clock.now(), -ageMs),
        detail: status,
        ...(isPayout && oldest !== null ? { href: `payouts/${oldest.partnerId}/${oldest.id}` } : {}),
        runbook: isPayout ? 'stuck-payout' : 'alerts/PaymentsStandStill',
      }
    }),
    ...(await lowPools(deps)),
    ...since('changes', change?.proposedAt, { href: 'changes' }),
    ...since('reviews', review && new Date(`${review.dueOn}T00:00:00Z`), { href: 'reviews' }),
  ]
}

const lowPools = async ({ accounts }: WaitingDeps): Promise<readonly Waiting[]> =>
  (await accounts.pools.levels())
    .filter(({ isLow }) => isLow)
    .map(({ pool, currency, free }) => ({
      kind: 'poolLow',
      detail: `${pool}, ${currency}: ${free}`,
      runbook: 'alerts/PaymentsIbanPoolLow',
    }))
