/** The command that prints whether the banks and the ledger agree, statement by statement, with every item. */
import { createLog, csvCellOrAmount, dayMs } from '../kernel/index.ts'
import { createDatabase, readAtOneMoment } from '../postgres/index.ts'
import type { CommandsOf, Context, Write } from './context.ts'

/** Columns of the CSV, in this order. A line of JSON has those that it fills. */
const columns = [
  ...['record', 'connector', 'account', 'currency', 'id', 'kind', 'status', 'amount', 'count', 'since', 'age_seconds'],
  ...['first_seen', 'why', 'at', 'statement_on', 'sequence', 'from', 'opening', 'credits', 'debits', 'closing'],
  ...['gap_before', 'sum_differs', 'bank', 'ledger', 'difference', 'unexplained', 'partner', 'subject', 'score'],
  ...['matched_by', 'reference', 'other_party', 'remittance', 'explained'],
] as const

export const reconcileCommands: CommandsOf<'reconcile'> = {
  reconcile:
    (context, { connector, account, at, format }) =>
    (write) =>
      print(context, { connector, account, at }, format, write),
}

type Wanted = Parameters<Context['service']['reconciliation']['report']>[1]

/** Prints all of it in one snapshot, on a connection of its own, like a statement of the ledger. */
async function print(
  { service: { reconciliation }, config, databaseUrl }: Context,
  wanted: Wanted,
  format: 'json' | 'csv',
  write: Write,
): Promise<void> {
  const limits = { queryTimeoutMs: dayMs, idleInTransactionMsMax: dayMs, sharded: config.DATABASE_SHARDED }
  const db = createDatabase({ url: databaseUrl, connectionsMax: 1, log: createLog('silent'), ...limits })
  try {
    await db.transaction(async (tx) => {
      await readAtOneMoment(tx)
      let lines = 0
      await write(format === 'json' ? '[' : `${columns.join(',')}\n`)
      for await (const page of reconciliation.report(tx, wanted)) {
        const texts = page.map((line) =>
          format === 'json'
            ? JSON.stringify(line)
            : columns.map((name) => csvCellOrAmount((line as Readonly<Record<string, string>>)[name] ?? '')).join(','),
        )
        if (texts.length === 0) continue
        await write(
          format === 'json'
            ? `${lines === 0 ? '\n' : ',\n'}${texts.join(',\n')}`
            : texts.map((text) => `${text}\n`).join(''),
        )
        lines += texts.length
      }
      if (format === 'json') await write('\n]\n')
    })
  } finally {
    await db.close()
  }
}
