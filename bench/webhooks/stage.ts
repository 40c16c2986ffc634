/** The databases, endpoints, processes and contestants of one run. Creates only what the selected rows need. */
import { join } from 'node:path'
import { type Program, type Server, startServer } from '../children.ts'
import { auditOf, type Contestant, type Tally, loadedContestant } from '../contestants.ts'
import { startLoad } from '../load.ts'
import { createBeneficiaries, createPartners, privateKeyPem } from '../partners.ts'
import type { Postgres } from '../postgres.ts'
import { fillBacklog } from './backlog.ts'
import { claimsContestant, deliveriesContestant, pacedContestant, payoutsContestant } from './service-contestants.ts'
import { bossPeer, graphilePeer } from './peers/fill.ts'
import { createSetup, type Setup } from './setup.ts'
import { type EndpointKind, startEndpoints } from './receivers.ts'
import { peerContestant, rawContestant } from './peer-contestants.ts'
import { names, type RowNumber } from './table.ts'

export type StageOptions = {
  readonly postgres: Postgres
  readonly seconds: number
  /** Rows of the table. Only their contestants are created. */
  readonly only: ReadonlySet<RowNumber>
  readonly pending: number
  readonly hanging: number
  readonly execArgv: readonly string[]
  readonly say: (line: string) => void
}
export type Meanwhile = { readonly rates: number[]; readonly shares: number[] }
export type Stage = {
  readonly contestants: readonly Contestant[]
  /** What the worker delivered during the payouts. */
  readonly meanwhile: Meanwhile
  readonly stop: () => Promise<void>
}

/** Endpoints per partner, and so deliveries per event. */
const perEvent = 2
/** Concurrent requests, like the limit of one process of the service. */
const inFlight = 500
const slowEventsPerSecond = 20
const pacedEventsPerSecond = 60
const connections = 64

const times = <T>(count: number, value: T): readonly T[] => Array.from({ length: count }, () => value)
const healthy = (count: number) => times<EndpointKind>(count, 'ok')
/** Every fifth endpoint is dead, in one of three ways. */
const deadKinds = ['refused', 'hang', 'error'] as const
const someDead = (count: number): readonly EndpointKind[] =>
  Array.from({ length: count }, (_, at) => (at % 5 === 4 ? (deadKinds[Math.floor(at / 5) % 3] ?? 'error') : 'ok'))

type Building = {
  readonly options: StageOptions
  readonly contestants: Contestant[]
  readonly stops: (() => unknown)[]
  readonly start: (program: Program, databaseUrl: string, name: string) => Promise<Server>
  readonly endpointsOf: (kinds: readonly EndpointKind[]) => ReturnType<typeof startEndpoints>
  readonly setup: (name: string, kinds: readonly EndpointKind[], perPartner: number, active?: number) => Promise<Setup>
  /** Starts a worker of the service and freezes it. */
  readonly frozen: (setup: Setup, name: string) => Promise<Server>
}

function building(options: StageOptions): Building {
  const { postgres, execArgv } = options
  const stops: (() => unknown)[] = []
  const folder = (name: string) => join(postgres.folder, name)
  const start: Building['start'] = async (program, databaseUrl, name) => {
    // Without a rail the worker settles no payouts, so that it only delivers.
    const env = program === 'worker' ? { RAIL: 'none' } : {}
    const server = await startServer(program, { databaseUrl, dataDir: folder(name), env, execArgv })
    stops.push(server.stop)
    return server
  }
  const endpointsOf: Building['endpointsOf'] = async (kinds) => {
    const endpoints = await startEndpoints(kinds)
    stops.push(endpoints.stop)
    return endpoints
  }
  const setup: Building['setup'] = async (name, kinds, perPartner, active) => {
    const databaseUrl = await postgres.create(name, 'service')
    const endpoints = await endpointsOf(kinds)
    const common = { databaseUrl, dataDir: folder(name), endpoints, perPartner }
    const made = await createSetup({ ...common, ...(active === undefined ? {} : { active }) })
    stops.push(made.close)
    return made
  }
  const frozen: Building['frozen'] = async (at, name) => {
    const worker = await start('worker', at.databaseUrl, name)
    worker.freeze()
    return worker
  }
  return { options, contestants: [], stops, start, endpointsOf, setup, frozen }
}

