/** The sign-in of commands, and the changes that wait for a second person. */
import { fill } from '../language.ts'
import { html, type Html } from '../html.ts'
import { asking, field, hiddenField, openDialog } from '../kit/forms.ts'
import { badge, call, empty, freeText, identifier, message, table, time } from '../kit/parts.ts'
import { connection } from '../console/sign-in.ts'
import { type ConsoleView, shell } from '../kit/frame.ts'
import { commandTexts } from './command-texts.ts'
import { staffTexts } from './staff-texts.ts'

type DeviceShown = {
  /** The code as typed. */
  readonly code: string
  /** The command that waits with the code. */
  readonly request?: { readonly origin: string; readonly requestedAt: Date } | undefined
  readonly error?: boolean
  readonly said?: string | undefined
  readonly tokens: readonly {
    readonly id: string
    readonly origin: string
    readonly commands: readonly string[] | null
    readonly expiresAt: Date | null
  }[]
  /** Absent: there is no single sign-on. */
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
  { code, request, error = false, said, tokens, sessions, sso }: DeviceShown,
): string {
  const d = commandTexts[view.language]
  return shell(view, {
    title: d.commands,
    problems: { code: error ? d.wrongCode : undefined },
    main: html`<h1>${d.commands}</h1>
      ${said !== undefined && message('good', said)}
      <p class="lead">${d.commandsText}</p>
      ${request === undefined ? lookUp(view, code, error) : confirming(view, code, request)}
      <h2>${d.signedIn}</h2>
      ${
        tokens.length === 0
          ? empty({
              title: d.signedInNone,
              text: d.signedInNoneText,
              more: call(view, 'npm run -s operator -- sign-in', d.call),
            })
          : table({
              caption: d.signedIn,
              columns: [[d.from, 'head'], d.allows, d.until, [d.end, 'actions']],
              rows: tokens.map(({ id, origin, commands, expiresAt }) => [
                freeText(origin),
                commands === null ? d.allCommands : commands.join(', '),
                expiresAt === null ? '–' : time(view, expiresAt),
                html`<form method="post" action="${view.root}device/${id}/end">
                  <button type="submit" class="small danger">${d.end}<span class="away"> ${origin}</span></button>
                </form>`,
              ]),
            })
      }
      ${sessionTable(view, sessions)}
      ${sso !== undefined && connection(view, { since: sso.since, action: `${view.root}sso/connect` })}`,
  })
}

function sessionTable(view: ConsoleView, sessions: DeviceShown['sessions']): Html {
  const s = staffTexts[view.language]
  return html`<h2>${s.sessions}</h2>
    ${table({
      caption: s.sessions,
      columns: [[s.session, 'head'], s.address, s.lastUsed, [s.end, 'actions']],
      rows: sessions.map(({ id, ip, userAgent, lastUsedAt, isThis }) => [
        freeText(userAgent),
        ip,
        time(view, lastUsedAt),
        isThis
          ? badge('neutral', s.thisOne)
          : html`<form method="post" action="${view.root}sessions/${id}/end">
              <button type="submit" class="small danger">${s.end}<span class="away"> ${userAgent}</span></button>
            </form>`,
      ]),
    })}`
}

function lookUp(view: ConsoleView, code: string, error: boolean): Html {
  const d = commandTexts[view.language]
  return html`<form method="get" action="${view.root}device">
    ${field({
      ...{ id: 'code', name: 'code', label: d.code, help: d.codeHelp, value: code },
      ...(error ? { error: d.wrongCode } : {}),
      more: html`maxlength="20" autocomplete="off" autocapitalize="characters" spellcheck="false"`,
    })}
    <button type="submit" class="primary">${d.look}</button>
  </form>`
}

function confirming(view: ConsoleView, code: string, request: NonNullable<DeviceShown['request']>): Html {
  const d = commandTexts[view.language]
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
  /** Options as typed, `name value`. */
  readonly options: readonly string[]
  readonly note: string | undefined
  readonly by: string
  readonly at: Date
  /** The person who has approved it, if its author runs it. */
  readonly approvedBy: string | null
  readonly isOwn: boolean
  readonly mayDecide: boolean
}

type ChangesShown = { readonly changes: readonly DeskChange[]; readonly error?: string | undefined }

export function changesPage(view: ConsoleView, { changes, error }: ChangesShown): string {
  const d = commandTexts[view.language]
  const propose =
    'npm run -s operator -- limit set --partner ID --scope partner --period day --currency EUR --amount 1000.00'
  return shell(view, {
    title: d.changes,
    wide: true,
    problems: { form: error },
    main: html`<h1>${d.changes}</h1>
      <p class="lead">${d.changesText}</p>
      ${
        changes.length === 0
          ? empty({ title: d.none, text: d.noneText, more: call(view, propose, d.proposeCall) })
          : changesTable(view, changes, d.changes)
      }`,
  })
}

/** The changes with what the person may do about each. */
export function changesTable(view: ConsoleView, changes: readonly DeskChange[], caption: string): Html {
  const d = commandTexts[view.language]
  return html`${table({
    caption,
    columns: [[d.command, 'head'], d.partner, d.by, d.at, [d.decide, 'actions']],
    rows: changes.map((change) => [
      html`<span class="name">${change.command}</span>
        ${change.options.map((option) => html`<span class="soft">${freeText(option)}</span>`)}
        ${change.note !== undefined && html`<span class="soft">${d.note}: ${freeText(change.note)}</span>`}`,
      change.partnerId === undefined ? '–' : identifier(view, change.partnerId, d.partner),
      freeText(change.by),
      time(view, change.at),
      deciding(view, change),
    ]),
  })}
  ${changes.filter(({ mayDecide }) => mayDecide).map((change) => rejecting(view, change))}`
}

function deciding(view: ConsoleView, change: DeskChange): Html {
  const d = commandTexts[view.language]
  const { id, command, approvedBy, isOwn, mayDecide, by } = change
  if (!mayDecide) return html`<p>${d.needsRole}</p>`
  const label = isOwn ? d.withdraw : d.reject
  const reject = openDialog({ id: `reject-${id}`, label, about: command, tone: 'danger' })
  if (approvedBy !== null)
    return html`<p>${fill(d.approvedBy, { name: approvedBy, author: by })}</p>
      ${
        isOwn
          ? html`<form method="post" action="${view.root}changes/${id}/run">
              <button type="submit" class="small primary">
                ${staffTexts[view.language].run}<span class="away"> ${command}</span>
              </button>
            </form>`
          : call(view, `npm run -s operator -- change run --id ${id}`, d.run)
      }
      ${reject}`
  if (isOwn)
    return html`<p>${d.own}</p>
      ${reject}`
  return html`<div class="actions">
    <form method="post" action="${view.root}changes/${id}/approve">
      <button type="submit" class="small primary">${d.approve}<span class="away"> ${command}</span></button>
    </form>
    ${reject}
  </div>`
}

function rejecting(view: ConsoleView, { id, isOwn }: DeskChange): Html {
  const d = commandTexts[view.language]
  const label = isOwn ? d.withdraw : d.reject
  return asking({
    ...{ id: `reject-${id}`, title: label, action: `${view.root}changes/${id}/reject` },
    about: field({ id: `note-${id}`, name: 'note', label: d.note, more: html`maxlength="500"` }),
    ...{ submit: label, look: 'danger', cancel: d.cancel },
  })
}
