/** The operations of screening. The worker is in screener.ts. */
import type { FactQueue } from '../inbox/index.ts'
import {
  type Clock,
  type Decider,
  decidersText,
  isEmptyName,
  newId,
  type DecidersProblem,
  partnerKey,
  type Sealer,
} from '../kernel/index.ts'
import { groupByShard, type Database, type Tx } from '../postgres/index.ts'
import { type HitDetail, keepEarlierNames, openDetail } from './sealed.ts'
import {
  countriesOfAccount,
  type Countries,
  countryEntryId,
  type CountryRules,
  createCountries,
  countrySide,
} from './countries.ts'
import { isPepSource } from './lists/entry.ts'
import { createLists, type Lists, type ListsDeps } from './lists.ts'
import {
  accountKey,
  hasProposalExpired,
  type ScreenedParty,
  type HitDisposition,
  allowedDispositions,
  type HoldKey,
  needsTwoPersons,
  type HitOutcome,
  partnerParty,
  scoreMin,
  statusByOutcome,
  type SubjectKey,
  type SubjectName,
  twoPersonsScoreMin,
} from './rules.ts'
import { currentGeneration, oldestDueSubject, oldestOpenHit } from './store-lists.ts'
import * as store from './store.ts'
import * as numbers from './store-numbers.ts'
import { plainName } from './names/words.ts'
import { craftText } from './vessels.ts'
import { Refusal } from '../kernel/api/index.ts'
import { createCachedSearch } from './names/index-of-names.ts'

const isAccount = ({ kind }: ScreenedParty) => kind === 'account'

export type Hit = Omit<store.HitRow, 'detailSealed'> & HitDetail

const equalHitsMax = 100

/** Returns the key of a hit's pair: the name of a party of the partner, and the entry. Hits with equal keys are decided together. */
export const hitPairKey = ({ partnerId, source, entryId, name }: Hit): string =>
  [partnerId, source, entryId, plainName(name)].join(' ')

export type PepEffects = {
  /** The setting PEP_HITS. */
  readonly hits: 'review' | 'hold'
  /** Called when staff have confirmed that a customer or one of its owners is politically exposed. Joins the transaction. */
  readonly onConfirmed: (tx: Tx, customer: PepConfirmed) => Promise<void>
}
/** A subject whose money is frozen because of a confirmed hit, or free again after the last one was cleared. `staff`: who decided. */
export type FrozenSubject = SubjectKey & { readonly isFrozen: boolean; readonly staff: string }

type PepConfirmed = { readonly partnerId: string; readonly customerId: string; readonly staff: string }

