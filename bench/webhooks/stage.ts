/** The databases, endpoints, processes and contestants of one run. Creates only what the selected rows need. */
import { join } from 'node:path'
import type { Server } from '../children.ts'
import { loadedContestant } from '../contestants.ts'
import type { Postgres } from '../postgres.ts'
import type { Contestant } from '../rounds.ts'
import { createStage } from '../stage.ts'
import { fillBacklog } from './backlog.ts'
import { rawContestant } from './raw.ts'
import { type EndpointKind, startEndpoints } from './receivers.ts'
import { claimsContestant, deliveriesContestant, pacedContestant, payoutsContestant } from './service-contestants.ts'
import { createSetup, type Setup, type SetupOptions } from './setup.ts'

export const names = {
  deliveries: 'deliveries',
  raw: 'raw client',
  slow: 'low load',
  alone: '99 healthy alone',
  beside: '99 healthy beside a hanging one',
  living: '800 healthy alone',
  dead: '800 healthy among 200 dead',
  quiet: 'payouts',
  delivering: 'payouts, two deliveries each',
  few: 'claims, none else pending',
  many: 'claims, many pending',
} as const

export const rowNumbers = [1, 3, 4, 5, 6, 7] as const
export type RowNumber = (typeof rowNumbers)[number]
type StageOptions = {
  readonly postgres: Postgres
  readonly seconds: number
  /** Rows of the table. Only their contestants are created. */
  readonly only: ReadonlySet<RowNumber>
  readonly pending: number
  readonly hanging: number
  readonly execArgv: readonly string[]
  readonly say: (line: string) => void
}

/** Endpoints per partner, and so deliveries per event. */
const perEvent = 2
const slowEventsPerSecond = 20
const pacedEventsPerSecond = 60

const healthy = (count: number) => Array.from({ length: count }, (): EndpointKind => 'ok')
/** Every fifth endpoint is dead, in one of three ways. */
const deadKinds = ['refused', 'hang', 'error'] as const
const someDead = (count: number): readonly EndpointKind[] =>
  Array.from({ length: count }, (_, at) => (at % 5 === 4 ? (deadKinds[Math.floor(at / 5) % 3] ?? 'error') : 'ok'))

function createBuilding(options: StageOptions) {
  const { postgres, execArgv } = options
  const stage = createStage(postgres, execArgv)
  const endpointsOf = async (kinds: readonly EndpointKind[]) => {
    const endpoints = await startEndpoints(kinds)
    stage.keep(endpoints.stop)
    return endpoints
  }
  const subscribe = async (given: SetupOptions): Promise<Setup> => {
    const setup = await createSetup(given)
    stage.keep(setup.close)
    return setup
  }
  const setup = async (name: string, kinds: readonly EndpointKind[], perPartner: number, active?: number) => {
    const { databaseUrl, dataDir } = await stage.target(name)
    const endpoints = await endpointsOf(kinds)
    const given = { databaseUrl, dataDir, endpoints, perPartner }
    return subscribe(active === undefined ? given : { ...given, active })
  }
  return {
    options,
    contestants: [] as Contestant[],
    stage,
    endpointsOf,
    subscribe,
    setup,
    /** Starts a worker of the service, frozen. Without a rail it settles no payouts, so that it only delivers. */
    worker: ({ databaseUrl }: Setup, name: string): Promise<Server> =>
      stage.start('worker', { databaseUrl, dataDir: join(postgres.folder, name) }, { env: { RAIL: 'none' } }),
  }
}
type Building = ReturnType<typeof createBuilding>

/** Rows 1 and 5: a hundred healthy endpoints. */
async function addDeliveries({ options, contestants, stage, ...build }: Building): Promise<void> {
  const { only, seconds, say } = options
  const kinds = healthy(100)
  say('a hundred healthy endpoints for each contestant')
  if (only.has(1)) {
    const setup = await build.setup('deliveries', kinds, perEvent)
    const worker = await build.worker(setup, 'deliveries')
    const raw = rawContestant(names.raw, await build.endpointsOf(kinds), options)
    stage.keep(raw.stop)
    contestants.push(deliveriesContestant({ name: names.deliveries, setup, seconds, worker }), raw)
  }
  if (only.has(5)) {
    const setup = await build.setup('slow', kinds, perEvent)
    const worker = await build.worker(setup, 'slow')
    const slow = { name: names.slow, setup, worker, eventsPerSecond: slowEventsPerSecond }
    contestants.push(pacedContestant({ ...slow, seconds: Math.max(seconds, 3) }))
  }
}

