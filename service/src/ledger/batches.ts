/** Transfers in numbers: one lock, one update and one insert for as many as a batch holds. */
import { assert, type Clock, type Minor, newId } from '../kernel/index.ts'
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
  readonly seemFitting: (wanted: Sums, known: KnownAccounts, spoken: Sums) => boolean
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

type Named = { readonly debitAccountId: string; readonly creditAccountId: string }

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

const nameAccounts = <T extends Transfer>(transfers: readonly T[], known: KnownAccounts) =>
  transfers.map((transfer) => ({
    ...transfer,
    debitAccountId: known.get(keyText(debitKey(transfer)))?.id,
    creditAccountId: known.get(keyText(creditKey(transfer)))?.id,
  }))

const isNamed = <T extends { [K in keyof Named]: string | undefined }>(row: T): row is T & Named =>
  row.debitAccountId !== undefined && row.creditAccountId !== undefined

type AccountChange = Change & { readonly partnerId: string; readonly id: string }

/** One change an account, whatever the number of transfers. */
function changesOf(kind: TransferKind, transfers: readonly (Transfer & Named)[]): readonly AccountChange[] {
  const found = new Map<string, { partnerId: string; id: string; posted: Minor; reserved: Minor }>()
  const add = (partnerId: string, id: string, { posted, reserved }: Change) => {
    const known = found.get(id)
    if (known === undefined) found.set(id, { partnerId, id, posted, reserved })
    else {
      known.posted += posted
      known.reserved += reserved
    }
  }
  for (const { partnerId, amount, debitAccountId, creditAccountId } of transfers) {
    const { debit, credit } = effects(kind, amount)
    add(partnerId, debitAccountId, debit)
    add(partnerId, creditAccountId, credit)
  }
  return [...found.values()].filter(({ posted, reserved }) => posted !== 0n || reserved !== 0n)
}

export function createBatches(clock: Clock): Batches {
  const find = async (tx: Tx, keys: readonly store.AccountKey[]): Promise<KnownAccounts> =>
    new Map(
      (await store.accountsByKey(tx, keys)).map((row) => [
        keyText(row),
        { id: row.id, available: row.posted - row.reserved },
      ]),
    )

  /** Names the accounts of each transfer; those that are not there yet are made. */
  const named = async <T extends Transfer>(
    tx: Tx,
    transfers: readonly T[],
    known: KnownAccounts,
  ): Promise<readonly (T & Named)[]> => {
    const rows = nameAccounts(transfers, known)
    const whole = rows.filter(isNamed)
    if (whole.length === rows.length) return whole
    const debits = rows.filter(({ debitAccountId }) => debitAccountId === undefined).map(debitKey)
    const credits = rows.filter(({ creditAccountId }) => creditAccountId === undefined).map(creditKey)
    // In the order of their keys, so that two batches that make the same accounts cannot wait for each other.
    const missing = distinct([...debits, ...credits]).toSorted((a, b) => (keyText(a) < keyText(b) ? -1 : 1))
    for (const { partnerId, name, currency } of missing)
      await store.ensureAccount(tx, partnerId, { id: newId(), name, currency }, clock.now())
    const all = nameAccounts(transfers, new Map([...known, ...(await find(tx, missing))])).filter(isNamed)
    assert(all.length === transfers.length, 'what was just made is there')
    return all
  }

  /** Last come the accounts, locked in the order of their ids: until the commit all others wait for them. */
  const write = (tx: Tx, kind: TransferKind, transfers: readonly (Transfer & Named & { readonly id: string })[]) => {
    const changes = changesOf(kind, transfers)
    store.insertTransfers(tx, kind, transfers, clock.now())
    store.lockBeforeChange(tx, changes)
    store.changeAccounts(tx, changes)
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
      [...wanted].every(([key, sum]) => (known.get(key)?.available ?? 0n) >= sum + (spoken.get(key) ?? 0n)),
    reserveMany: async (tx, reserves, known) => {
      if (reserves.length > 0) write(tx, 'reserve', await named(tx, reserves, known))
    },
    creditMany: async (tx, transfers, known) => {
      if (transfers.length === 0) return
      assert(
        transfers.every(({ debit, credit }) => debit !== 'balance' && credit === 'balance'),
        'a credit comes out of a system account',
      )
      const rows = await named(tx, transfers, known)
      write(
        tx,
        'direct',
        rows.map((row) => ({ ...row, id: newId() })),
      )
    },
  }
}
