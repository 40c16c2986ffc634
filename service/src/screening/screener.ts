/**
 * The worker of screening claims due subjects under a lease, reads their names, searches them outside of a transaction, and records
 * the findings under the fence. A list that is loaded meanwhile makes the subject due again. A name that is written meanwhile
 * ends the lease.
 */
import type { FactQueue } from '../inbox/index.ts'
import { setImmediate as pause } from 'node:timers/promises'
import { ownJson } from '@partner-payments/wire'
import { after, type Clock, type Log, minuteMs, newId, nilId, type Sealer, secondMs } from '../kernel/index.ts'
import type { Database, Tx } from '../postgres/index.ts'
import { type HitDetail, openDetail, readEarlierNames, sealDetail } from './sealed.ts'
import { type HeldPayment, type HitView, isClearedPair, paymentsShown, buildHitView } from './hit-view.ts'
import type { Lists, SearchedEntry, Snapshot } from './lists.ts'
import type { ListEntry } from './lists/entry.ts'
import { createCachedSearch, type Match, type NameIndex } from './names/index-of-names.ts'
import { countryMatches } from './countries.ts'
import {
  accountKey,
  hitChanges,
  payeeTextRole,
  distinctNames,
  scoreMin,
  type CurrentHit,
  type Subject,
  type SubjectKey,
  type SubjectName,
  type RescreenedKind,
  rescreenedKinds,
} from './rules.ts'
import { type Exclusion, findExclusion, type SecondDatumRule } from './second-datum.ts'
import type { Hit, Screening } from './service.ts'
import { currentLists, entryDetails } from './store-lists.ts'
import * as store from './store.ts'
import { defineJob, type Job } from '../postgres/jobs/index.ts'

type ScreenerDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly log: Log
  readonly sealer: Sealer
  readonly facts: FactQueue
  readonly lists: Pick<Lists, 'snapshot' | 'generation'>
  /** SECOND_DATUM. Undefined: `off`. */
  readonly secondDatum?: SecondDatumRule
  readonly partnerIds: (tx: Tx) => Promise<readonly string[]>
  /** Reads the current data of a subject. */
  readonly subjectOf: (tx: Tx, key: SubjectKey) => Promise<Subject>
  /** Lists payments that are held because of a hit, oldest first. */
  readonly heldPayments: (tx: Tx, hit: Hit, rowsMax: number) => Promise<readonly HeldPayment[]>
  /** Lists ids of a partner's customers, beneficiaries or people after the cursor, in order; or the partner's own id. */
  readonly idsAfter: (
    tx: Tx,
    partnerId: string,
    kind: RescreenedKind,
    afterId: string,
    idsMax: number,
  ) => Promise<readonly string[]>
}

/** Far longer than a claim takes, so that only a dead worker loses a lease. */
const leaseMs = minuteMs
const partnersPerStepMax = 20
const subjectsPerClaimMax = 50
const subjectsPerSweepMax = 500
/** Maximum length of a text in a hit. A bank's remittance has at most 140 characters, and the deposit has the whole text. */
const textMax = 500
/** Maximum number of earlier hits about an entry. */
const earlierHitsMax = 100

export type Screener = {
  /** Screens due subjects, and returns how many it claimed. */
  readonly screenStep: () => Promise<number>
  /**
   * Adds subjects for which there was no request: those from before this version, or from a process of the previous version.
   */
  readonly sweepStep: () => Promise<number>
  /** Reads all current and earlier names of a subject, the current ones first. */
  readonly namesOf: (tx: Tx, key: SubjectKey) => Promise<readonly SubjectName[]>
  /** Reads a hit with its party, the payments that it holds, and earlier decisions. */
  readonly viewOf: (tx: Tx, hit: Hit) => Promise<HitView>
}

