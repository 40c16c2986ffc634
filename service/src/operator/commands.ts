/** All commands of the operator by their names, and who may run them: here and at the desk. */
import { Refusal } from '../api/index.ts'
import { type Config, ConfigError } from '../app/config.ts'
import { assert, nearest, present } from '../kernel/index.ts'
import type { DeskChanges } from '../pages/index.ts'
import { accountCommands } from './accounts.ts'
import { auditCommands } from './audit.ts'
import { approvalCommands } from './approvals.ts'
import { backupCommands, commandsWithoutDatabase } from './backups.ts'
import { bankCommands } from './banks.ts'
import { bicCommands } from './bics.ts'
import { caseCommands } from './cases.ts'
import { coolingOffCommands } from './cooling-offs.ts'
import { WaitsForSecondPerson } from './changes.ts'
import type { Context, Result } from './context.ts'
import { feeCommands } from './fees.ts'
import { fxCommands } from './fx.ts'
import { gateCommands } from './gates.ts'
import { operatorUsage } from './help.ts'
import { ibanCommands } from './ibans.ts'
import { actingAs, identified } from './identity.ts'
import { keyCommands } from './keys.ts'
import { ledgerCommands } from './ledger.ts'
import { limitCommands } from './limits.ts'
import { type Options, parseCommand } from './options.ts'
import { memberCommands } from './members.ts'
import { moveCommands } from './moves.ts'
import { partnerCommands } from './partners.ts'
import { paymentCommands } from './payments.ts'
import { reconcileCommands } from './reconcile.ts'
import { monitoringCommands } from './monitoring.ts'
import { safeguardingCommands, verifySafeguarding } from './safeguarding.ts'
import { rolesOf } from './roles.ts'
import { reviewCommands } from './reviews.ts'
import { screeningCommands } from './screening.ts'
import { screeningCountryCommands } from './screening-countries.ts'
import { approveChange, carryOutApproved, createChangeCommands, proposed, rejectChange } from './second-person.ts'
import { serviceAccountCommands } from './service-accounts.ts'
import { signInCommands } from './sign-in.ts'
import { segregationCommands } from './segregation.ts'
import { sortCodeCommands } from './sort-codes.ts'
import { staffCommands } from './staff.ts'
import { walletCommands } from './wallets.ts'

type Command = (context: Context, options: Options) => Result | Promise<Result>

const run = async (command: string, context: Context, options: Options): Promise<Result> =>
  present(commands.get(command), 'the command of a change exists')(context, options)

const commands: ReadonlyMap<string, Command> = new Map(
  Object.entries<Command>({
    ...partnerCommands,
    ...memberCommands,
    ...moveCommands,
    ...serviceAccountCommands,
    ...ledgerCommands,
    ...fxCommands,
    ...accountCommands,
    ...limitCommands,
    ...feeCommands,
    ...approvalCommands,
    ...coolingOffCommands,
    ...gateCommands,
    ...reviewCommands,
    ...segregationCommands,
    ...keyCommands,
    ...walletCommands,
    ...caseCommands,
    ...screeningCommands,
    ...screeningCountryCommands,
    ...paymentCommands,
    ...reconcileCommands,
    ...safeguardingCommands,
    ...monitoringCommands,
    ...bankCommands,
    ...bicCommands,
    ...sortCodeCommands,
    ...ibanCommands,
    ...auditCommands,
    ...staffCommands,
    ...signInCommands,
    ...createChangeCommands(run),
    ...backupCommands,
  }),
)

type OfflineCommand = (config: Config, options: Options) => Promise<object>
const offlineCommands: ReadonlyMap<string, OfflineCommand> = new Map(
  Object.entries<OfflineCommand>({
    ...commandsWithoutDatabase,
    'safeguarding verify': (_config, options) => verifySafeguarding(options),
  }),
)

/** The nearest command, or all of them. */
function unknownCommand(command: string): string {
  const meant = nearest(command, [...commands.keys(), ...offlineCommands.keys()])
  return meant === undefined ? operatorUsage : `operator: no command ${command}; did you mean ${meant}?`
}

function find(args: readonly string[]): { readonly command: string; readonly options: Options } {
  const parsed = parseCommand(args)
  if (!commands.has(parsed.command)) throw new ConfigError(unknownCommand(parsed.command))
  return parsed
}

/** Throws a ConfigError for an unknown command, before a database is opened or created. */
export function requireCommand(args: readonly string[]): void {
  if (!offlineCommands.has(parseCommand(args).command)) find(args)
}

/** The result of a command that needs no database. Undefined: `runOperator` runs the command. */
export async function runOffline(args: readonly string[], config: Config): Promise<object | undefined> {
  const { command, options } = parseCommand(args)
  return offlineCommands.get(command)?.(config, options)
}

/** Decides changes at the desk, by the commands that carry them out. */
export const deskChanges = (context: Context): DeskChanges => ({
  mayDecide: (command, role) => rolesOf.get(command)?.includes(role) ?? false,
  approve: (by, id) => refusedAtDesk(async () => void (await approveChange(run, context, by, id))),
  reject: (by, id, note) => rejectChange(context, by, id, note),
  read: (command, options) =>
    refusedAtDesk(() => {
      assert(!rolesOf.has(command), 'the desk reads by commands that change nothing')
      return run(command, context, options)
    }),
  carryOut: (by, id) => refusedAtDesk(() => carryOutApproved(run, context, by, id)),
  run: (by, command, typed) =>
    refusedAtDesk(async () => {
      const given = await actingAs(context, command, typed, by)
      try {
        return { result: await run(command, context, given) }
      } catch (error) {
        if (!(error instanceof WaitsForSecondPerson)) throw error
        return { waits: (await proposed(context, command, given)).waits }
      }
    }),
})

/** Turns the line that a command prints into a refusal. */
async function refusedAtDesk<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    throw new Refusal('validation_failed', error.message.replace(/^operator: /, ''))
  }
}

/** Runs one command for the person who has signed in. Throws a ConfigError of one line if an argument is wrong. */
export async function runOperator(args: readonly string[], context: Context): Promise<Result> {
  const { command, options } = find(args)
  const given = await identified(context, command, options)
  try {
    return await run(command, context, given)
  } catch (error) {
    if (error instanceof WaitsForSecondPerson) return proposed(context, command, given)
    throw error
  }
}
