/** Commands for pools of IBANs from a bank's file. */
import { operatorPartnerId } from '../cases/index.ts'
import { ConfigError } from '../app/config.ts'
import { IbanFileProblem, type ImportedFile, poolNameForm } from '../accounts/index.ts'
import { sqlState, stateOf } from '../postgres/index.ts'
import type { Call, CommandsOf, Context, Write } from './context.ts'
import { type BadLines, hashOf, linesOf, withBadLines } from './iban-file.ts'
import { decided } from './limits.ts'

export const ibanCommands: CommandsOf<`ibans ${string}`> = {
  /**
   * Imports all lines, or none; with `--skip-bad` the good ones. Prints every bad line by its number, even if nothing
   * is imported.
   */
  'ibans import': (context, options, call) => {
    const { file: path, currency, partner: partnerId, staff, 'skip-bad': skipsBad } = options
    const [pool, connector] = [poolOf(options.pool), connectorOf(context, options.connector)]
    const file = { path, pool, currency, connector, partnerId, staff, skipsBad }
    return (write) => withBadLines((bad) => importFile(context, call, file, bad, write))
  },

  'ibans list': async ({ service: { accounts }, db }) => accounts.pools.list(db),

  /** Withdraws IBANs from a pool. An assigned IBAN stays with its account. */
  'ibans withdraw': (context, { pool, partner: partnerId, iban }, call) => {
    const wanted = { pool: poolOf(pool), partnerId, iban }
    return decided(context, call, async (tx) => ({
      pool: wanted.pool,
      withdrawn: await context.service.accounts.pools.withdraw(tx, wanted),
    }))
  },
}

function poolOf(pool: string): string {
  if (poolNameForm.test(pool)) return pool
  throw new ConfigError('operator: --pool must be a name of 1 to 32 lower-case letters, digits and hyphens')
}

function connectorOf({ config }: Context, connector: string | undefined): string | null {
  if (connector === undefined) return null
  const known = [
    config.RAIL,
    ...config.RAIL_RULES.map((rule) => rule.connector),
    ...config.ISO20022_BANKS.map(({ id }) => id),
  ].filter((id) => id !== null)
  if (known.includes(connector)) return connector
  throw new ConfigError(`operator: --connector must be one of ${[...new Set(known)].join(', ')}`)
}

type File = {
  readonly path: string
  readonly pool: string
  readonly currency: string
  readonly connector: string | null
  /** Undefined: all partners share the pool. */
  readonly partnerId: string | undefined
  readonly staff: string
  readonly skipsBad: boolean
}

async function importFile(context: Context, call: Call, file: File, bad: BadLines, write: Write): Promise<void> {
  const { path, ...rest } = file
  const { access, accounts } = context.service
  const hash = await hashOf(path)
  const printed = async (result: object) => {
    await write(`${JSON.stringify(result).slice(0, -1)},"badLines":[`)
    for await (const part of bad.read()) await write(part)
    await write(']}\n')
  }
  try {
    const imported = await decided(context, call, async (tx) => {
      // A transaction may run again, after a deadlock.
      await bad.clear()
      await access.addOperator(tx, operatorPartnerId)
      if (file.partnerId !== undefined && (await access.partnerName(tx, file.partnerId)) === '')
        throw new ConfigError('operator: No such partner.')
      const lines = () => linesOf(path, hash)
      return accounts.pools.importFile(tx, { ...rest, hash, lines, report: bad.add })
    })
    await printed({ ...imported, inUse: isInUse(context, imported as ImportedFile) })
  } catch (error) {
    if (stateOf(error) === sqlState.lockNotAvailable)
      throw new ConfigError('operator: another import is running: repeat the command when it has ended')
    if (!(error instanceof IbanFileProblem)) throw error
    await printed({ pool: file.pool, imported: 0, bad: error.bad })
    throw new ConfigError(
      `operator: ${path} has ${error.bad} wrong lines, and nothing was imported. Correct them, or import the others with --skip-bad`,
    )
  }
}

/** False: accounts take from the pool when IBAN_POOLS names its country. */
const isInUse = ({ config }: Context, { country }: ImportedFile): boolean =>
  country !== null && config.IBAN_POOLS.includes(country)
