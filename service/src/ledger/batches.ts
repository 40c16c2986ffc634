/** Transfers in numbers: one lock, one update and one insert for as many as a batch holds. */
import { assert, type Clock, type Minor, newId, present } from '../kernel/index.ts'
import type { Tx } from '../postgres/index.ts'
import { type Change, effects, fits, type ReserveWish, type Transfer, type TransferKind } from './rules.ts'
import * as store from './store.ts'

export type Batches = {
  /** The accounts that transfers would name, as far as they are there: read before the transaction, without a lock. */
  readonly accountsOf: (tx: Tx, wanted: readonly Movement[]) => Promise<KnownAccounts>
  /**
   * Locks the balances that many reserves would debit and answers which of them fit, in their order: one that does not
   * fit takes nothing from those behind it. Followed by `reserveMany` of those that fit, in the same transaction.
   */
  readonly fitting: (tx: Tx, wanted: readonly ReserveWish[]) => Promise<readonly boolean[]>
  readonly sumsOf: (wanted: readonly ReserveWish[]) => Sums
  /**
   * Whether all of it fits, as far as can be told without a lock: it was available when `known` was read, what others have
   * `spoken` for taken off. By its constraint the commit still has the last word.
   */
  readonly seemFitting: (wanted: readonly ReserveWish[], known: KnownAccounts, spoken: Sums) => boolean
  /**
   * Sets money aside, for reserves that were found fitting, or that are taken to fit: where one does not, the commit fails
   * by the constraint `accounts_never_negative`. Each has its id. Locks the accounts and writes with the commit.
   */
  readonly reserveMany: (
    tx: Tx,
    reserves: readonly (Transfer & { readonly id: string })[],
    known: KnownAccounts,
  ) => Promise<void>
  /** Moves posted money out of system accounts, which can always give it. Locks them and writes with the commit. */
  readonly creditMany: (tx: Tx, transfers: readonly Transfer[], known: KnownAccounts) => Promise<void>
}

type Movement = Pick<Transfer, 'partnerId' | 'currency' | 'debit' | 'credit'>
/** By account: its id, which never changes, and what was available when it was read, which does. */
export type KnownAccounts = ReadonlyMap<string, { readonly id: string; readonly available: Minor }>

/** Of money that is about to be set aside, by account. */
export type Sums = ReadonlyMap<string, Minor>

const keyText = ({ partnerId, currency, name }: store.AccountKey) => `${partnerId} ${currency} ${name}`

/** Each key once: a batch names the same few accounts again and again. */
function distinct(keys: readonly store.AccountKey[]): readonly store.AccountKey[] {
  return [...new Map(keys.map((key) => [keyText(key), key])).values()]
}

const debitKey = ({ partnerId, currency, debit: name }: Omit<Movement, 'credit'>) => ({ partnerId, currency, name })
const creditKey = ({ partnerId, currency, credit: name }: Omit<Movement, 'debit'>) => ({ partnerId, currency, name })
const bothKeys = (movements: readonly Movement[]) => distinct([...movements.map(debitKey), ...movements.map(creditKey)])

const sumsOf = (wanted: readonly ReserveWish[]): Sums => {
  const found = new Map<string, Minor>()
  for (const wish of wanted) {
    const key = keyText(debitKey(wish))
    found.set(key, (found.get(key) ?? 0n) + wish.amount)
  }
  return found
}

/** One change an account, whatever the number of transfers. */
function sums(changes: readonly (Change & { readonly partnerId: string; readonly id: string })[]) {
  return [...Map.groupBy(changes, ({ id }) => id).values()].map((list) => ({
    partnerId: present(list[0], 'a group has a member').partnerId,
    id: present(list[0], 'a group has a member').id,
    posted: list.reduce((sum, { posted }) => sum + posted, 0n),
    reserved: list.reduce((sum, { reserved }) => sum + reserved, 0n),
  }))
}

export function createBatches(clock: Clock): Batches {
  const find = async (tx: Tx, keys: readonly store.AccountKey[]): Promise<KnownAccounts> =>
    new Map(
      (await store.accountsByKey(tx, keys)).map((row) => [
        keyText(row),
        { id: row.id, available: row.posted - row.reserved },
      ]),
    )

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

  /** Last come the accounts, locked in the order of their ids: until the commit all others wait for them. */
  const write = (
    tx: Tx,
    kind: TransferKind,
    transfers: readonly (Transfer & { readonly id: string })[],
    ids: KnownAccounts,
  ) => {
    const rows = transfers.map((transfer) => {
      const { id: debitAccountId } = present(ids.get(keyText(debitKey(transfer))), 'found or just made')
      const { id: creditAccountId } = present(ids.get(keyText(creditKey(transfer))), 'found or just made')
      return { ...transfer, debitAccountId, creditAccountId }
    })
    const changes = rows.flatMap(({ partnerId, amount, debitAccountId, creditAccountId }) => {
      const { debit, credit } = effects(kind, amount)
      return [
        { partnerId, id: debitAccountId, ...debit },
        { partnerId, id: creditAccountId, ...credit },
      ]
    })
    const changed = sums(changes).filter(({ posted, reserved }) => posted !== 0n || reserved !== 0n)
    store.insertTransfers(tx, kind, rows, clock.now())
    store.lockBeforeChange(tx, changed)
    store.changeAccounts(tx, changed)
  }

  return {
    accountsOf: async (tx, wanted) => (wanted.length === 0 ? new Map() : find(tx, bothKeys(wanted))),
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
    sumsOf,
    seemFitting: (wanted, known, spoken) =>
      [...sumsOf(wanted)].every(([key, sum]) => (known.get(key)?.available ?? 0n) >= sum + (spoken.get(key) ?? 0n)),
    reserveMany: async (tx, reserves, known) => {
      if (reserves.length > 0) write(tx, 'reserve', reserves, await complete(tx, bothKeys(reserves), known))
    },
    creditMany: async (tx, transfers, known) => {
      if (transfers.length === 0) return
      assert(
        transfers.every(({ debit, credit }) => debit !== 'balance' && credit === 'balance'),
        'a credit comes out of a system account',
      )
      const ids = await complete(tx, bothKeys(transfers), known)
      write(
        tx,
        'direct',
        transfers.map((transfer) => ({ ...transfer, id: newId() })),
        ids,
      )
    },
  }
}
