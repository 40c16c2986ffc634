/** Databases, endpoints, processes and contestants of one run; only what the wanted rows need is made. */
import { join } from 'node:path'
import { type Program, type Server, startServer } from '../children.ts'
import { auditOf, type Contestant, type Tally, loadedContestant } from '../contestants.ts'
import { startLoad } from '../load.ts'
import { createBeneficiaries, createPartners, privateKeyPem } from '../partners.ts'
import type { Postgres } from '../postgres.ts'
import { fillBacklog } from './backlog.ts'
import { claimsContestant, deliveriesContestant, pacedContestant, payoutsContestant } from './ours.ts'
import { bossPeer, graphilePeer } from './peers/fill.ts'
import { createPlace, type Place } from './place.ts'
import { type EndpointKind, startEndpoints } from './receivers.ts'
import { peerContestant, rawContestant } from './rivals.ts'
import { names, type RowNumber } from './table.ts'

export type StageOptions = {
  readonly postgres: Postgres
  readonly seconds: number
  /** Rows of the table; contestants that none of them needs are not made. */
  readonly only: ReadonlySet<RowNumber>
  readonly pending: number
  readonly hanging: number
  readonly execArgv: readonly string[]
  readonly say: (line: string) => void
}
export type Meanwhile = { readonly rates: number[]; readonly shares: number[] }
export type Stage = {
  readonly contestants: readonly Contestant[]
  /** What the worker delivered while payouts were made. */
  readonly meanwhile: Meanwhile
  readonly stop: () => Promise<void>
}

/** As a payout makes them. */
const perEvent = 2
/** Under way at once in all: what one process of the service allows itself. */
const inFlight = 500
const slowEventsPerSecond = 20
const pacedEventsPerSecond = 60
const connections = 64

const times = <T>(count: number, value: T): readonly T[] => Array.from({ length: count }, () => value)
const healthy = (count: number) => times<EndpointKind>(count, 'ok')
/** Partners with two endpoints each; every fifth endpoint is dead, one way or another. */
const deadKinds = ['refused', 'hang', 'error'] as const
const someDead = (count: number): readonly EndpointKind[] =>
  Array.from({ length: count }, (_, at) => (at % 5 === 4 ? (deadKinds[Math.floor(at / 5) % 3] ?? 'error') : 'ok'))

type Building = {
  readonly options: StageOptions
  readonly contestants: Contestant[]
  readonly stops: (() => unknown)[]
  readonly start: (program: Program, databaseUrl: string, name: string) => Promise<Server>
  readonly endpointsOf: (kinds: readonly EndpointKind[]) => ReturnType<typeof startEndpoints>
  readonly place: (name: string, kinds: readonly EndpointKind[], perPartner: number, active?: number) => Promise<Place>
  /** The service's worker, frozen. */
  readonly frozen: (place: Place, name: string) => Promise<Server>
}

