/**
 * Runs the operator's commands by name, from the command line and at the desk, and stores changes that await a second
 * person.
 */
import { ownJson } from '@partner-payments/wire'
import { Refusal } from '../kernel/api/index.ts'
import { type Config, ConfigError } from '../app/config.ts'
import { operatorPartnerId } from '../cases/index.ts'
import { assert, present } from '../kernel/index.ts'
import type { StaffChange, StaffRole } from '../people/staff/index.ts'
import type { DeskChanges } from '../pages/index.ts'
import { bankCommands, readEvidence } from './banks.ts'
import {
  type ConfirmationPrompt,
  type CommandCall,
  type CommandFunctions,
  type Context,
  type OfflineCommandName,
  type PrintedCommandName,
  recordCommand,
  refusalAsConfigError,
  type CommandResult,
  WaitsForSecondPerson,
} from './context.ts'
import type { TypedOptions } from './declaration.ts'
import {
  type CommandName,
  getDeclaration,
  isCommand,
  commandList,
  roleMayRun,
  type ParsedOptions,
  commandOptions,
  commandRoles,
} from './declarations.ts'
import { keyCommands, restoreDatabase } from './keys.ts'
import { ledgerCommands, verifySafeguarding } from './ledger.ts'
import { monitoringCommands } from './monitoring.ts'
import { moveCommands } from './moves.ts'
import { formOptions, parseCommand, parseOptions } from './parse.ts'
import { partnerCommands, readPublicKey } from './partners.ts'
import { paymentCommands } from './payments.ts'
import { createCall, identifyCaller, peopleCommands } from './people.ts'
import { bashCompletion, commandsPage, fishCompletion, zshCompletion } from './printed.ts'
import { ruleCommands } from './rules.ts'
import { screeningCommands } from './screening.ts'

/** Reads the options of a command and runs it. Throws a ConfigError. */
async function run(context: Context, call: CommandCall): Promise<CommandResult> {
  const { command, typed, staff } = call
  assert(!isOffline(command) && !isPrinted(command), 'the command needs a database')
  // The compiler cannot match the options with a command whose name is a variable.
  const own = commands[command] as (
    context: Context,
    options: unknown,
    call: CommandCall,
  ) => CommandResult | Promise<CommandResult>
  return own(context, parseOptions(command, staff === undefined ? typed : { ...typed, staff }), call)
}

const offlineCommands: {
  readonly [N in OfflineCommandName]: (config: Config, options: ParsedOptions<N>) => Promise<object>
} = {
  'backup restore': restoreDatabase,
  'safeguarding verify': (_config, options) => verifySafeguarding(options),
}
const isOffline = (command: CommandName): command is OfflineCommandName => Object.hasOwn(offlineCommands, command)

const completions: Readonly<Record<Exclude<PrintedCommandName, 'commands'>, () => string>> = {
  'completion bash': bashCompletion,
  'completion zsh': zshCompletion,
  'completion fish': fishCompletion,
}
const isPrinted = (command: CommandName): command is PrintedCommandName =>
  command === 'commands' || Object.hasOwn(completions, command)

/**
 * Throws a ConfigError for an unknown command or a wrong option, before a database is opened or created. Returns the text of a command that needs
 * no settings.
 */
export function checkCommand(args: readonly string[]): string | undefined {
  const { command, typed } = parseCommand(args)
  if (command === 'commands') return parseOptions(command, typed).markdown ? commandsPage() : `${commandList()}\n`
  if (isPrinted(command)) return completions[command]()
  // The person is not known yet.
  parseOptions(command, commandRoles(command) === undefined ? typed : { staff: '-', ...typed })
  return undefined
}

/** Runs a command that needs no database. Undefined if `runOperator` must run it. */
export async function runOffline(args: readonly string[], config: Config): Promise<object | undefined> {
  const { command, typed } = parseCommand(args)
  if (!isOffline(command)) return undefined
  return command === 'backup restore'
    ? offlineCommands[command](config, parseOptions(command, typed))
    : offlineCommands[command](config, parseOptions(command, typed))
}

