/** The sign-in for commands, and the changes that await a second person. */
import { uuidPattern } from '../../kernel/index.ts'
import { ownJson } from '@partner-payments/wire'
import {
  ifFound,
  notFound,
  type PublicAnswer,
  type PublicRequest,
  type PublicRoute,
  Refusal,
} from '../../kernel/api/index.ts'
import { describeDevice } from '../../people/sign-in/index.ts'
import type { SignedInStaff, StaffChange } from '../../people/staff/index.ts'
import { confirmationDialog, field, hiddenField, dialogButton, postButton } from '../kit/forms.ts'
import { badge, browserName, apiCall, emptyState, freeText, message, table, time } from '../kit/parts.ts'
import { page, readForm, seeOther } from '../kit/request.ts'
import { connectionPart } from '../console/sign-in.ts'
import { type ConsoleView, shell } from '../kit/frame.ts'
import { html, type Html } from '../html.ts'
import { fill } from '../language.ts'
import { actionTitle, actionResultHref, isActionName, actionMessage, secretPage } from './acts.ts'
import { optionLabel, noteField, valueLabel } from './forms.ts'
import { partnerReference, tableOrEmpty } from './parties.ts'
import { type DeskFrame, readNote, staffRoute } from './request.ts'
import { deskTexts } from './texts.ts'

type CommandSignIn = {
  readonly code: string
  readonly request?: { readonly origin: string; readonly requestedAt: Date } | undefined
  readonly error?: boolean
  readonly said?: string | undefined
  readonly tokens: readonly {
    readonly id: string
    readonly origin: string
    readonly commands: readonly string[] | null
    readonly expiresAt: Date | null
  }[]
  /** Absent if single sign-on is off. */
  readonly sso?: { readonly since: Date | null } | undefined
  readonly sessions: readonly {
    readonly id: string
    readonly ip: string
    readonly userAgent: string
    readonly lastUsedAt: Date
    readonly isThis: boolean
  }[]
}

export function devicePage(
  view: ConsoleView,
  { code, request, error = false, said, tokens, sessions, sso }: CommandSignIn,
): string {
  const d = deskTexts[view.language].commands
  return shell(view, {
    title: d.commands,
    problems: { code: error ? d.wrongCode : undefined },
    main: html`<h1>${d.commands}</h1>
      ${said !== undefined && message('good', said)}
      <p class="lead">${d.commandsText}</p>
      ${request === undefined ? codeForm(view, code, error) : confirmForm(view, code, request)}
      <h2>${d.signedIn}</h2>
      ${tableOrEmpty({
        none: {
          title: d.signedInNone,
          text: d.signedInNoneText,
          more: apiCall(view, 'npm run -s operator -- sign-in', d.call),
        },
        caption: d.signedIn,
        columns: [[d.from, 'head'], d.allows, d.until, [d.end, 'actions']],
        rows: tokens.map(({ id, origin, commands, expiresAt }) => [
          freeText(origin),
          commands === null ? d.allCommands : commands.join(', '),
          expiresAt === null ? '–' : time(view, expiresAt),
          postButton(`${view.root}device/${id}/end`, d.end, { look: 'small danger', about: origin }),
        ]),
      })}
      ${sessionTable(view, sessions)}
      ${sso !== undefined && connectionPart(view, { since: sso.since, action: `${view.root}sso/connect` })}`,
  })
}

function sessionTable(view: ConsoleView, sessions: CommandSignIn['sessions']): Html {
  const s = deskTexts[view.language].staff
  return html`<h2>${s.sessions}</h2>
    ${table({
      caption: s.sessions,
      columns: [[s.session, 'head'], s.address, s.lastUsed, [s.end, 'actions']],
      rows: sessions.map(({ id, ip, userAgent, lastUsedAt, isThis }) => [
        browserName(view, userAgent),
        ip,
        time(view, lastUsedAt),
        isThis
          ? badge('neutral', s.thisOne)
          : postButton(`${view.root}sessions/${id}/end`, s.end, {
              look: 'small danger',
              about: describeDevice(userAgent, view.t.deviceWords),
            }),
      ]),
    })}`
}

function codeForm(view: ConsoleView, code: string, error: boolean): Html {
  const d = deskTexts[view.language].commands
  return html`<form method="get" action="${view.root}device">
    ${field({
      ...{ id: 'code', name: 'code', label: d.code, help: d.codeHelp, value: code },
      ...(error ? { error: d.wrongCode } : {}),
      more: html`maxlength="20" autocomplete="off" autocapitalize="characters" spellcheck="false"`,
    })}
    <button type="submit" class="primary">${d.look}</button>
  </form>`
}

function confirmForm(view: ConsoleView, code: string, request: NonNullable<CommandSignIn['request']>): Html {
  const d = deskTexts[view.language].commands
  return html`<div class="card">
    <p>${fill(d.asked, { origin: request.origin })} ${time(view, request.requestedAt)}</p>
    <p><strong class="code">${code}</strong></p>
    <form method="post" action="${view.root}device">
      ${hiddenField('code', code)}
      <div class="buttons">
        <button type="submit" class="primary">${d.confirm}</button
        ><a class="button" href="${view.root}device">${d.cancel}</a>
      </div>
    </form>
  </div>`
}

