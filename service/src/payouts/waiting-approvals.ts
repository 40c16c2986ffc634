/** Lists what waits for an approval, newest first: payouts that are approved alone, and each bulk as one. Pages by one key, whatever a bulk has. */
import type { Currency, Minor } from '../kernel/index.ts'
import type { Database } from '../postgres/index.ts'
import type { Total } from './approvals-of-bulk.ts'
import type { PayoutRow } from './store.ts'
import * as store from './store-waiting.ts'

export type MadeBy = store.MadeBy

/** `id`: of the payout, or of the bulk. */
export type WaitingApproval = {
  readonly id: string
  readonly expiresAt: Date
  /** The accounts that asked for it, usually one. */
  readonly requestedNames: readonly string[]
} & (
  | { readonly kind: 'payout'; readonly payout: PayoutRow }
  | {
      readonly kind: 'bulk'
      readonly payouts: number
      readonly totals: readonly Total[]
      readonly createdAt: Date
    }
)

export type WaitingApprovals = (
  partnerId: string,
  page: { readonly made: MadeBy; readonly afterId: string | null; readonly rowsMax: number },
) => Promise<readonly WaitingApproval[]>

export const createWaitingApprovals =
  ({ db }: { readonly db: Database }): WaitingApprovals =>
  async (partnerId, page) => {
    const keys = await store.waitingKeys(db, partnerId, page)
    const idsOf = (isBulk: boolean) => keys.filter((key) => key.isBulk === isBulk).map(({ id }) => id)
    const alone = await store.waitingAlone(db, partnerId, idsOf(false))
    const bulks = toBulks(await store.waitingOfBulks(db, partnerId, idsOf(true)))
    const found = new Map<string, WaitingApproval>([
      ...alone.map((row): [string, WaitingApproval] => {
        const { requestedName, expiresAt, ...payout } = row
        return [row.id, { kind: 'payout', id: row.id, expiresAt, requestedNames: [requestedName], payout }]
      }),
      ...bulks,
    ])
    // One that was decided between the two statements is left out.
    return keys.flatMap(({ id }) => found.get(id) ?? [])
  }

/** One row for each bulk, with a sum for each currency. */
function toBulks(rows: readonly store.BulkSum[]): readonly [string, WaitingApproval][] {
  return [...Map.groupBy(rows, ({ bulkId }) => bulkId)].flatMap(([id, sums]): [string, WaitingApproval][] => {
    const [first] = sums
    if (first === undefined) return []
    const earliest = (name: 'expiresAt' | 'createdAt') =>
      sums.reduce((least, sum) => (sum[name] < least ? sum[name] : least), first[name])
    const totals = sums.map(({ currency, amount }): { currency: Currency; amount: Minor } => ({ currency, amount }))
    const payouts = sums.reduce((total, { payouts: count }) => total + Number(count), 0)
    const requestedNames = [...new Set(sums.flatMap((sum) => sum.requestedNames))]
    const times = { expiresAt: earliest('expiresAt'), createdAt: earliest('createdAt') }
    return [[id, { kind: 'bulk', id, payouts, totals, requestedNames, ...times }]]
  })
}
