/** Shares a look at what waits for a person besides cases, so that many people with an open queue cost no more than one. */
import { setTimeout as pause } from 'node:timers/promises'
import { after, secondMs } from '../../kernel/index.ts'
import type { WaitingThing } from '../../people/staff/index.ts'
import type { DeskDeps } from './request.ts'

/** `late`: the look has not ended yet. `failed`: it ended with an error, which is in the log. */
export type WaitingLook = readonly WaitingThing[] | 'late' | 'failed'

type WaitingDeps = Pick<DeskDeps, 'clock' | 'log'> & {
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
      found: deps.waiting.look().then(
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
