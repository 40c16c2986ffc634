/** Audit logs with records of past days, and the loop that chains them, driven by tests. */
import { type NewRecord, createChainStep, verifyLog } from '../../service/src/audit/index.ts'
import { dayMs, deriveTimeId, firstIdOf } from '../../service/src/kernel/index.ts'
import { sql } from '../../service/src/postgres/index.ts'
import { addPartner, type Service } from './composition.ts'

export const day = new Date('2026-03-04T00:00:00Z')
export const idAt = (ms: number, name: number) => deriveTimeId(firstIdOf(new Date(day.getTime() + ms)), String(name))
export const recordAt = (partnerId: string, ms: number, name: number, reference = `r${name}`) =>
  ({
    partnerId,
    id: idAt(ms, name),
    actor: { kind: 'worker' },
    action: 'transaction.steps',
    subject: { reference },
  }) as const

/** `get`: the service of the file, which starts before its tests. */
export function auditLogs(get: () => Service) {
  const chainStep = (partnerIds: readonly string[], headPeriodMs = dayMs) =>
    createChainStep({ ...get(), partnerIds: () => Promise.resolve(partnerIds), clockDifferenceMsMax: 0, headPeriodMs })
  async function chained(partnerId: string, headPeriodMs = dayMs) {
    const step = chainStep([partnerId], headPeriodMs)
    while ((await step()) > 0);
  }
  const append = (...records: readonly NewRecord[]) =>
    get().db.transaction(async (tx) => get().audit.append(tx, records))
  const chainEnd = async (partnerId: string) =>
    (await get().db.row<{ sequence: bigint }>(sql`select sequence from audit.chains where partner_id = ${partnerId}`))
      ?.sequence ?? 0n
  /** Works until one more record is chained. */
  async function chainedOnce(partnerId: string) {
    const step = chainStep([partnerId])
    const before = await chainEnd(partnerId)
    while ((await chainEnd(partnerId)) === before) await step()
  }
  /** A partner with records of two past days, under two signed heads: chained `together`, or each by a link of its own. */
  async function addLogged(records = 20, together = true) {
    const { partnerId } = await addPartner(get())
    const ids = Array.from({ length: records }, (_, at) => recordAt(partnerId, at * 1000, at))
    const next = Array.from({ length: 3 }, (_, at) => recordAt(partnerId, dayMs + at * 1000, records + at))
    const all = [...ids, ...next]
    for (const part of together ? [all] : all.map((each) => [each])) {
      await append(...part)
      if (!together) await chainedOnce(partnerId)
    }
    await chained(partnerId)
    return { partnerId, ids: ids.map(({ id }) => id) }
  }
  const faultsOf = async (partnerId: string) => (await verifyLog(get(), partnerId)).faults
  return { chainStep, chained, chainedOnce, append, addLogged, faultsOf }
}
