/** The people of the inbox: the teams of partners, and the operator's staff. */
import type { users as wire } from '@partner-payments/wire'
import { isSamePerson } from '../kernel/index.ts'
import type { Tx } from '../postgres/index.ts'
import type { FactDetails } from './words.ts'
import {
  type FactType,
  isTeamType,
  isMailedToAdmins,
  roleMayReceive,
  staffDefault,
  type StaffKind,
  staffTypes,
  teamDefault,
  teamTypes,
  type MailFrequency,
  isStaffType,
} from './kinds.ts'

export type Person = {
  readonly id: string
  readonly fullName: string
  readonly email: string
  readonly role: string
}

/** Reports whether a person cannot act on the subject, for example because the person created it. */
export const cannotAct = (
  { id, fullName }: Pick<Person, 'id' | 'fullName'>,
  details: FactDetails | undefined,
): boolean =>
  details?.notFor?.includes(id) === true || details?.notForNames?.some((name) => isSamePerson(name, fullName)) === true

/** Reads the people of a realm with their current roles. */
export type ReadPeople = (tx: Tx, partnerId: string) => Promise<readonly Person[]>

/** Reports whether a person may be notified of a fact. */
export const mayReceive = ({ role }: Person, type: FactType, isStaff: boolean): boolean =>
  isStaff ? isStaffType(type) : isTeamType(type) && roleMayReceive(role as wire.Role, type)

/** Determines when a fact is mailed to a person: by the person's choice, or by the default of the role. */
export function mailFrequency(
  { role }: Person,
  type: FactType,
  choices: Readonly<Record<string, MailFrequency>>,
): MailFrequency {
  if (isStaffType(type)) {
    const kind: StaffKind = staffTypes[type].kind
    return choices[kind] ?? staffDefault(role, kind)
  }
  if (isMailedToAdmins(role as wire.Role, type)) return 'no'
  const { kind } = teamTypes[type]
  return choices[kind] ?? teamDefault(role as wire.Role, kind)
}
