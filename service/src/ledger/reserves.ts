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
  /** Sets money aside, for reserves that were found fitting; each has its id. */
  readonly reserveMany: (tx: Tx, reserves: readonly (Transfer & { readonly id: string })[]) => Promise<void>
}

const keyText = ({ partnerId, currency, name }: store.AccountKey) => `${partnerId} ${currency} ${name}`

/** Each key once: a batch names the same few accounts again and again. */
function distinct(keys: readonly store.AccountKey[]): readonly store.AccountKey[] {
  return [...new Map(keys.map((key) => [keyText(key), key])).values()]
}

const debitKey = ({ partnerId, currency, debit }: ReserveWish): store.AccountKey => ({
  partnerId,
  currency,
  name: debit,
})
const creditKey = ({ partnerId, currency, credit }: Transfer): store.AccountKey => ({
  partnerId,
  currency,
  name: credit,
})

export function createReserves(clock: Clock): Reserves {
  const accountIds = async (tx: Tx, keys: readonly store.AccountKey[]) => {
    const found = new Map((await store.accountIdsByKey(tx, keys)).map((row) => [keyText(row), row.id]))
    // In the order of their keys, so that two batches that make the same accounts cannot wait for each other.
    const missing = keys
      .filter((key) => !found.has(keyText(key)))
      .toSorted((a, b) => (keyText(a) < keyText(b) ? -1 : 1))
    if (missing.length === 0) return found
    for (const { partnerId, name, currency } of missing)
      await store.ensureAccount(tx, partnerId, { id: newId(), name, currency }, clock.now())
    return new Map((await store.accountIdsByKey(tx, keys)).map((row) => [keyText(row), row.id]))
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
    reserveMany: async (tx, reserves) => {
      if (reserves.length === 0) return
      const ids = await accountIds(tx, distinct([...reserves.map(debitKey), ...reserves.map(creditKey)]))
      const idOf = (key: store.AccountKey) => present(ids.get(keyText(key)), 'found or just made')
      const sums = new Map<string, { partnerId: string; id: string; reserved: bigint }>()
      for (const reserve of reserves) {
        const id = idOf(debitKey(reserve))
        const sum = sums.get(id) ?? { partnerId: reserve.partnerId, id, reserved: 0n }
        sums.set(id, { ...sum, reserved: sum.reserved + effects('reserve', reserve.amount).debit.reserved })
      }
      await store.addReserved(tx, [...sums.values()])
      const transfers = reserves.map((reserve) => ({
        ...reserve,
        debitAccountId: idOf(debitKey(reserve)),
        creditAccountId: idOf(creditKey(reserve)),
      }))
      await store.insertReserves(tx, transfers, clock.now())
    },
  }
}
