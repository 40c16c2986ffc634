/**
 * Mails of the inbox: one mail to each person with the entries of some minutes, or of a day. One transaction marks the
 * entries as mailed and queues the mail, by the rights and choices of that moment.
 */
import { ownJson } from '@partner-payments/wire'
import { hourMs, minuteMs, dayMs, secondMs, escapeHtml } from '../kernel/index.ts'
import { htmlPage, type MailContent, type MailQueue, type MailToRender, oneLine } from '../mail/index.ts'
import type { Tx } from '../postgres/index.ts'
import { isStaffType, isTeamType, entryPath, type FactType, isPendingOnly } from './kinds.ts'
import { cannotAct, mayReceive, type Person, mailFrequency } from './people.ts'
import type { InboxDeps } from './spread.ts'
import * as store from './store.ts'
import { type FactDetails, describeFact } from './words.ts'

export type InboxMailDeps = InboxDeps & {
  readonly mail: Pick<MailQueue, 'enqueue' | 'endPending'>
  /** Reports whether a person is barred from signing in: the partner is being moved, or the person is on a sanctions list. */
  readonly isBarred: (tx: Tx, partnerId: string, personId: string) => Promise<boolean>
  /** Base URLs without a trailing slash. */
  readonly consoleUrl: string
  readonly deskUrl: string
}

const partnersPerStepMax = 20
const readersPerStepMax = 20
/** Maximum number of entries in a mail, which also states the number of further ones. */
const entriesPerMailMax = 20

/** Creates the step that queues due mails. It returns the number of people checked. */
export function createMailStep(deps: InboxMailDeps): () => Promise<number> {
  const { db, clock } = deps
  return async () => {
    let done = 0
    for (const { partnerId } of await store.partnersWithMails(db, clock.now(), partnersPerStepMax))
      done += await db.transaction((tx) => mailPartner(deps, tx, partnerId))
    return done
  }
}

async function mailPartner(deps: InboxMailDeps, tx: Tx, partnerId: string): Promise<number> {
  const { clock, operatorId, staffOf, teamOf } = deps
  const readers = await store.lockReaders(tx, partnerId, clock.now(), readersPerStepMax)
  if (readers.length === 0) return 0
  const people = await (partnerId === operatorId ? staffOf(tx) : teamOf(tx, partnerId))
  const byId = new Map(people.map((person) => [person.id, person]))
  for (const reader of readers) {
    const person = byId.get(reader.personId)
    if (person === undefined) await forgetReader(tx, reader)
    else await mailReader(deps, tx, reader, person)
  }
  return readers.length
}

/** Deletes entries that were added while the person was being removed. */
export async function forgetReader(tx: Tx, key: store.PersonKey): Promise<void> {
  await store.deleteEntriesOf(tx, key)
  await store.deleteReader(tx, key)
}

async function mailReader(deps: InboxMailDeps, tx: Tx, reader: store.ReaderRow, person: Person) {
  const now = deps.clock.now()
  const isStaff = reader.partnerId === deps.operatorId
  const rows = await store.entriesToMail(tx, reader, now, entriesPerMailMax)
  const taken = await store.markMailed(tx, reader, now)
  if (!(await deps.isBarred(tx, reader.partnerId, person.id))) {
    const wanted = rows
      .flatMap(({ type, ...row }) => (isTeamType(type) || isStaffType(type) ? [{ ...row, type }] : []))
      .filter(({ type }) => mayReceive(person, type, isStaff) && mailFrequency(person, type, reader.choices) !== 'no')
    const items = await readItems(deps, tx, { reader, person }, wanted)
    if (items.length > 0) await queueMail(deps, tx, { reader, person, items, more: taken - rows.length })
  }
  await store.setMailDue(tx, reader, await store.nextMailAt(tx, reader))
}

type MailEntry = Omit<store.EntryRow, 'type'> & { readonly type: FactType }

type MailItem = {
  readonly title: string
  readonly lines: readonly (readonly [label: string, value: string])[]
  readonly url: string
  /** The number of facts that the entry counts. Absent in entries of an earlier version, which have one. */
  readonly count?: number
}

