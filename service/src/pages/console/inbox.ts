/** The inbox of a person, the settings for mails, and the links in mails, which open a page after the sign-in. */
import { type PublicRequest, type PublicRoute, readCookie, Refusal, sessionCookie } from '../../kernel/api/index.ts'
import { isUuid, uuidPattern } from '../../kernel/index.ts'
import { type MailChoices, type InboxEntry, type Reader, mailFrequencies, zoneNames } from '../../inbox/index.ts'
import { html, type Html } from '../html.ts'
import { formPage, type Input, type Options, postButton, type FieldProblems } from '../kit/forms.ts'
import { type ConsoleView, shell } from '../kit/frame.ts'
import { consoleLanguages, consoleTexts } from '../kit/language.ts'
import { pager, type PageLinks } from '../kit/lists.ts'
import { badge, emptyState, heading, linkButton, message, table, time } from '../kit/parts.ts'
import { readId, pathWithQuery, safeNextPath, page, readForm, readQuery, seeOther, pageStatus } from '../kit/request.ts'
import { type Person, type Routes } from './request.ts'
import { texts } from './texts/index.ts'

type InboxPage = {
  readonly entries: readonly InboxEntry[]
  readonly pages: PageLinks
}

export function inboxPage(view: ConsoleView, { entries, pages }: InboxPage): string {
  const t = texts[view.language].inbox
  const newest = entries.find(({ isRead }) => !isRead)
  const readAll =
    newest && postButton(`${view.root}inbox/read`, t.readAll, { hidden: { upTo: entries[0]?.id ?? newest.id } })
  return shell(view, {
    title: view.t.inbox,
    wide: true,
    main: html`${heading(
        view.t.inbox,
        html`<div class="buttons">${readAll} ${linkButton(`${view.root}notifications`, t.choose)}</div>`,
      )}
      <p class="lead">${t.lead}</p>
      ${entries.length === 0 ? emptyState({ title: t.empty, text: t.emptyText }) : entryTable(view, entries)}
      ${pager(view, pages)}`,
  })
}

function entryTable(view: ConsoleView, entries: readonly InboxEntry[]): Html {
  const t = texts[view.language].inbox
  return table({
    caption: view.t.inbox,
    columns: [[t.what, 'head'], t.state, t.at, [view.t.actions, 'actions']],
    rows: entries.map(({ id, title, lines, occurredAt, isRead, isOver }) => [
      html`<a href="${view.root}inbox/${id}">${isRead ? title : html`<strong>${title}</strong>`}</a>
        <span class="lines">
          ${lines.map(
            ([label, value]) =>
              html`<span class="soft free">${label}: ${value instanceof Date ? time(view, value) : value}</span> `,
          )}
        </span>`,
      isOver ? badge('neutral', t.over) : isRead ? t.read : badge('warning', t.unread),
      time(view, occurredAt),
      isRead
        ? postButton(`${view.root}inbox/${id}/unread`, t.markUnread, { look: 'small', about: title })
        : postButton(`${view.root}inbox/${id}/read`, t.markRead, { look: 'small', about: title }),
    ]),
  })
}

/** Time zones offered by the form. If the person has another zone, it is added. */
const offeredZones = zoneNames.filter(
  (zone) =>
    zone.startsWith('Europe/') ||
    /^(?:UTC|America\/(?:New_York|Chicago|Denver|Los_Angeles|Toronto|Sao_Paulo)|Asia\/(?:Dubai|Kolkata|Singapore|Hong_Kong|Tokyo)|Africa\/Johannesburg|Australia\/Sydney)$/.test(
      zone,
    ),
)

const hours: Options = Array.from({ length: 24 }, (_none, hour) => [
  String(hour),
  `${String(hour).padStart(2, '0')}:00`,
])

/** The texts of a site for its kinds of notifications. */
export type NotificationWords = {
  readonly title: string
  readonly lead: string
  readonly kinds: Readonly<Record<string, string>>
}

type NotificationsPage = {
  readonly words: NotificationWords
  readonly choices: MailChoices
  readonly problems: FieldProblems
  readonly done?: boolean
}

export function notificationsPage(view: ConsoleView, { words, choices, problems, done }: NotificationsPage): string {
  const t = texts[view.language].inbox
  const zones = offeredZones.includes(choices.zone) ? offeredZones : [choices.zone, ...offeredZones]
  const options: Options = mailFrequencies.map((each) => [each, t.when[each]])
  const languages: Options = consoleLanguages.map((each) => [each, consoleTexts[each].languageName])
  return formPage(view, {
    title: words.title,
    lead: words.lead,
    problems,
    ...(done === true && { before: message('good', t.saved) }),
    action: 'notifications',
    fields: [
      ...choices.kinds.map(({ kind, when, isFixed }): Html | Input =>
        isFixed
          ? html`<p><strong>${words.kinds[kind]}</strong><br />${t.fixed}</p>`
          : { name: kind, label: words.kinds[kind] ?? kind, value: when, options },
      ),
      html`<h2>${t.daily}</h2>`,
      { name: 'dailyHour', label: t.hour, value: String(choices.dailyHour), options: hours },
      {
        name: 'zone',
        label: t.zone,
        value: choices.zone,
        options: zones.map((zone) => [zone, zone.replaceAll('_', ' ')]),
      },
      html`<h2>${t.languageTitle}</h2>`,
      { name: 'language', label: t.language, value: choices.language ?? '', options: languages, any: t.anyLanguage },
    ],
    submit: t.save,
  })
}

