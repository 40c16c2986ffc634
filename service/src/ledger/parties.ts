/**
 * The subsidiary accounts of a segregated balance: one for each customer, and one for the partner itself. The balance is their
 * control account: it has their sum. They change with its transfers, under its lock, and none falls below its reserved part.
 */
import { type Minor, partnerKey } from '../kernel/index.ts'
import type { Tx } from '../postgres/index.ts'
import { type AccountSnapshots, type Change, effects, mapKey, type PartyKey, partyMapKey } from './rules.ts'
import * as store from './store-parties.ts'
import type { NewTransfer } from './store.ts'

/** Writes what transfers change on the accounts of parties. Creates those that do not exist yet. */
export function changeParties(tx: Tx, transfers: readonly NewTransfer[], segregated: ReadonlySet<string>): void {
  const changes = new Map<string, store.PartyChange & { posted: Minor; reserved: Minor }>()
  const add = (partnerId: string, accountId: string, partyId: string, { posted, reserved }: Change) => {
    if (!segregated.has(accountId) || (posted === 0n && reserved === 0n)) return
    const key = partnerKey(accountId, partyId)
    const change = changes.get(key)
    if (change === undefined) changes.set(key, { partnerId, accountId, partyId, posted, reserved })
    else {
      change.posted += posted
      change.reserved += reserved
    }
  }
  for (const { partnerId, kind, amount, partyId, debitAccountId, creditAccountId } of transfers) {
    const { debit, credit } = effects(kind, amount)
    add(partnerId, debitAccountId, partyId, debit)
    add(partnerId, creditAccountId, partyId, credit)
  }
  const changed = [...changes.values()]
  if (changed.length === 0) return
  store.ensureParties(tx, changed)
  store.changeParties(tx, changed)
}

/**
 * Reads what parties have of the segregated balances among `accounts`, as snapshots under `partyMapKey`. A party without an
 * account is absent. Pooled balances need no statement.
 */
export async function readParties(
  tx: Tx,
  accounts: AccountSnapshots,
  parties: readonly PartyKey[],
): Promise<AccountSnapshots> {
  const sums = await partySums(tx, parties, accounts)
  return new Map([...sums].map(([key, { posted, reserved }]) => [key, { id: key, available: posted - reserved }]))
}

/** Reads what the parties of segregated balances have, by `partyMapKey`. Under the lock of the balances it does not change. */
export async function partySums(
  tx: Tx,
  parties: readonly PartyKey[],
  balances: AccountSnapshots,
): Promise<Map<string, Change>> {
  const asked = askedIn(balances, parties)
  if (asked.length === 0) return new Map()
  const rows = await store.partiesByKey(
    tx,
    asked.map(({ account }) => account),
  )
  const found = new Map(rows.map((row) => [partnerKey(row.accountId, row.partyId), row]))
  return new Map(
    asked.flatMap(({ key, account: { accountId, partyId } }) => {
      const row = found.get(partnerKey(accountId, partyId))
      return row === undefined ? [] : [[key, { posted: row.posted, reserved: row.reserved }] as const]
    }),
  )
}

type Asked = { readonly key: string; readonly account: store.PartyAccountKey }

/** The accounts of parties in segregated balances, each once. */
function askedIn(balances: AccountSnapshots, parties: readonly PartyKey[]): readonly Asked[] {
  const asked = new Map<string, Asked>()
  for (const party of parties) {
    const balance = balances.get(mapKey({ ...party, name: 'balance' }))
    if (balance?.segregated !== true) continue
    const { partnerId, partyId } = party
    const key = partyMapKey(party)
    asked.set(key, { key, account: { partnerId, accountId: balance.id, partyId } })
  }
  return [...asked.values()]
}
