/** The verbs of screening. The worker: screener.ts. */
import type { Sealer } from '../kernel/index.ts'
import type { Tx } from '../postgres/index.ts'
import { createDecide, type Deciding, type HitDecisionsDeps } from './decisions.ts'
import { type HitDetail, openDetail } from './details.ts'
import { type Countries, createCountries } from './countries.ts'
import { isPepSource } from './lists/entry.ts'
import { createLists, type Lists, type ListsDeps } from './lists.ts'
import { keepEarlierNames } from './earlier-names.ts'
import type { HeldParty, SubjectKey, SubjectName } from './rules.ts'
import { createHoldsOf, createHoldsOfCredits, type HoldsOf, type HoldsOfCredits } from './holds.ts'
import { createPartiesOfPayments, type PartiesOfPayments } from './payments.ts'
import { oldestDueSubject, oldestOpenHit } from './store-ages.ts'
import { freezeAccountsOf, frozenByOthers, isConfirmed, setFrozen } from './store-holds.ts'
import * as hitStore from './store-hits.ts'
import * as store from './store.ts'
import { craftText } from './vessels.ts'

const isAccount = ({ kind }: HeldParty) => kind === 'account'

export type Hit = Omit<hitStore.HitRow, 'detailSealed'> & HitDetail

export type PepEffects = {
  /** PEP_HITS. */
  readonly hits: 'review' | 'hold'
  /** People have confirmed that a customer or one of its owners is politically exposed. Joins the transaction. */
  readonly onConfirmed: (tx: Tx, customer: PepConfirmed) => Promise<void>
}
/** Persons have confirmed that it is the listed one, or have cleared its last confirmed hit. `staff`: who decided. */
export type Frozen = SubjectKey & { readonly isFrozen: boolean; readonly staff: string }

type PepConfirmed = { readonly partnerId: string; readonly customerId: string; readonly staff: string }

export type Screening = {
  readonly lists: Lists
  /** The rules for countries under embargo. */
  readonly countries: Countries
  /**
   * Screens the written names of a customer or a beneficiary soon, together with those that they replace (`before`).
   * Joins the transaction that writes them, after the lock of their row.
   */
  readonly request: (tx: Tx, key: SubjectKey, before?: readonly SubjectName[]) => Promise<void>
  /** Reports whether persons have confirmed a hit about a subject, on a list of sanctions. One statement. */
  readonly isConfirmed: (tx: Tx, key: SubjectKey) => Promise<boolean>
  /** When these names were last compared with lists; null: never. */
  readonly screenedAt: (tx: Tx, key: SubjectKey) => Promise<Date | null>
  /**
   * Erases the data of these subjects, with the hits and their decisions. A subject with an open or a confirmed hit
   * stays.
   */
  readonly forget: typeof store.forgetSubjects
  /** Reports whether these names let a payment continue. */
  readonly holdsOf: HoldsOf
  /** The payouts that are compared by their own texts and countries, as parties for `holdsOf`. Makes them due. */
  readonly partiesOfPayments: PartiesOfPayments
  /**
   * Keeps those of these texts that may name a vessel or a listed party, each in a line of its own; null: none does. A process that has read
   * no list keeps every text of two and more words.
   */
  readonly textOf: (texts: readonly (string | null | undefined)[]) => string | null
  /** Reports whether the names of incoming money let it be credited. Joins the transaction. */
  readonly holdsOfCredits: HoldsOfCredits
  /** The open hits of all partners, oldest first, in pages after `after`. */
  readonly openHits: (after: hitStore.HitPage | undefined, hitsMax: number) => Promise<readonly Hit[]>
  /** The oldest open hits of all partners, without what was compared. */
  readonly oldestOpenHits: (hitsMax: number) => Promise<readonly hitStore.OpenHit[]>
  /** Returns those of these hits of a partner that are open. */
  readonly openOf: (partnerId: string, ids: readonly string[]) => Promise<readonly hitStore.OpenHit[]>
  /** Undefined: the partner has no such hit. */
  readonly hit: (partnerId: string, id: string) => Promise<Hit | undefined>
  /** The hits that hold a payment with these parties, oldest first. */
  readonly hitsOn: (partnerId: string, parties: readonly HeldParty[]) => Promise<readonly Hit[]>
  readonly decisionsOf: typeof hitStore.decisionsOf
  /**
   * Decides a hit, or proposes a decision if it needs two persons. Refuses: not_found, validation_failed (no person, no
   * note, ended, same decision, proposed by the same person).
   */
  readonly decide: (tx: Tx, deciding: Deciding) => Promise<Hit>
  /** Pages through the hits that the list of a generation has changed. */
  readonly differences: (generation: number, afterId: string | null, hitsMax: number) => Promise<readonly Hit[]>
  /** How many subjects a partner has, and how many were not screened against a generation yet. */
  readonly progressOf: typeof store.progressOf
  /** When the oldest open hit was opened; null: none is open. */
  readonly oldestOpenHit: () => Promise<Date | null>
  /** The time since which the oldest name waits to be screened; null: none waits. */
  readonly oldestDueSubject: () => Promise<Date | null>
  /** Makes all names of a partner due again: its rows come from another database. Joins the transaction. */
  readonly forgetGenerations: typeof store.forgetGenerations
  /** Ends the leases of dead workers. Only for the embedded database, which serves one process. */
  readonly releaseLeases: (partnerId: string) => Promise<void>
}

