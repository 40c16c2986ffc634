/** Two cells with a database and a master key each, and routers in front of them. All are separate processes. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Credentials } from './client.ts'
import { runOperator } from './operator.ts'
import { atEnd } from './fixture.ts'
import { createTestDatabase } from './postgres.ts'
import { type Ending, type Environment, freePortSettings, type Program, start, stop } from './program.ts'
import { readCredentials } from './service.ts'

export type Cell = {
  readonly name: string
  readonly url: string
  readonly opsUrl: string
  readonly databaseUrl: string
  readonly output: () => string
  readonly start: () => Promise<void>
  readonly kill: () => Promise<void>
  readonly stop: () => Promise<void>
  readonly signal: (name: NodeJS.Signals) => void
  readonly operator: (words: readonly string[], env?: Environment) => Promise<Ending>
  readonly createPartner: (name: string) => Promise<Credentials>
  readonly dispose: () => Promise<void>
}

export async function createCell(name: string, env: Environment = {}): Promise<Cell> {
  const database = await createTestDatabase()
  const folder = await mkdtemp(join(tmpdir(), 'partner-payments-cell-'))
  const { PORT, OPS_PORT } = await freePortSettings()
  const own = {
    CELL: name,
    DATABASE_URL: database.url,
    DATA_DIR: folder,
    MASTER_KEY: randomBytes(32).toString('base64'),
    LOG_LEVEL: 'info',
    SANDBOX_BANK_DELAY_MS: '20',
    TRUSTED_PROXIES: '127.0.0.1',
    IBAN_ISSUERS: 'DE:37040044:1-5000000@one,DE:37040044:5000001-9000000@two',
    ...env,
  }
  let program: Program | undefined
  const operator = (words: readonly string[], more: Environment = {}) =>
    runOperator(words, { ...own, LOG_LEVEL: 'warn', ...more })
  const end = async () => {
    if (program) assert.equal((await stop(program)).code, 0)
    program = undefined
  }
  return {
    name,
    url: `http://127.0.0.1:${PORT}`,
    opsUrl: `http://127.0.0.1:${OPS_PORT}`,
    databaseUrl: database.url,
    output: () => program?.stderr() ?? '',
    start: async () => {
      program = await start(['serve'], { ...own, PORT, OPS_PORT })
    },
    kill: async () => {
      program?.signal('SIGKILL')
      await program?.ended
      program = undefined
    },
    stop: end,
    signal: (signal) => program?.signal(signal),
    operator,
    createPartner: async (partner) => {
      const ending = await operator(['partner', 'create', '--name', partner])
      assert.equal(ending.code, 0, ending.stderr)
      return readCredentials(ending.stdout)
    },
    dispose: async () => {
      await end()
      await database.drop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

export type Router = Program & { readonly url: string; readonly opsUrl: string }

export async function startRouter(cells: readonly Cell[], env: Environment = {}): Promise<Router> {
  const { PORT, OPS_PORT } = await freePortSettings()
  const CELL_URLS = cells.map(({ name, url, opsUrl }) => `${name}=${url}|${opsUrl}`).join(',')
  const program = await start(['router'], { CELL_URLS, LOG_LEVEL: 'info', PORT, OPS_PORT, ...env })
  return { ...program, url: `http://127.0.0.1:${PORT}`, opsUrl: `http://127.0.0.1:${OPS_PORT}` }
}

/** Two running cells. */
export async function useCells(env?: Environment): Promise<readonly [Cell, Cell]> {
  const cells = await Promise.all([createCell('one', env), createCell('two', env)])
  for (const cell of cells) atEnd(cell.dispose)
  await Promise.all(cells.map((cell) => cell.start()))
  return cells
}

export async function useRouter(...given: Parameters<typeof startRouter>): Promise<Router> {
  const router = await startRouter(...given)
  atEnd(() => stop(router))
  return router
}
