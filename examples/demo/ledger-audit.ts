/** Checks of the database itself: double entry, balances against transfers, and the instructions that the bank received. */
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

/** `payments`: those that the sandbox bank carried; undefined: another bank did. */
export async function auditLedger(dataDir: string, payments?: readonly Payment[]): Promise<readonly Check[]> {
  const url = findRunningPostgres(dataDir)
  if (url === undefined) throw new Error(`no PostgreSQL runs in ${dataDir}`)
  const db = createDatabase({ url, connectionsMax: 1, log: createLog('silent') })
  try {
    return [...(await checkLedger(db)), ...(payments === undefined ? [] : [await checkBank(db, payments)])]
  } finally {
    await db.close()
  }
}

async function checkLedger(tx: Tx): Promise<readonly Check[]> {
  const accounts = await tx.rows<AccountRow>(sql`select id, name, currency, posted, reserved from ledger.accounts`)
  const transfers = await tx.rows<TransferRow>(sql`
    select id, kind, debit_account_id, credit_account_id, amount, reserve_id from ledger.transfers`)
  const totals = [...Map.groupBy(accounts, ({ currency }) => currency)].map(([currency, rows]) => ({
    currency,
    total: rows.reduce((sum, { posted }) => sum + posted, 0n),
  }))
  const computed = balancesFrom(transfers)
  const nothing = { posted: 0n, reserved: 0n }
  return [
    {
      title: 'double entry',
      agreed: `all accounts sum to 0 in ${totals
        .map(({ currency }) => currency)
        .toSorted()
        .join(', ')}`,
      differences: totals
        .filter(({ total }) => total !== 0n)
        .map(({ currency, total }) => `${currency}: the accounts sum to ${total}`),
    },
    {
      title: 'ledger',
      agreed: `${accounts.length} account balances equal the sums of ${transfers.length} transfers`,
      differences: accounts.flatMap(({ id, name, currency, posted, reserved }) => {
        const expected = computed.get(id) ?? nothing
        if (posted === expected.posted && reserved === expected.reserved) return []
        return [
          `${name} ${currency}: posted ${posted}, reserved ${reserved}; its transfers sum to ${expected.posted}, ${expected.reserved}`,
        ]
      }),
    },
  ]
}

/** Computes balances independently of the service's rules, so that a mistake in those is found. */
function balancesFrom(transfers: readonly TransferRow[]) {
  const balances = new Map<string, { posted: bigint; reserved: bigint }>()
  const change = (id: string, posted: bigint, reserved: bigint) => {
    const before = balances.get(id) ?? { posted: 0n, reserved: 0n }
    balances.set(id, { posted: before.posted + posted, reserved: before.reserved + reserved })
  }
  const ended = new Set(transfers.map(({ reserveId }) => reserveId))
  for (const { id, kind, debitAccountId, creditAccountId, amount } of transfers) {
    // A reserve counts until a post or a release ends it. Only a post moves money.
    if (kind === 'reserve' && !ended.has(id)) change(debitAccountId, 0n, amount)
    if (kind === 'direct' || kind === 'post') {
      change(debitAccountId, -amount, 0n)
      change(creditAccountId, amount, 0n)
    }
  }
  return balances
}

/** The sandbox bank counts the instructions it receives: one for each payout. */
async function checkBank(tx: Tx, payments: readonly Payment[]): Promise<Check> {
  const rows = await tx.rows<InstructionRow>(sql`select id, times_received from rails.sandbox_instructions`)
  const expected = payments.filter(({ instructed }) => instructed).length
  const repeated = rows.filter(({ timesReceived }) => timesReceived !== 1)
  return {
    title: 'bank',
    agreed: `${rows.length} instructions, each received once`,
    differences: [
      ...(rows.length === expected ? [] : [`${rows.length} instructions for ${expected} payouts`]),
      ...repeated.map(({ id, timesReceived }) => `instruction ${id} was received ${timesReceived} times`),
    ],
  }
}