export function createScreener(deps: ScreenerDeps): Screener {
  const { db, clock, log, lists, sealer } = deps
  /** Partners whose sweep is complete, for the generation in `sweptAt`. */
  const swept = new Set<string>()
  let sweptAt = 0
  const compare = { lists: createCachedSearch(scoreMin), peps: createCachedSearch(scoreMin) }
  return {
    namesOf: async (tx, key) => (await readSubject(deps, tx, key)).names,
    viewOf: async (tx, hit) => {
      const { partnerId, subjectKind: kind, subjectId: id } = hit
      const subject = await readSubject(deps, tx, { partnerId, kind, id })
      const payments = await deps.heldPayments(tx, hit, paymentsShown + 1)
      const others = await store.listDecidedHits(tx, partnerId, hit, earlierHitsMax)
      const earlier = await Promise.all(
        others.map(async (row) => ({
          hit: { ...row, ...openDetail(sealer, row) },
          decisions: await store.listDecisions(tx, partnerId, row.id),
        })),
      )
      return buildHitView(hit, subject, { payments, earlier })
    },
    screenStep: async () => {
      const snapshot = await lists.snapshot()
      if (snapshot === undefined) return 0
      const { generation } = snapshot
      let claimed = 0
      for (const { partnerId } of await store.partnersWithDueSubjects(
        db,
        generation,
        clock.now(),
        partnersPerStepMax,
      )) {
        const now = clock.now()
        const lease = { id: newId(), until: after(now, leaseMs) }
        const claim = { generation, now, subjectsMax: subjectsPerClaimMax }
        const claims = await store.claimSubjects(db, partnerId, lease, claim)
        claimed += claims.length
        for (const one of claims)
          await screen(deps, one, snapshot, compare).catch((error: unknown) =>
            log.error({ err: error, partnerId, kind: one.kind, subjectId: one.id }, 'screening failed; will retry'),
          )
      }
      return claimed
    },
    sweepStep: async () => {
      const generation = await lists.generation(db)
      if (generation === 0) return 0
      if (generation !== sweptAt) swept.clear()
      sweptAt = generation
      let added = 0
      for (const partnerId of await deps.partnerIds(db)) {
        if (swept.has(partnerId)) continue
        const found = await sweep(deps, partnerId, generation)
        if (found === 'ended') swept.add(partnerId)
        else added += found
      }
      return added
    },
  }
}

type EntryMatch = SubjectName & { readonly match: Match<SearchedEntry> }
type StoredHit = CurrentHit & { readonly row: store.HitRow }

/**
 * Reads the current and the earlier names in two statements, which need not be consistent, because a rename in between makes the
 * subject due again.
 */
async function readSubject({ subjectOf, sealer }: ScreenerDeps, tx: Tx, key: SubjectKey): Promise<Subject> {
  const { names, ...rest } = await subjectOf(tx, key)
  return { names: distinctNames([...names, ...(await readEarlierNames(tx, sealer, key))]), ...rest }
}

async function screen(
  deps: ScreenerDeps,
  claim: store.ClaimedSubject,
  snapshot: Snapshot,
  compare: Readonly<Record<'lists' | 'peps', ReturnType<typeof createCachedSearch>>>,
): Promise<void> {
  const { db, clock, log, sealer } = deps
  const { partnerId, kind, id } = claim
  const { names, account, countries, texts = [], data } = await readSubject(deps, db, claim)
  const found: EntryMatch[] = [...names, ...texts].flatMap((text) => craftMatches(snapshot, text))
  for (const name of names) {
    // Results are cached, because a new name of a subject is screened together with all earlier ones.
    if (compare.lists(snapshot, name.name)) found.push(...matchesIn(snapshot.index, name))
    if (kind === 'customer' && compare.peps({ generation: snapshot.generation, index: snapshot.peps }, name.name))
      found.push(...matchesIn(snapshot.peps, name))
    await pause()
  }
  const reasons = new Map(
    found.flatMap((one) => {
      const reason = findExclusion(deps.secondDatum ?? 'off', one.match, data?.[one.role])
      return reason === undefined ? [] : [[one, reason] as const]
    }),
  )
  for (const { role, name } of texts)
    if (role !== payeeTextRole)
      found.push(...snapshot.namesIn(name).map((match) => ({ role, name: name.slice(0, textMax), match })))
  if (account !== null) found.push(...accountMatches(snapshot, account))
  found.push(...countryMatches(snapshot.countryEntry, kind, countries))
  await db.transaction(async (tx) => {
    const now = clock.now()
    if ((await store.recordScreened(tx, claim, snapshot.generation, now)) === 0) return
    const standing = (await store.lockCurrentHits(tx, claim)).map((row): StoredHit => {
      const { entryDigest: digest } = row
      return { ...row, digest, name: openDetail(sealer, row).name, row }
    })
    const hits = found.filter((one) => !reasons.has(one))
    const changes = hitChanges(standing, await withoutCleared(deps, tx, claim, account, hits), snapshot.digestOf)
    const said = await readEntryDetails(
      tx,
      changes.opened.map(({ found: one }) => one.match.entry),
    )
    if (data !== undefined)
      await store.replaceExclusions(tx, claim, exclusionsOf(claim, reasons, standing, snapshot, now))
    for (const { hit, reason } of changes.ended) {
      const status = hit.row.status === 'open' ? 'gone' : hit.row.status
      const ended = { endedGeneration: snapshot.generation, endedAt: now, endReason: reason }
      await store.updateHit(tx, { ...hit.row, ...withoutProposal, ...ended, status })
    }
    const rows: store.HitRow[] = standing.map(({ row }) => row)
    for (const { found: one, replaces } of changes.opened) {
      const row = newHit(sealer, claim, one as EntryMatch, said(one.match.entry), replaces?.id ?? null, snapshot, now)
      const same = rows.filter(
        ({ role, source, entryId }) => role === row.role && source === row.source && entryId === row.entryId,
      )
      const nameNumber = 1 + Math.max(-1, ...same.map((other) => other.nameNumber))
      const numbered = { ...row, nameNumber, account: account === null ? null : accountKey(account) }
      rows.push(numbered)
      await store.insertHit(tx, numbered)
      deps.facts.append(tx, [{ partnerId, type: 'hit.opened', subject: numbered.id }])
    }
    const { length } = changes.opened
    if (length > 0)
      tx.afterCommit(() => log.warn({ partnerId, kind, subjectId: id, hits: length }, 'screening hit needs a decision'))
  })
}

