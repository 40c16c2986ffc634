/** The books themselves, read from the database: double entry, the fold of the transfers, and what the bank was told. */
import { createLog } from '../../service/src/kernel/index.ts'
import { createDatabase, findRunningPostgres, sql, type Tx } from '../../service/src/postgres/index.ts'
import type { Payment } from './payments.ts'
import type { Check } from './reconcile.ts'

type AccountRow = {
  readonly id: string
  readonly name: string
  readonly currency: string
  readonly posted: bigint
  readonly reserved: bigint
}
type TransferRow = {
  readonly id: string
  readonly kind: 'direct' | 'reserve' | 'post' | 'release'
  readonly debitAccountId: string
  readonly creditAccountId: string
  readonly amount: bigint
  readonly reserveId: string | null
}
type InstructionRow = { readonly id: string; readonly timesReceived: number }

export async function checkBooks(dataDir: string, payments: readonly Payment[]): Promise<readonly Check[]> {
  const url = findRunningPostgres(dataDir)
  if (url === undefined) throw new Error(`no PostgreSQL runs in ${dataDir}`)
  const db = createDatabase({ url, connectionsMax: 1, log: createLog('silent') })
  try {
    return [...(await ledgerAgrees(db)), await bankAgrees(db, payments)]
  } finally {
    await db.close()
  }
}

async function ledgerAgrees(tx: Tx): Promise<readonly Check[]> {
  const accounts = await tx.rows<AccountRow>(sql`select id, name, currency, posted, reserved from ledger.accounts`)
  const transfers = await tx.rows<TransferRow>(sql`
    select id, kind, debit_account_id, credit_account_id, amount, reserve_id from ledger.transfers`)
  const totals = [...Map.groupBy(accounts, ({ currency }) => currency)].map(
    ([currency, rows]) => [currency, rows.reduce((total, { posted }) => total + posted, 0n)] as const,
  )
  const folds = foldOf(transfers)
  const nothing = { posted: 0n, reserved: 0n }
  return [
    {
      title: 'double entry',
      agreed: `the accounts add up to 0 in ${totals
        .map(([currency]) => currency)
        .toSorted()
        .join(', ')}`,
      differences: totals.filter(([, total]) => total !== 0n).map(([currency, total]) => `${currency}: ${total}`),
    },
    {
      title: 'ledger',
      agreed: `${accounts.length} accounts are the fold of ${transfers.length} transfers`,
      differences: accounts.flatMap(({ id, name, currency, posted, reserved }) => {
        const fold = folds.get(id) ?? nothing
        if (posted === fold.posted && reserved === fold.reserved) return []
        return [
          `${name} ${currency}: posted ${posted}, reserved ${reserved}; its transfers say ${fold.posted}, ${fold.reserved}`,
        ]
      }),
    },
  ]
}

/** Said again, apart from the service's own rules: a mistake in those would not be seen by themselves. */
function foldOf(transfers: readonly TransferRow[]) {
  const folds = new Map<string, { posted: bigint; reserved: bigint }>()
  const change = (id: string, posted: bigint, reserved: bigint) => {
    const before = folds.get(id) ?? { posted: 0n, reserved: 0n }
    folds.set(id, { posted: before.posted + posted, reserved: before.reserved + reserved })
  }
  const ended = new Set(transfers.map(({ reserveId }) => reserveId))
  for (const { id, kind, debitAccountId, creditAccountId, amount } of transfers) {
    // A reserve counts while nothing has ended it; its end moves money only as a post.
    if (kind === 'reserve' && !ended.has(id)) change(debitAccountId, 0n, amount)
    if (kind === 'direct' || kind === 'post') {
      change(debitAccountId, -amount, 0n)
      change(creditAccountId, amount, 0n)
    }
  }
  return folds
}

/** The sandbox bank keeps its own books: each payout reached it, and none twice. */
async function bankAgrees(tx: Tx, payments: readonly Payment[]): Promise<Check> {
  const rows = await tx.rows<InstructionRow>(sql`select id, times_received from rails.sandbox_instructions`)
  const wanted = payments.filter(({ instructed }) => instructed).length
  const twice = rows.filter(({ timesReceived }) => timesReceived !== 1)
  return {
    title: 'bank',
    agreed: `${rows.length} instructions, each received once`,
    differences: [
      ...(rows.length === wanted ? [] : [`${rows.length} instructions for ${wanted} payouts`]),
      ...twice.map(({ id, timesReceived }) => `instruction ${id} was received ${timesReceived} times`),
    ],
  }
}
