/** Databases, processes and contestants of one run, in the order in which they are needed. */
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { type BaselinePartner, schema, seed } from './baseline/schema.ts'
import { type Program, type Server, startServer } from './children.ts'
import {
  auditOf,
  baselineAudit,
  type Contestant,
  type Ledger,
  loadedContestant,
  type LoadedOptions,
  pgbenchContestant,
  type Turn,
} from './contestants.ts'
import { depositsContestant } from './deposits.ts'
import { fillRows, payoutsIn, someReferences } from './fill.ts'
import { type Load, startLoad } from './load.ts'
import { type Account, createBeneficiaries, createPartners, privateKeyPem, publicKeyPem } from './partners.ts'
import { fillPgbench, type Postgres, withClient } from './postgres.ts'

export type StageOptions = {
  readonly postgres: Postgres
  readonly load: Load
  readonly turn: Turn
  readonly pgbench: boolean
  /** Partners, rows and what else takes long to make. */
  readonly full: { readonly partners: number; readonly rows: number } | undefined
  readonly execArgv: readonly string[]
  readonly say: (line: string) => void
}
export type Stage = {
  readonly contestants: readonly Contestant[]
  /** One partner's payouts, for what is measured after the rounds. */
  readonly payouts: { readonly options: LoadedOptions; readonly ledger: Ledger; readonly audit: Contestant['audit'] }
  readonly stop: () => Promise<void>
}

const connections = 64
const referencesCount = 10_000

export async function buildStage(options: StageOptions): Promise<Stage> {
  const { postgres, load, turn, execArgv, full, say } = options
  const servers: Server[] = []
  const common = { load, connections, ...turn }
  const folder = (name: string) => join(postgres.folder, name)
  const start = async (program: Program, databaseUrl: string, name: string, env = {}) => {
    const server = await startServer(program, { databaseUrl, dataDir: folder(name), env, execArgv })
    servers.push(server)
    return server
  }
  /** A database of the service with partners, and a program of the service on it. */
  const service = async (program: Program, name: string, partners: number, fill?: Fill, env = {}) => {
    const databaseUrl = await postgres.create(name, 'service')
    const accounts = await createPartners(databaseUrl, folder(name), partners)
    const filled = (await fill?.(databaseUrl, accounts)) ?? 0
    const server = await start(program, databaseUrl, name, env)
    const ledger: Ledger = { accepted: filled, unknown: 0 }
    const made = await createBeneficiaries(server.port, accounts)
    server.freeze()
    return { ...common, databaseUrl, server, ledger, partners: made, audit: auditOf(databaseUrl, ledger) }
  }

  const cyclicLoads: Load[] = []
  const contestants: Contestant[] = options.pgbench ? await pgbenches(postgres, turn) : []
  say('starting the service, with its workers and without, and the baseline')
  const serve = await service('serve', 'serve', 1)
  const accept = await service('accept', 'accept', 1)
  contestants.push(
    await baseline(postgres, common, (url) => start('baseline', url, 'baseline')),
    loadedContestant({ ...serve, name: 'payouts with settlement', kind: 'payout' }),
    loadedContestant({ ...accept, name: 'payouts', kind: 'payout' }),
  )
  if (full) {
    const stateless = await start('stateless', accept.databaseUrl, 'accept')
    stateless.freeze()
    const cyclic = startLoad(privateKeyPem)
    cyclicLoads.push(cyclic)
    const { partners } = accept
    const bare = { ...common, load: cyclic, server: stateless, partners, kind: 'payout', cyclic: true } as const
    contestants.push(loadedContestant({ ...bare, name: 'no database' }))
    say(`making ${full.partners} partners, and ${full.rows.toLocaleString('en')} rows`)
    const many = await service('accept', 'partners', full.partners)
    contestants.push(loadedContestant({ ...many, name: '1,000 partners', kind: 'payout' }))
    const fill: Fill = async (url, [account]) => {
      await fillRows(url, account?.partnerId ?? '', full.rows, say)
      return payoutsIn(full.rows)
    }
    const rows = await service('accept', 'rows', 1, fill)
    const references = await someReferences(rows.databaseUrl, full.rows, referencesCount)
    const empty = await start('empty', rows.databaseUrl, 'rows')
    const get = { ...common, partners: rows.partners, references, kind: 'get' } as const
    contestants.push(
      loadedContestant({ ...rows, name: 'many rows', kind: 'payout' }),
      loadedContestant({ ...get, server: rows.server, name: 'get' }),
      loadedContestant({ ...get, server: empty, name: 'empty get' }),
    )
    const bank = await service('accept', 'deposits', 1, undefined, { SANDBOX_BANK_DELAY_MS: '0' })
    const { ledger: _deposits, ...opening } = bank
    const worker = await start('settle', bank.databaseUrl, 'deposits', { SANDBOX_BANK_DELAY_MS: '0' })
    worker.freeze()
    contestants.push(depositsContestant({ ...opening, worker }))
  }
  const { ledger, audit } = accept
  return {
    contestants,
    payouts: { options: { ...accept, name: 'payouts', kind: 'payout' }, ledger, audit },
    stop: async () => {
      for (const cyclic of cyclicLoads) cyclic.stop()
      await Promise.all(servers.map((server) => server.stop()))
    },
  }
}

/** Answers how many payouts it made. */
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
  const [partnerId, apiKey, apiSecret] = [randomUUID(), randomUUID(), randomUUID()]
  const partner: BaselinePartner = {
    partnerId,
    apiKey,
    apiSecret,
    customerId: randomUUID(),
    beneficiaryId: randomUUID(),
  }
  await withClient(databaseUrl, async (client) => {
    await client.query(schema)
    for (const [text, ...values] of seed(partner, publicKeyPem, [randomUUID(), randomUUID()]))
      await client.query(text, [...values])
  })
  const server = await start(databaseUrl)
  const ledger: Ledger = { accepted: 0, unknown: 0 }
  const audit = baselineAudit(databaseUrl, ledger)
  return loadedContestant({ ...common, server, ledger, audit, partners: [partner], name: 'baseline', kind: 'payout' })
}
