/** Past balances and statements, read from checkpoints and the transfers between them (README.md). */
import { firstIdOf, type Currency, idAfter, type Minor, idTime, nilId, present } from '../kernel/index.ts'
import type { Tx } from '../postgres/index.ts'
import type { AccountName } from './account-kinds.ts'
import { transferEffects, type TransferKind } from './rules.ts'
import type { AccountRow, TransferRow } from './store.ts'
import * as store from './store-history.ts'
import * as parties from './store-parties.ts'

export type StatementRequest = {
  readonly partnerId: string
  readonly name: AccountName
  readonly currency: Currency
  /** Reads only the transfers of this party, and their sums. Only for the account `balance`. */
  readonly partyId?: string | undefined
  /** Start of the period. Undefined: the first transfer. */
  readonly from?: Date | undefined
  /** End of the period, not included. Undefined: after the last transfer. */
  readonly until?: Date | undefined
  readonly direction: store.SortDirection
  readonly linesMax: number
  /** `next` of the previous page, in the same direction. */
  readonly cursor?: StatementCursor | undefined
}

export type StatementLine = {
  /** Id of the transfer. */
  readonly id: string
  readonly entryId: string | null
  /** When the id was created, in the transaction of the transfer. */
  readonly at: Date
  readonly kind: TransferKind
  /** Change of the account's posted sum. */
  readonly amount: Minor
  readonly counterAccount: AccountName
  readonly partyId: string
  readonly reference: string
  /** Posted sum of the account after the transfer; with `partyId`, the sum of the party's transfers. */
  readonly posted: Minor
}

export type PartySum = parties.PartySum
export type StatementCursor = Pick<StatementLine, 'id' | 'amount' | 'posted'>

/** `opening` and the amounts of the lines add up to `closing`. */
export type StatementPage = {
  readonly opening: Minor
  readonly closing: Minor
  readonly lines: readonly StatementLine[]
  /** Undefined: this is the last page. */
  readonly next: StatementCursor | undefined
}

export type History = {
  /** Reads all accounts of a partner before a moment, by default now. */
  readonly balancesAt: (tx: Tx, partnerId: string, moment: Date | undefined) => Promise<readonly AccountRow[]>
  /**
   * Lists the transfers that moved posted money of an account, in the order of their ids. The pages of a statement add
   * up if they are read in one snapshot, or if the period ended before the transactions that are now open began.
   * Undefined: the partner has no such account.
   */
  readonly statement: (tx: Tx, request: StatementRequest) => Promise<StatementPage | undefined>
  /** Sums a customer's transfers before a moment, by default now, on each balance on which it had any. */
  readonly partySumsAt: (
    tx: Tx,
    partnerId: string,
    partyId: string,
    moment: Date | undefined,
  ) => Promise<readonly PartySum[]>
}

const endOf = (moment: Date | undefined): string => (moment === undefined ? store.idMax : firstIdOf(moment))

export const history: History = {
  balancesAt: async (tx, partnerId, moment) =>
    (await store.balancesBefore(tx, partnerId, endOf(moment))).map(({ id, name, currency, posted, reserved }) => ({
      id,
      name,
      currency,
      posted,
      reserved,
    })),
  statement: async (tx, request) => {
    const { partnerId, name, currency, partyId, from, until, direction, linesMax, cursor } = request
    const ascending = direction === 'ascending'
    // No transfer has the first id of a moment, because it is not an id of version 7.
    const period = { after: from === undefined ? nilId : firstIdOf(from), end: endOf(until) }
    // Later pages continue from the balance of the cursor.
    const start = cursor !== undefined ? nilId : ascending ? period.after : period.end
    const accounts = await store.balancesBefore(tx, partnerId, start)
    const account = accounts.find((row) => row.name === name && row.currency === currency)
    if (account === undefined) return undefined
    const key = { partnerId, accountId: account.id, partyId }
    const left = cursor === undefined ? period : { ...period, [ascending ? 'after' : 'end']: cursor.id }
    const transfers = await readLines(tx, key, left, direction, linesMax + 1)
    let posted =
      partyId === undefined ? account.posted : await readPosted(tx, { partnerId, partyId }, account.id, start)
    if (cursor !== undefined) posted = ascending ? cursor.posted : cursor.posted - cursor.amount
    const first = posted
    const lines = transfers.slice(0, linesMax).map((transfer) => {
      const line = toLine(transfer, account.id, accounts)
      if (ascending) posted += line.amount
      const here = posted
      if (!ascending) posted -= line.amount
      return { ...line, posted: here }
    })
    const [opening, closing] = ascending ? [first, posted] : [posted, first]
    return { opening, closing, lines, next: transfers.length > linesMax ? lines.at(-1) : undefined }
  },
  partySumsAt: (tx, partnerId, partyId, moment) => parties.partySumsBefore(tx, { partnerId, partyId }, endOf(moment)),
}