/** Formats entries. Omits those whose subject is no longer pending, or on which the person cannot act. */
async function readItems(
  deps: InboxMailDeps,
  tx: Tx,
  { reader, person }: Pick<NewMail, 'reader' | 'person'>,
  entries: readonly MailEntry[],
): Promise<readonly MailItem[]> {
  const details = await readEntryDetails(deps, tx, reader.partnerId, entries)
  return entries.flatMap((entry, index): MailItem[] => {
    const found = details[index]
    if (isPendingOnly(entry.type, entry.facts) && (found?.isCurrent !== true || cannotAct(person, found))) return []
    return [toItem(deps, reader, entry, found)]
  })
}

/** Reads the details of entries. Entries of staff are about several partners. */
export async function readEntryDetails(
  { detailsOf, operatorId }: Pick<InboxDeps, 'detailsOf' | 'operatorId'>,
  tx: Tx,
  partnerId: string,
  entries: readonly Pick<MailEntry, 'type' | 'subject' | 'facts'>[],
): Promise<readonly (FactDetails | undefined)[]> {
  const ownerOf = ({ facts }: Pick<MailEntry, 'facts'>) =>
    partnerId === operatorId ? (facts['partnerId'] ?? partnerId) : partnerId
  const found = new Map<Pick<MailEntry, 'facts'>, FactDetails | undefined>()
  for (const [owner, group] of Map.groupBy(entries, ownerOf)) {
    const details = await detailsOf(tx, owner, group)
    group.forEach((entry, index) => found.set(entry, details[index]))
  }
  return entries.map((entry) => found.get(entry))
}

