import { spawn, spawnSync, type ChildProcess, type StdioOptions } from 'node:child_process'
import { closeSync, lstatSync, openSync, readFileSync } from 'node:fs'
import { type Binaries, copyBinaries, programIn } from './binaries.ts'
import { EmbeddedPostgresError } from './error.ts'

export type Ids = { readonly uid: number; readonly gid: number }

/** One way to run PostgreSQL's programs: as whom, through what, and under which paths they see the two folders. */
export type Way = {
  readonly title: string
  readonly ids: Ids | undefined
  readonly prefix: readonly string[]
  readonly native: string
  readonly data: string
  /** Opened by us and handed down as descriptor 3, when `data` is a path through that descriptor. */
  readonly handed: string | undefined
}

const NOBODY: Ids = { uid: 65_534, gid: 65_534 }

// PGDATA, PGPORT, LANG and the like of whoever starts the service must not reach the server.
const ENVIRONMENT = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C', TZ: 'UTC' }

const accountOf = (name: string): Ids | undefined => {
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((each) => each.startsWith(`${name}:`))
  const [, , uid, gid] = line?.split(':') ?? []
  return uid && gid ? { uid: Number(uid), gid: Number(gid) } : undefined
}

/** PostgreSQL refuses root: whose process it is then. `undefined`: we are not root, so it is ours. */
export const serverIds = (cluster: string): Ids | undefined => {
  if (process.getuid?.() !== 0) return undefined
  const existing = lstatSync(cluster, { throwIfNoEntry: false })
  if (existing && existing.uid !== 0) return { uid: existing.uid, gid: existing.gid }
  return accountOf('postgres') ?? accountOf('nobody') ?? NOBODY
}

/**
 * Only this one capability, and no way to any other. `no_setuid_fixup` makes access(2) respect it: without it that
 * call, by which PostgreSQL examines its programs, disregards the capabilities of everyone but root.
 */
const setpriv = (ids: Ids, capability: string): readonly string[] => [
  'setpriv',
  `--reuid=${ids.uid}`,
  `--regid=${ids.gid}`,
  '--clear-groups',
  '--no-new-privs',
  `--inh-caps=-all,+${capability}`,
  `--ambient-caps=-all,+${capability}`,
  `--bounding-set=-all,+${capability}`,
  '--securebits=+no_setuid_fixup',
  '--',
]

const environment = (): { env?: NodeJS.ProcessEnv } => (process.platform === 'win32' ? {} : { env: ENVIRONMENT })

const command = (way: Way, script: string, args: readonly string[]): readonly [string, readonly string[]] => {
  const [first = '', ...rest] = [...way.prefix, '/bin/sh', '-c', script, 'sh', ...args]
  return [first, rest]
}

const withFolder = <Result>(
  way: Way,
  stdio: Extract<StdioOptions, unknown[]>,
  run: (stdio: StdioOptions) => Result,
): Result => {
  if (way.handed === undefined) return run(stdio)
  const folder = openSync(way.handed, 'r')
  try {
    return run([...stdio, folder])
  } finally {
    closeSync(folder)
  }
}

const probe = (way: Way): string | undefined => {
  const [program, args] = command(way, '"$1" --version >/dev/null && "$2" --version >/dev/null && cd "$3"', [
    programIn(way.native, 'postgres'),
    programIn(way.native, 'initdb'),
    way.data,
  ])
  // `/`, because the folder we are in may be one that the other user cannot enter.
  const options = { ...way.ids, ...environment(), cwd: '/', encoding: 'utf8', timeout: 20_000 } as const
  const ended = withFolder(way, ['ignore', 'ignore', 'pipe'], (stdio) =>
    spawnSync(program, args, { ...options, stdio }),
  )
  if (ended.status === 0) return undefined
  return ended.error?.message ?? (ended.stderr.trim().split('\n').at(-1) || `exit ${ended.status ?? ended.signal}`)
}

const capable = (base: Way, ids: Ids, capability: string): Way => ({
  ...base,
  title: `as uid ${ids.uid} with CAP_${capability.toUpperCase()}`,
  // setpriv changes the user: it must itself be started as root.
  ids: undefined,
  prefix: setpriv(ids, capability),
})

/**
 * Finds by trying, least privilege first, a way in which the programs run and the data is reached. The trouble it is
 * for: a checkout below a folder that only root may enter (`/root`, `mktemp -d`), started as root.
 */
export const findWay = (binaries: Binaries, dataDir: string, ids: Ids | undefined): Way => {
  const who = ids ? `uid ${ids.uid}` : 'this user'
  const plain: Way = { title: `as ${who}`, ids, prefix: [], native: binaries.native, data: dataDir, handed: undefined }
  if (process.platform === 'win32') return plain
  const refusal = probe(plain)
  if (refusal === undefined) return plain
  if (process.platform === 'linux') {
    const ways = ids ? [capable(plain, ids, 'dac_read_search'), capable(plain, ids, 'dac_override')] : []
    for (const way of ways) if (probe(way) === undefined) return way
    const native = copyBinaries(binaries)
    // A descriptor opened by root leads to the folder without a walk through the folders above it.
    const handed = { data: '/proc/self/fd/3', handed: dataDir } as const
    const copied: Way = { ...plain, ...handed, title: `as ${who} from a copy`, native: native ?? '' }
    if (native !== undefined && probe(copied) === undefined) return copied
  }
  const advice = ids
    ? 'it refuses to run as root: move the checkout to a folder that every user may enter, or start as an ordinary user'
    : 'make the folder and node_modules readable to this user, or set DATABASE_URL to a PostgreSQL of your own'
  throw new EmbeddedPostgresError(`cannot start PostgreSQL as ${who} (${refusal}): ${advice}`)
}

/**
 * Holds our pipe on its standard input. When we are gone, however suddenly, the pipe ends and the server is told to
 * shut down fast. It ignores the terminal's and systemd's signals: the service drains first, then stops the server.
 */
const SUPERVISOR = `
trap '' HUP INT TERM
exec 9<&0 </dev/null
"$@" 9<&- &
server=$!
(
  while read -r line; do :; done <&9
  kill -INT $server
  seconds=0
  while [ $seconds -lt 30 ] && kill -0 $server; do sleep 1; seconds=$((seconds + 1)); done
  kill -QUIT $server
) 2>/dev/null &
watcher=$!
exec 9<&-
wait $server
code=$?
kill -KILL $watcher 2>/dev/null
exit $code
`

/** Starts a program under the supervisor; ending `stdin` shuts it down. Output goes to the open file `log`. */
export const launch = (
  way: Way,
  program: 'initdb' | 'postgres',
  args: readonly string[],
  log: number,
): ChildProcess => {
  const file = programIn(way.native, program)
  const [first, rest] =
    process.platform === 'win32' ? ([file, args] as const) : command(way, SUPERVISOR, [file, ...args])
  // Its own session: a Ctrl-C in the terminal is for the service alone.
  const options = { ...way.ids, ...environment(), cwd: '/', detached: true, windowsHide: true } as const
  const child = withFolder(way, ['pipe', log, log], (stdio) => spawn(first, rest, { ...options, stdio }))
  child.stdin?.on('error', () => {})
  return child
}
