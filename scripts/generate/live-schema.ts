/** Migrates a new database on a real server and generates the schema page from it. */
import { createLog } from '../../service/src/kernel/index.ts'
import { createDatabase, migrate } from '../../service/src/postgres/index.ts'
import { createTestDatabase } from '../../test/support/postgres.ts'
import { generateSchema } from './database.ts'

export async function liveSchema(): Promise<string> {
  const { url, drop } = await createTestDatabase()
  const database = createDatabase({ url, connectionsMax: 2, log: createLog('error') })
  try {
    await migrate(database.pool)
    return await generateSchema(database.pool)
  } finally {
    await database.close()
    await drop()
  }
}
