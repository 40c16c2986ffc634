/**
 * Fixtures of test files. Each part ends with the file, suite or test that asks for it, so that no file has hooks for it. Ask at the
 * top of a file, in the body of a suite or in a test: what is asked for in `before` or `beforeEach` ends with that hook.
 */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, getTestContext } from 'node:test'
import { createDatabase, type Database } from '../../service/src/postgres/index.ts'
import { createLog } from '../../service/src/kernel/index.ts'
import type { Service, TestServiceOptions } from './composition.ts'
import { runOperator } from './operator.ts'
import { createTestDatabase, type TestDatabase } from './postgres.ts'
import { assertRefusal } from './program.ts'
import {
  joinTestService,
  type SharedService,
  startTestService,
  type TestService,
  type TestServiceOptions as ProgramOptions,
} from './service.ts'
import { type Receiver, startReceiver } from './receiver.ts'
import { startTcpProxy } from './tcp-proxy.ts'

/** The endings of each file, suite and test that has any. The files of a process that is no batch have none to tell them apart. */
const endings = new Map<object | undefined, (() => unknown)[]>()

/** Calls `end` when the file, suite or test ends, and those of later parts before it: what stands on a part ends first. */
export function atEnd(end: () => unknown): void {
  const scope = getTestContext()
  const known = endings.get(scope)
  if (known) return void known.push(end)
  const all = [end]
  endings.set(scope, all)
  after(async () => {
    endings.delete(scope)
    for (const each of all.toReversed()) await each()
  })
}

type Closes = { readonly close: () => unknown } | { readonly stop: () => unknown } | { readonly remove: () => unknown }

/** Closes the part at the end. */
export function untilEnd<T extends Closes>(part: T): T {
  atEnd(() => ('close' in part ? part.close() : 'stop' in part ? part.stop() : part.remove()))
  return part
}

/** The path of a new folder. */
export async function useFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'partner-payments-test-'))
  atEnd(() => rm(folder, { recursive: true, force: true, maxRetries: 10 }))
  return folder
}

/** An empty database of the newest version. */
export async function useDatabase(): Promise<TestDatabase> {
  const database = await createTestDatabase()
  atEnd(database.drop)
  return database
}

/** A database behind a proxy that can cut or stall connections. `url` leads through the proxy. */
export async function useProxiedDatabase() {
  const database = await useDatabase()
  const wire = untilEnd(await startTcpProxy(Number(new URL(database.url).port)))
  return { database, wire, url: Object.assign(new URL(database.url), { port: String(wire.port) }).href }
}

/** A receiver of webhooks. */
export const useReceiver = async (...given: Parameters<typeof startReceiver>): Promise<Receiver> =>
  untilEnd(await startReceiver(...given))

/** Loaded by the files that need the modules in their process. */
const composition = () => import('./composition.ts')

export type Modules = Service & {
  /** The modules of another process on the same database, at the same time. */
  readonly anotherProcess: (options?: TestServiceOptions) => Promise<Service>
}

/** The modules of the service on a database, without ports. The test moves their clock and runs their jobs. */
export async function useModules(options?: TestServiceOptions): Promise<Modules> {
  const { createTestService } = await composition()
  const service = await createTestService(options)
  const anotherProcess: Modules['anotherProcess'] = async (given) =>
    untilEnd(await createTestService({ url: service.url, now: service.clock.now(), ...given }))
  return { ...untilEnd(service), anotherProcess }
}

/** The modules, and the commands of the operator on the same database, in this process. */
export async function useOperator(options: TestServiceOptions = {}) {
  const service = await useModules(options)
  const folder = await useFolder()
  const { masterKeyText } = await composition()
  const env = { DATA_DIR: folder, DATABASE_URL: service.url, MASTER_KEY: masterKeyText, ...options.settings }
  return { service, folder, env, ...commandsOf(env) }
}

/** The ways in which a test runs a command. */
export function commandsOf(env: Readonly<Record<string, string>>) {
  const run = (...words: readonly string[]) => runOperator(words, env)
  /** Returns what the command prints, as text. */
  const text = async (...words: readonly string[]): Promise<string> => {
    const { code, stdout, stderr } = await run(...words)
    assert.deepEqual({ code, stderr }, { code: 0, stderr: '' }, words.join(' '))
    return stdout
  }
  /** Returns the JSON value that the command prints. */
  const printed = async <T = Readonly<Record<string, unknown>>>(...words: readonly string[]): Promise<T> =>
    JSON.parse(await text(...words)) as T
  /** Returns the line by which the command refuses. */
  const refused = async (...words: readonly string[]): Promise<string> => {
    const ending = await run(...words)
    assertRefusal(ending, /./)
    return ending.stderr.trimEnd()
  }
  /** Returns the JSON value that the command prints, or the line by which it refuses. */
  const outcome = async (...words: readonly string[]): Promise<unknown> => {
    const { code, stdout, stderr } = await run(...words)
    return code === 0 ? (JSON.parse(stdout) as unknown) : stderr.trimEnd()
  }
  return { run, text, printed, refused, outcome }
}

export type OwnService = TestService & {
  /** Another process on the same database and folder. */
  readonly anotherProcess: (env?: Readonly<Record<string, string>>) => Promise<TestService>
  /** Connects to its database. */
  readonly connect: () => Database
}

/** The service as a user starts it, in a process of its own with a database of its own. */
export async function useService(options: ProgramOptions = {}): Promise<OwnService> {
  const service = await startTestService(options)
  atEnd(service.dispose)
  const connect = () =>
    untilEnd(createDatabase({ url: service.databaseUrl, connectionsMax: 2, log: createLog('silent') }))
  const anotherProcess: OwnService['anotherProcess'] = async (env) => {
    const given = { ...options.env, DATABASE_URL: service.databaseUrl, ...env }
    const other = await startTestService({ dataDir: service.dataDir, env: given })
    atEnd(other.dispose)
    return other
  }
  return { ...service, anotherProcess, connect }
}

/** A new partner of the service that the files of a run share. */
export async function useSharedService(): Promise<SharedService> {
  const service = await joinTestService()
  atEnd(service.dispose)
  return service
}