/** Leaves out matches in texts and of payers whose name and entry staff have cleared before. */
async function withoutCleared(
  { sealer }: ScreenerDeps,
  tx: Tx,
  { partnerId, kind }: SubjectKey,
  account: string | null,
  found: readonly EntryMatch[],
): Promise<readonly EntryMatch[]> {
  if (kind !== 'payout' && kind !== 'payer') return found
  const kept: EntryMatch[] = []
  for (const one of found) {
    const { source, entryId, digest: entryDigest } = one.match.entry
    const decided = await store.listDecidedHits(tx, partnerId, { source, entryId }, earlierHitsMax)
    const cleared = decided
      .filter((row) => row.status === 'cleared' && row.endedAt === null && row.entryDigest === entryDigest)
      .map((row): Hit => ({ ...row, ...openDetail(sealer, row) }))
    const asked = { ...one, account: account === null ? null : accountKey(account) }
    if (!isClearedPair(asked, cleared)) kept.push(one)
  }
  return kept
}

/** Reads the data of entries that is not in the index, for the person who decides: every name, and when the list was published. */
async function readEntryDetails(tx: Tx, entries: readonly Pick<SearchedEntry, 'source' | 'entryId'>[]) {
  const published = entries.length === 0 ? [] : await currentLists(tx)
  const details = new Map<string, string>()
  for (const [source, group] of Map.groupBy(entries, (entry) => entry.source))
    for (const [id, detail] of await entryDetails(
      tx,
      source,
      group.map(({ entryId }) => entryId),
    ))
      details.set(`${source} ${id}`, detail)
  return ({ source, entryId }: Pick<SearchedEntry, 'source' | 'entryId'>) => {
    const detail = details.get(`${source} ${entryId}`)
    const at = published.find((list) => list.source === source)?.publishedAt
    return {
      ...(detail === undefined ? {} : { listedNames: ownJson<ListEntry>(detail).names.map(({ text }) => text) }),
      ...(at === undefined ? {} : { publishedAt: at.toISOString() }),
    }
  }
}

const matchesIn = (index: NameIndex<SearchedEntry>, name: SubjectName): readonly EntryMatch[] =>
  index.search(name.name, scoreMin).map((match) => ({ ...name, match }))

/** Finds entries that list the account. They match without a name, because addresses are compared exactly. */
function accountMatches(snapshot: Snapshot, account: string): readonly EntryMatch[] {
  const words = [{ word: account, listed: account, how: 'equal', likeness: 100, weight: 100 }] as const
  return snapshot.entriesWithWallet(account).map((entry) => ({
    role: 'account',
    name: account,
    match: { entry, listedName: account, score: 100, isReordered: false, words },
  }))
}

/** Finds vessels and aircraft in a name or another text. */
const craftMatches = (snapshot: Snapshot, { role, name }: SubjectName): readonly EntryMatch[] =>
  snapshot.craftsIn(name).map(({ entry, said, listed: listedName, score }) => {
    const words = [{ word: said, listed: listedName, how: 'equal', likeness: 100, weight: 100 }] as const
    return { role, name: name.slice(0, textMax), match: { entry, listedName, score, isReordered: false, words } }
  })

