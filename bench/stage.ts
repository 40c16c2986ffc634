/** The databases, processes and contestants of one run. */
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { type BaselinePartner, schema, seed } from './baseline/schema.ts'
import { type Program, type Server, startServer } from './children.ts'
import {
  auditOf,
  baselineAudit,
  type Contestant,
  loadedContestant,
  type LoadedOptions,
  pgbenchContestant,
  type Tally,
  type Turn,
} from './contestants.ts'
import { depositsContestant } from './deposits.ts'
import { endedContestant } from './ended.ts'
import { fillRows, payoutsIn, randomReferences } from './fill.ts'
import { type Load, startLoad } from './load.ts'
import { type Account, createBeneficiaries, createPartners, privateKeyPem, publicKeyPem } from './partners.ts'
import { fillPgbench, type Postgres, withClient } from './postgres.ts'

export type StageOptions = {
  readonly postgres: Postgres
  readonly load: Load
  readonly turn: Turn
  readonly pgbench: boolean
  /** The sizes of the slow contestants of the full form. */
  readonly full: { readonly partners: number; readonly rows: number } | undefined
  readonly execArgv: readonly string[]
  readonly say: (line: string) => void
}
export type Stage = {
  readonly contestants: readonly Contestant[]
  /** The contestant `payouts`, which overload and memory measure after the rounds. */
  readonly payouts: { readonly options: LoadedOptions; readonly tally: Tally; readonly audit: Contestant['audit'] }
  readonly stop: () => Promise<void>
}

const connections = 64
const referencesCount = 10_000

export async function buildStage(options: StageOptions): Promise<Stage> {
  const { postgres, turn, full, say } = options
  const builder = createBuilder(options)
  const contestants: Contestant[] = options.pgbench ? await pgbenches(postgres, turn) : []
  say('starting the service, with its workers and without, and the baseline')
  const serve = await builder.service('serve', 'serve', 1)
  const accept = await builder.service('accept', 'accept', 1)
  contestants.push(
    await baseline(postgres, builder.common, (url) => builder.start('baseline', url, 'baseline')),
    endedContestant({ ...serve, name: 'ended payouts' }),
    loadedContestant({ ...accept, name: 'payouts', kind: 'payout' }),
  )
  if (full) {
    contestants.push(await withoutDatabase(builder, accept))
    say(`creating ${full.partners} partners, and ${full.rows.toLocaleString('en')} rows`)
    const many = await builder.service('accept', 'partners', full.partners)
    contestants.push(loadedContestant({ ...many, name: '1,000 partners', kind: 'payout' }))
    contestants.push(...(await onManyRows(builder, full.rows, say)))
    contestants.push(await deposits(builder))
  }
  const { tally, audit } = accept
  return {
    contestants,
    payouts: { options: { ...accept, name: 'payouts', kind: 'payout' }, tally, audit },
    stop: builder.stop,
  }
}

/** Starts programs on databases of their own. */
function createBuilder({ postgres, load, turn, execArgv }: StageOptions) {
  const servers: Server[] = []
  const loads: Load[] = []
  const common = { load, connections, ...turn }
  const folder = (name: string) => join(postgres.folder, name)
  const start = async (program: Program, databaseUrl: string, name: string, env = {}) => {
    const server = await startServer(program, { databaseUrl, dataDir: folder(name), env, execArgv })
    servers.push(server)
    return server
  }
  /** Creates a database with partners, and starts a program of the service on it. */
  const service = async (program: Program, name: string, partnerCount: number, fill?: Fill, env = {}) => {
    const databaseUrl = await postgres.create(name, 'service')
    const accounts = await createPartners(databaseUrl, folder(name), partnerCount)
    const tally: Tally = { accepted: (await fill?.(databaseUrl, accounts)) ?? 0, unknown: 0 }
    const server = await start(program, databaseUrl, name, env)
    const partners = await createBeneficiaries(server.port, accounts)
    server.freeze()
    return { ...common, databaseUrl, server, tally, partners, audit: auditOf(databaseUrl, tally) }
  }
  return {
    common,
    start,
    service,
    /** A load generator of its own, for requests that it repeats. */
    startCyclicLoad: (): Load => {
      const cyclic = startLoad(privateKeyPem)
      loads.push(cyclic)
      return cyclic
    },
    stop: async () => {
      for (const each of loads) each.stop()
      await Promise.all(servers.map((server) => server.stop()))
    },
  }
}

