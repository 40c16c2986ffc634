/**
 * Adds an entry of each fact for every person who may see it. One transaction locks and deletes the facts, adds the
 * entries and schedules the mails, so that a worker that dies neither loses nor repeats an entry.
 */
import { after, type Clock, hourMs, newId, secondMs } from '../kernel/index.ts'
import type { Database, Tx } from '../postgres/index.ts'
import { createFactQueue } from './facts.ts'
import { isGroupedType, isStaffType, isTeamType, type FactType, isPendingOnly } from './kinds.ts'
import { cannotAct, mayReceive, type ReadPeople, type Person, mailFrequency } from './people.ts'
import { nextDailyTime } from './hours.ts'
import * as store from './store.ts'
import type { FactDetails } from './words.ts'

export type FactKey = { readonly type: FactType; readonly subject: string; readonly facts: store.StoredFacts }

export type InboxDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly teamOf: ReadPeople
  readonly staffOf: (tx: Tx) => Promise<readonly Person[]>
  /** The operator's partner, whose people are staff. */
  readonly operatorId: string
  readonly addOperator: (tx: Tx, id: string) => Promise<void>
  /** Reads the current details of the subjects from their modules. Undefined for unknown subjects. */
  readonly detailsOf: (
    tx: Tx,
    partnerId: string,
    asked: readonly FactKey[],
  ) => Promise<readonly (FactDetails | undefined)[]>
  readonly gatherSeconds: number
}

const partnersPerStepMax = 20
const factsPerStepMax = 100
/**
 * Maximum number of facts of a type in an hour that get their own entries. A bank that refuses a file of 10,000 payouts
 * causes 10,000 facts.
 */
const singleMax = 10
const hourDefault = 8
const zoneDefault = 'UTC'

/** Creates the step that adds entries of due facts. It returns the number of processed facts. */
export function createSpreadStep(deps: InboxDeps): () => Promise<number> {
  const { db, clock } = deps
  return async () => {
    let taken = 0
    for (const { partnerId } of await store.partnersWithFacts(db, clock.now(), partnersPerStepMax))
      taken += await db.transaction((tx) => spread(deps, tx, partnerId))
    return taken
  }
}

type FactToSpread = {
  readonly fact: store.FactRow & { readonly type: FactType }
  readonly details: FactDetails | undefined
  /** True if one entry counts the fact with others of its type. */
  readonly isCounted: boolean
}

async function spread(deps: InboxDeps, tx: Tx, partnerId: string): Promise<number> {
  const { clock, operatorId } = deps
  const rows = await store.lockFacts(tx, partnerId, clock.now(), factsPerStepMax)
  if (rows.length === 0) return 0
  // Types of another version are skipped.
  const facts = rows.flatMap(({ type, ...row }) => (isTeamType(type) || isStaffType(type) ? [{ ...row, type }] : []))
  const details = await deps.detailsOf(tx, partnerId, facts)
  const current = facts
    .map((fact, index): FactToSpread => ({ fact, details: details[index], isCounted: false }))
    .filter(({ fact, details: found }) => !isPendingOnly(fact.type, fact.facts) || found?.isCurrent === true)
  const told = await gatherFacts(deps, tx, partnerId, current)
  const ofTeam = told.filter(({ fact }) => isTeamType(fact.type))
  const ofStaff = told.filter(({ fact }) => isStaffType(fact.type))
  if (ofTeam.length > 0) await addEntries(deps, tx, partnerId, await deps.teamOf(tx, partnerId), ofTeam)
  if (ofStaff.length > 0) {
    await deps.addOperator(tx, operatorId)
    const withPartner = ofStaff.map(({ fact, ...rest }) => ({
      ...{ ...rest, fact: { ...fact, facts: { ...fact.facts, partnerId } } },
    }))
    await addEntries(deps, tx, operatorId, await deps.staffOf(tx), withPartner)
  }
  createFactQueue(deps).append(tx, ofTeam.flatMap(lapseFacts))
  await store.deleteFacts(
    tx,
    partnerId,
    rows.map(({ id }) => id),
  )
  return rows.length
}

const currentHour = ({ clock }: Pick<InboxDeps, 'clock'>): Date =>
  new Date(Math.floor(clock.now().getTime() / hourMs) * hourMs)

/** Marks facts after the first ones of their type and hour. Types are counted in one order, so that concurrent workers do not deadlock. */
async function gatherFacts(
  deps: InboxDeps,
  tx: Tx,
  partnerId: string,
  told: readonly FactToSpread[],
): Promise<readonly FactToSpread[]> {
  const counted = new Set<FactToSpread>()
  const groups = Map.groupBy(told, ({ fact }) => fact.type)
  for (const type of [...groups.keys()].filter(isGroupedType).toSorted()) {
    const group = groups.get(type) ?? []
    const before = await store.countFacts(tx, { partnerId, type, hour: currentHour(deps) }, group.length)
    for (const each of group.slice(Math.max(0, singleMax - before))) counted.add(each)
  }
  return told.map((each) => (counted.has(each) ? { ...each, isCounted: true } : each))
}

