/** The operations of a person's inbox: entries, and choices of mails. */
import type { users as wire } from '@partner-payments/wire'
import type { Audit } from '../audit/index.ts'
import { notFound, refuseInvalid } from '../kernel/api/index.ts'
import type { Tx } from '../postgres/index.ts'
import { isZone, nextDailyTime } from './hours.ts'
import {
  type FactType,
  fixedKinds,
  isStaffType,
  isTeamType,
  kindsOfRole,
  entryPath,
  staffDefault,
  type StaffKind,
  staffKinds,
  teamDefault,
  type TeamKind,
  isPendingOnly,
  type MailFrequency,
  mailFrequencies,
} from './kinds.ts'
import { readEntryDetails, forgetReader, type InboxMailDeps } from './mails.ts'
import { mayReceive, type Person } from './people.ts'
import { newReader } from './spread.ts'
import * as store from './store.ts'
import { describeFact, type FactText } from './words.ts'

/** The person who reads the inbox, with the current role. */
export type Reader = store.PersonKey & Pick<Person, 'fullName'> & { readonly role: string }

export type InboxEntry = FactText & {
  readonly id: string
  readonly occurredAt: Date
  readonly isRead: boolean
  /** True if the subject was pending when the entry was added, and no longer is. */
  readonly isOver: boolean
}

export type MailChoices = {
  readonly language: store.Language | null
  readonly zone: string
  readonly dailyHour: number
  /** The kinds of facts that the role can be notified of. `isFixed`: always mailed at once, by other mails. */
  readonly kinds: readonly {
    readonly kind: TeamKind | StaffKind
    readonly when: MailFrequency
    readonly isFixed: boolean
  }[]
}

type NewChoices = {
  readonly language: string
  readonly zone: string
  readonly dailyHour: string
  readonly choices: Readonly<Record<string, string>>
}

export type Inbox = {
  /** Counts unread entries up to 100, and stores the person's language of the console. */
  readonly unread: (reader: store.PersonKey, language: store.Language) => Promise<number>
  /** Lists entries, newest first, older than the cursor, without those that the person may no longer see. */
  readonly page: (
    reader: Reader,
    language: store.Language,
    page: { readonly beforeId: string | null; readonly rowsMax: number },
  ) => Promise<{ readonly entries: readonly InboxEntry[]; readonly nextId: string | undefined }>
  /** Marks an entry as read, and returns the path of its page. Refuses: not_found. */
  readonly open: (reader: Reader, id: string) => Promise<string>
  /** Marks an entry as unread. Refuses: not_found. */
  readonly markUnread: (reader: Reader, id: string) => Promise<void>
  readonly markAllRead: (reader: Reader, upToId: string) => Promise<void>
  readonly choices: (reader: Reader) => Promise<MailChoices>
  /** Stores a person's choices. Refuses: validation_failed (/language, /zone, /dailyHour, /choices). */
  readonly choose: (reader: Reader, given: NewChoices, ip: string) => Promise<void>
  /** Stops the mails of a person who was removed or has another role. */
  readonly endMails: (tx: Tx, key: store.PersonKey) => Promise<void>
  readonly forget: (tx: Tx, key: store.PersonKey) => Promise<void>
}

export type ReadersDeps = InboxMailDeps & { readonly audit: Pick<Audit, 'append'> }

const unreadMax = 100

const isKnown = (type: string): type is FactType => isTeamType(type) || isStaffType(type)