type Builder = ReturnType<typeof createBuilder>
type BuiltService = Awaited<ReturnType<Builder['service']>>

async function withoutDatabase(builder: Builder, accept: BuiltService): Promise<Contestant> {
  const server = await builder.start('stateless', accept.databaseUrl, 'accept')
  server.freeze()
  return loadedContestant({
    ...builder.common,
    load: builder.startCyclicLoad(),
    server,
    partners: accept.partners,
    name: 'no database',
    kind: 'payout',
    cyclic: true,
  })
}

async function onManyRows(
  builder: Builder,
  rowCount: number,
  say: StageOptions['say'],
): Promise<readonly Contestant[]> {
  const fill: Fill = async (url, [account]) => {
    await fillRows(url, account?.partnerId ?? '', rowCount, say)
    return payoutsIn(rowCount)
  }
  const filled = await builder.service('accept', 'rows', 1, fill)
  const references = await randomReferences(filled.databaseUrl, rowCount, referencesCount)
  const empty = await builder.start('empty', filled.databaseUrl, 'rows')
  const get = { ...builder.common, partners: filled.partners, references, kind: 'get' } as const
  return [
    loadedContestant({ ...filled, name: 'many rows', kind: 'payout' }),
    loadedContestant({ ...get, server: filled.server, name: 'get' }),
    loadedContestant({ ...get, server: empty, name: 'empty get' }),
  ]
}

async function deposits(builder: Builder): Promise<Contestant> {
  const env = { SANDBOX_BANK_DELAY_MS: '0' }
  const { tally: _payoutsOnly, ...opening } = await builder.service('accept', 'deposits', 1, undefined, env)
  const worker = await builder.start('settle', opening.databaseUrl, 'deposits', env)
  worker.freeze()
  return depositsContestant({ ...opening, worker })
}

/** Returns how many payouts it created. */
type Fill = (databaseUrl: string, accounts: readonly Account[]) => Promise<number>

async function pgbenches(postgres: Postgres, turn: Turn): Promise<Contestant[]> {
  const made: Contestant[] = []
  for (const scale of [1, 10]) {
    const url = await postgres.create(`pgbench_${scale}`, 'empty')
    await fillPgbench(url, scale)
    made.push(pgbenchContestant(`pgbench ${scale}`, url, turn))
  }
  return made
}

async function baseline(
  postgres: Postgres,
  common: Pick<LoadedOptions, 'load' | 'connections' | keyof Turn>,
  start: (databaseUrl: string) => Promise<Server>,
): Promise<Contestant> {
  const databaseUrl = await postgres.create('baseline', 'empty')
  const partner: BaselinePartner = {
    partnerId: randomUUID(),
    apiKey: randomUUID(),
    apiSecret: randomUUID(),
    customerId: randomUUID(),
    beneficiaryId: randomUUID(),
  }
  await withClient(databaseUrl, async (client) => {
    await client.query(schema)
    for (const [text, ...values] of seed(partner, publicKeyPem, [randomUUID(), randomUUID()]))
      await client.query(text, [...values])
  })
  const server = await start(databaseUrl)
  const tally: Tally = { accepted: 0, unknown: 0 }
  const audit = baselineAudit(databaseUrl, tally)
  return loadedContestant({ ...common, server, tally, audit, partners: [partner], name: 'baseline', kind: 'payout' })
}