export type DeskChange = {
  readonly id: string
  readonly command: string
  readonly partnerId: string | undefined
  readonly partnerName?: string | undefined
  /** Options as typed, by their names. A flag has no value. */
  readonly options: readonly (readonly [name: string, value: string | undefined])[]
  readonly note: string | undefined
  readonly by: string
  readonly at: Date
  /** The person who approved the change, if its author must still run it. */
  readonly approvedBy: string | null
  readonly isOwn: boolean
  readonly mayDecide: boolean
}

type ChangeList = {
  readonly changes: readonly DeskChange[]
  readonly error?: string | undefined
  readonly said?: Html | undefined
}

export function changesPage(view: ConsoleView, { changes, error, said }: ChangeList): string {
  const d = deskTexts[view.language].commands
  return shell(view, {
    title: d.changes,
    wide: true,
    problems: { form: error },
    main: html`${said}
      <h1>${d.changes}</h1>
      <p class="lead">${d.changesText}</p>
      ${changes.length === 0 ? emptyState({ title: d.none, text: d.noneText }) : changesTable(view, changes, d.changes)}`,
  })
}

/** Returns the title of a command. A command of another version is shown by its name. */
const commandTitle = (view: ConsoleView, command: string): string =>
  isActionName(command) ? actionTitle(view, command) : command

/** Lists changes, each with the buttons that the person may use. */
export function changesTable(view: ConsoleView, changes: readonly DeskChange[], caption: string): Html {
  const d = deskTexts[view.language].commands
  return html`${table({
    caption,
    columns: [[d.command, 'head'], d.partner, d.by, d.at, [d.decide, 'actions']],
    rows: changes.map((change) => [
      html`<span class="name">${commandTitle(view, change.command)}</span>
        ${change.options.map(([name, value]) => html`<span class="soft">${freeText(optionText(view, change.command, name, value))}</span>`)}
        ${change.note !== undefined && html`<span class="soft">${d.note}: ${freeText(change.note)}</span>`}`,
      change.partnerId === undefined ? '–' : partnerReference(view, change.partnerId, change.partnerName),
      freeText(change.by),
      time(view, change.at),
      decisionForms(view, change),
    ]),
  })}
  ${changes.filter(({ mayDecide }) => mayDecide).map((change) => rejectDialog(view, change))}`
}

/** Formats an option with the label of its form, and its value. */
const optionText = (view: ConsoleView, command: string, name: string, value: string | undefined): string => {
  const label = optionLabel(view, command, name)
  // Known values of a list are translated. Other text stays as it was typed.
  const words = value?.split(',').map((each) => valueLabel(view, name, each))
  return words === undefined ? label : `${label}: ${words.join(',')}`
}

function decisionForms(view: ConsoleView, change: DeskChange): Html {
  const d = deskTexts[view.language].commands
  const { id, command, approvedBy, isOwn, mayDecide, by } = change
  if (!mayDecide) return html`<p>${d.needsRole}</p>`
  const label = isOwn ? d.withdraw : d.reject
  const about = commandTitle(view, command)
  const reject = dialogButton({ id: `reject-${id}`, label, about, tone: 'danger' })
  if (approvedBy !== null)
    return html`<p>${fill(d.approvedBy, { name: approvedBy, author: by })}</p>
      ${
        isOwn
          ? postButton(`${view.root}changes/${id}/run`, deskTexts[view.language].staff.run, {
              look: 'small primary',
              about,
            })
          : ''
      }
      ${reject}`
  if (isOwn)
    return html`<p>${d.own}</p>
      ${reject}`
  return html`<div class="actions">
    ${postButton(`${view.root}changes/${id}/approve`, d.approve, { look: 'small primary', about })} ${reject}
  </div>`
}

function rejectDialog(view: ConsoleView, { id, isOwn }: DeskChange): Html {
  const d = deskTexts[view.language].commands
  const label = isOwn ? d.withdraw : d.reject
  return confirmationDialog({
    ...{ id: `reject-${id}`, title: label, action: `${view.root}changes/${id}/reject` },
    about: noteField(view, `note-${id}`),
    ...{ submit: label, look: 'danger', cancel: d.cancel },
  })
}

const changesShown = 100

export const commandRoutes = (frame: DeskFrame): readonly PublicRoute[] => [
  ...deviceRoutes(frame),
  ...changeRoutes(frame),
]

