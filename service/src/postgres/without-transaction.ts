/** Runs batches that are one statement: PostgreSQL makes it a transaction by itself, without `begin` and `commit`. */
import type { Database, TransactionOptions } from './database.ts'
import type { Tx } from './tx.ts'

export const withoutTransaction = (tx: Tx): Pick<Database, 'transaction' | 'sharded'> => ({
  sharded: tx.sharded,
  transaction: async <T, P = undefined>(
    work: (tx: Tx, read: P) => Promise<T>,
    { before }: TransactionOptions<P> = {},
  ): Promise<T> => work(tx, await (before?.(tx) as Promise<P>)),
})