export type Screening = {
  readonly lists: Lists
  /** Rules for countries under embargo. */
  readonly countries: Countries
  /**
   * Queues the names of a subject for screening, together with the names that they replace (`before`). Joins the transaction
   * that writes them, after the lock of their row.
   */
  readonly request: (tx: Tx, key: SubjectKey, before?: readonly SubjectName[]) => Promise<void>
  /** Reports whether staff have confirmed a hit of a subject on a sanctions list, with one statement. */
  readonly isConfirmed: (tx: Tx, key: SubjectKey) => Promise<boolean>
  /** Reads when the names of a subject were last compared with the lists. Null: never. */
  readonly screenedAt: (tx: Tx, key: SubjectKey) => Promise<Date | null>
  /**
   * Erases the data of subjects, with their hits and decisions. Keeps subjects with an open or confirmed hit.
   */
  readonly forget: typeof store.eraseSubjects
  /** Reads the holds of the parties of payments. */
  readonly holdsOf: HoldsOf
  /**
   * Returns the parties to pass to `holdsOf` for payouts whose own texts and countries are screened, and makes them
   * due.
   */
  readonly partiesOfPayments: PartiesOfPayments
  /**
   * Selects the texts that may name a vessel or a listed party, each in its own line. Null: none does. A process that has not read a list yet
   * selects every text of two or more words.
   */
  readonly textOf: (texts: readonly (string | null | undefined)[]) => string | null
  /** Reads the holds of incoming money. Joins the transaction. */
  readonly holdsOfCredits: HoldsOfCredits
  /** Reads the strictest hold of money in suspense. Call `lists.recent` before the transaction: reading lists takes seconds. */
  readonly holdOfMoney: (tx: Tx, money: SuspendedMoney) => Promise<Hold | undefined>
  /** Lists the open hits of all partners, oldest first, in pages. */
  readonly openHits: (after: store.HitCursor | undefined, hitsMax: number) => Promise<readonly Hit[]>
  /** Lists the oldest open hits of all partners, without their details. */
  readonly oldestOpenHits: (hitsMax: number) => Promise<readonly store.OpenHit[]>
  /** Returns which of these hits of a partner are open. */
  readonly filterOpen: (partnerId: string, ids: readonly string[]) => Promise<readonly store.OpenHit[]>
  /** Lists the partner's open hits with the same name and entry, including this one, oldest first; at most 100. */
  readonly equalHits: (hit: Hit) => Promise<readonly Hit[]>
  /** Reads a hit. Undefined: the partner does not have it. */
  readonly hit: (partnerId: string, id: string) => Promise<Hit | undefined>
  /** Lists the hits that hold a payment with these parties, oldest first. */
  readonly hitsOn: (partnerId: string, parties: readonly ScreenedParty[]) => Promise<readonly Hit[]>
  readonly decisionsOf: typeof store.listDecisions
  /** Lists hits of subjects of a partner, for pages of the desk. */
  readonly about: typeof numbers.listHitsOfSubjects
  readonly openHitsOf: typeof numbers.listPartnerOpenHits
  /** Counts and durations of decisions, for statistics. */
  readonly numbers: Pick<typeof numbers, 'decidedCounts' | 'decisionDurations' | 'countOpenHits'>
  /**
   * Decides a hit, or proposes a decision if it needs two people. Refuses: not_found, permission_denied (the role does not decide hits),
   * validation_failed (no person, no note, wrong disposition, ended, same decision, proposed by the same person).
   */
  readonly decide: (tx: Tx, decision: HitDecision) => Promise<Hit>
  /** Pages through the hits that a list opened or ended. */
  readonly differences: (generation: number, afterId: string | null, hitsMax: number) => Promise<readonly Hit[]>
  /** Counts a partner's subjects, and those that were not compared with a generation yet. */
  readonly progressOf: typeof store.sweepProgress
  /** Reads when the oldest open hit was opened. Null: none is open. */
  readonly oldestOpenHit: () => Promise<Date | null>
  /** Returns when the oldest unscreened name became due. Null: no name is due. */
  readonly oldestDueSubject: () => Promise<Date | null>
  /** Makes all names of a partner due again after a move from another database. Joins the transaction. */
  readonly forgetGenerations: typeof store.resetGenerations
  /** Ends the leases of dead workers. Only for the embedded database, which serves one process. */
  readonly releaseLeases: (partnerId: string) => Promise<void>
}

