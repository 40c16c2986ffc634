/**
 * Changes balances between pooled and segregated. In a segregated balance each party has an account of its own, which
 * does not fall below zero. Payments that were checked in the other mode run again (`accounts_judged_by_state`).
 */
import { assert, type Currency, type Minor, present } from '../kernel/index.ts'
import type { Tx } from '../postgres/index.ts'
import { ensureAccount, type LedgerDeps } from './accounts.ts'
import { lockProgress } from './store-history.ts'
import * as store from './store-parties.ts'
import { lockBalance } from './store.ts'

/** Party whose sum is negative or below the amount that its payouts have reserved. */
export type PartyShortfall = store.PartyTotal & { readonly missing: Minor }

/** `own`: the partner's own part. Undefined for a pooled balance, which has no parts. */
export type BalanceMode = {
  readonly currency: Currency
  readonly segregated: boolean
  readonly own: { readonly posted: Minor; readonly reserved: Minor } | undefined
}

export type Segregation = {
  readonly modes: (tx: Tx, partnerId: string) => Promise<readonly BalanceMode[]>
  /**
   * Finds the parties that prevent a pooled balance from being segregated, and the partner's own part. Reads the last
   * checkpoint of every party.
   */
  readonly shortParties: (
    tx: Tx,
    partnerId: string,
    currency: Currency,
  ) => Promise<{ readonly short: readonly PartyShortfall[]; readonly own: Minor }>
  /**
   * Segregates a balance, and opens the accounts of all its parties with their sums; creates a missing balance. Locks
   * the balance after copying the checkpoints, and reads only the later transfers under the lock. Returns the parties
   * that are short; if there are any, the caller must roll back. The lock of the partner's checkpoints serialises such
   * changes.
   */
  readonly segregate: (tx: Tx, partnerId: string, currency: Currency) => Promise<readonly PartyShortfall[]>
  /** Pools a balance again. The accounts of its parties remain, unused, until `clearParties` deletes them. */
  readonly pool: (tx: Tx, partnerId: string, currency: Currency) => Promise<void>
  /** Deletes the accounts of parties of a pooled balance. */
  readonly clearParties: (tx: Tx, partnerId: string, currency: Currency) => Promise<void>
}

const partiesPerStatement = 10_000

export function createSegregation(opening: LedgerDeps): Segregation {
  const balanceOf = async (tx: Tx, partnerId: string, currency: Currency) =>
    (await store.readModes(tx, partnerId)).find((mode) => mode.currency === currency)

  return {
    modes: async (tx, partnerId) =>
      (await store.readModes(tx, partnerId)).map(({ currency, segregated, ownPosted, ownReserved }) => ({
        currency,
        segregated,
        own: segregated ? { posted: ownPosted ?? 0n, reserved: ownReserved ?? 0n } : undefined,
      })),
    shortParties: async (tx, partnerId, currency) => {
      const balance = await balanceOf(tx, partnerId, currency)
      if (balance === undefined || balance.segregated) return { short: [], own: 0n }
      const position = await store.partyPosition(tx, partnerId)
      const totals = new Map(
        (await store.listShortParties(tx, partnerId, balance.id, position)).map((row) => [row.partyId, row]),
      )
      const changed = await store.sumChangesSince(tx, partnerId, balance.id, position)
      const others = [partnerId, ...changed.map(({ partyId }) => partyId)].filter((partyId) => !totals.has(partyId))
      for (const row of await store.sumPartyTransfers(tx, partnerId, balance.id, position, others))
        totals.set(row.partyId, row)
      const now = addChangesSince(totals, changed)
      return { short: findShortParties(now), own: now.get(partnerId)?.posted ?? 0n }
    },
    segregate: async (tx, partnerId, currency) => {
      const key = { partnerId, name: 'balance', currency } as const
      await ensureAccount(tx, key, opening)
      await lockProgress(tx, partnerId)
      const { id, segregated } = present(
        await balanceOf(tx, partnerId, currency),
        `no ${currency} balance for partner ${partnerId}`,
      )
      if (segregated) return []
      const position = await store.partyPosition(tx, partnerId)
      await store.deletePartyAccounts(tx, partnerId, id)
      await store.copyParties(tx, partnerId, id, position)
      const short = await store.listShortParties(tx, partnerId, id, position)
      const { posted, reserved } = present(
        await lockBalance(tx, key),
        `no ${currency} balance for partner ${partnerId}`,
      )
      const changed = await store.sumChangesSince(tx, partnerId, id, position)
      const keys = changed.map(({ partyId }) => ({ partnerId, accountId: id, partyId }))
      const totals = new Map([...(await store.readParties(tx, keys)), ...short].map((row) => [row.partyId, row]))
      const now = addChangesSince(totals, changed)
      const missing = findShortParties(now)
      if (missing.length > 0) return missing
      const rows = [...now.values()]
      for (let at = 0; at < rows.length; at += partiesPerStatement)
        await store.setPartySums(tx, partnerId, id, rows.slice(at, at + partiesPerStatement))
      const sum = await store.sumPartyAccounts(tx, partnerId, id)
      assert(
        sum.posted === posted && sum.reserved === reserved,
        'the parties of a balance add up to it: `operator ledger check` shows which rows do not agree',
      )
      await store.setMode(tx, partnerId, id, true)
      return []
    },
    pool: async (tx, partnerId, currency) => {
      if ((await lockBalance(tx, { partnerId, name: 'balance', currency })) === undefined) return
      const { id } = present(
        await balanceOf(tx, partnerId, currency),
        `no ${currency} balance for partner ${partnerId}`,
      )
      await store.setMode(tx, partnerId, id, null)
    },
    clearParties: async (tx, partnerId, currency) => {
      await lockProgress(tx, partnerId)
      const balance = await balanceOf(tx, partnerId, currency)
      if (balance !== undefined && !balance.segregated) await store.deletePartyAccounts(tx, partnerId, balance.id)
    },
  }
}

/** Adds the changes to the totals. */
function addChangesSince(
  totals: ReadonlyMap<string, store.PartyTotal>,
  changed: readonly store.PartyTotal[],
): ReadonlyMap<string, store.PartyTotal> {
  const now = new Map([...totals].map(([id, { partyId, posted, reserved }]) => [id, { partyId, posted, reserved }]))
  for (const { partyId, posted, reserved } of changed) {
    const before = now.get(partyId)
    now.set(partyId, {
      partyId,
      posted: (before?.posted ?? 0n) + posted,
      reserved: (before?.reserved ?? 0n) + reserved,
    })
  }
  return now
}

const findShortParties = (totals: ReadonlyMap<string, store.PartyTotal>): readonly PartyShortfall[] =>
  [...totals.values()].flatMap((total) =>
    total.posted < total.reserved ? [{ ...total, missing: total.reserved - total.posted }] : [],
  )
