/**
 * Finds dead connections after an outage: the network dropped them or their server no longer exists. The driver would
 * wait for its time-out. While a statement is unanswered, a new connection queries the state of the server process.
 */
import type { Socket } from 'node:net'
import pg from 'pg'
import { Unreachable } from '../kernel/api/index.ts'
import type { Log } from '../kernel/index.ts'

/** A statement or a connection attempt without an answer is checked after this time, if the database answers. */
const silentMs = 1_000
const checkMs = 250
/**
 * Maximum number of concurrent checks. The next check begins even if the previous one hangs, so that the recovery of
 * the database is detected soon.
 */
const checksMax = 3
const lookTimeoutMs = 1_000
/**
 * The time after an unanswered check during which connections are checked after only `checkMs` of silence. Otherwise a
 * statement that was sent shortly before the recovery would be checked a second later than the earlier ones.
 */
const recoveringMs = 2_000
/** Time after which the server has ended the transaction of an abandoned connection (`idle_in_transaction_session_timeout`). */
const abandonedMsMax = 60_000

type TrackedConnection = {
  readonly client: pg.PoolClient
  /** The process id and start time of the server process. The pair is unique, also after a failover. */
  readonly identity: string
  /** Number of statements without an answer. */
  waiting: number
  /** Time of the last answer, or of the first statement after a pause. */
  sinceMs: number
  /** The value of `sinceMs` at the last check that found the server process idle. */
  doubtedMs: number | undefined
}

type BackendStates = {
  readonly replica: boolean
  readonly present: readonly string[]
  readonly idle: readonly string[]
}

const backendIdentity = `pid || ' ' || extract(epoch from backend_start)`
const connectedStatement = {
  name: 'connected',
  text: `select pg_is_in_recovery() as replica, ${backendIdentity} as identity from pg_stat_activity where pid = pg_backend_pid()`,
}
const lookStatement = `
  select pg_is_in_recovery() as replica, coalesce(array_agg(${backendIdentity}), '{}') as present,
    coalesce(array_agg(${backendIdentity}) filter (where state like 'idle%'), '{}') as idle
  from pg_stat_activity where ${backendIdentity} = any($1)`
/** Terminates idle connections only: a commit that waits for its replica is never cancelled. */
const terminateStatement = `
  select pg_terminate_backend(pid) from pg_stat_activity where ${backendIdentity} = any($1) and state like 'idle%'`

export type Liveness = {
  /** Watches a socket of a pool from its first byte. */
  readonly opened: (socket: Socket) => void
  /** Registers a new connection. Throws Unreachable if the server is a read-only replica. */
  readonly connected: (client: pg.PoolClient) => Promise<void>
  /** Watches a statement until its answer. */
  readonly watch: <T>(client: pg.PoolClient, sending: Promise<T>) => Promise<T>
  /** Records that the pool abandons a connection whose locks the server may still hold. */
  readonly abandoned: (client: pg.PoolClient) => void
  readonly close: () => void
}

type LivenessState = {
  readonly url: string
  readonly log: Log
  /** Called after a lost connection, because idle connections may be lost too. */
  readonly onLost: () => void
  readonly tracked: Map<pg.PoolClient, TrackedConnection>
  /** Sockets of the pools, with the time at which they were opened. */
  readonly sockets: Map<Socket, number>
  /** Abandoned connections, with the time at which they were abandoned. The server may still hold their locks. */
  readonly abandoned: Map<string, number>
}

export function createLiveness(options: Pick<LivenessState, 'url' | 'log' | 'onLost'>): Liveness {
  const watched: LivenessState = { ...options, tracked: new Map(), sockets: new Map(), abandoned: new Map() }
  const { tracked, sockets, abandoned } = watched
  let looks = 0
  let failedMs = -recoveringMs
  let timer: NodeJS.Timeout | undefined
  const rest = () => {
    clearInterval(timer)
    timer = undefined
  }
  const check = () => {
    if (isAtRest(watched)) return rest()
    if (looks >= checksMax) return
    looks += 1
    checkConnections(watched, performance.now() - failedMs < recoveringMs ? checkMs : silentMs)
      // The database does not answer: the time-outs of the driver apply.
      .catch(() => {
        failedMs = performance.now()
      })
      .finally(() => {
        looks -= 1
      })
  }
  const begin = () => void (timer ??= setInterval(check, checkMs).unref())

  return {
    opened: (socket) => {
      begin()
      sockets.set(socket, performance.now())
      socket.once('close', () => sockets.delete(socket))
    },
    connected: async (client) => {
      const { rows } = await client.query<{ replica: boolean; identity: string }>(connectedStatement)
      const [row] = rows
      if (row?.replica === true) throw new Unreachable('downstream_unreachable', 'the database server is a replica')
      const identity = String(row?.identity)
      tracked.set(client, { client, identity, waiting: 0, sinceMs: 0, doubtedMs: undefined })
      client.once('end', () => tracked.delete(client))
    },
    watch: (client, sending) => {
      begin()
      return watchAnswer(tracked.get(client), sending)
    },
    abandoned: (client) => {
      const identity = tracked.get(client)?.identity
      begin()
      if (identity !== undefined) abandoned.set(identity, performance.now())
    },
    close: rest,
  }
}