export function createScreening(
  deps: ListsDeps & {
    readonly sealer: Sealer
    readonly judgeTwo: HitDecisionsDeps['judgeTwo']
    readonly facts: FactQueue
    readonly requireDecider: HitDecisionsDeps['requireDecider']
    /** Called when a customer or a partner is frozen, or its freeze ends. Joins the transaction of the decision. */
    readonly onFrozen?: (tx: Tx, frozen: FrozenSubject) => Promise<void>
    /** Undefined: hits on politically exposed persons do not hold payments or raise a customer's risk. */
    readonly peps?: PepEffects
  },
): Screening {
  const { db, clock, sealer } = deps
  const lists = createLists(deps)
  const countries = createCountries(deps)
  const toHit = ({ detailSealed, ...row }: store.HitRow): Hit => ({
    ...row,
    ...openDetail(sealer, { ...row, detailSealed }),
  })
  const decide = createDecide(deps)
  const pepsHold = deps.peps?.hits === 'hold'
  /** Freezes the accounts of a confirmed hit and calls `onFrozen`, and reverses both when the hit is cleared. */
  const freeze = async (tx: Tx, row: store.HitRow): Promise<void> => {
    const { partnerId, subjectKind: kind, subjectId: id, account, source, status, decidedBy, approvedBy } = row
    const isOfAccount = source !== 'countries' && (kind === 'beneficiary' || row.role === 'account')
    if (account !== null && isOfAccount) await store.setFrozen(tx, account, row, status === 'confirmed')
    if ((kind !== 'customer' && kind !== 'partner') || (isPepSource(source) && !pepsHold)) return
    const isFrozen = await store.isConfirmed(tx, { partnerId, kind, id }, pepsHold)
    await deps.onFrozen?.(tx, {
      partnerId,
      kind,
      id,
      isFrozen,
      staff: [decidedBy, approvedBy].filter(Boolean).join(', '),
    })
  }
  const textOf: Screening['textOf'] = (texts) =>
    craftText(
      texts,
      (text) =>
        deps.textNames === true &&
        /\p{L}{2}\S*\s+\S*\p{L}{2}/u.test(text) &&
        (lists.latest()?.namesIn(text).length ?? 1) > 0,
    )
  const holdsOfCredits = createHoldsOfCredits(lists, pepsHold)
  return {
    lists,
    countries,
    request: async (tx, key, before = []) => {
      if (before.length > 0) await keepEarlierNames(tx, deps, key, before)
      await store.requestScreening(tx, key, clock.now())
    },
    isConfirmed: (tx, key) => store.isConfirmed(tx, key, pepsHold),
    screenedAt: async (tx, key) => (await store.findScreeningTime(tx, key))?.screenedAt ?? null,
    forget: store.eraseSubjects,
    holdsOf: createHoldsOf(db, countries, pepsHold),
    partiesOfPayments: createPartiesOfPayments({ db, clock, lists }),
    textOf,
    holdsOfCredits,
    holdOfMoney: createHoldOfMoney({ textOf, holdsOfCredits }),
    openHits: async (after, hitsMax) => (await store.listOpenHits(db, after, hitsMax)).map(toHit),
    oldestOpenHits: (hitsMax) => store.oldestOpenHits(db, hitsMax),
    filterOpen: (partnerId, ids) => store.openHitsById(db, partnerId, ids),
    equalHits: async (hit) =>
      (await store.listOpenHitsOfEntry(db, hit.partnerId, hit, equalHitsMax))
        .map(toHit)
        .filter((each) => hitPairKey(each) === hitPairKey(hit)),
    hit: async (partnerId, id) => {
      const row = await store.hitById(db, partnerId, id)
      return row && toHit(row)
    },
    hitsOn: async (partnerId, parties) => {
      const [accounts, subjects] = [parties.filter(isAccount), parties.filter((party) => !isAccount(party))]
      const named = { subjectIds: subjects.map(({ id }) => id), accounts: accounts.map(({ id }) => id) }
      const own = await store.listHoldingHits(db, partnerId, named, pepsHold)
      const isOfCustomer = parties.some(({ kind, ofCustomer }) => kind === 'partner' && ofCustomer === true)
      const holding = own.filter((row) => row.subjectKind !== 'partner' || row.status === 'confirmed' || !isOfCustomer)
      const others: store.HitRow[] = []
      for (const by of await store.frozenByOthers(db, partnerId, named.accounts))
        others.push(...[await store.hitById(db, by.partnerId, by.id)].filter((row) => row !== undefined))
      return [...holding, ...others].map(toHit)
    },
    decisionsOf: store.listDecisions,
    about: numbers.listHitsOfSubjects,
    openHitsOf: numbers.listPartnerOpenHits,
    numbers: {
      decidedCounts: numbers.decidedCounts,
      decisionDurations: numbers.decisionDurations,
      countOpenHits: numbers.countOpenHits,
    },
    decide: async (tx, decision) => {
      // Lock order: the subject, then its hits, like the worker. Decisions about two hits of a subject run one after the other.
      await store.lockHitSubject(tx, decision.partnerId, decision.id)
      const row = await decide(tx, decision)
      if (row.proposal === null) await freeze(tx, row)
      const { partnerId, subjectId: customerId, source, status } = row
      if (isPepSource(source) && decision.outcome === 'confirm' && status === 'confirmed')
        await deps.peps?.onConfirmed(tx, { partnerId, customerId, staff: decision.staff })
      return toHit(row)
    },
    differences: async (generation, afterId, hitsMax) =>
      (await store.hitsOfList(db, generation, afterId, hitsMax)).map(toHit),
    progressOf: store.sweepProgress,
    oldestOpenHit: () => oldestOpenHit(db),
    oldestDueSubject: () => oldestDueSubject(db),
    forgetGenerations: async (tx, partnerId) => {
      await store.resetGenerations(tx, partnerId)
      await store.freezePartnerAccounts(tx, partnerId)
    },
    releaseLeases: (partnerId) => store.releaseLeases(db, partnerId),
  }
}

