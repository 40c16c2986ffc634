/** Reserves in numbers: one lock, one update and one insert for as many as a batch holds. */
import { type Clock, newId, present } from '../kernel/index.ts'
import type { Tx } from '../postgres/index.ts'
import { effects, fits, type ReserveWish, type Transfer } from './rules.ts'
import * as store from './store.ts'

export type Reserves = {
  /**
   * Locks the balances that many reserves would debit and answers which of them fit, in their order: one that does not
   * fit takes nothing from those behind it. Followed by `reserveMany` of those that fit, in the same transaction.
   */
  readonly fitting: (tx: Tx, wanted: readonly ReserveWish[]) => Promise<readonly boolean[]>
  /** The accounts that reserves would name, as far as they are there: for `reserveMany`, and read before its transaction. */
  readonly accountsOf: (tx: Tx, wanted: readonly Movement[]) => Promise<KnownAccounts>
  /** Sets money aside, for reserves that were found fitting; each has its id. Written with the commit. */
  readonly reserveMany: (
    tx: Tx,
    reserves: readonly (Transfer & { readonly id: string })[],
    known: KnownAccounts,
  ) => Promise<void>
}

type Movement = Pick<Transfer, 'partnerId' | 'currency' | 'debit' | 'credit'>
/** Ids by account: they never change. */
export type KnownAccounts = ReadonlyMap<string, string>

const keyText = ({ partnerId, currency, name }: store.AccountKey) => `${partnerId} ${currency} ${name}`

/** Each key once: a batch names the same few accounts again and again. */
function distinct(keys: readonly store.AccountKey[]): readonly store.AccountKey[] {
  return [...new Map(keys.map((key) => [keyText(key), key])).values()]
}

const debitKey = ({
  partnerId,
  currency,
  debit,
}: Pick<ReserveWish, 'partnerId' | 'currency' | 'debit'>): store.AccountKey => ({
  partnerId,
  currency,
  name: debit,
})
const creditKey = ({ partnerId, currency, credit }: Movement): store.AccountKey => ({
  partnerId,
  currency,
  name: credit,
})

export function createReserves(clock: Clock): Reserves {
  const find = async (tx: Tx, keys: readonly store.AccountKey[]): Promise<KnownAccounts> =>
    new Map((await store.accountIdsByKey(tx, keys)).map((row) => [keyText(row), row.id]))

  const complete = async (tx: Tx, keys: readonly store.AccountKey[], known: KnownAccounts): Promise<KnownAccounts> => {
    // In the order of their keys, so that two batches that make the same accounts cannot wait for each other.
    const missing = keys
      .filter((key) => !known.has(keyText(key)))
      .toSorted((a, b) => (keyText(a) < keyText(b) ? -1 : 1))
    if (missing.length === 0) return known
    for (const { partnerId, name, currency } of missing)
      await store.ensureAccount(tx, partnerId, { id: newId(), name, currency }, clock.now())
    return find(tx, keys)
  }

  return {
    fitting: async (tx, wanted) => {
      const rows = await store.lockAccountsByKey(tx, distinct(wanted.map(debitKey)))
      const left = new Map(rows.map((row) => [keyText(row), { posted: row.posted, reserved: row.reserved }]))
      return wanted.map((wish) => {
        const balance = left.get(keyText(debitKey(wish)))
        const { debit } = effects('reserve', wish.amount)
        if (!balance || !fits(wish.debit, balance.posted, balance.reserved, debit)) return false
        balance.reserved += debit.reserved
        return true
      })
    },
    accountsOf: async (tx, wanted) =>
      wanted.length === 0 ? new Map() : find(tx, distinct([...wanted.map(debitKey), ...wanted.map(creditKey)])),
    reserveMany: async (tx, reserves, known) => {
      if (reserves.length === 0) return
      const ids = await complete(tx, distinct([...reserves.map(debitKey), ...reserves.map(creditKey)]), known)
      const idOf = (key: store.AccountKey) => present(ids.get(keyText(key)), 'found or just made')
      const sums = new Map<string, { partnerId: string; id: string; reserved: bigint }>()
      for (const reserve of reserves) {
        const id = idOf(debitKey(reserve))
        const sum = sums.get(id) ?? { partnerId: reserve.partnerId, id, reserved: 0n }
        sums.set(id, { ...sum, reserved: sum.reserved + effects('reserve', reserve.amount).debit.reserved })
      }
      store.addReserved(tx, [...sums.values()])
      const transfers = reserves.map((reserve) => ({
        ...reserve,
        debitAccountId: idOf(debitKey(reserve)),
        creditAccountId: idOf(creditKey(reserve)),
      }))
      store.insertReserves(tx, transfers, clock.now())
    },
  }
}
