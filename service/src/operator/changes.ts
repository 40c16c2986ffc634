/** Runs a change of a command and its record in the partner's audit log in one transaction. */
import { Refusal } from '../kernel/api/index.ts'
import { ConfigError } from '../app/config.ts'
import type { NewRecord } from '../audit/index.ts'
import { operatorPartnerId } from '../cases/index.ts'
import type { Database, Tx } from '../postgres/index.ts'
import type { Call, Context } from './context.ts'
import { declarationOf, isCommand, mayRun } from './declarations.ts'

export type Change = Omit<Call, 'command'> & {
  readonly command: Call['command'] | 'change propose'
  /** The partner whose log has the record. Default: `--partner`, or the operator without it and if partners must not read of the command. */
  readonly partnerId?: string
  /** Ids of created records, if the options do not contain them. */
  readonly made?: Readonly<Record<string, string>>
}

/**
 * Options left out of the record: the reason and ids have fields of their own; the paths of key files do not
 * concern the partner; names of persons could not be erased from a signed chain.
 */
const saidElsewhere: ReadonlySet<string> = new Set([
  'partner',
  'id',
  'token-file',
  'note',
  'reason',
  'key-file',
  'public-key',
  'legal-name',
  'owners',
])

const isHidden = (command: string): boolean => isCommand(command) && declarationOf(command).hidden === true

/** The record of a command. Options are texts that a person has typed: none is a secret. */
function recordOf({ command, typed, staff, staffId, second, partnerId: whose, made = {} }: Change): NewRecord {
  const text = (name: string) => (typed[name] === undefined ? undefined : String(typed[name]))
  const [id, partner] = [text('id')?.toLowerCase(), text('partner')?.toLowerCase()]
  const partnerId = (whose ?? (isHidden(command) ? undefined : partner) ?? operatorPartnerId).toLowerCase()
  // A record about a partner that is not in its own log names it.
  const about = partner === undefined || partnerId === partner ? {} : { partnerId: partner }
  const said: (readonly [string, unknown])[] = Object.entries(typed).filter(([name]) => !saidElsewhere.has(name))
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

type Recording = Pick<Context['service'], 'access' | 'audit' | 'staff'>

/**
 * Joins the transaction of the change. Records without a partner are in the log of the operator, which is a partner of
 * its own. Refuses: permission_denied (the account of the person was removed since the command began).
 */
export async function record({ access, audit, staff }: Recording, tx: Tx, change: Change): Promise<void> {
  if (change.staffId !== undefined) await staff.commands.hold(tx, change.staffId)
  const written = recordOf(change)
  if (written.partnerId === operatorPartnerId) await access.addOperator(tx, operatorPartnerId)
  audit.append(tx, [written])
}

/** Runs a verb. Its refusal is the line that the command prints. */
export async function refusedInOneLine<T>(work: () => T | Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof Refusal) throw new ConfigError(`operator: ${error.detail}`)
    throw error
  }
}

/** The command has passed its checks, wrote nothing, and waits for a second person. */
export class WaitsForSecondPerson extends Error {
  override readonly name = 'WaitsForSecondPerson'
}

/**
 * Carries out a command and records it: both, or neither. `made` reads the result. Throws WaitsForSecondPerson, with nothing written, if another
 * person must approve it first.
 */
export function changing<T>(
  { service, db }: { readonly service: Recording; readonly db: Database },
  change: Change,
  work: (tx: Tx) => Promise<T>,
  made?: (result: T) => Readonly<Record<string, string>>,
): Promise<T> {
  const { second } = change
  return db.transaction(async (tx) => {
    if (typeof second === 'object') await service.staff.changes.carryOut(tx, second.changeId, second, mayRun)
    const result = await work(tx)
    if (second === 'needed') throw new WaitsForSecondPerson()
    await record(service, tx, made === undefined ? change : { ...change, made: made(result) })
    return result
  })
}