// Payouts that are subjects themselves: their texts may name a listed vessel, aircraft, person or organisation, or they do not have a
// beneficiary whose countries could be screened. Such a payout waits until the worker has compared it with the newest lists.

export type ScreenedPayment = {
  readonly partnerId: string
  readonly id: string
  /** Free texts of the payout. */
  readonly texts: readonly (string | null)[]
  /** The name of a separately screened payee, which may be the name of a vessel. */
  readonly payee: string | null
  /** The countries of the payee, unless a beneficiary has them. */
  readonly countries: readonly string[]
}

/** Returns the party of each payment, in order. Undefined: nothing in the payment is screened. Most payments do not need a statement. */
type PartiesOfPayments = (payments: readonly ScreenedPayment[]) => Promise<readonly (ScreenedParty | undefined)[]>

const createPartiesOfPayments = (deps: {
  readonly db: Database
  readonly clock: Clock
  readonly lists: Pick<Lists, 'recent'>
}): PartiesOfPayments => {
  const { db, clock, lists } = deps
  return async (payments) => {
    const asked = payments.map((payment) => ({
      ...payment,
      texts: payment.texts.filter((text) => text !== null && text.trim() !== ''),
      crafts: craftText([...payment.texts, payment.payee]),
    }))
    const isUnscreened = ({ texts, crafts, countries }: (typeof asked)[number]): boolean =>
      texts.length === 0 && crafts === null && countries.length === 0
    if (asked.every(isUnscreened)) return asked.map(() => undefined)
    const snapshot = await lists.recent()
    if (snapshot === undefined) return asked.map(() => undefined)
    const hasMatch = ({ texts, crafts, countries }: (typeof asked)[number]): boolean =>
      (crafts !== null && snapshot.craftsIn(crafts).length > 0) ||
      texts.some((text) => text !== null && snapshot.namesIn(text).length > 0) ||
      countries.some((country) => snapshot.countryEntry(countryEntryId(countrySide('payout'), country)) !== undefined)
    const parties = asked.map((payment): ScreenedParty | undefined => {
      const { partnerId, id } = payment
      if (isUnscreened(payment)) return undefined
      // An earlier hit still holds the payment without a match, because only people end it.
      return { partnerId, kind: 'payout', id, ...(hasMatch(payment) ? { comparedWith: snapshot.generation } : {}) }
    })
    const found = parties
      .filter((party) => party !== undefined)
      .filter(({ comparedWith }) => comparedWith !== undefined)
    for (const [partnerId, group] of Map.groupBy(found, (party) => party.partnerId)) {
      const ids = group.map(({ id }) => id)
      await store.requestOutdated(db, { partnerId, kind: 'payout', ids }, snapshot.generation, clock.now())
    }
    return parties
  }
}

// Decisions about hits. `clear`: the party is another person. `confirm`: it is the listed one. Every step locks the hit, so that
// one of two concurrent decisions is refused, and adds a row.

