/** Changes that wait for a second person: their commands, and how one is carried out. The desk uses the same verbs. */
import { ownJson } from '@partner-payments/wire'
import { Refusal } from '../kernel/api/index.ts'
import { operatorPartnerId } from '../cases/index.ts'
import { ConfigError } from '../app/config.ts'
import { present } from '../kernel/index.ts'
import type { StaffChange, StaffRole } from '../people/staff/index.ts'
import { record, refusedInOneLine } from './changes.ts'
import { readEvidence } from './banks.ts'
import type { Call, CommandsOf, Context, Result } from './context.ts'
import type { Typed } from './declaration.ts'
import { declarationOf, isCommand, mayRun, rolesOf } from './declarations.ts'
import { readPublicKey } from './service-accounts.ts'

const changesShown = 1000

type Run = (context: Context, call: Call) => Promise<Result>
type Person = { readonly id: string; readonly fullName: string; readonly role: StaffRole }

/** Keeps a change whose checks have passed. What a file said is kept, not its path. */
export async function proposed(context: Context, { command, typed, ...person }: Call) {
  const by = {
    id: present(person.staffId, 'a change has an author'),
    fullName: present(person.staff, 'an author has a name'),
  }
  const { 'public-key': keyFile, evidence: document, partner, note } = typed
  const key = keyFile === undefined ? {} : { 'public-key': await readPublicKey(String(keyFile)) }
  const evidence = document === undefined ? {} : { evidence: await readEvidence(String(document)) }
  const row = await context.db.transaction(async (tx) => {
    const options = { ...typed, ...key, ...evidence }
    const change = await context.service.staff.changes.propose(tx, by, { command, options })
    const said = { ...(partner && { partner }), ...(note && { note }) }
    await record(context.service, tx, {
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

/** Refuses: permission_denied. */
function refuseRole(role: StaffRole, { command }: StaffChange): void {
  const roles = rolesOf(command) ?? []
  if (!roles.includes(role))
    throw new Refusal('permission_denied', `${command} needs the role ${roles.join(' or ')}; yours is ${role}.`)
}

/**
 * Approves a change and carries it out in one transaction. One whose result is a secret waits for its author, who runs it. Refuses: not_found,
 * validation_failed (also as the command does), permission_denied.
 */
export async function approveChange(run: Run, context: Context, by: Person, id: string): Promise<Result> {
  const { service, db } = context
  refuseRole(by.role, await service.staff.changes.get(db, id))
  const row = await service.staff.changes.approvable(db, id, by, mayRun)
  if (!isSecret(row.command)) return carryOut(run, context, row, by)
  await db.transaction(async (tx) => {
    await service.staff.changes.approve(tx, id, by, mayRun)
    await record(service, tx, callOf('change approve', by, { id }))
  })
  return { approved: id, command: row.command, next: `${row.proposedByName} runs: change run --id ${id}` }
}

/** Refuses: not_found, validation_failed, permission_denied. */
export async function rejectChange(context: Context, by: Person, id: string, note: string): Promise<void> {
  const { service, db } = context
  refuseRole(by.role, await service.staff.changes.get(db, id))
  await db.transaction(async (tx) => {
    await service.staff.changes.reject(tx, id, by, note)
    await record(service, tx, callOf('change reject', by, { id, note }))
  })
}

/** Carries out an approved change for its author. Refuses: not_found, permission_denied, validation_failed. */
export async function carryOutApproved(run: Run, context: Context, by: Person, id: string): Promise<Result> {
  const row = await context.service.staff.changes.get(context.db, id)
  if (row.proposedBy !== by.id) throw new Refusal('permission_denied', `${row.proposedByName} proposed it.`)
  refuseRole(by.role, row)
  if (row.approved !== true || row.decidedBy === null)
    throw new Refusal('validation_failed', 'No second person has approved the change.')
  const second = { id: row.decidedBy, fullName: present(row.decidedByName, 'a person has a name') }
  return carryOut(run, context, row, second)
}

const isSecret = (command: string): boolean => isCommand(command) && declarationOf(command).secret === true

const callOf = (command: Call['command'], { id: staffId, fullName: staff }: Person, typed: Typed): Call => ({
  ...{ command, typed, staff, staffId },
})

/** Reads the options again. Throws a ConfigError if this version of the command no longer takes one: the change is proposed again. */
function carryOut(run: Run, context: Context, row: StaffChange, by: Omit<Person, 'role'>): Promise<Result> {
  if (!isCommand(row.command)) throw new ConfigError(`operator: there is no command ${row.command} any more`)
  const second = { changeId: row.id, id: by.id, fullName: by.fullName }
  const person = { staff: row.proposedByName, staffId: row.proposedBy, second }
  return run(context, { command: row.command, typed: ownJson<Typed>(row.options), ...person })
}

export const createChangeCommands = (run: Run): CommandsOf<`change ${string}`> => {
  const personOf = async ({ service, db }: Context, { staffId }: Call): Promise<Person> => {
    const account = (await service.staff.list(db)).find(({ id }) => id === staffId)
    if (account === undefined) throw new ConfigError('operator: a change needs a person who has signed in')
    return account
  }
  return {
    /** The changes that wait, oldest first. */
    'change list': async ({ service, db }) => (await service.staff.changes.waiting(db, changesShown)).map(viewOf),

    'change show': ({ service, db }, { id }) =>
      refusedInOneLine(async () => viewOf(await service.staff.changes.get(db, id))),

    'change approve': async (context, { id }, call) => {
      const by = await personOf(context, call)
      return refusedInOneLine(() => approveChange(run, context, by, id))
    },

    /** Rejects a change. Its author withdraws it. */
    'change reject': async (context, { id, note }, call) => {
      const by = await personOf(context, call)
      await refusedInOneLine(() => rejectChange(context, by, id, note))
      return { rejected: id }
    },

    /** Carries out an approved change whose result is a secret. Its author runs it, once. */
    'change run': async (context, { id }, call) => {
      const by = await personOf(context, call)
      return refusedInOneLine(() => carryOutApproved(run, context, by, id))
    },
  }
}

const viewOf = ({ options, approved, ...row }: StaffChange) => ({
  ...row,
  status: row.doneAt !== null ? 'done' : approved === null ? 'waits' : approved ? 'approved' : 'rejected',
  options: ownJson<unknown>(options),
})