function deviceRoutes(frame: DeskFrame): readonly PublicRoute[] {
  const { db, staff } = frame
  const show = async (
    request: PublicRequest,
    { view, signed }: { readonly view: ConsoleView; readonly signed: SignedInStaff },
    { code, error = false, said }: { readonly code: string; readonly error?: boolean; readonly said?: string },
  ) => {
    const tokens = await staff.commands.list(db, signed.account.id)
    const own = await staff.sessions(signed.account.id)
    const sessions = own.map((session) => ({ ...session, isThis: session.id === signed.session.id }))
    const { isOn, connectedSince } = staff.singleSignOn
    const sso = isOn ? { since: await connectedSince(signed.account.id) } : undefined
    const found = code === '' || error ? undefined : await ifFound(staff.commands.findRequest(code))
    const isWrong = error || (code !== '' && found === undefined)
    return page(
      request,
      isWrong ? 400 : 200,
      devicePage(view, { code, request: found, error: isWrong, said, tokens, sessions, sso }),
    )
  }
  return [
    staffRoute(frame, 'device', 'GET', '/device', (request, person) =>
      show(request, person, { code: new URLSearchParams(request.query).get('code') ?? '' }),
    ),
    staffRoute(frame, 'device', 'POST', '/device', async (request, person) => {
      const code = readForm(request)('code')
      const confirmed = await ifFound(staff.commands.confirm(person.signed, code))
      if (confirmed === undefined) return show(request, person, { code, error: true })
      const said = fill(deskTexts[person.view.language].commands.confirmed, { origin: confirmed.origin })
      return show(request, person, { code: '', said })
    }),
    staffRoute(
      frame,
      'device',
      'POST',
      '/device/{id}/end',
      async (request, { signed }) => {
        const { id = '' } = request.params
        const own = (await staff.commands.list(db, signed.account.id)).find((token) => token.id === id)
        if (own !== undefined) await ifFound(db.transaction((tx) => staff.commands.end(tx, own.id)))
        return seeOther('../../device')
      },
      { alsoRested: true },
    ),
    staffRoute(
      frame,
      'device',
      'POST',
      '/sessions/{id}/end',
      async (request, { signed }) => {
        const { id = '' } = request.params
        if (!uuidPattern.test(id)) throw notFound('page')
        await staff.endSession(signed.account.id, id)
        return seeOther('../../device')
      },
      { alsoRested: true },
    ),
  ]
}

function changeRoutes(frame: DeskFrame): readonly PublicRoute[] {
  const { changes } = frame
  const show = async (request: PublicRequest, view: ConsoleView, signed: SignedInStaff, error?: string) => {
    const shown = await listChanges(frame, signed)
    return page(
      request,
      error === undefined ? 200 : 400,
      changesPage(view, { changes: shown, error, said: actionMessage(view, request) }),
    )
  }
  const form = (
    name: 'approve' | 'reject' | 'run',
    act: (signed: SignedInStaff, id: string, request: PublicRequest) => Promise<unknown>,
    answer: (request: PublicRequest, view: ConsoleView, result: unknown) => PublicAnswer = () =>
      seeOther(actionResultHref('../../changes', `change ${name}`, undefined)),
  ): PublicRoute =>
    staffRoute(frame, 'changes', 'POST', `/changes/{id}/${name}`, async (request, { signed, view }) => {
      const { id = '' } = request.params
      if (!uuidPattern.test(id)) throw notFound('page')
      try {
        return answer(request, view, await act(signed, id, request))
      } catch (error) {
        if (!(error instanceof Refusal) || error.code === 'permission_denied') throw error
        return show(request, view, signed, error.detail)
      }
    })
  return [
    staffRoute(frame, 'changes', 'GET', '/changes', (request, { view, signed }) => show(request, view, signed)),
    form(
      'run',
      ({ account }, id) => changes.carryOut(account, id),
      (request, view, result) => page(request, 200, secretPage(view, { act: 'change run', result, back: 'changes' })),
    ),
    form('approve', ({ account }, id) => changes.approve(account, id)),
    form('reject', ({ account }, id, request) => changes.reject(account, id, readNote(readForm(request)))),
  ]
}

/** Reads the pending changes, with what the person may do about each. */
export async function listChanges(
  { db, access, staff, changes }: DeskFrame,
  { account }: SignedInStaff,
): Promise<readonly DeskChange[]> {
  const rows = await staff.changes.waiting(db, changesShown)
  const shown = rows.map((row) => toChange(row, account.id, changes.mayDecide(row.command, account.role)))
  const partnerIds = shown.flatMap(({ partnerId }) =>
    partnerId !== undefined && uuidPattern.test(partnerId) ? [partnerId] : [],
  )
  const names = await access.namesOf(db, [...new Set(partnerIds)])
  return shown.map((change) => ({ ...change, partnerName: names.get(change.partnerId ?? '') }))
}

function toChange(row: StaffChange, staffId: string, mayDecide: boolean): DeskChange {
  const { partner, note, ...typed } = ownJson<Readonly<Record<string, string | boolean>>>(row.options)
  const words = Object.entries(typed).map(
    ([name, value]) => [name, value === true ? undefined : String(value)] as const,
  )
  return {
    ...{ id: row.id, command: row.command, options: words, by: row.proposedByName, at: row.proposedAt },
    partnerId: partner === undefined ? undefined : String(partner),
    note: note === undefined ? undefined : String(note),
    approvedBy: row.approved === true ? row.decidedByName : null,
    isOwn: row.proposedBy === staffId,
    mayDecide,
  }
}
