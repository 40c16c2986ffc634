/**
 * Code that commands share: dependencies, the call by a person, and the transaction of a change with its audit record.
 */
import { Refusal } from '../kernel/api/index.ts'
import type { Service } from '../app/compose.ts'
import { type Config, ConfigError } from '../app/config.ts'
import { publicUrlOf } from '../app/derived-settings.ts'
import { sandboxAddress } from '../app/seed.ts'
import type { NewRecord } from '../audit/index.ts'
import { operatorPartnerId } from '../cases/index.ts'
import type { Database, Tx } from '../postgres/index.ts'
import type { TypedOptions } from './declaration.ts'
import {
  type CommandName,
  getDeclaration,
  isCommand,
  roleMayRun,
  type ParsedOptions,
  commandOptions,
} from './declarations.ts'

export type Context = {
  readonly service: Service
  readonly db: Database
  readonly config: Config
  readonly databaseUrl: string
}

/** Adds the address of the API to a new credential, so that it is all that a client needs. */
export const withBaseUrl = <T extends object>({ config }: Pick<Context, 'config'>, credential: T) => ({
  // A sandbox may listen on a port that the environment of the command does not have.
  baseUrl: (config.MODE === 'sandbox' && !config.PUBLIC_URL && sandboxAddress(config.DATA_DIR)) || publicUrlOf(config),
  ...credential,
})

/** The result of a command. A result that is too long for memory is a function that writes it in chunks. */
export type CommandResult = object | ((write: OutputWriter) => Promise<void>)

/** Writes a chunk of a result. Resolves when the output has accepted it. */
export type OutputWriter = (text: string) => Promise<void>

/** A command with its options as typed, and the person who runs it. `staff`: the name of the signed-in account. */
export type CommandCall = {
  readonly command: CommandName
  readonly typed: TypedOptions
  readonly staff?: string
  readonly staffId?: string
  /** `needed` if a second person must approve the command first, else the person who approved the change. */
  readonly second?: 'needed' | { readonly changeId: string; readonly id: string; readonly fullName: string }
}

/** Asks a question at the terminal. Resolves to true if the person answers yes. */
export type ConfirmationPrompt = (question: string) => Promise<boolean>

/** Commands that print the declarations and need no settings. */
export type PrintedCommandName = 'commands' | `completion ${'bash' | 'zsh' | 'fish'}`
/** Commands that run before a database is opened. */
export type OfflineCommandName = 'backup restore' | 'safeguarding verify'

/** The functions of the commands. Each receives the options of its own declaration only. */
export type CommandFunctions<P extends string> = {
  readonly [N in Extract<CommandName, P>]: (
    context: Context,
    options: ParsedOptions<N>,
    call: CommandCall,
  ) => CommandResult | Promise<CommandResult>
}

export type RecordedCall = Omit<CommandCall, 'command'> & {
  readonly command: CommandCall['command'] | 'change propose'
  /**
   * The partner in whose log the command is recorded. Default: `--partner`. Hidden commands and commands without a
   * partner are in the operator's log.
   */
  readonly partnerId?: string
  /** Ids of created records, if the options do not contain them. */
  readonly made?: Readonly<Record<string, string>>
}

/** Options that an audit record has as fields: the subject and the reason. */
const recordFields: ReadonlySet<string> = new Set(['partner', 'id', 'note', 'reason'])

const isHidden = (command: string): boolean => isCommand(command) && getDeclaration(command).hidden === true

/** Builds the record of a command. Options are typed text, and never secrets. */
function toRecord({ command, typed, staff, staffId, second, partnerId: whose, made = {} }: RecordedCall): NewRecord {
  const text = (name: string) => (typed[name] === undefined ? undefined : String(typed[name]))
  const [id, partner] = [text('id')?.toLowerCase(), text('partner')?.toLowerCase()]
  const partnerId = (whose ?? (isHidden(command) ? undefined : partner) ?? operatorPartnerId).toLowerCase()
  // A record in the operator's log states the partner that it concerns.
  const about = partner === undefined || partnerId === partner ? {} : { partnerId: partner }
  const taken = isCommand(command) ? commandOptions(command) : {}
  const said: (readonly [string, unknown])[] = Object.entries(typed).filter(
    ([name]) => !recordFields.has(name) && !taken[name]?.unrecorded,
  )
  if (typeof second === 'object') said.push(['approvedBy', second.fullName], ['change', second.changeId])
  const why = text('note') ?? text('reason')
  return {
    partnerId,
    actor: {
      kind: 'operator',
      ...(staffId === undefined ? {} : { id: staffId }),
      ...(staff === undefined ? {} : { name: staff }),
    },
    action: `operator ${command}`,
    subject: { ...(id === undefined ? {} : { id }), ...about, ...made },
    ...(said.length === 0 ? {} : { details: Object.fromEntries(said) }),
    ...(why === undefined ? {} : { reason: why }),
  }
}

