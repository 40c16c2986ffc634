/** Shares a look at what waits for a person besides cases, so that many people with an open queue cost no more than one. */
import { setTimeout as pause } from 'node:timers/promises'
import { after, secondMs } from '../../kernel/index.ts'
import type { WaitingThing } from '../../modules/staff/index.ts'
import type { DeskDeps } from './request.ts'

/** A number of rows of a page, which have no owners: two persons decide a change, and a review is a date. */
export type WaitingSum = {
  readonly kind: 'changes' | 'reviews'
  /** The time since which the oldest waits. */
  readonly since: Date
  /** Path of the page that shows them, from the root of the desk. */
  readonly href: string
}

export type Waiting = { readonly things: readonly WaitingThing[]; readonly sums: readonly WaitingSum[] }

/** `late`: the look has not ended yet. `failed`: it ended with an error, which is in the log. */
export type WaitingLook = Waiting | 'late' | 'failed'

type WaitingDeps = Pick<DeskDeps, 'db' | 'clock' | 'log' | 'customers' | 'staff'> & {
  readonly waiting: Pick<DeskDeps['waiting'], 'look'>
}

/** A look asks for each partner. */
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

async function look({ db, customers, staff, waiting }: WaitingDeps): Promise<Waiting> {
  const things = await waiting.look()
  const [change] = await staff.changes.waiting(db, 1)
  const [review] = await customers.reviews.overduePage(db, { after: undefined, rowsMax: 1 })
  return {
    things,
    sums: [
      ...(change === undefined ? [] : [{ kind: 'changes', since: change.proposedAt, href: 'changes' } as const]),
      ...(review === undefined
        ? []
        : [{ kind: 'reviews', since: new Date(`${review.dueOn}T00:00:00Z`), href: 'reviews' } as const]),
    ],
  }
}
