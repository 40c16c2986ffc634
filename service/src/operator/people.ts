/** Commands for people: sign-in, tokens of schedules, accounts of staff, and recoveries of partners' Admins. */
import { mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { homedir, hostname, userInfo } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { type Config, ConfigError } from '../app/config.ts'
import { deskUrlOf } from '../app/derived-settings.ts'
import { masterKeyId, systemClock, normalizeName } from '../kernel/index.ts'
import type { Bearer } from '../people/staff/index.ts'
import {
  runChange,
  type CommandCall,
  runAndRecord,
  type CommandFunctions,
  type Context,
  refusalAsConfigError,
  operationCommand,
} from './context.ts'
import { type CommandName, getDeclaration, commandRoles } from './declarations.ts'
import type { ParsedCommand } from './parse.ts'

export const peopleCommands: CommandFunctions<
  `sign-${string}` | 'who' | `staff ${string}` | `decider ${string}` | `member ${string}`
> = {
  /** Prints a link to the desk, and waits for at most ten minutes until a person confirms the code there. */
  'sign-in': (context, options) => async (write) => {
    const { service, config } = context
    const { token, userCode, confirmBefore } = await service.staff.commands.request(callerOrigin())
    const link = new URL('/desk/device', deskUrlOf(config))
    link.searchParams.set('code', userCode)
    await write(`Open ${link.href} and confirm the code ${userCode} within ten minutes.\n`)
    while (systemClock.now() < confirmBefore) {
      const bearer = await service.staff.commands.bearer(token)
      if (bearer === undefined) break
      if (bearer !== 'waiting') {
        const file = await writeToken(config, options['token-file'], token)
        const { fullName, role } = bearer.account
        return write(`${JSON.stringify({ signedIn: fullName, role, until: bearer.expiresAt, file })}\n`)
      }
      await pause(askEveryMs)
    }
    throw new ConfigError('operator: the code was not confirmed in time')
  },

  'sign-out': async (context, { 'token-file': file }, call) => {
    const bearer = await readBearer(context, file)
    if (bearer !== undefined) {
      const person = { staff: bearer.account.fullName, staffId: bearer.account.id }
      await runChange(context, { ...call, ...person }, async (tx) => {
        await context.service.staff.commands.end(tx, bearer.tokenId)
        return {}
      })
    }
    await removeToken(context.config, file)
    return { signedOut: bearer?.account.fullName ?? null }
  },

  who: async (context, options) => {
    const bearer = await readBearer(context, options['token-file'])
    if (bearer === undefined) return { signedIn: null }
    const { account, commands, expiresAt } = bearer
    return { signedIn: account.fullName, role: account.role, commands, until: expiresAt }
  },

  /**
   * Writes a token for scheduled commands to a file. The token acts for an account until it expires, and cannot make
   * decisions.
   */
  'staff token create': async (context, { commands, days, to }, call) => {
    if (call.staffId === undefined) throw new ConfigError('operator: a token acts for a person: sign in first')
    const by = call.staffId
    return runChange(context, call, async (tx) => {
      const { token, ...issued } = await context.service.staff.commands.issue(tx, by, {
        commands,
        days,
        origin: callerOrigin(),
      })
      // Written before the commit, because a token without a file would be lost.
      const file = await writeToken(context.config, to, token)
      return { ...issued, commands, file }
    })
  },

  'staff token list': async ({ service, db }) => service.staff.commands.list(db),

  'staff token end': operationCommand(async ({ staff }, tx, { id }) => {
    await staff.commands.end(tx, id)
    return { ended: id }
  }),

  'staff invite': (context, { email, name: fullName, role }, call) =>
    runChange(context, call, async (tx) => {
      const { token, ...invitation } = await context.service.staff.invite(tx, { email, fullName, role })
      const link = new URL('/desk/join', deskUrlOf(context.config))
      link.searchParams.set('token', token)
      return { ...invitation, link: link.href }
    }),

  'staff role': operationCommand(async ({ staff }, tx, { id: personId, role }) => {
    const { id, email, fullName } = await staff.setRole(tx, personId, role)
    return { id, email, fullName, role }
  }),

  'staff end-sessions': operationCommand(async ({ staff }, tx, { id: personId }) => {
    const { id, email, fullName } = await staff.endSessions(tx, personId)
    return { id, email, fullName }
  }),

  'staff list': ({ service, db }) => service.staff.list(db),

  'staff remove': operationCommand(async ({ staff }, tx, { id: personId }) => {
    const { id, email, fullName } = await staff.remove(tx, personId)
    return { removed: id, email, fullName }
  }),

  'decider list': ({ service, db }) => service.staff.deciders(db),

  'decider set': operationCommand((service, tx, { kind, roles = [], staff }) =>
    service.staff.setDeciders(tx, { kind, roles, staff }),
  ),

  /**
   * Begins the recovery of an Admin. The link is mailed after a cooling-off of 24 hours, during which any Admin can
   * cancel.
   */
  'member recover': operationCommand(({ members }, tx, { partner, email, staff, note: reason }) =>
    members.recoveries.begin(tx, partner, { email, staff, reason }),
  ),

  'member recovery cancel': async (context, { partner, id, staff }, call) => {
    await refusalAsConfigError(() =>
      runAndRecord(context, call, (tx) => context.service.members.recoveries.stop(tx, partner, id, { staff })),
    )
    return { cancelled: id }
  },

  'member recovery list': ({ service, db }, { partner }) => service.members.recoveries.list(db, partner),
}

/** Returns the home folder of the user, or the data folder in a container without a home folder. */
function homeFolder({ DATA_DIR }: Config): string {
  try {
    return homedir()
  } catch {
    return DATA_DIR
  }
}

/** Returns the user and machine that request a sign-in, as the desk shows them. */
function callerOrigin(): string {
  try {
    return `${userInfo().username}@${hostname()}`
  } catch {
    return `user ${process.getuid?.() ?? ''}@${hostname()}`
  }
}

/** Returns the path of the token. Each installation has its own file, named after its master key. */
const tokenFile = (config: Config, named: string | undefined): string =>
  named ?? join(homeFolder(config), '.partner-payments', `${masterKeyId(config.MASTER_KEY[0])}.token`)

/** Writes a token so that only its user can read it. */
async function writeToken(config: Config, named: string | undefined, token: string): Promise<string> {
  const path = tokenFile(config, named)
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    // An existing file would keep its mode, so it is replaced.
    await rm(path, { force: true })
    await writeFile(path, `${token}\n`, { mode: 0o600, flag: 'wx' })
  } catch (error) {
    throw new ConfigError(`operator: ${(error as Error).message}; name another file by --token-file`)
  }
  return path
}