/** Rows 1, 2 and 5: a hundred healthy endpoints. */
async function addDeliveries(build: Building): Promise<void> {
  const { options, contestants, stops, start } = build
  const { only, postgres, seconds, execArgv, say } = options
  const kinds = healthy(100)
  say('a hundred healthy endpoints for each contestant')
  if (only.has(1) || only.has(2)) {
    const setup = await build.setup('deliveries', kinds, perEvent)
    const worker = await build.frozen(setup, 'deliveries')
    contestants.push(deliveriesContestant({ name: names.deliveries, setup, seconds, worker }))
  }
  if (only.has(1)) {
    const raw = rawContestant({ endpoints: await build.endpointsOf(kinds), seconds, execArgv }, inFlight)
    stops.push(raw.stop)
    contestants.push(raw)
  }
  for (const { program, open } of only.has(2) ? peers : []) {
    const databaseUrl = await postgres.create(program, 'empty')
    const endpoints = await build.endpointsOf(kinds)
    const peer = await peerContestant({
      name: names[program],
      databaseUrl,
      endpoints,
      seconds,
      execArgv,
      perPartner: perEvent,
      open,
      start: () => start(program, databaseUrl, program),
    })
    stops.push(peer.stop)
    contestants.push(peer)
  }
  if (only.has(5)) {
    const setup = await build.setup('slow', kinds, perEvent)
    const worker = await build.frozen(setup, 'slow')
    const slow = { name: names.slow, setup, worker, eventsPerSecond: slowEventsPerSecond }
    contestants.push(pacedContestant({ ...slow, seconds: Math.max(seconds, 3) }))
  }
}
const peers = [
  { program: 'graphile', open: graphilePeer },
  { program: 'boss', open: bossPeer },
] as const

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
    build.contestants.push(pacedContestant({ ...common, name, setup, worker: await build.frozen(setup, folder) }))
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
    build.contestants.push(deliveriesContestant({ name, setup, seconds, worker: await build.frozen(setup, folder) }))
}

/** Row 6: payouts of a partner with two endpoints, and of one without. */
async function addPayouts(build: Building, meanwhile: Meanwhile): Promise<void> {
  const { postgres, seconds, say } = build.options
  say('payouts of a partner with two endpoints, and of one without')
  const load = startLoad(privateKeyPem)
  build.stops.push(load.stop)
  const service = async (name: string) => {
    const databaseUrl = await postgres.create(name, 'service')
    const dataDir = join(postgres.folder, name)
    const accounts = await createPartners(databaseUrl, dataDir, 1)
    const server = await build.start('accept', databaseUrl, name)
    const partners = await createBeneficiaries(server.port, accounts)
    server.freeze()
    const tally: Tally = { accepted: 0, unknown: 0 }
    const turn = { seconds, leadSeconds: 0 }
    return { databaseUrl, dataDir, server, partners, tally, load, connections, ...turn, kind: 'payout' } as const
  }
  const quiet = await service('quiet')
  const auditLedger = auditOf(quiet.databaseUrl, quiet.tally)
  build.contestants.push(loadedContestant({ ...quiet, name: names.quiet, audit: auditLedger }))
  const telling = await service('telling')
  const { databaseUrl, dataDir, tally } = telling
  const endpoints = await build.endpointsOf(healthy(perEvent))
  const partnerIds = telling.partners.map(({ partnerId }) => partnerId)
  const setup = await createSetup({ databaseUrl, dataDir, endpoints, perPartner: perEvent, partnerIds })
  build.stops.push(setup.close)
  const worker = await build.frozen(setup, 'telling')
  const note = (rate: number, share: number) => {
    meanwhile.rates.push(rate)
    meanwhile.shares.push(share)
  }
  const options = { ...telling, name: names.telling, setup, worker, partnerId: partnerIds[0] ?? '' }
  build.contestants.push(payoutsContestant({ ...options, auditLedger: auditOf(databaseUrl, tally) }, note))
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
        start: () => build.start('worker', setup.databaseUrl, folder),
      }),
    )
}

export async function buildStage(options: StageOptions): Promise<Stage> {
  const build = building(options)
  const meanwhile: Meanwhile = { rates: [], shares: [] }
  const { only } = options
  if (only.has(1) || only.has(2) || only.has(5)) await addDeliveries(build)
  if (only.has(3)) await addHanging(build)
  if (only.has(4)) await addDead(build)
  if (only.has(6)) await addPayouts(build, meanwhile)
  if (only.has(7)) await addClaims(build)
  const stop = async () => {
    for (const each of build.stops.toReversed()) await each()
  }
  return { contestants: build.contestants, meanwhile, stop }
}