/** Row 3: 99 healthy endpoints of 33 partners, with and without one that hangs. */
async function addHanging(build: Building): Promise<void> {
  const { seconds, hanging, say } = build.options
  say(`99 healthy endpoints, alone and beside one that hangs with ${hanging.toLocaleString('en')} pending`)
  const common = { seconds: Math.max(seconds, 3), eventsPerSecond: pacedEventsPerSecond }
  const alone = await build.setup('alone', healthy(99), 3)
  const beside = await build.setup('beside', [...healthy(99), 'hang'], 3, 33)
  const partnerIds = beside.partnerIds.slice(33)
  await fillBacklog(beside, { partnerIds, eventsPerPartner: hanging, waiting: false, say })
  for (const { name, setup, folder } of [
    { name: names.alone, setup: alone, folder: 'alone' },
    { name: names.beside, setup: beside, folder: 'beside' },
  ] as const)
    build.contestants.push(pacedContestant({ ...common, name, setup, worker: await build.worker(setup, folder) }))
}

/** Row 4: 800 healthy endpoints, with and without 200 dead ones. */
async function addDead(build: Building): Promise<void> {
  const { seconds, say } = build.options
  say('a thousand endpoints of which 200 are dead, and 800 healthy endpoints')
  const dead = await build.setup('dead', someDead(1000), 5)
  const living = await build.setup('living', healthy(800), 4)
  for (const { name, setup, folder } of [
    { name: names.dead, setup: dead, folder: 'dead' },
    { name: names.living, setup: living, folder: 'living' },
  ] as const)
    build.contestants.push(deliveriesContestant({ name, setup, seconds, worker: await build.worker(setup, folder) }))
}

/** Row 6: payouts of a partner with two endpoints, and of one without. */
async function addPayouts(build: Building): Promise<void> {
  const { seconds, say } = build.options
  say('payouts of a partner with two endpoints, and of one without')
  const turn = { seconds, leadSeconds: 0, kind: 'payout' } as const
  const quiet = await build.stage.service('accept', 'quiet')
  build.contestants.push(loadedContestant({ ...quiet, ...turn, name: names.quiet }))
  const service = await build.stage.service('accept', 'delivering')
  const { databaseUrl, dataDir } = service
  const endpoints = await build.endpointsOf(healthy(perEvent))
  const partnerIds = service.partners.map(({ partnerId }) => partnerId)
  const setup = await build.subscribe({ databaseUrl, dataDir, endpoints, perPartner: perEvent, partnerIds })
  const worker = await build.worker(setup, 'delivering')
  build.contestants.push(payoutsContestant({ ...service, ...turn, name: names.delivering, setup, worker }))
}

/** Row 7: a hundred endpoints of five partners. Half of the pending rows are due for them, half wait for others. */
async function addClaims(build: Building): Promise<void> {
  const { seconds, pending, say } = build.options
  const partners = 5
  const perPartner = 20
  const ours = partners * perPartner
  say(`a queue with ${pending.toLocaleString('en')} rows, and one with none`)
  const few = await build.setup('few', healthy(ours), perPartner)
  const many = await build.setup('many', healthy(2 * ours), perPartner)
  const backlog = { eventsPerPartner: Math.ceil(pending / 2 / ours), say }
  await fillBacklog(many, { ...backlog, partnerIds: many.partnerIds.slice(0, partners), waiting: false })
  await fillBacklog(many, { ...backlog, partnerIds: many.partnerIds.slice(partners), waiting: true })
  const lined = { few: few.partnerIds, many: many.partnerIds.slice(0, partners) }
  // Each round adds what it takes, so that the full queue keeps its size.
  const filling = (setup: Setup, partnerIds: readonly string[]) => (deliveries: number) =>
    fillBacklog(setup, { partnerIds, eventsPerPartner: Math.ceil(deliveries / ours), waiting: false })
  for (const { name, setup, folder } of [
    { name: names.few, setup: few, folder: 'few' },
    { name: names.many, setup: many, folder: 'many' },
  ] as const)
    build.contestants.push(
      claimsContestant({
        name,
        setup,
        seconds,
        fill: filling(setup, lined[folder]),
        start: () => build.worker(setup, folder),
      }),
    )
}

export async function buildContestants(
  options: StageOptions,
): Promise<{ readonly contestants: readonly Contestant[]; readonly stop: () => Promise<void> }> {
  const build = createBuilding(options)
  const { only } = options
  if (only.has(1) || only.has(5)) await addDeliveries(build)
  if (only.has(3)) await addHanging(build)
  if (only.has(4)) await addDead(build)
  if (only.has(6)) await addPayouts(build)
  if (only.has(7)) await addClaims(build)
  return { contestants: build.contestants, stop: build.stage.stop }
}
