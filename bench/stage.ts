/** Starts programs of the bench on databases of their own, and ends them. */
import { join } from 'node:path'
import { type Program, type Server, startServer, type StartOptions } from './children.ts'
import { auditOf, type Tally } from './contestants.ts'
import { startLoad } from './load.ts'
import { type Account, createBeneficiaries, createPartners, privateKeyPem } from './partners.ts'
import type { Postgres } from './postgres.ts'

/** A database of the service, and what all contestants sent to it. */
export type Target = { readonly databaseUrl: string; readonly dataDir: string; readonly tally: Tally }
type ServiceOptions = {
  readonly partners?: number
  /** Returns how many payouts it created. */
  readonly fill?: (databaseUrl: string, account: Account) => Promise<number>
  readonly env?: StartOptions['env']
}

export const connections = 64

export function createStage(postgres: Postgres, execArgv: readonly string[] = []) {
  const stops: (() => unknown)[] = []
  const load = startLoad(privateKeyPem)
  stops.push(load.stop)
  const target = async (name: string): Promise<Target> => ({
    databaseUrl: await postgres.create(name, 'service'),
    dataDir: join(postgres.folder, name),
    tally: { accepted: 0, unknown: 0 },
  })
  /** Starts a program and freezes it. */
  const start = async (
    program: Program,
    { databaseUrl, dataDir }: Omit<Target, 'tally'>,
    more: Pick<StartOptions, 'args' | 'env'> = {},
  ): Promise<Server> => {
    const server = await startServer(program, { databaseUrl, dataDir, execArgv, ...more })
    stops.push(server.stop)
    server.freeze()
    return server
  }
  /** Creates a database with partners, and starts a program of the service on it. */
  const service = async (program: Program, name: string, options: ServiceOptions = {}) => {
    const { partners: count = 1, fill, env = {} } = options
    const at = await target(name)
    const accounts = await createPartners(at.databaseUrl, at.dataDir, count)
    if (fill) at.tally.accepted = await fill(at.databaseUrl, accounts[0] as Account)
    const server = await start(program, at, { env })
    server.thaw()
    const partners = await createBeneficiaries(server.port, accounts)
    server.freeze()
    return { ...at, server, partners, load, connections, audit: auditOf(at.databaseUrl, at.tally) }
  }
  return {
    load,
    target,
    start,
    service,
    /** Calls `stop` at the end. */
    keep: (stop: () => unknown): void => void stops.push(stop),
    stop: async (): Promise<void> => {
      for (const stop of stops.toReversed()) await stop()
    },
  }
}

export type Stage = ReturnType<typeof createStage>
export type Service = Awaited<ReturnType<Stage['service']>>