/** Runs commands, and approves and rejects changes, for the desk. */
export const createDeskChanges = (context: Context): DeskChanges => ({
  mayDecide: roleMayRun,
  form: (command) => {
    assert(isCommand(command), 'a form of the desk runs a command')
    return formOptions(command)
  },
  act: (command) => {
    if (!isCommand(command) || commandRoles(command) === undefined) return undefined
    const { cuts, secret, options } = getDeclaration(command)
    const needsFile = Object.values(options).some(({ kind, optional }) => kind === 'file' && optional !== true)
    return needsFile ? undefined : { cuts: cuts !== undefined, secret: secret === true }
  },
  approve: (by, id) => refusalAtDesk(async () => void (await approveChange(context, by, id))),
  reject: (by, id, note) => rejectChange(context, by, id, note),
  read: (command, options) =>
    refusalAtDesk(() => {
      assert(
        isCommand(command) && commandRoles(command) === undefined,
        'the desk reads by commands that change nothing',
      )
      return run(context, { command, typed: options })
    }),
  carryOut: (by, id) => refusalAtDesk(() => carryOutApproved(context, by, id)),
  run: (by, command, form) =>
    refusalAtDesk(async () => {
      assert(isCommand(command), 'a form of the desk runs a command')
      // An empty field is an option that was not given.
      const typed: TypedOptions = Object.fromEntries(Object.entries(form).filter(([, value]) => value.trim() !== ''))
      const call = await createCall(context, { command, typed }, by)
      try {
        return { result: await run(context, call) }
      } catch (error) {
        if (!(error instanceof WaitsForSecondPerson)) throw error
        return { waits: (await proposeChange(context, call)).waits }
      }
    }),
})

/** Turns a ConfigError of a command into a refusal. */
async function refusalAtDesk<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    throw new Refusal('validation_failed', error.message.replace(/^operator: /, ''))
  }
}

/**
 * Runs one command for the person who has signed in. Throws a one-line ConfigError if an argument is wrong, or if the
 * command would remove access and the person has not confirmed it.
 */
export async function runOperator(
  args: readonly string[],
  context: Context,
  ask?: ConfirmationPrompt,
): Promise<CommandResult> {
  const parsed = parseCommand(args)
  const call = await identifyCaller(context, parsed)
  if (parsed.typed['yes'] === undefined) await confirmEffect(context, call, ask)
  try {
    return await run(context, call)
  } catch (error) {
    if (error instanceof WaitsForSecondPerson) return proposeChange(context, call)
    throw error
  }
}

/** Asks for confirmation if the command removes access. Throws a ConfigError if the person does not confirm. */
async function confirmEffect(
  context: Context,
  { command, typed }: CommandCall,
  ask: ConfirmationPrompt | undefined,
): Promise<void> {
  const effect = getDeclaration(command).cuts?.({ ...typed, ...(await readAffected(context, command, typed)) })
  if (effect === undefined) return
  if (ask === undefined)
    throw new ConfigError(`operator: ${command} ${effect}. Nothing was done: to do it, repeat the command with --yes`)
  if (!(await ask(`${command} ${effect}.\nType yes to do it: `)))
    throw new ConfigError('operator: nothing was done, because the answer was not yes')
}

