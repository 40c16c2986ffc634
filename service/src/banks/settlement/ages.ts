/** Detects stuck payments: a metric of the oldest in each status, and a log line about each one beyond its limit. */
import { hourMs, secondMs } from '../../kernel/index.ts'
import type { OldestUnfinished } from '../../lifecycle/index.ts'
import type { SettlementDeps } from './deps.ts'

/** A stuck payment is logged again after this time. */
const repeatedLogMs = hourMs

export function createAgeWatch({ log, payoutAges, deposits, partnerIds, observe }: SettlementDeps) {
  /** The last log line by connector and status: the payment, and the `performance.now()` of the line. */
  const told = new Map<string, { readonly id: string; readonly atMs: number }>()

  const look = ({ subject, status, limitMs, ageMs, oldest }: OldestUnfinished): void => {
    observe?.age(subject, status, { ageMs, limitMs })
    const key = `${subject} ${status}`
    if (oldest === null || ageMs <= limitMs) return void told.delete(key)
    const last = told.get(key)
    if (last?.id === oldest.id && performance.now() - last.atMs < repeatedLogMs) return
    told.set(key, { id: oldest.id, atMs: performance.now() })
    const { partnerId, id, connector } = oldest
    const seconds = { ageSeconds: Math.round(ageMs / secondMs), limitSeconds: limitMs / secondMs }
    log.error({ partnerId, paymentId: id, connector, status, ...seconds }, `${subject} stands still`)
  }

  /** Returns 0 so that the loop pauses. */
  return async (): Promise<number> => {
    const ids = await partnerIds()
    for (const oldest of [...(await payoutAges.oldestUnfinished(ids)), ...(await deposits.oldestUnfinished())])
      look(oldest)
    return 0
  }
}