function building(options: StageOptions): Building {
  const { postgres, execArgv } = options
  const stops: (() => unknown)[] = []
  const folder = (name: string) => join(postgres.folder, name)
  const start: Building['start'] = async (program, databaseUrl, name) => {
    // Without a rail: payouts are not carried on, so that the worker does nothing but deliver.
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
  const place: Building['place'] = async (name, kinds, perPartner, active) => {
    const [databaseUrl, endpoints] = [await postgres.create(name, 'service'), await endpointsOf(kinds)]
    const common = { databaseUrl, dataDir: folder(name), endpoints, perPartner }
    const made = await createPlace({ ...common, ...(active === undefined ? {} : { active }) })
    stops.push(made.close)
    return made
  }
  const frozen: Building['frozen'] = async (at, name) => {
    const worker = await start('worker', at.databaseUrl, name)
    worker.freeze()
    return worker
  }
  return { options, contestants: [], stops, start, endpointsOf, place, frozen }
}

/** Rows 1, 2 and 5: a hundred healthy endpoints. */
async function addDeliveries(build: Building): Promise<void> {
  const { options, contestants, stops, start } = build
  const { only, postgres, seconds, execArgv, say } = options
  const kinds = healthy(100)
  say('a hundred healthy endpoints, for the service and for the others')
  if (only.has(1) || only.has(2)) {
    const place = await build.place('deliveries', kinds, perEvent)
    const worker = await build.frozen(place, 'deliveries')
    contestants.push(deliveriesContestant({ name: names.deliveries, place, seconds, worker }))
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
    const place = await build.place('slow', kinds, perEvent)
    const worker = await build.frozen(place, 'slow')
    const slow = { name: names.slow, place, worker, eventsPerSecond: slowEventsPerSecond }
    contestants.push(pacedContestant({ ...slow, seconds: Math.max(seconds, 3) }))
  }
}
const peers = [
  { program: 'graphile', open: graphilePeer },
  { program: 'boss', open: bossPeer },
] as const

/** Row 3: 99 healthy endpoints of 33 partners, with a hanging one beside them or without. */
async function addHanging(build: Building): Promise<void> {
  const { seconds, hanging, say } = build.options
  say(`99 healthy endpoints, alone and beside one that hangs with ${hanging.toLocaleString('en')} pending`)
  const common = { seconds: Math.max(seconds, 3), eventsPerSecond: pacedEventsPerSecond }
  const alone = await build.place('alone', healthy(99), 3)
  const beside = await build.place('beside', [...healthy(99), 'hang'], 3, 33)
  const partnerIds = beside.partnerIds.slice(33)
  await fillBacklog(beside, { partnerIds, eventsPerPartner: hanging, waiting: false, say })
  for (const [name, place, folder] of [
    [names.alone, alone, 'alone'],
    [names.beside, beside, 'beside'],
  ] as const)
    build.contestants.push(pacedContestant({ ...common, name, place, worker: await build.frozen(place, folder) }))
}

/** Row 4: 800 healthy endpoints, with 200 dead ones among them or without. */
async function addDead(build: Building): Promise<void> {
  const { seconds, say } = build.options
  say('a thousand endpoints of which 200 are dead, and the 800 others alone')
  const dead = await build.place('dead', someDead(1000), 5)
  const living = await build.place('living', healthy(800), 4)
  for (const [name, place, folder] of [
    [names.dead, dead, 'dead'],
    [names.living, living, 'living'],
  ] as const)
    build.contestants.push(deliveriesContestant({ name, place, seconds, worker: await build.frozen(place, folder) }))
}

/** Row 6: the payouts of one partner with two endpoints, and of one without. */
async function addPayouts(build: Building, meanwhile: Meanwhile): Promise<void> {
  const { postgres, seconds, say } = build.options
  say('payouts of a partner with two endpoints, and of one without')
  const load = startLoad(privateKeyPem)
  build.stops.push(load.stop)
  const service = async (name: string) => {
    const [databaseUrl, dataDir] = [await postgres.create(name, 'service'), join(postgres.folder, name)]
    const accounts = await createPartners(databaseUrl, dataDir, 1)
    const server = await build.start('accept', databaseUrl, name)
    const partners = await createBeneficiaries(server.port, accounts)
    server.freeze()
    const tally: Tally = { accepted: 0, unknown: 0 }
    const turn = { seconds, leadSeconds: 0 }
    return { databaseUrl, dataDir, server, partners, tally, load, connections, ...turn, kind: 'payout' } as const
  }
  const quiet = await service('quiet')
  const books = auditOf(quiet.databaseUrl, quiet.tally)
  build.contestants.push(loadedContestant({ ...quiet, name: names.quiet, audit: books }))
  const telling = await service('telling')
  const { databaseUrl, dataDir, tally } = telling
  const endpoints = await build.endpointsOf(healthy(perEvent))
  const partnerIds = telling.partners.map(({ partnerId }) => partnerId)
  const place = await createPlace({ databaseUrl, dataDir, endpoints, perPartner: perEvent, partnerIds })
  build.stops.push(place.close)
  const worker = await build.frozen(place, 'telling')
  const note = (rate: number, share: number) => {
    meanwhile.rates.push(rate)
    meanwhile.shares.push(share)
  }
  const options = { ...telling, name: names.telling, place, worker, partnerId: partnerIds[0] ?? '' }
  build.contestants.push(payoutsContestant({ ...options, books: auditOf(databaseUrl, tally) }, note))
}

/** Row 7: a hundred endpoints of five partners; half of what is pending is in line for them, half waits elsewhere. */
async function addClaims(build: Building): Promise<void> {
  const { seconds, pending, say } = build.options
  const [partners, perPartner] = [5, 20]
  const ours = partners * perPartner
  say(`a queue with ${pending.toLocaleString('en')} rows, and one with none`)
  const few = await build.place('few', healthy(ours), perPartner)
  const many = await build.place('many', healthy(2 * ours), perPartner)
  const backlog = { eventsPerPartner: Math.ceil(pending / 2 / ours), say }
  await fillBacklog(many, { ...backlog, partnerIds: many.partnerIds.slice(0, partners), waiting: false })
  await fillBacklog(many, { ...backlog, partnerIds: many.partnerIds.slice(partners), waiting: true })
  const lined = { few: few.partnerIds, many: many.partnerIds.slice(0, partners) }
  // Both are given what is taken, so that the one stays as deep as it is however many rounds there are.
  const filling = (place: Place, partnerIds: readonly string[]) => (deliveries: number) =>
    fillBacklog(place, { partnerIds, eventsPerPartner: Math.ceil(deliveries / ours), waiting: false })
  for (const [name, place, folder] of [
    [names.few, few, 'few'],
    [names.many, many, 'many'],
  ] as const)
    build.contestants.push(
      claimsContestant({
        name,
        place,
        seconds,
        fill: filling(place, lined[folder]),
        start: () => build.start('worker', place.databaseUrl, folder),
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
