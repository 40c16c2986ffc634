/** Decides whether payments to, of and for partners, customers, beneficiaries and payers may continue. */
import { partnerKey } from '../kernel/index.ts'
import type { Database, Tx } from '../postgres/index.ts'
import type { Lists } from './lists.ts'
import { createMatches } from './names/matches.ts'
import { type Countries, countryEntryId, type CountryRules, sideOf } from './countries.ts'
import { accountKey, type HeldParty, type HoldKey, partnerOf, scoreMin, type SubjectKey } from './rules.ts'
import { ofEveryPartner, statesOf, type SubjectState } from './store-holds.ts'
import { currentGeneration } from './store-lists.ts'

/**
 * `unscreened`: a name was not compared with a list yet. `open`: a person decides about a hit. `confirmed`: it is the listed one.
 */
export type Hold = 'unscreened' | 'open' | 'confirmed'

/**
 * The holds by key; payments of a subject without one continue. Nothing is held while no list is loaded. With `tx` it reads in that
 * transaction.
 */
export type HoldsOf = (keys: readonly HeldParty[], tx?: Tx) => Promise<(key: HeldParty) => Hold | undefined>

/** Money that has come in for a customer, or for the partner itself. */
export type ScreenedCredit = {
  readonly partnerId: string
  readonly customer: SubjectKey | undefined
  /** Empty: the bank does not say who paid. */
  readonly payerName: string
  /**
   * Account that paid. A confirmed hit about the account holds the money under any payer's name. Empty: the bank does
   * not give it.
   */
  readonly payerAccount: string
  /** The countries of the payer and of its bank, ISO 3166-1 alpha-2. */
  readonly payerCountries: readonly string[]
  /** The texts of the payment that may name a listed party (`Screening.textOf`). Null: none does. */
  readonly craftText: string | null
  /** The payer of money that waits, whose name is a subject by now. Undefined: the name is compared here. */
  readonly payer: SubjectKey | undefined
}

/** The hold of each credit, in their order. One statement. */
export type HoldsOfCredits = (tx: Tx, credits: readonly ScreenedCredit[]) => Promise<readonly (Hold | undefined)[]>

const keyOf = ({ partnerId, kind, id }: HoldKey): string => partnerKey(partnerId, `${kind} ${id}`)

export const createHoldsOf =
  (db: Database, countries: Pick<Countries, 'at'>, pepsHold: boolean): HoldsOf =>
  async (keys, tx = db) => {
    const generation = keys.length === 0 ? 0 : await currentGeneration(tx)
    if (generation === 0) return () => undefined
    const rules = await countries.at(tx, generation)
    const groups = tx.sharded ? [...Map.groupBy(keys, ({ partnerId }) => partnerId).values()] : [keys]
    return holdsIn((await Promise.all(groups.map((group) => statesOf(tx, group, pepsHold)))).flat(), rules)
  }

/** Creates the check of payers' names in memory: a list of 20,000 names takes less than a millisecond for each. */
export function createHoldsOfCredits({ latest }: Pick<Lists, 'latest'>, pepsHold: boolean): HoldsOfCredits {
  const matches = createMatches(scoreMin)
  return async (tx, credits) => {
    const accountOf = ({ partnerId, payerAccount }: ScreenedCredit): HoldKey | undefined =>
      payerAccount === '' ? undefined : { partnerId, kind: 'account', id: accountKey(payerAccount) }
    const ownerOf = ({ partnerId, customer }: ScreenedCredit) => partnerOf(partnerId, customer?.id ?? null)
    const keys = credits.flatMap((credit) =>
      [ownerOf(credit), credit.customer, credit.payer, accountOf(credit)].filter((key) => key !== undefined),
    )
    const states = keys.length === 0 ? [] : await statesOf(tx, keys, pepsHold)
    const [first] = states
    const newest = first === undefined ? await currentGeneration(tx) : (first.newest ?? 0)
    const known = latest()
    const holdOfPayer = (credit: ScreenedCredit): Hold | undefined => {
      const { payerName, payerAccount, payerCountries } = credit
      const isSilent = payerName.trim() === '' && payerAccount === '' && payerCountries.length === 0
      if (isSilent && credit.craftText === null) return undefined
      if (known?.generation !== newest) return 'unscreened'
      const texts = credit.craftText?.split('\n') ?? []
      const isListed =
        known.craftsIn([payerName, ...texts].join('\n')).length > 0 ||
        texts.some((text) => known.namesIn(text).length > 0) ||
        known.entriesWithWallet(payerAccount).length > 0 ||
        payerCountries.some((country) => known.countryEntry(countryEntryId(sideOf('payer'), country)) !== undefined)
      return isListed || (payerName.trim() !== '' && matches(known, payerName)) ? 'open' : undefined
    }
    const holdOf = holdsIn(states)
    return credits.map((credit) => {
      const { customer, payer } = credit
      // Waiting money continues only by a decision, also in a database without lists: its partner came from another
      // one.
      if (payer === undefined && newest === 0) return undefined
      const ofPayer = payer === undefined ? holdOfPayer(credit) : holdOf(payer)
      const account = accountOf(credit)
      if (account !== undefined && holdOf(account) === 'confirmed') return 'confirmed'
      return worst([holdOf(ownerOf(credit)), customer && holdOf(customer), ofPayer])
    })
  }
}

/** Strictest hold of several names of one payment. */
export const worst = (holds: readonly (Hold | undefined)[]): Hold | undefined =>
  (['confirmed', 'open', 'unscreened'] as const).find((each) => holds.includes(each))

/** `rules`: undefined if no key has countries. */
function holdsIn(found: readonly SubjectState[], rules?: CountryRules): (key: HeldParty) => Hold | undefined {
  const states = new Map(found.map((state) => [keyOf(state), state]))
  return (key) => {
    const state = states.get(keyOf(key))
    if (key.kind === 'account') {
      const ofAll = states.get(keyOf({ ...key, partnerId: ofEveryPartner }))
      return worst([state && holdOfState(state, 0), ofAll && holdOfState(ofAll, 0)])
    }
    if (key.kind === 'partner') return state && holdOfPartner(state, key.ofCustomer === true)
    const { comparedWith = 0 } = key
    // A payout is a subject only if something was found in it.
    if (key.kind === 'payout' && state === undefined && comparedWith === 0) return undefined
    // A subject without a state was written before there were lists, and is not swept yet.
    return state === undefined
      ? 'unscreened'
      : holdOfState(state, Math.max(comparedWith, rules?.since(sideOf(key.kind), key.countries ?? []) ?? 0))
  }
}

/**
 * A partner is compared within seconds of its creation, before it has keys. While persons decide about it, its own money waits, as a
 * customer's does; a confirmed one also holds the money of its customers.
 */
function holdOfPartner({ isConfirmed, isOpen }: SubjectState, ofCustomer: boolean): Hold | undefined {
  if (isConfirmed) return 'confirmed'
  return isOpen && !ofCustomer ? 'open' : undefined
}

/** `since`: the generation of lists that the subject must have been compared with. */
function holdOfState({ isConfirmed, isOpen, generation }: SubjectState, since: number): Hold | undefined {
  if (isConfirmed) return 'confirmed'
  if (isOpen) return 'open'
  return generation >= Math.max(1, since) ? undefined : 'unscreened'
}