/** Reports whether every statement is answered, so that no check is needed until the next statement. */
const isAtRest = ({ tracked, sockets, abandoned }: LivenessState): boolean =>
  abandoned.size === 0 &&
  tracked.values().every(({ waiting }) => waiting === 0) &&
  sockets.keys().every(({ bytesRead }) => bytesRead > 0)

async function checkConnections(
  { url, log, onLost, tracked, sockets, abandoned }: LivenessState,
  silenceMs: number,
): Promise<void> {
  const now = performance.now()
  const isSilent = (sinceMs: number) => now - sinceMs >= silenceMs
  const suspects = new Map(
    [...tracked.values()]
      .filter(({ waiting, sinceMs }) => waiting > 0 && isSilent(sinceMs))
      .map((connection) => [connection, connection.sinceMs]),
  )
  const unanswered = [...sockets].filter(([socket, openedMs]) => socket.bytesRead === 0 && isSilent(openedMs))
  for (const [identity, atMs] of abandoned) if (now - atMs > abandonedMsMax) abandoned.delete(identity)
  if (suspects.size + unanswered.length + abandoned.size === 0) return
  const identities = [...abandoned.keys(), ...[...suspects.keys()].map(({ identity }) => identity)]
  const seen = await readServer(url, identities, [...abandoned.keys()])
  if (seen.replica) return
  for (const identity of abandoned.keys()) if (!seen.present.includes(identity)) abandoned.delete(identity)
  const lost = findLost(suspects, seen)
  for (const { client, identity } of lost) {
    abandoned.set(identity, performance.now())
    client.connection.stream.destroy()
  }
  // A new connection works, so a connection attempt without a first byte is dead.
  const hanging = unanswered.filter(([socket]) => socket.bytesRead === 0)
  for (const [socket] of hanging) socket.destroy()
  if (lost.length + hanging.length === 0) return
  log.warn({ lost: lost.length, hanging: hanging.length }, 'lost database connections closed')
  onLost()
}

/** Finds lost connections: two checks must find the server process idle, because an answer may be on its way. */
function findLost(
  suspects: ReadonlyMap<TrackedConnection, number>,
  { present, idle }: BackendStates,
): readonly TrackedConnection[] {
  const found = [...suspects].filter(([{ identity, waiting, sinceMs }, suspectedMs]) => {
    const isExecuting = present.includes(identity) && !idle.includes(identity)
    return !isExecuting && waiting > 0 && sinceMs === suspectedMs
  })
  const lost = found.filter(([{ doubtedMs }, suspectedMs]) => doubtedMs === suspectedMs)
  for (const [connection, suspectedMs] of found) connection.doubtedMs = suspectedMs
  return lost.map(([connection]) => connection)
}

async function watchAnswer<T>(connection: TrackedConnection | undefined, sending: Promise<T>): Promise<T> {
  if (connection === undefined) return sending
  if (connection.waiting === 0) connection.sinceMs = performance.now()
  connection.waiting += 1
  try {
    return await sending
  } finally {
    connection.waiting -= 1
    connection.sinceMs = performance.now()
  }
}

/** Reads the state of the server over a new connection, and terminates abandoned connections. Rejects if the server does not answer. */
async function readServer(
  url: string,
  identities: readonly string[],
  abandoned: readonly string[],
): Promise<BackendStates> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: lookTimeoutMs,
    query_timeout: lookTimeoutMs,
    application_name: 'partner-payments-liveness',
  })
  client.on('error', () => undefined)
  try {
    await client.connect()
    const { rows } = await client.query<BackendStates>(lookStatement, [identities])
    if (abandoned.length > 0) await client.query(terminateStatement, [abandoned])
    return rows[0] ?? { replica: true, present: [], idle: [] }
  } finally {
    client.end().catch(() => undefined)
  }
}
