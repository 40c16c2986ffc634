/**
 * Prevents movements of held money: while screening holds a customer or a partner, no verb may move its money. The
 * permit of an entry says why it may change a balance. Only `clear` creates a permit for a request.
 */
import { Refusal } from '../kernel/api/index.ts'
import { assert, partnerKey } from '../kernel/index.ts'
import type { Tx } from '../postgres/index.ts'
import { creditAccount, debitAccount, type Entry, type EntryRequest, type Movement, type Permit } from './rules.ts'

export type MoneyOwner = { readonly partnerId: string; readonly partyId: string }
/** Reads in the transaction which parties are held, in order. */
export type MoneyHolds = (tx: Tx, parties: readonly MoneyOwner[]) => Promise<readonly boolean[]>

export type MoneyGate = {
  /** Checks whether the parties of these requests are held. Each request gets the permit of its entry, or account_blocked. */
  readonly clear: (
    tx: Tx,
    requests: readonly Pick<EntryRequest, 'transfers'>[],
  ) => Promise<readonly (Permit | Refusal)[]>
}

/**
 * Refuses a movement of money of a blocked or closed account. Held money gets the same text, because a partner must not
 * learn of a sanctions match.
 */
export const refuseBlocked = (): Refusal =>
  new Refusal('account_blocked', 'An account of this payment is blocked or closed.')

/** Permits that `clear` created. */
const cleared = new WeakSet<object>()

const partyKey = ({ partnerId, partyId }: MoneyOwner): string => partnerKey(partnerId, partyId)

/** Lists the parties whose balance a request changes. A partner is a party under its own id. */
function partiesOf({ transfers }: Pick<EntryRequest, 'transfers'>): readonly MoneyOwner[] {
  const isOfBalance = (movement: Movement) =>
    [debitAccount(movement), creditAccount(movement)].some(({ name }) => name === 'balance')
  return transfers.filter(isOfBalance)
}

export function createMoneyGate(holds: MoneyHolds): MoneyGate {
  return {
    clear: async (tx, requests) => {
      const asked = requests.map(partiesOf)
      const parties = new Map(asked.flat().map((party) => [partyKey(party), party]))
      const answers = parties.size === 0 ? [] : await holds(tx, [...parties.values()])
      const held = new Set([...parties.keys()].filter((_key, index) => answers[index] === true))
      return asked.map((ofRequest) => {
        const keys = new Set(ofRequest.map(partyKey))
        if (!keys.isDisjointFrom(held)) return refuseBlocked()
        const permit = { parties: keys }
        cleared.add(permit)
        return permit
      })
    },
  }
}

/** Checks every entry before it is written. */
export function requirePermit(entry: Entry): void {
  const { permit, transfers } = entry
  if (permit === 'bank' || permit === 'decision') return
  if (permit === 'waits') {
    assert(
      transfers.every(({ kind }) => kind === 'reserve'),
      'an entry that waits for screening only reserves',
    )
    return
  }
  assert(
    cleared.has(permit) && partiesOf(entry).every((party) => permit.parties.has(partyKey(party))),
    'an entry changes the balances of parties that were asked about',
  )
}