const removeToken = (config: Config, named: string | undefined): Promise<void> =>
  rm(tokenFile(config, named), { force: true })

/** Reads the signed-in person. Undefined if there is no file, or its token has expired. */
async function readBearer({ service, config }: Context, named: string | undefined): Promise<Bearer | undefined> {
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
 * Finds the person for whom a command acts. A sandbox without staff accounts uses the typed `--staff`. Throws a
 * ConfigError if a person must sign in, or may not run the command.
 */
export async function identifyCaller(context: Context, { command, typed }: ParsedCommand): Promise<CommandCall> {
  if (commandRoles(command) === undefined) return { command, typed }
  const { config, db, service } = context
  const { staff, 'token-file': named, yes: _yes, ...own } = typed
  const bearer = await readBearer(context, named === undefined ? undefined : String(named))
  if (bearer === undefined) {
    const isFirst = (await service.staff.list(db)).length === 0
    const isTyped =
      config.MODE === 'sandbox' && config.TWO_PERSONS === 'off' && getDeclaration(command).second !== 'always'
    if (isFirst && (command === 'staff invite' || isTyped))
      return { command, typed: own, ...(staff === undefined ? {} : { staff: normalizeName(String(staff)) }) }
    const first = isFirst ? '; the first account: staff invite --email ADDRESS --name NAME --role admin' : ''
    throw new ConfigError(`operator: ${howToSignIn}${first}`)
  }
  const { account, commands } = bearer
  if (staff !== undefined)
    throw new ConfigError(`operator: leave out --staff: the command acts for ${account.fullName}, who is signed in`)
  if (commands !== null && !commands.includes(command))
    throw new ConfigError(`operator: this token is for ${commands.join(', ')}`)
  return createCall(context, { command, typed: own }, account)
}

/** Creates the call of a command for an account. Throws a ConfigError if its role may not run the command. */
export async function createCall(
  context: Context,
  { command, typed }: ParsedCommand,
  account: Bearer['account'],
): Promise<CommandCall> {
  const roles = commandRoles(command) ?? []
  if (!roles.includes(account.role))
    throw new ConfigError(
      `operator: ${command} needs the role ${roles.join(' or ')}; ${account.fullName} has ${account.role}`,
    )
  const call = { command, typed, staff: account.fullName, staffId: account.id }
  return (await needsSecondPerson(context, command)) ? { ...call, second: 'needed' } : call
}

/** Reports whether a second person must approve the command. A sole admin can invite the next one alone. */
async function needsSecondPerson({ config, db, service }: Context, command: CommandName): Promise<boolean> {
  const { second } = getDeclaration(command)
  if (second === 'always') return true
  if (config.TWO_PERSONS === 'off' || second === undefined) return false
  return !command.startsWith('staff ') || (await service.staff.changes.admins(db)) > 1
}

/** Polling interval, shorter than the five seconds of RFC 8628, because the command polls its own database. */
const askEveryMs = 500