function toItem(
  deps: InboxMailDeps,
  reader: store.ReaderRow,
  entry: MailEntry,
  details: FactDetails | undefined,
): MailItem {
  const { clock } = deps
  const { partnerId, zone } = reader
  const language = mailLanguage(reader)
  const { facts, occurredAt } = entry
  const timeText = (at: Date): string =>
    new Intl.DateTimeFormat(language === 'en' ? 'en-GB' : language, {
      ...{ year: 'numeric', month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit' },
      ...{ timeZone: zone, timeZoneName: 'short' },
    }).format(at)
  const { title, lines } = describeFact(language, entry, details)
  const shown = lines.map(
    ([label, value]) => [label, value instanceof Date ? timeText(value) : oneLine(value)] as const,
  )
  const opened = pageLink(deps, partnerId)
  const at = `${timeText(occurredAt)} (${ageText(language, clock.now().getTime() - occurredAt.getTime())})`
  return {
    title: oneLine(title),
    lines: [...shown, [texts[language].since, at]],
    url: opened(entryPath(entry)),
    count: Number(facts['more'] ?? 1),
  }
}

/** Builds the link to a page. It leads through the sign-in if needed. */
const pageLink =
  (
    { consoleUrl, deskUrl, operatorId }: Pick<InboxMailDeps, 'consoleUrl' | 'deskUrl' | 'operatorId'>,
    partnerId: string,
  ) =>
  (to: string): string =>
    partnerId === operatorId
      ? `${deskUrl}/desk/open?${new URLSearchParams({ to }).toString()}`
      : `${consoleUrl}/open?${new URLSearchParams({ partner: partnerId, to }).toString()}`

function ageText(language: store.Language, ms: number): string {
  const format = new Intl.RelativeTimeFormat(language, { numeric: 'always' })
  if (ms < minuteMs) return format.format(-Math.max(1, Math.floor(ms / secondMs)), 'second')
  if (ms < hourMs) return format.format(-Math.floor(ms / minuteMs), 'minute')
  return ms < dayMs ? format.format(-Math.floor(ms / hourMs), 'hour') : format.format(-Math.floor(ms / dayMs), 'day')
}

const mailLanguage = ({ language, seenLanguage }: Pick<store.ReaderRow, 'language' | 'seenLanguage'>) =>
  language ?? seenLanguage ?? 'en'

type NewMail = {
  readonly reader: store.ReaderRow
  readonly person: Person
  readonly items: readonly MailItem[]
  /** The number of entries that the mail does not show. */
  readonly more: number
}

async function queueMail(deps: InboxMailDeps, tx: Tx, { reader, person, items, more }: NewMail): Promise<void> {
  const { mail, operatorId } = deps
  const { partnerId, mailSubjectId: subjectId } = reader
  const isStaff = partnerId === operatorId
  const open = pageLink(deps, partnerId)
  await mail.enqueue(tx, partnerId, [
    {
      kind: 'inbox',
      subjectId,
      to: { name: person.fullName, address: person.email },
      data: {
        language: mailLanguage(reader),
        more: String(more),
        all: open(isStaff ? 'queue' : 'inbox'),
        settings: open('notifications'),
      },
      // Sealed, and erased after sending, because it names payees.
      secret: JSON.stringify(items),
      expiresAt: null,
    },
  ])
}

type MailTexts = Readonly<Record<'hello' | 'since' | 'more' | 'andMore' | 'open' | 'all' | 'settings' | 'why', string>>

const texts: Readonly<Record<store.Language, MailTexts>> = {
  en: {
    hello: 'Hello {name},',
    since: 'Since',
    more: '{title}, and {count} more',
    andMore: 'There are {count} more.',
    open: 'Open: {url}',
    all: 'All of them: {url}',
    settings: 'Choose what you get by mail: {url}',
    why: 'The links lead to pages that ask you to sign in. No mail of ours asks for a password or approves a payment.',
  },
  de: {
    hello: 'Guten Tag {name},',
    since: 'Seit',
    more: '{title}, und {count} weitere',
    andMore: 'Es gibt {count} weitere.',
    open: 'Öffnen: {url}',
    all: 'Alle: {url}',
    settings: 'Wählen Sie, was Sie per E-Mail erhalten: {url}',
    why: 'Die Links führen auf Seiten, auf denen Sie sich anmelden. Keine E-Mail von uns fragt nach einem Passwort oder gibt eine Zahlung frei.',
  },
}

const fillText = (text: string, values: Readonly<Record<string, string>>): string =>
  text.replaceAll(/\{(\w+)\}/g, (whole, name: string) => values[name] ?? whole)

type MailValues = Readonly<Record<'more' | 'all' | 'settings', string>> & { readonly language: store.Language }

/** Renders the mail. If its entries are erased, it was already sent. */
export function renderInboxMail(mail: MailToRender): MailContent {
  const { language, more, all, settings } = mail.data as MailValues
  const t = texts[language]
  const items = ownJson<readonly MailItem[]>(mail.secret ?? '[]')
  const others = Number(more)
  const count = items.reduce((sum, item) => sum + (item.count ?? 1), others - 1)
  const [first] = items
  const title = first?.title ?? ''
  const link = first !== undefined && count === 0 ? first.url : all
  const hello = fillText(t.hello, { name: oneLine(mail.toName) })
  const partner = oneLine(mail.partnerName)
  const urlText = (text: string, url: string) => fillText(text, { url })
  const urlHtml = (text: string, url: string) =>
    escapeHtml(text).replace('{url}', () => `<a href="${escapeHtml(url)}">${escapeHtml(url)}</a>`)
  const rest = others > 0 ? [fillText(t.andMore, { count: others.toLocaleString(language) })] : []
  const blocks = items.map(({ lines, ...item }) => ({
    ...item,
    lines: lines.map(([label, value]) => `${label}: ${value}`),
  }))
  const text = [
    ...[hello, ...(partner === '' ? [] : [partner])],
    ...blocks.map((item) => [item.title, ...item.lines, urlText(t.open, item.url)].join('\n')),
    ...[...rest, ...(count > 0 ? [urlText(t.all, all)] : []), t.why, urlText(t.settings, settings)],
  ]
  const html = [
    ...[escapeHtml(hello), ...(partner === '' ? [] : [escapeHtml(partner)])],
    ...blocks.map((item) =>
      [`<strong>${escapeHtml(item.title)}</strong>`, ...item.lines.map(escapeHtml), urlHtml(t.open, item.url)].join(
        '<br>',
      ),
    ),
    ...[...rest.map(escapeHtml), ...(count > 0 ? [urlHtml(t.all, all)] : []), escapeHtml(t.why)],
    urlHtml(t.settings, settings),
  ]
  return {
    subject: oneLine(count > 0 ? fillText(t.more, { title, count: count.toLocaleString(language) }) : title),
    text: `${text.join('\n\n')}\n`,
    html: htmlPage(html, language),
    link,
  }
}
