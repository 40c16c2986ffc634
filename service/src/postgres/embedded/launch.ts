import { type ChildProcess, spawn, spawnSync, type StdioOptions } from 'node:child_process'
import { closeSync, lstatSync, openSync, readFileSync } from 'node:fs'
import { type Binaries, copyBinaries, programIn } from './binaries.ts'
import { EmbeddedPostgresError } from './process.ts'

export type UserIds = { readonly uid: number; readonly gid: number }

/** A way to run PostgreSQL's programs: the user, a command prefix, and the paths of programs and data for that user. */
export type LaunchMethod = {
  /** Description for the log. */
  readonly title: string
  readonly ids: UserIds | undefined
  readonly prefix: readonly string[]
  readonly native: string
  readonly data: string
  /** A folder whose open descriptor the program gets as number 3. `data` is then a path through it. */
  readonly passedFolder: string | undefined
}

const nobodyIds: UserIds = { uid: 65_534, gid: 65_534 }

// The server must not inherit PGDATA, PGPORT, LANG and similar variables of the service.
const environmentVariables = {
  PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  LC_ALL: 'C',
  TZ: 'UTC',
}

const findAccount = (name: string): UserIds | undefined => {
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((each) => each.startsWith(`${name}:`))
  const [, , uid, gid] = line?.split(':') ?? []
  return uid && gid ? { uid: Number(uid), gid: Number(gid) } : undefined
}

/** Chooses the server's user if the service runs as root, which PostgreSQL refuses. Undefined: the service's user. */
export const serverIds = (cluster: string): UserIds | undefined => {
  if (process.getuid?.() !== 0) return undefined
  const existing = lstatSync(cluster, { throwIfNoEntry: false })
  if (existing && existing.uid !== 0) return { uid: existing.uid, gid: existing.gid }
  return findAccount('postgres') ?? findAccount('nobody') ?? nobodyIds
}

/**
 * Changes the user and keeps one capability, without a way to gain another. PostgreSQL checks its programs with
 * access(2), which ignores the capabilities of users other than root unless `no_setuid_fixup` is set.
 */
const setpriv = (ids: UserIds, capability: string): readonly string[] => [
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

const environment = (): { env?: NodeJS.ProcessEnv } =>
  process.platform === 'win32' ? {} : { env: environmentVariables }

const shellCommand = (
  method: LaunchMethod,
  script: string,
  args: readonly string[],
): readonly [string, readonly string[]] => {
  const [first = '', ...rest] = [...method.prefix, '/bin/sh', '-c', script, 'sh', ...args]
  return [first, rest]
}

const withFolder = <Result>(
  method: LaunchMethod,
  stdio: Extract<StdioOptions, unknown[]>,
  run: (stdio: StdioOptions) => Result,
): Result => {
  if (method.passedFolder === undefined) return run(stdio)
  const folder = openSync(method.passedFolder, 'r')
  try {
    return run([...stdio, folder])
  } finally {
    closeSync(folder)
  }
}

/** Checks that the programs run and can enter the data folder. Returns the error message. Undefined: they can. */
const findFailure = (method: LaunchMethod): string | undefined => {
  const [program, args] = shellCommand(method, '"$1" --version >/dev/null && "$2" --version >/dev/null && cd "$3"', [
    programIn(method.native, 'postgres'),
    programIn(method.native, 'initdb'),
    method.data,
  ])
  // `/`, because the other user may not be allowed to enter the current folder.
  const options = { ...method.ids, ...environment(), cwd: '/', encoding: 'utf8', timeout: 20_000 } as const
  const ended = withFolder(method, ['ignore', 'ignore', 'pipe'], (stdio) =>
    spawnSync(program, args, { ...options, stdio }),
  )
  if (ended.status === 0) return undefined
  return ended.error?.message ?? (ended.stderr.trim().split('\n').at(-1) || `exit ${ended.status ?? ended.signal}`)
}

const withCapability = (base: LaunchMethod, ids: UserIds, capability: string): LaunchMethod => ({
  ...base,
  title: `as uid ${ids.uid} with CAP_${capability.toUpperCase()}`,
  // setpriv changes the user, so it starts as root.
  ids: undefined,
  prefix: setpriv(ids, capability),
})

/**
 * Tries launch methods, least privilege first, until the programs run and can read the data. Several are needed if root
 * starts the service in a checkout below a folder that only root may enter (`/root`, `mktemp -d`).
 */
export const findLaunchMethod = (binaries: Binaries, dataDir: string, ids: UserIds | undefined): LaunchMethod => {
  const who = ids ? `uid ${ids.uid}` : 'this user'
  const plain: LaunchMethod = {
    title: `as ${who}`,
    ids,
    prefix: [],
    native: binaries.native,
    data: dataDir,
    passedFolder: undefined,
  }
  if (process.platform === 'win32') return plain
  const refusal = findFailure(plain)
  if (refusal === undefined) return plain
  if (process.platform === 'linux') {
    const candidates = ids
      ? [withCapability(plain, ids, 'dac_read_search'), withCapability(plain, ids, 'dac_override')]
      : []
    for (const method of candidates) if (findFailure(method) === undefined) return method
    const native = copyBinaries(binaries)
    const copied: LaunchMethod = {
      ...plain,
      title: `as ${who} from a copy`,
      native: native ?? '',
      // A descriptor that root opened gives access without permission for the parent folders.
      data: '/proc/self/fd/3',
      passedFolder: dataDir,
    }
    if (native !== undefined && findFailure(copied) === undefined) return copied
  }
  const advice = ids
    ? 'it refuses to run as root: move the checkout to a folder that every user may enter, or start as an ordinary user'
    : 'make the folder and node_modules readable to this user, or set DATABASE_URL to an external PostgreSQL'
  throw new EmbeddedPostgresError(`cannot start PostgreSQL as ${who} (${refusal}): ${advice}`)
}

/**
 * A shell script that reads a pipe from the service on standard input. When the service ends or is killed, the pipe
 * ends and the shell requests a fast shutdown. It ignores signals of the terminal and systemd: the service drains, then
 * stops the server.
 */
const supervisorScript = `
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

/**
 * Starts a program under the supervisor script. Closing its `stdin` shuts the program down. Its output is appended to
 * the open file `log`.
 */
export const launch = (
  method: LaunchMethod,
  program: 'initdb' | 'postgres',
  args: readonly string[],
  log: number,
): ChildProcess => {
  const file = programIn(method.native, program)
  const [first, rest] =
    process.platform === 'win32' ? ([file, args] as const) : shellCommand(method, supervisorScript, [file, ...args])
  // `detached` makes a new session, so that a Ctrl-C in the terminal reaches only the service.
  const options = { ...method.ids, ...environment(), cwd: '/', detached: true, windowsHide: true } as const
  const child = withFolder(method, ['pipe', log, log], (stdio) => spawn(first, rest, { ...options, stdio }))
  child.stdin?.on('error', () => {})
  return child
}
