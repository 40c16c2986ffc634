/** The team of a partner: its members, its invitations, and the forms that change them. */
import { html, type Html } from '../html.ts'
import { choices, field, message } from './components.ts'
import { invitationTable, type TeamInvitation } from './team-invitations.ts'
import { memberTable, type TeamMember } from './team-members.ts'
import { roleOptions } from './team-roles.ts'
import { type ConsoleView, type RoleName, shell } from './view.ts'

/** The fields of the form of an invitation. */
type InviteField = 'email' | 'fullName' | 'role'

type Team = {
  readonly members: readonly TeamMember[]
  readonly invitations: readonly TeamInvitation[]
  /** `reset`: to reset the sign-in of colleagues, which Admins do. */
  readonly may: { readonly write: boolean; readonly reset: boolean }
  /** The next page of members. */
  readonly next: string | null
  /** The roles that the person may give. */
  readonly grantable: readonly RoleName[]
  /** Problems by field of the invitation (`email`, `fullName`, `role`); any other key is about the whole page. */
  readonly errors?: Readonly<Record<string, string>>
  /** Values of a refused invitation, so that nothing typed is lost. */
  readonly typed?: Readonly<Partial<Record<InviteField, string>>>
  /** Says what the last form did. */
  readonly confirmation?: string
}

const idOf: Readonly<Record<string, string>> = {
  email: 'invite-email',
  fullName: 'invite-name',
  role: 'invite-role',
} satisfies Record<InviteField, string>

export function teamPage(view: ConsoleView, team: Team): string {
  const { t } = view
  const { members, invitations, may, next, grantable, errors = {}, confirmation } = team
  const problems = Object.fromEntries(
    Object.entries(errors).map(([key, text]) => [(may.write && idOf[key]) || 'form', text] as const),
  )
  return shell(view, {
    title: t.team,
    wide: true,
    problems,
    main: html`${confirmation !== undefined && message('good', confirmation)}
      <div class="heading">
        <h1>${t.team}</h1>
        <div class="buttons">
          <a class="button" href="${view.root}team/single-sign-on">${t.factorSso}</a>
          ${may.write && html`<a class="button primary" href="#invite">${t.invite}</a>`}
        </div>
      </div>
      ${!may.write && html`<p class="lead">${t.teamReadOnly}</p>`}
      <section aria-labelledby="members-title">
        <h2 id="members-title">${t.members}</h2>
        ${memberTable(view, members, { grantable: may.write ? grantable : [], reset: may.reset })}
        ${next !== null && html`<p class="more"><a class="button" href="${next}">${t.nextPage}</a></p>`}
      </section>
      <section aria-labelledby="invitations-title">
        <h2 id="invitations-title">${t.invitations}</h2>
        ${
          invitations.length === 0
            ? html`<p class="calm">${t.invitationsEmpty}</p>`
            : invitationTable(view, invitations, may.write)
        }
      </section>
      ${may.write && inviteForm(view, team)}`,
  })
}

function inviteForm(view: ConsoleView, { grantable, errors = {}, typed = {} }: Team): Html {
  const { t, root } = view
  return html`<section class="card" aria-labelledby="invite">
    <h2 id="invite" tabindex="-1">${t.inviteTitle}</h2>
    <p>${t.inviteText}</p>
    <form method="post" action="${root}team/invite" class="invite">
      ${field({
        id: 'invite-email',
        name: 'email',
        type: 'email',
        label: t.email,
        error: errors['email'],
        more: html`autocomplete="off" maxlength="254"`,
        ...(typed.email === undefined ? {} : { value: typed.email }),
      })}
      ${field({
        id: 'invite-name',
        name: 'fullName',
        label: t.fullName,
        error: errors['fullName'],
        more: html`autocomplete="off" maxlength="140"`,
        ...(typed.fullName === undefined ? {} : { value: typed.fullName }),
      })}
      ${choices({
        id: 'invite-role',
        name: 'role',
        legend: t.role,
        chosen: typed.role,
        error: errors['role'],
        options: roleOptions(view, grantable),
      })}
      <button type="submit" class="primary">${t.sendInvitation}</button>
    </form>
  </section>`
}