/** Selects the best excluded match of each role and entry, unless there is a current hit. */
function exclusionsOf(
  { partnerId, kind: subjectKind, id: subjectId }: SubjectKey,
  reasons: ReadonlyMap<EntryMatch, Exclusion>,
  standing: readonly StoredHit[],
  { generation }: Snapshot,
  excludedAt: Date,
): readonly store.ExclusionRow[] {
  const rows = [...reasons].map(([{ role, match }, reason]) => {
    const { entry, score } = match
    const { source, entryId } = entry
    return { partnerId, subjectKind, subjectId, role, source, entryId, score, reason, generation, excludedAt }
  })
  const isSame = (row: (typeof rows)[number]) => (other: Pick<typeof row, 'role' | 'source' | 'entryId'>) =>
    other.role === row.role && other.source === row.source && other.entryId === row.entryId
  const best = rows.toSorted((one, other) => other.score - one.score)
  return best.filter(
    (row, at) => !standing.some((hit) => isSame(row)(hit)) && !best.slice(0, at).some((other) => isSame(row)(other)),
  )
}

const withoutProposal = { proposal: null, proposedBy: null, proposedAt: null } as const

function newHit(
  sealer: Sealer,
  claim: store.ClaimedSubject,
  { role, name, match }: EntryMatch,
  said: Pick<HitDetail, 'listedNames' | 'publishedAt'>,
  replaces: string | null,
  { generation }: Snapshot,
  now: Date,
): Omit<store.HitRow, 'nameNumber' | 'account'> {
  const { partnerId, kind: subjectKind, id: subjectId } = claim
  const { entry, listedName, isReordered, words, score } = match
  const { source, entryId, digest: entryDigest, ...listed } = entry
  const id = newId()
  const detail = { name, listedName, isReordered, words, ...listed, ...said }
  return {
    partnerId,
    id,
    subjectKind,
    subjectId,
    role,
    source,
    entryId,
    entryDigest,
    score,
    detailSealed: sealDetail(sealer, partnerId, id, detail),
    status: 'open',
    cause: claim.generation === 0 ? 'name' : 'list',
    generation,
    replaces,
    openedAt: now,
    decidedAt: null,
    decidedBy: null,
    approvedBy: null,
    disposition: null,
    endedGeneration: null,
    endedAt: null,
    endReason: null,
    ...withoutProposal,
  }
}

/**
 * Adds a page of subjects under the lock of the sweep, so that a page is added once, and a killed process leaves the sweep
 * unchanged.
 */
async function sweep(deps: ScreenerDeps, partnerId: string, generation: number): Promise<number | 'ended'> {
  const { db, clock } = deps
  return db.transaction(async (tx) => {
    await store.beginSweep(tx, partnerId, generation, { kind: 'customer', afterId: nilId })
    const at = await store.lockSweep(tx, partnerId, generation)
    if (at === undefined) return (await store.findSweep(tx, partnerId, generation))?.endedAt ? 'ended' : 0
    const now = clock.now()
    const ids = await deps.idsAfter(tx, partnerId, at.kind, at.afterId, subjectsPerSweepMax)
    if (ids.length > 0)
      await store.addSubjects(
        tx,
        ids.map((id) => ({ partnerId, kind: at.kind, id })),
        now,
      )
    const isWhole = ids.length < subjectsPerSweepMax
    const kindAfter = rescreenedKinds[rescreenedKinds.indexOf(at.kind) + 1]
    const isLast = isWhole && kindAfter === undefined
    const next = isWhole
      ? { kind: kindAfter ?? at.kind, afterId: nilId }
      : { kind: at.kind, afterId: ids.at(-1) ?? nilId }
    await store.moveSweep(tx, partnerId, generation, { ...next, endedAt: isLast ? now : null })
    return isLast ? 'ended' : Math.max(1, ids.length)
  })
}

/** Interval at which the job looks for names to screen. A new list also makes names due. */
const namesEveryMs = 5 * secondMs

export const screeningJobs = (screener: Screener, screening: Screening): readonly Job[] => [
  defineJob({
    name: 'screening.names',
    wokenBy: ['screening.subjects', 'screening.lists'],
    everyMs: namesEveryMs,
    quietAfterMs: minuteMs,
    run: screener.screenStep,
    releaseLeases: screening.releaseLeases,
    age: { queue: 'screening_names', since: screening.oldestDueSubject },
  }),
  defineJob({ name: 'screening.sweep', everyMs: minuteMs, run: screener.sweepStep }),
]