type RecordDeps = Pick<Context['service'], 'access' | 'audit' | 'staff'>

/**
 * Adds the audit record of a command in the transaction of its change. Records without a partner are in the operator's
 * log. Refuses: permission_denied (the account of the person was removed since the command began).
 */
export async function recordCommand({ access, audit, staff }: RecordDeps, tx: Tx, change: RecordedCall): Promise<void> {
  if (change.staffId !== undefined) await staff.commands.hold(tx, change.staffId)
  const written = toRecord(change)
  if (written.partnerId === operatorPartnerId) await access.addOperator(tx, operatorPartnerId)
  audit.append(tx, [written])
}

/** Rethrows a file error as the line that the command prints. `label`: the name of the file in that line. */
export const rethrowFileError =
  (label: string) =>
  (error: unknown): never => {
    throw new ConfigError(`operator: ${label}: ${(error as Error).message}`)
  }

/** Reads all pages of a list. `read`: reads the page after a row. */
export async function readAllPages<T>(
  rowsMax: number,
  read: (last: T | undefined) => Promise<readonly T[]>,
): Promise<readonly T[]> {
  const rows: T[] = []
  for (;;) {
    const page = await read(rows.at(-1))
    rows.push(...page)
    if (page.length < rowsMax) return rows
  }
}

/** Runs an operation, and turns its refusal into the line that the command prints. */
export async function refusalAsConfigError<T>(work: () => T | Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof Refusal) throw new ConfigError(`operator: ${error.detail}`)
    throw error
  }
}

/**
 * Thrown when a command has passed its checks and needs the approval of a second person. Its transaction is rolled
 * back.
 */
export class WaitsForSecondPerson extends Error {
  override readonly name = 'WaitsForSecondPerson'
}

/**
 * Carries out a command and records it in one transaction. `made`: reads the ids of created records from the result. Throws
 * WaitsForSecondPerson, with nothing written, if another person must approve the command first.
 */
export function runAndRecord<T>(
  { service, db }: { readonly service: RecordDeps; readonly db: Database },
  change: RecordedCall,
  work: (tx: Tx) => Promise<T>,
  made?: (result: T) => Readonly<Record<string, string>>,
): Promise<T> {
  const { second } = change
  return db.transaction(async (tx) => {
    if (typeof second === 'object') await service.staff.changes.carryOut(tx, second.changeId, second, roleMayRun)
    const result = await work(tx)
    if (second === 'needed') throw new WaitsForSecondPerson()
    await recordCommand(service, tx, made === undefined ? change : { ...change, made: made(result) })
    return result
  })
}

/** Runs an operation and records it in one transaction. Turns its refusal into the line that the command prints. */
export async function runChange(
  context: Context,
  change: RecordedCall,
  work: (tx: Tx) => Promise<Readonly<Record<string, unknown>>>,
): Promise<object> {
  const known = async (tx: Tx) => {
    const { partner } = change.typed
    if (partner !== undefined && (await context.service.access.partnerName(tx, String(partner))) === '')
      throw new Refusal('not_found', 'No such partner.')
    return work(tx)
  }
  return refusalAsConfigError(() =>
    runAndRecord(context, change, known, ({ id }) => (typeof id === 'string' ? { id } : {})),
  )
}

/** Creates a command that runs an operation and writes its audit record in one transaction. */
export const operationCommand =
  <O>(verb: (service: Service, tx: Tx, options: O, call: CommandCall) => Promise<Readonly<Record<string, unknown>>>) =>
  (context: Context, options: O, call: CommandCall): Promise<object> =>
    runChange(context, call, (tx) => verb(context.service, tx, options, call))