const lapses = { 'payout.waits': 'payout.lapses', 'bulk.waits': 'bulk.lapses' } as const
/**
 * Maximum lead time of the warning that an approval request expires. People are warned in the last quarter of its time.
 */
const leadMsMax = 24 * hourMs

function lapseFacts({ fact, details }: FactToSpread) {
  const { partnerId, type, subject, occurredAt } = fact
  if ((type !== 'payout.waits' && type !== 'bulk.waits') || details?.until === undefined) return []
  const leadMs = Math.min(leadMsMax, (details.until.getTime() - occurredAt.getTime()) / 4)
  return [{ partnerId, type: lapses[type], subject, dueAt: after(details.until, -leadMs) }]
}

async function addEntries(
  deps: InboxDeps,
  tx: Tx,
  partnerId: string,
  people: readonly Person[],
  told: readonly FactToSpread[],
): Promise<void> {
  const { clock, operatorId, gatherSeconds } = deps
  const now = clock.now()
  const isStaff = partnerId === operatorId
  const readers = new Map(
    (
      await store.readersOf(
        tx,
        partnerId,
        people.map(({ id }) => id),
      )
    ).map((row) => [row.personId, row]),
  )
  const entries: store.NewEntry[] = []
  const counting: store.NewEntry[] = []
  const schedules: store.ReaderRow[] = []
  for (const person of people) {
    const reader = readers.get(person.id) ?? newReader(partnerId, person.id, now)
    const known = told.filter(
      ({ fact, details }) => mayReceive(person, fact.type, isStaff) && !cannotAct(person, details),
    )
    const [single, counted] = [known.filter(({ isCounted }) => !isCounted), known.filter(({ isCounted }) => isCounted)]
    const entriesOf = (shown: readonly FactToSpread['fact'][]): readonly store.NewEntry[] =>
      shown
        .map((fact) => {
          const { type, subject, occasion, facts, occurredAt } = fact
          const when = mailFrequency(person, type, reader.choices)
          const mailDueAt =
            when === 'no'
              ? null
              : when === 'now'
                ? after(now, gatherSeconds * secondMs)
                : nextDailyTime(now, reader.zone, reader.dailyHour)
          return {
            ...{ partnerId, personId: person.id, id: newId(), type, subject, occasion, facts: JSON.stringify(facts) },
            ...{ occurredAt, mailBy: when === 'no' ? null : when, mailDueAt, readAt: isStaff ? now : null },
          }
        })
        // Staff read the queue of the desk, so that only mailed facts have entries.
        .filter(({ mailBy }) => !isStaff || mailBy !== null)
    const [own, ownCounting] = [entriesOf(single.map(({ fact }) => fact)), entriesOf(countingFacts(deps, counted))]
    entries.push(...own)
    counting.push(...ownCounting)
    const dueTimes = [...own, ...ownCounting].flatMap(({ mailDueAt }) => mailDueAt?.getTime() ?? [])
    if (dueTimes.length > 0) schedules.push({ ...reader, mailDueAt: new Date(Math.min(...dueTimes)) })
  }
  // The rows of readers come first, because the job of mails locks them while it reads the entries.
  if (schedules.length > 0) await store.scheduleMails(tx, schedules)
  if (entries.length > 0) await store.insertEntries(tx, entries)
  if (counting.length > 0) await store.upsertGroupedEntries(tx, counting)
}

const countingFacts = (deps: InboxDeps, told: readonly FactToSpread[]): readonly FactToSpread['fact'][] =>
  [...Map.groupBy(told, ({ fact }) => fact.type).values()].flatMap((group) => {
    const last = group.at(-1)
    if (last === undefined) return []
    const { partnerId = null } = last.fact.facts
    const facts = { more: String(group.length), ...(partnerId !== null && { partnerId }) }
    return [
      {
        ...last.fact,
        subject: 'more',
        occasion: `more ${currentHour(deps).toISOString()} ${partnerId ?? ''}`.trim(),
        facts,
      },
    ]
  })

export const newReader = (partnerId: string, personId: string, now: Date): store.ReaderRow => ({
  ...{ partnerId, personId, language: null, seenLanguage: null, zone: zoneDefault, dailyHour: hourDefault },
  ...{ choices: {}, mailSubjectId: newId(), mailDueAt: null, updatedAt: now },
})
