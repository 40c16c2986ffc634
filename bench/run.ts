/** The frame of a bench: its options, its PostgreSQL, and the end of every process, also after Ctrl-C. */
import { parseArgs } from 'node:util'
import { killAll } from './children.ts'
import { type Postgres, startPostgres } from './postgres.ts'

export const say = (line: string): void => console.log(line)

/** Numbers by the names of their options: those of a whole run, and those of `--quick`. */
export type Forms<N extends string> = Readonly<Record<'full' | 'quick', Readonly<Record<N, number>>>>
export type Options<N extends string> = {
  readonly form: 'full' | 'quick'
  readonly sizes: Readonly<Record<N, number>>
  readonly values: Readonly<Record<string, string | boolean | undefined>>
  /** Arguments of Node for the measured processes: `--profile FOLDER` keeps a CPU profile of each. */
  readonly execArgv: readonly string[]
}

export function readOptions<N extends string>(
  forms: Forms<N>,
  others: Readonly<Record<string, { readonly type: 'string' | 'boolean' }>> = {},
): Options<N> {
  const names = Object.keys(forms.full) as N[]
  const numbers = Object.fromEntries(names.map((name) => [name, { type: 'string' } as const]))
  const common = { quick: { type: 'boolean' }, profile: { type: 'string' } } as const
  const parsed = parseArgs({ options: { ...common, ...others, ...numbers } })
  const values = parsed.values as Options<N>['values']
  const form = values['quick'] === true ? 'quick' : 'full'
  const sizes = names.map((name) => {
    const value = Number(values[name] ?? forms[form][name])
    if (!Number.isFinite(value) || value <= 0) throw new Error(`--${name} must be a number above 0`)
    return [name, value] as const
  })
  const { profile } = values
  return {
    form,
    sizes: Object.fromEntries(sizes) as Record<N, number>,
    values,
    execArgv: profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profile}`],
  }
}

/** `work` returns what its audits found wrong: then the exit code is 1. A missed floor is only printed. */
export async function runBench(work: (postgres: Postgres) => Promise<readonly string[]>): Promise<void> {
  const begun = performance.now()
  const postgres = await startPostgres()
  let interrupted = false
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => {
      interrupted = true
      // Pending work fails when its processes end, and must not interrupt the cleanup.
      process.on('uncaughtException', () => {})
      killAll()
      void postgres.stop().finally(() => process.exit(130))
    })
  try {
    if ((await work(postgres)).length > 0) process.exitCode = 1
  } catch (error) {
    if (!interrupted) throw error
  } finally {
    killAll()
    await postgres.stop()
  }
  say(`${((performance.now() - begun) / 1000).toFixed(0)} s`)
}
