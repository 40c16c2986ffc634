/** A rule over the transactions of some days: by the command while it waits, or by a worker for the desk. Opens no alert. */
import { Refusal } from '../kernel/api/index.ts'
import { after, dayMs, nilId } from '../kernel/index.ts'
import type { Tx } from '../postgres/index.ts'
import { type Movement, patterns } from '../transactions/index.ts'
import type { MonitoringDeps } from './deps.ts'
import { evaluate, withParts } from './evaluate.ts'
import type { RuleSettings } from './rules.ts'

export const pageRows = 500
const examplesMax = 10

export type Counted = {
  readonly transactions: bigint
  readonly hits: bigint
  readonly subjects: bigint
  /** The first transactions that were found. */
  readonly examples: readonly {
    readonly partnerId: string
    readonly reference: string
    readonly references: readonly string[]
  }[]
}
/** Days in UTC. `before`: the day after the last one. */
export type Days = { readonly from: Date; readonly before: Date }

/** Reads the transactions page by page. `onPage` is called after each with how many were read, and may throw to end it. */
export async function tryRule(
  { db, partnerIds, rates }: Pick<MonitoringDeps, 'db' | 'partnerIds' | 'rates'>,
  settings: RuleSettings,
  { from, before }: Days,
  onPage: (transactions: bigint) => Promise<void>,
): Promise<Counted> {
  const subjects = new Set<string>()
  const examples: Counted['examples'][number][] = []
  let [transactions, hits] = [0n, 0n]
  for (const partnerId of settings.partners ?? (await partnerIds(db)))
    for await (const page of pagesOf(db, partnerId, from, before)) {
      transactions += BigInt(page.length)
      const movements = await withParts(db, partnerId, page)
      for (const { movement, evidence, subjectId } of await evaluate({ rates }, db, partnerId, settings, movements)) {
        hits += 1n
        subjects.add(subjectId)
        const { reference } = movement
        if (examples.length < examplesMax) examples.push({ partnerId, reference, references: evidence.references })
      }
      await onPage(transactions)
    }
  return { transactions, hits, subjects: BigInt(subjects.size), examples }
}

async function* pagesOf(db: Tx, partnerId: string, from: Date, before: Date): AsyncGenerator<readonly Movement[]> {
  for (let position = { createdAt: from, id: nilId }; ;) {
    const page = await patterns.createdAfter(db, partnerId, position, before, pageRows)
    const last = page.at(-1)
    if (last === undefined) return
    yield page
    position = last
  }
}

const dayForm = /^\d{4}-\d{2}-\d{2}$/
function dayOf(text: string, name: string): Date {
  const day = new Date(`${text}T00:00:00Z`)
  if (!dayForm.test(text) || Number.isNaN(day.getTime()) || day.toISOString().slice(0, 10) !== text)
    throw new Refusal('validation_failed', `${name} must be a day in UTC such as 2026-03-01.`)
  return day
}

/** Reads the first and the last day. Refuses: validation_failed. */
export function daysOf(from: string, until: string): Days {
  const [fromDay, untilDay] = [dayOf(from, 'from'), dayOf(until, 'until')]
  if (untilDay < fromDay) throw new Refusal('validation_failed', 'until must not be before from.')
  return { from: fromDay, before: after(untilDay, dayMs) }
}

export const dayText = (day: Date): string => day.toISOString().slice(0, 10)