/** Reads the notification settings from the form. */
export function readChoices(request: PublicRequest, { kinds }: MailChoices) {
  const given = readForm(request)
  return {
    language: given('language'),
    zone: given('zone'),
    dailyHour: given('dailyHour'),
    choices: Object.fromEntries(kinds.map(({ kind }) => [kind, given(kind)])),
  }
}

/** Returns the error texts of the refused fields. Throws other errors. */
export function choiceProblems(view: ConsoleView, error: unknown): FieldProblems {
  if (!(error instanceof Refusal) || error.code !== 'validation_failed') throw error
  const { wrong } = texts[view.language].inbox
  return Object.fromEntries(error.errors.map(({ pointer }) => [pointer.split('/').at(-1) ?? 'form', wrong]))
}

const perPage = 25

const inboxReader = ({ caller, user }: Person): Reader => ({
  partnerId: caller.partnerId,
  personId: user.id,
  fullName: user.fullName,
  role: user.role,
})

export const inboxRoutes: Routes = ({ inbox, members, withPerson, withMoney }) => {
  const show = async (request: PublicRequest, person: Person) => {
    const { view } = person
    const { cursor } = readQuery(request, ['cursor'])
    const beforeId = cursor !== undefined && isUuid(cursor) ? cursor.toLowerCase() : null
    const { entries, nextId } = await inbox.page(inboxReader(person), view.language, { beforeId, rowsMax: perPage })
    const pages = {
      next: nextId && pathWithQuery('inbox', { cursor: nextId }),
      first: beforeId === null ? undefined : 'inbox',
    }
    return page(request, 200, inboxPage({ ...view, current: 'inbox' }, { entries, pages }))
  }
  const showChoices = async (request: PublicRequest, person: Person, problems: FieldProblems = {}) => {
    const { view } = person
    const choices = await inbox.choices(inboxReader(person))
    const t = texts[view.language].inbox
    const words = { title: view.t.notifications, lead: t.notificationsLead, kinds: t.kinds }
    const done = readQuery(request, ['done'])['done'] !== undefined
    const shown = { words, choices, problems, done }
    return page(request, pageStatus(problems), notificationsPage({ ...view, current: 'notifications' }, shown))
  }
  const form = (path: string, act: (request: PublicRequest, person: Person) => Promise<unknown>): PublicRoute => ({
    method: 'POST',
    path: `/console/inbox${path}`,
    handle: (request) =>
      withMoney(request, async (person) => {
        await act(request, person)
        return seeOther(path === '/read' ? '../inbox' : '../../inbox')
      }),
  })
  return [
    {
      method: 'GET',
      path: '/console/inbox',
      handle: (request) => withMoney(request, (person) => show(request, person)),
    },
    {
      method: 'GET',
      path: '/console/inbox/{id}',
      handle: (request) =>
        withMoney(request, async (person) => seeOther(`../${await inbox.open(inboxReader(person), readId(request))}`)),
    },
    form('/read', async (request, person) => {
      const upTo = readForm(request)('upTo')
      if (uuidPattern.test(upTo)) await inbox.markAllRead(inboxReader(person), upTo)
    }),
    form('/{id}/read', (request, person) => inbox.open(inboxReader(person), readId(request))),
    form('/{id}/unread', (request, person) => inbox.markUnread(inboxReader(person), readId(request))),
    {
      method: 'GET',
      path: '/console/notifications',
      handle: (request) => withPerson(request, (person) => showChoices(request, person)),
    },
    {
      method: 'POST',
      path: '/console/notifications',
      handle: (request) =>
        withPerson(request, async (person) => {
          const reader = inboxReader(person)
          try {
            await inbox.choose(reader, readChoices(request, await inbox.choices(reader)), request.ip)
          } catch (error) {
            return showChoices(request, person, choiceProblems(person.view, error))
          }
          return seeOther('notifications?done=saved')
        }),
    },
    openRoute(members),
  ]
}

/**
 * Opens the link of a mail: redirects to the page if the person is signed in, else first to the sign-in of the partner.
 */
const openRoute = (members: Parameters<Routes>[0]['members']): PublicRoute => ({
  method: 'GET',
  path: '/console/open',
  handle: async (request) => {
    const query = new URLSearchParams(request.query)
    const partner = query.get('partner') ?? ''
    const next = safeNextPath(query.get('to') ?? undefined)
    const token = readCookie(request.headers['cookie'], sessionCookie)
    const signed = token === undefined ? undefined : await members.signedIn(token)
    if (signed?.caller.partnerId === partner) return seeOther(next)
    if (!uuidPattern.test(partner)) return seeOther(pathWithQuery('sign-in', { next }))
    return seeOther(pathWithQuery('sign-in', { partner, next }))
  },
})
