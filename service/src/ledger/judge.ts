/** Decides under the lock which entries fit the balances of the accounts that they change. */
import type { Tx } from '../postgres/index.ts'
import {
  accountsNamed,
  type AccountSnapshots,
  creditAccount,
  debitAccount,
  distinctAccounts,
  mapKey,
  type PartyKey,
  partyMapKey,
} from './account-keys.ts'
import type { AccountKey } from './account-kinds.ts'
import { type CreateAccounts, readAccounts } from './accounts.ts'
import { partySums } from './parties.ts'
import { type Change, effects, type EntryRequest, type Fit, fits, plus, type Shortage, shortageOf } from './rules.ts'
import * as store from './store.ts'

/** Net change of an entry on each account, or for each party of a balance, by its key. */
type NetChanges = ReadonlyMap<string, NetChange>
type NetChange = { readonly account: AccountKey; readonly partyId?: string; readonly change: Change }

const zero: Change = { posted: 0n, reserved: 0n }

export function createJudge(createAccounts: CreateAccounts) {
  return {
    /**
     * Locks every account that the entries change, in the order of their ids. Answers for each entry, in order, whether it fits
     * as a whole.
     */
    fitting: async (tx: Tx, requests: readonly EntryRequest[], accounts: AccountSnapshots): Promise<readonly Fit[]> => {
      if (requests.length === 0) return []
      const changes = requests.map(netChanges)
      const impossible = await createMissing(tx, requests, changes, accounts, createAccounts)
      const changed = changes.flatMap((each, index) => (impossible[index] ? [] : accountsIn(each)))
      if (changed.length === 0) return changes.map((_each, index) => impossible[index] ?? true)
      const locked = await store.lockAccountsByKey(tx, distinctAccounts(changed))
      const balances = new Map<string, Change>(locked.map((row) => [mapKey(row), row]))
      const ofParties = await partyChanges(tx, requests, locked, balances)
      return changes.map(
        (each, index) => impossible[index] ?? take(balances, new Map([...(ofParties[index] ?? []), ...each])),
      )
    },
  }
}

/** Adds the parties of the segregated balances to `balances`, and returns what each request changes for them. */
async function partyChanges(
  tx: Tx,
  requests: readonly EntryRequest[],
  locked: Awaited<ReturnType<typeof store.lockAccountsByKey>>,
  balances: Map<string, Change>,
): Promise<readonly NetChanges[]> {
  const segregated = new Map(
    locked.flatMap((row) =>
      row.segregated === true ? [[mapKey(row), { id: row.id, available: 0n, segregated: true as const }] as const] : [],
    ),
  )
  if (segregated.size === 0) return []
  const changes = requests.map((request) => netPartyChanges(request, segregated))
  const parties = changes.flatMap((each) => [...each.values()].map(partyOf))
  for (const [key, sums] of await partySums(tx, parties, segregated)) balances.set(key, sums)
  return changes
}

const partyOf = ({ account: { partnerId, currency }, partyId = partnerId }: NetChange): PartyKey => ({
  partnerId,
  currency,
  partyId,
})

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
  createAccounts: CreateAccounts,
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
  if (created.length > 0) await createAccounts(tx, created)
  return impossible
}

const netChanges = (request: EntryRequest): NetChanges =>
  sumBy(request, (account) => ({ key: mapKey(account), account }))

/** The changes for the parties of segregated balances. */
const netPartyChanges = (request: EntryRequest, segregated: AccountSnapshots): NetChanges =>
  sumBy(request, (account, partyId) => {
    const { partnerId, currency } = account
    const key = partyMapKey({ partnerId, currency, partyId })
    return segregated.has(mapKey(account)) ? { key, account, partyId } : undefined
  })

/** Sums what the transfers change. `place`: where a change of an account counts; undefined: nowhere. */
function sumBy(
  { transfers }: EntryRequest,
  place: (account: AccountKey, partyId: string) => (Omit<NetChange, 'change'> & { readonly key: string }) | undefined,
): NetChanges {
  const changes = new Map<string, NetChange>()
  const add = (account: AccountKey, partyId: string, change: Change) => {
    if (change.posted === 0n && change.reserved === 0n) return
    const found = place(account, partyId)
    if (found === undefined) return
    const { key, ...where } = found
    changes.set(key, { ...where, change: plus(changes.get(key)?.change ?? zero, change) })
  }
  for (const transfer of transfers) {
    const { debit, credit } = effects(transfer.kind, transfer.amount)
    add(debitAccount(transfer), transfer.partyId, debit)
    add(creditAccount(transfer), transfer.partyId, credit)
  }
  return changes
}

/** Takes the changes of an entry from the balances if all of them fit. */
function take(balances: Map<string, Change>, changes: NetChanges): Fit {
  const balanceOf = (key: string) => balances.get(key) ?? zero
  for (const [key, { account, partyId, change }] of changes) {
    const { posted, reserved } = balanceOf(key)
    if (!fits(account.name, { posted, reserved }, change)) return shortageOf(account, partyId, posted - reserved)
  }
  for (const [key, { change }] of changes) balances.set(key, plus(balanceOf(key), change))
  return true
}
