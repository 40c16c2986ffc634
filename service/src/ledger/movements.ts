/**
 * Reads the movements of accounts after a position, in the order of the transfers. For workers that follow many
 * accounts.
 */
import { firstIdOf, type Minor } from '../kernel/index.ts'
import type { Tx } from '../postgres/index.ts'
import { transferEffects } from './rules.ts'
import * as store from './store-history.ts'
import type { AccountRow } from './store.ts'

type AccountPosition = store.AccountPosition

/** State of an account at one moment. */
export type AccountStanding = {
  readonly posted: Minor
  readonly reserved: Minor
  readonly isClosed: boolean
  /** True if its partner has transfers after the position and before the end. */
  readonly hasMoved: boolean
  /** True if its partner has no transfer after the position. */
  readonly isQuiet: boolean
}

/** Transfer of an account, and its change of the account's sums. */
export type AccountMovement = {
  /** Id of the transfer. */
  readonly id: string
  readonly posted: Minor
  readonly reserved: Minor
  readonly reference: string
  /** Equal for successive transfers that take effect together. Undefined: the transfer takes effect alone. */
  readonly together: string | undefined
}
export type MovementPage = {
  readonly movements: readonly AccountMovement[]
  /** The last transfer that was read. Undefined: all transfers before the end were read. */
  readonly readTo: string | undefined
}

export type Movements = {
  /**
   * Reads the sums of accounts, by account id. Missing accounts are absent. On a sharded database the positions belong
   * to one partner.
   */
  readonly standings: (
    tx: Tx,
    positions: readonly AccountPosition[],
    end: string,
  ) => Promise<ReadonlyMap<string, AccountStanding>>
  /**
   * Reads at most `transfersMax` transfers of each account's partner, by account id, for each position. The result is
   * complete if the transactions that began before `end` have ended (README.md).
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
      (await store.readStandings(tx, positions, end)).map(({ accountId, state, ...row }) => [
        accountId,
        { ...row, isClosed: state === 'Closed' },
      ]),
    ),
  movementsBehind: async (tx, positions, end, transfersMax) => {
    const rows = Map.groupBy(await store.listMovementsAfter(tx, positions, end, transfersMax), (row) => row.accountId)
    return new Map(
      positions.map(({ accountId }) => [accountId, toMovementPage(rows.get(accountId) ?? [], transfersMax)]),
    )
  },
}

function toMovementPage(rows: readonly store.MovementRow[], transfersMax: number): MovementPage {
  return {
    movements: rows.filter(({ isDebit, isCredit }) => isDebit || isCredit).map(toMovement),
    readTo: rows.find(({ place }) => place === BigInt(transfersMax))?.id,
  }
}

function toMovement({ id, kind, amount, isDebit, reference, entryId }: store.MovementRow): AccountMovement {
  const { debit, credit } = transferEffects(kind, amount)
  const step = kind === 'direct' || kind === 'reserve' ? 'begin' : 'end'
  return { id, ...(isDebit ? debit : credit), reference, together: entryId === null ? undefined : `${entryId} ${step}` }
}

type AccountComparison = Pick<AccountRow, 'name' | 'currency' | 'posted' | 'reserved'> & {
  /** The account row minus the sum of its transfers. Zero: they agree. */
  readonly rowDiffers: Minor
}

export type Positions = {
  /**
   * Sums the transfers of each account before a moment, by default all. Also compares each account row with the last
   * checkpoint and the transfers after it.
   */
  readonly positionsAt: (tx: Tx, partnerId: string, moment: Date | undefined) => Promise<readonly AccountComparison[]>
}

export const positions: Positions = {
  positionsAt: async (tx, partnerId, moment) => {
    const end = moment === undefined ? store.idMax : firstIdOf(moment)
    const then = await store.balancesBefore(tx, partnerId, end)
    // A row that equals the past sums agrees. Other rows have moved since, or were changed.
    const isSettled = then.every((row) => row.posted === row.postedNow && row.reserved === row.reservedNow)
    const now = isSettled || moment === undefined ? then : await store.balancesBefore(tx, partnerId, store.idMax)
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
