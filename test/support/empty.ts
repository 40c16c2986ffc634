/** An empty database on the test server, for tests that create the schema themselves. */
import { createLog, randomText } from '../../service/src/kernel/index.ts'
import { createDatabase } from '../../service/src/postgres/index.ts'
import { createTestDatabase, type TestDatabase } from './postgres.ts'

export async function createEmptyDatabase(): Promise<TestDatabase> {
  const template = await createTestDatabase()
  const admin = createDatabase({ url: template.url, connectionsMax: 1, log: createLog('silent') })
  const name = `empty_${randomText(16)}`
  await admin.pool.query(`create database ${name} template template0`)
  return {
    url: Object.assign(new URL(template.url), { pathname: `/${name}` }).href,
    drop: async () => {
      await admin.pool.query(`drop database ${name} with (force)`)
      await admin.close()
      await template.drop()
    },
  }
}
