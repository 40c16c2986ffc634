/**
 * Reads the movements of accounts after a position, in the order of the transfers. For workers that follow many
 * accounts.
 */
import { firstIdOf, type Minor } from '../kernel/index.ts'
import type { Tx } from '../postgres/index.ts'
import { effects } from './rules.ts'
import * as store from './store-history.ts'
import type { AccountRow } from './store.ts'

export type AccountPosition = store.AccountPosition

/** An account at one moment. */
export type Standing = {
  readonly posted: Minor
  readonly reserved: Minor
  readonly isClosed: boolean
  /** True if its partner has transfers after the position and before the end. */
  readonly hasMoved: boolean
  /** True if its partner has no transfer after the position. */
  readonly isQuiet: boolean
}

/** A transfer of an account, and what it adds to its sums. */
export type AccountMovement = {
  /** Id of the transfer. */
  readonly id: string
  readonly posted: Minor
  readonly reserved: Minor
  readonly reference: string
  /** Equal for successive transfers that take effect together. Undefined: it takes effect alone. */
  readonly together: string | undefined
}
export type MovementPage = {
  readonly movements: readonly AccountMovement[]
  /** The last transfer that was read. Undefined: all before the end. */
  readonly readTo: string | undefined
}

export type Movements = {
  /**
   * Sums by the id of the account; an account that does not exist is absent. On a sharded database the positions are of
   * one partner.
   */
  readonly standings: (
    tx: Tx,
    positions: readonly AccountPosition[],
    end: string,
  ) => Promise<ReadonlyMap<string, Standing>>
  /**
   * Reads at most `transfersMax` transfers of the partner of each account. They are complete if the transactions that began
   * before `end` have ended (README.md). By the id of the account, for each position.
   */
  readonly movementsBehind: (
    tx: Tx,
    positions: readonly AccountPosition[],
    end: string,
    transfersMax: number,
  ) => Promise<ReadonlyMap<string, MovementPage>>
}

export const movements: Movements = {
  standings: async (tx, positions, end) =>
    new Map(
      (await store.standings(tx, positions, end)).map(({ accountId, state, ...row }) => [
        accountId,
        { ...row, isClosed: state === 'Closed' },
      ]),
    ),
  movementsBehind: async (tx, positions, end, transfersMax) => {
    const rows = Map.groupBy(await store.movementsBehind(tx, positions, end, transfersMax), (row) => row.accountId)
    return new Map(positions.map(({ accountId }) => [accountId, pageOf(rows.get(accountId) ?? [], transfersMax)]))
  },
}

function pageOf(rows: readonly store.MovementRow[], transfersMax: number): MovementPage {
  return {
    movements: rows.filter(({ isDebit, isCredit }) => isDebit || isCredit).map(toMovement),
    readTo: rows.find(({ place }) => place === BigInt(transfersMax))?.id,
  }
}

function toMovement({ id, kind, amount, isDebit, reference, entryId }: store.MovementRow): AccountMovement {
  const { debit, credit } = effects(kind, amount)
  const step = kind === 'direct' || kind === 'reserve' ? 'begin' : 'end'
  return { id, ...(isDebit ? debit : credit), reference, together: entryId === null ? undefined : `${entryId} ${step}` }
}

export type Position = Pick<AccountRow, 'name' | 'currency' | 'posted' | 'reserved'> & {
  /** The account row minus its transfers, as they are now. Zero: they agree. */
  readonly rowDiffers: Minor
}

export type Positions = {
  /**
   * Sums the transfers of each account before a moment, by default all. Also compares the account rows with their transfers:
   * the last checkpoint and those after it.
   */
  readonly positionsAt: (tx: Tx, partnerId: string, moment: Date | undefined) => Promise<readonly Position[]>
}

export const positions: Positions = {
  positionsAt: async (tx, partnerId, moment) => {
    const end = moment === undefined ? store.lastId : firstIdOf(moment)
    const then = await store.balancesBefore(tx, partnerId, end)
    // Rows that equal the past sums agree. The others have moved since, or were changed.
    const isSettled = then.every((row) => row.posted === row.postedNow && row.reserved === row.reservedNow)
    const now = isSettled || moment === undefined ? then : await store.balancesBefore(tx, partnerId, store.lastId)
    const differences = new Map(now.map(({ id, posted, postedNow }) => [id, postedNow - posted]))
    return then.map(({ id, name, currency, posted, reserved }) => ({
      name,
      currency,
      posted,
      reserved,
      rowDiffers: differences.get(id) ?? 0n,
    }))
  },
}
