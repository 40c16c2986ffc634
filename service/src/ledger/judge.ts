/** Decides under the lock which entries fit the balances of the accounts that they change. */
import type { Clock } from '../kernel/index.ts'
import type { Tx } from '../postgres/index.ts'
import {
  accountsNamed,
  type AccountSnapshots,
  creditAccount,
  debitAccount,
  distinctAccounts,
  mapKey,
} from './account-keys.ts'
import type { AccountKey } from './account-kinds.ts'
import { createAccounts, readAccounts } from './accounts.ts'
import { type Change, effects, type EntryRequest, type Fit, fits, plus, type Shortage } from './rules.ts'
import * as store from './store.ts'

/** Net change of an entry on each account, by the key of the account. */
type NetChanges = ReadonlyMap<string, NetChange>
type NetChange = { readonly account: AccountKey; readonly change: Change }

const zero: Change = { posted: 0n, reserved: 0n }

export function createJudge(clock: Clock) {
  return {
    /**
     * Locks every account that the entries change, in the order of their ids. Answers for each entry, in order, whether it fits
     * as a whole.
     */
    fitting: async (tx: Tx, requests: readonly EntryRequest[], accounts: AccountSnapshots): Promise<readonly Fit[]> => {
      if (requests.length === 0) return []
      const changes = requests.map(netChanges)
      const impossible = await createMissing(tx, requests, changes, accounts, clock)
      const changed = changes.flatMap((each, index) => (impossible[index] ? [] : accountsIn(each)))
      const balances = new Map<string, Change>()
      if (changed.length > 0)
        for (const row of await store.lockAccountsByKey(tx, distinctAccounts(changed))) balances.set(mapKey(row), row)
      return changes.map((each, index) => impossible[index] ?? take(balances, each))
    },
  }
}

const accountsIn = (changes: NetChanges): readonly AccountKey[] => [...changes.values()].map(({ account }) => account)

/**
 * Creates the accounts of the entries, before the lock. An entry that takes from an account that does not exist, and that no
 * entry of the batch fills, creates none, because a refusal writes nothing: the answer for it is that account.
 */
async function createMissing(
  tx: Tx,
  requests: readonly EntryRequest[],
  changes: readonly NetChanges[],
  accounts: AccountSnapshots,
  clock: Clock,
): Promise<readonly (Shortage | undefined)[]> {
  const named = requests.map(({ transfers }) => accountsNamed(transfers))
  const unknown = distinctAccounts(named.flat().filter((account) => !accounts.has(mapKey(account))))
  if (unknown.length === 0) return []
  const found = await readAccounts(tx, unknown)
  const missing = new Set(unknown.map(mapKey).filter((key) => !found.has(key)))
  const fitsEmpty = ({ account, change }: NetChange) => fits(account.name, zero, change)
  const empty = new Set(missing)
  for (const each of changes) for (const [key, change] of each) if (fitsEmpty(change)) empty.delete(key)
  const impossible = changes.map((each) => {
    const short = [...each].find(([key, change]) => empty.has(key) && !fitsEmpty(change))
    return short && { currency: short[1].account.currency, available: 0n }
  })
  const needed = named.flatMap((each, index) => (impossible[index] ? [] : each))
  const created = distinctAccounts(needed.filter((account) => missing.has(mapKey(account))))
  if (created.length > 0) await createAccounts(tx, created, clock)
  return impossible
}

function netChanges({ transfers }: EntryRequest): NetChanges {
  const changes = new Map<string, NetChange>()
  const add = (account: AccountKey, change: Change) => {
    if (change.posted === 0n && change.reserved === 0n) return
    const key = mapKey(account)
    changes.set(key, { account, change: plus(changes.get(key)?.change ?? zero, change) })
  }
  for (const transfer of transfers) {
    const { debit, credit } = effects(transfer.kind, transfer.amount)
    add(debitAccount(transfer), debit)
    add(creditAccount(transfer), credit)
  }
  return changes
}

/** Takes the changes of an entry from the balances if all of them fit. */
function take(balances: Map<string, Change>, changes: NetChanges): Fit {
  const balanceOf = (key: string) => balances.get(key) ?? zero
  for (const [key, { account, change }] of changes) {
    const { posted, reserved } = balanceOf(key)
    if (!fits(account.name, { posted, reserved }, change))
      return { currency: account.currency, available: posted - reserved }
  }
  for (const [key, { change }] of changes) balances.set(key, plus(balanceOf(key), change))
  return true
}