export function createScreening(
  deps: ListsDeps & {
    readonly sealer: Sealer
    readonly judgeTwo: HitDecisionsDeps['judgeTwo']
    /** Shows the freeze of a customer or a partner as a block. Joins the transaction of the decision. */
    readonly onFrozen?: (tx: Tx, frozen: Frozen) => Promise<void>
    /** Undefined: hits on politically exposed persons hold nothing, and a confirmed one raises nothing. */
    readonly peps?: PepEffects
  },
): Screening {
  const { db, clock, sealer } = deps
  const lists = createLists(deps)
  const countries = createCountries(deps)
  const toHit = ({ detailSealed, ...row }: hitStore.HitRow): Hit => ({
    ...row,
    ...openDetail(sealer, { ...row, detailSealed }),
  })
  const decide = createDecide(deps)
  const pepsHold = deps.peps?.hits === 'hold'
  /** Holds what a confirmed hit holds beyond its subject, and ends that when it is cleared. */
  const freeze = async (tx: Tx, row: hitStore.HitRow): Promise<void> => {
    const { partnerId, subjectKind: kind, subjectId: id, account, source, status, decidedBy } = row
    const isOfAccount = source !== 'countries' && (kind === 'beneficiary' || row.role === 'account')
    if (account !== null && isOfAccount) await setFrozen(tx, account, row, status === 'confirmed')
    if ((kind !== 'customer' && kind !== 'partner') || (isPepSource(source) && !pepsHold)) return
    const isFrozen = await isConfirmed(tx, { partnerId, kind, id }, pepsHold)
    await deps.onFrozen?.(tx, { partnerId, kind, id, isFrozen, staff: decidedBy ?? '' })
  }
  return {
    lists,
    countries,
    request: async (tx, key, before = []) => {
      if (before.length > 0) await keepEarlierNames(tx, deps, key, before)
      await store.requestScreening(tx, key, clock.now())
    },
    isConfirmed: (tx, key) => isConfirmed(tx, key, pepsHold),
    screenedAt: async (tx, key) => (await store.screenedAt(tx, key))?.screenedAt ?? null,
    forget: store.forgetSubjects,
    holdsOf: createHoldsOf(db, countries, pepsHold),
    partiesOfPayments: createPartiesOfPayments({ db, clock, lists }),
    textOf: (texts) =>
      craftText(
        texts,
        (text) =>
          deps.textNames === true &&
          /\p{L}{2}\S*\s+\S*\p{L}{2}/u.test(text) &&
          (lists.latest()?.namesIn(text).length ?? 1) > 0,
      ),
    holdsOfCredits: createHoldsOfCredits(lists, pepsHold),
    openHits: async (after, hitsMax) => (await hitStore.openHits(db, after, hitsMax)).map(toHit),
    oldestOpenHits: (hitsMax) => hitStore.oldestOpenHits(db, hitsMax),
    openOf: (partnerId, ids) => hitStore.openOf(db, partnerId, ids),
    hit: async (partnerId, id) => {
      const row = await hitStore.hitById(db, partnerId, id)
      return row && toHit(row)
    },
    hitsOn: async (partnerId, parties) => {
      const [accounts, subjects] = [parties.filter(isAccount), parties.filter((party) => !isAccount(party))]
      const named = { subjectIds: subjects.map(({ id }) => id), accounts: accounts.map(({ id }) => id) }
      const own = await hitStore.hitsThatHold(db, partnerId, named, pepsHold)
      const isOfCustomer = parties.some(({ kind, ofCustomer }) => kind === 'partner' && ofCustomer === true)
      const holding = own.filter((row) => row.subjectKind !== 'partner' || row.status === 'confirmed' || !isOfCustomer)
      const others: hitStore.HitRow[] = []
      for (const by of await frozenByOthers(db, partnerId, named.accounts))
        others.push(...[await hitStore.hitById(db, by.partnerId, by.id)].filter((row) => row !== undefined))
      return [...holding, ...others].map(toHit)
    },
    decisionsOf: hitStore.decisionsOf,
    decide: async (tx, deciding) => {
      // A worker locks a subject before its hits, too. Decisions about two hits of a subject take turns.
      await store.lockSubjectOf(tx, deciding.partnerId, deciding.id)
      const row = await decide(tx, deciding)
      if (row.proposal === null) await freeze(tx, row)
      const { partnerId, subjectId: customerId, source, status } = row
      if (isPepSource(source) && deciding.outcome === 'confirm' && status === 'confirmed')
        await deps.peps?.onConfirmed(tx, { partnerId, customerId, staff: deciding.staff })
      return toHit(row)
    },
    differences: async (generation, afterId, hitsMax) =>
      (await hitStore.hitsOfList(db, generation, afterId, hitsMax)).map(toHit),
    progressOf: store.progressOf,
    oldestOpenHit: () => oldestOpenHit(db),
    oldestDueSubject: () => oldestDueSubject(db),
    forgetGenerations: async (tx, partnerId) => {
      await store.forgetGenerations(tx, partnerId)
      await freezeAccountsOf(tx, partnerId)
    },
    releaseLeases: (partnerId) => store.releaseLeases(db, partnerId),
  }
}
