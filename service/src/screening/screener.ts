/**
 * The worker: claims due subjects under a lease, reads their names, searches them outside of a transaction, and records
 * the findings under the fence. A list that is loaded meanwhile makes the subject due again; a name that is written
 * meanwhile ends the lease.
 */
import { setImmediate as pause } from 'node:timers/promises'
import { after, type Clock, type Log, minuteMs, newId, nilId, type Sealer } from '../kernel/index.ts'
import type { Database, Tx } from '../postgres/index.ts'
import { openDetail, sealDetail } from './details.ts'
import type { Lists, SearchedEntry, Snapshot } from './lists.ts'
import type { Match, NameIndex } from './names/index-of-names.ts'
import { countryMatches } from './countries.ts'
import { createMatches } from './names/matches.ts'
import { readEarlierNames } from './earlier-names.ts'
import {
  accountKey,
  changesOf,
  distinctNames,
  scoreMin,
  type StandingHit,
  type Subject,
  type SubjectKey,
  type SubjectName,
  type SweptKind,
} from './rules.ts'
import { type Exclusion, exclusionOf, type SecondDatumRule } from './second-datum.ts'
import * as exclusionStore from './store-exclusions.ts'
import * as hitStore from './store-hits.ts'
import * as store from './store.ts'

export type ScreenerDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly log: Log
  readonly sealer: Sealer
  readonly lists: Pick<Lists, 'snapshot' | 'generation'>
  /** SECOND_DATUM. Undefined: `off`. */
  readonly secondDatum?: SecondDatumRule
  readonly partnerIds: (tx: Tx) => Promise<readonly string[]>
  /** The present data of a subject. */
  readonly subjectOf: (tx: Tx, key: SubjectKey) => Promise<Subject>
  /** The ids of a partner's customers or beneficiaries after one of them, in their order. */
  readonly idsAfter: (
    tx: Tx,
    partnerId: string,
    kind: SweptKind,
    afterId: string,
    idsMax: number,
  ) => Promise<readonly string[]>
}

/** Far longer than a claim takes: only a worker that died loses a lease. */
const leaseMs = minuteMs
const partnersPerStepMax = 20
const subjectsPerClaimMax = 50
const subjectsPerSweepMax = 500
/** Characters of a text that a hit keeps: the longest remittance of a bank has 140, and the deposit has it whole. */
const textMax = 500

export type Screener = {
  /** Screens due subjects, and returns how many it claimed. */
  readonly screenStep: () => Promise<number>
  /**
   * Adds subjects that no request has added: those from before this version, or of a process of the previous version.
   */
  readonly sweepStep: () => Promise<number>
  /** Every present and earlier name of a subject, the present ones first. */
  readonly namesOf: (tx: Tx, key: SubjectKey) => Promise<readonly SubjectName[]>
}

