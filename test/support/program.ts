/** Runs the program as a separate process in any role. It inherits no environment variable that sets the service. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePorts as numbers } from '../../scripts/ports.ts'
import { until } from './until.ts'

export type Environment = Readonly<Record<string, string>>
export type Ending = { readonly code: number | null; readonly stdout: string; readonly stderr: string }
export type Program = {
  readonly pid: number
  readonly stdout: () => string
  readonly stderr: () => string
  readonly signal: (name: NodeJS.Signals) => void
  readonly ended: Promise<Ending>
}

const repository = fileURLToPath(new URL('../..', import.meta.url))
const mainFile = join(repository, 'service/src/main.ts')
/** Environment of a shell in which `node` is the version that runs this test. */
export const shellPath = `${dirname(process.execPath)}:${process.env.PATH ?? ''}`

const { PATH = '', TMPDIR, NODE_COMPILE_CACHE } = process.env
/** Environment with the compiled code that scripts/test.ts keeps, a program starts with half of the processor time. */
export const inheritedEnvironment: Environment = {
  PATH,
  ...(TMPDIR === undefined ? {} : { TMPDIR }),
  ...(NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE }),
}

const programMsMax = 180_000

export function launch(words: readonly string[], env: Environment): Program {
  const child = spawn(process.execPath, [mainFile, ...words], {
    cwd: repository,
    env: { ...inheritedEnvironment, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const texts = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (text: string) => {
      texts[name] += text
    })
  const abandon = () => void child.kill('SIGKILL')
  process.once('exit', abandon)
  const ended = new Promise<Ending>((resolve) => {
    // `close` instead of `exit`: all output has been read by then.
    child.once('close', (code) => {
      process.removeListener('exit', abandon)
      resolve({ code, ...texts })
    })
  })
  return {
    pid: child.pid ?? 0,
    stdout: () => texts.stdout,
    stderr: () => texts.stderr,
    signal: (name) => void child.kill(name),
    ended,
  }
}

/** Runs the program to its end. After `programMsMax` it is killed, and its exit code is null. */
export async function run(words: readonly string[], env: Environment): Promise<Ending> {
  const program = launch(words, env)
  const timer = setTimeout(() => program.signal('SIGKILL'), programMsMax)
  const ending = await program.ended
  clearTimeout(timer)
  return ending
}

/** Starts a role and waits until it is ready. */
export async function start(
  words: readonly string[],
  env: Environment & { readonly OPS_PORT: string },
): Promise<Program> {
  const program = launch(words, env)
  let hasEnded = false
  void program.ended.then(() => (hasEnded = true))
  try {
    await until(
      `${words[0] ?? 'the program'} is ready`,
      async () => hasEnded || (await fetch(`http://127.0.0.1:${env.OPS_PORT}/readyz`)).ok,
      programMsMax,
    )
    // The operations port opens before the port of the API.
    if (!hasEnded && env.PORT !== undefined)
      await until(
        'the API answers',
        () => hasEnded || fetch(`http://127.0.0.1:${env.PORT}/`).then(() => true),
        programMsMax,
      )
    if (hasEnded) throw new Error('it ended')
  } catch (error) {
    program.signal('SIGKILL')
    throw new Error(`did not start: ${program.stdout()}${program.stderr()}`, { cause: error })
  }
  return program
}

/** Stops the program with SIGTERM and waits. */
export function stop(program: Program): Promise<Ending> {
  program.signal('SIGTERM')
  return program.ended
}

/** Settings as text, for environment variables. */
export const freePorts = async (count: number): Promise<readonly string[]> => (await numbers(count)).map(String)

/** The settings of two free ports. */
export async function freePortSettings(): Promise<{ readonly PORT: string; readonly OPS_PORT: string }> {
  const [PORT = '', OPS_PORT = ''] = await freePorts(2)
  return { PORT, OPS_PORT }
}

export const linesOf = (text: string): readonly string[] => text.split('\n').filter((line) => line !== '')

/** Requires that the program has printed one line, which says why it refuses, and nothing else. */
export function assertRefusal({ code, stdout, stderr }: Ending, line: RegExp | string): void {
  assert.deepEqual({ code, stdout, lines: linesOf(stderr).length }, { code: 1, stdout: '', lines: 1 }, stderr)
  if (typeof line === 'string') assert.equal(stderr.trimEnd(), line)
  else assert.match(stderr.trimEnd(), line)
}