export function createReaders(deps: ReadersDeps): Inbox {
  const { db, clock, mail, operatorId } = deps
  const readerOf = async (tx: Tx, { partnerId, personId }: store.PersonKey) =>
    (await store.readersOf(tx, partnerId, [personId]))[0]
  const endMails: Inbox['endMails'] = async (tx, key) => {
    const reader = await store.lockReader(tx, key)
    if (reader !== undefined)
      await mail.endPending(tx, key.partnerId, reader.mailSubjectId, 'the person may no longer read it')
  }
  return {
    unread: async (key, language) => {
      const reader = await readerOf(db, key)
      if (reader?.seenLanguage !== language) {
        const row = reader ?? newReader(key.partnerId, key.personId, clock.now())
        await db.transaction((tx) => store.putSeenLanguage(tx, { ...row, mailDueAt: null, seenLanguage: language }))
      }
      return store.countUnread(db, key, unreadMax)
    },
    page: createPage(deps),
    open: async (reader, id) => {
      const entry = await store.entryById(db, reader, id)
      if (entry === undefined || !isTeamType(entry.type) || !mayReceive(toPerson(reader), entry.type, false))
        throw notFound('entry of the inbox')
      if (entry.readAt === null) await store.markEntry(db, reader, id, clock.now())
      return entryPath({ ...entry, type: entry.type })
    },
    markUnread: async (reader, id) => {
      if ((await store.markEntry(db, reader, id, null)) === 0) throw notFound('entry of the inbox')
    },
    markAllRead: (reader, upToId) => store.markAllRead(db, reader, upToId, clock.now()),
    choices: async (reader) => {
      const { language, ...row } =
        (await readerOf(db, reader)) ?? newReader(reader.partnerId, reader.personId, clock.now())
      return { language, zone: row.zone, dailyHour: row.dailyHour, kinds: readKinds(deps, reader, row.choices) }
    },
    choose: createChoose(deps),
    endMails,
    forget: async (tx, key) => {
      await endMails(tx, key)
      await forgetReader(tx, key)
    },
  }

  function createPage({ detailsOf }: ReadersDeps): Inbox['page'] {
    return async (reader, language, { beforeId, rowsMax }) => {
      const rows = await store.entriesOf(db, reader, { beforeId, rowsMax: rowsMax + 1 })
      const shown = rows.slice(0, rowsMax)
      const person = toPerson(reader)
      const entries = shown.flatMap(({ type, ...row }) =>
        isKnown(type) && mayReceive(person, type, false) ? [{ ...row, type }] : [],
      )
      const details = await readEntryDetails({ detailsOf, operatorId }, db, reader.partnerId, entries)
      return {
        entries: entries.map((entry, index) => ({
          ...describeFact(language, entry, details[index]),
          ...{ id: entry.id, occurredAt: entry.occurredAt, isRead: entry.readAt !== null },
          isOver: isPendingOnly(entry.type, entry.facts) && details[index]?.isCurrent !== true,
        })),
        nextId: rows.length > rowsMax ? shown.at(-1)?.id : undefined,
      }
    }
  }
}

const toPerson = ({ personId: id, fullName, role }: Reader): Person => ({ id, fullName, email: '', role })

function readKinds(
  { operatorId }: Pick<ReadersDeps, 'operatorId'>,
  { partnerId, role }: Reader,
  choices: store.FrequencyByKind,
): MailChoices['kinds'] {
  if (partnerId === operatorId)
    return staffKinds.map((kind) => ({ kind, when: choices[kind] ?? staffDefault(role, kind), isFixed: false }))
  const team = role as wire.Role
  const fixed = fixedKinds(team)
  return kindsOfRole(team).map((kind) => ({
    ...{ kind, isFixed: fixed.has(kind) },
    when: fixed.has(kind) ? 'now' : (choices[kind] ?? teamDefault(team, kind)),
  }))
}

function createChoose(deps: ReadersDeps): Inbox['choose'] {
  const { db, clock, audit, operatorId, addOperator } = deps
  return async (reader, given, ip) => {
    const { partnerId, personId, fullName: name } = reader
    const language = store.languages.find((each) => each === given.language) ?? null
    if (language === null && given.language !== '') throw refuseInvalid('/language', 'must be one of the languages')
    if (!isZone(given.zone)) throw refuseInvalid('/zone', 'must be the name of a time zone')
    const dailyHour = /^\d{1,2}$/.test(given.dailyHour) ? Number(given.dailyHour) : Number.NaN
    if (!(dailyHour <= 23)) throw refuseInvalid('/dailyHour', 'must be an hour from 0 to 23')
    const kinds = readKinds(deps, reader, {}).filter(({ isFixed }) => !isFixed)
    const chosen = kinds.map(({ kind }): [string, MailFrequency] => {
      const when = mailFrequencies.find((each) => each === given.choices[kind])
      if (when === undefined) throw refuseInvalid(`/choices/${kind}`, 'must be now, daily or no')
      return [kind, when]
    })
    await db.transaction(async (tx) => {
      const isStaff = partnerId === operatorId
      if (isStaff) await addOperator(tx, operatorId)
      const now = clock.now()
      const before = (await store.lockReader(tx, reader)) ?? newReader(partnerId, personId, now)
      // Choices of kinds that the role does not have stay, in case the role gets them again.
      const choices = { ...before.choices, ...Object.fromEntries(chosen) }
      await store.storeReader(tx, { ...before, language, zone: given.zone, dailyHour, choices, updatedAt: now })
      await store.moveDaily(tx, reader, nextDailyTime(now, given.zone, dailyHour))
      await store.setMailDue(tx, reader, await store.nextMailAt(tx, reader))
      const actor = { kind: isStaff ? 'operator' : 'partner', id: personId, name, ip } as const
      const details = { language, zone: given.zone, dailyHour, ...Object.fromEntries(chosen) }
      audit.append(tx, [{ partnerId, actor, action: 'notifications.chosen', subject: { userId: personId }, details }])
    })
  }
}
