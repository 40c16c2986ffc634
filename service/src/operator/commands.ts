/** All commands of the operator by their names, and who may run them: here and at the desk. */
import { Refusal } from '../kernel/api/index.ts'
import { type Config, ConfigError } from '../app/config.ts'
import { assert } from '../kernel/index.ts'
import type { DeskChanges } from '../pages/index.ts'
import { accountCommands } from './accounts.ts'
import { auditCommands } from './audit.ts'
import { approvalCommands } from './approvals.ts'
import { backupCommands, restore } from './backups.ts'
import { bankCommands } from './banks.ts'
import { bicCommands } from './bics.ts'
import { caseCommands } from './cases.ts'
import { coolingOffCommands } from './cooling-offs.ts'
import { WaitsForSecondPerson } from './changes.ts'
import type { Ask, Call, CommandsOf, Context, OfflineName, Result } from './context.ts'
import type { Typed } from './declaration.ts'
import { type CommandName, declarationOf, isCommand, mayRun, type OptionsOf, rolesOf } from './declarations.ts'
import { feeCommands } from './fees.ts'
import { fxCommands } from './fx.ts'
import { gateCommands } from './gates.ts'
import { ibanCommands } from './ibans.ts'
import { actingAs, identified } from './identity.ts'
import { keyCommands } from './keys.ts'
import { ledgerCommands } from './ledger.ts'
import { limitCommands } from './limits.ts'
import { memberCommands } from './members.ts'
import { moveCommands } from './moves.ts'
import { parseCommand, readOptions } from './parse.ts'
import { partnerCommands } from './partners.ts'
import { payerCommands } from './payers.ts'
import { paymentCommands } from './payments.ts'
import { reconcileCommands } from './reconcile.ts'
import { monitoringCommands } from './monitoring.ts'
import { safeguardingCommands, verifySafeguarding } from './safeguarding.ts'
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

/** Runs a command with its options as its declaration reads them. Throws a ConfigError. */
async function run(context: Context, call: Call): Promise<Result> {
  const { command, typed, staff } = call
  assert(!isOffline(command), 'the command needs a database')
  // Each function takes the options of its own name, which the compiler cannot follow for a name that is a variable.
  const own = commands[command] as (context: Context, options: unknown, call: Call) => Result | Promise<Result>
  return own(context, readOptions(command, staff === undefined ? typed : { ...typed, staff }), call)
}

const commands: CommandsOf<Exclude<CommandName, OfflineName>> = {
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
  ...payerCommands,
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
}

const offlineCommands: {
  readonly [N in OfflineName]: (config: Config, options: OptionsOf<N>) => Promise<object>
} = {
  'backup restore': restore,
  'safeguarding verify': (_config, options) => verifySafeguarding(options),
}
const isOffline = (command: CommandName): command is OfflineName => Object.hasOwn(offlineCommands, command)

/** Throws a ConfigError for an unknown command or a wrong option, before a database is opened or created. */
export function requireCommand(args: readonly string[]): void {
  const { command, typed } = parseCommand(args)
  // Who has signed in is not known yet.
  readOptions(command, rolesOf(command) === undefined ? typed : { staff: '-', ...typed })
}

/** The result of a command that needs no database. Undefined: `runOperator` runs the command. */
export async function runOffline(args: readonly string[], config: Config): Promise<object | undefined> {
  const { command, typed } = parseCommand(args)
  if (!isOffline(command)) return undefined
  return command === 'backup restore'
    ? offlineCommands[command](config, readOptions(command, typed))
    : offlineCommands[command](config, readOptions(command, typed))
}

/** Decides changes at the desk, by the commands that carry them out. */
export const deskChanges = (context: Context): DeskChanges => ({
  mayDecide: mayRun,
  approve: (by, id) => refusedAtDesk(async () => void (await approveChange(run, context, by, id))),
  reject: (by, id, note) => rejectChange(context, by, id, note),
  read: (command, options) =>
    refusedAtDesk(() => {
      assert(isCommand(command) && rolesOf(command) === undefined, 'the desk reads by commands that change nothing')
      return run(context, { command, typed: options })
    }),
  carryOut: (by, id) => refusedAtDesk(() => carryOutApproved(run, context, by, id)),
  run: (by, command, form) =>
    refusedAtDesk(async () => {
      assert(isCommand(command), 'a form of the desk runs a command')
      // A field that is left empty is an option that is not given.
      const typed: Typed = Object.fromEntries(Object.entries(form).filter(([, value]) => value.trim() !== ''))
      const call = await actingAs(context, { command, typed }, by)
      try {
        return { result: await run(context, call) }
      } catch (error) {
        if (!(error instanceof WaitsForSecondPerson)) throw error
        return { waits: (await proposed(context, call)).waits }
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

/**
 * Runs one command for the person who has signed in. Throws a ConfigError of one line if an argument is wrong, or if the command would take
 * access away and no person has said yes.
 */
export async function runOperator(args: readonly string[], context: Context, ask?: Ask): Promise<Result> {
  const parsed = parseCommand(args)
  const call = await identified(context, parsed)
  if (parsed.typed['yes'] === undefined) await confirmed(context, call, ask)
  try {
    return await run(context, call)
  } catch (error) {
    if (error instanceof WaitsForSecondPerson) return proposed(context, call)
    throw error
  }
}

/** Asks the person, who reads whose access the command takes away. Throws a ConfigError without a yes. */
async function confirmed(context: Context, { command, typed }: Call, ask: Ask | undefined): Promise<void> {
  const effect = declarationOf(command).cuts?.({ ...typed, ...(await whomOf(context, command, typed)) })
  if (effect === undefined) return
  if (ask === undefined)
    throw new ConfigError(`operator: ${command} ${effect}. Nothing was done: to do it, repeat the command with --yes`)
  if (!(await ask(`${command} ${effect}.\nType yes to do it: `)))
    throw new ConfigError('operator: nothing was done, because the answer was not yes')
}

/** The names of whom the options identify. An unknown one keeps its id: the command refuses it. */
async function whomOf({ service, db }: Context, command: CommandName, { partner, id }: Typed) {
  const partnerId = String(partner).toLowerCase()
  const partnerName = partner === undefined ? '' : await service.access.partnerName(db, partnerId)
  const people = /^staff (?!token)/.test(command) ? await service.staff.list(db) : []
  const accounts = command.startsWith('service-account ') ? await service.access.serviceAccounts(db, partnerId) : []
  const named = [
    ...people.map((person) => ({ id: person.id, name: person.fullName })),
    ...accounts.map(({ serviceAccountId, name }) => ({ id: serviceAccountId, name })),
  ].find((each) => each.id === String(id).toLowerCase())
  return {
    ...(partnerName === '' ? {} : { partner: `${partnerName} (${partnerId})` }),
    ...(named === undefined ? {} : { id: `${named.name} (${named.id})` }),
  }
}