type HitDecision = {
  readonly partnerId: string
  readonly id: string
  readonly outcome: HitOutcome
  readonly disposition: HitDisposition
  readonly staff: string
  /** The signed-in account. Absent: the command was given a name. */
  readonly staffId?: string
  readonly note: string
}

type HitDecisionsDeps = {
  readonly clock: Clock
  readonly facts: FactQueue
  /** Checks that the person's role decides hits. Refuses: permission_denied. */
  readonly requireDecider: (tx: Tx, by: Decider) => Promise<void>
  /** Checks whether the proposer and the approver may decide, by their current roles. */
  readonly judgeTwo: (tx: Tx, author: Decider, approver: Decider) => Promise<DecidersProblem | undefined>
}

const refuse = (detail: string) => new Refusal('validation_failed', detail)

const createDecide =
  ({ clock, judgeTwo, requireDecider, facts }: HitDecisionsDeps) =>
  async (tx: Tx, { partnerId, id, outcome, disposition, staff, staffId, note }: HitDecision): Promise<store.HitRow> => {
    if (isEmptyName(staff)) throw refuse('State who decides it.')
    if (note.trim() === '') throw refuse('A note is required.')
    const row = await store.lockHit(tx, partnerId, id)
    if (row === undefined) throw new Refusal('not_found', 'No such hit.')
    await requireDecider(tx, { id: staffId, name: staff })
    refuseEnded(row, outcome)
    const fitting = allowedDispositions(row.source, outcome)
    if (!fitting.includes(disposition)) throw refuse(`State what you found, as the disposition: ${fitting.join(', ')}.`)
    const now = clock.now()
    // The person decides by the list of the hit. The worker compares a newer list, and ends the hit if the entry changed.
    const generation = Math.max(row.generation, (await store.findComparedGeneration(tx, row)) ?? 0)
    const decision = { partnerId, hitId: id, outcome, disposition, actor: staff, note, generation, decidedAt: now }
    const { proposedBy } = row
    const not =
      needsTwoPersons(row) && isProposed(row, outcome, now) && proposedBy !== null
        ? await judgeTwo(tx, { name: proposedBy }, { name: staff })
        : undefined
    // If the proposer may no longer decide, the proposal does not count, and this person proposes again.
    if (needsTwoPersons(row) && (!isProposed(row, outcome, now) || not?.who === 'author')) {
      const proposed = { ...row, proposal: outcome, proposedBy: staff, proposedAt: now }
      await store.updateHit(tx, proposed)
      await store.appendDecision(tx, { ...decision, kind: 'proposed' })
      facts.append(tx, [{ partnerId, type: 'hit.proposed', subject: id, occasion: newId(), facts: { by: staff } }])
      return proposed
    }
    if (not !== undefined) throw refuse(`${not.why} Hits of ${twoPersonsScoreMin} or more need two persons.`)
    const [decidedBy, approvedBy] = needsTwoPersons(row) && proposedBy !== null ? [proposedBy, staff] : [staff, null]
    const withoutProposal = { proposal: null, proposedBy: null, proposedAt: null }
    const end = { status: statusByOutcome[outcome], disposition, decidedAt: now, decidedBy, approvedBy }
    const decided = { ...row, ...withoutProposal, ...end }
    await store.updateHit(tx, decided)
    await store.appendDecision(tx, { ...decision, kind: 'decided' })
    return decided
  }

function refuseEnded({ endedAt, endReason, status, decidedBy, approvedBy }: store.HitRow, outcome: HitOutcome): void {
  if (endedAt !== null) throw refuse(`The hit has ended (${endReason}): look for the one that replaced it.`)
  if (status === statusByOutcome[outcome])
    throw refuse(`The hit was ${status} by ${decidersText(decidedBy, approvedBy)}.`)
}

const isProposed = ({ proposal, proposedAt }: store.HitRow, outcome: HitOutcome, now: Date): boolean =>
  proposal === outcome && proposedAt !== null && !hasProposalExpired(proposedAt, now)

// Holds: whether payments of and to partners, customers, beneficiaries and payers may continue.

/**
 * `unscreened`: a name was not compared with a list yet. `open`: an open hit needs a decision. `confirmed`: a hit is
 * confirmed.
 */
