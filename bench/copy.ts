/** PostgreSQL's `copy ... to stdout`, with the protocol of the driver and without further work. */
import type { Writable } from 'node:stream'
import pg from 'pg'

type CopyConnection = {
  readonly query: (text: string) => void
  readonly on: (name: string, listener: (message: { readonly chunk: Buffer }) => void) => void
}

/** Writes the rows into `target` as they come, and waits while it is full. */
export async function copyRows(url: string, statement: string, target: Writable): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await new Promise<void>((resolve, reject) => {
      const query = {
        submit: (connection: CopyConnection) => connection.query(statement),
        handleCopyData: ({ chunk }: { readonly chunk: Buffer }) => void target.write(chunk),
        handleCommandComplete: () => undefined,
        handleReadyForQuery: () => resolve(),
        handleError: reject,
        handleRowDescription: () => undefined,
        handleDataRow: () => undefined,
      }
      // Its end is reported by the handlers.
      void client.query(query as unknown as string)
    })
  } finally {
    await client.end()
  }
}