/** Reads the names of the partner, person or service account that the options identify. The command refuses unknown ids. */
async function readAffected({ service, db }: Context, command: CommandName, { partner, id }: TypedOptions) {
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

const changesMax = 1000

type Person = { readonly id: string; readonly fullName: string; readonly role: StaffRole }

/** Stores a checked change for approval. It stores the content of files instead of their paths. */
async function proposeChange(context: Context, { command, typed, ...person }: CommandCall) {
  const by = {
    id: present(person.staffId, `no signed-in person for the change by ${command}`),
    fullName: present(person.staff, `no name for person ${person.staffId ?? ''}`),
  }
  const { 'public-key': keyFile, evidence: document, partner, note } = typed
  const key = keyFile === undefined ? {} : { 'public-key': await readPublicKey(String(keyFile)) }
  const evidence = document === undefined ? {} : { evidence: await readEvidence(String(document)) }
  const row = await context.db.transaction(async (tx) => {
    const all = Object.entries({ ...typed, ...key, ...evidence })
    const isUnrecorded = ([name]: (typeof all)[number]) => commandOptions(command)[name]?.unrecorded === true
    const change = await context.service.staff.changes.propose(tx, by, {
      command,
      options: Object.fromEntries(all.filter((each) => !isUnrecorded(each))),
      unrecorded: Object.fromEntries(all.filter(isUnrecorded)),
    })
    const said = { ...(partner && { partner }), ...(note && { note }) }
    await recordCommand(context.service, tx, {
      ...{ command: 'change propose', staff: by.fullName, staffId: by.id },
      ...{ typed: { ...said, action: command, id: change.id }, partnerId: operatorPartnerId },
    })
    return change
  })
  return {
    waits: row.id,
    command,
    expiresAt: row.expiresAt,
    next: `another person runs: change approve --id ${row.id}`,
  }
}

/** Checks that the role may run the command. Refuses: permission_denied. */
function refuseRole(role: StaffRole, { command }: StaffChange): void {
  const roles = commandRoles(command) ?? []
  if (!roles.includes(role))
    throw new Refusal('permission_denied', `${command} needs the role ${roles.join(' or ')}; yours is ${role}.`)
}

/**
 * Approves a change and carries it out in one transaction. If its result is a secret, the author of the change runs it
 * later. Refuses: not_found, validation_failed (also as the command does), permission_denied.
 */
async function approveChange(context: Context, by: Person, id: string): Promise<CommandResult> {
  const { service, db } = context
  refuseRole(by.role, await service.staff.changes.get(db, id))
  const row = await service.staff.changes.approvable(db, id, by, roleMayRun)
  if (!isSecret(row.command)) return carryOut(context, row, by)
  await db.transaction(async (tx) => {
    await service.staff.changes.approve(tx, id, by, roleMayRun)
    await recordCommand(service, tx, toCall('change approve', by, { id }))
  })
  return { approved: id, command: row.command, next: `${row.proposedByName} runs: change run --id ${id}` }
}

/** Rejects a change. Refuses: not_found, validation_failed, permission_denied. */
async function rejectChange(context: Context, by: Person, id: string, note: string): Promise<void> {
  const { service, db } = context
  refuseRole(by.role, await service.staff.changes.get(db, id))
  await db.transaction(async (tx) => {
    await service.staff.changes.reject(tx, id, by, note)
    await recordCommand(service, tx, toCall('change reject', by, { id, note }))
  })
}

/** Carries out an approved change for its author. Refuses: not_found, permission_denied, validation_failed. */
async function carryOutApproved(context: Context, by: Person, id: string): Promise<CommandResult> {
  const row = await context.service.staff.changes.get(context.db, id)
  if (row.proposedBy !== by.id)
    throw new Refusal('permission_denied', `Only the author of the change, ${row.proposedByName}, may run it.`)
  refuseRole(by.role, row)
  if (row.approved !== true || row.decidedBy === null)
    throw new Refusal('validation_failed', 'No second person has approved the change.')
  const second = { id: row.decidedBy, fullName: present(row.decidedByName, `no name for person ${row.decidedBy}`) }
  return carryOut(context, row, second)
}

const isSecret = (command: string): boolean => isCommand(command) && getDeclaration(command).secret === true

const toCall = (
  command: CommandCall['command'],
  { id: staffId, fullName: staff }: Person,
  typed: TypedOptions,
): CommandCall => ({
  ...{ command, typed, staff, staffId },
})

/**
 * Carries out a change with its stored options. Throws a ConfigError if the command no longer accepts a stored option.
 */
function carryOut(context: Context, row: StaffChange, by: Omit<Person, 'role'>): Promise<CommandResult> {
  if (!isCommand(row.command)) throw new ConfigError(`operator: there is no command ${row.command} any more`)
  const second = { changeId: row.id, id: by.id, fullName: by.fullName }
  const person = { staff: row.proposedByName, staffId: row.proposedBy, second }
  return run(context, { command: row.command, typed: ownJson<TypedOptions>(row.options), ...person })
}

const readPerson = async ({ service, db }: Context, { staffId }: CommandCall): Promise<Person> => {
  const account = (await service.staff.list(db)).find(({ id }) => id === staffId)
  if (account === undefined) throw new ConfigError('operator: a change needs a signed-in person: sign in first')
  return account
}

const changeCommands: CommandFunctions<`change ${string}`> = {
  'change list': async ({ service, db }) => (await service.staff.changes.waiting(db, changesMax)).map(changeView),

  'change show': ({ service, db }, { id }) =>
    refusalAsConfigError(async () => changeView(await service.staff.changes.get(db, id))),

  'change approve': (context, { id }, call) =>
    refusalAsConfigError(async () => approveChange(context, await readPerson(context, call), id)),

  /** Rejects a change, or withdraws it if the person is its author. */
  'change reject': async (context, { id, note }, call) => {
    await refusalAsConfigError(async () => rejectChange(context, await readPerson(context, call), id, note))
    return { rejected: id }
  },

  /** Carries out an approved change whose result is a secret. Only its author can run it, once. */
  'change run': (context, { id }, call) =>
    refusalAsConfigError(async () => carryOutApproved(context, await readPerson(context, call), id)),
}

const changeView = ({ options, approved, ...row }: StaffChange) => ({
  ...row,
  status: row.doneAt !== null ? 'done' : approved === null ? 'waits' : approved ? 'approved' : 'rejected',
  options: ownJson<unknown>(options),
})

const commands: CommandFunctions<Exclude<CommandName, OfflineCommandName | PrintedCommandName>> = {
  ...peopleCommands,
  ...changeCommands,
  ...partnerCommands,
  ...moveCommands,
  ...ruleCommands,
  ...paymentCommands,
  ...bankCommands,
  ...ledgerCommands,
  ...screeningCommands,
  ...monitoringCommands,
  ...keyCommands,
}
