/**
 * Prints what starts cost: files loaded, processor seconds and wall seconds, until a command has ended and until a service is
 * ready. `node scripts/measure/start.ts [--runs 3] [--tree FOLDER]`. `--tree`: another checkout. The run with the least
 * processor time counts. It reads `/proc`, so it runs on Linux only.
 */
import { spawn } from 'node:child_process'
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { freePorts } from '../ports.ts'

const { values } = parseArgs({
  options: { runs: { type: 'string', default: '3' }, tree: { type: 'string', default: '.' } },
})
const program = join(resolve(values.tree), 'service/src/main.ts')
const preload = `--import=${new URL('loaded-files.mjs', import.meta.url).href}`
const folder = mkdtempSync(join(tmpdir(), 'start-'))
// The embedded server runs as another user if this process runs as root.
chmodSync(folder, 0o711)
const loadedTo = join(folder, 'loaded.json')
const dataDir = join(folder, 'data')
const ticksPerSecond = 100
const ports = (await freePorts(6)).map(String)

type Environment = Readonly<Record<string, string | undefined>>
type Start = { readonly words: readonly string[]; readonly env?: Environment; readonly opsPort?: string }
type LoadedFiles = { readonly files: readonly string[]; readonly cpuSeconds: number }

function launch({ words, env }: Start, counts = false) {
  const child = spawn(process.execPath, [program, ...words], {
    env: {
      PATH: process.env['PATH'],
      NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
      DATA_DIR: dataDir,
      LOG_LEVEL: 'error',
      NODE_OPTIONS: preload,
      LOADED_TO: loadedTo,
      ...(counts && { LOADED_FILES: 'on' }),
      ...env,
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  return { child, ended: new Promise<void>((done) => child.once('exit', () => done())) }
}

/** The processor seconds of a process that runs, without its children. */
function usedBy(pid: number): number {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const [user, system] = text
    .slice(text.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 13)
  return (Number(user) + Number(system)) / ticksPerSecond
}

async function untilReady(opsPort: string): Promise<void> {
  const isReady = () =>
    fetch(`http://127.0.0.1:${opsPort}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    )
  while (!(await isReady())) await pause(20)
}

/** Resolves when the command has ended, or the service has been ready and was stopped. */
async function runOnce(start: Start, counts = false) {
  const from = performance.now()
  const { child, ended } = launch(start, counts)
  const isService = start.opsPort !== undefined
  if (isService) await untilReady(start.opsPort)
  else await ended
  const wall = (performance.now() - from) / 1000
  const cpu = isService ? usedBy(child.pid ?? 0) : undefined
  if (isService) child.kill('SIGTERM')
  await ended
  const { files, cpuSeconds } = JSON.parse(readFileSync(loadedTo, 'utf8')) as LoadedFiles
  return { files: files.length, cpu: cpu ?? cpuSeconds, wall }
}

async function measure(name: string, start: Start): Promise<void> {
  const { files } = await runOnce(start, true)
  const runs = []
  for (let run = 0; run < Number(values.runs); run += 1) runs.push(await runOnce(start))
  const [best] = runs.toSorted((one, other) => one.cpu - other.cpu)
  console.log(
    [name.padEnd(24), String(files).padStart(6), best?.cpu.toFixed(2).padStart(5), best?.wall.toFixed(2)].join('  '),
  )
}

/** The variables of a separate role on the embedded database of the service that runs. */
function separate(): Environment {
  const [, , , databasePort = ''] = readFileSync(join(dataDir, 'postgres/postmaster.pid'), 'utf8').split('\n')
  const password = readFileSync(join(dataDir, 'postgres-password'), 'utf8').trim()
  return {
    DATABASE_URL: `postgres://postgres:${password}@127.0.0.1:${databasePort}/payments`,
    MASTER_KEY: readFileSync(join(dataDir, 'master.key'), 'utf8').trim(),
  }
}

console.log('start                      files    cpu  wall')
try {
  const [port = '', opsPort = '', rolePort = '', roleOpsPort = ''] = ports
  await measure('operator --help', { words: ['operator', '--help'] })
  await measure('serve', { words: ['serve'], env: { PORT: port, OPS_PORT: opsPort }, opsPort })
  const service = launch({ words: ['serve'], env: { PORT: port, OPS_PORT: opsPort, LOADED_TO: join(folder, 'serve') } })
  try {
    await untilReady(opsPort)
    const env = { ...separate(), PORT: rolePort, OPS_PORT: roleOpsPort }
    await measure('operator partner list', { words: ['operator', 'partner', 'list'] })
    await measure('migrate', { words: ['migrate'], env })
    await measure('worker', { words: ['worker'], env, opsPort: roleOpsPort })
    await measure('api', { words: ['api'], env, opsPort: roleOpsPort })
    const gateway = { ...env, API_URL: `http://127.0.0.1:${port}` }
    await measure('gateway', { words: ['gateway'], env: gateway, opsPort: roleOpsPort })
    const cells = {
      PORT: rolePort,
      OPS_PORT: roleOpsPort,
      CELL_URLS: `one=http://127.0.0.1:${port}|http://127.0.0.1:${opsPort}`,
    }
    await measure('router', { words: ['router'], env: cells, opsPort: roleOpsPort })
  } finally {
    service.child.kill('SIGTERM')
    await service.ended
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}