export type Hold = 'unscreened' | 'open' | 'confirmed'

/**
 * Reads holds by key. Payments of a subject without a hold continue. There are no holds as long as no list is loaded. With `tx` it reads
 * in that transaction.
 */
type HoldsOf = (keys: readonly ScreenedParty[], tx?: Tx) => Promise<(key: ScreenedParty) => Hold | undefined>

/** Incoming money for a customer or for the partner itself. */
export type ScreenedCredit = {
  readonly partnerId: string
  readonly customer: SubjectKey | undefined
  /** Empty: the bank does not name the payer. */
  readonly payerName: string
  /**
   * The payer's account. A confirmed hit of the account holds the money under any payer's name. Empty: the bank does not
   * give it.
   */
  readonly payerAccount: string
  /** The countries of the payer and of its bank, ISO 3166-1 alpha-2. */
  readonly payerCountries: readonly string[]
  /** The texts of the payment that may name a listed party (`Screening.textOf`). Null: there are none. */
  readonly craftText: string | null
  /** The subject of the payer, if the money is already in suspense. Undefined: the name is compared in memory. */
  readonly payer: SubjectKey | undefined
}

/** Money in suspense that an act would give away, with its sender. */
export type SuspendedMoney = {
  readonly partnerId: string
  readonly customerId: string | null
  readonly debtor: {
    readonly name: string
    readonly account: string
    readonly bic: string
    readonly countryCode: string
    readonly onBehalfOf?: string | undefined
  }
  readonly texts: readonly (string | null | undefined)[]
}

/** Reads the hold of each credit, in order, with one statement. */
type HoldsOfCredits = (tx: Tx, credits: readonly ScreenedCredit[]) => Promise<readonly (Hold | undefined)[]>

const holdKey = ({ partnerId, kind, id }: HoldKey): string => partnerKey(partnerId, `${kind} ${id}`)

const createHoldsOf =
  (db: Database, countries: Pick<Countries, 'at'>, pepsHold: boolean): HoldsOf =>
  async (keys, tx = db) => {
    const generation = keys.length === 0 ? 0 : await currentGeneration(tx)
    if (generation === 0) return () => undefined
    const rules = await countries.at(tx, generation)
    return holdsIn(
      (await Promise.all(groupByShard(tx, keys).map((group) => store.subjectStates(tx, group, pepsHold)))).flat(),
      rules,
    )
  }

/** Creates the check of credits. It compares payers' names in memory, in less than a millisecond each for a list of 20,000 names. */
function createHoldsOfCredits({ latest }: Pick<Lists, 'latest'>, pepsHold: boolean): HoldsOfCredits {
  const matches = createCachedSearch(scoreMin)
  return async (tx, credits) => {
    const payerAccountKey = ({ partnerId, payerAccount }: ScreenedCredit): HoldKey | undefined =>
      payerAccount === '' ? undefined : { partnerId, kind: 'account', id: accountKey(payerAccount) }
    const partnerKeyOf = ({ partnerId, customer }: ScreenedCredit) => partnerParty(partnerId, customer?.id ?? null)
    const keys = credits.flatMap((credit) =>
      [partnerKeyOf(credit), credit.customer, credit.payer, payerAccountKey(credit)].filter((key) => key !== undefined),
    )
    const states = keys.length === 0 ? [] : await store.subjectStates(tx, keys, pepsHold)
    const [first] = states
    const newest = first === undefined ? await currentGeneration(tx) : (first.newest ?? 0)
    const known = latest()
    const holdOfPayer = (credit: ScreenedCredit): Hold | undefined => {
      const { payerName, payerAccount, payerCountries } = credit
      const isUnscreened = payerName.trim() === '' && payerAccount === '' && payerCountries.length === 0
      if (isUnscreened && credit.craftText === null) return undefined
      if (known?.generation !== newest) return 'unscreened'
      const texts = credit.craftText?.split('\n') ?? []
      const isListed =
        known.craftsIn([payerName, ...texts].join('\n')).length > 0 ||
        texts.some((text) => known.namesIn(text).length > 0) ||
        known.entriesWithWallet(payerAccount).length > 0 ||
        payerCountries.some(
          (country) => known.countryEntry(countryEntryId(countrySide('payer'), country)) !== undefined,
        )
      return isListed || (payerName.trim() !== '' && matches(known, payerName)) ? 'open' : undefined
    }
    const holdOf = holdsIn(states)
    return credits.map((credit) => {
      const { customer, payer } = credit
      // Held money continues only by a decision, even in a database without lists, because the partner may have come from
      // another database.
      if (payer === undefined && newest === 0) return undefined
      const ofPayer = payer === undefined ? holdOfPayer(credit) : holdOf(payer)
      const account = payerAccountKey(credit)
      if (account !== undefined && holdOf(account) === 'confirmed') return 'confirmed'
      return strictestHold([holdOf(partnerKeyOf(credit)), customer && holdOf(customer), ofPayer])
    })
  }
}

