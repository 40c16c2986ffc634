/** Changes that wait for a second person: their commands, and how one is carried out. The desk uses the same verbs. */
import { readFile } from 'node:fs/promises'
import { ownJson } from '@partner-payments/wire'
import { Refusal } from '../api/index.ts'
import { operatorPartnerId } from '../cases/index.ts'
import { ConfigError } from '../app/config.ts'
import { present } from '../kernel/index.ts'
import type { StaffChange, StaffRole } from '../modules/staff/index.ts'
import { record, refusedInOneLine } from './changes.ts'
import type { Context, Result } from './context.ts'
import { type Options, readEvidence, required } from './options.ts'
import { mayRun, printsSecret, rolesOf } from './roles.ts'

const changesShown = 1000

type Run = (command: string, context: Context, options: Options) => Promise<Result>
type Person = { readonly id: string; readonly fullName: string; readonly role: StaffRole }

/** Keeps a change whose checks have passed. What a file said is kept, not its path. */
export async function proposed(context: Context, command: string, options: Options) {
  const { staff, staffId, second: _second, 'token-file': _file, ...typed } = options
  const by = { id: present(staffId, 'a change has an author'), fullName: present(staff, 'an author has a name') }
  const key = typed['public-key'] === undefined ? {} : { 'public-key': await readFile(typed['public-key'], 'utf8') }
  const evidence = typed.evidence === undefined ? {} : { evidence: await readEvidence(typed) }
  const row = await context.db.transaction(async (tx) => {
    const change = await context.service.staff.changes.propose(tx, by, {
      command,
      options: { ...typed, ...key, ...evidence },
    })
    const about = { staff: by.fullName, staffId: by.id, ...pick(typed), action: command, id: change.id }
    await record(context.service, tx, { command: 'change propose', options: about, partnerId: operatorPartnerId })
    return change
  })
  return {
    waits: row.id,
    command,
    expiresAt: row.expiresAt,
    next: `another person runs: change approve --id ${row.id}`,
  }
}

const pick = ({ partner, note }: Options) => ({
  ...(partner === undefined ? {} : { partner }),
  ...(note === undefined ? {} : { note }),
})

/** Refuses: permission_denied. */
function refuseRole(role: StaffRole, { command }: StaffChange): void {
  const roles = rolesOf.get(command) ?? []
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
  if (!printsSecret.has(row.command)) return carryOut(run, context, row, by)
  await db.transaction(async (tx) => {
    await service.staff.changes.approve(tx, id, by, mayRun)
    await record(service, tx, { command: 'change approve', options: optionsOf(by, id), partnerId: operatorPartnerId })
  })
  return { approved: id, command: row.command, next: `${row.proposedByName} runs: change run --id ${id}` }
}

/** Refuses: not_found, validation_failed, permission_denied. */
export async function rejectChange(context: Context, by: Person, id: string, note: string): Promise<void> {
  const { service, db } = context
  refuseRole(by.role, await service.staff.changes.get(db, id))
  await db.transaction(async (tx) => {
    await service.staff.changes.reject(tx, id, by, note)
    const options = { ...optionsOf(by, id), note }
    await record(service, tx, { command: 'change reject', options, partnerId: operatorPartnerId })
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

const optionsOf = ({ id: staffId, fullName: staff }: Person, id: string) => ({ id, staff, staffId })

function carryOut(run: Run, context: Context, row: StaffChange, by: Omit<Person, 'role'>): Promise<Result> {
  const second = { changeId: row.id, id: by.id, fullName: by.fullName }
  const person = { staff: row.proposedByName, staffId: row.proposedBy, second }
  return run(row.command, context, { ...ownJson<Options>(row.options), ...person })
}

export const createChangeCommands = (run: Run) => {
  const personOf = async ({ service, db }: Context, options: Options): Promise<Person> => {
    const account = (await service.staff.list(db)).find(({ id }) => id === options.staffId)
    if (account === undefined) throw new ConfigError('operator: a change needs a person who has signed in')
    return account
  }
  return {
    /** The changes that wait, oldest first. */
    'change list': async ({ service, db }: Context) =>
      (await service.staff.changes.waiting(db, changesShown)).map(viewOf),

    'change show': ({ service, db }: Context, options: Options) =>
      refusedInOneLine(async () => viewOf(await service.staff.changes.get(db, required(options, 'id')))),

    'change approve': async (context: Context, options: Options) => {
      const by = await personOf(context, options)
      return refusedInOneLine(() => approveChange(run, context, by, required(options, 'id')))
    },

    /** Rejects a change. Its author withdraws it. */
    'change reject': async (context: Context, options: Options) => {
      const by = await personOf(context, options)
      const id = required(options, 'id')
      await refusedInOneLine(() => rejectChange(context, by, id, required(options, 'note')))
      return { rejected: id }
    },

    /** Carries out an approved change whose result is a secret. Its author runs it, once. */
    'change run': async (context: Context, options: Options) => {
      const by = await personOf(context, options)
      return refusedInOneLine(() => carryOutApproved(run, context, by, required(options, 'id')))
    },
  }
}

const viewOf = ({ options, approved, ...row }: StaffChange) => ({
  ...row,
  status: row.doneAt !== null ? 'done' : approved === null ? 'waits' : approved ? 'approved' : 'rejected',
  options: ownJson<unknown>(options),
})
