/** Each role as a separate process. They reach the database through a TCP proxy that a test can cut. */
import { randomBytes } from 'node:crypto'
import { type Credentials, createClient } from '../support/client.ts'
import { untilEnd } from '../support/fixture.ts'
import { createTestDatabase } from '../support/postgres.ts'
import { type Environment, freePortSettings, type Program, run, start, stop } from '../support/program.ts'
import { readCredentials } from '../support/service.ts'
import { startTcpProxy } from '../support/tcp-proxy.ts'

export type RunningRole = Program & { readonly url: string; readonly opsUrl: string }

export async function createProcesses() {
  const database = await createTestDatabase()
  const wire = await startTcpProxy(Number(new URL(database.url).port))
  const masterKey = randomBytes(32)
  const shared = { MASTER_KEY: masterKey.toString('base64'), LOG_LEVEL: 'info', SANDBOX_BANK_DELAY_MS: '20' }
  const proxiedUrl = Object.assign(new URL(database.url), { port: String(wire.port) }).href
  const programs: Program[] = []
  return {
    masterKey,
    databaseUrl: database.url,
    wire,
    role: async (role: string, env: Environment = {}): Promise<RunningRole> => {
      const { PORT, OPS_PORT } = await freePortSettings()
      // A worker does not open the port of the API.
      const ports = role === 'worker' ? { OPS_PORT } : { PORT, OPS_PORT }
      const program = await start([role], { ...shared, DATABASE_URL: proxiedUrl, ...ports, ...env })
      programs.push(program)
      return { ...program, url: `http://127.0.0.1:${PORT}`, opsUrl: `http://127.0.0.1:${OPS_PORT}` }
    },
    operator: async (...words: readonly string[]): Promise<Credentials> => {
      const ending = await run(['operator', ...words], { ...shared, LOG_LEVEL: 'warn', DATABASE_URL: database.url })
      if (ending.code !== 0) throw new Error(ending.stderr)
      return readCredentials(ending.stdout)
    },
    client: createClient,
    close: async () => {
      await Promise.all(programs.map(stop))
      await wire.close()
      await database.drop()
    },
  }
}

/** Ends with the file. */
export const useProcesses = async () => untilEnd(await createProcesses())