export function createScreener(deps: ScreenerDeps): Screener {
  const { db, clock, log, lists } = deps
  /** Partners with a complete sweep, for the generation in `sweptAt`. */
  const swept = new Set<string>()
  let sweptAt = 0
  const compare = { lists: createMatches(scoreMin), peps: createMatches(scoreMin) }
  return {
    namesOf: async (tx, key) => (await readSubject(deps, tx, key)).names,
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

type Found = SubjectName & { readonly match: Match<SearchedEntry> }
type Standing = StandingHit & { readonly row: hitStore.HitRow }

/**
 * Reads the present and the earlier names in two statements. A rename in between makes the subject due again, so that
 * neither has to see it.
 */
async function readSubject({ subjectOf, sealer }: ScreenerDeps, tx: Tx, key: SubjectKey): Promise<Subject> {
  const { names, ...rest } = await subjectOf(tx, key)
  return { names: distinctNames([...names, ...(await readEarlierNames(tx, sealer, key))]), ...rest }
}

async function screen(
  deps: ScreenerDeps,
  claim: store.ClaimedSubject,
  snapshot: Snapshot,
  compare: Readonly<Record<'lists' | 'peps', ReturnType<typeof createMatches>>>,
): Promise<void> {
  const { db, clock, log, sealer } = deps
  const { partnerId, kind, id } = claim
  const { names, account, countries, texts = [], data } = await readSubject(deps, db, claim)
  const found: Found[] = [...names, ...texts].flatMap((text) => craftMatches(snapshot, text))
  for (const name of names) {
    // Most names match nothing, which is cached: each new name of a subject is screened with all earlier ones.
    if (compare.lists(snapshot, name.name)) found.push(...matchesIn(snapshot.index, name))
    if (kind === 'customer' && compare.peps({ generation: snapshot.generation, index: snapshot.peps }, name.name))
      found.push(...matchesIn(snapshot.peps, name))
    if (found.length > 0) await pause()
  }
  const reasons = new Map(
    found.flatMap((one) => {
      const reason = exclusionOf(deps.secondDatum ?? 'off', one.match, data?.[one.role])
      return reason === undefined ? [] : [[one, reason] as const]
    }),
  )
  if (account !== null) found.push(...accountMatches(snapshot, account))
  found.push(...countryMatches(snapshot.countryEntry, kind, countries))
  await db.transaction(async (tx) => {
    const now = clock.now()
    if ((await store.recordScreened(tx, claim, snapshot.generation, now)) === 0) return
    const standing = (await hitStore.lockStandingHits(tx, claim)).map((row): Standing => {
      const { entryDigest: digest } = row
      return { ...row, digest, name: openDetail(sealer, row).name, row }
    })
    const hits = found.filter((one) => !reasons.has(one))
    const changes = changesOf(standing, hits, snapshot.digestOf)
    if (data !== undefined)
      await exclusionStore.replaceExclusions(tx, claim, exclusionsOf(claim, reasons, standing, snapshot, now))
    for (const { hit, reason } of changes.ended) {
      const status = hit.row.status === 'open' ? 'gone' : hit.row.status
      const ended = { endedGeneration: snapshot.generation, endedAt: now, endReason: reason }
      await hitStore.updateHit(tx, { ...hit.row, ...withoutProposal, ...ended, status })
    }
    const rows: hitStore.HitRow[] = standing.map(({ row }) => row)
    for (const { found: one, replaces } of changes.opened) {
      const row = newHit(sealer, claim, one as Found, replaces?.id ?? null, snapshot, now)
      const same = rows.filter(
        ({ role, source, entryId }) => role === row.role && source === row.source && entryId === row.entryId,
      )
      const nameNumber = 1 + Math.max(-1, ...same.map((other) => other.nameNumber))
      const numbered = { ...row, nameNumber, account: account === null ? null : accountKey(account) }
      rows.push(numbered)
      await hitStore.insertHit(tx, numbered)
    }
    const { length } = changes.opened
    if (length > 0)
      tx.afterCommit(() =>
        log.warn({ partnerId, kind, subjectId: id, hits: length }, 'screening hit waits for a decision'),
      )
  })
}

const matchesIn = (index: NameIndex<SearchedEntry>, name: SubjectName): readonly Found[] =>
  index.search(name.name, scoreMin).map((match) => ({ ...name, match }))

/** An account that an entry names is a match without its name: the address is compared exactly. */
function accountMatches(snapshot: Snapshot, account: string): readonly Found[] {
  const words = [{ word: account, listed: account, how: 'equal', likeness: 100, weight: 100 }] as const
  return snapshot.entriesWithWallet(account).map((entry) => ({
    role: 'account',
    name: account,
    match: { entry, listedName: account, score: 100, isReordered: false, words },
  }))
}

/** A vessel or an aircraft that a name or another text names. The words are those of the text and of the list. */
const craftMatches = (snapshot: Snapshot, { role, name }: SubjectName): readonly Found[] =>
  snapshot.craftsIn(name).map(({ entry, said, listed: listedName, score }) => {
    const words = [{ word: said, listed: listedName, how: 'equal', likeness: 100, weight: 100 }] as const
    return { role, name: name.slice(0, textMax), match: { entry, listedName, score, isReordered: false, words } }
  })

/** The best excluded match of each role and entry. A hit that stands stays for persons, and needs no exclusion beside it. */
function exclusionsOf(
  { partnerId, kind: subjectKind, id: subjectId }: SubjectKey,
  reasons: ReadonlyMap<Found, Exclusion>,
  standing: readonly Standing[],
  { generation }: Snapshot,
  excludedAt: Date,
): readonly exclusionStore.ExclusionRow[] {
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
  { role, name, match }: Found,
  replaces: string | null,
  { generation }: Snapshot,
  now: Date,
): Omit<hitStore.HitRow, 'nameNumber' | 'account'> {
  const { partnerId, kind: subjectKind, id: subjectId } = claim
  const { entry, listedName, isReordered, words, score } = match
  const { source, entryId, digest: entryDigest, ...listed } = entry
  const id = newId()
  const detail = { name, listedName, isReordered, words, ...listed }
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
    endedGeneration: null,
    endedAt: null,
    endReason: null,
    ...withoutProposal,
  }
}

/**
 * Adds one page. The row of the sweep is locked, so that a page is added once, and a killed process leaves it
 * unchanged.
 */
async function sweep(deps: ScreenerDeps, partnerId: string, generation: number): Promise<number | 'ended'> {
  const { db, clock } = deps
  return db.transaction(async (tx) => {
    await store.beginSweep(tx, partnerId, generation, { kind: 'customer', afterId: nilId })
    const at = await store.lockSweep(tx, partnerId, generation)
    if (at === undefined) return (await store.sweepOf(tx, partnerId, generation))?.endedAt ? 'ended' : 0
    const now = clock.now()
    const ids = await deps.idsAfter(tx, partnerId, at.kind, at.afterId, subjectsPerSweepMax)
    if (ids.length > 0)
      await store.addSubjects(
        tx,
        ids.map((id) => ({ partnerId, kind: at.kind, id })),
        now,
      )
    const isWhole = ids.length < subjectsPerSweepMax
    const isLast = isWhole && at.kind === 'beneficiary'
    const next = isWhole
      ? { kind: 'beneficiary' as const, afterId: nilId }
      : { kind: at.kind, afterId: ids.at(-1) ?? nilId }
    await store.moveSweep(tx, partnerId, generation, { ...next, endedAt: isLast ? now : null })
    return isLast ? 'ended' : Math.max(1, ids.length)
  })
}