const createHoldOfMoney =
  ({ textOf, holdsOfCredits }: Pick<Screening, 'textOf' | 'holdsOfCredits'>): Screening['holdOfMoney'] =>
  async (tx, { partnerId, customerId: id, debtor, texts }) => {
    const { account, bic, countryCode: country, onBehalfOf } = debtor
    const names = onBehalfOf === undefined ? [debtor.name] : [debtor.name, onBehalfOf]
    const holds = await holdsOfCredits(
      tx,
      names.map((payerName) => ({
        partnerId,
        customer: id === null ? undefined : { partnerId, kind: 'customer', id },
        payer: undefined,
        payerName,
        payerAccount: account,
        payerCountries: countriesOfAccount({ account, bic, country }).map((each) => each.country),
        craftText: textOf(texts),
      })),
    )
    return strictestHold(holds)
  }

/** Returns the strictest hold of a payment's parties. */
export const strictestHold = (holds: readonly (Hold | undefined)[]): Hold | undefined =>
  (['confirmed', 'open', 'unscreened'] as const).find((each) => holds.includes(each))

/** Creates the lookup of holds. `rules`: undefined if no key has countries. */
function holdsIn(found: readonly store.SubjectState[], rules?: CountryRules): (key: ScreenedParty) => Hold | undefined {
  const states = new Map(found.map((state) => [holdKey(state), state]))
  return (key) => {
    const state = states.get(holdKey(key))
    if (key.kind === 'account') {
      const ofAll = states.get(holdKey({ ...key, partnerId: store.anyPartnerId }))
      return strictestHold([state && holdOfState(state, 0), ofAll && holdOfState(ofAll, 0)])
    }
    if (key.kind === 'partner') return state && holdOfPartner(state, key.ofCustomer === true)
    const { comparedWith = 0 } = key
    // A payout is a subject only if there was a match.
    if (key.kind === 'payout' && state === undefined && comparedWith === 0) return undefined
    // A subject without a state was written before the first list and was not swept yet.
    return state === undefined
      ? 'unscreened'
      : holdOfState(state, Math.max(comparedWith, rules?.since(countrySide(key.kind), key.countries ?? []) ?? 0))
  }
}

/**
 * Returns the hold of a partner. An open hit holds only the partner's own money; a confirmed hit also holds the money of its customers. It
 * never counts as unscreened, because it is screened within seconds of its creation, before it has keys.
 */
function holdOfPartner({ isConfirmed, isOpen }: store.SubjectState, ofCustomer: boolean): Hold | undefined {
  if (isConfirmed) return 'confirmed'
  return isOpen && !ofCustomer ? 'open' : undefined
}

/** Returns the hold of a subject. `since`: the generation of lists with which it must have been compared. */
function holdOfState({ isConfirmed, isOpen, generation }: store.SubjectState, since: number): Hold | undefined {
  if (isConfirmed) return 'confirmed'
  if (isOpen) return 'open'
  return generation >= Math.max(1, since) ? undefined : 'unscreened'
}
