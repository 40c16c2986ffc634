/**
 * The person for whom a command acts: the one who has signed in by `operator sign-in`. A token of the sign-in is in a file of the user; commands
 * of a schedule name one with `--token-file`.
 */
import { mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { homedir, hostname, userInfo } from 'node:os'
import { dirname, join } from 'node:path'
import { type Config, ConfigError } from '../app/config.ts'
import { masterKeyId, tidyName } from '../kernel/index.ts'
import type { Bearer } from '../people/staff/index.ts'
import type { Call, Context } from './context.ts'
import { type CommandName, declarationOf, rolesOf } from './declarations.ts'
import type { Parsed } from './parse.ts'

/** The folder of the user. A user without one, as in some containers, has the data folder. */
function homeOf({ DATA_DIR }: Config): string {
  try {
    return homedir()
  } catch {
    return DATA_DIR
  }
}

/** The person and machine that ask for a sign-in, as the desk shows them. */
export function originOf(): string {
  try {
    return `${userInfo().username}@${hostname()}`
  } catch {
    return `user ${process.getuid?.() ?? ''}@${hostname()}`
  }
}

/** One file for each installation, which its key names. */
const tokenFile = (config: Config, named: string | undefined): string =>
  named ?? join(homeOf(config), '.partner-payments', `${masterKeyId(config.MASTER_KEY[0])}.token`)

/** Writes a token so that only its user can read it. */
export async function keepToken(config: Config, named: string | undefined, token: string): Promise<string> {
  const path = tokenFile(config, named)
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    // A file that exists keeps its mode: a new one is made.
    await rm(path, { force: true })
    await writeFile(path, `${token}\n`, { mode: 0o600, flag: 'wx' })
  } catch (error) {
    throw new ConfigError(`operator: ${(error as Error).message}; name another file by --token-file`)
  }
  return path
}

export const forgetToken = (config: Config, named: string | undefined): Promise<void> =>
  rm(tokenFile(config, named), { force: true })

/** Undefined: there is no file, or its token works no longer. */
export async function bearerOf({ service, config }: Context, named: string | undefined): Promise<Bearer | undefined> {
  const path = tokenFile(config, named)
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' && named === undefined) return undefined
    throw new ConfigError(`operator: --token-file ${path}: ${error.message}`)
  })
  if (found === undefined) return undefined
  if ((found.mode & 0o077) !== 0)
    throw new ConfigError(`operator: other users can read ${path}: give it the mode 600, or sign in again`)
  const bearer = await service.staff.commands.bearer((await readFile(path, 'utf8')).trim())
  return bearer === 'waiting' ? undefined : bearer
}

const howToSignIn = 'sign in first: npm run -s operator -- sign-in'

/**
 * Finds the person for whom a command acts. A sandbox without an account of staff takes the typed `--staff`. Throws a ConfigError if a person must sign in, or
 * may not run the command.
 */
export async function identified(context: Context, { command, typed }: Parsed): Promise<Call> {
  if (rolesOf(command) === undefined) return { command, typed }
  const { config, db, service } = context
  const { staff, 'token-file': named, yes: _yes, ...own } = typed
  const bearer = await bearerOf(context, named === undefined ? undefined : String(named))
  if (bearer === undefined) {
    const isFirst = (await service.staff.list(db)).length === 0
    const isTyped =
      config.MODE === 'sandbox' && config.TWO_PERSONS === 'off' && declarationOf(command).second !== 'always'
    if (isFirst && (command === 'staff invite' || isTyped))
      return { command, typed: own, ...(staff === undefined ? {} : { staff: tidyName(String(staff)) }) }
    const first = isFirst ? '; the first account: staff invite --email ADDRESS --name NAME --role admin' : ''
    throw new ConfigError(`operator: ${howToSignIn}${first}`)
  }
  const { account, commands } = bearer
  if (staff !== undefined)
    throw new ConfigError(`operator: leave out --staff: the command acts for ${account.fullName}, who is signed in`)
  if (commands !== null && !commands.includes(command))
    throw new ConfigError(`operator: this token is for ${commands.join(', ')}`)
  return actingAs(context, { command, typed: own }, account)
}

/** The call of a command for an account. Throws a ConfigError if its role may not run the command. */
export async function actingAs(
  context: Context,
  { command, typed }: Parsed,
  account: Bearer['account'],
): Promise<Call> {
  const roles = rolesOf(command) ?? []
  if (!roles.includes(account.role))
    throw new ConfigError(
      `operator: ${command} needs the role ${roles.join(' or ')}; ${account.fullName} has ${account.role}`,
    )
  const call = { command, typed, staff: account.fullName, staffId: account.id }
  return (await waits(context, command)) ? { ...call, second: 'needed' } : call
}

/** Reports whether the command waits for a second person. One admin alone invites the next one. */
async function waits({ config, db, service }: Context, command: CommandName): Promise<boolean> {
  const { second } = declarationOf(command)
  if (second === 'always') return true
  if (config.TWO_PERSONS === 'off' || second === undefined) return false
  return !command.startsWith('staff ') || (await service.staff.changes.admins(db)) > 1
}