async function readPosted(tx: Tx, party: parties.PartyKey, accountId: string, end: string): Promise<Minor> {
  const sums = await parties.partySumsBefore(tx, party, end)
  return sums.find(({ id }) => id === accountId)?.posted ?? 0n
}

function toLine(
  { id, entryId, kind, amount, debitAccountId, creditAccountId, partyId, reference }: TransferRow,
  accountId: string,
  accounts: readonly AccountRow[],
): Omit<StatementLine, 'posted'> {
  const { debit, credit } = transferEffects(kind, amount)
  const isDebit = debitAccountId === accountId
  const other = isDebit ? creditAccountId : debitAccountId
  const { name: counterAccount } = present(
    accounts.find((account) => account.id === other),
    `no account ${other} for transfer ${id}`,
  )
  return {
    id,
    entryId,
    at: idTime(id),
    kind,
    amount: (isDebit ? debit : credit).posted,
    counterAccount,
    partyId,
    reference,
  }
}

/**
 * Reads the first lines of a range. The checkpoints show in which stretches the account changed, and how often: the
 * other stretches are not read. The transfers after the last checkpoint are read one by one.
 */
async function readLines(
  tx: Tx,
  account: store.AccountOfPartner,
  range: store.IdRange,
  direction: store.SortDirection,
  linesMax: number,
): Promise<readonly TransferRow[]> {
  const { partnerId, accountId, partyId } = account
  const last = await (partyId === undefined ? store.lastPosition : parties.partyPosition)(tx, partnerId)
  const behind = { after: max(range.after, last), end: range.end }
  const before = { after: range.after, end: min(range.end, idAfter(last, 1)) }
  const lines: TransferRow[] = []
  const add = async (ranges: readonly store.IdRange[]) => {
    const left = linesMax - lines.length
    const found = ranges.filter(({ after, end }) => after < end)
    if (left > 0 && found.length > 0) lines.push(...(await store.readLines(tx, account, found, direction, left)))
  }
  if (direction === 'descending') await add([behind])
  if (lines.length < linesMax && before.after < before.end) {
    // Each stretch has a line, except the first and the last one, which the range may cut.
    const stretches = await (partyId === undefined
      ? store.listStretches(tx, account, before, direction, linesMax + 2)
      : parties.listStretchesOfParty(tx, { partnerId, partyId, accountId }, before, direction, linesMax + 2))
    await add(enoughStretches(stretches, linesMax).map((stretch) => clipRange(stretch, before)))
  }
  if (direction === 'ascending') await add([behind])
  return lines
}

/** Selects the first stretches with at least `linesMax` lines, not counting the first stretch, which the range may cut. */
function enoughStretches(stretches: readonly store.Stretch[], linesMax: number): readonly store.Stretch[] {
  let lines = 0
  const at = stretches.findIndex(({ lines: count }, index) => (lines += index === 0 ? 0 : count) >= linesMax)
  return at < 0 ? stretches : stretches.slice(0, at + 1)
}

const clipRange = ({ stretchAfter, position }: store.Stretch, { after, end }: store.IdRange): store.IdRange => ({
  after: max(after, stretchAfter),
  end: min(end, idAfter(position, 1)),
})

const max = (a: string, b: string) => (a > b ? a : b)
const min = (a: string, b: string) => (a < b ? a : b)
